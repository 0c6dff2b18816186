//! Runs commands on the main thread. The result of each is a whole reply.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::bridge::{Bridge, V9_5};
use super::wire::{self, done, failed};
use super::{catalogue, jobs, resources, scripts, unity};
use crate::events::Event;
use crate::json::Object;
use crate::model::Editor;
use crate::spec::{Tool, ToolSpec};
use crate::tools::{self, Arguments};
use crate::work::{Begun, Done, Fault};

/// The result of a ping.
pub(super) const PONG: &str = r#"{"message":"pong"}"#;

/// Whether a command is a tool.
pub(super) fn is_tool(editor: &Editor, name: &str) -> bool {
    editor.state().tools.iter().any(|tool| tool.name == name)
}

/// How a call with this reply ended.
pub(super) fn outcome(reply: &str) -> &'static str {
    if reply.starts_with(r#"{"status":"success""#) { "ok" } else { "error" }
}

/// Begins a command.
pub(super) fn begin(
    bridge: &Arc<Bridge>,
    editor: &Arc<Editor>,
    connection: u64,
    name: &str,
    params: Map<String, Value>,
) -> Begun {
    let tool = editor.state().tools.iter().find(|tool| tool.name == name).cloned();
    let Some(tool) = tool else {
        let reply = match ask(bridge, editor, name, params) {
            Some(_) if bridge.is_disabled(name) => {
                wire::refusal(&format!("Resource '{name}' is disabled in the Unity Editor."))
            }
            Some(result) => wire::success(&result.finish()),
            None => wire::refusal(&format!("Unknown or unsupported command type: {name}")),
        };
        return Begun::ok(Object::instead(reply));
    };
    if bridge.is_disabled(name) {
        return Begun::ok(Object::instead(wire::of_fault(Fault::Blocked(tool.name))));
    }
    let begun = call(bridge, editor, &tool, params);
    // Sent after the tool has begun: a listener may release a held call as soon as it gets this event.
    editor.event(Event::CallBegun { connection, tool: tool.name, call: None, parallel: false });
    match begun {
        Begun::Done(done) => Begun::Done(replied(editor, done)),
        Begun::Later(rest) => {
            let editor = Arc::clone(editor);
            Begun::Later(Box::pin(async move { replied(&editor, rest.await) }))
        }
    }
}

/// Makes the reply of a call from its outcome.
fn replied(editor: &Editor, Done { result, then }: Done) -> Done {
    let reply = match result {
        Ok(result) => wire::success(&editor.oddly(result).finish()),
        Err(fault) => wire::of_fault(fault),
    };
    Done { result: Ok(Object::instead(reply)), then }
}

/// Returns what a command says that is no tool; `None`: there is none of this name.
fn ask(bridge: &Bridge, editor: &Editor, name: &str, params: Map<String, Value>) -> Option<Object> {
    Some(match name {
        "ping" => Object::instead(PONG.to_owned()),
        "get_tool_states" if bridge.version >= V9_5 => {
            let mut state = editor.state();
            state.list_requests += 1;
            done("Retrieved tool states.", &catalogue::states(&state.tools, |tool| bridge.is_disabled(tool)))
        }
        _ => return resources::answer(bridge, editor, name, &Arguments::of(params)),
    })
}

fn call(bridge: &Arc<Bridge>, editor: &Arc<Editor>, tool: &Tool, params: Map<String, Value>) -> Begun {
    let given = Value::from(params).to_string();
    let arguments = match Arguments::read(&tool.name, tool.spec, Some(&given)) {
        Ok(arguments) => arguments,
        Err(fault) => return Begun::fault(fault),
    };
    match tool.spec.name {
        "refresh_unity" => jobs::refresh(bridge, editor, &arguments),
        "run_tests" => jobs::run_tests(bridge, editor, &arguments),
        "get_test_job" => Begun::ok(jobs::test_job(bridge, editor, &arguments)),
        "manage_build" => jobs::build(bridge, editor, &arguments),
        "manage_packages" => jobs::packages(bridge, editor, &arguments),
        jobs::LONG_JOB => Begun::ok(jobs::long(bridge, editor, &arguments)),
        "manage_editor" => Begun::ok(unity::manage_editor(bridge, editor, &arguments)),
        "manage_prefabs" => Begun::ok(unity::manage_prefabs(&arguments)),
        "manage_scene" => Begun::ok(unity::manage_scene(&arguments)),
        "read_console" => Begun::ok(unity::read_console(editor, &arguments)),
        "manage_script" => Begun::ok(scripts::manage(&mut bridge.process().scripts, &arguments)),
        _ => match tools::begin(editor, tool.spec, &arguments) {
            Some(Begun::Done(done)) => Begun::Done(of_custom(done)),
            Some(Begun::Later(rest)) => Begun::Later(Box::pin(async { of_custom(rest.await) })),
            None => Begun::ok(plausible(tool.spec)),
        },
    }
}

/// The result of a built-in tool of which the model knows nothing more.
fn plausible(spec: &ToolSpec) -> Object {
    done(&format!("{} has run.", spec.name), &json!({}))
}

/// The result of a custom tool: its own members beside whether it succeeded. That the package passes them on is inferred.
fn of_custom(Done { result, then }: Done) -> Done {
    let result = result.map(|result| {
        let text = result.finish();
        if text.starts_with(r#"{"Success":false"#) {
            let said: Map<String, Value> = serde_json::from_str(&text).unwrap_or_default();
            let why = ["ErrorMessage", "Message"].iter().find_map(|name| said.get(*name)?.as_str());
            return failed(why.unwrap_or_default(), None);
        }
        let own = text.strip_prefix('{').filter(|own| *own != "}").map_or("}".to_owned(), |own| format!(",{own}"));
        Object::instead(format!(r#"{{"success":true{own}"#))
    });
    Done { result, then }
}
