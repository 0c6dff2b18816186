//! The tasks of an agent with the package's real C#.

use std::path::Path;

use chaos_tests::record::Record;
use holdfast_testkit::agent_task::{self, Played, Step};
use holdfast_testkit::{editor_tasks, ui_task};

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

/// Plays a task, and compares it with what the package's documentation has of it.
fn played_as_kept(stage: &mut Stage, page: &str, steps: &[Step]) {
    let mut played = Played::default();
    for step in steps {
        played.note(step, &stage.client.done(step.tool, &step.arguments));
    }
    let text = played.transcript_of(editor_tasks::kept);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../unity/Documentation~/tasks").join(page);
    if std::env::var_os("UPDATE_TASKS").is_some() {
        std::fs::write(&file, &text).expect("the file can be written");
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = text.lines().zip(kept.lines()).find(|(now, kept)| now != kept);
    assert!(
        text == kept,
        "{page} is not what is played; set UPDATE_TASKS=1, run this test again, and read the difference. First: {differs:?}"
    );
}

#[test]
fn an_agent_sets_up_a_project_as_the_page_says() {
    on_both("project-task", &["U01"], |runtime, scenario| {
        let mut stage = Stage::open(runtime, &[]);
        std::fs::write(stage.room.project().join("Assets/Hero.png"), "Hero_0").expect("a picture");
        let steps = editor_tasks::project();
        played_as_kept(&mut stage, "project.txt", &steps);
        scenario.record.checked("I1", steps.len() as u64);
        stage.close(scenario);
    });
}

#[test]
fn an_agent_changes_prefab_files_as_the_page_says() {
    on_both("prefab-task", &["U01"], |runtime, scenario| {
        let mut stage = Stage::open(runtime, &[]);
        let steps = editor_tasks::prefab_files();
        played_as_kept(&mut stage, "prefabs.txt", &steps);
        scenario.record.checked("I1", steps.len() as u64);
        stage.close(scenario);
    });
}

#[test]
fn an_agent_makes_a_user_interface_as_the_page_says() {
    on_both("ui-task", &["U01"], |runtime, scenario| {
        let mut stage = Stage::open(runtime, &["--flag", "inputSystem"]);
        let steps = ui_task::user_interface();
        played_as_kept(&mut stage, "ui.txt", &steps);
        scenario.record.checked("I1", steps.len() as u64);
        stage.close(scenario);
    });
}
