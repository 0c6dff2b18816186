//! What the package's own tools do, and the tools that demonstrate the protocol.

use std::sync::Arc;
use std::time::Duration;

use super::{HoldfastFace, link};
use crate::conformance::{self, PNG, WAV};
use crate::json::{self, Object};
use crate::model::Editor;
use crate::spec::ToolSpec;
use crate::tools::{self, Arguments};
use crate::work::{Begun, Done, Fault};
use crate::work::{NextPort, Order};

/// What a tool knows about the call that it runs for.
#[derive(Clone)]
pub(crate) struct Turn {
    pub(crate) face: HoldfastFace,
    pub(crate) editor: Arc<Editor>,
    pub(crate) key: u64,
}

impl Turn {
    fn progress(&self, progress: f64, total: f64, message: &str) {
        self.face.progress(&self.editor, self.key, progress, Some(total), Some(message));
    }

    pub(crate) fn attach(&self, block: Object) {
        self.face.attach(self.key, block.finish());
    }
}

/// Begins a tool, or continues it with the state that it kept before a reload.
pub(crate) fn run(turn: &Turn, spec: &'static ToolSpec, arguments: &Arguments, resumed: Option<&str>) -> Begun {
    if let Some(own) = turn.face.brought(spec.name) {
        return (own.run)(turn, arguments);
    }
    let editor = &turn.editor;
    match spec.name {
        "ping" => Begun::ok(link::ping(&turn.face.desk.lock(), editor, arguments.text("Message"))),
        "compile" if resumed.is_some() => Begun::ok(compiled(false)),
        "compile" => compile(turn),
        "run-tests" if resumed.is_some() => Begun::ok(tools::plausible(spec)),
        "run-tests" => {
            let mode = arguments.text("TestMode").unwrap_or_default();
            let reloads = mode.eq_ignore_ascii_case("PlayMode") && !editor.config.compile_reload.is_zero();
            if reloads { reload(turn, "play mode") } else { Begun::ok(tools::plausible(spec)) }
        }
        "debug-sleep" => sleep(turn, arguments.number("SleepSeconds").unwrap_or(15)),
        "set-client-name" => set_client_name(turn, arguments),
        "get-tool-details" => {
            editor.state().list_requests += 1;
            let development = arguments.flag("IncludeDevelopmentOnly");
            Begun::ok(Object::new().raw("Tools", &turn.face.legacy_entries(editor, development)))
        }
        "hold-parallel" => tools::held(editor, Object::new().flag("Released", true)),
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
        "batch" => batch(turn, arguments),
        "place" => Begun::ok(Object::new().raw("Given", &arguments.json())),
        conformance::PROGRESS_TOOL => told(turn),
        name if conformance::text(name).is_some() => {
            conformance::blocks(name).into_iter().for_each(|block| turn.attach(block));
            said(name)
        }
        _ => tools::begin(editor, spec, arguments).unwrap_or_else(|| Begun::ok(tools::plausible(spec))),
    }
}

