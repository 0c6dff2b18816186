//! An agent's whole tasks with a group of tools, played with the package's real C#. Each is a page in `docs/agent-tasks/`, which the
//! test compares with what was played.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::Verdict;
use super::stage::{Runtime, Stage, on_both};

/// A task that is being played, and its page so far.
struct Task {
    stage: Stage,
    page: String,
}

impl Task {
    fn begin(runtime: Runtime, title: &str, about: &str) -> Self {
        let page = format!(
            "# {title}\n\n{about}\n\nEvery call goes through the gateway to the package's C# in the simulated editor. `make test-all` plays it again, on \
             Mono and on .NET, and fails if an answer is another one (`chaos-tests/tests/unity_host/transcripts.rs`).\n"
        );
        Self { stage: Stage::open(runtime, &[]), page }
    }

    /// Makes a call, and notes it with its answer, which must end like this and have these texts.
    fn call(&mut self, wants: &str, tool: &str, arguments: &Value, verdict: Verdict, shows: &[&str]) -> Value {
        let answer = self.stage.client.done(tool, arguments);
        let text = answer.text();
        assert_eq!(answer.verdict(), verdict, "{wants}: {text}");
        shows.iter().for_each(|shown| assert!(text.contains(shown), "{wants}: no {shown} in {text}"));
        self.say(wants);
        let _ = write!(self.page, "\n```text\n> {tool} {arguments}\n{}\n```\n", without_ids(text.trim_end()));
        let blocks = answer.0.pointer("/result/content").and_then(Value::as_array);
        let pictures: Vec<&str> = blocks.into_iter().flatten().filter_map(|block| block["mimeType"].as_str()).collect();
        if !pictures.is_empty() {
            let _ = writeln!(self.page, "\nPictures: {}.", pictures.join(", "));
        }
        answer.body()
    }

    /// Begins a paragraph. A call that belongs to the one before it has none.
    fn say(&mut self, text: &str) {
        if !text.is_empty() {
            let _ = write!(self.page, "\n{text}\n");
        }
    }

    fn ok(&mut self, wants: &str, tool: &str, arguments: &Value, shows: &[&str]) -> Value {
        self.call(wants, tool, arguments, Verdict::Ok, shows)
    }

    fn refused(&mut self, wants: &str, tool: &str, arguments: &Value, shows: &[&str]) -> Value {
        self.call(wants, tool, arguments, Verdict::ToolError, shows)
    }

    /// What somebody else does meanwhile, by a tool that is not the package's.
    fn meanwhile(&mut self, what: &str, tool: &str, arguments: &Value) {
        let answer = self.stage.client.done(tool, arguments);
        assert_eq!(answer.verdict(), Verdict::Ok, "{what}: {}", answer.text());
        self.say(what);
    }

    /// Compares the page with the one in the documentation, or writes it if `UPDATE_TRANSCRIPTS` is set.
    fn end(self, name: &str) -> Stage {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/agent-tasks").join(name);
        if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() && matches!(self.stage.runtime, Runtime::Mono) {
            std::fs::write(&file, &self.page).expect("the page can be written");
        }
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        let differs = self.page.lines().zip(kept.lines()).find(|(now, kept)| now != kept);
        assert!(
            self.page == kept,
            "docs/agent-tasks/{name} is not what was played; set UPDATE_TRANSCRIPTS=1, run this test again, and read the difference. First: {differs:?}"
        );
        self.stage
    }
}

