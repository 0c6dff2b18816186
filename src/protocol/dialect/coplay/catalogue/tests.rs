//! Tests the package's tools, and the reading of the editor's list.

use std::collections::BTreeMap;

use super::*;

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn schema(tool: &str) -> Map<String, Value> {
    all().iter().find(|one| one.name == tool).unwrap().input_schema.parsed()
}

fn states(tools: &str) -> ToolListing {
    let reply = format!(r#"{{"success":true,"message":"ok","data":{{"tools":[{tools}],"groups":[]}}}}"#);
    read_states(&raw(&reply)).unwrap()
}

fn names(listing: &ToolListing) -> Vec<&str> {
    listing.tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[test]
fn each_tool_of_the_package_that_the_editor_runs_is_there_once() {
    let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
    for tool in all() {
        *groups.entry(tool.group.as_deref().unwrap()).or_default() += 1;
        assert!(!tool.description.is_empty() && tool.description.len() <= 220, "{}", tool.name);
        assert!(!tool.parallel && !tool.resumable && !tool.development_only && tool.other_names.is_empty());
    }
    let expected = [
        ("animation", 2),
        ("asset_gen", 6),
        ("core", 24),
        ("docs", 1),
        ("probuilder", 1),
        ("profiling", 1),
        ("scripting_ext", 2),
        ("testing", 2),
        ("ui", 1),
        ("vfx", 3),
    ];
    assert_eq!(groups.into_iter().collect::<Vec<_>>(), expected);
    assert_eq!((all().len(), CATALOGUE.places.len()), (43, 43));
    for left_out in ["manage_tools", "set_active_instance", "execute_custom_tool", "unity_docs", "find_in_file"] {
        assert!(stated(left_out).is_none());
    }
}

#[test]
fn annotations_are_those_of_the_package() {
    let of = |is: fn(&EditorTool) -> bool| -> Vec<&str> {
        all().iter().filter(|tool| is(tool)).map(|tool| tool.name.as_str()).collect()
    };
    assert_eq!(
        of(|tool| tool.annotations.read_only_hint),
        ["get_sha", "get_test_job", "unity_reflect", "validate_script"]
    );
    let idempotent = ["find_gameobjects", "get_sha", "get_test_job", "read_console", "validate_script"];
    assert_eq!(of(|tool| tool.annotations.idempotent_hint), idempotent);
    assert_eq!(of(|tool| !tool.annotations.open_world_hint), idempotent);
    let kept = [
        "find_gameobjects",
        "generate_audio",
        "generate_image",
        "generate_model",
        "get_sha",
        "get_test_job",
        "import_model",
        "import_model_file",
        "manage_profiler",
        "read_console",
        "unity_reflect",
        "validate_script",
    ];
    assert_eq!(of(|tool| !tool.annotations.destructive_hint), kept);
    let repeatable =
        ["find_gameobjects", "get_sha", "get_test_job", "read_console", "unity_reflect", "validate_script"];
    assert_eq!(of(|tool| tool.repeatable), repeatable);
}

#[test]
fn schemas_say_what_the_package_takes() {
    let scene = schema("manage_scene");
    assert_eq!((&scene["required"], &scene["additionalProperties"]), (&json!(["action"]), &json!(false)));
    assert_eq!(scene["properties"]["page_size"]["anyOf"], json!([{"type": "integer"}, {"type": "string"}]));
    assert_eq!(scene["properties"]["action"]["enum"].as_array().unwrap().len(), 12);
    let kinds = &schema("read_console")["properties"]["types"]["anyOf"];
    let words = json!(["error", "warning", "log", "all"]);
    assert_eq!(*kinds, json!([{"type": "array", "items": {"type": "string", "enum": words}}, {"type": "string"}]));
    let color = &schema("manage_texture")["properties"]["fill_color"]["anyOf"];
    let number = json!({"anyOf": [{"type": "integer"}, {"type": "number"}]});
    let items = json!({"type": "array", "items": number});
    assert_eq!(*color, json!([items, {"type": "object", "additionalProperties": number}, {"type": "string"}]));
    assert_eq!(schema("manage_physics")["properties"]["size"], json!({}));
    assert_eq!(schema("execute_code")["properties"]["safety_checks"]["default"], true);
    assert!(schema("execute_menu_item").get("required").is_none());
}

#[test]
fn commands_are_the_editors() {
    for (tool, expected) in [
        ("create_script", "manage_script"),
        ("script_apply_edits", "manage_script"),
        ("manage_script", "manage_script"),
        ("manage_scene", "manage_scene"),
        ("of_the_project", "of_the_project"),
    ] {
        assert_eq!(command(tool), expected);
    }
}

#[test]
fn the_packages_tools_have_our_schemas_and_the_scripts_tool_brings_its_parts() {
    let listing = states(
        r#"{"name":"manage_script","group":"core","enabled":true,"is_built_in":true,"parameters":[]},
           {"name":"read_console","enabled":false,"parameters":7}"#,
    );
    let parts =
        ["apply_text_edits", "create_script", "delete_script", "get_sha", "script_apply_edits", "validate_script"];
    assert_eq!(names(&listing), [&["manage_script", "read_console"][..], &parts].concat());
    assert!(listing.dropped.is_empty());
    let console = all().iter().find(|tool| tool.name == "read_console").unwrap();
    assert_eq!(listing.tools[1].input_schema, console.input_schema);
    assert_eq!(
        listing.tools[1].description,
        format!("(Switched off in the package's window in Unity.) {}", console.description)
    );
    assert_eq!(names(&states(r#"{"name":"read_console"}"#)), ["read_console"]);
}

#[test]
fn a_tool_of_the_project_has_the_parameters_that_its_entry_states() {
    let listing = states(
        r#"{"name":"open_door","description":" Opens it. ","group":"doors","enabled":true,"is_built_in":false,"parameters":[
            {"name":"door","description":"Which","type":"string","required":true,"default_value":null},
            {"name":"Wide","type":"boolean","required":false,"default_value":"True"},
            {"name":"ms","type":"integer","default_value":"1000"},
            {"name":"bad","type":"number","default_value":"wide"},
            {"name":"word","type":"string","default_value":"1"},
            {"name":"list","type":"array","default_value":"[\"A\"]"},
            {"name":"any","type":"Vector3"}]}, {"name":"plain"}"#,
    );
    let tool = &listing.tools[0];
    let properties = json!({
        "door": {"type": "string", "description": "Which"},
        "Wide": {"type": "boolean", "default": true},
        "ms": {"type": "integer", "default": 1000},
        "bad": {"type": "number"},
        "word": {"type": "string", "default": "1"},
        "list": {"type": "array", "items": {}, "default": ["A"]},
        "any": {},
    });
    let expected = json!({"type": "object", "properties": properties, "required": ["door"]});
    assert_eq!(Value::from(tool.input_schema.parsed()), expected);
    assert_eq!((tool.description.as_str(), tool.group.as_deref()), ("Opens it.", Some("doors")));
    assert!(tool.annotations.destructive_hint && !tool.annotations.read_only_hint && !tool.repeatable);
    assert_eq!(listing.tools[1].description, listing::undescribed("plain"));
}

#[test]
fn a_bad_entry_costs_only_itself() {
    let listing = states(
        r#"{"name":"manage_scene"},7,{"name":" "},{"name":"twice"},{"name":"twice"},{"name":"odd","parameters":[7]},
           {"name":"get_sha"},{"name":"last"}"#,
    );
    assert_eq!(names(&listing), ["manage_scene", "twice", "last"]);
    let dropped: Vec<&str> = listing.dropped.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(dropped, ["#1", "#2", "twice", "odd", "get_sha"]);
    assert!(listing.dropped.iter().all(|(_, reason)| !reason.is_empty()));
}

#[test]
fn a_list_is_bounded_and_anything_else_is_none() {
    let many: Vec<String> = (0..TOOLS_MAX + 3).map(|nth| format!(r#"{{"name":"tool{nth}"}}"#)).collect();
    let listing = states(&format!(r#"{{"name":"manage_script"}},{}"#, many.join(",")));
    assert_eq!((listing.tools.len(), listing.dropped.len()), (TOOLS_MAX, 1));
    for other in ["null", "[]", r#"{"data":null}"#, r#"{"data":{"tools":{}}}"#, r#"{"success":false,"error":"x"}"#] {
        assert!(read_states(&raw(other)).is_none(), "{other}");
    }
}
