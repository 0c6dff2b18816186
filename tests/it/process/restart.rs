//! A gateway of one client that is killed, or ends, while the editor runs a call: the next gateway says what became of the call.

use holdfast_fake_unity::Package;
use serde_json::{Value, json};

use super::client::{Client, Verdict};
use super::unity::Unity;
use super::{Room, until};

pub(super) const PATIENCE: u64 = 6;

fn open(room: &Room) -> Client {
    Client::open(room, &["--project", &room.project().display().to_string()])
}

/// Lets the gateway find its project and what earlier gateways left. Returns the text of the answer of a call.
fn takes_over(client: &mut Client) -> String {
    client.done("holdfast_wait_ready", &json!({}));
    until("it is taken over", || client.log().contains("calls_left"));
    client.done("echo", &json!({})).text()
}

/// Starts a call that the editor holds.
pub(super) fn running(room: &Room, client: &mut Client, key: &str) -> u64 {
    client.echoes();
    let call = client.call("count", &json!({"key": key, "hold": true}));
    until("the call runs", || room.runs(key) == 1);
    call
}

/// Returns the id of the call that a text names.
pub(super) fn named_in(text: &str) -> &str {
    let mut words = text.split(|c: char| !c.is_ascii_hexdigit() && c != '-');
    words.find(|word| word.len() >= 32).unwrap_or_else(|| panic!("no call is named: {text}"))
}

/// Asks for a call's result until it is neither looked for nor running.
pub(super) fn result_of(client: &mut Client, call: &str) -> super::client::Answer {
    let mut last = None;
    until("what became of the call", || {
        let answer = client.done("holdfast_result", &json!({"call_id": call}));
        let is_open = answer.text().contains("not finished");
        last = Some(answer);
        !is_open
    });
    last.expect("it was asked")
}

/// Waits until it is on record that clients have all answers. Of a gateway that is killed before, the next one tells of an answered call.
pub(super) fn is_noted(room: &Room) {
    until("it is noted", || {
        let files =
            std::fs::read_dir(room.state().join("calls")).into_iter().flatten().flatten().map(|file| file.path());
        let files = files.chain([room.state().join("hub/calls.jsonl")]);
        let text: String = files.filter_map(|path| std::fs::read_to_string(path).ok()).collect();
        let count = |kind: &str| text.matches(&format!("{{\"{kind}\":")).count();
        count("sent") <= count("delivered") + count("dropped")
    });
}

fn left_records(room: &Room) -> Vec<std::path::PathBuf> {
    let files = std::fs::read_dir(room.state().join("calls")).into_iter().flatten().flatten();
    files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")).collect()
}

#[test]
fn what_a_killed_gateway_had_sent_is_told_by_the_next_one_and_not_sent_again() {
    for (dialect, verdict) in
        [(Package::with_a_journal().name, Verdict::Ok), (Package::without_a_journal().name, Verdict::Unknown)]
    {
        let room = Room::new();
        let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", dialect]);
        let mut client = open(&room);
        running(&room, &mut client, "kept");
        client.kill();
        if dialect == "holdfast" {
            unity.order("release");
        }
        // A second kill loses nothing either, and who was told is not told again.
        for nth in 1..=2 {
            let mut client = open(&room);
            let told = takes_over(&mut client);
            assert_eq!(told.contains("`count`"), nth == 1, "{told}");
            client.kill();
        }
        let mut client = open(&room);
        takes_over(&mut client);
        let calls = client.done("holdfast_calls", &json!({}));
        let id = calls.body()["calls"].as_array().and_then(|calls| {
            calls
                .iter()
                .find(|call| call["tool"] == "count")
                .map(|call| call["call_id"].as_str().unwrap_or_default().to_owned())
        });
        let id = id.unwrap_or_else(|| panic!("{dialect}: {}", calls.0));
        let found = result_of(&mut client, &id);
        assert_eq!(found.verdict(), verdict, "{dialect}: {}", found.0);
        let calls = client.done("holdfast_calls", &json!({})).body().to_string();
        assert_eq!(calls.contains("outcome_unknown"), verdict == Verdict::Unknown, "{dialect}: {calls}");
        assert_eq!(room.runs("kept"), 1, "{dialect}");
        client.close(&room);
    }
}

#[test]
fn the_client_whose_call_was_lost_is_told_in_one_sentence_once() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet", "--dialect", "holdfast"]);
    let mut client = open(&room);
    running(&room, &mut client, "kept");
    client.kill();
    let mut client = open(&room);
    let told = takes_over(&mut client);
    assert!(told.contains("An earlier holdfast process") && told.contains("`count`"), "{told}");
    named_in(&told);
    let again = client.done("echo", &json!({})).text();
    assert!(!again.contains("An earlier holdfast process"), "{again}");
    client.close(&room);
}

