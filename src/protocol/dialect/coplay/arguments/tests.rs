//! Compares what is sent with what the package's own server sends (`tests/vectors/coplay/`), and tests where holdfast differs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::super::super::EditorTool;
use super::super::catalogue;
use super::*;

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

fn prepared(tool: &str, arguments: &Value) -> Result<Value, String> {
    prepare(tool, &raw(arguments)).map(|sent| serde_json::from_str(sent.get()).unwrap())
}

/// What a tool sends as text.
#[track_caller]
fn text(tool: &str, arguments: &str) -> String {
    prepare(tool, &RawValue::from_string(arguments.to_owned()).unwrap()).unwrap().get().to_owned()
}

#[track_caller]
fn refused(tool: &str, arguments: &Value, says: &str) {
    let refusal = prepared(tool, arguments).unwrap_err();
    assert!(refusal.contains(says) && refusal.ends_with('.') && !refusal.contains('\n'), "{refusal}");
}

fn vectors() -> Vec<Map<String, Value>> {
    let lines = include_str!("../../../../../tests/vectors/coplay-arguments/arguments.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Whether two values are the same but for the spelling of numbers.
fn alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| alike(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, one)| other.get(name).is_some_and(|other| alike(one, other)))
        }
        _ => one == other,
    }
}

#[test]
fn the_editor_is_sent_what_the_packages_own_server_sends() {
    let mut wrong = Vec::new();
    for row in vectors() {
        let (tool, arguments) = (row["tool"].as_str().unwrap(), &row["arguments"]);
        let expected = row.get("sent").unwrap_or(arguments);
        let sent = prepared(tool, arguments);
        let same = match &sent {
            Ok(sent) => alike(sent, expected),
            Err(_) => expected.is_null(),
        };
        if !same {
            wrong.push(format!("{tool} {arguments}\n  sends   {sent:?}\n  must be {expected}"));
        }
        let command = row.get("command").map_or(tool, |command| command.as_str().unwrap());
        assert!(expected.is_null() || catalogue::command(tool) == command, "{tool}");
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_tool_action_and_parameter_is_among_the_vectors() {
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in vectors() {
        let names = seen.entry(row["tool"].as_str().unwrap().to_owned()).or_default();
        let arguments = row["arguments"].as_object().unwrap();
        names.extend(arguments.keys().cloned());
        names.extend(arguments.get("action").and_then(Value::as_str).map(|action| format!("action {action}")));
    }
    // The package's server has no tools of those that answer resources; `catalogue/tests.rs` has what it sends for them.
    let is_tool = |tool: &&Arc<EditorTool>| tool.group.as_deref() != Some("resources");
    let tools: Vec<_> = catalogue::all().iter().filter(is_tool).collect();
    for tool in &tools {
        for parameter in &catalogue::stated(&tool.name).unwrap().parameters {
            assert!(seen[&tool.name].contains(&parameter.name), "{}.{}", tool.name, parameter.name);
            for action in parameter.of.iter().filter(|_| parameter.name == "action") {
                assert!(seen[&tool.name].contains(&format!("action {action}")), "{} {action}", tool.name);
            }
        }
    }
    assert_eq!(seen.len(), tools.len());
}

#[test]
fn what_needs_no_translation_keeps_its_text() {
    let sent = text(
        "manage_physics",
        r#"{"action":"raycast","origin":[1.50, 2e0,3],"max_distance":10.0,"settings":{"a":1.00}}"#,
    );
    assert_eq!(sent, r#"{"action":"raycast","settings":{"a":1.00},"origin":[1.50, 2e0,3],"max_distance":10.0}"#);
    let sent = text("manage_asset", r#"{"action":"create","path":"Assets/A.mat","properties":"{\"a\":1.50}"}"#);
    assert!(sent.contains(r#""properties":{"a":1.50}"#), "{sent}");
    let sent = text("manage_gameobject", r#"{"action":"modify","position":{"z":3,"y":2.50,"x":1e1}}"#);
    assert!(sent.contains(r#""position":[1e1,2.50,3]"#), "{sent}");
    assert_eq!(text("a_tool_of_the_project", r#"{ "Key" : null }"#), r#"{ "Key" : null }"#);
}

#[test]
fn null_and_blank_texts_are_no_values() {
    assert_eq!(
        prepared("manage_scene", &json!({"action": "load", "name": null, "build_index": " ", "additive": "None"})),
        Ok(json!({"action": "load"}))
    );
    let usual = prepared("find_gameobjects", &json!({"search_term": "a"})).unwrap();
    assert_eq!(
        prepared("find_gameobjects", &json!({"search_term": "a", "page_size": null, "cursor": "null"})),
        Ok(usual)
    );
}

#[test]
fn the_editor_decides_about_values_that_are_newer_than_the_catalogue() {
    let sent = prepared("manage_sprite", &json!({"action": "Trim_Sheet"}));
    assert_eq!(sent, Ok(json!({"action": "Trim_Sheet"})));
    assert_eq!(prepared("run_tests", &json!({"mode": "playmode"})), Ok(json!({"mode": "PlayMode"})));
}

#[test]
fn all_entries_of_the_console_are_asked_for_by_null() {
    for all in ["all", "*", " ALL "] {
        assert_eq!(prepared("read_console", &json!({"count": all})).unwrap()["count"], Value::Null);
    }
    assert_eq!(prepared("read_console", &json!({"action": "clear"})).unwrap().get("count"), None);
}

#[test]
fn a_colour_of_255_without_alpha_is_opaque() {
    let color = |color: Value| {
        prepared("manage_material", &json!({"action": "set_material_color", "color": color})).unwrap()["color"].clone()
    };
    assert_eq!(color(json!([255, 0, 51])), json!([1.0, 0.0, 0.2, 1.0]));
    assert_eq!(color(json!({"r": 255, "g": 0, "b": 0})), json!([1.0, 0.0, 0.0, 1.0]));
}

#[test]
fn pixels_of_a_part_are_not_those_of_the_whole() {
    let part = json!({"x": 0, "y": 0, "width": 1, "height": 1, "pixels": [[1, 1, 1]]});
    let sent = prepared("manage_texture", &json!({"action": "modify", "set_pixels": part})).unwrap();
    assert_eq!((&sent["setPixels"]["pixels"], sent.get("pixels")), (&json!([[255, 255, 255, 255]]), None));
}

#[test]
fn a_scripts_folder_counts_also_if_its_name_ends_in_cs() {
    let edits =
        json!({"name": "Door.cs", "path": "Assets/Scripts", "edits": [{"op": "delete_method", "method": "Open"}]});
    let sent = prepared("script_apply_edits", &edits).unwrap();
    let class = &sent["edits"][0]["className"];
    assert_eq!((&sent["name"], &sent["path"], class), (&json!("Door"), &json!("Assets/Scripts"), &json!("Door")));
}

#[test]
fn an_insert_of_nothing_deletes_nothing() {
    let edit = json!({"op": "anchor_insert", "anchor": "// here"});
    let sent = prepared("script_apply_edits", &json!({"name": "Door", "path": "Assets", "edits": [edit]})).unwrap();
    assert_eq!(sent["edits"][0], edit);
}

#[test]
fn an_argument_that_the_tool_does_not_have_is_refused_by_name() {
    refused("manage_scene", &json!({"action": "save", "buildIndex": 1}), r#"did you mean "build_index"?"#);
    refused(
        "get_sha",
        &json!({"uri": "Assets/A.cs", "x\ny": 1}),
        r#"has no argument "x\ny", and Unity would ignore it. It has: uri."#,
    );
    refused("manage_ui", &json!({"action": "list", "nothing": null}), "and more.");
    refused("get_sha", &json!({"uri": "Assets/A.cs", "unity_instance": "Game@0011"}), "Leave it out");
    refused("get_sha", &json!([]), "must be an object");
}

#[test]
fn a_value_that_cannot_be_meant_is_refused_with_its_name() {
    let scene = |name: &str, value: Value| json!({"action": "load", name: value});
    refused("manage_scene", &scene("additive", json!("perhaps")), "`additive` of `manage_scene` must be true or false");
    refused("manage_scene", &scene("build_index", json!("first")), "must be a whole number");
    refused("manage_scene", &scene("build_index", json!(1e40)), "must be a whole number");
    refused("manage_gameobject", &json!({"action": "modify", "scale": [1, 2]}), "must be [x, y, z]");
    refused("manage_texture", &json!({"action": "modify", "palette": [[1, 2]]}), "has a colour that must be");
    refused(
        "manage_texture",
        &json!({"action": "modify", "import_settings": {"sRGB": true}}),
        "has no setting \"sRGB\"",
    );
    refused("batch_execute", &json!({"commands": [{"tool": ""}]}), "each with `tool`");
    refused(
        "manage_prefabs",
        &json!({"action": "modify_contents", "create_child": [{"position": "up"}]}),
        "has a position that must be",
    );
    refused("run_tests", &json!({"test_names": [1]}), "must be a list of texts");
}

#[test]
fn a_script_lies_below_assets() {
    for path in ["Assets/../Door.cs", "/Assets/Door.cs", "Assets/.cs", "Door.cs", "Assets\\..\\Door.cs"] {
        assert!(prepared("create_script", &json!({"path": path, "contents": "x"})).is_err(), "{path}");
    }
    for uri in ["Assets/../../Door.cs", "file:///srv/Door.cs", "Assets", "", "mcpforunity://path/..", "%ff"] {
        assert!(prepared("delete_script", &json!({"uri": uri})).is_err(), "{uri}");
    }
    let sent = prepared("create_script", &json!({"path": "assets\\Scripts\\.\\Door.CS", "contents": "x"})).unwrap();
    assert_eq!((&sent["name"], &sent["path"]), (&json!("Door"), &json!("assets/Scripts")));
}

#[test]
fn what_would_take_several_requests_is_refused_with_the_way_to_go() {
    let edits = |edit: Value| json!({"uri": "Assets/Door.cs", "edits": [edit]});
    refused("apply_text_edits", &edits(json!({"range": [3, 9], "text": "x"})), "a range of offsets");
    refused("apply_text_edits", &edits(json!({"newText": "x"})), "must have startLine");
    let preview = json!({"uri": "Assets/Door.cs", "edits": [], "options": {"debug_preview": true}});
    refused("apply_text_edits", &preview, "without making them");
    for operation in ["replace_range", "regex_replace", "prepend", "append", "", "anchor_move"] {
        let edits = json!({"name": "Door", "path": "Assets", "edits": [{"op": operation, "text": "x"}]});
        refused("script_apply_edits", &edits, "use `apply_text_edits`");
    }
    let range = json!({"name": "Door", "path": "Assets", "edits": [{"op": "delete_class", "range": {}}]});
    refused("script_apply_edits", &range, "would have to be read first");
}

/// Values of every form, of which most are wrong for a given parameter.
fn odd_values() -> Vec<String> {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let texts = [
        "",
        "[",
        "{}",
        "[1,2,3]",
        "null",
        "NaN",
        "1e999",
        "-",
        "#",
        "#zzz",
        "(1,2,3)",
        "..",
        "//",
        "file://",
        "Assets/ä.cs",
        "t:",
    ];
    let values = [
        "true",
        "-1",
        "1e300",
        "0.1",
        "{}",
        "[]",
        "[[]]",
        "[{}]",
        "[null]",
        "[1,2,3,4]",
        r#"{"x":1}"#,
        r#"[{"op":{}}]"#,
    ];
    let quoted = |text: &str| Value::from(text).to_string();
    let texts = texts.iter().map(|text| quoted(text));
    texts.chain(values.map(str::to_owned)).chain([deep(100), quoted(&deep(120)), quoted(&deep(10_000))]).collect()
}

#[test]
fn any_value_is_sent_as_json_or_refused_in_one_line() {
    for tool in catalogue::all() {
        let stated = catalogue::stated(&tool.name).unwrap();
        for parameter in &stated.parameters {
            let action = parameter.actions.first().map(|action| format!(r#""action":"{action}","#)).unwrap_or_default();
            for value in odd_values() {
                let arguments = format!(r#"{{{action}"{}":{value}}}"#, parameter.name);
                match prepare(&tool.name, &RawValue::from_string(arguments).unwrap()) {
                    Ok(sent) => assert!(serde_json::from_str::<Map<String, Value>>(sent.get()).is_ok(), "{sent}"),
                    Err(says) => assert!(says.len() < 1000 && !says.contains('\n'), "{says}"),
                }
            }
        }
    }
}
