use std::collections::HashSet;

use serde_json::json;

use super::*;
use crate::limits::{
    CLIENT_MESSAGE_MAX_BYTES, DESCRIPTION_MAX_BYTES, TOOL_NAME_MAX_BYTES, TOOL_SCHEMA_MAX_BYTES, TOOLS_LIST_MAX_BYTES,
    TOOLS_MAX,
};
use crate::protocol::dialect::{Annotations, EditorTool, InputSchema, OtherName};

fn tool(name: &str) -> EditorTool {
    with_schema(name, json!({"type": "object", "properties": {"Message": {"type": "string"}}}))
}

fn with_schema(name: &str, schema: Value) -> EditorTool {
    EditorTool {
        name: name.to_owned(),
        description: format!("Does {name}."),
        input_schema: schema.as_object().map(InputSchema::from).unwrap_or_default(),
        annotations: Annotations {
            title: format!("The {name}"),
            read_only_hint: false,
            destructive_hint: true,
            idempotent_hint: false,
            open_world_hint: false,
        },
        development_only: false,
        repeatable: false,
        parallel: false,
        resumable: false,
        timeout_seconds: None,
        group: None,
        other_names: Vec::new(),
    }
}

fn of(names: &[&str]) -> Catalogue {
    Catalogue::new(names.iter().map(|name| tool(name)), false)
}

fn names(catalogue: &Catalogue) -> Vec<&str> {
    catalogue.entries().iter().map(|entry| entry.name.as_str()).collect()
}

#[test]
fn names_that_fit_stay_and_keep_the_editors_order() {
    let catalogue = of(&["run-tests", "compile", "Get_Logs2"]);
    assert_eq!(names(&catalogue), ["run-tests", "compile", "Get_Logs2"]);
    assert_eq!(catalogue.find("compile").map(|entry| entry.tool.name.as_str()), Some("compile"));
    assert!(catalogue.find("Compile").is_none() && catalogue.dropped().is_empty());
}

#[test]
fn a_name_of_another_package_is_found_and_not_listed() {
    let known_as = |name: &str, others: &[&str]| {
        let other_names =
            others.iter().map(|other| OtherName { name: String::from(*other), arguments: Vec::new() }).collect();
        EditorTool { other_names, ..tool(name) }
    };
    let catalogue = Catalogue::new(
        vec![known_as("play", &["start", "look"]), known_as("see", &["start", "watch"]), tool("look")],
        false,
    );
    let found = |name: &str| catalogue.find(name).map(|entry| entry.name.as_str());
    assert_eq!(found("start"), Some("play"), "the first tool that claims a name keeps it");
    assert_eq!((found("watch"), found("look"), found("none")), (Some("see"), Some("look"), None));
    assert_eq!(names(&catalogue), ["play", "see", "look"]);
    assert!(!catalogue.tools_array(&ProtocolVersion::LATEST.into()).contains("watch"));
    assert_eq!(catalogue.entries()[0].names(), ["play", "play", "start", "look"]);
}

#[test]
fn names_that_do_not_fit_are_changed_by_the_rule() {
    let long = "a".repeat(TOOL_NAME_MAX_BYTES + 1);
    let catalogue = of(&["scene.open", "日本", "a b/c", &long, "holdfast_status", "holdfast.calls"]);
    let hashed = format!("{}_", "a".repeat(TOOL_NAME_MAX_BYTES - 9));
    let seen = names(&catalogue);
    assert_eq!(seen[..3], ["scene_open", "__", "a_b_c"]);
    assert!(seen[3].starts_with(&hashed) && seen[3].len() == TOOL_NAME_MAX_BYTES, "{}", seen[3]);
    assert_eq!(seen[4..], ["holdfast_status_unity", "holdfast_calls_unity"]);
    assert_eq!(catalogue.find("scene_open").unwrap().tool.name, "scene.open");
}

#[test]
fn the_hash_in_a_name_never_changes() {
    // A user's settings may contain the name with its hash, so the hash must never change.
    let catalogue = of(&["a.b", "a b", "a_b"]);
    assert_eq!(names(&catalogue), ["a_b_108bf50c", "a_b_10a3f9f2", "a_b"]);
}

