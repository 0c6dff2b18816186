//! A hub and its sessions are killed together, or a session goes on without a hub and is killed too: the next gateway, with a hub or
//! without one, says what became of their calls.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use holdfast_fake_unity::Package;
use nix::sys::signal::{Signal, kill};
use serde_json::json;

use super::client::{self, Client, Verdict};
use super::hub::{Hub, attached, elected, flags, open};
use super::restart::{PATIENCE, is_noted, named_in, result_of, running};
use super::unity::Unity;
use super::{Room, until};

/// What the client is told of calls that an earlier gateway did not answer.
const LEFT: &str = "An earlier holdfast process";

fn open_as(room: &Room, name: &str, more: &[&str]) -> Client {
    let mut command = client::command(room);
    command.args(flags(room, more).iter().map(|flag| &**flag));
    let mut client = Client::spawn(room, command);
    client.open_as(name, "2025-11-25", json!({}));
    client
}

/// Kills the hub of a room that no test started.
fn kill_hub(room: &Room) {
    let pid = elected(room);
    let _ = kill(pid, Signal::SIGKILL);
    until("the hub has ended", || kill(pid, None).is_err());
}

/// Makes calls until the client is told that an earlier gateway left some. Returns what it is told.
fn told(client: &mut Client) -> String {
    let mut told = String::new();
    client.done("holdfast_wait_ready", &json!({}));
    until("it is told of what was left", || {
        told = client.done("echo", &json!({})).text();
        told.contains(LEFT)
    });
    told
}

/// Looks whether the client is told that an earlier gateway left calls, after it had time for that.
fn is_told_again(client: &mut Client) -> bool {
    client.done("holdfast_wait_ready", &json!({}));
    (0..3).any(|_| client.done("echo", &json!({})).text().contains(LEFT))
}

#[test]
fn what_a_hub_and_its_session_had_sent_when_both_were_killed_is_told_once_by_the_next_gateway() {
    for (dialect, verdict) in
        [(Package::with_a_journal().name, Verdict::Ok), (Package::without_a_journal().name, Verdict::Unknown)]
    {
        for mode in ["never", "auto", "start"] {
            let room = Room::new();
            let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", dialect]);
            let mut hub = Hub::start(&room);
            let mut client = open(&room, &[]);
            running(&room, &mut client, "kept");
            assert!(attached(&client));
            hub.0.kill().unwrap();
            client.kill();
            drop((hub, client));
            if dialect == "holdfast" {
                unity.order("release");
            }
            let mut client = open(&room, &["--hub", mode]);
            let told = told(&mut client);
            assert!(told.contains("`count`"), "{dialect}, {mode}: {told}");
            let id = named_in(&told).to_owned();
            let found = result_of(&mut client, &id);
            assert_eq!(found.verdict(), verdict, "{dialect}, {mode}: {}", found.0);
            // A second kill loses nothing either, and who was told is not told again.
            if mode == "start" {
                kill_hub(&room);
            }
            client.kill();
            drop(client);
            let mut client = open(&room, &["--hub", mode]);
            client.done("holdfast_wait_ready", &json!({}));
            until("it is taken over again", || !result_of(&mut client, &id).text().contains("No call"));
            let found = result_of(&mut client, &id);
            assert_eq!(found.verdict(), verdict, "{dialect}, {mode}, again: {}", found.0);
            assert!(!is_told_again(&mut client), "{dialect}, {mode}");
            assert_eq!(room.runs("kept"), 1, "{dialect}, {mode}");
            client.close(&room);
            if mode == "start" {
                kill_hub(&room);
            }
        }
    }
}

/// Its late result is there under the id that the client was told.
#[test]
fn a_call_that_was_told_to_be_running_keeps_its_id_when_the_hub_and_its_session_are_killed() {
    for mode in ["never", "start"] {
        let room = Room::new();
        let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", "holdfast"]);
        let mut hub = Hub::start(&room);
        let given = flags(&room, &[]);
        let mut client = Client::impatient(&room, PATIENCE, &given.iter().map(|flag| &**flag).collect::<Vec<_>>());
        let call = running(&room, &mut client, "late");
        let told = client.answer(call);
        assert_eq!(told.verdict(), Verdict::StillRunning, "{}", told.0);
        let id = named_in(&told.text()).to_owned();
        is_noted(&room);
        hub.0.kill().unwrap();
        client.kill();
        drop((hub, client));
        unity.order("release");
        let mut client = open(&room, &["--hub", mode]);
        client.done("holdfast_wait_ready", &json!({}));
        let mut found = None;
        until("the late result", || {
            let answer = client.done("holdfast_result", &json!({"call_id": id}));
            let is_there = answer.verdict() == Verdict::Ok && !answer.text().contains("not finished");
            found = is_there.then_some(answer);
            found.is_some()
        });
        assert!(!is_told_again(&mut client), "{mode}: its client was answered");
        assert_eq!(room.runs("late"), 1, "{mode}");
        client.close(&room);
        if mode == "start" {
            kill_hub(&room);
        }
    }
}

