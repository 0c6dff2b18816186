//! Prepares calls: their time limits, and the names of their arguments.

use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::super::arguments::parameter;
use super::super::members::Members;
use super::super::unity::SCRIPT_ASSEMBLIES;
use super::super::{EditorTool, PreparedCall, Recovery, ReloadSigns, Sending};
use super::followed;
use crate::limits::TOOL_TIMEOUT_MAX;

/// The parameter that holds a command's own time limit.
const TIMEOUT: &str = "timeout";
/// The command whose limit is in seconds. All others have milliseconds.
const TESTS: &str = "run_tests";
/// Commands after which a domain reload may follow, or that begin one.
const RELOADING: [&str; 6] =
    ["recompile", "editor_play", "package_add", "package_remove", "package_resolve", "switch_build_target"];
/// What shows that nothing was compiled, so that no reload follows the answer.
const RELOAD_SIGNS: ReloadSigns = ReloadSigns { assemblies: SCRIPT_ASSEMBLIES, busy_files: &[] };
/// Arguments that are named in one refusal.
const NAMED_MAX: usize = 12;

/// Prepares a call.
pub(super) fn prepare(
    sending: &Sending<'_>,
    name: &str,
    tool: Option<&EditorTool>,
    arguments: &RawValue,
) -> PreparedCall {
    let recovery = followed::recovery(name, arguments).filter(|_| sending.project_known).unwrap_or(Recovery::None);
    PreparedCall {
        recovery: recovery.clone(),
        reload_signs: (name == RELOADING[0]).then_some(RELOAD_SIGNS),
        timeout: timeout(name, tool, arguments),
        reload_follows: RELOADING.contains(&name),
        // Nobody could ask for a job of an editor that seemed to have none.
        as_job: recovery == Recovery::None && sending.journal.is_some(),
        misread: tool.and_then(|tool| unknown_argument(name, tool, arguments)),
        ..PreparedCall::as_given(arguments)
    }
}

fn timeout(name: &str, tool: Option<&EditorTool>, arguments: &RawValue) -> Option<Duration> {
    let given = Members::of(arguments).and_then(|members| members.get(TIMEOUT));
    let limit = given.as_ref().and_then(Value::as_f64);
    let limit = limit.or_else(|| parameter(tool, TIMEOUT)?.get("default")?.as_f64());
    let unit = if name == TESTS { 1.0 } else { 1000.0 };
    let limit = limit.filter(|limit| limit.is_finite() && *limit > 0.0)? / unit;
    Some(Duration::try_from_secs_f64(limit).map_or(TOOL_TIMEOUT_MAX, |limit| limit.min(TOOL_TIMEOUT_MAX)))
}

/// Returns what is wrong with the first argument that the command does not have. The editor would run the command without it: no
/// version refuses a name that it does not know in such a call.
fn unknown_argument(command: &str, tool: &EditorTool, arguments: &RawValue) -> Option<String> {
    let schema = tool.input_schema.parsed();
    if schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false)) {
        return None;
    }
    let known: &Map<String, Value> = schema.get("properties")?.as_object()?;
    let members = Members::of(arguments)?;
    let (unknown, _) = members.iter().find(|(name, _)| !known.contains_key(*name))?;
    let mut has: Vec<&str> = known.keys().map(String::as_str).take(NAMED_MAX).collect();
    has.extend((known.len() > NAMED_MAX).then_some("and more"));
    let plain = |name: &str| name.to_lowercase().replace(['_', '-'], "");
    let meant = known.keys().find(|name| plain(name) == plain(unknown));
    Some(match (meant, has.is_empty()) {
        (Some(meant), _) => {
            format!("`{command}` has no argument \"{unknown}\" (did you mean \"{meant}\"?), and Unity would ignore it.")
        }
        (None, true) => format!("`{command}` has no argument \"{unknown}\", nor any other, and Unity would ignore it."),
        (None, false) => {
            format!("`{command}` has no argument \"{unknown}\", and Unity would ignore it. It has: {}.", has.join(", "))
        }
    })
}