#[test]
fn a_call_that_was_told_to_be_running_keeps_its_id_over_a_restart() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", "holdfast"]);
    for (key, ends) in [("killed", false), ("ended", true)] {
        let mut client = Client::impatient(&room, PATIENCE, &["--project", &room.project().display().to_string()]);
        let call = running(&room, &mut client, key);
        let told = client.answer(call);
        assert_eq!(told.verdict(), Verdict::StillRunning, "{}", told.0);
        let id = named_in(&told.text()).to_owned();
        is_noted(&room);
        if ends {
            client.close(&room);
        } else {
            client.kill();
        }
        unity.order("release");
        let mut client = open(&room);
        let text = takes_over(&mut client);
        assert!(!text.contains("`count`"), "its client was answered: {text}");
        let found = result_of(&mut client, &id);
        assert_eq!((found.verdict(), room.runs(key)), (Verdict::Ok, 1), "{}", found.0);
        // The result is kept for the gateway after that.
        client.kill();
        let mut client = open(&room);
        takes_over(&mut client);
        assert_eq!(result_of(&mut client, &id).verdict(), Verdict::Ok);
        client.close(&room);
    }
}

#[test]
fn a_gateway_that_ends_while_a_call_is_looked_for_leaves_it_to_the_next_one() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", "holdfast"]);
    let mut client = open(&room);
    running(&room, &mut client, "kept");
    client.kill();
    let mut client = open(&room);
    let id = named_in(&takes_over(&mut client)).to_owned();
    client.close(&room);
    unity.order("release");
    let mut client = open(&room);
    takes_over(&mut client);
    let found = result_of(&mut client, &id);
    assert_eq!((found.verdict(), room.runs("kept")), (Verdict::Ok, 1), "{}", found.0);
    client.close(&room);
}

#[test]
fn a_call_that_ran_when_its_client_ended_the_session_is_known_to_the_next_gateway() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", "holdfast"]);
    let mut client = open(&room);
    let call = running(&room, &mut client, "kept");
    client.close_stdin();
    client.ended_within(super::SOON);
    let told = client.answer(call);
    assert_eq!(told.verdict(), Verdict::Unknown, "{}", told.0);
    let id = named_in(&told.text()).to_owned();
    unity.order("release");
    let mut client = open(&room);
    let text = takes_over(&mut client);
    assert!(!text.contains("`count`"), "its client has an answer: {text}");
    let found = result_of(&mut client, &id);
    assert_eq!((found.verdict(), room.runs("kept")), (Verdict::Ok, 1), "{}", found.0);
    client.close(&room);
}

#[test]
fn what_a_client_lost_waits_for_that_client() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet", "--dialect", "holdfast"]);
    let mut client = open(&room);
    running(&room, &mut client, "kept");
    client.kill();
    let mut command = super::client::command(&room);
    command.args(["--project", &room.project().display().to_string()]);
    let mut other = Client::spawn(&room, command);
    other.open_as("another client", "2025-11-25", json!({}));
    other.done("echo", &json!({}));
    let mut client = open(&room);
    assert!(takes_over(&mut client).contains("`count`"));
    let told = other.done("echo", &json!({})).text();
    assert!(!told.contains("`count`"), "{told}");
    client.close(&room);
    other.close(&room);
}

#[test]
fn a_gateway_whose_calls_are_answered_leaves_no_records() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let mut client = open(&room);
    client.echoes();
    assert_eq!(left_records(&room).len(), 1);
    client.close(&room);
    assert!(std::fs::read_dir(room.state().join("calls")).is_ok_and(|files| files.count() == 0));
}

#[test]
fn a_gateway_that_does_not_know_its_project_records_nothing_that_nobody_could_take_over() {
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let mut client = Client::open(&room, &["--port", &unity.port.to_string()]);
    running(&room, &mut client, "kept");
    client.kill();
    let records: Vec<String> =
        left_records(&room).iter().map(|path| std::fs::read_to_string(path).unwrap_or_default()).collect();
    assert_eq!((records.len(), records.concat().matches("sent").count()), (1, 0), "{records:?}");
}

#[test]
fn a_gateway_that_cannot_keep_records_calls_all_the_same_and_says_so() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    std::fs::create_dir_all(room.state()).expect("the state folder");
    std::fs::write(room.state().join("calls"), "in the way").expect("a file in its place");
    let mut client = open(&room);
    client.echoes();
    let status: Value = client.done("holdfast_status", &json!({})).body();
    let problems = status["problems"].to_string();
    assert!(problems.contains("cannot be written") && problems.contains("calls are sent all the same"), "{problems}");
    client.close(&room);
}
