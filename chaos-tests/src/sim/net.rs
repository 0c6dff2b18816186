//! The simulated network: turmoil's sockets, and a proxy around each connection of the gateway. The proxy can break frames
//! and bytes.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use holdfast::net::{BoxFuture, BoxStream, Listener, Net};
use holdfast::platform::host::{Caller, Liveness, Owner};
use holdfast_fake_unity::observer::{self, Asked, Fate, NoFrame, frame};
use holdfast_fake_unity::{Package, Shape};
use holdfast_testkit::host::MemoryHost;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;
use turmoil::net::{TcpListener, TcpStream};

use super::plan::Break;
use super::stage::PORTS_EACH;
use crate::history::{Event, Recorder};

/// Largest number of frames of an ended connection that are kept for a replay.
const OLD_FRAMES: usize = 4;

/// The current virtual time.
pub fn now() -> Duration {
    turmoil::sim_elapsed().unwrap_or_default()
}

/// The faults on the wire, and what the proxy remembers.
#[derive(Default)]
pub struct Faults {
    /// Largest number of bytes in one read; 0 means no limit.
    pub slice_read: usize,
    /// Largest number of bytes in one write; 0 means no limit.
    pub slice_write: usize,
    /// Nothing is read before this time.
    pub read_paused_until: Duration,
    /// Nothing is written before this time.
    pub write_blocked_until: Duration,
    /// The connection is reset after this many more bytes are read.
    pub cut_read: Option<usize>,
    /// The connection is reset after this many more bytes are written.
    pub cut_write: Option<usize>,
    /// How many of the next frames are delivered twice.
    pub double: u32,
    /// The next frame is delayed by this time.
    pub late: Option<Duration>,
    /// Every frame is delayed by less than this many milliseconds.
    pub jitter: u64,
    /// Bytes that are delivered before the next frame.
    pub garbage: Option<Vec<u8>>,
    /// Whether frames of the last ended connection are delivered before the next frame.
    pub replay: bool,
    /// The deliberate fault that a checker must notice, if any.
    pub broken: Option<Break>,
    /// The package whose bytes are on the wire.
    pub package: &'static Package,
    resets: u64,
    connections: u64,
    old_frames: VecDeque<Vec<u8>>,
    old_echo: Option<(u64, Value)>,
    /// The frame of a call that was taken out of the stream, to be sent after the question for its outcome.
    late_request: Option<Vec<u8>>,
    /// Whether a frame was already taken out: this is done once only.
    was_late: bool,
    wakers: BTreeMap<(u64, bool), Waker>,
}

/// The faults, shared with the parts of the simulation that change them.
#[derive(Clone, Default)]
pub struct Wire(Arc<Mutex<Faults>>);

impl Wire {
    fn lock(&self) -> MutexGuard<'_, Faults> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the faults, and wakes every stream.
    pub fn steer(&self, change: impl FnOnce(&mut Faults)) {
        let mut faults = self.lock();
        change(&mut faults);
        let wakers = std::mem::take(&mut faults.wakers);
        drop(faults);
        wakers.into_values().for_each(Waker::wake);
    }

    /// Resets every connection that exists now.
    pub fn reset_all(&self) {
        self.steer(|faults| faults.resets += 1);
    }

    /// Ends every fault of the wire. The deliberate fault, and what the proxy remembers for it, stay.
    pub fn heal(&self) {
        self.steer(|faults| {
            *faults = Faults {
                broken: faults.broken,
                package: faults.package,
                resets: faults.resets,
                connections: faults.connections,
                old_echo: faults.old_echo.take(),
                late_request: faults.late_request.take(),
                was_late: faults.was_late,
                wakers: std::mem::take(&mut faults.wakers),
                ..Faults::default()
            };
        });
    }
}

/// One machine's access to the network.
pub struct SimNet {
    /// The machine that connections of this one lead to.
    pub peer: &'static str,
    /// For the gateway: the proxy around its connections.
    pub proxy: Option<(Wire, Recorder)>,
    /// For the gateway: the proxies of the other machines that connect to the same port, by their names.
    pub others: Vec<(&'static str, (Wire, Recorder))>,
    /// For an editor: the machine that lists the bound ports, and the process that owns them.
    pub ports: Option<(Arc<MemoryHost>, Owner)>,
    /// With several editors: the ports that this editor may use. The gateway sees all editors on one machine, so no port may
    /// be in use twice.
    pub free: Option<FreePorts>,
}

/// The ports that one of several editors may use. Each bind uses the port after the previous one, as an operating system
/// does.
pub struct FreePorts {
    from: u16,
    given: AtomicU16,
}

impl FreePorts {
    /// Returns the free ports of an editor whose first port is `port`.
    pub fn behind(port: u16) -> Self {
        Self { from: port + 1, given: AtomicU16::new(0) }
    }

