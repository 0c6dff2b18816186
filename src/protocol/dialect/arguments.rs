//! Single arguments of a call: the time limit that many tools take, and arguments that are not for the editor.

use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;

use super::EditorTool;
use super::members::Members;
use crate::limits::TOOL_TIMEOUT_MAX;

/// The parameter that holds a tool's time limit, in seconds.
const TIMEOUT: &str = "TimeoutSeconds";

/// Takes every argument with this name out of the arguments, ignoring the case of ASCII letters. Returns their values and the
/// other arguments, which keep their text. `None` if there is none, or if the arguments are no object.
pub fn taken_out(arguments: &RawValue, name: &str) -> Option<(Vec<Box<RawValue>>, Box<RawValue>)> {
    let members = Members::of(arguments)?;
    let found = members.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
    let found: Vec<Box<RawValue>> = found.map(|(_, raw)| raw.to_owned()).collect();
    let rest = members.spliced(Some(name), &[]).filter(|_| !found.is_empty())?;
    Some((found, rest))
}

/// The schema of one parameter of a tool.
pub(super) fn parameter(tool: Option<&EditorTool>, name: &str) -> Option<Value> {
    tool?.input_schema.property(name)
}

/// Returns the time limit in the arguments, at most `TOOL_TIMEOUT_MAX`. `None` if there is none, or if it is not a positive
/// finite number.
pub(super) fn given_timeout(arguments: &RawValue) -> Option<Duration> {
    let members: Members<'_> = serde_json::from_str(arguments.get()).ok()?;
    members.get(TIMEOUT).as_ref().and_then(usable)
}

/// Returns the default of the time limit in the tool's schema, at most `TOOL_TIMEOUT_MAX`. `None` if the schema has no usable
/// default.
pub(super) fn default_timeout(tool: Option<&EditorTool>) -> Option<Duration> {
    parameter(tool, TIMEOUT)?.get("default").and_then(usable)
}

fn usable(value: &Value) -> Option<Duration> {
    let seconds = value.as_f64().or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()))?;
    (seconds.is_finite() && seconds > 0.0)
        .then(|| Duration::try_from_secs_f64(seconds).map_or(TOOL_TIMEOUT_MAX, |limit| limit.min(TOOL_TIMEOUT_MAX)))
}
