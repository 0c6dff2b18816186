//! The metrics of the real binary, read as Prometheus reads them, at the address in the gateway's record.

#![expect(clippy::disallowed_types, reason = "a scraper is played, from outside")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};

use super::client::{self, Client, Verdict};
use super::unity::Unity;
use super::{Room, SOON, until};

fn records(room: &Room) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(room.state().join("metrics"));
    let files = listed.map(|files| files.flatten().map(|file| file.path()).collect()).unwrap_or_else(|_| Vec::new());
    files.into_iter().filter(|path: &PathBuf| path.extension().is_some_and(|extension| extension != "prom")).collect()
}

/// Returns the record of the process with this pid.
pub fn record_of(room: &Room, pid: u32) -> Option<Value> {
    let path = room.state().join("metrics").join(format!("{pid}.json"));
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

fn record(room: &Room, client: &Client) -> Option<Value> {
    record_of(room, client.pid())
}

/// Waits for the record of the process with this pid, and returns the address in it.
pub fn target_of(room: &Room, pid: u32) -> String {
    until("a record", || record_of(room, pid).is_some());
    let record = record_of(room, pid).expect("it is there");
    assert_eq!(record[0]["labels"]["pid"], pid.to_string(), "{record}");
    record[0]["targets"][0].as_str().expect("a target").to_owned()
}

/// Waits for this gateway's record, and returns the address in it.
pub fn target(room: &Room, client: &Client) -> String {
    target_of(room, client.pid())
}

/// Fetches the page at this path.
pub fn fetch(target: &str, path: &str) -> String {
    let mut socket = TcpStream::connect(target).expect("it listens");
    socket.set_read_timeout(Some(SOON)).expect("a timeout");
    socket.write_all(format!("GET {path} HTTP/1.1\r\nHost: {target}\r\n\r\n").as_bytes()).expect("it reads");
    let mut text = String::new();
    socket.read_to_string(&mut text).expect("it answers");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    body.to_owned()
}

fn scrape(target: &str) -> String {
    let body = fetch(target, "/metrics");
    for machine in ["bridge", "discovery", "push", "registry", "session"] {
        let states = body.lines().filter(|line| {
            line.starts_with(&format!("holdfast_fsm_state{{machine=\"{machine}\"")) && line.ends_with(" 1")
        });
        assert_eq!(states.count(), 1, "{machine} is in exactly one state");
    }
    body
}

fn has(text: &str, line: &str) -> bool {
    text.lines().any(|known| known == line)
}

#[test]
fn a_session_is_scraped_through_a_reload_and_leaves_its_last_words() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &[]);
    let project = room.project().display().to_string();
    let mut client = Client::open(&room, &["--metrics", "--project", &project]);
    client.echoes();
    let target = target(&room, &client);
    until("the project's name", || {
        record(&room, &client).is_some_and(|record| record[0]["labels"]["project"] == "project")
    });
    let before = scrape(&target);
    assert!(has(&before, "holdfast_tool_calls_total{verdict=\"ok\",cause=\"\"} 1"), "{before}");
    assert!(has(&before, "holdfast_fsm_state{machine=\"bridge\",state=\"ready\"} 1"), "{before}");

    unity.order("reload 300");
    // Metrics are read several times while the editor is away, and each answer must be complete.
    until("the loss", || has(&scrape(&target), "holdfast_unity_disconnects_total{reason=\"reload\"} 1"));
    let id = client.call("echo", &json!({"text": "held"}));
    until("the return", || has(&scrape(&target), "holdfast_unity_reloads_total{result=\"completed\"} 1"));
    assert_eq!(client.answer(id).verdict(), Verdict::Ok);
    let after = scrape(&target);
    for line in [
        "holdfast_tool_calls_total{verdict=\"ok\",cause=\"\"} 2",
        "holdfast_unity_reload_duration_seconds_count 1",
        "holdfast_unity_recovery_duration_seconds_count 1",
        "holdfast_mcp_sessions{client=\"unknown\"} 1",
    ] {
        assert!(has(&after, line), "{line} in\n{after}");
    }
    assert!(!after.contains(room.path().to_str().expect("UTF-8")), "a path is nobody's label");

    client.close(&room);
    assert!(records(&room).is_empty(), "{:?}", records(&room));
    let words = std::fs::read_to_string(room.state().join("metrics/holdfast_last_exit.prom")).expect("last words");
    assert!(has(&words, "holdfast_last_exit_tool_calls{verdict=\"ok\",cause=\"\"} 2"), "{words}");
    assert!(words.contains("holdfast_last_exit_info{reason=\"input_ended\""), "{words}");
}

#[test]
fn a_killed_gateway_leaves_a_record_that_the_next_one_reaps() {
    let room = Room::new();
    let mut killed = Client::open(&room, &["--metrics"]);
    let alive = Client::open(&room, &["--metrics=127.0.0.1:0"]);
    let (dead, lives) = (target(&room, &killed), target(&room, &alive));
    assert_ne!(dead, lives);
    killed.kill();
    killed.ended_within(super::SOON);
    // A killed gateway cannot remove its record. Any running gateway may remove it before the next one starts.
    assert!(TcpStream::connect(&dead).is_err());
    let next = Client::open(&room, &["--metrics"]);
    target(&room, &next);
    assert!(record(&room, &killed).is_none() && record(&room, &alive).is_some());
    scrape(&lives);
    next.close(&room);
    alive.close(&room);
    assert!(records(&room).is_empty(), "{:?}", records(&room));
}

