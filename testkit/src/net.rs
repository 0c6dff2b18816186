//! A simulated loopback network: ports, duplex pipes, and functions that cut or delay connections.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use holdfast::net::{BoxFuture, BoxStream, Listener, Net};
use holdfast::protocol::dialect::{Dialect, Heard, Introduction};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, ReadBuf};
use tokio::sync::{mpsc, watch};

use crate::sabotage::MARK;

/// Capacity of one pipe in bytes.
const PIPE_BYTES: usize = 256 * 1024;
/// The number of connections that may wait to be accepted.
const BACKLOG: usize = 64;
/// How long Windows repeats the SYN to a port where nobody listens.
const SLOW_REFUSAL: Duration = Duration::from_secs(2);

/// Opens a connection to the editor at this port: connects, or waits for the editor to connect, as its package wants it. Returns it
/// with the bytes that came after the first words of an editor that connected.
///
/// # Errors
/// Any error of the network, or an editor that does not introduce itself.
pub async fn meet(net: &dyn Net, dialect: &dyn Dialect, port: u16) -> io::Result<(BoxStream, Bytes)> {
    let Some(mut reception) = dialect.reception() else { return Ok((net.connect(port).await?, Bytes::new())) };
    let (mut stream, _) = net.bind(port).await?.accept().await?;
    loop {
        let mut words = Vec::new();
        if stream.read_buf(&mut words).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match reception.hear(&words) {
            Ok(Heard::NotYet(say)) => stream.write_all(&say).await?,
            Ok(Heard::Introduced(Introduction { rest, .. })) => return Ok((stream, rest)),
            Err(bad) => return Err(io::Error::other(bad.to_string())),
        }
    }
}

/// Where a listener is bound.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Port(u16),
    Local(PathBuf),
}

#[derive(Default)]
struct Ports {
    listening: BTreeMap<Place, mpsc::Sender<BoxStream>>,
    next: u16,
    open: Vec<Arc<Cut>>,
}

/// A simulated network (see the module's documentation).
pub struct MemoryNet {
    ports: Arc<Mutex<Ports>>,
    held: watch::Sender<bool>,
    connects: AtomicU64,
    bind_panics: AtomicBool,
    refuses_slowly: AtomicBool,
    sent: Arc<AtomicU64>,
}

impl MemoryNet {
    /// Creates a network without listeners.
    pub fn new() -> Arc<Self> {
        let ports = Ports { next: 40_000, ..Ports::default() };
        Arc::new(Self {
            ports: Arc::new(Mutex::new(ports)),
            held: watch::Sender::new(false),
            connects: AtomicU64::new(0),
            bind_panics: AtomicBool::new(false),
            refuses_slowly: AtomicBool::new(false),
            sent: Arc::default(),
        })
    }

    /// Breaks every open connection, as a reset does.
    pub fn cut(&self) {
        for cut in std::mem::take(&mut self.ports.lock().unwrap().open) {
            cut.fall();
        }
    }

    /// Makes the next bind panic.
    pub fn panic_at_bind(&self) {
        self.bind_panics.store(true, Ordering::SeqCst);
    }

    /// Makes every refusal take two seconds, as on Windows: the system asks the port again and again.
    pub fn refuse_slowly(&self) {
        self.refuses_slowly.store(true, Ordering::Relaxed);
    }

    /// Sets whether attempts to connect are held: they then neither succeed nor fail.
    pub fn hold_connects(&self, on: bool) {
        self.held.send_replace(on);
    }

    /// Returns the number of bytes that the connecting sides have written, whether they were read or not.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Whether a listener is bound to a port.
    pub fn listens(&self, port: u16) -> bool {
        self.ports.lock().unwrap().listening.contains_key(&Place::Port(port))
    }

    /// Returns the number of attempts to connect so far.
    pub fn connects(&self) -> u64 {
        self.connects.load(Ordering::Relaxed)
    }
}

