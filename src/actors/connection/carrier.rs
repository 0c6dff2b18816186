//! The ways to an editor: what opens a stream to an endpoint, and finds out whose it is.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::time::timeout;

use super::{ConnectionTask, Failure};
use crate::fsm::bridge::ConnectFailure;
use crate::limits::{CONNECT_TIMEOUT, OWNER_LOOKUP_MAX};
use crate::net::{BoxFuture, BoxStream};
use crate::platform::{host, local_socket};
use crate::protocol::dialect::{Endpoint, LocalSocket};
use crate::runtime::arrivals::{Awaited, NotHere};
use crate::survey::{self, Identity};

/// A way to an editor.
pub(super) trait Carrier: Send + Sync {
    /// Opens a stream, within this time.
    fn connect(&self, longest: Duration) -> BoxFuture<'_, Result<BoxStream, Failure>>;
    /// Finds out whose the streams are that were opened. Nothing is written on them before.
    fn identify(&self) -> BoxFuture<'_, Result<Identity, Failure>>;
}

impl ConnectionTask {
    /// Returns the way to the target.
    pub(super) fn carrier(&self) -> Box<dyn Carrier + '_> {
        match &self.target.endpoint {
            Endpoint::Port(port) | Endpoint::Http { port, .. } => Box::new(Port { task: self, port: *port }),
            Endpoint::Local(socket) => Box::new(Local { task: self, socket, peer: AtomicU32::new(0) }),
            Endpoint::Arrival(port) => Box::new(Arrival { awaited: self.arrival.as_ref(), port: *port }),
        }
    }
}

/// A port on which the editor listens. Whoever owns the port is looked up.
struct Port<'t> {
    task: &'t ConnectionTask,
    port: u16,
}

impl Carrier for Port<'_> {
    fn connect(&self, longest: Duration) -> BoxFuture<'_, Result<BoxStream, Failure>> {
        Box::pin(async move {
            // A connection to another project's editor would cost that editor's client its own.
            if self.task.target.dialect.properties().one_client && self.look_up_owner().await?.is_none() {
                return Err((ConnectFailure::Refused, "nothing listens".to_owned()));
            }
            match timeout(longest, self.task.with.env.net.connect(self.port)).await {
                Ok(Ok(stream)) => Ok(stream),
                Ok(Err(error)) => {
                    let failure = match &error {
                        starved if host::is_lack_of_descriptors(starved) => ConnectFailure::NoDescriptors,
                        forbidden if host::is_forbidden(forbidden) => ConnectFailure::Forbidden,
                        _ => ConnectFailure::Refused,
                    };
                    Err((failure, error.to_string()))
                }
                Err(_) => Err((ConnectFailure::TimedOut, String::new())),
            }
        })
    }

    /// An editor that reloads closes its connections before its listener, so a new dial may reach a listener that is gone when its
    /// owner is looked up. That is no other program's port.
    fn identify(&self) -> BoxFuture<'_, Result<Identity, Failure>> {
        Box::pin(async move {
            if let Some(identity) = self.look_up_owner().await? {
                return Ok(identity);
            }
            if self.connect(CONNECT_TIMEOUT).await.is_err() {
                return Err((ConnectFailure::Vanished, "nothing listens any more".to_owned()));
            }
            // A listener may have started since the first lookup.
            let unproven = || (ConnectFailure::Unproven, "the system does not tell whose the port is".to_owned());
            self.look_up_owner().await?.ok_or_else(unproven)
        })
    }
}

impl Port<'_> {
    /// Looks up the owner of the port. Returns `None` if no listener is found.
    async fn look_up_owner(&self) -> Result<Option<Identity>, Failure> {
        let (host, target) = (Arc::clone(&self.task.with.env.host), self.task.target.clone());
        let looked_up =
            crate::platform::host::run(&*self.task.with.env.host, move || survey::check_owner(&*host, &target));
        match timeout(OWNER_LOOKUP_MAX, looked_up).await {
            Ok(Some(looked_up)) => looked_up.map_err(|failure| (failure, String::new())),
            // A failed lookup shows nothing about who listens.
            Ok(None) | Err(_) => {
                Err((ConnectFailure::TimedOut, "the owner of the port could not be looked up".to_owned()))
            }
        }
    }
}

/// A local socket, whose name belongs to the project. Only programs of this user can listen on it, which the network sees to.
struct Local<'t> {
    task: &'t ConnectionTask,
    socket: &'t LocalSocket,
    /// The process at the other end of the last connection; 0: the system does not tell it.
    peer: AtomicU32,
}

impl Carrier for Local<'_> {
    fn connect(&self, longest: Duration) -> BoxFuture<'_, Result<BoxStream, Failure>> {
        let connect = async {
            let mut failed = (ConnectFailure::Refused, "there is no such socket".to_owned());
            for path in self.socket.paths(local_socket::user()) {
                match self.task.with.env.net.connect_local(&path).await {
                    Ok((stream, peer)) => {
                        self.peer.store(peer.unwrap_or_default(), Ordering::Relaxed);
                        return Ok(stream);
                    }
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                        return Err((ConnectFailure::WrongPeer, error.to_string()));
                    }
                    Err(error) if host::is_lack_of_descriptors(&error) => {
                        return Err((ConnectFailure::NoDescriptors, error.to_string()));
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => failed = (ConnectFailure::Refused, error.to_string()),
                }
            }
            Err(failed)
        };
        Box::pin(async move {
            timeout(longest, connect).await.unwrap_or_else(|_| Err((ConnectFailure::TimedOut, String::new())))
        })
    }

    /// An import worker of Unity opens the same project, and so has the same name for its socket.
    fn identify(&self) -> BoxFuture<'_, Result<Identity, Failure>> {
        Box::pin(async move {
            let pid = self.peer.load(Ordering::Relaxed);
            let (host, target) = (Arc::clone(&self.task.with.env.host), self.task.target.clone());
            let looked_up = crate::platform::host::run(&*self.task.with.env.host, move || {
                survey::check_process(&*host, &target, pid)
            });
            match timeout(OWNER_LOOKUP_MAX, looked_up).await {
                Ok(Some(checked)) => checked.map_err(|failure| (failure, "the socket is another process's".to_owned())),
                Ok(None) | Err(_) => {
                    Err((ConnectFailure::TimedOut, "the process at the socket could not be looked up".to_owned()))
                }
            }
        })
    }
}

/// An editor that connects to us. It has said itself which project it has open, and its process was looked up then.
struct Arrival<'t> {
    awaited: Option<&'t Arc<Awaited>>,
    port: u16,
}

impl Carrier for Arrival<'_> {
    fn connect(&self, _longest: Duration) -> BoxFuture<'_, Result<BoxStream, Failure>> {
        let nobody = || (ConnectFailure::Refused, "no editor of the project has connected".to_owned());
        let taken = match self.awaited.map(|awaited| awaited.take(self.port)) {
            None => Err((ConnectFailure::Unproven, "no project is known whose editor could be meant".to_owned())),
            Some(Ok(stream)) => stream.ok_or_else(nobody),
            Some(Err(NotHere::Forbidden(why))) => Err((ConnectFailure::Forbidden, why)),
            Some(Err(NotHere::Other(why))) => Err((ConnectFailure::WrongPeer, why)),
        };
        Box::pin(std::future::ready(taken))
    }

    fn identify(&self) -> BoxFuture<'_, Result<Identity, Failure>> {
        Box::pin(std::future::ready(Ok(Identity::Checked)))
    }
}
