//! A result that is there is given: also if the session that it was written to was killed with it.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use holdfast_fake_unity::Package;
use serde_json::{Value, json};

use super::client::{self, Client, Verdict};
use super::hub::{Hub, flags, open};
use super::unity::Unity;
use super::{Room, until};

fn dialects() -> [&'static str; 2] {
    [Package::without_a_journal().name, Package::with_a_journal().name]
}

/// The id of the newest call of `count`, and its record.
fn newest(client: &mut Client) -> (String, Value) {
    let calls = client.done("holdfast_calls", &json!({})).body();
    let of_count = calls["calls"].as_array().unwrap().iter().find(|call| call["tool"] == "count").cloned();
    let record = of_count.unwrap_or_else(|| panic!("{calls}"));
    (record["call_id"].as_str().unwrap().to_owned(), record)
}

/// What `holdfast_result` says of the newest call of `count`, once that has ended.
fn result(client: &mut Client) -> String {
    let mut id = String::new();
    until("the call has ended", || {
        let (call, record) = newest(client);
        id = call;
        record["verdict"] == "ok"
    });
    client.done("holdfast_result", &json!({"call_id": id})).text()
}

fn deaf(room: &Room) -> Client {
    let mut command = client::command(room);
    command.args(flags(room, &[]).iter().map(|flag| &**flag));
    let mut deaf = Client::deaf(room, command);
    let client = json!({"name": "process-test", "version": "1"});
    deaf.ask("initialize", &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}));
    deaf
}

/// Fills the pipe to the client, which reads nothing, and makes a call whose answer has to wait behind that.
fn stuff(deaf: &mut Client, room: &Room) {
    deaf.call("echo", &json!({"text": "x".repeat(512 * 1024)}));
    // A small answer does not wait behind a large one that is on its way from a hub.
    let unread = |deaf: &Client| rustix::io::ioctl_fionread(deaf.stdout().expect("not read")).expect("a pipe");
    until("the pipe is full", || unread(deaf) >= 4096);
    deaf.call("count", &json!({"key": "stuck"}));
    until("it ran", || room.runs("stuck") == 1);
}

#[test]
fn the_result_of_a_call_whose_session_was_killed_is_given_to_the_next_one() {
    for dialect in dialects() {
        let room = Room::new();
        let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", dialect]);
        let _hub = Hub::start(&room);
        let mut first = open(&room, &[]);
        first.echoes();
        first.call("count", &json!({"key": "held", "hold": true}));
        until("the call runs", || room.runs("held") == 1);
        first.kill();
        unity.order("release");
        let told = result(&mut open(&room, &[]));
        assert!(told.contains("\"Runs\":1"), "{dialect}: {told}");
    }
}

/// Its answer is in the socket to it: the system took it, and nobody read it.
#[test]
fn the_result_of_a_call_is_given_while_its_session_stands_still_and_after_that_was_killed() {
    for dialect in dialects() {
        let room = Room::new();
        let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", dialect]);
        let hub = Hub::start(&room);
        let mut first = open(&room, &[]);
        let mut other = open(&room, &[]);
        first.echoes();
        first.call("count", &json!({"key": "held", "hold": true}));
        until("the call runs", || room.runs("held") == 1);
        first.stop();
        unity.order("release");
        for _ in 0..2 {
            let told = result(&mut other);
            assert!(told.contains("\"Runs\":1"), "{dialect}: {told}");
            first.kill();
        }
        // The next hub has it too.
        drop(hub);
        let _next = Hub::start(&room);
        let (id, _) = newest(&mut other);
        let told = other.done("holdfast_result", &json!({"call_id": id})).text();
        assert!(told.contains("\"Runs\":1"), "{dialect}: {told}");
    }
}

#[test]
fn a_result_that_a_killed_session_had_not_passed_on_is_given() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let _hub = Hub::start(&room);
    open(&room, &[]).echoes();
    let mut deaf = deaf(&room);
    stuff(&mut deaf, &room);
    let mut other = open(&room, &[]);
    for _ in 0..2 {
        let told = result(&mut other);
        assert!(told.contains("\"Runs\":1"), "{told}");
        deaf.kill();
    }
}

/// Without a hub the gateway dies with its client. It has written down what the client did not read.
#[test]
fn a_result_that_a_killed_gateway_had_not_written_is_given_by_the_next_one() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    open(&room, &["--hub", "never"]).echoes();
    let mut deaf = deaf(&room);
    stuff(&mut deaf, &room);
    let recorded = || {
        let files = std::fs::read_dir(room.state().join("calls")).into_iter().flatten().flatten();
        files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).any(|text| text.contains(r#"\"Runs\":1"#))
    };
    until("it is written down", recorded);
    deaf.kill();
    let mut next = open(&room, &["--hub", "never"]);
    let mut told = String::new();
    until("the next gateway has it", || {
        let calls = next.done("holdfast_calls", &json!({})).body();
        let of_count = calls["calls"].as_array().unwrap().iter().find(|call| call["tool"] == "count");
        let Some(id) = of_count.map(|call| call["call_id"].clone()) else { return false };
        told = next.done("holdfast_result", &json!({"call_id": id})).text();
        true
    });
    assert!(told.contains("\"Runs\":1"), "{told}");
    assert_eq!(room.runs("stuck"), 1);
}

/// The editor cannot read the arguments, so it names no request in its answer.
#[test]
fn a_call_that_the_editor_cannot_read_is_answered_at_once_as_one_that_did_not_run() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet", "--dialect", "holdfast"]);
    let mut client = open(&room, &["--hub", "never"]);
    client.echoes();
    let (id, line) =
        client.request_line("tools/call", &json!({"name": "count", "arguments": {"key": "odd", "n": 77_123}}));
    client.write(line.replace("77123", "1e400").as_bytes()).unwrap();
    let answer = client.answer(id);
    assert_eq!(answer.verdict(), Verdict::ToolError, "{}", answer.0);
    assert!(answer.text().contains("Nothing of the call ran"), "{}", answer.0);
    assert_eq!(room.runs("odd"), 0);
    client.echoes();
    client.close(&room);
}