    async fn bind(&self) -> io::Result<TcpListener> {
        let mut bound = Err(io::ErrorKind::AddrInUse.into());
        for _ in 1..PORTS_EACH {
            let port = self.from + self.given.fetch_add(1, Ordering::Relaxed) % (PORTS_EACH - 1);
            bound = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await;
            if bound.is_ok() {
                break;
            }
        }
        bound
    }
}

/// Returns the port that stands for a local socket on turmoil's network.
fn port_of(path: &Path) -> u16 {
    let sum = path
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .fold(0_u16, |sum, byte| sum.wrapping_mul(31).wrapping_add((*byte).into()));
    60_000 + sum % 5_000
}

impl Net for SimNet {
    fn connect_local<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<(BoxStream, Option<u32>)>> {
        Box::pin(async move { Ok((self.connect(port_of(path)).await?, None)) })
    }

    fn bind_local<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Arc<dyn Listener>>> {
        self.bind(port_of(path))
    }

    fn connect(&self, port: u16) -> BoxFuture<'_, io::Result<BoxStream>> {
        Box::pin(async move {
            let stream = TcpStream::connect((self.peer, port)).await?;
            if let Some((host, owner)) = &self.ports {
                host.set_caller(Some(stream.local_addr()?), Caller::Process(owner.clone()));
            }
            Ok(match &self.proxy {
                Some((wire, recorder)) => {
                    Box::new(Proxied::new(stream, wire.clone(), recorder.clone(), false)) as BoxStream
                }
                None => Box::new(stream),
            })
        })
    }

    fn bind(&self, port: u16) -> BoxFuture<'_, io::Result<Arc<dyn Listener>>> {
        Box::pin(async move {
            let listener = match &self.free {
                Some(free) if port == 0 => free.bind().await?,
                _ => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await?,
            };
            let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, listener.local_addr()?.port()));
            let host = self.ports.as_ref().map(|(host, owner)| {
                host.set_owner(addr.port(), owner.clone());
                host.set_process(owner.pid, Liveness::Alive);
                Arc::clone(host)
            });
            // Where the editor connects, the proxy is around what is accepted.
            let proxy = self.proxy.clone().filter(|(wire, _)| wire.lock().package.facts.dials);
            let others = self.others.clone();
            Ok(Arc::new(Bound { listener, addr, host, proxy, others }) as Arc<dyn Listener>)
        })
    }
}

struct Bound {
    listener: TcpListener,
    addr: SocketAddr,
    host: Option<Arc<MemoryHost>>,
    proxy: Option<(Wire, Recorder)>,
    others: Vec<(&'static str, (Wire, Recorder))>,
}

impl Drop for Bound {
    fn drop(&mut self) {
        if let Some(host) = &self.host {
            host.disown(self.addr.port());
        }
    }
}

impl Listener for Bound {
    fn local_addr(&self) -> SocketAddr {
        self.addr
    }

    fn accept(&self) -> BoxFuture<'_, io::Result<(BoxStream, SocketAddr)>> {
        Box::pin(async move {
            let (stream, peer) = self.listener.accept().await?;
            let other = self.others.iter().find(|(machine, _)| turmoil::lookup(*machine) == peer.ip());
            let stream: BoxStream = match other.map(|(_, proxy)| proxy).or(self.proxy.as_ref()).cloned() {
                Some((wire, recorder)) => Box::new(Proxied::new(stream, wire, recorder, true)),
                None => Box::new(stream),
            };
            Ok((stream, peer))
        })
    }
}

/// A connection of the gateway, with the proxy around it.
struct Proxied {
    inner: TcpStream,
    wire: Wire,
    recorder: Recorder,
    connection: u64,
    /// Whether it is an editor's that has connected to the gateway and to which the gateway has said nothing yet, or only why it is
    /// turned away. It does not count as a connection until then.
    is_arrival: bool,
    born: u64,
    package: &'static Package,
    /// Requests without an answer: the id on the wire, and the name in the history.
    open: Vec<(String, String)>,
    /// How many requests without an id were sent.
    asked: u64,
    /// Bytes from the editor that are not a complete frame yet.
    inbox: Vec<u8>,
    /// Bytes that the gateway reads next.
    outbox: VecDeque<u8>,
    eof: bool,
    cut: bool,
    raw: bool,
    /// Bytes from the gateway that are not a complete frame yet.
    written: Vec<u8>,
    /// Additional bytes that the deliberate fault writes.
    extra: VecDeque<u8>,
    recent: VecDeque<Vec<u8>>,
    read_sleep: Option<Pin<Box<Sleep>>>,
    write_sleep: Option<Pin<Box<Sleep>>>,
}