#[test]
fn colliding_names_do_not_depend_on_the_order() {
    let set = ["a.b", "a b", "a_b", "holdfast_result", "holdfast_result_unity", "holdfast.result", "c.d"];
    let forwards = of(&set);
    let mut turned = set;
    turned.reverse();
    let backwards = of(&turned);
    assert_eq!(names(&forwards).len(), set.len());
    for entry in forwards.entries() {
        assert_eq!(backwards.find(&entry.name), Some(entry));
    }
    assert_eq!(forwards, backwards, "the same tools in another order are no change");
    assert_eq!(forwards.find("a_b").unwrap().tool.name, "a_b", "a name that fits is never given away");
    assert_eq!(forwards.find("holdfast_result_unity").unwrap().tool.name, "holdfast_result_unity");
    assert!(forwards.find("c_d").is_some());
}

#[test]
fn a_hashed_name_that_is_taken_gets_another_hash() {
    let first = of(&["a.b", "a b"]);
    let taken = names(&first)[0].to_owned();
    let second = of(&["a.b", "a b", &taken]);
    assert_eq!(second.find(&taken).unwrap().tool.name, taken);
    assert_eq!(names(&second).into_iter().collect::<HashSet<_>>().len(), 3);
}

#[test]
fn every_listed_name_fits_and_is_unique() {
    let long = "x".repeat(5000);
    let odd =
        ["", " ", "_", "é", "è", "a\nb", "a\tb", "\u{0}", &long, "x.y", "x,y", "holdfast_wait_ready", "mcp__a__b"];
    let catalogue = of(&odd);
    let mut seen: HashSet<&str> = GatewayTool::ALL.map(GatewayTool::name).into();
    for name in names(&catalogue) {
        assert!((1..=TOOL_NAME_MAX_BYTES).contains(&name.len()), "{name:?}");
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'), "{name:?}");
        assert!(seen.insert(name), "{name:?} twice");
    }
    assert_eq!(catalogue.entries().len(), odd.len() - 1);
    assert_eq!(catalogue.dropped().len(), 1, "the one without a name");
}

#[test]
fn duplicates_are_dropped_with_a_reason_and_the_first_stays() {
    let mut second = tool("compile");
    second.description = String::from("another");
    let catalogue = Catalogue::new(vec![tool("compile"), second, tool("ping")], false);
    assert_eq!(names(&catalogue), ["compile", "ping"]);
    assert_eq!(catalogue.find("compile").unwrap().tool.description, "Does compile.");
    assert_eq!(catalogue.dropped()[0].0, "compile");
    assert!(catalogue.dropped()[0].1.contains("twice"));
}

#[test]
fn development_tools_show_only_when_asked_for() {
    let hidden = EditorTool { development_only: true, ..tool("debug-sleep") };
    let tools = vec![tool("compile"), hidden];
    assert_eq!(names(&Catalogue::new(tools.clone(), false)), ["compile"]);
    assert_eq!(names(&Catalogue::new(tools, true)), ["compile", "debug-sleep"]);
}

#[test]
fn one_bad_tool_never_takes_the_list() {
    let huge = json!({"type": "object", "description": "x".repeat(TOOL_SCHEMA_MAX_BYTES)});
    for bad in [
        json!({"type": "string"}),
        json!({"type": ["string", "null"]}),
        json!({"type": 5}),
        json!({"properties": [1]}),
        huge,
    ] {
        let catalogue = Catalogue::new(vec![tool("a"), with_schema("bad", bad.clone()), tool("b")], false);
        assert_eq!(names(&catalogue), ["a", "b"]);
        assert_eq!(catalogue.dropped().len(), 1);
        assert!(
            catalogue.dropped()[0].0 == "bad" && catalogue.dropped()[0].1.contains("schema"),
            "{:?}",
            catalogue.dropped()
        );
    }
}

