//! Simulates holdfast's own package. Written from `unity/Documentation~/protocol.md` alone. Where that page says nothing, it behaves like the
//! real package. Its tools are those that the real package lists ([`package`]), over a small [`world`].

mod arguments;
mod calls;
pub(crate) mod catalogue;
pub(crate) mod desk;
pub(crate) mod journal;
mod legacy;
mod link;
mod own;
pub(crate) mod package;
pub(crate) mod proof;
mod push;
pub(crate) mod tools;
mod wire;
pub(crate) mod world;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use holdfast_net::BoxFuture;
use serde_json::Value;

use super::config::FakeUnityConfig;
use super::face::{Face, IfTaken, Link, Moment};
use super::json::Object;
use super::model::Editor;
use super::observer::{self, Answered, Asked, Fate, Outcomes, Wire};
use super::package::{COMPILE_ACT, Facts, Identity, Package, Port, Task, usual};
use super::project::{OwnFile, Project, UNITY_VERSION};
use super::push::{Hub, Message};
use super::spec::Tool;
use crate::limits::{GOODBYE_MAX, PORT_WAIT, PORTS_BEHIND};
use desk::{Desk, HoldfastFace, Inner, Life, Peer, Setup};
use journal::Journal;
use package::PACKAGE_VERSION;
use wire::PROTOCOL;

/// The manifest of the package if the package is embedded in a project.
const EMBEDDED: &str = "Packages/dev.holdfast.unity/package.json";
/// The instance file, in which the bridge publishes its port, process and state.
const INSTANCE: &str = "Library/Holdfast/instance.json";

pub(crate) static PACKAGE: Package = Package {
    name: "holdfast",
    title: "holdfast's own (`unity/`)",
    compile_act: COMPILE_ACT,
    facts: Facts {
        manifest: ("dev.holdfast.unity", PACKAGE_VERSION),
        port: Port::Record(INSTANCE, "port"),
        // Eight calls beside one that is alone.
        window: 9,
        window_is_of_calls: true,
        // A frame of 16 MiB, less its header of at most 4 KiB.
        request_max_bytes: 16 * 1024 * 1024 - 4096,
        repeatable: &["get-logs", "echo", "sleep", "big", "compile", "steps"],
        greeting: ("\"method\":", &["holdfast/hello"]),
        announces: |_| true,
        shows_reloads: true,
        journal: true,
        compile_file: true,
        heartbeat: true,
        push: true,
        withdraws: true,
        says_success_apart: true,
        identity: Identity::Proven,
        progress: true,
        other_names: &[
            ("play-mode", &["control-play-mode", "start_game", "stop_game"]),
            ("execute-csharp", &["execute-dynamic-code", "execute_code", "query"]),
            ("editor-state", &["get-version", "get_project_info"]),
            ("get-logs", &["read_console_logs"]),
            ("execute-menu-item", &["execute_menu_item"]),
        ],
        ..Facts::USUAL
    },
    wire: Wire {
        asked: |_, message| {
            let method = observer::text(message.get("method"));
            let is_call = method == "holdfast/call";
            let sending = message.pointer("/params/callId").and_then(Value::as_str).filter(|_| is_call);
            let tool = observer::text(message.pointer("/params/tool"));
            Asked {
                method: if sending.is_some() { tool } else { method },
                id: observer::id_of(message),
                sending: sending.map(str::to_owned),
                is_call,
            }
        },
        arguments: |message| message.pointer("/params/arguments").cloned().unwrap_or_default(),
        answered: |message| {
            let answered = observer::json_rpc_answer(message)?;
            let member = |name: &str| answered.result.get(name).cloned().unwrap_or_default();
            Some(Answered { result: member("value"), failed: member("isError") == true, ..answered })
        },
        listed: |result| observer::entries(result.get("tools")?),
        outcomes: |result| {
            let calls = result.get("outcomes").and_then(Value::as_array).into_iter().flatten();
            let of = |call: &Value| (observer::text(call.get("callId")), fate(call));
            Outcomes { journal: Some(observer::text(result.get("nonce"))), calls: calls.map(of).collect() }
        },
        is_unrun: |message| message.pointer("/error/data/ran") == Some(&Value::Bool(false)),
        ..Wire::FRAMES
    },
    call: |task, text, version| match task {
        // Half of them go on after a reload.
        Task::Sleep(ms) if ms % 2 == 0 => usual(Task::Steps(ms / 100), text, version),
        _ => usual(task, text, version),
    },
};

