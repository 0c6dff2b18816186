//! Simulates Unity's own package com.unity.pipeline, 0.4 to 0.8: an HTTP server with a token in a file, and no message of its own.
//!
//! A command that is late is not taken back: it runs when the main thread is free, and nobody hears of it. A reload forgets all that
//! waits or runs, and the jobs too. What survives it stands in files of `Temp` without ids. What is not known of a version is played
//! as its elder did it.

mod catalogue;
mod commands;
mod exec;
mod forms;
mod jobs;
mod package;
mod reply;
mod routes;
mod wire;
mod work;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::BytesMut;
use holdfast_net::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::config::FakeUnityConfig;
use super::conformance::FIXTURES;
use super::events::Event;
use super::face::{Face, IfTaken, Link, Moment};
use super::model::Editor;
use super::package_version::PackageVersion;
use super::project::{OwnFile, Project, UNITY_VERSION};
use super::spec::{Tool, ToolSpec};
use super::tools::TEST_TOOLS;
use jobs::Jobs;
pub(crate) use package::PACKAGE;
use package::{DESCRIPTOR, ID};

const V0_4: PackageVersion = PackageVersion::new(0, 4, 0);
const V0_5: PackageVersion = PackageVersion::new(0, 5, 0);
const V0_6: PackageVersion = PackageVersion::new(0, 6, 0);
const V0_7: PackageVersion = PackageVersion::new(0, 7, 0);
const V0_8: PackageVersion = PackageVersion::new(0, 8, 0);

/// How many ports behind its own one it tries after a reload: those from 7800 to 7849.
const PORTS_BEHIND: u16 = 49;
/// How long a file is half written.
const TORN: Duration = Duration::from_millis(1);

/// Makes the package's side of an editor.
pub(crate) fn face(config: &FakeUnityConfig) -> Arc<dyn Face> {
    Arc::new(PipelineFace(Arc::new(Server {
        version: config.played(),
        test_tools: config.test_tools,
        conformance_tools: config.conformance_tools,
        domain: Mutex::default(),
        process: Mutex::default(),
        tasks: Mutex::default(),
    })))
}

struct PipelineFace(Arc<Server>);

/// The package in an editor.
struct Server {
    version: PackageVersion,
    test_tools: bool,
    conformance_tools: bool,
    domain: Mutex<Arc<Domain>>,
    process: Mutex<Process>,
    /// All that ends with the domain, apart from its connections; `None` if there is no domain.
    tasks: Mutex<Option<JoinSet<()>>>,
}

impl Drop for PipelineFace {
    fn drop(&mut self) {
        // The tasks hold the server, so that it would never be dropped.
        drop(lock(&self.0.tasks).take());
    }
}

/// What a reload forgets.
#[derive(Default)]
struct Domain {
    /// The session of the editor that this is the domain of.
    session: String,
    started_at: String,
    /// Has commands run one at a time, in the order of their arrival. Before 0.5 all requests.
    gate: tokio::sync::Mutex<()>,
    jobs: Mutex<Jobs>,
    /// Number of commands that wait or run.
    active: AtomicUsize,
}

/// What a reload keeps.
#[derive(Default)]
struct Process {
    token: String,
    /// Whether the first import has begun, and whether the editor has settled after it.
    begins: bool,
    settled: bool,
    quits: bool,
    dialog_since: Option<String>,
    /// The status files by their path.
    files: BTreeMap<&'static str, Value>,
    /// What the next domain writes into status files.
    in_next_domain: BTreeMap<&'static str, Value>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a new token: 32 random bytes.
fn token(editor: &Editor) -> String {
    let random = [editor.guid(), editor.guid()].map(|guid| guid.replace('-', ""));
    STANDARD.encode(random.concat().get(..32).unwrap_or_default())
}

impl Server {
    fn domain(&self) -> Arc<Domain> {
        Arc::clone(&lock(&self.domain))
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        lock(&self.process)
    }

