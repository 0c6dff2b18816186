//! The task of an agent with the package's real C#.

use chaos_tests::record::Record;
use holdfast_testkit::agent_task;

use super::stage::{Stage, on_both};

#[test]
fn an_agent_makes_a_scene_mends_a_script_plays_and_edits_a_prefab() {
    on_both("agent-task", &["U01"], |runtime, scenario| {
        let mut stage = Stage::open(runtime, &[]);
        let transcript = agent_task::play(|tool, arguments| stage.client.done(tool, arguments));
        let file = Record::folder().join(format!("agent-task-{}.txt", runtime.name()));
        std::fs::write(file, transcript).expect("the folder of the records");
        scenario.record.checked("I1", agent_task::steps().len() as u64);
        stage.close(scenario);
    });
}
