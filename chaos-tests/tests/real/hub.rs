//! Several AI clients on one hub, which is killed, stopped and ended under load, as are the clients' sessions and the editor.
//!
//! What counts is the editor's own count of runs: no call runs twice, whatever its client is told, and what the client is told is
//! true of that count.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use super::client::{Client, Verdict};
use super::cycles::Load;
use super::scenario::Scenario;
use super::system;
use super::unity::Unity;
use super::{Room, setting, until};

/// The hub of a room. It is no child of the test, so it is ended by its pid, which its own file names.
struct Hub<'r> {
    room: &'r Room,
}

impl Drop for Hub<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for name in ["hub.log", "calls.jsonl"] {
                let text = std::fs::read_to_string(self.room.state().join("hub").join(name)).unwrap_or_default();
                let lines: Vec<&str> = text.lines().rev().take(60).collect();
                let tail: Vec<&str> = lines.into_iter().rev().collect();
                let _ = writeln!(std::io::stderr(), "---- the end of {name}\n{}", tail.join("\n"));
            }
        }
        if let Some(pid) = self.pid() {
            let _ = kill(pid, Signal::SIGKILL);
        }
    }
}

impl Hub<'_> {
    /// The pid of the running hub. The file of a hub that was killed names a process that has ended.
    fn pid(&self) -> Option<Pid> {
        let text = std::fs::read(self.room.state().join("hub/hub.json")).ok()?;
        let info: serde_json::Value = serde_json::from_slice(&text).ok()?;
        let pid = u32::try_from(info["pid"].as_u64()?).ok()?;
        system::runs(pid).then(|| Pid::from_raw(i32::try_from(pid).expect("a pid")))
    }

    /// Waits until a hub runs, and sends it a signal.
    fn signal(&self, signal: Signal) -> Pid {
        until("a hub", || self.pid().is_some_and(|pid| kill(pid, signal).is_ok()));
        self.pid().unwrap_or(Pid::from_raw(0))
    }

    /// Ends the hub as a system does, and checks what it leaves.
    fn end(self) {
        let pid = self.signal(Signal::SIGTERM);
        let runs = || u32::try_from(pid.as_raw()).is_ok_and(|pid| pid > 0 && system::runs(pid));
        until("the end of the hub", || !runs());
        let hub = self.room.state().join("hub");
        until("the hub's file is removed", || !hub.join("hub.json").exists());
        assert!(!hub.join("socket").exists(), "the socket is left behind");
        assert_eq!(open_calls(&hub), Vec::<String>::new(), "calls are left open in the records");
    }
}

/// The calls that the records of a hub have as sent and not as answered.
fn open_calls(hub: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(hub.join("calls.jsonl")).unwrap_or_default();
    let mut open = Vec::new();
    for line in text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()) {
        let call = |of: &str| line[of]["call"].as_str().map(str::to_owned);
        open.extend(call("sent"));
        for ended in [call("answered"), call("dropped")].into_iter().flatten() {
            open.retain(|one| *one != ended);
        }
    }
    open
}

fn open(room: &Room) -> Client {
    Client::open(room, &["--hub", "start", "--project", &room.project().display().to_string()])
}

/// What is done to the hub, a session or the editor in one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    KillHub,
    StopHub,
    EndHub,
    KillSession,
    KillEditor,
}

impl Fault {
    fn of(round: u64) -> Self {
        match round % 10 {
            3 => Self::EndHub,
            5 => Self::KillSession,
            7 => Self::KillEditor,
            // Seconds pass until a hub that is stopped counts as hung.
            9 if round % 20 == 9 => Self::StopHub,
            _ => Self::KillHub,
        }
    }
}

/// Runs the load of `clients` sessions over one hub, and does something to it in each of `rounds` rounds.
fn storm(dialect: &str, name: &str, clients: u64, rounds: u64) {
    let mut scenario = Scenario::new(name, &["H01", "H02", "H03", "H04", "H05"]);
    let room = Room::new();
    let quiet = ["--quiet", "--dialect", dialect];
    let mut unity = Unity::of_project(&room, &quiet);
    let hub = Hub { room: &room };
    let mut sessions: Vec<(Client, Load)> =
        (0..clients).map(|number| (open(&room), Load::from(number * 1_000_000))).collect();
    for (client, _) in &mut sessions {
        client.echoes();
    }
    let (mut unknown, mut kills) = (0, 0);
    for round in 0..rounds {
        let load = |sessions: &mut [(Client, Load)]| {
            for (client, load) in sessions {
                load.some(client);
            }
        };
        load(&mut sessions);
        std::thread::sleep(Duration::from_micros(fastrand::u64(0..20_000)));
        load(&mut sessions);
        let fault = Fault::of(round);
        let mut lossy = 1;
        match fault {
            Fault::KillHub => drop(hub.signal(Signal::SIGKILL)),
            Fault::StopHub => drop(hub.signal(Signal::SIGSTOP)),
            Fault::EndHub => drop(hub.signal(Signal::SIGTERM)),
            Fault::KillSession => {
                let at = fastrand::usize(..sessions.len());
                let (client, load) = &mut sessions[at];
                client.kill();
                load.forsake();
                *client = open(&room);
                lossy = 0;
            }
            Fault::KillEditor => {
                unity.kill();
                unity = Unity::of_project(&room, &quiet);
            }
        }
        scenario.record.injected(&format!("{fault:?}"));
        kills += u64::from(matches!(fault, Fault::KillHub | Fault::StopHub | Fault::EndHub));
        load(&mut sessions);
        let lost: usize = sessions.iter_mut().map(|(client, load)| load.settle(client, &mut scenario)).sum();
        // The editor has one call at a time. With a journal the successor learns what became of it, unless the journal ends
        // with its editor.
        let most = if dialect == "holdfast" && fault != Fault::KillEditor { 0 } else { lossy };
        assert!(lost <= most, "{fault:?} in round {round} cost {lost} calls");
        unknown += lost;
    }
    for (client, load) in &mut sessions {
        client.echoes();
        load.audit(&room, &mut scenario);
    }
    scenario.picture(&sessions[0].0, &room);
    for (client, _) in sessions {
        client.close(&room);
    }
    hub.end();
    scenario.record.figure("rounds", rounds as f64);
    scenario.record.figure("sessions", clients as f64);
    scenario.record.figure("hubs_ended", kills as f64);
    scenario.record.figure("unknown", unknown as f64);
}

