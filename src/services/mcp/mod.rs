//! MCP over HTTP: each POST is one message, with a session of its own ([`Posting`](crate::client::Posting)). Nothing is remembered
//! between two of them.
//!
//! The service checks the origin of a request and its token ([`Guard`]) before anything of its body is read.

mod answer;
mod events;
mod guard;

use std::sync::Arc;

use tokio::sync::oneshot;

pub use self::answer::Hub;
use self::answer::Post;
pub use self::guard::{Guard, HostName, is_loopback};
use super::http;
use super::keeper::{self, Keeper, Life};
use crate::limits::{FLUSH_MAX, SERVED_END_MAX};
use crate::net::Listener;

#[derive(Debug)]
pub struct Server(Keeper);

impl Server {
    pub fn start(hub: &Arc<impl Hub>, guard: Guard, listener: Arc<dyn Listener>) -> Self {
        let (served, guard) = (Arc::clone(hub), Arc::new(guard));
        Self(Keeper::start(hub, "http", move |stopped| keep(served, guard, listener, stopped)))
    }

    /// Ends the service, after the answers that are on their way. Before this, the hub has ended its sessions, and
    /// their answers were handed to the system.
    pub async fn end(self) {
        self.0.end_within(SERVED_END_MAX + FLUSH_MAX).await;
    }
}

/// Restarts the service after each failure until it is stopped.
async fn keep(hub: Arc<impl Hub>, guard: Arc<Guard>, listener: Arc<dyn Listener>, mut stopped: oneshot::Receiver<()>) {
    let mut ends = 0;
    loop {
        let (stop, stopping) = oneshot::channel::<()>();
        let service = Arc::new(Post { hub: Arc::clone(&hub), guard: Arc::clone(&guard) });
        let mut life = Life::begin(http::serve_until(service, Arc::clone(&listener), async {
            let _ = stopping.await;
        }));
        tokio::select! {
            biased;
            _ = &mut stopped => {
                drop(stop);
                return life.over().await;
            }
            // If the service ends by itself, that is a bug of ours.
            () = life.over() => {}
        }
        hub.events().http_restarting();
        keeper::pause(&*hub, ends).await;
        ends += 1;
    }
}
