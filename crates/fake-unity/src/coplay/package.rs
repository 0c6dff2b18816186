//! What a checker expects of an editor with the package while it listens, and how an observer reads its connections.

use serde_json::{Value, json};

use super::bridge::V9_5;
use super::resources;
use super::wire::{FRAME_MAX_BYTES, LENGTH_BYTES};
use crate::observer::{self, Answered, Asked, NoFrame, Wire};
use crate::package::{COMPILE_ACT, Call, Facts, Package, Port, Shape, Task, usual};
use crate::package_version::PackageVersion;

/// The package's id.
pub(super) const ID: &str = "com.coplaydev.unity-mcp";

/// The tools of the package's own server that are other commands of the editor's tool `manage_script`, but for the one that searches in
/// a file that it has read: no editor does that.
const SCRIPTS: &[(&str, &str)] = &[
    ("apply_text_edits", "manage_script"),
    ("create_script", "manage_script"),
    ("delete_script", "manage_script"),
    ("get_sha", "manage_script"),
    ("script_apply_edits", "manage_script"),
    ("validate_script", "manage_script"),
];

/// The tools that may be repeated, beside what only reads something of the editor.
const REPEATABLE_TOOLS: [&str; 10] = [
    "debug_request_context",
    "find_gameobjects",
    "get_sha",
    "get_test_job",
    "manage_script_capabilities",
    "manage_tools",
    "read_console",
    "unity_docs",
    "unity_reflect",
    "validate_script",
];
const REPEATABLE: [&str; REPEATABLE_TOOLS.len() + resources::NAMES.len()] = {
    let mut all = [""; REPEATABLE_TOOLS.len() + resources::NAMES.len()];
    let (tools, rest) = all.split_at_mut(REPEATABLE_TOOLS.len());
    tools.copy_from_slice(&REPEATABLE_TOOLS);
    rest.copy_from_slice(&resources::NAMES);
    all
};

/// What both modes have in common.
pub(super) const FACTS: Facts = Facts {
    manifest: (ID, "https://github.com/CoplayDev/unity-mcp.git?path=/MCPForUnity#v10.3.0"),
    versions: &[
        PackageVersion::new(8, 0, 0),
        PackageVersion::new(9, 5, 0),
        PackageVersion::new(10, 1, 0),
        PackageVersion::new(10, 3, 0),
    ],
    request_max_bytes: FRAME_MAX_BYTES,
    translates: |tool| {
        super::catalogue::is_built_in(tool)
            || resources::NAMES.contains(&tool)
            || SCRIPTS.iter().any(|(name, _)| *name == tool)
    },
    sent_as: SCRIPTS,
    parallel: &[],
    repeatable: &REPEATABLE,
    main_thread_question: |_| Some("ping"),
    keeps_off: Some("run_tests"),
    resource: Some("mcpforunity://project/tags"),
    adds_arguments: true,
    console: Some("read_console"),
    other_names: &[
        ("read_console", &["get-logs", "console", "read_console_logs"]),
        ("manage_editor", &["play-mode", "control-play-mode", "editor_play", "start_game", "stop_game"]),
        ("execute_code", &["execute-csharp", "execute-dynamic-code", "eval", "query"]),
        ("execute_menu_item", &["execute-menu-item", "menu"]),
    ],
    ..Facts::USUAL
};

/// The commands that are no calls.
pub(super) const NO_CALLS: [&str; 2] = ["ping", "get_tool_states"];

