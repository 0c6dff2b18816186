//! An agent makes a user interface, as only the package's real C# can play it: a canvas, a menu, a text, a picture in a corner, seen at
//! three resolutions; with wrong arguments, with a reload in the middle, with undo, and with the other input system.

use serde_json::{Value, json};

use crate::agent_task::Step;
use crate::editor_tasks::{ok, refused, reload, undo};

const SETTINGS: &str = "ProjectSettings/ProjectSettings.asset";

/// Returns the calls. The editor has the types of the package com.unity.inputsystem, and its project has the old input on.
#[must_use]
pub fn user_interface() -> Vec<Step> {
    let seen = || json!({"Source": "Game", "Sizes": ["1280x720", "1920x1080", "1080x1920"], "Width": 640});
    let make = |kind: &str, name: &str, more: Value| with(json!({"Kind": kind, "Name": name}), &more);
    let change = |object: &str, more: Value| with(json!({"Object": object}), &more);
    let mut steps = vec![
        refused(
            "A canvas, with a wrong kind",
            "edit-ui",
            make("Canvass", "HUD", json!({})),
            &["one of Canvas, EventSystem"],
        ),
        refused(
            "A wrong argument",
            "edit-ui",
            json!({"Kind": "Canvas", "Resolutions": [1920, 1080]}),
            &["did you mean Resolution?"],
        ),
        ok("A canvas", "edit-ui", make("Canvas", "HUD", json!({})), &["Created HUD, with EventSystem"]),
        ok("The input is there", "edit-ui", json!({"Kind": "EventSystem"}), &["nothing was changed"]),
        ok(
            "A column at the left",
            "edit-ui",
            make("Column", "Menu", json!({"Anchor": "MiddleLeft", "Position": [60, 0], "Spacing": 20})),
            &["Created HUD/Menu"],
        ),
        refused(
            "A button beside the canvas",
            "edit-ui",
            make("Button", "Start", json!({"Parent": "World"})),
            &["World is in no Canvas", "Nothing of the call ran"],
        ),
        refused(
            "A button at a place of its own in the column",
            "edit-ui",
            make("Button", "Start", json!({"Parent": "HUD/Menu", "Anchor": "TopLeft"})),
            &["Menu arranges what is below it", "SiblingIndex"],
        ),
        ok(
            "A button",
            "edit-ui",
            make("Button", "Start", json!({"Parent": "HUD/Menu", "Text": "Start game"})),
            &["Created HUD/Menu/Start"],
        ),
        ok("Another one", "edit-ui", make("Button", "Quit", json!({"Parent": "HUD/Menu"})), &["Created HUD/Menu/Quit"]),
        ok(
            "A title",
            "edit-ui",
            make(
                "Text",
                "Title",
                json!({"Anchor": "TopStretch", "Position": [0, -40], "Size": [-80, 120], "FontSize": 80}),
            ),
            &["Created HUD/Title"],
        ),
        ok(
            "A picture that is to be in the corner",
            "edit-ui",
            make("Image", "Health", json!({"Position": [700, -400], "Size": [400, 60], "Color": [1, 0, 0]})),
            &["Created HUD/Health"],
        ),
        refused(
            "How does it look? A wrong resolution",
            "screenshot",
            json!({"Source": "Game", "Sizes": ["FullHD"]}),
            &["FullHD is none"],
        ),
        ok("How does it look?", "screenshot", seen(), &["3 pictures", "360 x 640 pixels, of 1080 x 1920"]),
        ok(
            "On a high screen the picture is not seen: it is held in the middle. In the corner",
            "edit-ui",
            change("HUD/Health", json!({"Anchor": "BottomRight", "Position": [-40, 40]})),
            &["Changed HUD/Health"],
        ),
        ok(
            "Once more: nothing changes",
            "edit-ui",
            change("HUD/Health", json!({"Anchor": "BottomRight", "Position": [-40, 40]})),
            &["nothing was changed"],
        ),
    ];
    steps.extend(reload());
    steps.extend([
        ok("It is still there", "screenshot", seen(), &["3 pictures"]),
        ok("Another text", "edit-ui", change("HUD/Menu/Quit", json!({"Text": "Leave"})), &["Changed HUD/Menu/Quit"]),
        undo("It was a mistake", &["AI: Change Quit"]),
        refused(
            "Fill the screen, with a word for something else",
            "edit-ui",
            change("HUD/Menu", json!({"Color": [0, 0, 0]})),
            &["Menu has no Image"],
        ),
        ok("For phones", "edit-ui", change("HUD", json!({"Resolution": [1080, 1920]})), &["Changed HUD"]),
        ok("(The user turns the switch on)", "allow", json!({"setting": "AllowProjectSettings"}), &[]),
        ok(
            "The new input system alone",
            "edit-component",
            json!({"Action": "Set", "Object": SETTINGS, "Properties": {"activeInputHandler": 1}}),
            &["Set activeInputHandler"],
        ),
        ok(
            "Does input still come through?",
            "edit-ui",
            json!({"Kind": "EventSystem"}),
            &["InputSystemUIInputModule now"],
        ),
        ok("Is it so?", "inspect", json!({"Object": "EventSystem"}), &["InputSystemUIInputModule"]),
        undo("Back", &["AI: Change EventSystem"]),
        ok("And again", "undo", json!({"Action": "Redo"}), &["AI: Change EventSystem"]),
        ok("The menu", "get-hierarchy", json!({"RootPath": "HUD", "IncludeComponents": false}), &["Start", "Quit"]),
        ok("Save", "scene", json!({"Action": "Save", "Path": "Assets/SampleScene.unity"}), &["Saved"]),
        ok("Nothing red?", "get-logs", json!({"LogType": "Error"}), &["\"TotalCount\":0"]),
    ]);
    steps
}

fn with(mut all: Value, more: &Value) -> Value {
    if let (Some(all), Some(more)) = (all.as_object_mut(), more.as_object()) {
        all.extend(more.clone());
    }
    all
}