/// The other client's next gateway finds what was left of its own call.
#[test]
fn what_a_hub_left_waits_for_the_client_that_made_the_call() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet", "--dialect", Package::without_a_journal().name]);
    let mut hub = Hub::start(&room);
    let mut client = open(&room, &[]);
    running(&room, &mut client, "kept");
    hub.0.kill().unwrap();
    client.kill();
    drop((hub, client));
    let mut other = open_as(&room, "another client", &["--hub", "never"]);
    assert!(!is_told_again(&mut other));
    let mut client = open(&room, &["--hub", "never"]);
    assert!(told(&mut client).contains("`count`"));
    assert!(!is_told_again(&mut other));
    client.close(&room);
    other.close(&room);
}

/// A session that stands still is no session that has ended: it brings its request to the next hub.
#[test]
fn what_a_hub_left_of_a_session_that_lives_is_left_to_that_session() {
    for (dialect, verdict) in
        [(Package::with_a_journal().name, Verdict::Ok), (Package::without_a_journal().name, Verdict::Unknown)]
    {
        for mode in ["never", "start"] {
            let room = Room::new();
            let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", dialect]);
            let hub = Hub::start(&room);
            let mut client = open(&room, &[]);
            let call = running(&room, &mut client, "kept");
            client.stop();
            drop(hub);
            let mut other = open(&room, &["--hub", mode]);
            assert!(!is_told_again(&mut other), "{dialect}, {mode}");
            if dialect == "holdfast" {
                unity.order("release");
            }
            client.signal(Signal::SIGCONT);
            let answer = client.answer(call);
            assert_eq!((answer.verdict(), room.runs("kept")), (verdict, 1), "{dialect}, {mode}: {}", answer.0);
            assert!(!is_told_again(&mut other), "{dialect}, {mode}");
            client.close(&room);
            other.close(&room);
            kill_hub(&room);
        }
    }
}

/// Kills the hub of a session that then goes on by itself, because no other hub can be started.
fn goes_on_by_itself(room: &Room, hub: Hub, client: &Client) -> File {
    let lock = File::create(room.state().join("hub/start.lock")).unwrap();
    lock.lock().unwrap();
    drop(hub);
    until("the session serves itself", || client.log().contains("hub_forgone"));
    lock
}

#[test]
fn the_records_of_a_killed_hub_and_of_its_session_that_went_on_are_both_read() {
    for mode in ["never", "start"] {
        let room = Room::new();
        let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", "holdfast"]);
        let hub = Hub::start(&room);
        let mut other = open_as(&room, "another client", &[]);
        running(&room, &mut other, "of-the-hub");
        let mut client = open(&room, &[]);
        client.done("holdfast_status", &json!({}));
        other.kill();
        drop(other);
        let lock = goes_on_by_itself(&room, hub, &client);
        unity.order("release");
        running(&room, &mut client, "of-the-gateway");
        client.kill();
        drop((client, lock));
        unity.order("release");
        for name in ["another client", "process-test"] {
            let mut client = open_as(&room, name, &["--hub", mode]);
            let told = told(&mut client);
            assert_eq!(told.matches("`count`").count(), 1, "{mode}, {name}: {told}");
            let found = result_of(&mut client, named_in(&told));
            assert_eq!(found.verdict(), Verdict::Ok, "{mode}, {name}: {}", found.0);
            assert!(!is_told_again(&mut client), "{mode}, {name}");
            client.close(&room);
        }
        assert_eq!((room.runs("of-the-hub"), room.runs("of-the-gateway")), (1, 1), "{mode}");
        if mode == "start" {
            kill_hub(&room);
        }
    }
}

/// What the hub had sent for it is in its own records then.
#[test]
fn a_session_that_went_on_without_its_hub_leaves_each_of_its_calls_once() {
    for mode in ["never", "start"] {
        for answered in [true, false] {
            let room = Room::new();
            let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", "holdfast"]);
            let hub = Hub::start(&room);
            let mut client = open(&room, &[]);
            let call = running(&room, &mut client, "kept");
            let lock = goes_on_by_itself(&room, hub, &client);
            if answered {
                unity.order("release");
                let answer = client.answer(call);
                assert_eq!(answer.verdict(), Verdict::Ok, "{mode}: {}", answer.0);
                is_noted(&room);
            } else {
                client.done("holdfast_wait_ready", &json!({}));
            }
            client.kill();
            drop((client, lock));
            unity.order("release");
            let mut client = open(&room, &["--hub", mode]);
            if answered {
                assert!(!is_told_again(&mut client), "{mode}: its client was answered");
            } else {
                let told = told(&mut client);
                assert_eq!(told.matches("`count`").count(), 1, "{mode}: {told}");
                assert_eq!(result_of(&mut client, named_in(&told)).verdict(), Verdict::Ok, "{mode}");
                assert!(!is_told_again(&mut client), "{mode}");
            }
            assert_eq!(room.runs("kept"), 1, "{mode}");
            client.close(&room);
            if mode == "start" {
                kill_hub(&room);
            }
        }
    }
}

