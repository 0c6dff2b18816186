//! The interface to the network: real sockets in the product, simulated ones in tests. Only loopback and literal addresses.
//!
//! The gateway and the fake editor both use it. The fake editor must not depend on the gateway, so this is a separate crate.

mod local;

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

/// A boxed future, which makes the traits object-safe.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A connected byte stream.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A boxed [`Stream`].
pub type BoxStream = Box<dyn Stream>;

/// A bound listener. It is shared (`Arc`), so that a port stays bound when the actor that accepts on it ends.
pub trait Listener: Send + Sync {
    /// Returns the bound address, with the port that the system chose if 0 was requested.
    fn local_addr(&self) -> SocketAddr;
    /// Waits for the next connection.
    fn accept(&self) -> BoxFuture<'_, io::Result<(BoxStream, SocketAddr)>>;
}

/// Connects to ports and binds them.
pub trait Net: Send + Sync + 'static {
    /// Connects to `port` on the IPv4 loopback address. The caller must limit the time.
    fn connect(&self, port: u16) -> BoxFuture<'_, io::Result<BoxStream>>;
    /// Whether a refusal takes seconds, because the system asks the port again and again before it gives up. Windows does so. A new
    /// connect then notices a listener sooner than one that is under way.
    fn refuses_slowly(&self) -> bool {
        false
    }
    /// Binds `port` on the IPv4 loopback address; 0 lets the system choose a port.
    fn bind(&self, port: u16) -> BoxFuture<'_, io::Result<Arc<dyn Listener>>>;
    /// Binds a loopback address that a user named. The default implementation supports only 127.0.0.1.
    fn bind_at(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<Arc<dyn Listener>>> {
        if address.ip() == IpAddr::V4(Ipv4Addr::LOCALHOST) {
            return self.bind(address.port());
        }
        Box::pin(std::future::ready(Err(io::ErrorKind::AddrNotAvailable.into())))
    }
    /// Connects to the local socket (on Windows the named pipe) at this path. Returns the process at the other end too, if the
    /// system tells it. The caller must limit the time. The default implementation supports none.
    fn connect_local<'a>(&'a self, _path: &'a Path) -> BoxFuture<'a, io::Result<(BoxStream, Option<u32>)>> {
        Box::pin(std::future::ready(Err(io::ErrorKind::Unsupported.into())))
    }
    /// Binds the local socket (on Windows the named pipe) at this path, in place of one that a killed process left there. Its
    /// listener has the port 0. The default implementation supports none.
    fn bind_local<'a>(&'a self, _path: &'a Path) -> BoxFuture<'a, io::Result<Arc<dyn Listener>>> {
        Box::pin(std::future::ready(Err(io::ErrorKind::Unsupported.into())))
    }
}

/// Binds an address that other machines may reach. Only what the user asked for in so many words is served there.
///
/// # Errors
/// The system's error.
pub async fn bind_anywhere(address: SocketAddr) -> io::Result<Arc<dyn Listener>> {
    let listener = TcpListener::bind(address).await?;
    let addr = listener.local_addr()?;
    Ok(Arc::new(TcpBound { listener, addr }))
}

/// Real TCP on 127.0.0.1.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tcp;

impl Tcp {
    /// Connects to an address of this machine.
    ///
    /// # Errors
    /// The system's error; `AddrNotAvailable` for an address of another machine.
    pub async fn connect_at(self, address: SocketAddr) -> io::Result<BoxStream> {
        if !address.ip().is_loopback() {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        }
        let stream = TcpStream::connect(address).await?;
        // If the system happens to choose the target port as the source port, a connection to a port without a listener
        // connects to itself (TCP simultaneous open).
        if stream.local_addr()? == stream.peer_addr()? {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        stream.set_nodelay(true)?;
        Ok(Box::new(stream))
    }
}

impl Net for Tcp {
    fn connect(&self, port: u16) -> BoxFuture<'_, io::Result<BoxStream>> {
        Box::pin(self.connect_at((Ipv4Addr::LOCALHOST, port).into()))
    }

    fn refuses_slowly(&self) -> bool {
        cfg!(windows)
    }

    fn bind(&self, port: u16) -> BoxFuture<'_, io::Result<Arc<dyn Listener>>> {
        self.bind_at((Ipv4Addr::LOCALHOST, port).into())
    }

    fn bind_at(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<Arc<dyn Listener>>> {
        Box::pin(async move {
            if !address.ip().is_loopback() {
                return Err(io::ErrorKind::AddrNotAvailable.into());
            }
            bind_anywhere(address).await
        })
    }

    fn bind_local<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Arc<dyn Listener>>> {
        Box::pin(async move { Ok(Arc::new(local::Bound::at(path)?) as Arc<dyn Listener>) })
    }
}

struct TcpBound {
    listener: TcpListener,
    addr: SocketAddr,
}

impl Listener for TcpBound {
    fn local_addr(&self) -> SocketAddr {
        self.addr
    }

    fn accept(&self) -> BoxFuture<'_, io::Result<(BoxStream, SocketAddr)>> {
        Box::pin(async move {
            let (stream, peer) = self.listener.accept().await?;
            stream.set_nodelay(true)?;
            Ok((Box::new(stream) as BoxStream, peer))
        })
    }
}

/// What stands for the address of a local socket, which has none.
const NO_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

impl Listener for local::Bound {
    fn local_addr(&self) -> SocketAddr {
        NO_ADDRESS
    }

    fn accept(&self) -> BoxFuture<'_, io::Result<(BoxStream, SocketAddr)>> {
        Box::pin(async move { Ok((Box::new(local::Bound::accept(self).await?) as BoxStream, NO_ADDRESS)) })
    }
}
