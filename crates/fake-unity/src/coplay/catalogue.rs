//! The package's tools, as its protocol page has them, and the forms in which an editor lists tools.
//!
//! A line of `tools.txt` is a tool: its name, its group, and, if it has to be asked again until it has ended, for how many seconds at
//! most. One state of the catalogue is known; that every version has it is inferred.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::jobs::LONG_JOB;
use crate::spec::{Kind, MORE_PARAM, Param, Tool, ToolSpec, number};
use crate::tools::TIMEOUT_SECONDS;

/// The groups of tools.
const GROUPS: [&str; 10] =
    ["core", "docs", "vfx", "animation", "ui", "scripting_ext", "testing", "probuilder", "profiling", "asset_gen"];
/// A custom tool of the simulated project that goes on after its first answer, beside the test tools.
pub(super) static LONG: ToolSpec = ToolSpec {
    name: LONG_JOB,
    about: "Works for a time, and is asked again until it has ended.",
    development: false,
    params: &[number("ms", "1000", "Milliseconds of work")],
    timeout_seconds: TIMEOUT_SECONDS,
    result: "",
};
/// For how many seconds [`LONG`] is asked at most.
const LONG_SECONDS: u64 = 60;

struct Line {
    spec: ToolSpec,
    group: &'static str,
    poll_seconds: Option<u64>,
}

static LINES: LazyLock<Vec<Line>> = LazyLock::new(|| include_str!("tools.txt").lines().filter_map(read).collect());

fn read(line: &'static str) -> Option<Line> {
    let mut words = line.split(' ');
    let (name, group) = (words.next()?, words.next()?);
    let poll_seconds = words.next().and_then(|seconds| seconds.parse().ok());
    let spec =
        ToolSpec { name, about: "", development: false, params: &[], timeout_seconds: TIMEOUT_SECONDS, result: "" };
    Some(Line { spec, group, poll_seconds })
}

/// The tools of the package.
pub(super) fn built_in() -> impl Iterator<Item = &'static ToolSpec> {
    LINES.iter().map(|line| &line.spec)
}

/// Whether a tool is one of the package.
pub(super) fn is_built_in(name: &str) -> bool {
    LINES.iter().any(|line| line.spec.name == name)
}

/// Returns a tool as `register_tools` has it.
pub(super) fn entry(tool: &Tool) -> Value {
    let line = LINES.iter().find(|line| line.spec.name == tool.spec.name);
    let poll_seconds = match line {
        Some(line) => line.poll_seconds,
        None => (tool.spec.name == LONG.name).then_some(LONG_SECONDS),
    };
    let about = if tool.spec.about.is_empty() { format!("Runs {}.", tool.name) } else { tool.spec.about.to_owned() };
    let own = tool.spec.params.iter().map(|param| parameter(param.name, param));
    let parameters: Vec<Value> = own.chain(tool.more_params().map(|name| parameter(&name, &MORE_PARAM))).collect();
    json!({
        "name": tool.name,
        "description": about,
        "structured_output": true,
        "requires_polling": poll_seconds.is_some(),
        "poll_action": "status",
        "max_poll_seconds": poll_seconds.unwrap_or(0),
        "group": line.map(|line| line.group),
        "parameters": parameters,
    })
}

fn parameter(name: &str, param: &Param) -> Value {
    let kind = match param.kind {
        Kind::Text | Kind::Choice(_) => "string",
        Kind::Flag => "boolean",
        Kind::Number => "integer",
        Kind::Array => "array",
    };
    let default = param.default.trim_matches('"');
    json!({"name": name, "description": param.about, "type": kind, "required": false, "default_value": default})
}

/// Returns what `get_tool_states` says of all tools.
pub(super) fn states(tools: &[Tool], is_disabled: impl Fn(&str) -> bool) -> Value {
    let state = |tool: &Tool| {
        let is_built_in = is_built_in(tool.spec.name);
        let mut state = entry(tool);
        state["enabled"] = (!is_disabled(&tool.name)).into();
        state["auto_register"] = true.into();
        state["is_built_in"] = is_built_in.into();
        state
    };
    let groups: Vec<Value> = GROUPS.iter().map(|name| json!({"name": name})).collect();
    json!({"tools": tools.iter().map(state).collect::<Vec<_>>(), "groups": groups})
}
