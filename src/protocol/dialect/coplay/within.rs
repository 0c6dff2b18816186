//! Tools that call other tools of the editor: which those are, for the rules on tools.

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::UnreadableCalls;
use super::super::members::Members;
use super::super::wreck;

/// Calls a tool by its name. Only the package's own server has it: for a custom tool that the editor does not list.
pub(super) const CUSTOM: &str = "execute_custom_tool";
/// Calls several tools.
const BATCH: &str = "batch_execute";

/// Returns the tool that such a call names, and its arguments if there are any.
pub(super) fn custom(arguments: &RawValue) -> Option<(String, Option<&RawValue>)> {
    let members = Members::of(arguments)?;
    let name = members.find("tool_name").and_then(|name| wreck::text(name.get().as_bytes()))?;
    Some((name, members.find("parameters").filter(|given| given.get().starts_with('{'))))
}

/// Returns the names of the tools that a call of this tool calls.
pub(super) fn tools(tool: &str, arguments: &RawValue) -> Result<Vec<String>, UnreadableCalls> {
    match tool {
        CUSTOM => {
            let (name, given) = custom(arguments).ok_or(UnreadableCalls)?;
            let mut names = given.map_or(Ok(Vec::new()), |given| tools_of(&name, &read(given)?))?;
            names.push(name);
            Ok(names)
        }
        BATCH => tools_of(BATCH, &read(arguments)?),
        _ => Ok(Vec::new()),
    }
}

/// The parser bounds how deep the value is nested.
fn read(arguments: &RawValue) -> Result<Value, UnreadableCalls> {
    serde_json::from_str(arguments.get()).map_err(|_| UnreadableCalls)
}

/// A batch in a batch is found too.
fn tools_of(tool: &str, arguments: &Value) -> Result<Vec<String>, UnreadableCalls> {
    if tool != BATCH {
        return Ok(Vec::new());
    }
    let lists = members_of(arguments, "commands")?;
    if lists.is_empty() {
        return Err(UnreadableCalls);
    }
    let mut names = Vec::new();
    for list in lists {
        for entry in list.as_array().ok_or(UnreadableCalls)? {
            for name in members_of(entry, "tool")? {
                let name = name.as_str().ok_or(UnreadableCalls)?;
                for given in members_of(entry, "params")? {
                    names.extend(tools_of(name, given)?);
                }
                names.push(name.to_owned());
            }
        }
    }
    Ok(names)
}

/// Returns the members that the editor may take for this one. It turns the keys of an inner batch from `snake_case` to `camelCase`, and
/// of two that are then the same it takes the last.
fn members_of<'v>(value: &'v Value, name: &str) -> Result<Vec<&'v Value>, UnreadableCalls> {
    let members = value.as_object().ok_or(UnreadableCalls)?;
    let plain = |key: &str| key.replace(['_', '-', ' '], "").to_lowercase();
    Ok(members.iter().filter(|(key, _)| plain(key) == name).map(|(_, value)| value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_that_a_call_calls_is_found() {
        let found = |tool: &str, arguments: &str| tools(tool, &RawValue::from_string(arguments.to_owned()).unwrap());
        let batch = r#"{"commands":[{"tool":"a"},{"Tool":"b","params":{"tool":"no"}},{"tool":"batch_execute","params":{"commands":[{"tool":"c"}]}}]}"#;
        let names = |names: &[&str]| Ok(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(found(BATCH, batch), names(&["a", "b", "c", BATCH]));
        let custom = format!(r#"{{"tool_name":"{BATCH}","parameters":{batch}}}"#);
        assert_eq!(found(CUSTOM, &custom), names(&["a", "b", "c", BATCH, BATCH]));
        assert_eq!(found(CUSTOM, r#"{"tool_name":"mine"}"#), names(&["mine"]));
        assert_eq!(found("count", batch), names(&[]));
        let hidden = r#"{"commands":[{"tool":"batch_execute","params":{"commands":[{"tool":"a"}],"commands_":[{"_tool":"b"}]}}]}"#;
        assert_eq!(found(BATCH, hidden), names(&["a", "b", BATCH]));
        for odd in ["{}", r#"{"commands":"[]"}"#, r#"{"commands":[7]}"#, r#"{"commands":[{"tool":7}]}"#] {
            assert_eq!(found(BATCH, odd), Err(UnreadableCalls), "{odd}");
        }
        assert_eq!(found(CUSTOM, "{}"), Err(UnreadableCalls));
    }
}