/// Makes the package's side of an editor.
pub(crate) fn face(config: &FakeUnityConfig) -> Arc<dyn Face> {
    Arc::new(HoldfastFace::new(config))
}

/// What the journal says of a call.
fn fate(call: &Value) -> Option<Fate> {
    Some(match call.get("status").and_then(Value::as_str)? {
        "queued" | "running" => Fate::Running,
        "done" => Fate::Ended,
        "notRun" => Fate::NotRun,
        "interrupted" => Fate::Interrupted,
        "forgotten" => Fate::Forgotten,
        _ => return None,
    })
}

impl HoldfastFace {
    pub(crate) fn new(config: &FakeUnityConfig) -> Self {
        Self::with(Setup {
            blocked: config.blocked_tools.clone(),
            test_tools: config.test_tools,
            conformance_tools: config.conformance_tools,
            fixed: None,
        })
    }

    pub(crate) fn with(setup: Setup) -> Self {
        let desk = Arc::new_cyclic(|desk| Desk::new(setup, Hub::new(push::Holdfast(desk.clone()))));
        Self { desk }
    }

    /// Sets whether the editor compiles, and publishes the state.
    fn set_compiling(&self, editor: &Editor, on: bool) {
        self.desk.lock().compiling = on;
        self.tell_state(editor);
    }

    /// If the state has changed, writes the instance file and notifies every proven connection.
    fn tell_state(&self, editor: &Editor) {
        let mut inner = self.desk.lock();
        let word = inner.word(editor);
        if inner.closed.is_some() || inner.told == word {
            return;
        }
        inner.told = word;
        let about = Object::new().text("state", word).number("generation", inner.generation(editor));
        inner.broadcast("holdfast/state", &about, |peer| peer.gateway.is_some());
        let port = editor.state().port.unwrap_or(0);
        let file = self.instance(editor, &inner, port);
        drop(inner);
        editor.keep(file);
    }

    fn instance(&self, editor: &Editor, inner: &Inner, port: u16) -> OwnFile {
        let content = Object::new()
            .text("product", "holdfast")
            .number("protocol", PROTOCOL)
            .text("packageVersion", PACKAGE_VERSION)
            .text("unityVersion", UNITY_VERSION)
            .text("project", &self.desk.project(editor))
            .number("pid", editor.config.pid())
            .number("port", port)
            .text("state", inner.word(editor))
            .number("generation", inner.generation(editor))
            .text("nonce", &inner.life.nonce)
            .text("token", &inner.life.token)
            .text("updatedAt", &(editor.timestamp() + "Z"));
        OwnFile { path: INSTANCE, content: Some(content.finish()), private: true }
    }

    /// Announces the end of the domain or of the bridge, in the protocol's order of steps: calls, instance file, push,
    /// connections.
    async fn leave(&self, editor: &Editor, reason: &str, push: &str) {
        let reload = reason == "DomainReload";
        let because = if reload {
            "The editor is about to reload its domain; send the call again when it is back"
        } else {
            "The bridge is being stopped"
        };
        self.interrupt(editor, because, if reload { "reloading" } else { "stopping" });
        let port = if reload { editor.state().port.unwrap_or(0) } else { 0 };
        let file = self.instance(editor, &self.desk.lock(), port);
        editor.keep(file);
        self.desk.push.send(editor, &Message::of(push)).await;
        self.broadcast("notifications/server/shutdown", Object::new().text("reason", reason)).await;
    }

