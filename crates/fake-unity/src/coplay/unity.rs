//! What the editor says of itself and of its scene: little, but in the package's form.

use std::time::Duration;

use serde_json::{Value, json};

use super::bridge::Bridge;
use super::names::{data_path, project_name};
use super::wire::{done, failed};
use crate::json::Object;
use crate::model::Editor;
use crate::project::UNITY_VERSION;
use crate::tools::Arguments;

/// The editor's clock at its start, in milliseconds since 1970: the moment at which its timestamps begin.
const START_UNIX_MS: u64 = 1_753_220_096_789;
/// The one object in the simulated scene.
pub(super) const CAMERA: &str = "Main Camera";
pub(super) const CAMERA_ID: i64 = 1;
/// The simulated scene.
const SCENE: (&str, &str) = ("SampleScene", "Assets/Scenes/SampleScene.unity");

/// The editor's time as it writes it in numbers.
pub(super) fn unix_ms(uptime: Duration) -> u64 {
    START_UNIX_MS + u64::try_from(uptime.as_millis()).unwrap_or_default()
}

/// Returns what `get_editor_state` says.
pub(super) fn state(bridge: &Bridge, editor: &Editor) -> Value {
    let test_run = bridge.test_run();
    let (playing, updating) = (editor.state().playing, editor.gate.borrow().imports());
    let focused = editor.gate.borrow().focused;
    let mut process = bridge.process();
    let phase = match (&test_run, process.compiling, updating) {
        (Some(_), _, _) => "running_tests",
        (None, true, _) => "compiling",
        (None, false, true) => "asset_import",
        (None, false, false) => "idle",
    };
    let (job, mode) = test_run.unzip();
    let facts = json!({
        "unity": {"unity_version": UNITY_VERSION},
        "editor": {
            "is_focused": focused,
            "play_mode": {"is_playing": playing, "is_paused": process.paused, "is_changing": false},
            "active_scene": {"name": SCENE.0, "path": SCENE.1},
        },
        "activity": {"phase": phase},
        "compilation": {"is_compiling": process.compiling, "is_domain_reload_pending": false},
        "assets": {"is_updating": updating, "refresh": {"is_refresh_in_progress": updating}},
        "tests": {"is_running": job.is_some(), "mode": mode, "current_job_id": job},
        "settings": {"batch_execute_max_commands": 25},
    });
    let snapshot = &mut process.snapshot;
    if snapshot.facts != facts || !focused {
        snapshot.facts = facts;
        snapshot.sequence += 1;
        snapshot.observed_unix_ms = unix_ms(editor.uptime());
    }
    let mut said = json!({
        "schema_version": "unity-mcp/editor_state@2",
        "observed_at_unix_ms": snapshot.observed_unix_ms,
        "sequence": snapshot.sequence,
    });
    for (name, value) in snapshot.facts.as_object().into_iter().flatten() {
        said[name] = value.clone();
    }
    said
}

/// Returns what `get_project_info` says.
pub(super) fn project(editor: &Editor) -> Value {
    let root = editor.project.as_ref().map(|project| project.root().replace('\\', "/")).unwrap_or_default();
    let assets = data_path(&root);
    json!({"projectRoot": root, "projectName": project_name(&assets), "unityVersion": UNITY_VERSION, "assetsPath": assets})
}

/// Begins, pauses or ends play mode. No reload follows in the simulated project.
pub(super) fn manage_editor(bridge: &Bridge, editor: &Editor, arguments: &Arguments) -> Object {
    let action = arguments.word("action");
    {
        let mut state = editor.state();
        let mut process = bridge.process();
        match action {
            "play" => state.playing = true,
            "stop" => (state.playing, process.paused) = (false, false),
            "pause" => process.paused = state.playing && !process.paused,
            _ => {}
        }
    }
    done(&format!("{action}: done."), &Value::Null)
}

/// Answers for the simulated scene.
pub(super) fn manage_scene(arguments: &Arguments) -> Object {
    let (name, path) = SCENE;
    let scene =
        json!({"name": name, "path": path, "buildIndex": 0, "isDirty": false, "isLoaded": true, "rootCount": 1});
    match arguments.word("action") {
        "" => failed("Action is required.", None),
        "get_active" => done("Retrieved active scene information.", &scene),
        "get_loaded_scenes" => done("Retrieved loaded scenes.", &json!([scene])),
        "get_hierarchy" => {
            let camera =
                json!({"name": CAMERA, "instanceID": CAMERA_ID, "children": [], "components": ["Transform", "Camera"]});
            done("Retrieved hierarchy.", &json!({"items": [camera], "total": 1, "next_cursor": null}))
        }
        action => done(&format!("{action}: done."), &json!({})),
    }
}

/// Answers for a prefab.
pub(super) fn manage_prefabs(arguments: &Arguments) -> Object {
    let action = arguments.word("action");
    done(&format!("{action}: done."), &json!({"assetPath": arguments.word("prefabPath")}))
}

/// Reads the console, which has the errors of scripts that do not compile.
pub(super) fn read_console(editor: &Editor, arguments: &Arguments) -> Object {
    if arguments.word("action") == "clear" {
        return done("Console cleared.", &Value::Null);
    }
    let error = "Assets/Scripts/Broken.cs(3,7): error CS0246: The type or namespace name 'Nowhere' could not be found";
    let entries = if editor.state().compile_errors { json!([{"type": "Error", "message": error}]) } else { json!([]) };
    done("Retrieved log entries.", &entries)
}