    /// Begins a task that ends with the domain. Between two domains none begins.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(tasks) = &mut *lock(&self.tasks) {
            while tasks.try_join_next().is_some() {}
            tasks.spawn(task);
        }
    }

    /// Begins a domain, if the editor is in another one. Its start has a time that no other has.
    fn begin_domain(&self, editor: &Editor) {
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
    fn descriptor(&self, editor: &Editor, port: u16) -> String {
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

    fn capabilities(&self) -> Value {
        json!(["exec.argv", "exec.commandLine"])
    }

    /// Writes the descriptor, as every status request has it written, or only the half of it.
    fn heartbeat(&self, editor: &Editor, is_half: bool) {
        let Some(port) = editor.state().port else { return };
        let text = self.descriptor(editor, port);
        // A file that was deleted because the editor quits does not come back.
        let process = self.process();
        if !process.quits {
            write_in_two(editor, DESCRIPTOR, &text, is_half);
        }
    }

    /// Writes a status file, in two steps.
    fn write_status(&self, editor: &Editor, path: &'static str, status: Value) {
        write_in_two(editor, path, &status.to_string(), false);
        self.process().files.insert(path, status);
    }

    async fn serve_link(self: &Arc<Self>, editor: &Arc<Editor>, link: Link) -> std::io::Result<&'static str> {
        let Link { connection, mut reader, mut writer, .. } = link;
        let mut buffer = BytesMut::new();
        loop {
            let Some(request) = wire::read(&mut reader, &mut buffer).await? else { return Ok("no whole request") };
            let closes = request.closes;
            editor.state().requests += 1;
            let method = format!("{} {}", request.method, request.path);
            editor.event(Event::Request { connection, method });
            let (answer, answered) = oneshot::channel();
            let (server, of) = (Arc::clone(self), Arc::clone(editor));
            // It goes on if the client leaves.
            self.spawn(async move {
                let _ = answer.send(routes::answer(&server, &of, connection, request).await);
            });
            let Ok(reply) = answered.await else { return Ok("the domain ended") };
            if reply.may_be_lost && editor.loses_answer() {
                if let Some((tool, outcome)) = reply.ended {
                    editor.event(Event::CallEnded { connection, tool, outcome });
                }
                return Ok("its answer is lost");
            }
            writer.write(&reply.bytes(closes)).await?;
            if let Some((tool, outcome)) = reply.ended {
                editor.event(Event::CallEnded { connection, tool, outcome });
            }
            if closes {
                writer.finish().await?;
                return Ok("answered");
            }
        }
    }
}

/// Writes the first half of a file, and then the whole, unless the half is all. A reader between the two sees the half.
fn write_in_two(editor: &Editor, path: &str, text: &str, is_half: bool) {
    let Some(project) = &editor.project else { return };
    let (half, _) = text.as_bytes().split_at(text.len() / 2);
    let rest = || if is_half { Ok(()) } else { project.write(path, text.as_bytes()) };
    editor.file_result(path, project.write(path, half).and_then(|()| rest()));
}

impl Face for PipelineFace {
    fn tools(&self) -> Vec<Tool> {
        let test: &'static [ToolSpec] = if self.0.test_tools { &TEST_TOOLS } else { &[] };
        let fixtures: &'static [ToolSpec] = if self.0.conformance_tools { &FIXTURES } else { &[] };
        catalogue::of(self.0.version).chain(test).chain(fixtures).map(Tool::from).collect()
    }

    fn serve<'a>(&'a self, editor: &'a Arc<Editor>, link: Link) -> BoxFuture<'a, &'static str> {
        Box::pin(async move { self.0.serve_link(editor, link).await.unwrap_or("socket error") })
    }

    fn tell<'a>(&'a self, editor: &'a Arc<Editor>, moment: &'a Moment) -> BoxFuture<'a, ()> {
        match moment {
            Moment::Quits => {
                let mut process = self.0.process();
                process.quits = true;
                if let Some(project) = &editor.project {
                    editor.file_result(DESCRIPTOR, project.remove(DESCRIPTOR));
                }
            }
            // The file has the new one when it is written again.
            Moment::Push { kind } if kind == "rotate-token" => self.0.process().token = token(editor),
            // Nothing is announced.
            _ => {}
        }
        Box::pin(std::future::ready(()))
    }

    fn domain_began(&self, editor: &Arc<Editor>, _again: bool) {
        let unwritten = std::mem::take(&mut self.0.process().in_next_domain);
        for (path, status) in unwritten {
            self.0.write_status(editor, path, status);
        }
        let (server, editor) = (Arc::clone(&self.0), Arc::clone(editor));
        self.0.spawn(async move {
            server.heartbeat(&editor, true);
            tokio::time::sleep(TORN).await;
            server.heartbeat(&editor, false);
        });
    }

    fn domain_ended<'a>(&'a self, _editor: &'a Arc<Editor>) -> BoxFuture<'a, ()> {
        Box::pin(async {
            let tasks = lock(&self.0.tasks).take();
            if let Some(mut tasks) = tasks {
                tasks.shutdown().await;
            }
        })
    }

    fn settings(&self, editor: &Editor, port: u16, running: bool) -> OwnFile {
        if running {
            self.0.begin_domain(editor);
        }
        OwnFile { path: DESCRIPTOR, content: running.then(|| self.0.descriptor(editor, port)), private: true }
    }

    fn install(&self, project: &Project) -> std::io::Result<()> {
        project.install(ID, &format!("{}-exp.1", self.0.version))
    }

    fn process_began(&self, editor: &Editor) {
        *self.0.process() = Process { token: token(editor), ..Process::default() };
        // An editor empties `Temp` when it starts.
        for path in work::FILES {
            if let Some(project) = &editor.project {
                editor.file_result(path, project.remove(path));
            }
        }
    }

    fn locks(&self) -> bool {
        false
    }

    fn ends_in_safe_mode(&self) -> bool {
        true
    }

    fn if_taken(&self) -> IfTaken {
        IfTaken { waits: Duration::ZERO, behind: PORTS_BEHIND, then_any: false }
    }
}
