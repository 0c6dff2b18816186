//! Hubs and sessions with a bug, each of which must be found out by what is checked of real ones.
//!
//! No program has the bugs. A hub that records too late is one whose records are changed as the bug would have left them, after it
//! was killed; the others are programs of the test that do what must not be done.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};

use chaos_tests::record::Record;
use holdfast::protocol::hub::{NEWEST, OLDEST};
use holdfast_fake_unity::PACKAGES;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::super::client::{self, Verdict};
use super::super::unity::Unity;
use super::super::{Room, system, until};
use super::census::{Census, hubs};
use super::skewed::{hello, says};
use super::{Fault, Hub, Scenario, Storm, open};

/// Makes a call that runs and is not answered, kills the hub while the session is stopped, changes the records, and returns the
/// verdict of the call and how often it ran.
fn killed_under_a_call(change: impl Fn(&str) -> String) -> (Verdict, usize) {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet"]);
    let hub = Hub { room: &room };
    let mut client = open(&room);
    client.echoes();
    let id = client.call("count", &json!({"key": "held", "hold": true}));
    until("the call runs", || room.runs("held") == 1);
    client.stop();
    let pid = hub.signal(Signal::SIGKILL);
    until("the hub ends", || !system::runs(u32::try_from(pid.as_raw()).expect("a pid")));
    let records = room.state().join("hub/calls.jsonl");
    let text = std::fs::read_to_string(&records).expect("records");
    std::fs::write(&records, change(&text)).expect("writable");
    client.signal(Signal::SIGCONT);
    until("it is answered or runs again", || client.is_answered(id) || room.runs("held") > 1);
    unity.order("release");
    let verdict = client.answer(id).verdict();
    client.close(&room);
    hub.end();
    (verdict, room.runs("held"))
}

