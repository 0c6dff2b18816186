//! What the tools for tests do; the package's own are in [`super::own`].

use std::time::Duration;

use super::desk::Turn;
use super::{catalogue, own};
use crate::conformance::{self, PNG, WAV};
use crate::json::{self, Object};
use crate::spec::Tool;
use crate::tools::{self, Arguments};
use crate::work::{Begun, Done};

/// Begins a tool, or continues it with the state that it kept before a reload.
pub(crate) fn run(turn: &Turn, tool: &Tool, arguments: &Arguments, resumed: Option<&str>) -> Begun {
    let spec = tool.spec;
    if let Some(own) = turn.face.brought(spec.name) {
        return (own.run)(turn, arguments);
    }
    if catalogue::packaged(tool).is_some() {
        return own::run(turn, spec, arguments, resumed);
    }
    let editor = &turn.editor;
    match spec.name {
        "hold-parallel" => tools::held(editor.release.subscribe(), Object::new().flag("Released", true)),
        "steps" => {
            let fresh = || [0, arguments.number("n").unwrap_or(3), arguments.number("ms").unwrap_or(100)];
            steps(turn, resumed.and_then(|kept| serde_json::from_str(kept).ok()).unwrap_or_else(fresh))
        }
        "picture" => {
            turn.attach(Object::new().text("type", "image").text("data", PNG).text("mimeType", "image/png"));
            turn.attach(Object::new().text("type", "text").text("text", "One grey pixel"));
            Begun::ok(Object::new().number("Width", 1).number("Height", 1))
        }
        "sound" => {
            turn.attach(Object::new().text("type", "audio").text("data", WAV).text("mimeType", "audio/wav"));
            Begun::ok(Object::new().number("Samples", 4))
        }
        "off-main" => Begun::ok(Object::new().text("Echo", &arguments.text("text").unwrap_or_default())),
        "place" => Begun::ok(Object::new().raw("Given", &arguments.json())),
        conformance::PROGRESS_TOOL => told(turn),
        name if conformance::text(name).is_some() => {
            conformance::blocks(name).into_iter().for_each(|block| turn.attach(block));
            said(name)
        }
        _ => tools::begin(editor, spec, arguments).unwrap_or_else(|| Begun::ok(tools::plausible(spec))),
    }
}

/// Returns the fixed text of a tool of the conformance suite as the tool's result. The result of the tool that fails is an object
/// that says so.
fn said(name: &str) -> Begun {
    let text = conformance::text(name).unwrap_or_default();
    if name == conformance::ERROR_TOOL {
        return Begun::ok(Object::new().flag("Success", false).text("Message", text));
    }
    Begun::ok(Object::instead(json::quoted(text)))
}

/// Reports progress as the conformance suite expects.
fn told(turn: &Turn) -> Begun {
    let turn = turn.clone();
    Begun::Later(Box::pin(async move {
        let (steps, pause) = conformance::PROGRESS;
        for step in steps {
            turn.progress(f64::from(step), 100.0, "on its way");
            tokio::time::sleep(pause).await;
        }
        let text = conformance::text(conformance::PROGRESS_TOOL).unwrap_or_default();
        Done::ok(Object::instead(json::quoted(text)))
    }))
}

/// Takes `n` steps of `ms` milliseconds each. Skips the first `before` steps, which were done before a reload.
fn steps(turn: &Turn, [before, n, ms]: [u64; 3]) -> Begun {
    let turn = turn.clone();
    Begun::Later(Box::pin(async move {
        turn.face.keep(turn.key, &format!("[{before},{n},{ms}]"));
        for done in before..n {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            // Kept before it is told: a reload between the two must not tell the step again.
            turn.face.keep(turn.key, &format!("[{},{n},{ms}]", done + 1));
            // Exact: the numbers are far below 2^53.
            turn.progress((done + 1) as f64, n as f64, &format!("step {} of {n}", done + 1));
        }
        Done::ok(Object::new().number("Steps", n).number("Before", before))
    }))
}
