//! The same tests for every dialect: each plays a moment (a situation in a session) with the real binary and a fake editor
//! that speaks the dialect. The expected outcomes are data ([`expected`]); the table in `docs/protocols.md` is written from
//! them.

mod expected;
mod moments;
mod stage;
mod table;
mod unreadable;

use crate::process::client;
use crate::process::room::{Room, until};

use expected::{DIALECTS, MOMENTS, expected};

/// Plays every moment with one dialect, and reports all differences from the expected outcomes together.
fn every_moment(name: &str) {
    let dialect = DIALECTS.iter().find(|dialect| dialect.name == name).expect("a dialect of the table");
    let mut differ = Vec::new();
    for moment in &MOMENTS {
        let seen = (moment.play)(dialect);
        let wanted = expected(dialect.name, moment.name);
        if seen != wanted.outcome {
            differ.push(format!("{}: {seen:?}, not {:?}", moment.name, wanted.outcome));
        }
    }
    assert!(differ.is_empty(), "{name}: {differ:#?}");
}

#[test]
fn our_own_package() {
    every_moment("holdfast");
}

#[test]
fn turbokettle() {
    every_moment("turbokettle");
}

#[test]
fn unity_mcp() {
    every_moment("unity-mcp");
}

#[test]
fn umcp() {
    every_moment("umcp");
}

#[test]
fn uloop() {
    every_moment("uloop");
}

/// To read the console is a call of the package's own tool.
#[test]
fn the_console_can_be_read_with_every_package_that_has_a_tool_for_it() {
    for dialect in &DIALECTS {
        let mut stage = stage::Stage::set(dialect);
        // The read waits until the editor's tools are known, so the list after it has what the editor has.
        let id = stage.client.ask("resources/read", &serde_json::json!({"uri": "holdfast://console"}));
        let read = stage.client.answer(id).0;
        let has_it = dialect.name != "unity-mcp";
        assert_eq!(read["result"]["contents"][0]["text"].is_string(), has_it, "{}: {read}", dialect.name);
        let id = stage.client.ask("resources/list", &serde_json::json!({}));
        let listed = stage.client.answer(id).0;
        assert_eq!(listed.to_string().contains("holdfast://console"), has_it, "{}: {listed}", dialect.name);
        stage.end();
    }
}

/// The project has another package each time it is opened, while the client's session continues.
#[test]
fn a_project_changes_its_package_under_a_running_session() {
    let room = Room::new();
    let project = room.project();
    let mut client = None;
    for name in ["uloop", "turbokettle", "holdfast", "umcp", "uloop"] {
        let dialect = DIALECTS.iter().find(|dialect| dialect.name == name).expect("a dialect of the table");
        for of_packages in ["Packages", "UserSettings", "Library"] {
            let _ = std::fs::remove_dir_all(project.join(of_packages));
        }
        let unity = stage::start(dialect, &room);
        let client =
            client.get_or_insert_with(|| client::Client::open(&room, &["--project", &project.display().to_string()]));
        until("the other package is spoken", || {
            let status = client.done("holdfast_status", &serde_json::json!({})).body();
            status["package"]["dialect"] == name && status["editor"]["ready"] == true
        });
        let (tool, arguments) = (dialect.count)(&format!("of {name}"));
        let answer = client.done(tool, &arguments);
        assert_eq!(answer.verdict(), client::Verdict::Ok, "{name}: {}", answer.0);
        drop(unity);
    }
    assert_eq!((room.runs("of uloop"), room.runs("of turbokettle"), room.runs("of holdfast")), (2, 1, 1));
    client.expect("a session").close(&room);
}

#[test]
fn the_document_tells_what_is_tested() {
    table::is_current();
}

#[test]
fn every_dialect_has_its_test_and_its_column() {
    let spoken: Vec<&str> = holdfast::protocol::dialect::ALL.iter().map(|dialect| dialect.name()).collect();
    let tested: Vec<&str> = DIALECTS.iter().map(|dialect| dialect.name).collect();
    assert_eq!(spoken, tested);
}