#[test]
fn a_hub_killed_stopped_and_ended_again_and_again_costs_no_session_an_answer_and_no_call_runs_twice() {
    storm("uloop", "hub-kills", setting("SESSIONS", 4), setting("ROUNDS", 20));
}

#[test]
fn with_a_journal_a_killed_hub_costs_no_call_its_result() {
    storm("holdfast", "hub-kills-holdfast", setting("SESSIONS", 4), setting("ROUNDS", 20));
}

#[test]
fn many_sessions_that_start_at_once_share_one_hub() {
    let mut scenario = Scenario::new("hub-start", &["H06"]);
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let hub = Hub { room: &room };
    let starting: Vec<_> = std::thread::scope(|scope| {
        let opened: Vec<_> = (0..20).map(|_| scope.spawn(|| open(&room))).collect();
        opened.into_iter().map(|opened| opened.join().expect("it opens")).collect()
    });
    let mut starting: Vec<Client> = starting;
    for client in &mut starting {
        client.echoes();
    }
    let hubs: std::collections::BTreeSet<String> = starting
        .iter()
        .flat_map(|client| {
            let attached = |line: &str| Some(line.split_once(r#""hub":""#)?.1.split_once('"')?.0.to_owned());
            client.log().lines().filter(|line| line.contains("hub_attached")).filter_map(attached).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(hubs.len(), 1, "{hubs:?}");
    scenario.record.checked("I18", 20);
    for client in starting {
        client.close(&room);
    }
    hub.end();
}

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
    let forgetful = |text: &str| {
        text.lines().filter(|line| !line.contains(r#""tool":"count""#)).map(|line| format!("{line}\n")).collect()
    };
    assert_eq!(killed_under_a_call(forgetful).1, 2, "the counts of runs do not show the planted bug");
}

/// The old hub does not wait for a call that takes long, and says nothing about it: its successor asks the editor's journal.
#[test]
fn a_hub_that_is_told_to_end_leaves_a_running_call_to_its_successor() {
    let mut scenario = Scenario::new("hub-told-to-end", &["H03"]);
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", "holdfast"]);
    let hub = Hub { room: &room };
    let mut client = open(&room);
    client.echoes();
    let id = client.call("count", &json!({"key": "held", "hold": true}));
    until("the call runs", || room.runs("held") == 1);
    let pid = hub.signal(Signal::SIGTERM);
    until("the hub ends", || !system::runs(u32::try_from(pid.as_raw()).expect("a pid")));
    until("a successor runs", || hub.pid().is_some());
    unity.order("release");
    let answer = client.answer(id);
    assert_eq!((answer.verdict(), room.runs("held")), (Verdict::Ok, 1), "{}", answer.0);
    scenario.record.checked("I2", 1);
    client.close(&room);
    hub.end();
}

/// The hub's file may be old or wrong. A process that it names is not ended for that.
#[test]
fn a_hung_hub_is_ended_and_no_process_that_a_file_names_is() {
    let mut scenario = Scenario::new("hub-hung", &["H02"]);
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let hub = Hub { room: &room };
    let mut client = open(&room);
    client.echoes();
    let mut bystander = std::process::Command::new("sleep").arg("120").spawn().expect("a process");
    let pid = hub.signal(Signal::SIGSTOP);
    let file = room.state().join("hub/hub.json");
    let mut info: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&file).expect("it is there")).expect("JSON");
    info["pid"] = bystander.id().into();
    std::fs::write(&file, info.to_string()).expect("writable");
    client.echoes();
    assert!(!system::runs(u32::try_from(pid.as_raw()).expect("a pid")), "the hung hub still runs");
    assert!(bystander.try_wait().expect("our child").is_none(), "a bystander was ended");
    scenario.record.checked("I18", 1);
    bystander.kill().expect("our child");
    let _ = bystander.wait();
    client.close(&room);
    hub.end();
}
