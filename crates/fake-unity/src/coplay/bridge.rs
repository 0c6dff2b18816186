//! What the package of an editor knows, and what outlives a connection, a domain or a process.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::scripts::Scripts;
use crate::config::FakeUnityConfig;
use crate::model::Editor;
use crate::package_version::PackageVersion;

/// A new client closes all others, tools are listed, and the gateway is called by its number.
pub(super) const V9_5: PackageVersion = PackageVersion::new(9, 5, 0);
/// A taken port is tried again for a time.
pub(super) const V9_7_3: PackageVersion = PackageVersion::new(9, 7, 3);
/// The limit of time is longer, and equal commands are joined.
pub(super) const V10_2: PackageVersion = PackageVersion::new(10, 2, 0);

/// Pauses before the attempts, in seconds (the package's own numbers).
const PAUSES: [u64; 6] = [0, 1, 3, 5, 10, 30];

/// The package in an editor.
pub(super) struct Bridge {
    pub(super) version: PackageVersion,
    /// Whether the bridge connects to the gateway. If not, it listens.
    pub(super) dials: bool,
    /// After how long without a connection the user presses Connect.
    pub(super) user_connects: Option<Duration>,
    /// How long a client waits for the end of its command.
    pub(super) limit: Duration,
    blocked: Vec<String>,
    pub(super) test_tools: bool,
    pub(super) conformance_tools: bool,
    process: Mutex<Process>,
    /// What ends with the domain, or with the bridge in it; `None` if there is none.
    pub(super) tasks: Mutex<Option<JoinSet<()>>>,
    /// The clients of the server. The end of a sender closes its client.
    pub(super) clients: Mutex<BTreeMap<u64, oneshot::Sender<()>>>,
    /// Commands that are queued or run, by their bytes.
    pub(super) attached: Mutex<BTreeMap<Bytes, Attached>>,
    pub(super) dial: Mutex<Dial>,
    /// Whether the package's window is open.
    pub(super) window: watch::Sender<bool>,
    /// Number of changes of the tools.
    pub(super) changes: watch::Sender<u64>,
    /// Whether a command of the gateway is at work.
    pub(super) is_busy: AtomicBool,
    /// Ends the session with the gateway.
    pub(super) ends_session: Notify,
}

/// What the package remembers. Unless it says otherwise, a reload keeps it.
#[derive(Default)]
pub(super) struct Process {
    /// How often the bridge started in this domain.
    pub(super) starts: u64,
    /// The port that the files name.
    pub(super) port_told: Option<u16>,
    /// Whether scripts are compiled; not kept.
    pub(super) compiling: bool,
    pub(super) paused: bool,
    pub(super) jobs: VecDeque<Job>,
    pub(super) snapshot: Snapshot,
    pub(super) scripts: Scripts,
}

/// A command that is queued or runs, to which an equal one of another client is attached.
pub(super) struct Attached {
    pub(super) connection: u64,
    pub(super) reply: watch::Receiver<Option<Arc<str>>>,
}

/// A job.
pub(super) struct Job {
    pub(super) tool: &'static str,
    pub(super) id: String,
    pub(super) mode: String,
    pub(super) domain: u64,
    pub(super) began: Instant,
    pub(super) takes: Duration,
    pub(super) began_unix_ms: u64,
}

impl Job {
    pub(super) fn runs(&self) -> bool {
        self.began.elapsed() < self.takes
    }
}

/// The state as it was looked at last. It is looked at again when something has changed, so that it ages while nothing happens.
#[derive(Default)]
pub(super) struct Snapshot {
    pub(super) facts: Value,
    pub(super) sequence: u64,
    pub(super) observed_unix_ms: u64,
}

/// The attempts to connect.
pub(super) struct Dial {
    made: usize,
    /// How many are made. Later versions are said to go on for ever after a loss; from which one on is not known.
    of: usize,
    next: Instant,
    /// When the last one was made.
    last: Instant,
}

impl Dial {
    fn times(of: usize) -> Self {
        Self { made: 0, of, next: Instant::now(), last: Instant::now() }
    }

    /// No attempts.
    pub(super) fn none() -> Self {
        Self::times(0)
    }

    /// The attempts of a bridge whose domain begins. `again`: after a reload.
    pub(super) fn of_domain(again: bool) -> Self {
        if again { Self::after_loss() } else { Self::times(1) }
    }

    /// The attempts after a session has ended.
    pub(super) fn after_loss() -> Self {
        Self::times(PAUSES.len())
    }

    /// Whether an attempt is due, which then counts as made. After a time without one the user makes it.
    pub(super) fn is_due(&mut self, user: Option<Duration>) -> bool {
        let by_itself = self.made < self.of && self.next <= Instant::now();
        if by_itself {
            self.made += 1;
            self.next = Instant::now() + Duration::from_secs(PAUSES.get(self.made).copied().unwrap_or_default());
        }
        let is = by_itself || user.is_some_and(|after| self.last.elapsed() >= after);
        if is {
            self.last = Instant::now();
        }
        is
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bridge {
    pub(super) fn new(config: &FakeUnityConfig) -> Self {
        let version = config.played();
        let usual = Duration::from_secs(if version >= V10_2 { 300 } else { 30 });
        Self {
            version,
            dials: config.package.facts.dials,
            user_connects: config.user_connects,
            limit: config.command_limit.unwrap_or(usual),
            blocked: config.blocked_tools.clone(),
            test_tools: config.test_tools,
            conformance_tools: config.conformance_tools,
            process: Mutex::default(),
            tasks: Mutex::default(),
            clients: Mutex::default(),
            attached: Mutex::default(),
            dial: Mutex::new(Dial::none()),
            window: watch::Sender::new(false),
            changes: watch::Sender::new(0),
            is_busy: AtomicBool::new(false),
            ends_session: Notify::new(),
        }
    }

    pub(super) fn process(&self) -> MutexGuard<'_, Process> {
        lock(&self.process)
    }

    /// Whether the user disabled a tool in the package's window.
    pub(super) fn is_disabled(&self, tool: &str) -> bool {
        self.blocked.iter().any(|blocked| blocked == tool)
    }

    /// Begins a task that ends with the domain, or with the bridge in it. Between two domains none begins.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(tasks) = &mut *lock(&self.tasks) {
            while tasks.try_join_next().is_some() {}
            tasks.spawn(task);
        }
    }

    pub(super) fn process_began(&self) {
        *self.process() = Process::default();
        // The window is a part of the process.
        self.window.send_replace(false);
    }

    pub(super) fn domain_began(self: &Arc<Self>, editor: &Arc<Editor>, again: bool) {
        *lock(&self.tasks) = Some(JoinSet::new());
        self.process().compiling = false;
        *lock(&self.dial) = Dial::of_domain(again);
        let (bridge, editor) = (Arc::clone(self), Arc::clone(editor));
        self.spawn(async move {
            if bridge.dials { bridge.probes(&editor).await } else { bridge.heartbeats(&editor).await }
        });
    }

    pub(super) fn tools_changed(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }
}