#[test]
fn what_is_recorded_as_sent_is_not_sent_again_and_a_hub_that_does_not_record_it_is_found_out() {
    let mut scenario = Scenario::new("hub-records", &["H07"]);
    assert_eq!(killed_under_a_call(str::to_owned), (Verdict::Unknown, 1));
    scenario.record.checked("I2", 1);
    // Of records that are lost or damaged, nothing is believed.
    assert_eq!(killed_under_a_call(|_| String::new()), (Verdict::Unknown, 1));
    assert_eq!(killed_under_a_call(|text| text.replace(r#"{"sent""#, r#"{"s"#)), (Verdict::Unknown, 1));
    scenario.record.checked("I2", 2);
    // A hub with this bug would send before it records.
    let forgetful = |text: &str| without(text, r#""tool":"count""#);
    assert_eq!(killed_under_a_call(forgetful).1, 2, "the counts of runs do not show the planted bug");
}

fn without(text: &str, part: &str) -> String {
    text.lines().filter(|line| !line.contains(part)).map(|line| format!("{line}\n")).collect()
}

/// The calls whose answers a stopped session has not read when its hub is killed.
const UNREAD: usize = 3;

/// Kills a hub that has answered some calls while the session that made them is stopped, changes the records, and returns how many
/// calls have lost their outcome.
fn killed_with_answers_on_their_way(change: impl Fn(&str) -> String) -> usize {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet"]);
    let hub = Hub { room: &room };
    let mut client = open(&room);
    client.echoes();
    let gate = client.call("count", &json!({"key": "gate", "hold": true}));
    until("the call runs", || room.runs("gate") == 1);
    // More than the system keeps for a reader.
    let text = "x".repeat(64 * 1024);
    let large: Vec<u64> = (0..20).map(|_| client.call("echo", &json!({"text": text}))).collect();
    let key = |number: usize| format!("unread{number}");
    let unread: Vec<u64> = (0..UNREAD).map(|number| client.call("count", &json!({"key": key(number)}))).collect();
    // Requests go to the hub in their order, so it has them all once it has answered this one.
    client.done("holdfast_status", &json!({}));
    client.stop();
    unity.order("release");
    let records = room.state().join("hub/calls.jsonl");
    let recorded = || std::fs::read_to_string(&records).unwrap_or_default();
    until("all have run", || room.runs(&key(UNREAD - 1)) == 1);
    // Answers are recorded in the order of the calls. What its client has is soon in the file no more.
    let last = key(UNREAD - 1);
    let is_last = |line: &str| line.starts_with(r#"{"answered""#) && line.contains(&last);
    until("all are answered", || recorded().lines().any(is_last));
    let pid = hub.signal(Signal::SIGKILL);
    until("the hub ends", || !system::runs(u32::try_from(pid.as_raw()).expect("a pid")));
    std::fs::write(&records, change(&recorded())).expect("writable");
    client.signal(Signal::SIGCONT);
    let verdicts = |ids: &[u64]| ids.iter().map(|id| client.answer(*id).verdict()).collect::<Vec<_>>();
    verdicts(&[&[gate], large.as_slice()].concat());
    let lost = verdicts(&unread).into_iter().filter(|verdict| *verdict == Verdict::Unknown).count();
    assert!((0..UNREAD).all(|number| room.runs(&key(number)) == 1));
    client.close(&room);
    hub.end();
    lost
}

#[test]
fn an_answer_that_a_hub_gave_outlives_it_and_a_hub_that_records_it_afterwards_is_found_out() {
    let mut scenario = Scenario::new("hub-answers", &["H01"]);
    let most = Fault::KillHub.costs_at_most(false);
    assert_eq!(killed_with_answers_on_their_way(str::to_owned), 0);
    scenario.record.checked("I1", UNREAD as u64);
    // A hub with this bug has answered, and has not recorded the answers yet.
    let hasty = |text: &str| without(text, r#"{"answered""#);
    let lost = killed_with_answers_on_their_way(hasty);
    assert!(lost > most, "{lost} calls are not more than a kill may cost, so the planted bug is not shown");
}

/// A hub that a test started.
struct Started(Child);

impl Started {
    fn hub(room: &Room) -> Self {
        let mut command = client::command(room);
        Self(
            command.arg("hub").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a hub"),
        )
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.0.id()).expect("a pid");
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal).expect("the hub lives");
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn two_hubs_at_once_are_found_out_and_the_one_without_the_lock_makes_way() {
    let mut scenario = Scenario::new("hub-two", &["H08"]);
    let room = Room::new();
    let folder = room.state().join("hub");
    let mut census = Census::of(&room);
    let mut first = Started::hub(&room);
    until("the hub serves", || hubs(&folder) == 1);
    assert_eq!(census.broken(), Vec::<String>::new());
    // Without its lock, another process is elected. The hub that stands still cannot notice.
    system::stop(first.0.id());
    std::fs::remove_file(folder.join("hub.lock")).expect("it is there");
    let second = Started::hub(&room);
    census.ended = 1;
    until("both serve", || hubs(&folder) == 2);
    assert_eq!(census.broken(), ["2 hubs at once"], "the census does not show the planted bug");
    first.signal(Signal::SIGCONT);
    until("the first one ends", || first.0.try_wait().expect("our child").is_some());
    assert_eq!(hubs(&folder), 1);
    scenario.record.checked("I18", 1);
    second.signal(Signal::SIGTERM);
}

/// A session with this bug: its own hub is silent, and it ends the process that the file names.
struct Believer {
    hub: UnixStream,
    of: Value,
}

impl Believer {
    fn attach(room: &Room) -> Self {
        let (hub, told) = says(room, &hello(OLDEST, NEWEST));
        Self { of: told["welcome"]["pid"].clone(), hub }
    }

    /// Asks, is not answered, and looks into the file when another session has long ended the hub.
    fn ends_what_the_file_names(&mut self, room: &Room) {
        let _ = writeln!(self.hub, "{}", json!({"jsonrpc": "2.0", "id": "alive", "method": "ping"}));
        let named = || {
            let text = std::fs::read(room.state().join("hub/hub.json")).ok()?;
            let info: Value = serde_json::from_slice(&text).ok()?;
            (info["pid"] != self.of).then(|| i32::try_from(info["pid"].as_i64()?).ok()).flatten()
        };
        until("a successor is named", || named().is_some());
        let pid = nix::unistd::Pid::from_raw(named().expect("it is named"));
        let _ = nix::sys::signal::kill(pid, Signal::SIGKILL);
    }
}

/// Stops a hub under the load of several sessions, and returns what is broken then.
fn stopped(believes_the_file: bool) -> Vec<String> {
    let mut scenario = Scenario::new("hub-believed", &["H02"]);
    let room = Room::new();
    let mut storm = Storm::start(&room, PACKAGES[0], 2);
    let mut believer = believes_the_file.then(|| Believer::attach(&room));
    storm.round(Fault::StopHub, &mut scenario);
    if let Some(believer) = &mut believer {
        believer.ends_what_the_file_names(&room);
    }
    storm.greet();
    let broken = storm.census.broken();
    for (client, load) in storm.sessions {
        load.audit(&room, &mut scenario);
        client.close(&room);
    }
    storm.hub.end();
    broken
}

#[test]
fn a_hub_that_is_well_is_not_ended_and_a_session_that_believes_the_file_is_found_out() {
    assert_eq!(stopped(false), Vec::<String>::new());
    let broken = stopped(true);
    assert!(broken.iter().any(|one| one.contains("was well")), "the census does not show the planted bug: {broken:?}");
    let about = "Hubs and sessions with a bug: each must be found out by what is checked of real ones.";
    Record::write_planted("planted-in-hubs", about, 4).expect("the record can be written");
}