impl MemoryNet {
    async fn connect_to(&self, place: Place) -> io::Result<BoxStream> {
        self.connects.fetch_add(1, Ordering::Relaxed);
        let _ = self.held.subscribe().wait_for(|held| !held).await;
        let is_slow = matches!(place, Place::Port(_)) && self.refuses_slowly();
        if is_slow && !self.ports.lock().unwrap().listening.contains_key(&place) {
            tokio::time::sleep(SLOW_REFUSAL).await;
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let (near, far) = tokio::io::duplex(PIPE_BYTES);
        let cut = Arc::new(Cut::default());
        let mut ports = self.ports.lock().unwrap();
        let listening = ports.listening.get(&place).ok_or(io::ErrorKind::ConnectionRefused)?;
        let far = Pipe { inner: far, cut: cut.clone(), side: 0, sent: Arc::default() };
        listening.try_send(Box::new(far)).map_err(|_| io::ErrorKind::ConnectionRefused)?;
        ports.open.retain(|open| Arc::strong_count(open) > 1);
        ports.open.push(cut.clone());
        Ok(Box::new(Pipe { inner: near, cut, side: 1, sent: self.sent.clone() }))
    }

    fn bind_to(&self, place: Place) -> io::Result<Arc<dyn Listener>> {
        let mut ports = self.ports.lock().unwrap();
        if ports.listening.contains_key(&place) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        let (sender, accepted) = mpsc::channel(BACKLOG);
        ports.listening.insert(place.clone(), sender);
        let accepted = tokio::sync::Mutex::new(accepted);
        Ok(Arc::new(Bound { place, accepted, ports: self.ports.clone() }))
    }
}

impl Net for MemoryNet {
    fn connect(&self, port: u16) -> BoxFuture<'_, io::Result<BoxStream>> {
        Box::pin(self.connect_to(Place::Port(port)))
    }

    fn connect_local<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<(BoxStream, Option<u32>)>> {
        Box::pin(async move { Ok((self.connect_to(Place::Local(path.to_path_buf())).await?, None)) })
    }

    fn bind_local<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Arc<dyn Listener>>> {
        Box::pin(async move { self.bind_to(Place::Local(path.to_path_buf())) })
    }

    fn refuses_slowly(&self) -> bool {
        self.refuses_slowly.load(Ordering::Relaxed)
    }

    fn bind(&self, port: u16) -> BoxFuture<'_, io::Result<Arc<dyn Listener>>> {
        Box::pin(async move {
            if self.bind_panics.swap(false, Ordering::SeqCst) {
                std::panic::panic_any(MARK);
            }
            let port = if port == 0 {
                let mut ports = self.ports.lock().unwrap();
                ports.next += 1;
                ports.next
            } else {
                port
            };
            self.bind_to(Place::Port(port))
        })
    }
}

struct Bound {
    place: Place,
    accepted: tokio::sync::Mutex<mpsc::Receiver<BoxStream>>,
    ports: Arc<Mutex<Ports>>,
}

impl Drop for Bound {
    fn drop(&mut self) {
        self.ports.lock().unwrap().listening.remove(&self.place);
    }
}

impl Listener for Bound {
    fn local_addr(&self) -> SocketAddr {
        let port = if let Place::Port(port) = self.place { port } else { 0 };
        (Ipv4Addr::LOCALHOST, port).into()
    }

    fn accept(&self) -> BoxFuture<'_, io::Result<(BoxStream, SocketAddr)>> {
        Box::pin(async move {
            let stream = self.accepted.lock().await.recv().await.ok_or(io::ErrorKind::NotConnected)?;
            Ok((stream, (Ipv4Addr::LOCALHOST, 1).into()))
        })
    }
}

#[derive(Default)]
struct Cut {
    fallen: AtomicBool,
    readers: [AtomicWaker; 2],
}

impl Cut {
    fn fall(&self) {
        self.fallen.store(true, Ordering::SeqCst);
        for reader in &self.readers {
            reader.wake();
        }
    }
}

struct Pipe {
    inner: DuplexStream,
    cut: Arc<Cut>,
    side: usize,
    sent: Arc<AtomicU64>,
}

impl Pipe {
    fn check(&self) -> io::Result<()> {
        if self.cut.fallen.load(Ordering::SeqCst) { Err(io::ErrorKind::ConnectionReset.into()) } else { Ok(()) }
    }
}

impl AsyncRead for Pipe {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.cut.readers[self.side].register(cx.waker());
        self.check()?;
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.check()?;
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        if let Poll::Ready(Ok(count)) = &written {
            self.sent.fetch_add(*count as u64, Ordering::Relaxed);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
