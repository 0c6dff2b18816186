//! The commands that only read something of the editor: in the package's server they are resources, and no tools.

use serde_json::{Value, json};

use super::bridge::Bridge;
use super::unity::{self, CAMERA, CAMERA_ID};
use super::wire::{done, failed};
use crate::json::Object;
use crate::model::Editor;
use crate::tools::Arguments;

/// The components of the one object in the scene.
const COMPONENTS: [&str; 2] = ["UnityEngine.Transform", "UnityEngine.Camera"];
/// The tests of the project, with their modes.
const TESTS: [(&str, &str); 2] = [("Doors.Open", "EditMode"), ("Doors.Close", "PlayMode")];
/// The commands, in the order of their names.
pub(super) const NAMES: [&str; 18] = [
    "get_active_tool",
    "get_cameras",
    "get_editor_state",
    "get_gameobject",
    "get_gameobject_component",
    "get_gameobject_components",
    "get_layers",
    "get_menu_items",
    "get_prefab_stage",
    "get_project_info",
    "get_renderer_features",
    "get_rendering_stats",
    "get_selection",
    "get_tags",
    "get_tests",
    "get_tests_for_mode",
    "get_volumes",
    "get_windows",
];

/// Answers such a command; `None`: there is none of this name.
pub(super) fn answer(bridge: &Bridge, editor: &Editor, name: &str, arguments: &Arguments) -> Option<Object> {
    let (message, data) = match name {
        "get_editor_state" => ("Retrieved editor state.", unity::state(bridge, editor)),
        "get_project_info" => ("Retrieved project info.", unity::project(editor)),
        "get_active_tool" => (
            "Retrieved active tool information.",
            json!({"activeTool": "Move", "isCustom": false, "pivotMode": "Center"}),
        ),
        "get_selection" => {
            ("Retrieved current selection details.", json!({"activeObject": null, "count": 0, "objects": []}))
        }
        "get_windows" => {
            let title = "Scene";
            let window =
                json!({"title": title, "typeName": "UnityEditor.SceneView", "isFocused": true, "instanceID": 2});
            ("Retrieved list of open editor windows.", json!([window]))
        }
        "get_prefab_stage" => ("No prefab stage open.", json!({"isOpen": false})),
        "get_cameras" => {
            let camera = json!({"instanceID": CAMERA_ID, "name": CAMERA, "fieldOfView": 60.0});
            ("Found 1 camera(s).", json!({"unityCameras": [camera], "cinemachineCameras": []}))
        }
        "get_volumes" => ("Found 0 volume(s).", json!({"pipeline": "Universal", "volumes": []})),
        "get_renderer_features" => ("No renderer features.", json!({"features": []})),
        "get_rendering_stats" => ("Rendering stats captured.", json!({"draw_calls": 3, "triangles": 1700})),
        "get_tags" => ("Retrieved current tags.", json!(["Untagged", "MainCamera", "Player"])),
        "get_layers" => ("Retrieved current named layers.", json!({"0": "Default", "5": "UI"})),
        "get_menu_items" => {
            let items = ["File/Save", "GameObject/Create Empty"];
            let found = items.iter().filter(|item| item.contains(arguments.word("search")));
            ("Retrieved menu items.", found.copied().collect())
        }
        "get_tests" => ("Retrieved tests.", tests(arguments.word("mode"))),
        "get_tests_for_mode" => match arguments.word("mode") {
            "" => return Some(failed("'mode' parameter is required", None)),
            mode @ ("EditMode" | "PlayMode") => ("Retrieved tests.", tests(mode)),
            other => return Some(failed(&format!("Unknown test mode: '{other}'. Use 'EditMode' or 'PlayMode'"), None)),
        },
        "get_gameobject" | "get_gameobject_component" | "get_gameobject_components" => {
            return Some(match object(name, arguments) {
                Ok(data) => Object::new().flag("success", true).raw("data", &data.to_string()),
                Err(why) => failed(&why, None),
            });
        }
        _ => return None,
    };
    Some(done(message, &data))
}

/// A page with all tests of a mode; empty: of both.
fn tests(mode: &str) -> Value {
    let found = TESTS.iter().filter(|(_, of)| mode.is_empty() || *of == mode);
    let items: Vec<Value> = found.map(|(name, mode)| json!({"full_name": name, "mode": mode})).collect();
    json!({"totalCount": items.len(), "cursor": 0, "nextCursor": null, "hasMore": false, "items": items})
}

/// What is said of an object, or why nothing is.
fn object(name: &str, arguments: &Arguments) -> Result<Value, String> {
    let id = arguments.whole("instanceID").ok_or("'instanceID' parameter is required.")?;
    if id != CAMERA_ID {
        return Err(format!("GameObject with instance ID {id} not found."));
    }
    let component = |name: &&str| json!({"typeName": name, "properties": {"enabled": true}});
    match name {
        "get_gameobject" => Ok(json!({
            "instanceID": id,
            "name": CAMERA,
            "tag": "MainCamera",
            "parent": null,
            "children": [],
            "componentTypes": COMPONENTS,
        })),
        "get_gameobject_components" => {
            let size = usize::try_from(arguments.whole("pageSize").unwrap_or(25)).unwrap_or_default();
            let shown: Vec<Value> = COMPONENTS.iter().take(size).map(&component).collect();
            Ok(json!({"gameObjectID": id, "components": shown, "pageSize": size, "totalCount": COMPONENTS.len()}))
        }
        _ => {
            let wanted = arguments.word("componentName");
            let found = COMPONENTS.iter().find(|name| **name == wanted || name.rsplit('.').next() == Some(wanted));
            let found = found.ok_or_else(|| format!("Component '{wanted}' not found on GameObject '{CAMERA}'."))?;
            Ok(json!({"gameObjectID": id, "component": component(found)}))
        }
    }
}
