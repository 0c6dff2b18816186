//! What a checker expects of an editor with the package, and how an observer reads its connections.

use serde_json::Value;

use super::wire::REQUEST_MAX_BYTES;
use crate::observer::{self, Wire};
use crate::package::{COMPILE_ACT, Facts, Package, Port, Shape, usual};
use crate::package_version::PackageVersion;

/// The package's id.
pub(super) const ID: &str = "io.github.hatayama.uloopmcp";

pub(crate) static PACKAGE: Package = Package {
    name: "unity-cli-loop",
    title: "Unity CLI Loop 3",
    compile_act: COMPILE_ACT,
    facts: Facts {
        manifest: (ID, "3.3.0"),
        port: Port::Socket,
        versions: &[PackageVersion::new(3, 0, 45), PackageVersion::new(3, 0, 57), PackageVersion::new(3, 3, 0)],
        // The id of a request is a number.
        shape: Shape::Stream { names_calls: false, names_all: true },
        request_max_bytes: REQUEST_MAX_BYTES,
        parallel: &[],
        repeatable: &["get-logs", "get-hierarchy", "find-game-objects", "get-watch-values"],
        greeting: ("\"method\":", &["get-version", "get-editor-status"]),
        // It is no file: the editor is asked for the result, over the reload.
        compile_file: true,
        keeps_results: true,
        main_thread_question: |_| Some("get-version"),
        goes_on: |message| phase(message).is_some(),
        tells_of_changes: false,
        // The end of the connection cancels a tool.
        withdraws: true,
        hangs_up: true,
        other_names: &[
            ("control-play-mode", &["play-mode", "start_game", "stop_game"]),
            ("execute-dynamic-code", &["execute-csharp", "execute_code", "query"]),
            ("get-logs", &["read_console_logs"]),
        ],
        ..Facts::USUAL
    },
    wire: Wire {
        // What only says that a request was taken, or is still at work, answers nothing.
        answered: |message| if phase(message).is_some() { None } else { observer::json_rpc_answer(message) },
        listed: |result| observer::entries(result.get("Tools")?),
        is_unrun: |message| {
            let kind = message.pointer("/error/data/type").and_then(Value::as_str);
            let is_unread = message.get("id").is_none_or(Value::is_null) && kind == Some("internal_error");
            is_unread || matches!(kind, Some("cli_update_required" | "server_busy" | "security_blocked"))
        },
        ..Wire::FRAMES
    },
    call: usual,
};

fn phase(message: &Value) -> Option<&str> {
    message.pointer("/uloop/phase").and_then(Value::as_str)
}
