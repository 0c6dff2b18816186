//! The bridge's state, over all connections: its identity, its peers, the calls that wait and run, and the journal. Also what
//! works with it: the face, and the turn of a tool.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use super::calls::Call;
use super::journal::Journal;
use super::package::{PACKAGE_VERSION, Traits};
use super::wire;
use super::world::{Facts, World};
use crate::events::Event;
use crate::json::Object;
use crate::model::Editor;
use crate::project::Project;
use crate::push::Hub;
use crate::spec::ToolSpec;
use crate::tools::Arguments;
use crate::work::Begun;

/// Messages that may wait for one client.
pub(crate) const WAITING_MAX: usize = 1024;
/// Bytes of the messages that may wait for one client.
const WAITING_MAX_BYTES: usize = 2 * wire::OUTGOING_MAX_BYTES;

/// A message on its way to a client.
pub(crate) struct Outgoing {
    pub(crate) frame: Vec<u8>,
    /// The event to report when the message is written.
    pub(crate) event: Option<Event>,
    pub(crate) written: Option<oneshot::Sender<()>>,
}

/// The outgoing queue of a connection.
#[derive(Clone)]
pub(crate) struct Outbox {
    pub(crate) messages: mpsc::Sender<Outgoing>,
    pub(crate) bytes: Arc<AtomicUsize>,
    /// Set to end the connection: at once, or after the waiting messages are written.
    pub(crate) ending: Arc<watch::Sender<Ending>>,
}

/// Whether a connection is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    No,
    /// When the waiting messages are written, for this reason.
    Written(&'static str),
    /// At once, for this reason.
    Now(&'static str),
}

impl Outbox {
    /// Queues a message. A client that lets too much wait is disconnected. Returns false if the message will not be sent.
    pub(crate) fn send(&self, frame: Vec<u8>, event: Option<Event>, written: Option<oneshot::Sender<()>>) -> bool {
        if *self.ending.borrow() != Ending::No {
            return false;
        }
        let size = frame.len();
        let waits = self.bytes.fetch_add(size, Ordering::Relaxed) + size;
        let sent = waits <= WAITING_MAX_BYTES && self.messages.try_send(Outgoing { frame, event, written }).is_ok();
        if !sent {
            self.end(Ending::Now("the client does not read"));
        }
        sent
    }

    /// Ends the connection, unless it is already ending.
    pub(crate) fn end(&self, ending: Ending) {
        self.ending.send_if_modified(|now| {
            let news = *now == Ending::No;
            if news {
                *now = ending;
            }
            news
        });
    }
}

/// What `holdfast/hello` said, and the challenge that it was answered with (`own`). `holdfast/prove` needs both.
#[derive(Debug, Clone)]
pub(crate) struct Greeting {
    pub(crate) gateway: String,
    pub(crate) client: String,
    pub(crate) challenge: String,
    pub(crate) own: String,
    pub(crate) push: Option<(String, Option<String>)>,
}

/// The peer of one connection.
pub(crate) struct Peer {
    pub(crate) outbox: Outbox,
    pub(crate) greeting: Option<Greeting>,
    /// The gateway's id, once the peer has proven that it knows the token.
    pub(crate) gateway: Option<String>,
    /// Set when a newer connection of the gateway replaces this one. Nothing received on it has an effect from then on.
    pub(crate) fenced: bool,
    /// Requests that use uLoop's methods, which run one after the other; the first one is running.
    pub(crate) lane: VecDeque<wire::Request>,
}

/// The identity of the editor's current process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Life {
    pub(crate) nonce: String,
    pub(crate) token: String,
    /// Number of this fake editor's domains that belonged to its earlier processes.
    pub(crate) earlier_domains: u64,
}

/// A tool that a test defines.
#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) spec: ToolSpec,
    pub(crate) traits: Traits,
    pub(crate) run: fn(&Turn, &Arguments) -> Begun,
}

/// Values that a test fixes. Otherwise `nonce`, `token` and `challenge` are random, `project` is the editor's own, and the tools
/// are the usual ones.
#[derive(Debug, Clone)]
pub(crate) struct Fixed {
    pub(crate) nonce: &'static str,
    pub(crate) token: &'static str,
    pub(crate) challenge: &'static str,
    pub(crate) project: &'static str,
    pub(crate) tools: &'static [Own],
}

/// The settings of the bridge.
#[derive(Debug, Clone, Default)]
pub(crate) struct Setup {
    pub(crate) blocked: Vec<String>,
    pub(crate) test_tools: bool,
    pub(crate) conformance_tools: bool,
    pub(crate) fixed: Option<Fixed>,
}

#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) life: Life,
    pub(crate) journal: Journal,
    pub(crate) peers: BTreeMap<u64, Peer>,
    /// Calls that wait or run, in the order in which they were read.
    pub(crate) calls: BTreeMap<u64, Call>,
    pub(crate) next_key: u64,
    /// Why the bridge takes no calls; `None` while it does.
    pub(crate) closed: Option<&'static str>,
    /// `reloading` or `stopping`, while the bridge leaves.
    pub(crate) leaving: Option<&'static str>,
    pub(crate) compiling: bool,
    /// The editor's state (see `word`) as it was last reported.
    pub(crate) told: &'static str,
    pub(crate) tasks: JoinSet<()>,
}

