//! A whole task of an agent, over MCP, with the real program and the simulated editor of holdfast's own package: what one tool
//! makes, the others see, over reloads, and every call ran once.

use base64::Engine as _;
use holdfast_mcp_client::answer::Answer;
use holdfast_testkit::agent_task::{self, Played};
use serde_json::{Value, json};

use crate::binary::{Place, Server, Unity, text, words};

/// A session with an editor.
struct Task {
    server: Server,
    /// The calls of which the gateway does not say that nothing ran, in order.
    made: Vec<&'static str>,
}

impl Task {
    /// Makes a call. Returns whether it is an error, and its result as JSON; as a text if it is none.
    async fn call(&mut self, tool: &'static str, arguments: Value) -> (bool, Value) {
        let result = self.server.call(tool, arguments).await;
        let says = words(&result).to_owned();
        if !says.contains("Nothing of the call ran") {
            self.made.push(tool);
        }
        (result["isError"] == true, serde_json::from_str(&says).unwrap_or(Value::from(says)))
    }

    /// Makes a call that succeeds.
    async fn done(&mut self, tool: &'static str, arguments: Value) -> Value {
        let (error, value) = self.call(tool, arguments).await;
        assert!(!error, "{tool}: {value:#}");
        value
    }

    /// Makes a call that does nothing, and returns what it says.
    async fn refused(&mut self, tool: &'static str, arguments: Value) -> String {
        let (error, value) = self.call(tool, arguments).await;
        assert!(error, "{tool}: {value:#}");
        value.to_string()
    }
}

const SCRIPT: &str = "Assets/Scripts/Mover.cs";
const BROKEN: &str = "using UnityEngine;\n\npublic class Mover : MonoBehaviour\n{\n    public float speed = 2.5f;\n    void Update()\n    {\n        Debug.Log(\"moves\")\n    }\n}\n";

