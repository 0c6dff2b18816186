//! What a checker expects of an editor with the package, and how an observer reads its connections.

use serde_json::{Value, json};

use super::versions::{V0_5, V0_6};
use crate::observer::{self, Answered, Asked, Fate, Outcomes, Wire};
use crate::package::{Call, Facts, Identity, Package, Port, Shape, Task, usual};
use crate::package_version::PackageVersion;

/// The package's id.
pub(super) const ID: &str = "com.unity.pipeline";
/// Where the package says on which port it listens, and with which token.
pub(super) const DESCRIPTOR: &str = "Library/Pipeline/.unity-pipeline-port";

/// The errors that an editor answers before it has done anything. "Parameter Validation Failed" is not among them: a command can
/// throw it too.
const UNRUN: [&str; 11] = [
    "Unauthorized",
    "Forbidden",
    "Not Found",
    "Method Not Allowed",
    "Payload Too Large",
    "Bad Request",
    "Invalid JSON",
    "Invalid Request",
    "Command Not Found",
    "Server Busy",
    "Too Many Queued Jobs",
];

pub(crate) static PACKAGE: Package = Package {
    name: "pipeline",
    title: "Unity's Pipeline 0.4 to 0.8",
    compile_act: "recompile, with a reload behind the answer",
    facts: Facts {
        manifest: (ID, "0.8.0-exp.1"),
        port: Port::Record(DESCRIPTOR, "port"),
        // It takes the first free one from 7800 to 7849, but only the file has the token, and the file has the port too.
        default_ports: &[],
        versions: &[
            PackageVersion::new(0, 4, 0),
            PackageVersion::new(0, 5, 0),
            PackageVersion::new(0, 6, 0),
            PackageVersion::new(0, 7, 0),
            PackageVersion::new(0, 8, 0),
        ],
        shape: Shape::ConnectionEach,
        jobs: true,
        // Commands run one at a time. What only asks is answered beside them.
        window: 1,
        window_is_of_calls: true,
        request_max_bytes: super::wire::EXEC_MAX_BYTES,
        parallel: &[],
        repeatable: &[
            "build_status",
            "console",
            "console_status",
            "editor_status",
            "find_assets",
            "find_gameobjects",
            "get_authoring_root",
            "get_build_settings",
            "get_component_properties",
            "get_console_logs",
            "get_player_settings",
            "get_scene_hierarchy",
            "get_selection",
            "list_build_targets",
            "list_open_scenes",
            "list_tests",
            "package_status",
            "read_text_file",
            "recompile_status",
            "search",
            "test_status",
        ],
        greeting: ("POST /", &[]),
        // The descriptor, and the list of commands, name when the domain began.
        shows_reloads: true,
        compile_file: true,
        compile_tells: false,
        heartbeat: true,
        // Before, one request is answered at a time, so that a question would keep every call.
        main_thread_question: |version| (version >= V0_5).then_some("/api/editor_status"),
        names_dialogs: |version| version >= V0_6,
        tells_of_settling: |version| version >= V0_5,
        withdraws: true,
        ends_withdrawn: false,
        tells_of_changes: false,
        // A result has a flag of its own, which may say that what was run failed.
        says_success_apart: false,
        identity: Identity::InFile,
        console: Some("console"),
        other_names: &[
            ("console", &["get-logs", "read_console_logs"]),
            ("editor_play", &["play-mode", "control-play-mode", "start_game", "stop_game"]),
            ("editor_stop", &["play-mode", "control-play-mode", "start_game", "stop_game"]),
            ("eval", &["execute-csharp", "execute-dynamic-code", "execute_code", "query"]),
            ("editor_status", &["editor-state", "get-version", "get_project_info"]),
            ("menu", &["execute-menu-item", "execute_menu_item"]),
        ],
        ..Facts::USUAL
    },
    wire: Wire {
        length: observer::http,
        asked: |frame, message| {
            let head = String::from_utf8_lossy(frame);
            let path = head.split(' ').nth(1).unwrap_or_default().split('?').next().unwrap_or_default().to_owned();
            let is_call = path == "/api/exec";
            let method = if is_call { observer::text(message.get("command")) } else { path };
            Asked { method, is_call, ..Asked::default() }
        },
        arguments: |message| message.get("parameters").cloned().unwrap_or_default(),
        answered,
        listed,
        outcomes: |said| {
            let job = said.get("jobId").and_then(Value::as_str);
            let fate = match said.get("state").and_then(Value::as_str) {
                Some("queued" | "running") => Some(Fate::Running),
                Some("completed") => Some(Fate::Ended),
                Some("failed") if gave_up(said) => Some(Fate::GivenUp),
                Some("failed") => Some(Fate::Ended),
                // Also of a job that ran to its end: only one that never started is known not to have run.
                Some("canceled") if has(said, "startedAt") => Some(Fate::Ended),
                Some("canceled") => Some(Fate::NotRun),
                _ => None,
            };
            Outcomes { journal: None, calls: job.into_iter().map(|job| (job.to_owned(), fate)).collect() }
        },
        is_unrun: |message| {
            let error = message.get("error").and_then(Value::as_str);
            let code = message.get("errorCode").and_then(Value::as_str);
            error.is_some_and(|error| UNRUN.contains(&error)) || code == Some("INVALID_COMMAND_ARGS")
        },
        ..Wire::FRAMES
    },
    call: |task, text, version| match task {
        Task::Logs => Call::repeatable("console", json!({})),
        Task::Compile => Call::of("recompile", json!({})),
        _ => usual(task, text, version),
    },
};

/// Counts what a list shows of commands for an editor: each of them, and the rest if it is one page only.
fn listed(result: &Value) -> Option<usize> {
    let commands = result.get("commands")?;
    let all = observer::entries(commands)?;
    let for_players = |command: &&Value| command.get("runtimeOnly") == Some(&Value::Bool(true));
    let players = commands.as_array().map(|commands| commands.iter().filter(for_players).count()).unwrap_or_default();
    let total = result.get("total").and_then(Value::as_u64).and_then(|total| usize::try_from(total).ok());
    Some(all - players + usize::from(total.is_some_and(|total| total > all)))
}

/// Whether a failed job only says that the server failed, which also is what it says when it has waited too long.
fn gave_up(job: &Value) -> bool {
    job.get("error").and_then(Value::as_str).is_some_and(|error| error.trim().starts_with("Internal Server Error"))
}

fn has(message: &Value, member: &str) -> bool {
    message.get(member).is_some_and(|value| !value.is_null())
}

/// Reads the answer to a command, or what is said of a job that has ended.
fn answered(message: &Value) -> Option<Answered> {
    let ended = |result: Option<&Value>| {
        let result = result.cloned().unwrap_or_default();
        let failed = ["Success", "success"].iter().any(|name| result.get(name) == Some(&Value::Bool(false)));
        Some(Answered { is_result: true, result, failed })
    };
    if has(message, "jobId") {
        return match message.get("state")?.as_str()? {
            "completed" => ended(message.get("result")),
            "failed" => Some(Answered::default()),
            _ => None,
        };
    }
    if has(message, "error") {
        return Some(Answered::default());
    }
    let result = message.get("result").filter(|_| message.get("success") == Some(&Value::Bool(true)));
    let is_job = result.is_some_and(|result| has(result, "jobId") && has(result, "state"));
    if is_job { None } else { ended(Some(result?)) }
}
