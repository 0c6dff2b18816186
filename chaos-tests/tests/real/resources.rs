//! A machine that is short of something: descriptors, disk.

use std::process::Command;
use std::time::Duration;

use serde_json::json;

use super::client::{self, Client, Verdict};
use super::scenario::Scenario;
use super::unity::Unity;
use super::{Room, holdfast};

#[test]
fn with_few_descriptors_it_serves_or_says_why_not() {
    let mut scenario = Scenario::new("few-descriptors", &["M01"]);
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let mut served = 0;
    for limit in [4, 6, 8, 9, 10, 11, 12, 14, 16, 20, 32] {
        let mut command = Command::new("/bin/sh");
        client::environment(&mut command, &room);
        command.args(["-c", r#"ulimit -n "$1"; exec "$0" --port "$2""#]);
        command.arg(holdfast()).args([limit.to_string(), unity.port.to_string()]);
        let mut client = Client::spawn(&room, command);
        let (opening, line) = client.request_line(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "poor", "version": "1"}}),
        );
        // It may have ended before it read.
        let written = client.write(line.as_bytes()).is_ok();
        super::until("it answers or ends", || client.is_answered(opening) || client.has_ended());
        if written && client.is_answered(opening) {
            served += 1;
            let answer = client.done("count", &json!({"key": format!("poor-{limit}")}));
            scenario.verdict(answer.verdict());
            assert!(matches!(answer.verdict(), Verdict::Ok | Verdict::NotExecuted), "{limit}: {}", answer.0);
            assert_eq!(room.runs(&format!("poor-{limit}")), usize::from(answer.verdict() == Verdict::Ok));
            scenario.record.checked("I1", 1);
            client.close(&room);
        } else {
            let (status, _) = client.ended_within(Duration::from_secs(5));
            scenario.record.verdict("did_not_start");
            let log = client.log();
            assert!(!status.success() && !log.trim().is_empty(), "{limit} descriptors: {status}, said {log:?}");
            assert!(!log.contains("panicked"), "{limit} descriptors: {log}");
        }
        scenario.record.checked("I8", 1);
    }
    scenario.record.figure("limits_served_of_11", f64::from(served));
    assert!(served > 0, "it never served");
}

#[test]
fn without_a_place_for_its_state_and_with_a_full_disk_for_its_log_it_serves() {
    let mut scenario = Scenario::new("no-disk", &["M03", "M05"]);
    let room = Room::new();
    let unity = Unity::of_project(&room, &["--quiet"]);
    let file = room.path().join("a-file");
    std::fs::write(&file, b"not a folder").expect("a file");
    for (stderr, state) in [("/dev/full", file.join("below")), ("/dev/full", file.clone()), ("&-", room.state())] {
        let mut command = Command::new("/bin/sh");
        client::environment(&mut command, &room);
        command.env("HOLDFAST_STATE_DIR", &state);
        command.args(["-c", &format!(r#"exec "$0" --project "$1" 2>{stderr}"#)]);
        command.arg(holdfast()).arg(room.project());
        let mut client = Client::spawn(&room, command);
        client.initialize();
        client.echoes();
        let key = format!("no-disk-{}-{}", stderr.len(), state.display());
        let answer = client.done("count", &json!({"key": key}));
        scenario.verdict(answer.verdict());
        assert_eq!((answer.verdict(), room.runs(&key)), (Verdict::Ok, 1), "{}", answer.0);
        // Too large for one answer: it would be put into a file.
        let big = client.done("big", &json!({"n": 9 * 1024 * 1024}));
        scenario.verdict(big.verdict());
        for invariant in ["I1", "I3", "I11"] {
            scenario.record.checked(invariant, 1);
        }
        client.close(&room);
    }
    drop(unity);
}
