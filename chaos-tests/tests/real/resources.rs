//! A machine that lacks a resource: descriptors, disk space, threads.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::json;

use super::client::{self, Client, Verdict};
use super::scenario::Scenario;
use super::unity::Unity;
use super::{Room, program};

#[test]
fn with_few_descriptors_it_serves_or_says_why_not() {
    let mut scenario = Scenario::new("few-descriptors", &["M01"]);
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let mut served = 0;
    for limit in [4, 6, 8, 9, 10, 11, 12, 14, 16, 20, 32] {
        scenario.record.injected("few descriptors");
        let mut command = Command::new("/bin/sh");
        client::environment(&mut command, &room);
        command.args(["-c", r#"ulimit -n "$1"; exec "$0" --port "$2""#]);
        command.arg(program()).args([limit.to_string(), unity.port.to_string()]);
        let mut client = Client::spawn(&room, command);
        let (opening, line) = client.request_line(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "poor", "version": "1"}}),
        );
        // The gateway may have ended before it reads.
        let written = client.write(line.as_bytes()).is_ok();
        super::until("it answers or ends", || client.is_answered(opening) || client.has_ended());
        if written && client.is_answered(opening) {
            served += 1;
            let answer = client.done("count", &json!({"key": format!("poor-{limit}")}));
            scenario.verdict(answer.verdict());
            assert!(matches!(answer.verdict(), Verdict::Ok | Verdict::NotExecuted), "{limit}: {}", answer.0);
            assert_eq!(room.runs(&format!("poor-{limit}")), usize::from(answer.verdict() == Verdict::Ok));
            scenario.record.checked("I1", 1);
            scenario.picture(&client, &room);
            client.close(&room);
        } else {
            let (status, _) = client.ended_within(super::SOON);
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
        command.arg(program()).arg(room.project());
        let mut client = Client::spawn(&room, command);
        scenario.record.injected("no disk");
        client.initialize();
        client.echoes();
        let key = format!("no-disk-{}-{}", stderr.len(), state.display());
        let answer = client.done("count", &json!({"key": key}));
        scenario.verdict(answer.verdict());
        assert_eq!((answer.verdict(), room.runs(&key)), (Verdict::Ok, 1), "{}", answer.0);
        // The result is too large for one answer, so the gateway tries to write it to a file.
        let big = client.done("big", &json!({"n": 9 * 1024 * 1024}));
        scenario.verdict(big.verdict());
        for invariant in ["I1", "I3", "I11"] {
            scenario.record.checked(invariant, 1);
        }
        scenario.picture(&client, &room);
        client.close(&room);
    }
    drop(unity);
}

/// Returns the options with which `unshare` lets a command mount a file system: as root, or as root of a new user namespace.
/// `None` if neither works.
fn mounting() -> Option<&'static [&'static str]> {
    let ways: [&[&str]; 2] = [&["--mount"], &["--map-root-user", "--mount"]];
    ways.into_iter().find(|way| {
        let script = r#"mount -t tmpfs -o size=64k none "$0""#;
        let mut command = Command::new("unshare");
        let tried = command.args(*way).args(["sh", "-c", script]).arg(std::env::temp_dir()).output();
        tried.is_ok_and(|output| output.status.success())
    })
}