/// MCP for Unity by CoplayDev in its stdio mode, in which the editor listens.
pub static PACKAGE: Package = Package {
    name: "coplay",
    title: "MCP for Unity 8.0 to 10.3",
    compile_act: COMPILE_ACT,
    facts: Facts {
        port: Port::InHome(super::names::HOME_FOLDER, "unity_port"),
        // Nothing has an id.
        shape: Shape::Stream { names_calls: false, names_all: false },
        unnumbered: true,
        greeting: ("\"type\":", &["raw ping", "get_tool_states"]),
        shows_reloads: true,
        one_client: true,
        tells_of_changes: false,
        ..FACTS
    },
    wire: Wire {
        length,
        asked: |frame, message| {
            let is_raw = frame.get(LENGTH_BYTES..) == Some(b"ping".as_slice());
            let method = if is_raw { "raw ping".to_owned() } else { observer::text(message.get("type")) };
            let is_call = !is_raw && !NO_CALLS.contains(&method.as_str());
            Asked { method, is_call, ..Asked::default() }
        },
        answered,
        listed,
        is_unrun,
        ..Wire::FRAMES
    },
    call,
};

/// Reads a reply.
pub(super) fn answered(message: &Value) -> Option<Answered> {
    match message.get("status")?.as_str()? {
        "success" => {
            let result = message.get("result")?.clone();
            let failed = result.get("success") == Some(&Value::Bool(false));
            Some(Answered { is_result: true, result, failed })
        }
        _ => Some(Answered::default()),
    }
}

/// Counts the tools of a list.
pub(super) fn listed(result: &Value) -> Option<usize> {
    let tools = result.pointer("/data/tools")?;
    let has = |name: &str| tools.as_array().is_some_and(|tools| tools.iter().any(|tool| tool["name"] == *name));
    // The commands behind the package's resources are in no list. A tool of the project may have the name of one.
    let unlisted = resources::NAMES.iter().filter(|name| !has(name)).count();
    Some(observer::entries(tools)? + unlisted + if has("manage_script") { SCRIPTS.len() } else { 0 })
}

/// Returns the call that does a task.
pub(super) fn call(task: Task, text: &str, version: PackageVersion) -> Call {
    match task {
        Task::Logs => Call::repeatable("read_console", json!({"action": "get"})),
        Task::Compile => Call::of(
            "refresh_unity",
            json!({"mode": "force", "scope": "all", "compile": "request", "wait_for_ready": false}),
        ),
        // Before 9.5 the editor lists no tools, so one of the project's own tools is called through another.
        _ if version < V9_5 => {
            let Call { tool, arguments, .. } = usual(task, text, version);
            Call::of("execute_custom_tool", json!({"tool_name": tool, "parameters": arguments}))
        }
        _ => usual(task, text, version),
    }
}

/// The length of a frame, which stands in front of it; before the first one, that of the editor's greeting.
fn length(bytes: &[u8]) -> Result<Option<usize>, NoFrame> {
    match bytes {
        [b'W', ..] => observer::line(bytes),
        [0, ..] | [] => {
            let Some(length) = bytes.first_chunk().copied().map(u64::from_be_bytes) else { return Ok(None) };
            let whole = usize::try_from(length).ok().and_then(|length| length.checked_add(LENGTH_BYTES));
            let whole = whole.filter(|_| (1..=u64::from(u32::MAX)).contains(&length)).ok_or(NoFrame)?;
            Ok((bytes.len() >= whole).then_some(whole))
        }
        _ => Err(NoFrame),
    }
}

/// An exception may have any words, but it always names itself as one.
pub(super) fn is_unrun(message: &Value) -> bool {
    let code = message.pointer("/result/code").and_then(Value::as_str);
    if ["tests_running", "compiling_or_reloading"].map(Some).contains(&code) {
        return message.pointer("/result/success") == Some(&Value::Bool(false));
    }
    let Some(error) = message.get("error").and_then(Value::as_str) else { return false };
    let is_disabled = error.ends_with("' is disabled in the Unity Editor.");
    match message.get("command").and_then(Value::as_str) {
        Some("Unknown") => {
            error.starts_with("Unknown or unsupported command type: ")
                || (is_disabled && (error.starts_with("Tool '") || error.starts_with("Resource '")))
                || error == "Command type cannot be empty"
                || error == "Empty command received"
                || error == "Command evicted: stuck too long in queue"
        }
        Some(_) => false,
        None => error == "Invalid JSON format" && message.get("receivedText").is_some(),
    }
}
