//! The task of an agent with the package's real C#.

use chaos_tests::record::Record;
use holdfast_testkit::agent_task::{self, Played};

use super::stage::{Stage, on_both};

#[test]
fn an_agent_makes_a_scene_mends_a_script_plays_and_edits_a_prefab() {
    on_both("agent-task", &["U01"], |runtime, scenario| {
        let mut stage = Stage::open(runtime, &[]);
        let mut played = Played::default();
        for step in agent_task::steps() {
            played.note(&step, &stage.client.done(step.tool, &step.arguments));
        }
        let file = Record::folder().join(format!("agent-task-{}.txt", runtime.name()));
        std::fs::write(file, played.transcript()).expect("the folder of the records");
        scenario.record.checked("I1", agent_task::steps().len() as u64);
        stage.close(scenario);
    });
}