#[test]
fn schemas_are_loosened_until_every_client_takes_them() {
    for (schema, expected) in [
        (json!({}), json!({"type": "object", "properties": {}})),
        (json!({"type": ["object", "null"]}), json!({"type": "object", "properties": {}})),
        (json!({"type": "object", "properties": null, "required": null}), json!({"type": "object", "properties": {}})),
        (json!({"type": "object", "required": "a"}), json!({"type": "object", "properties": {}})),
        (
            json!({"type": "object", "properties": {"a": {}}, "required": ["a", 5, "b", "a"]}),
            json!({"type": "object", "properties": {"a": {}}, "required": ["a"]}),
        ),
        (
            json!({"type": "object", "properties": {"a": true, "b": null, "c": {"type": "string"}}}),
            json!({"type": "object", "properties": {"a": {}, "b": {}, "c": {"type": "string"}}}),
        ),
        (
            json!({"type": "object", "properties": {"a": {"$ref": "https://example.com/s.json", "description": "x"}, "ref": {"type": "string"}}}),
            json!({"type": "object", "properties": {"a": {"description": "x"}, "ref": {"type": "string"}}}),
        ),
        (
            json!({"type": "object", "properties": {"a": {"items": [{"$ref": "other.json"}], "default": {"$ref": "x"}}}}),
            json!({"type": "object", "properties": {"a": {"type": "array", "items": {}, "default": {"$ref": "x"}}}}),
        ),
    ] {
        let before = schema.clone();
        let catalogue = Catalogue::new(vec![with_schema("t", schema)], false);
        let entry = catalogue.find("t").unwrap_or_else(|| panic!("{before}: {:?}", catalogue.dropped()));
        assert_eq!(Value::from(entry.tool.input_schema.parsed()), expected, "{before}");
    }
    let kept = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "$defs": {"p": {"type": "string"}},
        "properties": {"a": {"$ref": "#/$defs/p"}, "b": {"anyOf": [{"type": "string"}, {"type": "number"}]}}, "additionalProperties": false});
    let catalogue = Catalogue::new(vec![with_schema("t", kept.clone())], false);
    assert_eq!(Value::from(catalogue.entries()[0].tool.input_schema.parsed()), kept);
    assert!(catalogue.repaired().is_empty());
    let repaired = Catalogue::new(vec![with_schema("t", json!({}))], false);
    assert_eq!(repaired.repaired()[0].0, "t");
}

/// The schema of the conformance suite's `json-schema-2020-12`.
fn rich_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}}}},
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]}, "phone": {"type": "string"}, "email": {"type": "string"}},
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "anyOf": [{"required": ["phone"]}, {"required": ["email"]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]}, "then": {"required": ["phone"]},
        "else": {"required": ["email"]}, "additionalProperties": false,
    })
}

fn listed_schema(catalogue: &Catalogue, client: ClientTraits) -> Value {
    let profile = ClientProfile { client, ..ProtocolVersion::LATEST.into() };
    let list = one_line(&catalogue.list_result(&profile));
    list["tools"].as_array().unwrap().last().unwrap()["inputSchema"].clone()
}

#[test]
fn json_schema_passes_through_but_for_clients_that_lose_the_tool_for_it() {
    let rich = rich_schema();
    let catalogue = Catalogue::new(vec![tool("plain"), with_schema("rich", rich.clone())], false);
    assert!(catalogue.repaired().is_empty(), "{:?}", catalogue.repaired());
    for name in ["", "conformance-test-client", "mcp-inspector", "my own agent"] {
        assert_eq!(listed_schema(&catalogue, traits_of(name)), rich, "{name}");
        assert!(catalogue.changed_for(&traits_of(name)).is_empty());
    }
    for name in ["claude-code", "codex-mcp-client", "cursor-vscode", "Visual Studio Code", "opencode"] {
        let seen = listed_schema(&catalogue, traits_of(name));
        for keyword in ["allOf", "anyOf", "oneOf"] {
            assert!(seen.get(keyword).is_none(), "{name}: {seen}");
        }
        for kept in ["$schema", "$defs", "properties", "if", "then", "else", "additionalProperties"] {
            assert_eq!(seen[kept], rich[kept], "{name}: {kept}");
        }
        let changed = catalogue.changed_for(&traits_of(name));
        assert!(changed.len() == 1 && changed[0].0 == "rich" && changed[0].1.contains("oneOf"), "{changed:?}");
    }
}

#[test]
fn flattening_keeps_every_property_and_what_all_branches_require() {
    for (schema, expected) in [
        (
            json!({"type": "object", "oneOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {}}}, 5]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}}),
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "number"}}, "allOf": [{"properties": {"a": {}, "b": {}}, "required": ["b"]}]}),
            json!({"type": "object", "properties": {"a": {"type": "number"}, "b": {}}, "required": ["b"]}),
        ),
        (
            json!({"type": "object", "oneOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/none"}, {"$ref": "#/properties"}],
                "$defs": {"A": {"properties": {"a": {"$ref": "#/$defs/N"}}}, "N": {"type": "number"}}}),
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/N"}},
                "$defs": {"A": {"type": "object", "properties": {"a": {"$ref": "#/$defs/N"}}}, "N": {"type": "number"}}}),
        ),
        (json!({"anyOf": {"not": "a list"}}), json!({"type": "object", "properties": {}})),
    ] {
        let catalogue = Catalogue::new(vec![with_schema("t", schema.clone())], false);
        assert_eq!(listed_schema(&catalogue, traits_of("claude-code")), expected, "{schema}");
    }
}