impl Proxied {
    fn new(inner: TcpStream, wire: Wire, recorder: Recorder, is_arrival: bool) -> Self {
        let (connection, born, package) = {
            let mut faults = wire.lock();
            faults.connections += 1;
            (faults.connections, faults.resets, faults.package)
        };
        if !is_arrival {
            recorder.record(Event::Dialed(connection));
        }
        Self {
            inner,
            wire,
            recorder,
            connection,
            is_arrival,
            born,
            package,
            open: Vec::new(),
            asked: 0,
            inbox: Vec::new(),
            outbox: VecDeque::new(),
            eof: false,
            cut: false,
            raw: false,
            written: Vec::new(),
            extra: VecDeque::new(),
            recent: VecDeque::new(),
            read_sleep: None,
            write_sleep: None,
        }
    }

    /// Delivers a complete frame of the editor to the gateway, with the faults that are due.
    fn frame_in(&mut self, mut bytes: Vec<u8>) {
        let message = observer::message(&bytes);
        let what = match (self.package.wire.says)(&message) {
            Some(said) => said,
            // The request stays open.
            None if (self.package.facts.goes_on)(&message) => return self.outbox.extend(&bytes),
            None => {
                let id = observer::id_of(&message);
                self.close(&id)
            }
        };
        if (self.package.wire.is_unrun)(&message) {
            self.recorder.record(Event::TurnedAway(self.connection, what.clone()));
        }
        self.note_journal(&message, &what);
        if !self.is_arrival {
            self.recorder.record(Event::FrameIn(self.connection, what));
        }
        let mut faults = self.wire.lock();
        if let Some(garbage) = faults.garbage.take() {
            self.outbox.extend(garbage);
        }
        if faults.replay && !faults.old_frames.is_empty() {
            faults.replay = false;
            let old: Vec<u8> = faults.old_frames.drain(..).flatten().collect();
            self.outbox.extend(old);
        }
        let echo = message
            .get("result")
            .filter(|result| result.get("Echo").is_some() || result.pointer("/value/Echo").is_some());
        if let Some(result) = echo {
            let stolen = match (faults.broken, &faults.old_echo) {
                (Some(Break::SwappedReply), Some((from, old))) if *from == self.connection => Some(old.clone()),
                (Some(Break::OldFrame), Some((from, old))) if *from != self.connection => Some(old.clone()),
                _ => None,
            };
            faults.old_echo = Some((self.connection, result.clone()));
            if let Some(old) = stolen {
                let mut forged = message.clone();
                forged["result"] = old;
                bytes = frame(&forged);
            }
        }
        if faults.jitter > 0 {
            // The delay is not random: the frame's length and the connection's number decide. So if other faults of a plan
            // are removed, little changes here.
            let late = (bytes.len() as u64 * 7 + self.connection * 13) % faults.jitter;
            faults.read_paused_until = faults.read_paused_until.max(now() + Duration::from_millis(late));
        }
        if let Some(late) = faults.late.take() {
            faults.read_paused_until = faults.read_paused_until.max(now() + late);
        }
        self.outbox.extend(&bytes);
        if faults.double > 0 && self.may_come_again(&message) {
            faults.double -= 1;
            self.outbox.extend(&bytes);
        }
        if self.may_be_replayed(&message) {
            self.recent.push_back(bytes);
        }
        if self.recent.len() > OLD_FRAMES {
            self.recent.pop_front();
        }
    }

    /// Whether a frame may be delivered twice on its connection. Where some replies have no id, only their order shows which
    /// request they answer, and real TCP never delivers anything twice.
    fn may_come_again(&self, message: &Value) -> bool {
        let by_order = matches!(self.package.facts.shape, Shape::Stream { names_all: false, .. });
        !by_order || (self.package.wire.says)(message).is_some() || !observer::id_of(message).is_empty()
    }

    /// Whether a frame may be delivered again on a later connection. Not where only the connection shows which request a response
    /// belongs to.
    fn may_be_replayed(&self, message: &Value) -> bool {
        self.package.facts.shape != Shape::ConnectionEach && self.may_come_again(message)
    }

