//! Audit and policy, compared with the editor's own count of runs: each run has its line in the audit, and no denied tool
//! runs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::client::{self, Client, Verdict};
use super::proxy::Proxy;
use super::unity::Unity;
use super::{Room, SOON, until};

/// Writes the user's configuration file.
fn configure(room: &Room, text: &str) -> PathBuf {
    let file = room.config();
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a home");
    std::fs::write(&file, text).expect("a file");
    file
}

fn lines(room: &Room) -> Vec<Value> {
    let text = std::fs::read_to_string(room.path().join("audit.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"))).collect()
}

/// Returns the hash that the audit has for arguments with this key.
fn digest(key: &str) -> String {
    let arguments = json!({"key": key}).to_string();
    Sha256::digest(arguments.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the keys of the calls that the editor counted.
fn ran(room: &Room) -> BTreeSet<String> {
    let text = std::fs::read_to_string(room.count_file()).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter_map(|line| line["key"].as_str().map(str::to_owned)).collect()
}

/// Checks that every run has its line in the audit.
fn check(room: &Room) {
    let lines = lines(room);
    let sent = lines.iter().filter(|line| line["event"] == "sent");
    let recorded: BTreeSet<&str> = sent.filter_map(|line| line["arguments_sha256"].as_str()).collect();
    for key in ran(room) {
        assert!(recorded.contains(&*digest(&key)), "{key} ran and is not recorded: {lines:#?}");
    }
}

#[test]
fn every_run_is_recorded_whenever_the_gateway_or_the_editor_is_killed() {
    let room = Room::new();
    configure(&room, &format!("[audit]\nfile = '{}'\n", room.path().join("audit.jsonl").display()));
    let mut unity = Unity::start(&room, &["--quiet"]);
    let proxy = Proxy::start(unity.port);
    let port = proxy.port.to_string();
    for round in 0..8 {
        let before = ran(&room).len();
        // Two gateways write to the same file at once.
        let mut clients = [(); 2].map(|()| Client::open(&room, &["--port", &port]));
        for client in &mut clients {
            client.echoes();
        }
        for n in 0..10 {
            for (number, client) in clients.iter_mut().enumerate() {
                client.call("count", &json!({"key": format!("a-{round}-{number}-{n}")}));
            }
        }
        // The fault happens in the middle of the twenty calls, at another point in each round.
        until("some of them ran", || ran(&room).len() > before + round);
        if round % 2 == 1 {
            unity.kill();
            unity = Unity::start(&room, &["--quiet"]);
            proxy.lead_to(unity.port);
        }
        let [mut killed, other] = clients;
        killed.kill();
        killed.ended_within(SOON);
        let mut other = other;
        #[cfg(unix)]
        other.signal(nix::sys::signal::Signal::SIGTERM);
        #[cfg(not(unix))]
        other.close_stdin();
        other.ended_within(SOON);
    }
    check(&room);
    // A call that ended normally has a line for its end too.
    let mut client = Client::open(&room, &["--port", &port]);
    assert_eq!(client.done("count", &json!({"key": "last"})).verdict(), Verdict::Ok);
    client.close(&room);
    let last = lines(&room).pop().expect("a line");
    assert_eq!((&last["event"], &last["verdict"], &last["tool"]), (&json!("verdict"), &json!("ok"), &json!("count")));
    check(&room);
}

#[test]
fn nothing_that_is_denied_ever_runs_through_reloads_and_kills() {
    let room = Room::new();
    configure(&room, "[policy]\ndeny = ['count']\n");
    let mut unity = Unity::start(&room, &["--quiet"]);
    let proxy = Proxy::start(unity.port);
    let mut client = Client::open(&room, &["--port", &proxy.port.to_string()]);
    let mut calls = Vec::new();
    for round in 0..6_u64 {
        calls.extend((0..10).map(|n| client.call("count", &json!({"key": format!("d-{round}-{n}")}))));
        match round % 3 {
            0 => unity.say("reload 60"),
            1 => {
                unity.say("rst");
                unity.say("up");
            }
            _ => {
                unity.kill();
                unity = Unity::start(&room, &["--quiet"]);
                proxy.lead_to(unity.port);
            }
        }
        // The reset may cut this call off; its verdict does not matter here.
        client.done("echo", &json!({}));
    }
    for id in calls {
        let answer = client.answer(id);
        assert_eq!(answer.verdict(), Verdict::NotExecuted, "{}", answer.0);
    }
    assert_eq!(ran(&room), BTreeSet::new());
    client.close(&room);
}

#[test]
fn a_file_that_cannot_be_read_lets_nothing_through_and_says_where_it_is_wrong() {
    let room = Room::new();
    let file = configure(&room, "[policy]\nallow = ['echo']\n\ndeny = [count]\n");
    let unity = Unity::start(&room, &[]);
    let port = unity.port.to_string();
    let mut client = Client::open(&room, &["--port", &port]);
    let place = format!("{}, line 4", file.display());
    let answer = client.done("echo", &json!({}));
    assert!(answer.verdict() == Verdict::NotExecuted && answer.text().contains(&place), "{}", answer.0);
    let status = client.done("holdfast_status", &json!({})).text();
    assert!(status.contains(&place.replace('\\', r"\\")), "in JSON: {status}");
    // A separate thread writes the log.
    until("the log says it", || client.log().contains("line 4"));
    client.close(&room);
    // The commands that run once and exit, such as `call` and `doctor`, report the same problem.
    for (arguments, code) in [(&["call", "echo"][..], 2), (&["doctor"], 1)] {
        let done = client::command(&room).args(arguments).args(["--port", &port]).output().expect("it runs");
        let said = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert_eq!(done.status.code(), Some(code), "{said}");
        assert!(said.contains(&place), "{said}");
    }
    // The configuration is fixed and the gateway is started again: the flag replaces the file's allow list, and the file's
    // deny list still applies.
    configure(&room, "[policy]\nallow = ['echo']\n\ndeny = ['count']\n");
    let mut client = Client::open(&room, &["--port", &port, "--allow", "count,get-logs"]);
    let verdicts = ["count", "echo", "get-logs"].map(|tool| client.done(tool, &json!({"key": "k"})).verdict());
    assert_eq!(verdicts, [Verdict::NotExecuted, Verdict::NotExecuted, Verdict::Ok]);
    client.close(&room);
    assert_eq!(room.runs("k"), 0);
    drop(unity);
}

#[test]
fn an_audit_that_is_renamed_goes_on_in_a_new_file() {
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let audit = room.path().join("audit.jsonl");
    let mut client = Client::open(&room, &["--port", &unity.port.to_string(), "--audit", "audit.jsonl"]);
    assert_eq!(client.done("count", &json!({"key": "one"})).verdict(), Verdict::Ok);
    until("its end is recorded", || lines(&room).len() == 2);
    std::fs::rename(&audit, room.path().join("audit.1")).expect("renamed");
    assert_eq!(client.done("count", &json!({"key": "two"})).verdict(), Verdict::Ok);
    until("its end is recorded", || lines(&room).len() == 2);
    let old = std::fs::read_to_string(room.path().join("audit.1")).expect("it is there");
    assert_eq!(old.lines().count(), 2);
    client.close(&room);
}

#[cfg(unix)]
#[test]
fn an_audit_in_whose_place_a_link_comes_takes_nothing() {
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let audit = room.path().join("audit.jsonl");
    let mut client = Client::open(&room, &["--port", &unity.port.to_string(), "--audit", "audit.jsonl"]);
    assert_eq!(client.done("count", &json!({"key": "one"})).verdict(), Verdict::Ok);
    until("its end is recorded", || lines(&room).len() == 2);
    let elsewhere = room.path().join("elsewhere");
    std::fs::rename(&audit, &elsewhere).expect("renamed");
    std::os::unix::fs::symlink(&elsewhere, &audit).expect("a link");
    let answer = client.done("count", &json!({"key": "two"}));
    assert!(answer.verdict() == Verdict::NotExecuted && answer.text().contains("audit.jsonl"), "{}", answer.0);
    assert_eq!(["one", "two"].map(|key| room.runs(key)), [1, 0]);
    let kept = std::fs::read_to_string(elsewhere).expect("it is there");
    assert_eq!(kept.lines().count(), 2, "nothing was written through the link");
    client.close(&room);
}
