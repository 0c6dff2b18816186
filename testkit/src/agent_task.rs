//! An everyday task of an AI agent, call by call: a scene, a script that does not compile, its mend, play mode, a picture, a prefab.
//! The same task is played with the package's real C# and with the simulated package.

use std::fmt::Write as _;

use holdfast_mcp_client::answer::{Answer, Verdict};
use serde_json::{Value, json};

/// One call, and what its answer must be.
#[derive(Debug, Clone)]
pub struct Step {
    /// What the agent wants, as it would say.
    pub wants: &'static str,
    /// The tool that it calls.
    pub tool: &'static str,
    /// The arguments of the call.
    pub arguments: Value,
    /// How the call must end.
    pub verdict: Verdict,
    /// Texts that the answer must have.
    pub shows: &'static [&'static str],
}

/// Returns the calls of the task, in their order. The project needs no scene and no script before.
#[must_use]
pub fn steps() -> Vec<Step> {
    const SCRIPT: &str = "Assets/Scripts/Hero.cs";
    let red = "using UnityEngine;\n\npublic class Hero : MonoBehaviour\n{\n#error jumping is not written yet\n}\n";
    let ok = |wants, tool, arguments, shows| Step { wants, tool, arguments, verdict: Verdict::Ok, shows };
    let refused = |wants, tool, arguments, shows| Step { wants, tool, arguments, verdict: Verdict::ToolError, shows };
    let set = |value: i32| json!({"Action": "Set", "Object": "Hero", "Component": "Transform", "Properties": {"m_LocalScale": [value, value, value]}});
    vec![
        ok("What is open?", "editor-state", json!({}), &["OpenScenes"]),
        ok(
            "A folder for levels",
            "edit-asset",
            json!({"Action": "CreateFolder", "Path": "Assets/Levels"}),
            &["Created"],
        ),
        ok(
            "A scene",
            "scene",
            json!({"Action": "Create", "Path": "Assets/Levels/One.unity"}),
            &["Saved Assets/Levels/One.unity"],
        ),
        refused(
            "A hero, with a wrong word",
            "edit-game-object",
            json!({"Action": "Create", "Name": "Hero", "Shape": "Cube", "Positon": [0, 1, 0]}),
            &["Positon", "Position", "Nothing of the call ran"],
        ),
        ok(
            "A hero",
            "edit-game-object",
            json!({"Action": "Create", "Name": "Hero", "Shape": "Cube", "Position": [0, 1, 0]}),
            &["Hero"],
        ),
        ok("It is there", "get-hierarchy", json!({}), &["Hero"]),
        ok(
            "It falls",
            "edit-component",
            json!({"Action": "Add", "Object": "Hero", "Component": "Rigidbody"}),
            &["Rigidbody"],
        ),
        ok("It is larger", "edit-component", set(2), &["Hero"]),
        ok("A script", "edit-script", json!({"Action": "Create", "Path": SCRIPT, "Text": red}), &["Hero.cs"]),
        refused(
            "Does it compile?",
            "compile",
            json!({}),
            &["CS1029", "Assets/Scripts/Hero.cs", "jumping is not written"],
        ),
        refused("Play while it is red", "play-mode", json!({"Action": "Enter"}), &["do not compile"]),
        ok("What stands there?", "read-script", json!({"Path": SCRIPT}), &["#error jumping"]),
        ok(
            "The mend",
            "edit-script",
            json!({"Action": "Replace", "Path": SCRIPT, "Edits": [{"OldText": "#error jumping is not written yet", "NewText": "    public float jump = 5;"}]}),
            &["Hero.cs"],
        ),
        ok("Does it compile now?", "compile", json!({}), &["\"DomainReloaded\":true", "\"ErrorCount\":0"]),
        ok("Save", "scene", json!({"Action": "Save"}), &["Saved Assets/Levels/One.unity"]),
        ok("Play", "play-mode", json!({"Action": "Enter"}), &["\"IsPlaying\":true"]),
        ok("A picture", "screenshot", json!({"Source": "Game"}), &["\"Width\""]),
        ok("An edit that is lost", "edit-component", set(9), &["is lost when it stops"]),
        ok("Stop", "play-mode", json!({"Action": "Exit"}), &["\"IsPlaying\":false"]),
        ok(
            "A prefab of it",
            "prefabs",
            json!({"Action": "Create", "Object": "Hero", "Path": "Assets/Hero.prefab"}),
            &["Assets/Hero.prefab"],
        ),
        ok(
            "Open it",
            "prefabs",
            json!({"Action": "Open", "Path": "Assets/Hero.prefab"}),
            &["Opened Assets/Hero.prefab"],
        ),
        ok("Larger in the prefab", "edit-component", set(3), &["Hero"]),
        refused("Close it too early", "prefabs", json!({"Action": "Close"}), &["unsaved changes"]),
        ok("Save it", "prefabs", json!({"Action": "Save"}), &["Assets/Hero.prefab"]),
        ok("Close it", "prefabs", json!({"Action": "Close"}), &["Closed"]),
        ok("What has the prefab?", "inspect", json!({"Object": "Assets/Hero.prefab"}), &["Rigidbody"]),
        ok("Save", "scene", json!({"Action": "Save"}), &["One.unity"]),
        ok("Nothing red?", "get-logs", json!({"LogType": "Error"}), &["\"Logs\""]),
    ]
}

/// What was played so far.
#[derive(Debug, Default)]
pub struct Played {
    calls: Vec<(String, String)>,
    faults: Vec<String>,
}

impl Played {
    /// Notes the answer to the call of a step, and what is wrong with it.
    pub fn note(&mut self, step: &Step, answer: &Answer) {
        let text = answer.text();
        self.calls.push((format!("# {}\n> {} {}", step.wants, step.tool, step.arguments), text.clone()));
        let mut fault = |what: String| self.faults.push(format!("{} ({}): {what}", step.wants, step.tool));
        if answer.verdict() != step.verdict {
            fault(format!("ended with {:?}", answer.verdict()));
        }
        step.shows.iter().filter(|shown| !text.contains(**shown)).for_each(|missing| fault(format!("no {missing}")));
        let blocks = answer.0.pointer("/result/content").and_then(Value::as_array);
        let shows = step.tool == "screenshot" && step.verdict == Verdict::Ok;
        if blocks.into_iter().flatten().any(|block| block["type"] == "image") != shows {
            fault("a picture belongs to a screenshot".to_owned());
        }
    }

    /// Returns the transcript.
    ///
    /// # Panics
    /// An answer was not what it must be; the transcript is in the message.
    #[must_use]
    pub fn transcript(self) -> String {
        self.transcript_of(str::to_owned)
    }

    /// Returns the transcript, with each answer as `kept` makes it.
    ///
    /// # Panics
    /// An answer was not what it must be; the transcript is in the message.
    #[must_use]
    pub fn transcript_of(self, kept: impl Fn(&str) -> String) -> String {
        let mut transcript = String::new();
        for (call, answer) in &self.calls {
            let _ = writeln!(transcript, "{call}\n{}\n", kept(answer));
        }
        assert!(self.faults.is_empty(), "{transcript}\n{}", self.faults.join("\n"));
        transcript
    }
}