/// A call without a journal is told as unknown by the session that goes on, and by nobody again.
#[test]
fn what_a_session_told_as_unknown_when_it_went_on_without_its_hub_is_not_told_again() {
    for mode in ["never", "start"] {
        let room = Room::new();
        let _unity = Unity::of_project(&room, &["--quiet", "--dialect", Package::without_a_journal().name]);
        let hub = Hub::start(&room);
        let mut client = open(&room, &[]);
        let call = running(&room, &mut client, "kept");
        let lock = goes_on_by_itself(&room, hub, &client);
        let answer = client.answer(call);
        assert_eq!(answer.verdict(), Verdict::Unknown, "{mode}: {}", answer.0);
        is_noted(&room);
        client.kill();
        drop((client, lock));
        let mut client = open(&room, &["--hub", mode]);
        assert!(!is_told_again(&mut client), "{mode}");
        assert_eq!(room.runs("kept"), 1, "{mode}");
        client.close(&room);
        if mode == "start" {
            kill_hub(&room);
        }
    }
}

/// The session's client knows the id, and asks for the result in the gateway that the session has become.
#[test]
fn a_call_that_a_hub_told_to_be_running_is_known_to_its_session_that_goes_on_without_a_hub() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", "holdfast"]);
    let hub = Hub::start(&room);
    let given = flags(&room, &[]);
    let mut client = Client::impatient(&room, PATIENCE, &given.iter().map(|flag| &**flag).collect::<Vec<_>>());
    let call = running(&room, &mut client, "late");
    let told = client.answer(call);
    assert_eq!(told.verdict(), Verdict::StillRunning, "{}", told.0);
    let id = named_in(&told.text()).to_owned();
    let _lock = goes_on_by_itself(&room, hub, &client);
    unity.order("release");
    client.done("holdfast_wait_ready", &json!({}));
    until("the late result", || {
        let answer = client.done("holdfast_result", &json!({"call_id": id}));
        answer.verdict() == Verdict::Ok && !answer.text().contains("not finished")
    });
    assert_eq!(room.runs("late"), 1);
    client.close(&room);
}

#[test]
fn a_call_that_a_session_told_as_unknown_at_its_end_after_its_hubs_is_found_by_the_next_gateway() {
    for mode in ["never", "start"] {
        let room = Room::new();
        let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", "holdfast"]);
        let hub = Hub::start(&room);
        let lock = File::create(room.state().join("hub/start.lock")).unwrap();
        lock.lock().unwrap();
        let mut client = open(&room, &[]);
        let call = running(&room, &mut client, "kept");
        drop(hub);
        client.close_stdin();
        client.ended_within(super::SOON);
        let told = client.answer(call);
        assert_eq!(told.verdict(), Verdict::Unknown, "{}", told.0);
        let id = named_in(&told.text()).to_owned();
        drop(lock);
        unity.order("release");
        let mut client = open(&room, &["--hub", mode]);
        client.done("holdfast_wait_ready", &json!({}));
        until("it is taken over", || !result_of(&mut client, &id).text().contains("No call"));
        let found = result_of(&mut client, &id);
        assert_eq!((found.verdict(), room.runs("kept")), (Verdict::Ok, 1), "{mode}: {}", found.0);
        assert!(!is_told_again(&mut client), "{mode}: its client has an answer");
        client.close(&room);
        if mode == "start" {
            kill_hub(&room);
        }
    }
}

/// The client goes away with the hub, and its session ends by itself: nobody reads what it says of the call.
#[test]
fn a_call_whose_client_went_away_with_the_hub_is_told_by_the_next_gateway() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet"]);
    let hub = Hub::start(&room);
    let lock = File::create(room.state().join("hub/start.lock")).unwrap();
    lock.lock().unwrap();
    let mut command = client::command(&room);
    command.args(flags(&room, &[]).iter().map(|flag| &**flag));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut session = command.spawn().unwrap();
    let (mut stdin, stdout) = (session.stdin.take().unwrap(), session.stdout.take().unwrap());
    let mut lines = BufReader::new(stdout).lines();
    let client =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "gone", "version": "1"}});
    writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client})).unwrap();
    lines.next().unwrap().unwrap();
    let call = json!({"name": "count", "arguments": {"key": "k", "hold": true}});
    writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})).unwrap();
    until("the call runs", || room.runs("k") == 1);
    drop(hub);
    drop((lines, stdin));
    until("the session has ended", || session.try_wait().unwrap().is_some());
    drop(lock);
    unity.order("release");
    let mut client = open_as(&room, "gone", &["--hub", "never"]);
    assert!(told(&mut client).contains("count"));
    assert!(!is_told_again(&mut client));
    assert_eq!(room.runs("k"), 1);
    client.close(&room);
}
