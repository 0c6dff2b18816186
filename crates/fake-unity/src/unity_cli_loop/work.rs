//! Compilations and test runs. They are Unity's: they go on when their caller has gone, and a reload follows or belongs to them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::server::Server;
use super::wire::Request;
use super::wire::members;
use crate::json::Object;
use crate::model::Editor;
use crate::tools::Arguments;
use crate::work::{Begun, Done, Fault, NextPort, Order};

pub(super) const COMPILE: &str = "compile";
pub(super) const RUN_TESTS: &str = "run-tests";

/// The longest id under which a result is kept.
const ID_MAX_BYTES: usize = 128;
/// The tests of the simulated project in one mode.
const TESTS: u32 = 3;

/// Whether a request goes on when its connection is closed.
pub(super) fn outlives_its_connection(request: &Request) -> bool {
    match request.method.as_str() {
        COMPILE => request.flag("WaitForDomainReload", true),
        RUN_TESTS => {
            request.params.get("TestMode").and_then(Value::as_str) == Some("PlayMode")
                && request.flag("RespectEnterPlayModeSettings", false)
        }
        _ => false,
    }
}

/// Some work of Unity that ends in a reload, or may.
struct Work {
    tool: &'static str,
    /// Under which the result is kept; `None`: it is in the answer only.
    kept_as: Option<String>,
    result: Object,
    reload: Option<Order>,
    /// Whether the answer comes before the reload. Otherwise the reload cuts it.
    answers_first: bool,
}

/// Returns the id of a call if its result can be found again. In place of a missing or unsafe one Unity makes an id that nobody knows.
fn id_of(arguments: &Arguments) -> Option<String> {
    let is_safe = |id: &String| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        !id.is_empty() && id.len() <= ID_MAX_BYTES && id.bytes().all(is_plain)
    };
    arguments.text("RequestId").filter(is_safe)
}

fn reload(silence: Duration) -> Option<Order> {
    (!silence.is_zero()).then_some(Order::Reload { silence, port: NextPort::Same })
}

/// Begins a compilation. `was_updating`: whether Unity imported assets when the request came.
pub(super) fn compile(server: &Arc<Server>, editor: &Arc<Editor>, arguments: &Arguments, was_updating: bool) -> Begun {
    let waits = arguments.value("WaitForDomainReload").is_none() || arguments.flag("WaitForDomainReload");
    let kept_as = id_of(arguments).filter(|_| waits);
    let refusal = match (server.process().compiling, was_updating) {
        (true, _) => Some(("COMPILE_ALREADY_IN_PROGRESS", "Unity compiles already")),
        (false, true) => Some(("COMPILE_EDITOR_UPDATING", "Unity imports assets")),
        (false, false) => None,
    };
    if let Some((code, why)) = refusal {
        let result = uncounted(code, why);
        if let Some(id) = kept_as {
            server.keep(COMPILE, id, result.clone().finish());
        }
        return Begun::ok(result);
    }
    let failed = {
        let mut state = editor.state();
        state.compiles += 1;
        // Unity leaves play mode to compile.
        state.playing = false;
        state.compile_errors
    };
    server.process().compiling = true;
    let result = match failed {
        false if arguments.flag("ForceRecompile") => {
            uncounted("COMPILE_RESULT_UNKNOWN", "The reload came before the result; see get-logs")
        }
        _ => compiled(failed),
    };
    let reload = reload(editor.config.compile_reload).filter(|_| !failed);
    run(server, editor, Work { tool: COMPILE, kept_as, result, reload, answers_first: !waits })
}

/// Begins a test run. Only one in play mode that heeds the project's settings for it reloads the domain, and is kept.
pub(super) fn run_tests(server: &Arc<Server>, editor: &Arc<Editor>, arguments: &Arguments) -> Begun {
    let plays = arguments.text("TestMode").is_some_and(|mode| mode.eq_ignore_ascii_case("PlayMode") || mode == "1");
    let reloads = plays && arguments.flag("RespectEnterPlayModeSettings");
    let result = members(&json!({
        "Success": true, "Message": "All tests passed", "CompletedAt": editor.timestamp(), "TestCount": TESTS,
        "PassedCount": TESTS, "FailedCount": 0, "SkippedCount": 0, "XmlPath": null,
    }));
    if !reloads {
        let time = editor.config.compile_time;
        return Begun::Later(Box::pin(async move {
            tokio::time::sleep(time).await;
            Done::ok(result)
        }));
    }
    let (kept_as, reload) = (id_of(arguments), reload(editor.config.compile_reload));
    run(server, editor, Work { tool: RUN_TESTS, kept_as, result, reload, answers_first: false })
}

/// Runs the work beside its caller, who may go.
fn run(server: &Arc<Server>, editor: &Arc<Editor>, work: Work) -> Begun {
    let (answer, answered) = oneshot::channel();
    let (of, told) = (Arc::clone(server), Arc::clone(editor));
    server.spawn(async move {
        let (server, editor) = (of, told);
        let Work { tool, kept_as, result, reload, answers_first } = work;
        tokio::time::sleep(editor.config.compile_time).await;
        editor.main_free().await;
        if tool == COMPILE && reload.is_some() {
            editor.write_assembly();
        }
        {
            let mut process = server.process();
            process.compiling &= tool != COMPILE;
            process.reloading = reload.is_some();
        }
        if let Some(id) = kept_as {
            server.keep(tool, id, result.clone().finish());
        }
        let gap = editor.config.compile_gap;
        match reload {
            Some(order) if !gap.is_zero() => {
                // The caller may have gone, here and below.
                let _ = answer.send(Done::ok(result));
                tokio::time::sleep(gap).await;
                editor.order(order);
            }
            Some(order) if !answers_first => {
                editor.order(order);
                // The reload ends this task, and the connection that waits for it.
                std::future::pending::<()>().await;
            }
            then => {
                if let Err(Done { then: Some(order), .. }) = answer.send(Done { result: Ok(result), then }) {
                    editor.order(order);
                }
            }
        }
    });
    Begun::Later(Box::pin(async move {
        // If the domain or the server ends, this work does too, and nobody is answered.
        answered.await.unwrap_or(Done { result: Err(Fault::Cancelled), then: None })
    }))
}

fn compiled(failed: bool) -> Object {
    let error = json!({
        "Message": "Assets/Scripts/Broken.cs(3,7): error CS0246: The type or namespace name 'Nowhere' could not be found",
        "File": "Assets/Scripts/Broken.cs",
        "Line": 3,
    });
    let errors = if failed { json!([error]) } else { json!([]) };
    members(&json!({
        "Success": !failed, "ErrorCount": u8::from(failed), "WarningCount": 0, "Errors": errors, "Warnings": [],
        "Message": null,
    }))
}

/// The result of a compilation of which nothing is known, or that did not happen.
fn uncounted(code: &str, why: &str) -> Object {
    members(&json!({
        "Success": false, "ErrorCode": code, "ErrorCount": null, "WarningCount": null, "Errors": null, "Warnings": null,
        "Message": why,
    }))
}