#[test]
fn parameters_have_safe_names_in_the_list_and_their_own_in_the_editor() {
    let long = "x".repeat(70);
    let schema = json!({"type": "object", "required": ["größe", "a"], "properties": {
        "a": {"type": "string"}, "größe": {"type": "number", "description": "How large."}, "gr__e": {"type": "string"},
        "シーン名": {"type": "string"}, "holdfast editor": {"type": "string"}, long.clone(): {}, "": {}},
        "anyOf": [{"required": ["größe"]}, {"properties": {"シーン名": {"type": "string"}, "a b": {"type": "string"}}}]});
    let catalogue = Catalogue::new(vec![with_schema("t", schema)], false);
    let entry = catalogue.find("t").unwrap();
    let seen = Value::from(entry.tool.input_schema.parsed());
    let names: Vec<&str> = seen["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    let cut = "x".repeat(64);
    assert_eq!(names, ["a", "gr__e_2", "gr__e", "____", "holdfast_editor_2", &cut, "parameter"]);
    assert_eq!(seen["required"], json!(["gr__e_2", "a"]));
    assert_eq!(seen["anyOf"][0]["required"], json!(["gr__e_2"]));
    assert_eq!(seen["anyOf"][1]["properties"], json!({"____": {"type": "string"}, "a_b": {"type": "string"}}));
    assert_eq!(seen["properties"]["gr__e_2"]["description"], "How large. (Its own name in Unity: `größe`.)");
    assert!(catalogue.repaired()[0].1.contains("`größe` is listed as `gr__e_2`"), "{:?}", catalogue.repaired());
    assert!(entry.in_editor().input_schema.property("größe").is_some());
    for (given, own) in [
        (r#"{"gr__e_2":1.50,"a":"\u00e9"}"#, Some(r#"{"größe":1.50,"a":"\u00e9"}"#)),
        (r#"{"GR__E_2":1e400}"#, Some(r#"{"größe":1e400}"#)),
        (r#"{"größe":1,"gr__e_2":2}"#, None),
        (r#"{"größe":1,"gr__e":"x","A":null}"#, None),
        (r#"{"a_b":[1,{"gr__e_2":2}]}"#, Some(r#"{"a b":[1,{"gr__e_2":2}]}"#)),
        ("[]", None),
    ] {
        let named = entry.under_own_names(&raw(given));
        assert_eq!(named.as_deref().map(RawValue::get), own, "{given}");
    }
    assert!(of(&["t"]).find("t").unwrap().under_own_names(&raw(r#"{"gr__e_2":1}"#)).is_none());
}

#[test]
fn thousands_of_odd_names_get_their_numbers_quickly() {
    let properties: serde_json::Map<String, Value> =
        (0..5000u32).filter_map(|n| Some((char::from_u32(0x4e00 + n)?.to_string(), json!({})))).collect();
    let count = properties.len();
    let catalogue = Catalogue::new(vec![with_schema("t", json!({"type": "object", "properties": properties}))], false);
    let seen = catalogue.entries()[0].tool.input_schema.parsed();
    assert_eq!(seen["properties"].as_object().unwrap().len(), count);
    assert!(catalogue.repaired()[0].1.len() < 4096);
}

#[test]
fn descriptions_are_cut_between_characters_and_never_empty() {
    let long = EditorTool { description: "é".repeat(DESCRIPTION_MAX_BYTES), ..tool("long") };
    let none = EditorTool { description: String::from("  "), ..tool("none") };
    let catalogue = Catalogue::new(vec![long, none], false);
    let cut = &catalogue.find("long").unwrap().tool.description;
    assert!(cut.len() <= DESCRIPTION_MAX_BYTES && cut.len() > DESCRIPTION_MAX_BYTES - 4 && cut.ends_with('…'));
    assert_eq!(catalogue.find("none").unwrap().tool.description, "Runs the Unity tool none.");
}

#[test]
fn a_list_beyond_the_bounds_ends_early_and_says_so() {
    let many: Vec<EditorTool> = (0..TOOLS_MAX + 3).map(|n| tool(&format!("t{n}"))).collect();
    let catalogue = Catalogue::new(many, false);
    assert_eq!(catalogue.entries().len(), TOOLS_MAX);
    assert_eq!(catalogue.dropped()[0].0, "the last 3 tools");

    let fat = json!({"type": "object", "description": "\u{1}".repeat(TOOL_SCHEMA_MAX_BYTES / 28)});
    let count = TOOLS_LIST_MAX_BYTES / (TOOL_SCHEMA_MAX_BYTES / 28 * 6) + 5;
    let catalogue = Catalogue::new((0..count).map(|n| with_schema(&format!("t{n}"), fat.clone())), false);
    assert!(!catalogue.dropped().is_empty() && catalogue.entries().len() > 10);
    assert!(catalogue.list_result(&ProtocolVersion::LATEST.into()).len() < CLIENT_MESSAGE_MAX_BYTES);
}

#[test]
fn equality_sees_every_change_and_nothing_else() {
    assert_eq!(of(&["a", "b"]), of(&["b", "a"]));
    assert_ne!(of(&["a", "b"]), of(&["a"]));
    assert_ne!(of(&["a"]), of(&["a", "b"]));
    assert_ne!(of(&["a"]), of(&["b"]));
    let other = EditorTool { repeatable: true, ..tool("a") };
    assert_ne!(of(&["a"]), Catalogue::new(vec![other], false));
    assert_eq!(of(&["a", "a"]), of(&["a"]), "what is dropped is no change of the list");
    assert_eq!(of(&[]), Catalogue::default());
}

#[test]
fn building_it_again_from_its_own_tools_changes_nothing() {
    let long = "x".repeat(100);
    let first = of(&["a.b", "a b", "日本", &long, "holdfast_status"]);
    let again = Catalogue::new(first.entries().iter().map(|entry| entry.tool.clone()), true);
    assert_eq!(first, again);
    assert_eq!(first.list_result(&ProtocolVersion::LATEST.into()), again.list_result(&ProtocolVersion::LATEST.into()));
}

#[test]
fn the_list_has_our_tools_first_and_what_each_version_knows() {
    let catalogue =
        Catalogue::new(vec![EditorTool { description: String::from("a\nb\u{2028}"), ..tool("compile") }], false);
    for version in ProtocolVersion::ALL {
        let line = catalogue.list_result(&version.into());
        assert_eq!(line, catalogue.clone().list_result(&version.into()));
        let list = one_line(&line);
        let tools = list["tools"].as_array().unwrap();
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        let own: Vec<&str> = catalogue.own().map(GatewayTool::name).collect();
        assert_eq!(names, own.iter().copied().chain(["compile"]).collect::<Vec<_>>());
        for tool in tools {
            assert_eq!(tool.get("title").is_some(), version.title(), "{tool}");
            assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
            let hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
            assert!(hints.iter().all(|hint| tool["annotations"][hint].is_boolean() == version.annotations()), "{tool}");
        }
        assert_eq!(tools[own.len()]["description"], "a\nb\u{2028}");
    }
}

#[test]
fn our_own_tools_keep_the_rules_they_ask_of_others() {
    let definitions = GatewayTool::ALL.map(GatewayTool::definition);
    for (tool, definition) in GatewayTool::ALL.into_iter().zip(&definitions) {
        assert_eq!(GatewayTool::from_name(definition.name), Some(tool));
        assert!(definition.name.len() <= TOOL_NAME_MAX_BYTES && definition.description.len() <= DESCRIPTION_MAX_BYTES);
        assert_eq!(definition.input_schema.parsed()["additionalProperties"], false);
        // A call through it may be a call of anything.
        let changes = tool == GatewayTool::Tools;
        let Annotations { read_only_hint, destructive_hint, idempotent_hint, .. } = definition.annotations;
        assert_eq!((read_only_hint, destructive_hint, idempotent_hint), (!changes, changes, !changes), "{tool:?}");
        // Our own schemas pass the same check as the editor's tools, and need no repair.
        let same = with_schema("t", Value::from(definition.input_schema.parsed()));
        let judged = Catalogue::new(vec![same.clone()], false);
        assert_eq!(judged.entries()[0].tool.input_schema, same.input_schema);
    }
    assert_eq!(GatewayTool::from_name("holdfast_status_unity"), None);
}

#[test]
fn an_unknown_tool_is_told_which_name_may_be_meant_and_where_the_names_are() {
    let catalogue = of(&["compile", "run_tests"]);
    let error = |name: &str, audience| catalogue.unknown_tool(name, audience).message;
    let said = error("Compil", Audience::Agent);
    assert!(
        said.contains("`compile`?") && said.contains("tools/list") && said.contains("nothing was executed"),
        "{said}"
    );
    let said = error("holdfast_statsu", Audience::Person);
    assert!(
        said.contains("`holdfast_status`?") && said.contains("holdfast tools") && !said.contains("tools/list"),
        "{said}"
    );
    assert!(!error("qqq", Audience::Agent).contains('?'));
}
