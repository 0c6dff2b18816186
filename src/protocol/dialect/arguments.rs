//! Single arguments of a call: the time limit that many tools take, and arguments that are not for the editor.

use std::collections::{HashMap, HashSet};
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

/// A parameter that is listed under another name than the editor's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnName {
    /// The name that clients see.
    pub listed: String,
    /// The editor's own.
    pub own: String,
}

/// Gives arguments the editor's own names. Their values keep their text, and an argument that has its own name keeps it. `None` if
/// there is nothing to change.
pub fn under_own_names(arguments: &RawValue, names: &[OwnName]) -> Option<Box<RawValue>> {
    let members = Members::of(arguments).filter(|_| !names.is_empty())?;
    let given: HashSet<&str> = members.iter().map(|(key, _)| key).collect();
    let known: HashMap<String, &str> =
        names.iter().map(|name| (name.listed.to_ascii_lowercase(), name.own.as_str())).collect();
    let own = |key: &str| known.get(&key.to_ascii_lowercase()).copied().filter(|own| !given.contains(own));
    let named: Vec<(&str, String)> =
        members.iter().map(|(key, raw)| (own(key).unwrap_or(key), raw.get().to_owned())).collect();
    let is_changed = members.iter().any(|(key, _)| own(key).is_some());
    if is_changed { Members::default().spliced(None, &named) } else { None }
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