/// Every request of a compilation has an id of its own.
fn without_ids(text: &str) -> String {
    let Some((before, id)) = text.split_once(r#""RequestId":""#) else { return text.to_owned() };
    let after = id.split_once('"').map_or("", |(_, after)| after);
    format!(r#"{before}"RequestId":"..."{after}"#)
}

/// A script is written and compiled, which reloads the domain.
fn reload(task: &mut Task, name: &str) {
    let path = format!("Assets/{name}.cs");
    let text = format!("using UnityEngine;\n\npublic class {name} : MonoBehaviour\n{{\n}}\n");
    let arguments = json!({"Action": "Create", "Path": path, "Text": text});
    task.ok(
        "In the middle, a script is written and compiled. Unity reloads the domain.",
        "edit-script",
        &arguments,
        &[&path],
    );
    task.ok("", "compile", &json!({}), &["\"DomainReloaded\":true"]);
}

#[test]
fn an_agent_finds_what_refers_to_an_asset_and_what_lacks_a_script() {
    on_both("transcript-finding", &["U01"], |runtime, scenario| {
        let mut task = Task::begin(
            runtime,
            "Finding",
            "An agent looks for what refers to a material and to a prefab, and for missing scripts, and changes what it found.",
        );
        let assets = task.stage.room.project().join("Assets");
        std::fs::write(assets.join("Stone.png"), "").expect("a picture");
        std::fs::write(assets.join("Stone.png.meta"), "labels:\n- Ground\n").expect("its labels");
        let wall = "Assets/Wall.mat";
        let brief = |to: &str| json!({"ReferencesTo": to, "IncludeProperties": false});
        task.ok(
            "A material, and a collider that refers to it.",
            "edit-asset",
            &json!({"Action": "CreateMaterial", "Path": wall}),
            &[wall],
        );
        let paint = json!({"Action": "Set", "Object": "World/Player", "Component": "BoxCollider", "Properties": {"paint": wall}});
        task.ok("", "edit-component", &paint, &["Set paint"]);
        let misspelt = json!({"ReferenceTo": wall});
        task.refused("A wrong name of an argument.", "find-game-objects", &misspelt, &["did you mean ReferencesTo"]);
        task.refused(
            "A wrong name of the material.",
            "find-game-objects",
            &brief("Assets/Wal.mat"),
            &["Assets/Wal.mat"],
        );
        let found = task.ok("What refers to it?", "find-game-objects", &brief(wall), &["\"property\":\"paint\""]);
        let component = found["results"][0]["references"][0]["component"].clone();
        task.ok(
            "And which files? What is not saved is said.",
            "find-assets",
            &json!({"ReferencesTo": wall}),
            &["\"TotalCount\":0", "the unsaved changes of Assets/SampleScene.unity"],
        );
        let prefab = json!({"Action": "Create", "Object": "World/Player", "Path": "Assets/Player.prefab"});
        task.ok("The player becomes a prefab, of which there are two.", "prefabs", &prefab, &["Player.prefab"]);
        task.ok("", "prefabs", &json!({"Action": "Instantiate", "Path": "Assets/Player.prefab"}), &["Player"]);
        task.ok("", "scene", &json!({"Action": "Save"}), &["Saved"]);
        let files = json!({"ReferencesTo": wall, "Filter": "t:Prefab"});
        task.ok("Prefabs with the material.", "find-assets", &files, &["Assets/Player.prefab"]);
        task.ok("Instances of the prefab.", "find-game-objects", &brief("Assets/Player.prefab"), &["(prefab)"]);
        let mut page = json!({"RequiredComponents": ["BoxCollider"], "MaxResults": 1, "IncludeProperties": false});
        let first =
            task.ok("All colliders, one at a time.", "find-game-objects", &page, &["\"totalFound\":2", "nextPage"]);
        reload(&mut task, "Hero");
        page["Page"] = first["nextPage"].clone();
        let last = task.ok("The next page is still right.", "find-game-objects", &page, &["\"totalFound\":2"]);
        assert_eq!((last["results"].as_array().map(Vec::len), &last["nextPage"]), (Some(1), &Value::Null));
        page["Page"] = json!("1");
        task.refused("A page that never was.", "find-game-objects", &page, &["begin again without Page"]);
        let unknown = json!({"RequiredComponents": ["BoxColider"]});
        task.ok(
            "A type that does not exist is no empty answer.",
            "find-game-objects",
            &unknown,
            &["There is no type of component BoxColider"],
        );
        let clear = json!({"Action": "Set", "Object": component, "Properties": {"paint": null}});
        task.ok(
            "The reference is taken out, by the name that the search returned.",
            "edit-component",
            &clear,
            &["Set paint"],
        );
        task.ok("", "find-game-objects", &brief(wall), &["\"totalFound\":1"]);
        task.ok("And put in again.", "undo", &json!({"Action": "Undo"}), &["\"Success\":true"]);
        task.ok("", "find-game-objects", &brief(wall), &["\"totalFound\":2"]);
        task.ok(
            "Assets by label and type.",
            "find-assets",
            &json!({"Filter": "l:Ground t:Texture2D"}),
            &["Assets/Stone.png"],
        );
        task.ok("No script is missing.", "find-game-objects", &json!({"MissingScripts": true}), &["\"totalFound\":0"]);
        task.meanwhile(
            "Somebody deletes the script of a component in the scene, and of one in the prefab.",
            "lose-script",
            &json!({"text": "Player"}),
        );
        task.meanwhile("", "lose-script", &json!({"text": "Assets/Player.prefab"}));
        let lost = json!({"MissingScripts": true, "IncludeProperties": false});
        task.ok("Where is a script missing now?", "find-game-objects", &lost, &["Missing Script"]);
        task.ok("", "find-assets", &json!({"MissingScripts": true}), &["Assets/Player.prefab", "NotLoaded"]);
        let stage = task.end("finding.md");
        stage.close(scenario);
    });
}

#[test]
fn an_agent_looks_at_an_object_from_several_sides() {
    on_both("transcript-looking", &["U01"], |runtime, scenario| {
        let mut task = Task::begin(
            runtime,
            "Looking",
            "An agent looks at an object from several sides, moves it, and looks closely at a window. The scene view does not move, and the scene has no unsaved changes by it.",
        );
        let cube = json!({"Action": "Create", "Name": "Box", "Shape": "Cube", "Position": [30, 4, -7]});
        task.ok("Something to see.", "edit-game-object", &cube, &["Box"]);
        task.ok("", "scene", &json!({"Action": "Save"}), &["Saved"]);
        let of = |object: &str, sides: &[&str]| json!({"Source": "Object", "Name": object, "Sides": sides, "Width": 320, "Height": 240});
        task.refused("A side that there is not.", "screenshot", &of("Box", &["Above"]), &["one of Angle, Front"]);
        task.refused(
            "An object that there is not.",
            "screenshot",
            &of("Bix", &["Front"]),
            &["No open scene has an object Bix"],
        );
        let first = task.ok(
            "From three sides.",
            "screenshot",
            &of("Box", &["Angle", "Front", "Top"]),
            &["3 pictures of 320 x 240"],
        );
        task.ok("Nothing was changed by it.", "list-scenes", &json!({}), &["\"IsDirty\":false"]);
        task.refused(
            "A camera that is none.",
            "screenshot",
            &json!({"Source": "Camera", "Name": "World"}),
            &["There are cameras at Main Camera"],
        );
        let camera = json!({"Source": "Camera", "Name": "Main Camera", "Width": 320, "Height": 180});
        task.ok("The right one.", "screenshot", &camera, &["A picture of 320 x 180"]);
        reload(&mut task, "Door");
        let moved = json!({"Action": "Change", "Object": "Box", "Position": [0, 0, 50]});
        task.ok("The box is moved.", "edit-game-object", &moved, &["Box"]);
        let second =
            task.ok("It is seen where it is now.", "screenshot", &of("Box", &["Angle"]), &["A picture of 320 x 240"]);
        assert_ne!(first["Views"][0], second["Views"][0]);
        task.ok("And taken back.", "undo", &json!({"Action": "Undo"}), &["\"Success\":true"]);
        let third = task.ok("", "screenshot", &of("Box", &["Angle"]), &["A picture of 320 x 240"]);
        assert_eq!(first["Views"][0], third["Views"][0]);
        task.ok("What has no shape is told.", "screenshot", &of("World", &["Front"]), &["Nothing of World is drawn"]);
        task.ok(
            "The game view, small.",
            "screenshot",
            &json!({"Source": "Game", "Width": 200}),
            &["A picture of 200 x", "behind another tab"],
        );
        let part = |region: Value| json!({"Source": "Game", "Width": 200, "Region": region});
        task.refused("A part that lies outside.", "screenshot", &part(json!([0.9, 0, 0.5, 0.5])), &["Region must be"]);
        task.ok(
            "A part of it at full size.",
            "screenshot",
            &part(json!([0.5, 0, 0.5, 0.25])),
            &["A picture of 400 x 119 pixels, of 800 x 476"],
        );
        task.refused("Too large.", "screenshot", &json!({"Source": "Camera", "Width": 4096}), &["must be 16 to 2048"]);
        let stage = task.end("looking.md");
        stage.close(scenario);
    });
}
