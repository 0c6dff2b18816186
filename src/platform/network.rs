//! The real network: TCP on loopback, and the local sockets of editors.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use super::local_socket::{SocketError, connect_to_editor};
use crate::net::{BoxFuture, BoxStream, Listener, Net, Tcp};

/// The real network.
#[derive(Debug, Clone, Copy, Default)]
pub struct Network;

impl Net for Network {
    fn connect(&self, port: u16) -> BoxFuture<'_, io::Result<BoxStream>> {
        Tcp.connect(port)
    }

    fn refuses_slowly(&self) -> bool {
        Tcp.refuses_slowly()
    }

    fn bind(&self, port: u16) -> BoxFuture<'_, io::Result<Arc<dyn Listener>>> {
        Tcp.bind(port)
    }

    fn bind_at(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<Arc<dyn Listener>>> {
        Tcp.bind_at(address)
    }

    /// `PermissionDenied` stands for a socket that is not this user's own. Its text says why.
    fn connect_local<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<(BoxStream, Option<u32>)>> {
        Box::pin(async move {
            let (stream, peer) = connect_to_editor(path).await.map_err(|error| match error {
                SocketError::Nobody => io::ErrorKind::NotFound.into(),
                SocketError::Foreign(why) => io::Error::new(io::ErrorKind::PermissionDenied, why),
                SocketError::Io(error) => error,
            })?;
            Ok((Box::new(stream) as BoxStream, peer))
        })
    }
}
