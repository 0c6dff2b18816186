//! Names that tools have in other packages. A user who changes to another package has them in prompts, notes and
//! policies.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

/// A name that a tool like this one has in another package, with the arguments that differ. The name may be the tool's
/// own: then only arguments differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OtherName {
    /// The other name.
    pub name: String,
    /// The arguments that differ. All others stay as they are.
    #[serde(default)]
    pub arguments: Vec<OtherArgument>,
}

/// An argument that another package calls differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OtherArgument {
    /// The argument's name in the other package. The case of ASCII letters does not matter.
    pub from: String,
    /// The argument's name here.
    pub to: String,
    /// The values that differ: the text in the other package, and the text here.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// Arguments that this one implies.
    #[serde(default)]
    pub adds: BTreeMap<String, String>,
}

/// Returns the arguments as a tool with these other names takes them, for a call under `called`, which is the name that
/// the client used. `None`: they need no change.
pub fn translated(names: &[OtherName], called: &str, arguments: &RawValue) -> Option<Box<RawValue>> {
    let other = names.iter().find(|other| other.name == called)?;
    let given: Map<String, Value> = serde_json::from_str(arguments.get()).ok()?;
    let known = |name: &str| other.arguments.iter().find(|argument| argument.from.eq_ignore_ascii_case(name));
    if !given.keys().any(|name| known(name).is_some()) {
        return None;
    }
    let mut taken = Map::new();
    for (name, value) in given {
        let Some(argument) = known(&name) else {
            taken.insert(name, value);
            continue;
        };
        let here = value.as_str().and_then(|text| argument.values.get(text)).map(|text| text.as_str().into());
        taken.insert(argument.to.clone(), here.unwrap_or(value));
        for (name, value) in &argument.adds {
            taken.entry(name).or_insert_with(|| value.as_str().into());
        }
    }
    to_raw_value(&taken).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &str = r#"[
        {"name":"control-play-mode","arguments":[{"from":"Action","to":"Action","values":{"Play":"Enter"}}]},
        {"name":"play-mode","arguments":[{"from":"WindowName","to":"Name","adds":{"Source":"Window"}}]}]"#;

    #[track_caller]
    fn check(called: &str, given: &str, taken: Option<&str>) {
        let given = RawValue::from_string(given.to_owned()).unwrap();
        let names: Vec<OtherName> = serde_json::from_str(NAMES).unwrap();
        assert_eq!(translated(&names, called, &given).as_deref().map(RawValue::get), taken);
    }

    #[test]
    fn arguments_of_another_package_become_those_of_the_tool() {
        check("control-play-mode", r#"{"action":"Play","Other":1}"#, Some(r#"{"Action":"Enter","Other":1}"#));
        check("control-play-mode", r#"{"Action":"Pause"}"#, Some(r#"{"Action":"Pause"}"#));
        check("control-play-mode", r#"{"Action":5}"#, Some(r#"{"Action":5}"#));
        check("play-mode", r#"{"WindowName":"Scene"}"#, Some(r#"{"Name":"Scene","Source":"Window"}"#));
        check("play-mode", r#"{"WindowName":"Scene","Source":"Game"}"#, Some(r#"{"Name":"Scene","Source":"Game"}"#));
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        check("play-mode", r#"{"Action":"Play"}"#, None);
        check("control-play-mode", "{}", None);
        check("control-play-mode", "[1]", None);
        check("unknown", r#"{"Action":"Play"}"#, None);
    }
}