    /// Notifies every connection. Returns when all notifications are written, or after [`GOODBYE_MAX`].
    async fn broadcast(&self, method: &str, about: Object) {
        let waiting = self.desk.lock().broadcast(method, &about, |_: &Peer| true);
        let all = async {
            for done in waiting {
                let _ = done.await;
            }
        };
        // A client that does not read must not keep the editor from leaving.
        let _ = tokio::time::timeout(GOODBYE_MAX, all).await;
    }
}

impl Face for HoldfastFace {
    fn tools(&self) -> Vec<Tool> {
        self.catalogue()
    }

    fn serve<'a>(&'a self, editor: &'a Arc<Editor>, link: Link) -> BoxFuture<'a, &'static str> {
        Box::pin(self.serve_link(editor, link))
    }

    fn tell<'a>(&'a self, editor: &'a Arc<Editor>, moment: &'a Moment) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            match moment {
                Moment::ReloadBegins => self.leave(editor, "DomainReload", "DOMAIN_RELOAD").await,
                // The list is announced only when it changes: a gateway gets its revision in the greeting.
                Moment::Back => {}
                Moment::ToolsChanged { names, change } => {
                    let about = Object::new()
                        .text("timestamp", &(editor.timestamp() + "Z"))
                        .text("message", "Unity tools have been updated");
                    self.broadcast("notifications/tools/list_changed", about).await;
                    self.desk.push.send(editor, &Message { kind: "TOOLS_CHANGED", names, change }).await;
                }
                Moment::Stopped => self.leave(editor, "UserStopped", "USER_DISCONNECT").await,
                Moment::Quits => {
                    self.leave(editor, "EditorQuit", "UNITY_SHUTDOWN").await;
                    editor.keep(OwnFile { path: INSTANCE, content: None, private: true });
                }
                Moment::Push { kind } => self.desk.push.send(editor, &Message::of(kind)).await,
                Moment::StateChanged => self.tell_state(editor),
            }
        })
    }

    fn domain_began(&self, editor: &Arc<Editor>, again: bool) {
        self.desk.push.begin(editor, again);
        let mut inner = self.desk.lock();
        self.resume(editor, &mut inner);
    }

    fn domain_ended<'a>(&'a self, editor: &'a Arc<Editor>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            // After a crash or a reset, `leave` has not run, so calls are interrupted here.
            self.interrupt(editor, "The bridge is being stopped", "stopping");
            self.desk.push.end(editor).await;
        })
    }

    fn settings(&self, editor: &Editor, port: u16, running: bool) -> OwnFile {
        if !running {
            return OwnFile { path: INSTANCE, content: None, private: true };
        }
        let mut inner = self.desk.lock();
        (inner.closed, inner.leaving) = (None, None);
        inner.told = inner.word(editor);
        self.instance(editor, &inner, port)
    }

    fn install(&self, project: &Project) -> std::io::Result<()> {
        let package = Object::new()
            .text("name", "dev.holdfast.unity")
            .text("version", PACKAGE_VERSION)
            .text("displayName", "Holdfast for Unity")
            .text("unity", "2022.3");
        project.offer(EMBEDDED, package.finish().as_bytes())
    }

    fn process_began(&self, editor: &Editor) {
        let fixed = self.desk.setup.fixed.as_ref();
        let nonce = fixed.map_or_else(|| Desk::draw(editor, 32), |fixed| fixed.nonce.to_owned());
        let token = fixed.map_or_else(|| Desk::draw(editor, 64), |fixed| fixed.token.to_owned());
        let mut inner = self.desk.lock();
        inner.life = Life { nonce, token, earlier_domains: editor.state().domain };
        inner.journal = Journal::default();
        drop(inner);
        self.desk.forget_world();
        self.desk.push.forget();
    }

    fn locks(&self) -> bool {
        false
    }

    /// Its instance file names the port.
    fn if_taken(&self) -> IfTaken {
        IfTaken { waits: PORT_WAIT, behind: PORTS_BEHIND, among: None, then_any: true }
    }
}
