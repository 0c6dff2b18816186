//! MCP over HTTP: each POST is one message, with a session of its own ([`Posting`](crate::client::Posting)). Nothing is remembered
//! between two of them.
//!
//! The service looks at where a request comes from and at its token ([`Guard`]) before anything of its body is read.

mod answer;
mod events;
mod guard;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::sync::oneshot;

use self::answer::Post;
pub use self::guard::{Guard, HostName};
use super::Gateway;
use super::http;
use super::keeper::{self, Keeper, Life};
use crate::client::{Conversation, Posting};
use crate::net::Listener;

/// What the service needs of the hub.
pub trait Hub: Gateway {
    /// Whether the hub takes no messages any more.
    fn is_ending(&self) -> bool;
    /// Returns the project that a client named in its URL: by the name of an editor, or by its path.
    ///
    /// # Errors
    /// Why no project is meant, with the fix.
    fn project(self: &Arc<Self>, name: &str) -> impl Future<Output = Result<PathBuf, String>> + Send;
    /// Waits until the hub has looked which of the projects that it knows have a running editor, if that was not done lately.
    fn look_around(self: &Arc<Self>) -> impl Future<Output = ()> + Send;
    /// Returns the input schema of a tool, as it is listed to those who use this project, or all editors.
    fn schema(&self, project: Option<&Path>, tool: &str) -> Option<Box<RawValue>>;
    /// Serves a message. `None`: too many are served.
    fn serve(&self, posting: Posting) -> Option<Conversation>;
}

/// The running service.
#[derive(Debug)]
pub struct Server(Keeper);

impl Server {
    /// Serves MCP at this listener.
    pub fn start(hub: &Arc<impl Hub>, guard: Guard, listener: Arc<dyn Listener>) -> Self {
        let (served, guard) = (Arc::clone(hub), Arc::new(guard));
        Self(Keeper::start(hub, "http", move |stopped| keep(served, guard, listener, stopped)))
    }

    /// Ends the service, after the answers that are on their way.
    pub async fn end(self) {
        self.0.end().await;
    }
}

/// Restarts the service after each failure until it is stopped.
async fn keep(
    hub: Arc<impl Hub>,
    guard: Arc<Guard>,
    listener: Arc<dyn Listener>,
    mut stopped: oneshot::Receiver<()>,
) {
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
