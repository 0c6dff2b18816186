//! What the package of an editor knows: what a reload forgets, and what it keeps.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::jobs::Jobs;
use super::package::DESCRIPTOR;
use super::reply;
use super::versions::{V0_4, V0_5, V0_6};
use crate::model::Editor;
use crate::package_version::PackageVersion;
use crate::project::{Project, UNITY_VERSION};

/// How long a file is half written.
pub(super) const TORN: Duration = Duration::from_millis(1);
/// How long a request waits for the main thread if it does not say.
pub(super) const WAIT: Duration = Duration::from_secs(60);

/// The package in an editor.
pub(super) struct Server {
    pub(super) version: PackageVersion,
    pub(super) test_tools: bool,
    pub(super) conformance_tools: bool,
    pub(super) domain: Mutex<Arc<Domain>>,
    pub(super) process: Mutex<Process>,
    /// All that ends with the domain, apart from its connections; `None` if there is no domain.
    pub(super) tasks: Mutex<Option<JoinSet<()>>>,
}

/// What a reload forgets.
#[derive(Default)]
pub(super) struct Domain {
    /// The session of the editor that this is the domain of.
    pub(super) session: String,
    pub(super) started_at: String,
    /// Has commands run one at a time, in the order of their arrival. Before 0.5 all requests.
    pub(super) gate: tokio::sync::Mutex<()>,
    pub(super) jobs: Mutex<Jobs>,
    /// Number of commands that wait or run.
    pub(super) active: AtomicUsize,
}

/// What a reload keeps.
#[derive(Default)]
pub(super) struct Process {
    pub(super) token: String,
    /// Whether the first import has begun, and whether the editor has settled after it.
    pub(super) begins: bool,
    pub(super) settled: bool,
    pub(super) quits: bool,
    pub(super) dialog_since: Option<String>,
    /// The status files by their path.
    pub(super) files: BTreeMap<&'static str, Value>,
    /// What the next domain writes into status files.
    pub(super) in_next_domain: BTreeMap<&'static str, Value>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a new token: 32 random bytes.
pub(super) fn token(editor: &Editor) -> String {
    let random = [editor.guid(), editor.guid()].map(|guid| guid.replace('-', ""));
    STANDARD.encode(random.concat().get(..32).unwrap_or_default())
}

impl Server {
    pub(super) fn domain(&self) -> Arc<Domain> {
        Arc::clone(&lock(&self.domain))
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

    /// Begins a domain, if the editor is in another one. Its start has a time that no other has.
    pub(super) fn begin_domain(&self, editor: &Editor) {
        let session = editor.state().session_id.clone();
        let mut domain = lock(&self.domain);
        if domain.session == session {
            return;
        }
        let digits = editor.guid().bytes().fold(0, |sum: u32, byte| (sum * 31 + u32::from(byte)) % 10_000);
        let started_at = format!("{}{digits:04}Z", editor.timestamp());
        *domain = Arc::new(Domain { session, started_at, ..Domain::default() });
        *lock(&self.tasks) = Some(JoinSet::new());
        if self.version < V0_4 {
            self.process().token = token(editor);
        }
    }

    /// Returns the text of the descriptor.
    pub(super) fn descriptor(&self, editor: &Editor, port: u16) -> String {
        let root = editor.project.as_ref().map(Project::root).unwrap_or_default();
        let name = root.rsplit(['/', '\\']).next().unwrap_or_default();
        let mut said = json!({
            "pid": editor.config.pid(),
            "port": port,
            "projectPath": root,
            "projectName": name,
            "unityVersion": UNITY_VERSION,
            "mode": "editor",
            "startedAt": self.domain().started_at,
            "lastHeartbeat": reply::now(editor),
            "evalToken": self.process().token,
        });
        if self.version >= V0_6 {
            said["capabilities"] = self.capabilities();
            said["info"] = "Written by the editor while it runs.".into();
        }
        serde_json::to_string_pretty(&said).unwrap_or_default()
    }

    pub(super) fn capabilities(&self) -> Value {
        json!(["exec.argv", "exec.commandLine"])
    }

    /// Writes the descriptor, as every status request has it written, or only the half of it.
    pub(super) fn heartbeat(&self, editor: &Editor, is_half: bool) {
        let Some(port) = editor.state().port else { return };
        let text = self.descriptor(editor, port);
        // A file that was deleted because the editor quits does not come back.
        let process = self.process();
        if !process.quits {
            write_in_two(editor, DESCRIPTOR, &text, is_half);
        }
    }

    /// Writes a status file, in two steps.
    pub(super) fn write_status(&self, editor: &Editor, path: &'static str, status: Value) {
        write_in_two(editor, path, &status.to_string(), false);
        self.process().files.insert(path, status);
    }
}

/// Writes the first half of a file, and then the whole, unless the half is all. A reader between the two sees the half.
fn write_in_two(editor: &Editor, path: &str, text: &str, is_half: bool) {
    let Some(project) = &editor.project else { return };
    let (half, _) = text.as_bytes().split_at(text.len() / 2);
    let rest = || if is_half { Ok(()) } else { project.write(path, text.as_bytes()) };
    editor.file_result(path, project.write(path, half).and_then(|()| rest()));
}

/// Returns why commands that need the main thread are refused before they are queued; `None`: they are not.
pub(super) fn is_busy(server: &Server, editor: &Editor) -> Option<&'static str> {
    if server.version >= V0_6 && editor.gate.borrow().modal {
        return Some("blocked_by_dialog");
    }
    (server.version >= V0_5 && settles(server, editor)).then_some("settling")
}

/// Whether the first import of this process still runs.
fn settles(server: &Server, editor: &Editor) -> bool {
    let imports = editor.gate.borrow().imports();
    let mut process = server.process();
    process.settled |= process.begins && !imports;
    process.begins |= imports;
    imports && !process.settled
}

/// Returns the dialog that is open, from 0.6 on.
pub(super) fn dialog(server: &Server, editor: &Editor) -> Option<Value> {
    let is_open = server.version >= V0_6 && editor.gate.borrow().modal;
    let mut process = server.process();
    if !is_open {
        process.dialog_since = None;
        return None;
    }
    let since = process.dialog_since.get_or_insert_with(|| reply::now(editor)).clone();
    Some(json!({
        "id": "dialog-1", "source": "DisplayDialog", "title": "Fake Unity", "message": "A dialog is open.",
        "level": "info", "buttons": ["OK", "Cancel"], "openedAt": since, "dismissedAt": null,
    }))
}
