//! Runs a tool on the main thread, and what the tools do. Those that the model has nothing for succeed, and change nothing.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use super::server::{PLAY, Server, Turn};
use super::wire::members;
use super::work;
use crate::conformance::PNG;
use crate::events::Event;
use crate::json::Object;
use crate::model::Editor;
use crate::package_version::PackageVersion;
use crate::spec::{Tool, ToolSpec};
use crate::tools::{self, Arguments};
use crate::work::{Begun, Done, Fault};

/// Files that tools write before they begin again with the first.
const FILES_MAX: u64 = 100;

/// A tool that has the slot, before it runs.
pub(super) struct Call {
    pub(super) connection: u64,
    pub(super) tool: Tool,
    pub(super) params: Value,
    /// Whether Unity imported assets when the request came.
    pub(super) was_updating: bool,
    /// The cancellation token: the other end is dropped with the connection. `None`: the call goes on then.
    pub(super) token: Option<oneshot::Receiver<()>>,
    pub(super) turn: Turn,
}

/// Whether the connection has gone.
pub(super) fn is_cancelled(token: &mut oneshot::Receiver<()>) -> bool {
    token.try_recv() != Err(TryRecvError::Empty)
}

/// Begins a tool, on the main thread. The token is looked at here first: if the main thread was stopped until the connection had gone,
/// nothing runs.
pub(super) fn begin(server: &Arc<Server>, editor: &Arc<Editor>, call: Call) -> Begun {
    let Call { connection, tool, params, was_updating, mut token, turn } = call;
    if token.as_mut().is_some_and(is_cancelled) {
        return Begun::fault(Fault::Cancelled);
    }
    let arguments = match Arguments::read(&tool.name, tool.spec, Some(&params.to_string())) {
        Ok(arguments) => arguments,
        Err(fault) => return Begun::fault(fault),
    };
    turn.runs();
    let begun = run(server, editor, tool.spec, &arguments, was_updating);
    // Sent after the tool has begun: a listener may release a held call as soon as it gets this event.
    editor.event(Event::CallBegun { connection, tool: tool.name, call: None, parallel: false });
    let Begun::Later(rest) = begun else { return begun };
    let editor = Arc::clone(editor);
    Begun::Later(Box::pin(async move {
        let done = match token {
            None => rest.await,
            Some(token) => tokio::select! {
                biased;
                done = rest => done,
                _ = token => Done { result: Err(Fault::Cancelled), then: None },
            },
        };
        // What blocks the main thread does not look at its token, and keeps the slot.
        editor.main_free().await;
        drop(turn);
        done
    }))
}

fn run(
    server: &Arc<Server>,
    editor: &Arc<Editor>,
    spec: &'static ToolSpec,
    arguments: &Arguments,
    was_updating: bool,
) -> Begun {
    match spec.name {
        work::COMPILE => work::compile(server, editor, arguments, was_updating),
        work::RUN_TESTS => work::run_tests(server, editor, arguments),
        PLAY => play(server, editor, arguments),
        "screenshot" => screenshot(server, editor),
        "get-hierarchy" => hierarchy(server, editor),
        _ => tools::begin(editor, spec, arguments).unwrap_or_else(|| Begun::ok(tools::plausible(spec))),
    }
}

fn play(server: &Server, editor: &Editor, arguments: &Arguments) -> Begun {
    let action = arguments.text("Action").unwrap_or_default().to_ascii_lowercase();
    let mut state = editor.state();
    let mut process = server.process();
    match action.as_str() {
        "" | "play" | "0" => state.playing = true,
        "stop" | "1" => (state.playing, process.paused) = (false, false),
        "pause" | "2" => process.paused = state.playing,
        "resume" | "5" => process.paused = false,
        _ => {}
    }
    Begun::ok(members(&json!({"Success": true, "IsPlaying": state.playing, "IsPaused": process.paused})))
}

/// Writes a file among the results of tools. Returns its path; `None`: there is no project, or it cannot be written.
fn write(server: &Server, editor: &Editor, folder: &str, extension: &str, bytes: &[u8]) -> Option<String> {
    let project = editor.project.as_ref()?;
    let number = {
        let files = &mut server.process().files;
        *files = (*files + 1) % FILES_MAX;
        *files
    };
    let path = format!(".uloop/outputs/{folder}/{number:02}.{extension}");
    let written = project.write(&path, bytes);
    let is_written = written.is_ok();
    editor.file_result(&path, written);
    is_written.then(|| format!("{}/{path}", project.root()))
}

/// Takes a picture: one grey pixel. It goes into the default folder, whatever the caller wants. The form of the result, and that its
/// path is absolute, are inferred.
fn screenshot(server: &Server, editor: &Editor) -> Begun {
    let bytes = STANDARD.decode(PNG).unwrap_or_default();
    let path = write(server, editor, "Screenshots", "png", &bytes);
    let picture = |path| json!({"ImagePath": path, "FileSizeBytes": bytes.len(), "Width": 1, "Height": 1});
    let pictures: Vec<Value> = path.into_iter().map(picture).collect();
    Begun::ok(members(&json!({"Screenshots": pictures})))
}

/// Writes the tree to a file. The result never has the tree itself.
fn hierarchy(server: &Server, editor: &Editor) -> Begun {
    let tree = json!({"hierarchy": [{"name": "Main Camera", "components": ["Transform", "Camera"], "children": []}]});
    let path = write(server, editor, "HierarchyResults", "json", tree.to_string().as_bytes()).unwrap_or_default();
    let is_beta = server.version < PackageVersion::new(3, 0, 57);
    let name = if is_beta { "hierarchyFilePath" } else { "HierarchyFilePath" };
    Begun::ok(Object::new().text(name, &path))
}