/// Makes the calls in order, as the package does: it runs the tools by itself. Only tools that end at once can be in it.
fn batch(turn: &Turn, arguments: &Arguments) -> Begun {
    let given: serde_json::Value = serde_json::from_str(&arguments.json()).unwrap_or_default();
    let member = |of: &serde_json::Value, name: &str| {
        let found = of.as_object().into_iter().flatten().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let calls = member(&given, "Calls").as_array().cloned().unwrap_or_default();
    for call in &calls {
        let (name, given) = (member(call, "Tool"), member(call, "Arguments"));
        let tool = turn.editor.state().tools.iter().find(|tool| Some(tool.name.as_str()) == name.as_str()).cloned();
        let Some(tool) = tool else { return Begun::fault(Fault::Refused(format!("There is no tool {name}"))) };
        let arguments = match Arguments::read(&tool.name, tool.spec, Some(&given.to_string())) {
            Ok(arguments) => arguments,
            Err(fault) => return Begun::fault(fault),
        };
        if let Some(Begun::Later(_)) = tools::begin(&turn.editor, tool.spec, &arguments) {
            return Begun::fault(Fault::Refused(format!("{name} is called by itself, not in a batch")));
        }
    }
    Begun::ok(Object::new().flag("Success", true).text("Message", "The calls are done"))
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

/// Compiles. A successful compilation ends the domain, unless reloads are turned off, and the answer comes from the next domain.
fn compile(turn: &Turn) -> Begun {
    let failed = {
        let mut state = turn.editor.state();
        state.compiles += 1;
        // Unity leaves play mode to compile.
        state.playing = false;
        state.compile_errors
    };
    turn.face.set_compiling(&turn.editor, true);
    let turn = turn.clone();
    Begun::Later(Box::pin(async move {
        turn.progress(0.0, 1.0, "Compiling");
        tokio::time::sleep(turn.editor.config.compile_time).await;
        turn.editor.main_free().await;
        turn.face.set_compiling(&turn.editor, false);
        if failed || turn.editor.config.compile_reload.is_zero() {
            return Done::ok(compiled(failed));
        }
        turn.editor.write_assembly();
        match reload(&turn, "compiled") {
            Begun::Later(rest) => rest.await,
            Begun::Done(done) => done,
        }
    }))
}

fn compiled(failed: bool) -> Object {
    let issue = Object::new()
        .text("Message", "error CS0246: The type or namespace name 'Nowhere' could not be found")
        .text("File", "Assets/Scripts/Broken.cs")
        .number("Line", 3);
    let errors = if failed { format!("[{}]", issue.finish()) } else { "[]".to_owned() };
    Object::new()
        .flag("Success", !failed)
        .number("ErrorCount", i32::from(failed))
        .number("WarningCount", 0)
        .raw("Errors", &errors)
        .raw("Warnings", "[]")
        .text("Message", if failed { "The scripts do not compile" } else { "Compiled" })
}

/// Saves `state` for the call and reloads the domain. The call continues in the next domain.
fn reload(turn: &Turn, state: &str) -> Begun {
    turn.face.keep(turn.key, state);
    turn.editor.order(Order::Reload { silence: turn.editor.config.compile_reload, port: NextPort::Same });
    Begun::Later(Box::pin(std::future::pending()))
}

fn sleep(turn: &Turn, seconds: u64) -> Begun {
    let turn = turn.clone();
    Begun::Later(Box::pin(async move {
        let (mut slept, total) = (Duration::ZERO, Duration::from_secs(seconds));
        while slept < total {
            let pause = Duration::from_millis(250).min(total - slept);
            tokio::time::sleep(pause).await;
            slept += pause;
            turn.progress(slept.as_secs_f64(), total.as_secs_f64(), "sleeping");
        }
        let message = format!("Slept for {seconds} seconds");
        let result = Object::new().text("Message", &message).number("ActualSleepSeconds", seconds);
        Done::ok(result.flag("WasCancelled", false))
    }))
}

/// Takes `n` steps of `ms` milliseconds each. Skips the first `before` steps, which were done before a reload.
fn steps(turn: &Turn, [before, n, ms]: [u64; 3]) -> Begun {
    let turn = turn.clone();
    Begun::Later(Box::pin(async move {
        for done in before..n {
            turn.face.keep(turn.key, &format!("[{done},{n},{ms}]"));
            tokio::time::sleep(Duration::from_millis(ms)).await;
            // Exact: the numbers are far below 2^53.
            turn.progress((done + 1) as f64, n as f64, &format!("step {} of {n}", done + 1));
        }
        Done::ok(Object::new().number("Steps", n).number("Before", before))
    }))
}

fn set_client_name(turn: &Turn, arguments: &Arguments) -> Begun {
    let name = arguments.text("ClientName").unwrap_or_else(|| "Unknown Client".to_owned());
    let endpoint = arguments.text("PushNotificationEndpoint").unwrap_or_default();
    if let Some(connection) = turn.face.connection(turn.key) {
        turn.editor.name_client(connection, &name);
    }
    turn.face.desk.push.register(&turn.editor, &endpoint, None);
    Begun::ok(
        Object::new()
            .text("Message", &format!("Client name registered successfully: {name}"))
            .text("ClientName", &name)
            .text("PushNotificationEndpoint", &endpoint),
    )
}
