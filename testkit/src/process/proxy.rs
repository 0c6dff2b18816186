//! A proxy between gateway and editor that changes one message: it cuts the message after some bytes, withholds it or forges it.
//!
//! The proxy reads frames only to find where each begins. Its port stays bound while the editor's port is closed, so that no
//! other process can take it.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::room::STARTING;

/// How much of the message to pass on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The first bytes.
    Front(usize),
    /// All but the last bytes.
    AllBut(usize),
}

/// What to do with the message.
#[derive(Debug, Clone)]
pub enum Act {
    /// A part of the request is passed on, then both connections end.
    CutRequest(Keep),
    /// A part of the reply is passed on, then both connections end.
    CutReply(Keep),
    /// The reply is dropped; later messages are passed on.
    SwallowReply,
    /// Other bytes replace the reply, and the connections stay open.
    ForgeReply(Vec<u8>),
    /// Other bytes replace the reply, then both connections end.
    ForgeReplyAndEnd(Vec<u8>),
    /// The reply is sent twice.
    DoubleReply,
    /// The request is not passed on. The proxy returns an error with this message, as if the editor had sent it.
    RefuseRequest(&'static str),
}

struct Plan {
    /// The text that the request must contain.
    mark: String,
    act: Act,
    reset: bool,
    /// The number of requests that the plan still applies to.
    left: usize,
    /// The id of the request, once it has been passed on: the plan applies to its reply.
    id: Option<String>,
}

#[derive(Default)]
struct Shared {
    editor: AtomicU16,
    hangs_up: AtomicBool,
    dials: AtomicU64,
    open: AtomicUsize,
    length: AtomicUsize,
    plan: Mutex<Option<Plan>>,
    seen: Mutex<Vec<Vec<u8>>>,
}

impl Shared {
    fn plan(&self) -> MutexGuard<'_, Option<Plan>> {
        self.plan.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A running proxy. It ends when it is dropped.
pub struct Proxy {
    /// The port that it listens on.
    pub port: u16,
    shared: Arc<Shared>,
    _stop: oneshot::Sender<()>,
}

impl Proxy {
    /// Starts a proxy for an editor's port.
    pub fn start(editor: u16) -> Self {
        let shared = Arc::new(Shared::default());
        shared.editor.store(editor, Ordering::SeqCst);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    () = serve(listener, serving) => {}
                }
            });
        });
        Self { port, shared, _stop: stop }
    }

    /// Sets the editor's port from now on.
    pub fn lead_to(&self, editor: u16) {
        self.shared.editor.store(editor, Ordering::SeqCst);
    }

    /// Sets whether the proxy closes every new connection at once.
    pub fn hang_up(&self, on: bool) {
        self.shared.hangs_up.store(on, Ordering::SeqCst);
    }

    /// Returns the number of connections made to the proxy.
    pub fn dials(&self) -> u64 {
        self.shared.dials.load(Ordering::SeqCst)
    }

    /// Returns the number of open connections.
    pub fn open(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }

    /// Returns the length in bytes of the last message that was cut.
    pub fn length(&self) -> usize {
        self.shared.length.load(Ordering::SeqCst)
    }

    /// Sets a plan: to act on the next request that contains the mark, or on its reply. `reset`: the connections end with a
    /// reset.
    pub fn plan(&self, mark: &str, act: Act, reset: bool) {
        self.plan_times(1, mark, act, reset);
    }

    /// Like [`plan`](Self::plan), for this many requests.
    pub fn plan_times(&self, times: usize, mark: &str, act: Act, reset: bool) {
        *self.shared.plan() = Some(Plan { mark: mark.to_owned(), act, reset, left: times, id: None });
    }

    /// Whether the plan was carried out; true if there was none.
    pub fn is_done(&self) -> bool {
        self.shared.plan().is_none()
    }

    /// Returns the number of requests to the editor that contained this text.
    pub fn requests_with(&self, text: &str) -> usize {
        let seen = self.shared.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        seen.iter().filter(|frame| holds(frame, text)).count()
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok(near) = std::future::poll_fn(|context| accept(&listener, context)).await else { continue };
        shared.dials.fetch_add(1, Ordering::SeqCst);
        if shared.hangs_up.load(Ordering::SeqCst) {
            continue;
        }
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let editor = shared.editor.load(Ordering::SeqCst);
            if let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, editor)).await {
                let _ = (near.set_nodelay(true), far.set_nodelay(true));
                shared.open.fetch_add(1, Ordering::SeqCst);
                relay(near, far, &shared).await;
                shared.open.fetch_sub(1, Ordering::SeqCst);
            }
        });
    }
}

fn accept(listener: &TcpListener, context: &mut Context<'_>) -> Poll<std::io::Result<TcpStream>> {
    let _no_start = STARTING.lock();
    let accepted = listener.poll_accept(context).map_ok(|(near, _)| near);
    #[cfg(windows)]
    if let Poll::Ready(Ok(near)) = &accepted {
        let _ = socket2::SockRef::from(near).set_no_inherit(true);
    }
    accepted
}