    /// Records what a frame of the editor reports about calls in its journal.
    fn note_journal(&self, message: &Value, method: &str) {
        let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        for outcome in message.pointer("/result/outcomes").and_then(Value::as_array).into_iter().flatten() {
            let (sending, status) = (text(outcome, "callId"), text(outcome, "status"));
            self.recorder.record(Event::Outcome(self.connection, sending, status));
        }
        for (job, fate) in (self.package.wire.outcomes)(message).calls.into_iter().filter(|_| self.package.facts.jobs) {
            if fate == Some(Fate::Interrupted) {
                self.recorder.record(Event::Outcome(self.connection, job, "interrupted".to_owned()));
            }
        }
        if method == "holdfast/progress"
            && let Some(params) = message.get("params")
        {
            let far = params.get("progress").and_then(Value::as_f64).unwrap_or(-1.0);
            // Progress values are small numbers that differ by thousandths.
            let far = (far * 1000.0) as i64;
            self.recorder.record(Event::Progressed(self.connection, text(params, "callId"), far));
        }
    }

    /// Chooses the name of a request in the history, which contains its call and its number. If the request does not name its
    /// call, the gateway's log does: it has just reported what is sent next.
    fn open(&mut self, asked: &Asked) -> String {
        let own = |number: &dyn std::fmt::Display| format!("holdfast.{number}");
        let name = match self.package.facts.shape {
            Shape::Stream { names_calls: true, .. } => asked.id.clone(),
            Shape::ConnectionEach => {
                let call = self.recorder.last_sent(None).filter(|_| asked.is_call);
                call.map_or_else(|| own(&self.connection), |call| format!("{call}.{}", self.connection))
            }
            // What is no number of ours is not in the log.
            Shape::Stream { .. } if self.package.facts.window == 1 && asked.id.parse::<u64>().is_err() => {
                self.asked += 1;
                let call = self.recorder.last_sent(None).filter(|_| asked.is_call);
                call.map_or_else(|| own(&self.asked), |call| format!("{call}.{}", self.asked))
            }
            Shape::Stream { names_calls: false, .. } => {
                let call = self.recorder.last_sent(Some(&asked.id));
                call.map_or_else(|| own(&asked.id), |call| format!("{call}.{}", asked.id))
            }
        };
        self.open.push((asked.id.clone(), name.clone()));
        name
    }

    /// Returns the name of the request that an answer with this id belongs to. An answer without an id belongs to the oldest
    /// request.
    fn close(&mut self, id: &str) -> String {
        let place = self.open.iter().position(|(open, _)| id.is_empty() || open == id);
        place.map_or_else(|| id.to_owned(), |place| self.open.remove(place).1)
    }

    /// Records the frames that the gateway wrote.
    fn note_written(&mut self, bytes: &[u8]) {
        self.written.extend_from_slice(bytes);
        while let Ok(Some(length)) = (self.package.wire.length)(&self.written) {
            let bytes: Vec<u8> = self.written.drain(..length).collect();
            let message = observer::message(&bytes);
            let asked = (self.package.wire.asked)(&bytes, &message);
            if self.is_arrival && asked.id.is_empty() || asked == Asked::default() {
                continue;
            }
            if std::mem::take(&mut self.is_arrival) {
                self.recorder.record(Event::Dialed(self.connection));
            }
            let id = self.open(&asked);
            let Asked { method, sending, .. } = asked;
            let asks = method == "holdfast/outcome";
            let doubled = method == "count" && self.wire.lock().broken == Some(Break::DoubledRequest);
            let broken = self.wire.lock().broken;
            if broken == Some(Break::LoggedFrame) {
                let frame = String::from_utf8_lossy(&bytes).into_owned();
                tracing::debug!(target: "holdfast", event = "frame_written", frame = %frame);
            }
            if broken == Some(Break::NoWindow) && method == "echo" {
                let done = serde_json::json!({"jsonrpc": "2.0", "id": message["id"], "result": {}});
                self.outbox.extend(frame(&done));
                let reader = self.wire.lock().wakers.remove(&(self.connection, true));
                reader.into_iter().for_each(Waker::wake);
            }
            self.recorder.record(Event::FrameOut(self.connection, method, id.clone()));
            if let Some(sending) = sending {
                self.recorder.record(Event::Sent(self.connection, id, sending));
            }
            if asks && let Some(late) = self.wire.lock().late_request.take() {
                self.extra.extend(late);
            }
            if doubled {
                self.extra.extend(&bytes);
            }
        }
    }

