//! Sessions and hubs of different versions.
//!
//! The other version is the same program with another version number, which is written over in a copy of it. What a program of a
//! later protocol says is said by the test itself.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use holdfast::protocol::hub::{Hello, NEWEST, OLDEST, SessionRules};
use holdfast_fake_unity::{PACKAGES, Package};
use serde_json::{Value, json};

use super::super::client::{self, Client};
use super::super::cycles::Load;
use super::super::unity::Unity;
use super::super::{Room, until};
use super::{Fault, Scenario, Storm};

/// The version of the program under test.
const THIS: &str = env!("CARGO_PKG_VERSION");

/// The first line of a session that speaks these versions of the protocol.
pub fn hello(oldest: u32, newest: u32) -> Value {
    let hello = Hello {
        oldest,
        newest,
        build: THIS.to_owned(),
        pid: std::process::id(),
        session: "a".repeat(32),
        open: Vec::new(),
        records: None,
        rules: SessionRules::default(),
    };
    serde_json::to_value(hello).expect("plain data")
}

/// Says a first line to the hub of a room, and returns the answer.
pub fn says(room: &Room, hello: &Value) -> (UnixStream, Value) {
    let mut stream = UnixStream::connect(room.state().join("hub/socket")).expect("a hub");
    writeln!(stream, "{hello}").expect("it reads");
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).expect("it answers");
    (stream, serde_json::from_str(&line).expect("JSON"))
}

/// Makes a copy of the program that says that it is a later version.
fn newer(room: &Room) -> PathBuf {
    let (_, rest) = THIS.split_once('.').expect("a version");
    let version = format!("9.{rest}");
    assert_eq!(version.len(), THIS.len(), "the number is written over in its place");
    let mut bytes = std::fs::read(room.program()).expect("the program");
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(THIS.len()).position(|window| window == THIS.as_bytes()) {
        at += found;
        bytes[at..at + version.len()].copy_from_slice(version.as_bytes());
    }
    let path = room.path().join("newer");
    std::fs::write(&path, bytes).expect("writable");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).expect("ours");
    let told = Command::new(&path).arg("--version").output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&told.stdout).trim(), format!("holdfast {version}"));
    path
}

fn open_with(program: &Path, room: &Room) -> Client {
    let mut command = Command::new(program);
    client::environment(&mut command, room);
    command.args(["--hub", "start", "--project"]).arg(room.project());
    let mut client = Client::spawn(room, command);
    client.initialize();
    client
}

/// Whether the hub that runs is of the later version.
fn is_renewed(room: &Room) -> bool {
    let text = std::fs::read(room.state().join("hub/hub.json")).unwrap_or_default();
    let info: Value = serde_json::from_slice(&text).unwrap_or_default();
    info["version"].as_str().is_some_and(|version| version.starts_with("9."))
}

/// Sessions of the older version go on over the hub of the newer one, also when theirs is the next that is started.
#[test]
fn a_newer_session_gets_a_newer_hub_and_the_older_sessions_lose_no_answer() {
    let mut scenario = Scenario::new("hub-upgrade", &["H09"]);
    let room = Room::new();
    let program = newer(&room);
    let mut storm = Storm::start(&room, PACKAGES[0], 3);
    storm.load();
    storm.sessions.push((open_with(&program, &room), Load::of(PACKAGES[0], 9_000_000)));
    let mut hubs = 0.0;
    for round in 0..5 {
        if round > 0 {
            let lost = storm.round(Fault::KillHub, &mut scenario);
            assert!(lost <= Fault::KillHub.costs_at_most(false), "a kill cost {lost} calls");
        }
        until("the hub is of the later version", || {
            storm.load();
            let lost = storm.settle(&mut scenario);
            assert_eq!(lost, 0, "a hub that makes way costs no call its outcome");
            // Whoever replaces a session that left is of the later version, as a user who starts a client again has it.
            storm.renew(|room| open_with(&program, room));
            is_renewed(&room)
        });
        hubs += 1.0;
    }
    for (client, load) in &mut storm.sessions {
        client.echoes();
        load.audit(&room, &mut scenario);
    }
    scenario.record.figure("upgrades", hubs);
    scenario.record.figure("sessions_that_left", storm.left as f64);
    for (client, _) in storm.sessions {
        client.close(&room);
    }
    storm.hub.end();
}

#[test]
fn a_session_of_another_protocol_is_served_if_there_is_one_in_common_and_told_why_not_otherwise() {
    let mut scenario = Scenario::new("hub-protocols", &["H09"]);
    let room = Room::new();
    let storm = Storm::start(&room, PACKAGES[0], 1);
    // A later program may say more of itself.
    let mut later = hello(OLDEST, NEWEST + 8);
    later["of_later"] = json!({"anything": true});
    for (said, spoken) in [(hello(OLDEST, NEWEST), NEWEST), (later, NEWEST)] {
        let (stream, told) = says(&room, &said);
        assert_eq!(told["welcome"]["protocol"], spoken, "{told}");
        drop(stream);
        scenario.record.checked("I7", 1);
    }
    // A rule that is not understood is not ignored.
    let mut stricter = hello(OLDEST, NEWEST);
    stricter["rules"]["forbids"] = json!(["*"]);
    let refused =
        [(hello(NEWEST + 1, NEWEST + 8), "protocol"), (hello(0, OLDEST - 1), "protocol"), (stricter, "bad_hello")];
    for (said, reason) in refused {
        let (_, told) = says(&room, &said);
        assert_eq!(told["refused"]["reason"], reason, "{told}");
        assert!(told["refused"]["says"].as_str().is_some_and(|says| !says.is_empty()), "{told}");
        scenario.record.checked("I7", 1);
    }
    for (client, _) in storm.sessions {
        client.close(&room);
    }
    storm.hub.end();
}

/// An editor that connects to us gives up after a few tries. So the old hub listens until an editor that reloads is back, and the new one
/// listens as soon as the old one has ended.
#[test]
fn a_hub_makes_way_when_an_editor_that_connects_to_it_is_back_from_its_reload() {
    let mut scenario = Scenario::new("hub-upgrade-arrivals", &["H09"]);
    let room = Room::new();
    let program = newer(&room);
    let package = Package::that(|facts| facts.dials && facts.port.file().is_some());
    let mut unity = Unity::of_project(&room, &["--dialect", package.name]);
    let mut older =
        client::Client::open(&room, &["--hub", "start", "--project", &room.project().display().to_string()]);
    older.echoes();
    let from = unity.mark();
    unity.say("reload 3000");
    unity.hear(from, |event| event["event"] == "reload_begun");
    let away = Instant::now();
    let mut newer = open_with(&program, &room);
    unity.hear(from, |event| event["event"] == "accepted");
    assert!(!is_renewed(&room), "the old hub was there when the editor came back");
    let back = away.elapsed();
    let began = Instant::now();
    until("the hub is of the later version", || is_renewed(&room));
    newer.echoes();
    older.echoes();
    scenario.record.figure("editor_away_ms", back.as_secs_f64() * 1000.0);
    scenario.record.figure("handed_over_ms", began.elapsed().as_secs_f64() * 1000.0);
    scenario.record.checked("H09", 1);
    newer.close(&room);
    older.close(&room);
    let text = std::fs::read(room.state().join("hub/hub.json")).expect("the hub runs");
    let info: Value = serde_json::from_slice(&text).expect("JSON");
    let pid = i32::try_from(info["pid"].as_i64().expect("a pid")).expect("a pid");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM).expect("it is ours");
    until("the hub ends", || !room.state().join("hub/hub.json").exists());
}
