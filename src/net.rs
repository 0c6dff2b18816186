//! The seam to the network: real sockets in the product, simulated ones in tests. Loopback only, literal addresses only.

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

/// Whether a `Host` header names this machine's loopback: a literal address of it, or `localhost`; without a port, or with this one.
pub fn is_loopback_host(host: &str, port: u16) -> bool {
    let (name, given) = match host.rsplit_once(':') {
        Some((name, given)) if !given.contains(']') => (name, Some(given)),
        _ => (host, None),
    };
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let loopback = name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    let ours = |given: &str| given.bytes().all(|byte| byte.is_ascii_digit()) && given.parse() == Ok(port);
    loopback && given.is_none_or(ours)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machines_own_names_with_our_port_are_served() {
        for host in ["127.0.0.1:9464", "127.0.0.1", "localhost:9464", "LOCALHOST", "[::1]:9464", "[::1]", "127.8.9.1"] {
            assert!(is_loopback_host(host, 9464), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:9464",
            "127.0.0.1:80",
            "127.0.0.1:",
            "localhost:+9464",
            "localhost.evil.example",
            "127.0.0.1.evil.example:9464",
            "0.0.0.0:9464",
            "[::]:9464",
            "192.168.0.1:9464",
            "localhost:9464:9464",
            "[::1",
            "user@localhost",
        ] {
            assert!(!is_loopback_host(host, 9464), "{host}");
        }
    }
}
