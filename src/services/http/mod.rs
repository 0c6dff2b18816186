//! The one HTTP server of the gateway: hyper's HTTP/1.1 over the network interface in [`net`](crate::net).
//!
//! The server owns the connections of one listener. It answers one request on each connection and then closes it, or keeps the
//! connection for further requests ([`Lasting`]). It limits the number of connections, the bytes and headers of the head, the
//! body, and the times for the request and for writing its answer.
//!
//! Only requests to this machine's own names are answered, unless a service knows better: otherwise a web page whose name was
//! made to point at 127.0.0.1 (DNS rebinding) could read private data. Each service decides what else it accepts and what its
//! answers look like ([`Service`]).

mod connection;
mod io;
mod peer;
mod reply;
mod request;
mod rules;

use std::collections::HashMap;
use std::sync::{Arc, Weak};

pub use hyper::body::{Body, Bytes, Frame};
pub use hyper::{Method, StatusCode, header};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{self, AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

pub use self::connection::Service;
use self::connection::Shared;
pub use self::peer::{Delivered, Peer};
use self::peer::{Progress, Stage};
pub use self::reply::{Answer, Cut, Reply};
pub(crate) use self::request::is_loopback_host;
pub use self::request::{Head, Refused, Request};
pub use self::rules::{Beyond, Kept, Lasting, Rules};
use crate::limits::{ACCEPT_PAUSE, FLUSH_MAX, SERVED_END_MAX};
use crate::net::Listener;

/// Accepts connections and answers their requests. A panic while a connection is served closes only that connection. Never
/// returns.
pub async fn serve(service: Arc<impl Service>, listener: Arc<dyn Listener>) {
    serve_until(service, listener, std::future::pending()).await;
}

/// As [`serve`], until `stop` is ready. Then connections end as soon as no request is open on them.
pub async fn serve_until(
    service: Arc<impl Service>,
    listener: Arc<dyn Listener>,
    stop: impl Future<Output = ()> + Send,
) {
    let rules = service.rules();
    let kept = rules.lasting.kept();
    let places = Arc::new(Semaphore::new(rules.connections_max));
    let (close, closing) = watch::channel(false);
    let room = kept.map_or(Semaphore::MAX_PERMITS, |kept| kept.bodies_max_bytes);
    let shared =
        Arc::new(Shared { service, own: listener.local_addr(), bodies: Arc::new(Semaphore::new(room)), closing });
    let mut connections = JoinSet::new();
    let mut open: HashMap<task::Id, (AbortHandle, Weak<Progress>)> = HashMap::new();
    tokio::pin!(stop);
    loop {
        while let Some(ended) = connections.try_join_next_with_id() {
            open.remove(&ended.map_or_else(|error| error.id(), |(id, ())| id));
        }
        let mut place = match rules.beyond {
            Beyond::Refused => None,
            Beyond::Waits => Arc::clone(&places).acquire_owned().await.ok(),
        };
        let accepted = tokio::select! {
            biased;
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        let Ok((mut stream, _)) = accepted else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        if place.is_none() {
            place = Arc::clone(&places).try_acquire_owned().ok();
        }
        if place.is_none() && kept.is_some() {
            place = place_of_an_unused(&places, &open).await;
        }
        if place.is_some() {
            let (shared, progress) = (Arc::clone(&shared), Progress::new(kept));
            // The reference is weak: what an answer holds must end with its connection.
            let seen = Arc::downgrade(&progress);
            let task = connections.spawn(async move {
                let _place = place;
                connection::answer(shared, stream, progress).await;
            });
            open.insert(task.id(), (task, seen));
        } else if let Some(reply) = shared.service.refuse(Refused::Busy) {
            // The buffer of a new connection is empty, so the write does not block.
            let _ = reply.write(&mut stream).await;
        }
    }
    close.send_replace(true);
    let _ = timeout(SERVED_END_MAX, async { while connections.join_next().await.is_some() {} }).await;
    connections.shutdown().await;
}

/// Ends a connection on which no request is open, and returns its place. A connection that its client has left unused
/// comes first, and of these the one that was unused longest. If there is none, it is the connection whose first
/// request has been awaited longest. So connections that ask nothing do not keep others out.
async fn place_of_an_unused(
    places: &Arc<Semaphore>,
    open: &HashMap<task::Id, (AbortHandle, Weak<Progress>)>,
) -> Option<OwnedSemaphorePermit> {
    let unused = open.values().filter_map(|(task, progress)| {
        let (stage, since) = progress.upgrade()?.unused_since().filter(|_| !task.is_finished())?;
        Some(((stage == Stage::Head, since), task))
    });
    let (_, task) = unused.min_by_key(|(order, _)| *order)?;
    task.abort();
    timeout(FLUSH_MAX, Arc::clone(places).acquire_owned()).await.ok()?.ok()
}

#[cfg(test)]
mod tests;
