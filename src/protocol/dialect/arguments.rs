//! The arguments of a call, member by member, and the time limit that many tools take among them.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::EditorTool;
use crate::limits::TOOL_TIMEOUT_MAX;

/// The parameter in which a tool takes its own time limit.
const TIMEOUT: &str = "TimeoutSeconds";

/// Members of a JSON object in their order, values unparsed.
pub(super) struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Vec<(String, &'de RawValue)>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        source.deserialize_map(Collect).map(Members)
    }
}

impl Members<'_> {
    /// Names and unparsed values, in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0.iter().map(|(key, raw)| (key.as_str(), *raw))
    }

    /// The last member of this name, in any case.
    pub(super) fn get(&self, name: &str) -> Option<Value> {
        let (_, raw) = self.0.iter().rfind(|(key, _)| key.eq_ignore_ascii_case(name))?;
        serde_json::from_str(raw.get()).ok()
    }

    /// The object again, without the members of one name, and with new ones at the end. No value is re-formatted.
    pub(super) fn spliced(&self, without: Option<&str>, added: &[(&str, String)]) -> Option<Box<RawValue>> {
        let kept = self.0.iter().filter(|(key, _)| without.is_none_or(|name| !key.eq_ignore_ascii_case(name)));
        let kept = kept.map(|(key, raw)| (key.as_str(), raw.get()));
        let added = added.iter().map(|(key, text)| (*key, text.as_str()));
        let members: Vec<String> =
            kept.chain(added).map(|(key, text)| format!("{}:{text}", Value::from(key))).collect();
        RawValue::from_string(format!("{{{}}}", members.join(","))).ok()
    }
}

/// What a tool's schema says of a parameter.
pub(super) fn parameter(tool: Option<&EditorTool>, name: &str) -> Option<Value> {
    tool?.input_schema.property(name)
}

/// The limit among the arguments. What is not a positive finite number says nothing.
pub(super) fn given_timeout(arguments: &RawValue) -> Option<Duration> {
    let members: Members<'_> = serde_json::from_str(arguments.get()).ok()?;
    members.get(TIMEOUT).as_ref().and_then(usable)
}

/// The limit that the tool's schema has for a call that names none.
pub(super) fn default_timeout(tool: Option<&EditorTool>) -> Option<Duration> {
    parameter(tool, TIMEOUT)?.get("default").and_then(usable)
}

fn usable(value: &Value) -> Option<Duration> {
    let seconds = value.as_f64().or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()))?;
    (seconds.is_finite() && seconds > 0.0)
        .then(|| Duration::try_from_secs_f64(seconds).map_or(TOOL_TIMEOUT_MAX, |limit| limit.min(TOOL_TIMEOUT_MAX)))
}
