//! Names that tools have in other packages. Whoever changes packages has them in prompts, notes and policies.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

/// A name that a tool like this one has in another package, with what differs in its arguments. It may be the tool's own name: then
/// only arguments differ.
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
    /// Its name in the other package. The case of ASCII letters does not matter.
    pub from: String,
    /// Its name here.
    pub to: String,
    /// The texts whose values differ, and what they are here.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// Arguments that this one implies.
    #[serde(default)]
    pub adds: BTreeMap<String, String>,
}

/// What tools that do the same are called in each package, the name in our own package first. Each name has the package that it is
/// from, because two tools of one package are never the same. `unity/Core/Tools/OtherNames.cs` has those of them under which our
/// own package's tools can also be called; a test compares the two. The others only bind a tool to rules: TSavo's `query` runs
/// what `execute_code` runs, and its `start_game` and `stop_game` do what `play-mode` does.
const SAME: &[&[(Package, &str)]] = &[
    &[
        (Package::Holdfast, "play-mode"),
        (Package::ULoop, "control-play-mode"),
        (Package::TSavo, "start_game"),
        (Package::TSavo, "stop_game"),
    ],
    &[
        (Package::Holdfast, "execute-csharp"),
        (Package::ULoop, "execute-dynamic-code"),
        (Package::TSavo, "execute_code"),
        (Package::TSavo, "query"),
    ],
    &[(Package::Holdfast, "editor-state"), (Package::ULoop, "get-version"), (Package::Turbokettle, "get_project_info")],
    // uLoopMCP has them under the same names as our own package.
    &[(Package::Holdfast, "get-logs"), (Package::Turbokettle, "read_console_logs")],
    &[(Package::Holdfast, "execute-menu-item"), (Package::Turbokettle, "execute_menu_item")],
];

/// The package that a name is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Package {
    Holdfast,
    ULoop,
    Turbokettle,
    TSavo,
}

/// Returns the names that a tool with these names has in packages that it is not from.
pub fn names_elsewhere(names: &[&str]) -> Vec<&'static str> {
    let mut elsewhere = Vec::new();
    for row in SAME {
        let from = |name: &str| row.iter().find(|(_, known)| *known == name).map(|(package, _)| *package);
        for package in names.iter().filter_map(|name| from(name)) {
            elsewhere.extend(row.iter().filter(|(other, _)| *other != package).map(|(_, name)| *name));
        }
    }
    elsewhere
}

/// The arguments as a tool with these other names takes them, for a call under `called`: the name that the client used. `None`: as
/// they are.
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
    fn a_tool_has_the_names_of_every_other_package_and_none_of_its_own_ones() {
        let names = |name: &str| names_elsewhere(&[name]);
        assert_eq!(names("execute_menu_item"), ["execute-menu-item"]);
        assert_eq!(names("execute-dynamic-code"), ["execute-csharp", "execute_code", "query"]);
        assert_eq!(names("execute_code"), ["execute-csharp", "execute-dynamic-code"]);
        assert_eq!(names("stop_game"), ["play-mode", "control-play-mode"]);
        assert_eq!(names("compile"), [""; 0]);
    }

    #[test]
    fn every_name_that_our_unity_package_takes_is_known_here() {
        let source = include_str!("../../../unity/Core/Tools/OtherNames.cs");
        let (mut tool, mut seen) = ("", 0);
        for line in source.lines() {
            let quoted =
                |line: &'static str, after: &str| line.split_once(after)?.1.split_once('"').map(|(name, _)| name);
            if let Some(name) = quoted(line, "[\"").filter(|_| line.trim_start().starts_with('[')) {
                tool = name;
            }
            for part in line.split("new OtherName(").skip(1) {
                let name = part.trim_start_matches('"').split('"').next().unwrap();
                let known = name == tool || names_elsewhere(&[tool]).contains(&name);
                assert!(known, "{tool} is called {name} elsewhere");
                seen += 1;
            }
        }
        assert!(seen >= 9, "{seen}");
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        check("play-mode", r#"{"Action":"Play"}"#, None);
        check("control-play-mode", "{}", None);
        check("control-play-mode", "[1]", None);
        check("unknown", r#"{"Action":"Play"}"#, None);
    }
}