#[test]
fn on_a_disk_that_is_full_it_serves_and_a_result_that_fits_nowhere_is_told_as_run() {
    let mut scenario = Scenario::new("full-disk", &["M03"]);
    let Some(way) = mounting() else {
        scenario.record.notes.insert("not done".to_owned(), "no file system may be mounted here".to_owned());
        scenario.say("NOT DONE: neither root nor a user namespace may mount here. `no-disk` has the nearest fault: every write fails");
        return;
    };
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet"]);
    std::fs::create_dir_all(room.state()).expect("a state folder");
    let logs = room.project().join("Logs");
    std::fs::create_dir_all(&logs).expect("a folder");
    let mut command = Command::new("unshare");
    client::environment(&mut command, &room);
    // Both folders that the gateway writes to have 64 KiB each, and a file fills them to the last byte.
    let script = r#"for at in "$1" "$2"; do
        mount -t tmpfs -o size=64k none "$at" && ! cat /dev/zero 2>/dev/null >"$at/filling" && ! echo x 2>/dev/null >"$at/more" || exit 99
        rm -f "$at/more"
    done; exec "$0" --project "$3""#;
    command.args(way).args(["sh", "-c", script]).arg(program()).arg(room.state()).arg(&logs).arg(room.project());
    let mut client = Client::spawn(&room, command);
    client.initialize();
    client.echoes();
    for round in 0..3 {
        scenario.record.injected("full disk");
        let key = format!("full-{round}");
        let answer = client.done("count", &json!({"key": key}));
        scenario.verdict(answer.verdict());
        assert_eq!((answer.verdict(), room.runs(&key)), (Verdict::Ok, 1), "{}", answer.0);
        // The result is too large for one answer, so the gateway tries to write it to a file, but there is no space.
        let big = client.done("big", &json!({"n": 9 * 1024 * 1024}));
        scenario.verdict(big.verdict());
        let said = big.text();
        assert!(said.starts_with("Executed, but"), "it ran: {said:.300}");
        scenario.record.notes.insert("a large result is answered".to_owned(), format!("{said:.300}"));
        // A call that is made before the gateway notices the loss could rightly have an unknown outcome.
        let losses = |client: &Client| client.log().matches(r#""event":"link_down""#).count();
        let before = losses(&client);
        unity.say("reload 50");
        super::until("the loss is seen", || losses(&client) > before);
        client.echoes();
        for invariant in ["I1", "I3", "I11"] {
            scenario.record.checked(invariant, 2);
        }
    }
    assert!(client.log().contains("No space left"), "the disk was not full");
    scenario.picture(&client, &room);
    client.close(&room);
}

/// The id of a user without other processes, so that the limit counts only what the test starts.
const NOBODY_ELSE: &str = "54321";

/// The limit on threads (`prlimit --nproc`) is set for one process, but counts all threads of its user. It does not
/// apply to root, so a test that runs as root starts the gateway as another user.
#[test]
fn without_threads_it_does_not_start_and_says_why_and_with_enough_it_serves() {
    let mut scenario = Scenario::new("few-threads", &["M08"]);
    let root = nix::unistd::geteuid().is_root();
    let (mut refused, mut served) = (0, 0);
    for limit in [1, 2, 3, 4, 5, 6, 7, 8, 10, 64] {
        let room = Room::new();
        // The other user must be able to read the binary, and to write to its home.
        let binary = room.path().join("holdfast");
        std::fs::copy(program(), &binary).expect("a copy");
        for path in [room.path(), &room.home(), &binary] {
            std::fs::set_permissions(path, Permissions::from_mode(0o777)).expect("our own file");
        }
        let mut command = Command::new(if root { "setpriv" } else { "prlimit" });
        client::environment(&mut command, &room);
        if root {
            command.args(["--reuid", NOBODY_ELSE, "--regid", NOBODY_ELSE, "--clear-groups", "prlimit"]);
        }
        command.arg(format!("--nproc={limit}")).arg(&binary);
        let mut client = Client::spawn(&room, command);
        let (ping, line) = client.request_line("ping", &json!({}));
        let written = client.write(line.as_bytes()).is_ok();
        super::until("it answers or ends", || client.is_answered(ping) || client.has_ended());
        if written && client.is_answered(ping) {
            served += 1;
            scenario.verdict(Verdict::Ok);
            client.close(&room);
        } else {
            refused += 1;
            scenario.record.verdict("did_not_start");
            let (status, _) = client.ended_within(super::SOON);
            let log = client.log();
            assert_eq!(status.code(), Some(71), "{limit}: {log}");
            assert!(log.contains("could not create threads") && log.contains("start it again"), "{limit}: {log}");
            assert!(!log.contains("panic"), "{limit}: {log}");
        }
        scenario.record.injected("few threads");
        scenario.record.checked("I6", 1);
    }
    scenario.record.figure("limits_refused_of_10", f64::from(refused));
    assert!(refused > 0, "no limit held");
    // Without root, the limit also counts the user's other processes, so the gateway may not start at any limit.
    assert!(served > 0 || !root, "it never served");
}
