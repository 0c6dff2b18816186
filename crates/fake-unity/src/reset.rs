//! Real TCP whose accepted connections can be ended with a reset instead of an orderly close.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use holdfast_net::{BoxFuture, BoxStream, Listener, Net, Tcp};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

use super::ports::OwnPort;

/// While this switch is on, connections that [`AbortiveTcp`] accepted end with a reset when they are dropped.
#[derive(Debug, Clone, Default)]
pub struct ResetSwitch(Arc<AtomicBool>);

impl ResetSwitch {
    pub(super) fn set(&self, on: bool) {
        self.0.store(on, Ordering::SeqCst);
    }
}

/// [`Tcp`] with a [`ResetSwitch`]: an accepted connection can end with a reset (`SO_LINGER` 0), such as the kernel of a killed
/// peer or a middlebox sends. [`Net`] has no such method, because the product never needs one. Any port is an [`OwnPort`].
#[derive(Debug, Clone, Default)]
pub struct AbortiveTcp {
    switch: ResetSwitch,
    /// The port that was chosen last, so that it is still there after a reload.
    own: Arc<Mutex<Option<OwnPort>>>,
}

impl AbortiveTcp {
    /// Returns the switch, for [`FakeUnityConfig::reset`](super::FakeUnityConfig::reset).
    pub fn switch(&self) -> ResetSwitch {
        self.switch.clone()
    }

    /// Chooses a port that nobody else gets until the next one is chosen.
    fn choose(&self) -> io::Result<u16> {
        let own = OwnPort::take()?;
        let number = own.number();
        *self.own.lock().unwrap_or_else(PoisonError::into_inner) = Some(own);
        Ok(number)
    }
}

impl Net for AbortiveTcp {
    fn connect(&self, port: u16) -> BoxFuture<'_, io::Result<BoxStream>> {
        Tcp.connect(port)
    }

    fn bind(&self, port: u16) -> BoxFuture<'_, io::Result<Arc<dyn Listener>>> {
        Box::pin(async move {
            let port = if port == 0 { self.choose()? } else { port };
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
            let addr = listener.local_addr()?;
            Ok(Arc::new(Bound { listener, addr, switch: self.switch.clone() }) as Arc<dyn Listener>)
        })
    }

    /// A local socket knows no reset.
    fn bind_local<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Arc<dyn Listener>>> {
        Tcp.bind_local(path)
    }
}

struct Bound {
    listener: TcpListener,
    addr: SocketAddr,
    switch: ResetSwitch,
}

impl Listener for Bound {
    fn local_addr(&self) -> SocketAddr {
        self.addr
    }

    fn accept(&self) -> BoxFuture<'_, io::Result<(BoxStream, SocketAddr)>> {
        Box::pin(async move {
            let (stream, peer) = self.listener.accept().await?;
            stream.set_nodelay(true)?;
            Ok((Box::new(Accepted { stream, switch: self.switch.clone() }) as BoxStream, peer))
        })
    }
}

struct Accepted {
    stream: TcpStream,
    switch: ResetSwitch,
}

impl Drop for Accepted {
    fn drop(&mut self) {
        if self.switch.0.load(Ordering::SeqCst) {
            // A socket that is closed already cannot be reset, so an error is ignored.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Accepted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Accepted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
