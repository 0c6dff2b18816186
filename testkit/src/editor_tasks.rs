//! What an agent asks a Unity editor for every day, call by call, as far as only the package's real C# can play it: with wrong
//! arguments, with a reload in the middle, and with undo. What was played is kept in the package's documentation.

use holdfast_mcp_client::answer::Verdict;
use serde_json::{Value, json};

use crate::agent_task::Step;

/// The longest answer that a kept transcript has.
const LONGEST: usize = 600;

pub(crate) fn ok(wants: &'static str, tool: &'static str, arguments: Value, shows: &'static [&'static str]) -> Step {
    Step { wants, tool, arguments, verdict: Verdict::Ok, shows }
}

pub(crate) fn refused(
    wants: &'static str,
    tool: &'static str,
    arguments: Value,
    shows: &'static [&'static str],
) -> Step {
    Step { wants, tool, arguments, verdict: Verdict::ToolError, shows }
}

/// A script, and a compilation that reloads the domain.
pub(crate) fn reload() -> [Step; 2] {
    let text = "using UnityEngine;\n\npublic class Gate : MonoBehaviour\n{\n    public float height = 2;\n}\n";
    [
        ok(
            "A script",
            "edit-script",
            json!({"Action": "Create", "Path": "Assets/Gate.cs", "Text": text}),
            &["Gate.cs"],
        ),
        ok("Compile it: the scripts are reloaded", "compile", json!({}), &["\"DomainReloaded\":true"]),
    ]
}