/// What to do with a message: the bytes to pass on, and whether the connections then end (`true`: by a reset).
struct Fate {
    bytes: Vec<u8>,
    end: Option<bool>,
    /// Bytes to return to the sender.
    back: Vec<u8>,
}

impl Fate {
    fn pass(bytes: Vec<u8>) -> Self {
        Self { bytes, end: None, back: Vec::new() }
    }
}

async fn relay(mut near: TcpStream, mut far: TcpStream, shared: &Shared) {
    let (mut requests, mut replies) = (Frames::default(), Frames::default());
    let (mut there, mut back) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    loop {
        tokio::select! {
            read = near.read(&mut there) => {
                let Ok(count @ 1..) = read else { return };
                requests.0.extend_from_slice(&there[..count]);
                while let Some(frame) = requests.next() {
                    shared.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(frame.clone());
                    let fate = of_request(shared, frame);
                    if !deliver(fate, &mut far, &mut near).await {
                        return;
                    }
                }
            }
            read = far.read(&mut back) => {
                let Ok(count @ 1..) = read else { return };
                replies.0.extend_from_slice(&back[..count]);
                while let Some(frame) = replies.next() {
                    let fate = of_reply(shared, frame);
                    if !deliver(fate, &mut near, &mut far).await {
                        return;
                    }
                }
            }
        }
    }
}

/// Writes the bytes of a fate to both sides. Returns false if the connections must end.
async fn deliver(fate: Fate, to: &mut TcpStream, other: &mut TcpStream) -> bool {
    let written = to.write_all(&fate.bytes).await.is_ok() && other.write_all(&fate.back).await.is_ok();
    if fate.end == Some(true) {
        let _ = (to.set_zero_linger(), other.set_zero_linger());
    }
    written && fate.end.is_none()
}

fn of_request(shared: &Shared, frame: Vec<u8>) -> Fate {
    let mut plan = shared.plan();
    let Some(planned) = plan.as_mut().filter(|plan| plan.id.is_none() && holds(&frame, &plan.mark)) else {
        return Fate::pass(frame);
    };
    if let Act::CutRequest(keep) = planned.act {
        let reset = planned.reset;
        *plan = None;
        return cut(shared, frame, keep, reset);
    }
    if let Act::RefuseRequest(message) = planned.act {
        planned.left -= 1;
        if planned.left == 0 {
            *plan = None;
        }
        let error =
            serde_json::json!({"code": -32603, "message": message, "data": {"type": "internal_error", "message": ""}});
        let body = format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, id_of(&frame));
        let back = format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes();
        return Fate { bytes: Vec::new(), end: None, back };
    }
    planned.id = Some(id_of(&frame));
    Fate::pass(frame)
}

fn of_reply(shared: &Shared, frame: Vec<u8>) -> Fate {
    let mut plan = shared.plan();
    let meant = plan.as_ref().and_then(|plan| plan.id.as_ref()).is_some_and(|id| id_of(&frame) == *id);
    let Some(Plan { act, reset, left, mark, .. }) = (if meant { plan.take() } else { None }) else {
        return Fate::pass(frame);
    };
    if left > 1 {
        *plan = Some(Plan { mark, act: act.clone(), reset, left: left - 1, id: None });
    }
    match act {
        Act::CutReply(keep) => cut(shared, frame, keep, reset),
        Act::SwallowReply => Fate::pass(Vec::new()),
        Act::ForgeReply(bytes) => Fate::pass(bytes),
        Act::ForgeReplyAndEnd(bytes) => Fate { end: Some(reset), ..Fate::pass(bytes) },
        Act::DoubleReply => Fate::pass([frame.clone(), frame].concat()),
        Act::CutRequest(_) | Act::RefuseRequest(_) => Fate::pass(frame),
    }
}

fn cut(shared: &Shared, mut frame: Vec<u8>, keep: Keep, reset: bool) -> Fate {
    shared.length.store(frame.len(), Ordering::SeqCst);
    let kept = match keep {
        Keep::Front(bytes) => bytes.min(frame.len()),
        Keep::AllBut(bytes) => frame.len().saturating_sub(bytes),
    };
    frame.truncate(kept);
    Fate { end: Some(reset), ..Fate::pass(frame) }
}

fn holds(frame: &[u8], text: &str) -> bool {
    frame.windows(text.len().max(1)).any(|window| window == text.as_bytes())
}

fn id_of(frame: &[u8]) -> String {
    let body = frame.splitn(2, |byte| *byte == b'{').nth(1).map(|rest| [b"{", rest].concat()).unwrap_or_default();
    let message: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    message["id"].to_string()
}

/// Splits a stream into its frames.
#[derive(Default)]
struct Frames(Vec<u8>);

impl Frames {
    fn next(&mut self) -> Option<Vec<u8>> {
        let header = self.0.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
        let text = String::from_utf8_lossy(&self.0[..header]).to_lowercase();
        let length: usize = text.split("content-length:").nth(1)?.trim().parse().ok()?;
        (self.0.len() >= header + length).then(|| self.0.drain(..header + length).collect())
    }
}
