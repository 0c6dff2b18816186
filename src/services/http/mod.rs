//! The one HTTP server of the gateway: hyper's HTTP/1.1 over the network interface in [`net`](crate::net).
//!
//! The server owns the connections of one listener. It answers one request per connection and then closes the connection. It
//! limits the number of connections, the bytes and headers of the head, the body, and the times for the request and for writing
//! its answer.
//!
//! Only requests to this machine's own names are answered: otherwise a web page whose name was made to point at 127.0.0.1 (DNS
//! rebinding) could read private data. Each service decides what else it accepts and what its answers look like ([`Service`]).

mod connection;
mod reply;
mod request;
mod rules;
mod service;

use std::sync::Arc;

pub use hyper::{Method, StatusCode, header};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

pub use self::reply::Reply;
pub use self::request::{Refused, Request};
pub use self::rules::{Beyond, Rules};
pub use self::service::Service;
use crate::limits::ACCEPT_PAUSE;
use crate::net::Listener;

/// Accepts connections and answers one request on each. A panic while a connection is served closes only that connection. Never
/// returns.
pub async fn serve(service: Arc<impl Service>, listener: Arc<dyn Listener>) {
    let rules = service.rules();
    let places = Arc::new(Semaphore::new(rules.connections_max));
    let own = listener.local_addr();
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let mut place = match rules.beyond {
            Beyond::Refused => None,
            Beyond::Waits => Arc::clone(&places).acquire_owned().await.ok(),
        };
        let Ok((mut stream, _)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        if place.is_none() {
            place = Arc::clone(&places).try_acquire_owned().ok();
        }
        if place.is_some() {
            let service = Arc::clone(&service);
            connections.spawn(async move {
                let _place = place;
                connection::answer(service, stream, own).await;
            });
        } else if let Some(reply) = service.refuse(Refused::Busy) {
            // The buffer of a new connection is empty, so the write does not block.
            let _ = reply.write(&mut stream).await;
        }
    }
}

#[cfg(test)]
mod tests;
