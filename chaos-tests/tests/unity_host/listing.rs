//! The list of tools that the fake editor has is the one of the real package.

use std::path::Path;

use chaos_tests::room::until;
use serde_json::Value;

use super::stage::{Stage, on_both, words};
use super::wire::{Recorder, take_frame};

/// The list in the fake editor.
const LIST: &str = "crates/fake-unity/src/holdfast/package-tools.json";

/// Returns the package's own tools from the editor's answer to `holdfast/tools`, one member a line.
fn listed(said: &[u8]) -> Option<String> {
    let mut rest = said.to_vec();
    let answer = std::iter::from_fn(|| take_frame(&mut rest)).find(|one| one["result"]["tools"].is_array())?;
    // The simulated editor's own tools have no group, and are not for development.
    let own = |tool: &&Value| tool["group"].is_string() || tool["developmentOnly"] == true;
    let tools = answer["result"]["tools"].as_array().into_iter().flatten().filter(own).map(|tool| {
        // What the user's settings block is no fact about the package.
        let members = tool.as_object().into_iter().flatten().filter(|(name, _)| *name != "blocked");
        let lines: Vec<String> = members.map(|(name, value)| format!("    \"{name}\": {value}")).collect();
        format!("  {{\n{}\n  }}", lines.join(",\n"))
    });
    Some(format!("[\n{}\n]\n", tools.collect::<Vec<_>>().join(",\n")))
}

#[test]
fn the_fake_editor_has_the_tools_that_the_package_lists() {
    on_both("listing", &[], |runtime, scenario| {
        let mut recorder = None;
        let stage = Stage::with_gateway(runtime, &[], |port| {
            words(["--port", &recorder.insert(Recorder::start(port)).port.to_string()])
        });
        let recorder = recorder.expect("it was started");
        until("the list went by", || listed(&recorder.first().to_gateway).is_some());
        let real = listed(&recorder.first().to_gateway).expect("it went by");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(LIST);
        if std::env::var_os("UPDATE_PACKAGE_TOOLS").is_some() {
            std::fs::write(&file, &real).expect("the file can be written");
        }
        let ours = std::fs::read_to_string(&file).expect("the list of the fake editor");
        let differs = real.lines().zip(ours.lines()).find(|(real, ours)| real != ours);
        assert!(
            real == ours,
            "{LIST} is not what the package lists; set UPDATE_PACKAGE_TOOLS=1, run this test again, and read the difference. First: {differs:?}"
        );
        stage.close(scenario);
    });
}