pub(crate) fn undo(wants: &'static str, shows: &'static [&'static str]) -> Step {
    ok(wants, "undo", json!({"Action": "Undo"}), shows)
}

/// Returns the calls that set up a project: tags, layers, scenes of the build, import settings, lists, objects in two scenes. The
/// project has a picture `Assets/Hero.png`.
#[must_use]
pub fn project() -> Vec<Step> {
    const TAGS: &str = "ProjectSettings/TagManager.asset";
    const BUILD: &str = "ProjectSettings/EditorBuildSettings.asset";
    let set = |of: &str, properties: Value| json!({"Action": "Set", "Object": of, "Properties": properties});
    let import = |properties: Value| json!({"Action": "Set", "Object": "Assets/Hero.png", "Importer": true, "Properties": properties});
    let body = |properties: Value| json!({"Action": "Set", "Object": "World/Player", "Component": "BoxCollider", "Properties": properties});
    let change = |what: Value| {
        let mut all = json!({"Action": "Change", "Object": "World/Player"});
        all.as_object_mut().expect("an object").extend(what.as_object().cloned().unwrap_or_default());
        all
    };
    let mut steps = vec![
        ok("Which tags are there?", "inspect", json!({"Object": TAGS}), &["tags"]),
        refused(
            "A tag, which the user has not allowed",
            "edit-component",
            set(TAGS, json!({"tags": {"$append": ["Enemy"]}})),
            &["AllowProjectSettings is off", "Nothing of the call ran"],
        ),
        ok("(The user turns the switch on)", "allow", json!({"setting": "AllowProjectSettings"}), &[]),
        refused("A tag, with a wrong word", "edit-component", set(TAGS, json!({"tag": ["Enemy"]})), &["but tags"]),
        ok("A tag", "edit-component", set(TAGS, json!({"tags": {"$append": ["Enemy"]}})), &["Set tags"]),
        refused(
            "A layer that cannot be",
            "edit-component",
            set(TAGS, json!({"layers[40]": "Ground"})),
            &["has 32 items"],
        ),
        ok("A layer", "edit-component", set(TAGS, json!({"layers[8]": "Ground"})), &["Set layers[8]"]),
        ok(
            "They are used",
            "edit-game-object",
            change(json!({"Tag": "Enemy", "Layer": "Ground"})),
            &["Changed World/Player"],
        ),
        ok("Save", "scene", json!({"Action": "Save", "Path": "Assets/SampleScene.unity"}), &["Saved"]),
        ok(
            "A second scene beside it",
            "scene",
            json!({"Action": "Create", "Path": "Assets/Arena.unity", "Additive": true, "Empty": true}),
            &["Saved Assets/Arena.unity"],
        ),
        refused(
            "Scenes of the build, one of which is not there",
            "edit-component",
            set(BUILD, json!({"m_Scenes": ["Assets/None.unity"]})),
            &["Assets/None.unity is none"],
        ),
        ok(
            "Scenes of the build",
            "edit-component",
            set(
                BUILD,
                json!({"m_Scenes": ["Assets/SampleScene.unity", {"path": "Assets/Arena.unity", "enabled": false}]}),
            ),
            &["Set m_Scenes"],
        ),
        refused(
            "The picture becomes a sprite, misspelt",
            "edit-component",
            import(json!({"textureType": "Sprit"})),
            &["takes one of Default, Sprite"],
        ),
        ok(
            "The picture becomes a sprite",
            "edit-component",
            import(json!({"textureType": "Sprite"})),
            &["and imported it"],
        ),
        ok(
            "Once more: nothing changes",
            "edit-component",
            import(json!({"textureType": "Sprite"})),
            &["nothing was changed"],
        ),
        ok("It was a mistake", "undo", json!({"Action": "Undo"}), &["AI: Set Hero.png"]),
        ok("No, it was not", "undo", json!({"Action": "Redo"}), &["AI: Set Hero.png"]),
        refused(
            "An item of a list that is not there",
            "edit-component",
            body(json!({"stops[0].label": "A"})),
            &["has 0 items"],
        ),
        ok(
            "Two items",
            "edit-component",
            body(json!({"stops": [{"label": "A", "seconds": 2}, {"label": "B"}]})),
            &["Set stops"],
        ),
        ok(
            "One goes, one comes",
            "edit-component",
            body(json!({"stops": {"$remove": [0], "$append": [{"label": "C"}]}})),
            &["Set stops"],
        ),
        refused(
            "An effect of an unknown class",
            "edit-component",
            body(json!({"effects": {"$append": [{"$type": "Drench"}]}})),
            &["takes no Drench, but"],
        ),
        ok(
            "An effect",
            "edit-component",
            body(json!({"effects": {"$append": [{"$type": "Burn", "seconds": 4}]}})),
            &["Set effects"],
        ),
    ];
    steps.extend(reload());
    steps.extend([
        ok("The tag is still there", "inspect", json!({"Object": TAGS}), &["Enemy", "Ground"]),
        ok("And the sprite", "inspect", json!({"Object": "Assets/Hero.png", "Importer": true}), &["\"value\":8"]),
        refused(
            "To a scene that is not open",
            "edit-game-object",
            change(json!({"Parent": "Assets/None.unity"})),
            &["Assets/None.unity is not open"],
        ),
        ok(
            "To the other scene",
            "edit-game-object",
            change(json!({"Parent": "Assets/Arena.unity"})),
            &["Changed Player in Assets/Arena.unity"],
        ),
        undo("Back", &["AI: Change Player"]),
        ok(
            "It is back",
            "inspect",
            json!({"Object": "World/Player", "Components": ["Transform"]}),
            &["\"Enemy\"", "\"Ground\""],
        ),
        refused(
            "Close the other scene",
            "scene",
            json!({"Action": "Close", "Path": "Assets/Arena.unity"}),
            &["drop them with Discard"],
        ),
        ok(
            "Drop what was changed there",
            "scene",
            json!({"Action": "Discard", "Path": "Assets/Arena.unity"}),
            &["its unsaved changes are gone"],
        ),
        ok("Close it", "scene", json!({"Action": "Close", "Path": "Assets/Arena.unity"}), &["Closed"]),
        ok("Nothing red?", "get-logs", json!({"LogType": "Error"}), &["\"TotalCount\":0"]),
    ]);
    steps
}

/// Returns the calls that change the files of prefabs without opening them: a prefab, one nested in it, and a variant.
#[must_use]
pub fn prefab_files() -> Vec<Step> {
    const CAR: &str = "Assets/Car.prefab";
    const WHEEL: &str = "Assets/Wheel.prefab";
    let create =
        |name: &str, parent: Option<&str>| json!({"Action": "Create", "Name": name, "Shape": "Cube", "Parent": parent});
    let prefab = |action: &str, object: &str, path: &str| json!({"Action": action, "Object": object, "Path": path});
    let set = |of: &str, properties: Value| json!({"Action": "Set", "Object": of, "Component": "BoxCollider", "Properties": properties});
    let see = |of: &str| json!({"Object": of, "Components": ["Transform"]});
    let mut steps = vec![
        ok("A wheel", "edit-game-object", create("Wheel", None), &["Created Wheel"]),
        ok("As a prefab", "prefabs", prefab("Create", "Wheel", WHEEL), &["Saved Assets/Wheel.prefab"]),
        ok("A car", "edit-game-object", create("Car", None), &["Created Car"]),
        ok("As a prefab", "prefabs", prefab("Create", "Car", CAR), &["Saved Assets/Car.prefab"]),
        ok("A seat, in the file", "edit-game-object", create("Seat", Some(CAR)), &["Created Assets/Car.prefab/Seat"]),
        ok("The instance in the scene has it", "inspect", see("Car"), &["Seat"]),
        ok(
            "A wheel in the car's file",
            "prefabs",
            json!({"Action": "Instantiate", "Path": WHEEL, "Parent": CAR}),
            &["Assets/Car.prefab/Wheel is an instance of Assets/Wheel.prefab"],
        ),
        refused(
            "The car in its own wheel",
            "prefabs",
            json!({"Action": "Instantiate", "Path": CAR, "Parent": WHEEL}),
            &["Cyclic nesting detected"],
        ),
        ok(
            "A variant of the car",
            "prefabs",
            prefab("Create", "Car", "Assets/Truck.prefab"),
            &["Saved Assets/Truck.prefab"],
        ),
        refused(
            "A wrong path",
            "edit-component",
            set("Assets/Car.prefab/Door", json!({"speed": 2})),
            &["There is no object Assets/Car.prefab/Door"],
        ),
        refused(
            "A wrong property",
            "edit-component",
            set("Assets/Car.prefab/Seat", json!({"speeed": 2})),
            &["but speed"],
        ),
        refused(
            "An object of the scene",
            "edit-component",
            set("Assets/Car.prefab/Seat", json!({"target": "World"})),
            &["no file can refer to one"],
        ),
        refused(
            "Another name for the root",
            "edit-game-object",
            json!({"Action": "Change", "Object": CAR, "Name": "Bus"}),
            &["has the name of its file"],
        ),
        ok(
            "The seat",
            "edit-component",
            set("Assets/Car.prefab/Seat", json!({"title": "soft", "target": "Assets/Car.prefab/Wheel"})),
            &["Set title, target of Seat"],
        ),
        ok(
            "Once more: nothing changes",
            "edit-component",
            set("Assets/Car.prefab/Seat", json!({"title": "soft"})),
            &["nothing was changed"],
        ),
        ok(
            "This car's wheel",
            "edit-component",
            set("Assets/Car.prefab/Wheel", json!({"speed": 9})),
            &["an instance of Assets/Wheel.prefab, which itself stays as it is"],
        ),
        ok(
            "The seat of the variant",
            "edit-game-object",
            json!({"Action": "Change", "Object": "Assets/Truck.prefab/Seat", "Position": [0, 1, 0]}),
            &["Changed Assets/Truck.prefab/Seat"],
        ),
        undo("It was a mistake", &["AI: Change Seat"]),
    ];
    steps.extend(reload());
    steps.extend([
        ok(
            "The new component, in the file",
            "edit-component",
            json!({"Action": "Add", "Object": CAR, "Component": "Rigidbody", "Properties": {"speed": 3}}),
            &["Added UnityEngine.Rigidbody to Assets/Car.prefab"],
        ),
        ok("The variant has it too", "inspect", see("Assets/Truck.prefab"), &["Seat", "Wheel"]),
        ok(
            "The seat goes",
            "delete-game-object",
            json!({"Object": "Assets/Car.prefab/Seat"}),
            &["Deleted Assets/Car.prefab/Seat"],
        ),
        ok("Also in the variant", "get-hierarchy", json!({"RootPath": "Assets/Truck.prefab"}), &["Wheel"]),
        undo("It comes back", &["AI: Delete Seat"]),
        ok("Everywhere", "inspect", see("Assets/Truck.prefab/Seat"), &["Assets/Truck.prefab/Seat"]),
        ok("Open it", "prefabs", json!({"Action": "Open", "Path": CAR}), &["Opened"]),
        refused(
            "Its file, while it is open",
            "delete-game-object",
            json!({"Object": "Assets/Car.prefab/Seat"}),
            &["is open: change what is open"],
        ),
        ok("Close it", "prefabs", json!({"Action": "Close"}), &["Closed"]),
        ok("Nothing red?", "get-logs", json!({"LogType": "Error"}), &["\"TotalCount\":0"]),
    ]);
    steps
}

/// Returns a text as it is kept: without what is different each time, and not longer than a reader wants it.
#[must_use]
pub fn kept(text: &str) -> String {
    let text = match serde_json::from_str::<Value>(text) {
        Ok(mut value) => {
            settle(&mut value);
            value.to_string()
        }
        Err(_) => settled(text),
    };
    if text.chars().count() <= LONGEST { text } else { text.chars().take(LONGEST).chain(" ...".chars()).collect() }
}

fn settle(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|key, _| {
                !["StartedAt", "EndedAt", "ExecutionTimeMs", "RequestId", "Id", "GlobalId", "id"]
                    .contains(&key.as_str())
            });
            members.values_mut().for_each(settle);
        }
        Value::Array(items) => items.iter_mut().for_each(settle),
        Value::String(text) => *text = settled(text),
        _ => {}
    }
}

/// Leaves out the number in references such as `World/Player (Rigidbody, 12345)`.
fn settled(text: &str) -> String {
    let mut parts = text.split(", ");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        if rest.len() == part.len() || !rest.starts_with(')') {
            whole.push_str(", ");
            whole.push_str(part);
        } else {
            whole.push_str(rest);
        }
    }
    whole
}
