//! The requests that are no tools. They do not need the slot. All but one wait for the main thread.

use serde_json::{Map, Value, json};

use super::catalogue;
use super::server::Server;
use super::wire::members;
use super::work::{COMPILE, RUN_TESTS};
use crate::json::Object;
use crate::model::Editor;
use crate::package_version::PackageVersion;
use crate::project::UNITY_VERSION;
use crate::tools::Arguments;

/// The list of tools as a file, relative to the project.
const CATALOGUE: &str = ".uloop/tools.json";
/// The version that tells its state beside the main thread.
const TELLS_STATE: PackageVersion = PackageVersion::new(3, 3, 0);

/// Whether a method is a request for the state of the editor, and no tool.
pub(super) fn is_status(method: &str) -> bool {
    matches!(
        method,
        "get-version"
            | "get-tool-details"
            | "get-compile-status"
            | "get-run-tests-status"
            | "get-play-mode-state"
            | "pause-point-status"
            | "set-code-optimization-debug"
    )
}

/// Answers one of them, on the main thread.
pub(super) fn answer(server: &Server, editor: &Editor, method: &str, params: &Value) -> Object {
    let said = match method {
        "get-version" => json!({"UnityVersion": UNITY_VERSION, "PackageVersion": server.version.to_string()}),
        "get-tool-details" => return list(server, editor),
        "get-compile-status" => return of_work(server, editor, COMPILE, params),
        "get-run-tests-status" => return of_work(server, editor, RUN_TESTS, params),
        "get-play-mode-state" => {
            let playing = editor.state().playing;
            json!({"IsPlaying": playing, "IsPaused": server.process().paused})
        }
        "pause-point-status" => json!({"Success": true, "PausePoints": []}),
        _ => json!({"Success": true}),
    };
    members(&said)
}

/// Answers `get-editor-status`, beside the main thread; `None`: this version has no such request.
pub(super) fn of_editor(server: &Server, editor: &Editor) -> Option<Object> {
    if server.version < TELLS_STATE {
        return None;
    }
    let running = server.running();
    let mut said: Map<String, Value> = Map::new();
    said.insert("IsBusy".to_owned(), running.is_some().into());
    let running = running.unwrap_or_else(
        || json!({"runningToolName": null, "runningToolElapsedSeconds": null, "runningToolPhase": null}),
    );
    let state = server.state(editor);
    let mut add = |members: &Value| {
        for (name, value) in members.as_object().into_iter().flatten() {
            let (first, rest) = name.split_at(1);
            said.insert(first.to_ascii_uppercase() + rest, value.clone());
        }
    };
    add(&running);
    add(&json!({"hasEditorState": true}));
    add(&state);
    add(&json!({"secondsSinceLastMainThreadTick": editor.frame_age().as_secs_f64()}));
    Some(members(&said.into()))
}

/// Says whether the editor is ready, and what became of a compilation or a test run. Ready is the editor's: it can be before the work
/// has begun.
fn of_work(server: &Server, editor: &Editor, tool: &'static str, params: &Value) -> Object {
    let id = params.as_object().cloned().map(Arguments::of).and_then(|given| given.text("RequestId"));
    let result = id.and_then(|id| server.kept(tool, &id));
    let updating = editor.gate.borrow().imports();
    let process = server.process();
    Object::new()
        .flag("Ready", !(process.compiling || process.reloading || updating))
        .flag("HasResult", result.is_some())
        .flag("IsCompiling", process.compiling)
        .flag("IsUpdating", updating)
        .flag("IsDomainReloadInProgress", process.reloading)
        .raw("Result", result.as_deref().unwrap_or("null"))
        .text("Message", if result.is_some() { "It has ended" } else { "No result is known" })
}

fn list(server: &Server, editor: &Editor) -> Object {
    let entries: Vec<Value> = {
        let mut state = editor.state();
        state.list_requests += 1;
        state.tools.iter().filter(|tool| !server.is_disabled(&tool.name)).map(catalogue::entry).collect()
    };
    let tools = Object::new().raw("Tools", &Value::from(entries).to_string());
    let text = tools.clone().finish();
    let is_new = std::mem::replace(&mut server.process().catalogue, text.clone()) != text;
    if let Some(project) = editor.project.as_ref().filter(|_| is_new) {
        editor.file_result(CATALOGUE, project.offer(CATALOGUE, text.as_bytes()));
    }
    tools
}