/// The bridge's state, shared by its connections and its calls.
pub(crate) struct Desk {
    inner: Mutex<Inner>,
    /// What the package's tools work with; `None` until one is called in this process of the editor. This lock is taken last.
    world: Mutex<Option<World>>,
    pub(crate) setup: Setup,
    pub(crate) push: Hub,
}

/// The wire protocol of holdfast's package, from the editor's side.
#[derive(Clone)]
pub(crate) struct HoldfastFace {
    pub(super) desk: Arc<Desk>,
}

/// What a tool knows about the call that it runs for.
#[derive(Clone)]
pub(crate) struct Turn {
    pub(crate) face: HoldfastFace,
    pub(crate) editor: Arc<Editor>,
    pub(crate) key: u64,
}

impl Turn {
    pub(crate) fn progress(&self, progress: f64, total: f64, message: &str) {
        self.face.progress(&self.editor, self.key, progress, Some(total), Some(message));
    }

    pub(crate) fn attach(&self, block: Object) {
        self.face.attach(self.key, block.finish());
    }
}

impl Desk {
    pub(crate) fn new(setup: Setup, push: Hub) -> Self {
        let inner = Inner { closed: Some("The bridge does not run"), ..Inner::default() };
        Self { inner: Mutex::new(inner), world: Mutex::default(), setup, push }
    }

    /// Works with the world, which the first call makes.
    pub(crate) fn world<T>(&self, editor: &Editor, work: impl FnOnce(&mut World, &Facts) -> T) -> T {
        let compiling = self.lock().compiling;
        let (playing, broken) = {
            let state = editor.state();
            (state.playing, state.compile_errors)
        };
        let facts = Facts {
            playing,
            compiling,
            importing: editor.gate.borrow().imports(),
            broken,
            project: self.project(editor),
            package_version: PACKAGE_VERSION,
        };
        let mut world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = || editor.project.as_ref().and_then(Project::own_folder).map(Path::to_path_buf);
        work(world.get_or_insert_with(|| World::new(folder())), &facts)
    }

    /// Whether the last compilation had errors. Does not make a world: before its first tool nothing was compiled.
    pub(crate) fn is_red(&self, editor: &Editor) -> bool {
        let world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        let red = world.as_ref().is_some_and(World::is_red);
        drop(world);
        red || editor.state().compile_errors
    }

    /// Drops the world, since its process has ended.
    pub(crate) fn forget_world(&self) {
        *self.world.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Locks the state. Take this lock before the editor's own lock, never after it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The journal's clock: milliseconds since the editor's start.
    pub(crate) fn now(editor: &Editor) -> u64 {
        u64::try_from(editor.uptime().as_millis()).unwrap_or(u64::MAX)
    }

    /// Random hex digits. Their number must be a multiple of 32.
    pub(crate) fn draw(editor: &Editor, digits: usize) -> String {
        let mut text = String::new();
        while text.len() < digits {
            text.push_str(&editor.guid().replace('-', ""));
        }
        text
    }

    /// The project's folder as the bridge reports it, with forward slashes.
    pub(crate) fn project(&self, editor: &Editor) -> String {
        let root = editor.project.as_ref().map_or("/project", |project| project.root());
        self.setup.fixed.as_ref().map_or(root, |fixed| fixed.project).replace('\\', "/")
    }
}

impl Inner {
    /// Number of the domain within this process.
    pub(crate) fn generation(&self, editor: &Editor) -> u64 {
        editor.state().domain.saturating_sub(self.life.earlier_domains)
    }

    /// The editor's state, as the protocol names it.
    pub(crate) fn word(&self, editor: &Editor) -> &'static str {
        match self.leaving {
            Some(word) => word,
            None if self.compiling => "compiling",
            None if editor.state().playing => "playing",
            None => "ready",
        }
    }

    /// The result of `ping`.
    pub(crate) fn ping(&self, editor: &Editor, message: Option<String>) -> Object {
        let message = message.unwrap_or_else(|| "Hello from TypeScript MCP Server".to_owned());
        Object::new()
            .text("Message", &format!("Unity MCP Bridge received: {message}"))
            .text("State", self.word(editor))
            .number("Generation", self.generation(editor))
            .number("FrameAgeMs", i128::try_from(editor.frame_age().as_millis()).unwrap_or(0))
    }

    /// The current connection of a gateway.
    pub(crate) fn present(&self, gateway: &str) -> Option<&Outbox> {
        let of = |peer: &&Peer| !peer.fenced && peer.gateway.as_deref() == Some(gateway);
        self.peers.values().rev().find(of).map(|peer| &peer.outbox)
    }

    /// Sends a notification to every peer that `to` picks; each receiver resolves when its copy is written.
    pub(crate) fn broadcast(
        &self,
        method: &str,
        params: &Object,
        to: impl Fn(&Peer) -> bool,
    ) -> Vec<oneshot::Receiver<()>> {
        let frame = wire::notification(method, params.clone());
        let send = |peer: &Peer| {
            let (written, done) = oneshot::channel();
            peer.outbox.send(frame.clone(), None, Some(written)).then_some(done)
        };
        self.peers.values().filter(|peer| to(peer)).filter_map(send).collect()
    }
}