/// A collector that runs as another user finds the gateway in a folder that the user names. The level that earlier versions knew is
/// taken, and told once.
#[test]
fn another_user_finds_the_metrics_in_a_folder_that_everybody_may_read() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &[]);
    let project = room.project().display().to_string();
    let shared = room.path().join("shared");
    std::fs::create_dir(&shared).expect("a folder");
    let of_others = ["2024.json", "7.lock"].map(|name| shared.join(name));
    of_others.iter().for_each(|file| std::fs::write(file, "[]").expect("a file of another program"));
    let folder = shared.display().to_string();
    let arguments = ["--metrics=basic", "--metrics-records", &folder, "--project", &project];
    let mut client = Client::open(&room, &arguments);
    client.echoes();
    let copy = shared.join(format!("holdfast-{}.json", client.pid()));
    let named =
        |path: &PathBuf| std::fs::read_to_string(path).is_ok_and(|text| text.contains("\"project\":\"project\""));
    until("the record", || named(&copy));
    until("its original", || record(&room, &client).is_some_and(|record| record[0]["labels"]["project"] == "project"));
    let told: Value = serde_json::from_slice(&std::fs::read(&copy).expect("it is there")).expect("JSON");
    assert_eq!(Some(&told), record(&room, &client).as_ref());
    assert!(!told.to_string().contains(room.path().to_str().expect("UTF-8")), "{told}");
    let scrape = || scrape(&target(&room, &client));
    let all = scrape();
    assert!(has(&all, "holdfast_tool_calls_total{verdict=\"ok\",cause=\"\"} 1"), "{all}");
    unity.order("reload 300");
    until("the return", || has(&scrape(), "holdfast_unity_reloads_total{result=\"completed\"} 1"));
    client.echoes();
    client.close(&room);
    let logs = std::fs::read_dir(room.state().join("logs")).expect("a log").flatten();
    let logs: String = logs.map(|log| std::fs::read_to_string(log.path()).expect("a log")).collect();
    assert_eq!(logs.matches("--metrics or HOLDFAST_METRICS names a level of metrics").count(), 1, "{logs}");
    assert!(!copy.exists(), "it goes with its gateway");
    assert!(of_others.iter().all(|file| file.exists()));
    let words = shared.join("holdfast_last_exit.prom");
    let text = std::fs::read_to_string(&words).expect("last words");
    assert!(has(&text, "holdfast_last_exit_tool_calls{verdict=\"ok\",cause=\"\"} 2"), "{text}");
    readable_by_all(&words);
}

/// Checks that others may read a file and nobody else may write it.
fn readable_by_all(path: &std::path::Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o644, "{}", path.display());
    }
    #[cfg(not(unix))]
    assert!(path.exists());
}

/// The records are a convenience: a folder that is missing costs no call, is told, and is used once it is there.
#[test]
fn a_folder_for_records_that_is_missing_is_told_costs_nothing_and_is_used_once_it_is_there() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &[]);
    let project = room.project().display().to_string();
    let missing = room.path().join("missing");
    let folder = missing.display().to_string();
    let arguments = ["--metrics", "--metrics-records", &folder, "--project", &project];
    let mut client = Client::open(&room, &arguments);
    client.echoes();
    target(&room, &client);
    let told = |client: &mut Client| {
        let id = client.call("holdfast_status", &json!({}));
        let status: Value = serde_json::from_str(&client.answer(id).text()).expect("JSON");
        let problems = status["problems"].as_array().expect("a list").iter();
        let of_records = problems.filter_map(Value::as_str).filter(|problem| problem.contains("metrics_records"));
        of_records.map(str::to_owned).collect::<Vec<_>>()
    };
    until("it is told", || !told(&mut client).is_empty());
    let problems = told(&mut client);
    let [problem] = problems.as_slice() else { panic!("{problems:?}") };
    assert!(problem.contains("there is no folder") && problem.contains("create it"), "{problem}");
    assert!(!missing.exists(), "nobody else could read it");

    std::fs::create_dir(&missing).expect("a folder");
    let copy = missing.join(format!("holdfast-{}.json", client.pid()));
    until("the record", || copy.exists());
    until("it is told no longer", || told(&mut client).is_empty());
    let text = std::fs::read(&copy).expect("it is there");
    assert_eq!(serde_json::from_slice::<Value>(&text).ok(), record(&room, &client));
    client.echoes();
    client.close(&room);
    assert!(!copy.exists(), "it goes with its gateway");
    readable_by_all(&missing.join("holdfast_last_exit.prom"));
}

/// What is not public is written all the same.
#[test]
fn the_last_words_are_kept_without_the_folder_for_records() {
    let room = Room::new();
    let missing = room.path().join("missing");
    let client = Client::open(&room, &["--metrics", "--metrics-records", &missing.display().to_string()]);
    target(&room, &client);
    client.close(&room);
    assert!(!missing.exists() && room.state().join("metrics/holdfast_last_exit.prom").exists());
}

#[test]
fn nothing_is_served_unasked_and_nothing_beyond_this_machine() {
    let room = Room::new();
    let mut client = Client::open(&room, &[]);
    client.tools();
    client.close(&room);
    assert!(!room.state().join("metrics").exists());
    for words in [&["--metrics=0.0.0.0:0"][..], &["serve", "--metrics=192.168.7.7:9464"]] {
        let done = client::command(&room).args(words).stdin(Stdio::null()).output().expect("it runs");
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains("only loopback"), "{said}");
    }
    let mut command = client::command(&room);
    command.env("HOLDFAST_METRICS", "on");
    let mut client = Client::spawn(&room, command);
    client.initialize();
    scrape(&target(&room, &client));
    client.close(&room);
}
