//! What the package of an editor knows, and what outlives a connection, a domain or a process.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinSet;

use super::dial::Dial;
use super::jobs::Job;
use super::scripts::Scripts;
use super::stdio::Attached;
use super::unity::Snapshot;
use crate::config::FakeUnityConfig;
use crate::model::Editor;
use crate::package_version::PackageVersion;

/// A new client closes all others, tools are listed, and the gateway is called by its number.
pub(super) const V9_5: PackageVersion = PackageVersion::new(9, 5, 0);
/// A taken port is tried again for a time.
pub(super) const V9_7_3: PackageVersion = PackageVersion::new(9, 7, 3);
/// The limit of time is longer, and equal commands are joined.
pub(super) const V10_2: PackageVersion = PackageVersion::new(10, 2, 0);

/// The package in an editor.
pub(super) struct Bridge {
    pub(super) version: PackageVersion,
    /// Whether the bridge connects to the gateway. If not, it listens.
    pub(super) dials: bool,
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

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bridge {
    pub(super) fn new(config: &FakeUnityConfig) -> Self {
        let version = config.played();
        let usual = Duration::from_secs(if version >= V10_2 { 300 } else { 30 });
        Self {
            version,
            dials: config.dials.is_some(),
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