#[tokio::test]
async fn an_agents_task_is_played_from_the_scene_to_the_prefab_and_every_call_runs_once() {
    let place = Place::new();
    let project = place.path("Game");
    let flags = ["--dialect", "holdfast", "--project", text(&project), "--no-test-tools", "--compile-reload-ms", "50"];
    let mut unity = Unity::start(&place, &flags).await;
    let mut server = Server::start(&place, &["--project", text(&project)]).await;
    server.status_that("ready", |status| status["editor"]["ready"] == true).await;
    let listed = server.request("tools/list", json!({})).await;
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().expect("a list").iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"unity-search") && names.contains(&"prefabs") && !names.contains(&"count"), "{names:?}");
    let mut task = Task { server, made: Vec::new() };

    // A scene, an object, and an argument that is not known, of which nothing runs.
    task.done("scene", json!({"Action": "Create", "Path": "Assets/Scenes/Level1.unity"})).await;
    let wall = json!({"Action": "Create", "Name": "Wall", "Shape": "Cube", "Positon": [0, 1, 0]});
    let says = task.refused("edit-game-object", wall).await;
    assert!(says.contains("did you mean Position?"), "{says}");
    let wall = json!({"Action": "Create", "Name": "Wall", "Shape": "Cube", "Position": [0, 1, 0]});
    let made = task.done("edit-game-object", wall).await;
    let id = made["Object"]["Id"].clone();
    assert_eq!((&made["Message"], &made["Object"]["Path"]), (&json!("Created Wall"), &json!("Wall")));

    // A script with an error: red, and no play mode.
    task.done("edit-script", json!({"Action": "Create", "Path": SCRIPT, "Text": BROKEN})).await;
    let (error, red) = task.call("compile", json!({})).await;
    assert!(error, "{red:#}");
    assert_eq!(
        (&red["ErrorCount"], &red["Errors"][0]["File"], &red["Errors"][0]["Line"]),
        (&json!(1), &json!(SCRIPT), &json!(8))
    );
    assert!(red["Errors"][0]["Message"].as_str().expect("a message").contains("error CS1002: ; expected"), "{red:#}");
    let says = task.refused("play-mode", json!({"Action": "Enter"})).await;
    assert!(says.contains("The scripts do not compile, so Unity does not enter play mode"), "{says}");
    let logs = task.done("get-logs", json!({"LogType": "Error"})).await;
    assert_eq!((&logs["TotalCount"], &logs["Logs"][0]["File"]), (&json!(1), &json!(SCRIPT)));
    let says = task.refused("edit-component", json!({"Action": "Add", "Object": "Wall", "Component": "Mover"})).await;
    assert!(says.contains("There is no component type Mover"), "{says}");

    // The error is mended: a compilation over a reload, after which the class is there and the unsaved scene still is.
    let edit = json!([{"OldText": "(\"moves\")", "NewText": "(\"moves\");"}]);
    task.done("edit-script", json!({"Action": "Replace", "Path": SCRIPT, "Edits": edit})).await;
    let green = task.done("compile", json!({})).await;
    assert_eq!((&green["ErrorCount"], &green["DomainReloaded"]), (&json!(0), &json!(true)));
    assert_eq!(task.done("get-logs", json!({"LogType": "Error"})).await["TotalCount"], 0);
    let add = json!({"Action": "Add", "Object": id, "Component": "Mover", "Properties": {"speed": 4}});
    task.done("edit-component", add).await;
    task.done("scene", json!({"Action": "Save"})).await;

    // What is changed while the game runs is lost when it stops.
    let entered = task.done("play-mode", json!({"Action": "Enter"})).await;
    assert_eq!((&entered["IsPlaying"], &entered["DomainReloaded"]), (&json!(true), &json!(true)));
    task.done("edit-game-object", json!({"Action": "Change", "Object": "Wall", "Position": [9, 9, 9]})).await;
    let says = task.refused("scene", json!({"Action": "Save"})).await;
    assert!(says.contains("The editor is in play mode; leave it first"), "{says}");
    let shot = task.server.call("screenshot", json!({"Source": "Camera", "Width": 320, "Height": 200})).await;
    task.made.push("screenshot");
    let image =
        shot["content"].as_array().expect("blocks").iter().find(|block| block["type"] == "image").expect("a picture");
    let png =
        base64::engine::general_purpose::STANDARD.decode(image["data"].as_str().expect("base64")).expect("base64");
    assert_eq!((&png[..8], &png[16..24]), (&b"\x89PNG\r\n\x1a\n"[..], &[0, 0, 1, 64, 0, 0, 0, 200][..]));
    task.done("play-mode", json!({"Action": "Exit"})).await;
    let read = task.done("inspect", json!({"Object": "Wall", "Components": ["Transform", "Mover"]})).await;
    let value = |read: &Value, component: usize, name: &str| {
        let all = read["Components"][component]["properties"].as_array().expect("properties");
        all.iter().find(|one| one["name"] == name).map(|one| one["value"].clone()).unwrap_or_default()
    };
    assert_eq!(value(&read, 0, "m_LocalPosition"), json!({"x": 0.0, "y": 1.0, "z": 0.0}));
    assert_eq!(value(&read, 1, "speed"), json!(4.0));

    // A prefab: made, opened, edited, saved, and its instance follows.
    task.done("edit-asset", json!({"Action": "CreateFolder", "Path": "Assets/Prefabs"})).await;
    let prefab = "Assets/Prefabs/Wall.prefab";
    task.done("prefabs", json!({"Action": "Create", "Object": "Wall", "Path": prefab})).await;
    task.done("prefabs", json!({"Action": "Open", "Path": prefab})).await;
    let body = json!({"Action": "Add", "Object": "Wall", "Component": "Rigidbody", "Properties": {"mass": 3}});
    task.done("edit-component", body).await;
    let says = task.refused("prefabs", json!({"Action": "Close"})).await;
    assert!(says.contains("has unsaved changes"), "{says}");
    task.done("prefabs", json!({"Action": "Save"})).await;
    task.done("prefabs", json!({"Action": "Close"})).await;
    let read = task.done("inspect", json!({"Object": "Wall", "Components": ["Rigidbody"]})).await;
    assert_eq!(value(&read, 0, "m_Mass"), json!(3.0));
    let second = task.done("prefabs", json!({"Action": "Instantiate", "Path": prefab})).await;
    let says = task.refused("inspect", json!({"Object": "Wall"})).await;
    assert!(says.contains("Several objects have the path Wall"), "{says}");
    let read = task.done("inspect", json!({"Object": second["Object"]["Id"]})).await;
    assert_eq!(read["Components"].as_array().map(Vec::len), Some(6), "{read:#}");
    assert!(std::fs::read_to_string(project.join("Assets/Scripts/Mover.cs")).expect("a file").contains("(\"moves\");"));

    // Every call ran once, and those of which nothing ran never began. What goes on after a reload has no connection.
    for tool in &task.made {
        let begun = unity.hear_that("a call", |line| line["event"] == "call_begun" && line["connection"] != 0).await;
        assert_eq!(begun["tool"], *tool, "{begun}");
    }
    let (code, _) = task.server.end().await;
    assert_eq!(code, Some(0));
    unity.quit().await;
}

/// The same calls are played with the package's real C#, in the suite of the gateway and the package.
#[tokio::test]
async fn the_task_that_the_real_package_plays_is_played_without_it() {
    let place = Place::new();
    let project = place.path("Game");
    let unity = Unity::start(&place, &["--dialect", "holdfast", "--project", text(&project)]).await;
    let mut server = Server::start(&place, &["--project", text(&project)]).await;
    server.status_that("ready", |status| status["editor"]["ready"] == true).await;
    let mut played = Played::default();
    for step in agent_task::steps() {
        let result = server.call(step.tool, step.arguments.clone()).await;
        played.note(&step, &Answer(json!({ "result": result })));
    }
    let transcript = played.transcript();
    assert!(transcript.contains("is lost when it stops"), "{transcript}");
    unity.quit().await;
}
