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

/// The names of the tools, without those that are in every list.
fn names(listing: &ToolListing) -> Vec<&str> {
    let is_of_list = |tool: &&Arc<EditorTool>| tool.group.as_deref() != Some(RESOURCES);
    listing.tools.iter().filter(is_of_list).map(|tool| tool.name.as_str()).collect()
}

fn of_resources() -> Vec<&'static str> {
    all().iter().filter(|tool| tool.group.as_deref() == Some(RESOURCES)).map(|tool| tool.name.as_str()).collect()
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
        ("resources", 18),
        ("scripting_ext", 2),
        ("testing", 2),
        ("ui", 1),
        ("vfx", 3),
    ];
    assert_eq!(groups.into_iter().collect::<Vec<_>>(), expected);
    assert_eq!((all().len(), CATALOGUE.places.len()), (61, 61));
    for left_out in ["manage_tools", "set_active_instance", "execute_custom_tool", "unity_docs", "find_in_file"] {
        assert!(stated(left_out).is_none());
    }
}

#[test]
fn annotations_are_those_of_the_package() {
    let only_reads = of_resources();
    let of = |is: fn(&EditorTool) -> bool| -> Vec<&str> {
        let listed = all().iter().filter(|tool| !only_reads.contains(&tool.name.as_str()));
        listed.filter(|tool| is(tool)).map(|tool| tool.name.as_str()).collect()
    };
    for tool in all().iter().filter(|tool| only_reads.contains(&tool.name.as_str())) {
        let Annotations { read_only_hint, destructive_hint, idempotent_hint, open_world_hint, .. } = tool.annotations;
        let hints = (read_only_hint, destructive_hint, idempotent_hint, open_world_hint, tool.repeatable);
        assert_eq!(hints, (true, false, true, false, true), "{}", tool.name);
    }
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
fn what_the_editor_reads_but_does_not_list_is_in_every_list_unless_the_project_has_its_name() {
    let reads = of_resources();
    let listed = |listing: &ToolListing| -> Vec<String> {
        let is_one = |tool: &&Arc<EditorTool>| reads.contains(&tool.name.as_str());
        listing.tools.iter().filter(is_one).map(|tool| tool.name.clone()).collect()
    };
    assert_eq!(listed(&states("")), reads);
    let own = states(
        r#"{"name":"get_tags","parameters":[{"name":"of","type":"string"}]},{"name":"get_tests","parameters":7}"#,
    );
    let tags = &own.tools[0];
    assert!(is_of_project(tags) && tags.input_schema.parsed()["properties"].get("of").is_some());
    assert!(!is_of_project(&states("").tools[0]) && !is_of_project(&custom("mine", Entry::default())));
    assert_eq!((own.dropped.len(), listed(&own).len()), (1, reads.len() - 1), "the second one cannot be read");
    assert_eq!(own.tools.iter().filter(|tool| tool.name == "get_tags").count(), 1);
}

/// What the package's own server sends when a client reads them: observed.
#[test]
fn each_resource_is_a_call_of_a_tool() {
    let arguments = |uri: &str| {
        let mut found = resources().iter().filter_map(|one| Some((one, one.arguments_at(uri)?)));
        let (resource, arguments) = found.next().unwrap_or_else(|| panic!("{uri}"));
        assert!(found.next().is_none(), "{uri} is one of them");
        let sent = super::super::arguments::prepare(&resource.tool, &raw(&Value::from(arguments.unwrap()).to_string()));
        (resource.name.as_str(), command(&resource.tool), serde_json::from_str::<Value>(sent.unwrap().get()).unwrap())
    };
    let components = json!({"instanceID": -7, "pageSize": 25, "cursor": 0, "includeProperties": true});
    let expected = [
        ("editor/state", "editor_state", "get_editor_state", json!({})),
        ("editor/active-tool", "editor_active_tool", "get_active_tool", json!({})),
        ("editor/selection", "editor_selection", "get_selection", json!({})),
        ("editor/windows", "editor_windows", "get_windows", json!({})),
        ("editor/prefab-stage", "editor_prefab_stage", "get_prefab_stage", json!({})),
        ("scene/cameras", "cameras", "get_cameras", json!({})),
        ("scene/volumes", "volumes", "get_volumes", json!({})),
        ("project/info", "project_info", "get_project_info", json!({})),
        ("project/tags", "project_tags", "get_tags", json!({})),
        ("project/layers", "project_layers", "get_layers", json!({})),
        ("menu-items", "menu_items", "get_menu_items", json!({"refresh": true, "search": ""})),
        ("pipeline/renderer-features", "renderer_features", "get_renderer_features", json!({})),
        ("rendering/stats", "rendering_stats", "get_rendering_stats", json!({})),
        ("tests", "get_tests", "get_tests", json!({})),
        ("tests/PlayMode", "get_tests_for_mode", "get_tests_for_mode", json!({"mode": "PlayMode"})),
        ("scene/gameobject/-7", "gameobject", "get_gameobject", json!({"instanceID": -7})),
        ("scene/gameobject/-7/components", "gameobject_components", "get_gameobject_components", components),
        (
            "scene/gameobject/7/component/My.Box%202",
            "gameobject_component",
            "get_gameobject_component",
            json!({"instanceID": 7, "componentName": "My.Box 2"}),
        ),
        (
            "prefab/Assets%2FA.prefab",
            "prefab_info",
            "manage_prefabs",
            json!({"action": "get_info", "prefabPath": "Assets/A.prefab"}),
        ),
        (
            "prefab/Assets%2FA.prefab/hierarchy",
            "prefab_hierarchy",
            "manage_prefabs",
            json!({"action": "get_hierarchy", "prefabPath": "Assets/A.prefab"}),
        ),
    ];
    assert_eq!(resources().len(), expected.len());
    for (path, name, tool, sent) in expected {
        assert_eq!(arguments(&format!("mcpforunity://{path}")), (name, tool, sent), "{path}");
    }
    for resource in resources() {
        let tool = stated(&resource.tool).unwrap();
        let variables = resource.address.split('{').skip(1).map(|rest| rest.split('}').next().unwrap());
        for variable in variables {
            assert!(tool.parameters.iter().any(|one| one.name == variable), "{}", resource.address);
        }
        assert!(!resource.title.is_empty() && resource.description.len() <= 220, "{}", resource.name);
    }
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
