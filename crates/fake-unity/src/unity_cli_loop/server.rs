//! What the package of an editor knows: who has the only slot, and what outlives a reload.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::wire::Failure;
use crate::model::Editor;
use crate::package_version::PackageVersion;

/// The tool that runs code. Only two of these share the slot.
pub(super) const CODE: &str = "execute-dynamic-code";
/// The tool that begins and ends play mode.
pub(super) const PLAY: &str = "control-play-mode";

/// How long a result is kept (the package's own number).
const KEPT: Duration = Duration::from_secs(20 * 60);
/// How many results are kept; one tool runs at a time.
const RESULTS_MAX: usize = 256;

/// The package in an editor.
pub(super) struct Server {
    pub(super) version: PackageVersion,
    pub(super) blocked: Vec<String>,
    pub(super) test_tools: bool,
    pub(super) conformance_tools: bool,
    slot: Mutex<Option<Running>>,
    process: Mutex<Process>,
    /// Compilations and test runs, which end with the domain and not with their callers; `None` if there is no domain.
    pub(super) tasks: Mutex<Option<JoinSet<()>>>,
}

/// Who has the slot.
struct Running {
    tool: String,
    since: Instant,
    phase: &'static str,
    holders: usize,
}

/// What a reload keeps.
#[derive(Default)]
pub(super) struct Process {
    results: VecDeque<Kept>,
    /// Whether Unity compiles, and whether a reload is about to begin or runs.
    pub(super) compiling: bool,
    pub(super) reloading: bool,
    pub(super) paused: bool,
    /// The number of files that tools have written.
    pub(super) files: u64,
    /// The catalogue as it was written last.
    pub(super) catalogue: String,
}

struct Kept {
    tool: &'static str,
    id: String,
    since: Instant,
    result: String,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A share in the slot. Dropping it gives it back.
pub(super) struct Turn(Arc<Server>);

impl Drop for Turn {
    fn drop(&mut self) {
        let mut slot = lock(&self.0.slot);
        if let Some(running) = slot.as_mut() {
            running.holders -= 1;
            if running.holders == 0 {
                *slot = None;
            }
        }
    }
}

impl Turn {
    /// Marks that the tool runs and no longer waits for the main thread.
    pub(super) fn runs(&self) {
        if let Some(running) = lock(&self.0.slot).as_mut() {
            running.phase = "running";
        }
    }
}

impl Server {
    pub(super) fn new(
        version: PackageVersion,
        blocked: Vec<String>,
        test_tools: bool,
        conformance_tools: bool,
    ) -> Self {
        Self {
            version,
            blocked,
            test_tools,
            conformance_tools,
            slot: Mutex::default(),
            process: Mutex::default(),
            tasks: Mutex::default(),
        }
    }

    pub(super) fn process(&self) -> MutexGuard<'_, Process> {
        lock(&self.process)
    }

    /// Begins a task that ends with the domain. Between two domains none begins.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(tasks) = &mut *lock(&self.tasks) {
            while tasks.try_join_next().is_some() {}
            tasks.spawn(task);
        }
    }

    /// Keeps a result, which can then be asked for by this id. It outlives a reload, and not the process.
    pub(super) fn keep(&self, tool: &'static str, id: String, result: String) {
        let results = &mut self.process().results;
        results.retain(|kept| kept.since.elapsed() < KEPT);
        if results.len() >= RESULTS_MAX {
            results.pop_front();
        }
        results.push_back(Kept { tool, id, since: Instant::now(), result });
    }

    /// Returns a result that was kept.
    pub(super) fn kept(&self, tool: &str, id: &str) -> Option<String> {
        let process = self.process();
        let mut kept = process.results.iter().rev().filter(|kept| kept.since.elapsed() < KEPT);
        kept.find(|kept| kept.tool == tool && kept.id == id).map(|kept| kept.result.clone())
    }

    /// Takes the slot for a tool. Nobody queues for it.
    ///
    /// # Errors
    /// Another tool has it, or Unity does what this tool cannot run beside.
    pub(super) fn enter(self: &Arc<Self>, editor: &Editor, tool: &str) -> Result<Turn, Failure> {
        if matches!(tool, CODE | PLAY) {
            let busy = match (self.process().compiling, editor.gate.borrow().imports()) {
                (true, _) => Some("unity-compile"),
                (false, true) => Some("unity-asset-database-update"),
                (false, false) => None,
            };
            if let Some(busy) = busy {
                return Err(self.busy(
                    editor,
                    tool,
                    &json!({"runningToolName": busy, "runningToolElapsedSeconds": null,
                    "runningToolPhase": null}),
                ));
            }
        }
        let mut slot = lock(&self.slot);
        match slot.as_mut() {
            None => {
                let (tool, since) = (tool.to_owned(), Instant::now());
                *slot = Some(Running { tool, since, phase: "waiting-for-main-thread", holders: 1 });
            }
            Some(running) if running.tool == CODE && tool == CODE => running.holders += 1,
            Some(running) => {
                let running = running.told();
                drop(slot);
                return Err(self.busy(editor, tool, &running));
            }
        }
        drop(slot);
        Ok(Turn(Arc::clone(self)))
    }

    fn busy(&self, editor: &Editor, tool: &str, running: &Value) -> Failure {
        let mut data = json!({
            "type": "server_busy",
            "message": format!("{tool} was not started: the editor is busy"),
            "requestedToolName": tool,
        });
        for (name, value) in
            running.as_object().into_iter().flatten().chain(self.state(editor).as_object().into_iter().flatten())
        {
            data[name] = value.clone();
        }
        data["secondsSinceLastMainThreadTick"] = editor.frame_age().as_secs_f64().into();
        Failure { message: "Server busy".to_owned(), data }
    }

    /// Returns who has the slot, as `server_busy` and the status name it.
    pub(super) fn running(&self) -> Option<Value> {
        lock(&self.slot).as_ref().map(Running::told)
    }

    /// Returns the state of the editor, as `server_busy` names it.
    pub(super) fn state(&self, editor: &Editor) -> Value {
        let (playing, updating) = (editor.state().playing, editor.gate.borrow().imports());
        let process = self.process();
        json!({"isPlaying": playing, "isPaused": process.paused, "isCompiling": process.compiling, "isUpdating": updating})
    }
}

impl Running {
    fn told(&self) -> Value {
        json!({"runningToolName": self.tool, "runningToolElapsedSeconds": self.since.elapsed().as_secs_f64(),
            "runningToolPhase": self.phase})
    }
}
