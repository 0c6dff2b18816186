//! What the commands do. Those that the model has nothing for succeed, and change nothing.

use std::sync::Arc;

use serde_json::{Value, json};

use super::server::{self, Server};
use super::versions::V0_8;
use super::work::{self, said};
use super::{catalogue, reply};
use crate::model::Editor;
use crate::project::{Project, UNITY_VERSION};
use crate::spec::ToolSpec;
use crate::tools::{self, Arguments};
use crate::work::Begun;

/// Begins a command, on the main thread if it needs that.
pub(super) fn begin(
    server: &Arc<Server>,
    editor: &Arc<Editor>,
    spec: &'static ToolSpec,
    arguments: &Arguments,
) -> Begun {
    if catalogue::own(spec.name).is_none() {
        return match spec.name {
            "fail" => Begun::ok(said(&json!({"success": false, "error": "As asked", "message": "The tool failed"}))),
            _ => tools::begin(editor, spec, arguments).unwrap_or_else(done),
        };
    }
    if let Some(status) = work::status_of(server, spec.name) {
        return Begun::ok(of_status(server, &status));
    }
    let is_confirmed = spec.params.iter().any(|param| param.name == "confirm");
    if let Some(answer) = work::unconfirmed(spec.name, arguments).filter(|_| is_confirmed) {
        return Begun::ok(said(&answer));
    }
    match spec.name {
        "editor_status" => {
            let status = state(server, editor, None);
            Begun::ok(of_status(server, &status))
        }
        "recompile" => work::recompile(server, editor),
        "run_tests" => work::run_tests(server, editor, arguments),
        "list_tests" => {
            let names = work::PROJECT_TESTS.map(|(name, _)| name);
            Begun::ok(said(&json!({"success": true, "count": names.len(), "tests": names})))
        }
        "build" => work::build(server, editor),
        "package_add" | "package_remove" | "package_resolve" | "switch_build_target" => {
            work::change(server, editor, spec.name)
        }
        "editor_play" => play(editor, true),
        "editor_stop" => play(editor, false),
        "console" | "get_console_logs" => Begun::ok(said(&json!({"success": true, "count": 0, "entries": []}))),
        _ => done(),
    }
}

fn done() -> Begun {
    Begun::ok(said(&json!({"success": true})))
}

fn play(editor: &Editor, on: bool) -> Begun {
    editor.state().playing = on;
    Begun::ok(said(&json!({"success": true, "playMode": if on { "playing" } else { "stopped" }})))
}

/// Before 0.8 a status is a text that is JSON.
fn of_status(server: &Server, status: &Value) -> crate::json::Object {
    if server.version < V0_8 { said(&status.to_string().into()) } else { said(status) }
}

/// Begins `GET /api/editor_status` on the main thread.
pub(super) fn editor_status(server: &Server, editor: &Editor) -> Begun {
    Begun::ok(said(&state(server, editor, None)))
}

/// Returns what `editor_status` answers while a dialog is open: it was taken before. Only the command has that.
pub(super) fn snapshot(server: &Server, editor: &Editor, spec: &ToolSpec) -> Option<Value> {
    let dialog = server::dialog(server, editor).filter(|_| spec.name == "editor_status")?;
    let status = state(server, editor, Some(dialog));
    Some(if server.version < V0_8 { status.to_string().into() } else { status })
}

fn state(server: &Server, editor: &Editor, dialog: Option<Value>) -> Value {
    let compiling = work::compiles(server);
    let playing = editor.state().playing;
    let importing = editor.gate.borrow().imports();
    let status = match &dialog {
        Some(_) => "blocked_by_dialog",
        None if compiling => "compiling",
        None if importing => "reloading",
        None if playing => "playing",
        None => "ready",
    };
    let mut said = json!({
        "status": status,
        "compiling": compiling,
        "domainReloadInProgress": importing,
        "playMode": if playing { "playing" } else { "stopped" },
        "lastHeartbeat": reply::now(editor),
        "projectPath": editor.project.as_ref().map(Project::root),
        "unityVersion": UNITY_VERSION,
    });
    if let Some(dialog) = dialog {
        said["dialog"] = dialog;
    }
    said
}