    /// If the deliberate fault delays a request: takes the frame of one call out of the stream, and resets the connection.
    /// Returns whether it did.
    fn is_to_be_late(&mut self, bytes: &[u8]) -> bool {
        let mut faults = self.wire.lock();
        let late = faults.broken.is_some_and(Break::delays_a_request)
            && !faults.was_late
            && Some(observer::message(bytes))
                .is_some_and(|message| message.pointer("/params/tool") == Some(&Value::from("count")));
        if late {
            faults.was_late = true;
            faults.late_request = Some(bytes.to_vec());
            drop(faults);
            self.cut = true;
            self.wire.steer(|_| {});
        }
        late
    }

    fn poll_extra(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.extra.is_empty() {
            let bytes: Vec<u8> = self.extra.iter().copied().collect();
            let count = ready!(Pin::new(&mut self.inner).poll_write(cx, &bytes))?;
            self.extra.drain(..count);
        }
        Poll::Ready(Ok(()))
    }

    /// Waits while the wire is stopped in this direction. Returns an error if the connection is reset.
    fn poll_open(&mut self, cx: &mut Context<'_>, reading: bool) -> Poll<io::Result<()>> {
        loop {
            let until = {
                let mut faults = self.wire.lock();
                faults.wakers.insert((self.connection, reading), cx.waker().clone());
                let cut = if reading { &mut faults.cut_read } else { &mut faults.cut_write };
                if *cut == Some(0) {
                    *cut = None;
                    self.cut = true;
                }
                if self.cut || self.born < faults.resets {
                    return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
                }
                if reading { faults.read_paused_until } else { faults.write_blocked_until }
            };
            let sleep = if reading { &mut self.read_sleep } else { &mut self.write_sleep };
            let Some(wait) = until.checked_sub(now()).filter(|wait| !wait.is_zero()) else {
                *sleep = None;
                return Poll::Ready(Ok(()));
            };
            let mut sleeping = Box::pin(tokio::time::sleep(wait));
            let polled = sleeping.as_mut().poll(cx);
            *sleep = Some(sleeping);
            ready!(polled);
        }
    }
}

impl Drop for Proxied {
    fn drop(&mut self) {
        let mut faults = self.wire.lock();
        faults.old_frames = std::mem::take(&mut self.recent);
        faults.wakers.remove(&(self.connection, true));
        faults.wakers.remove(&(self.connection, false));
        drop(faults);
        if !self.is_arrival {
            self.recorder.record(Event::HungUp(self.connection));
        }
    }
}

impl AsyncRead for Proxied {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            ready!(this.poll_open(cx, true))?;
            if !this.outbox.is_empty() {
                let mut faults = this.wire.lock();
                let mut count = this.outbox.len().min(buffer.remaining());
                if faults.slice_read > 0 {
                    count = count.min(faults.slice_read);
                }
                if let Some(left) = &mut faults.cut_read {
                    count = count.min(*left);
                    *left -= count;
                }
                drop(faults);
                let bytes: Vec<u8> = this.outbox.drain(..count).collect();
                buffer.put_slice(&bytes);
                return Poll::Ready(Ok(()));
            }
            if this.eof {
                return Poll::Ready(Ok(()));
            }
            let mut chunk = vec![0; 16 * 1024];
            let mut read = ReadBuf::new(&mut chunk);
            ready!(Pin::new(&mut this.inner).poll_read(cx, &mut read))?;
            if read.filled().is_empty() {
                this.eof = true;
                let rest = std::mem::take(&mut this.inbox);
                this.outbox.extend(rest);
                continue;
            }
            this.inbox.extend_from_slice(read.filled());
            while !this.raw {
                match (this.package.wire.length)(&this.inbox) {
                    Ok(Some(length)) => {
                        let bytes = this.inbox.drain(..length).collect();
                        this.frame_in(bytes);
                    }
                    Ok(None) => break,
                    Err(NoFrame) => this.raw = true,
                }
            }
            if this.raw {
                let rest = std::mem::take(&mut this.inbox);
                this.outbox.extend(rest);
            }
        }
    }
}

impl AsyncWrite for Proxied {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_open(cx, false))?;
        ready!(this.poll_extra(cx))?;
        if this.is_to_be_late(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        let mut count = bytes.len();
        {
            let faults = this.wire.lock();
            if faults.slice_write > 0 {
                count = count.min(faults.slice_write);
            }
            if let Some(left) = faults.cut_write {
                count = count.min(left);
            }
        }
        let count = ready!(Pin::new(&mut this.inner).poll_write(cx, &bytes[..count]))?;
        if let Some(left) = &mut this.wire.lock().cut_write {
            *left -= count;
        }
        this.note_written(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_extra(cx))?;
        Pin::new(&mut this.inner).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(cx)
    }
}
