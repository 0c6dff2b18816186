//! The seam to the network: real sockets in the product, simulated ones in tests. Loopback only, literal addresses only.
//!
//! The gateway and the model of an editor both stand on it. The model must not know the gateway, so it is a crate of its own.

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

/// A boxed future, so that the seams are object-safe.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A connected byte stream.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A boxed [`Stream`].
pub type BoxStream = Box<dyn Stream>;

/// A bound listener. Shared (`Arc`) so that a port can outlive the actor that accepts on it.
pub trait Listener: Send + Sync {
    /// The address it is bound to, with the real port.
    fn local_addr(&self) -> SocketAddr;
    /// The next connection.
    fn accept(&self) -> BoxFuture<'_, io::Result<(BoxStream, SocketAddr)>>;
}

/// Connects and binds.
pub trait Net: Send + Sync + 'static {
    /// Connects to `port` on the IPv4 loopback address. The caller bounds the time.
    fn connect(&self, port: u16) -> BoxFuture<'_, io::Result<BoxStream>>;
    /// Binds `port` on the IPv4 loopback address; 0 lets the system choose.
    fn bind(&self, port: u16) -> BoxFuture<'_, io::Result<Arc<dyn Listener>>>;
    /// Binds a loopback address that a user named; a net that knows only one knows no other.
    fn bind_at(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<Arc<dyn Listener>>> {
        if address.ip() == IpAddr::V4(Ipv4Addr::LOCALHOST) {
            return self.bind(address.port());
        }
        Box::pin(std::future::ready(Err(io::ErrorKind::AddrNotAvailable.into())))
    }
}

/// Real TCP on 127.0.0.1.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tcp;

impl Net for Tcp {
    fn connect(&self, port: u16) -> BoxFuture<'_, io::Result<BoxStream>> {
        Box::pin(async move {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
            // A dial to a port without a listener can meet itself (TCP simultaneous open) when the system happens to
            // choose that port as the source.
            if stream.local_addr()? == stream.peer_addr()? {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as BoxStream)
        })
    }

    fn bind(&self, port: u16) -> BoxFuture<'_, io::Result<Arc<dyn Listener>>> {
        self.bind_at((Ipv4Addr::LOCALHOST, port).into())
    }

    fn bind_at(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<Arc<dyn Listener>>> {
        Box::pin(async move {
            if !address.ip().is_loopback() {
                return Err(io::ErrorKind::AddrNotAvailable.into());
            }
            let listener = TcpListener::bind(address).await?;
            let addr = listener.local_addr()?;
            Ok(Arc::new(TcpBound { listener, addr }) as Arc<dyn Listener>)
        })
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
