//! Several AI clients on one hub, which is killed, stopped and ended under load, as are the clients' sessions and the editor.
//!
//! What counts is the editor's own count of runs: no call runs twice, whatever its client is told, and what the client is told is
//! true of that count.

mod census;
mod http;
mod planted;
mod skewed;

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use holdfast_fake_unity::{OwnPort, PACKAGES, Package, Port};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use self::census::Census;
use super::client::{Client, Verdict};
use super::cycles::{Load, greet, record_name, wanted};
use super::scenario::Scenario;
use super::system;
use super::unity::Unity;
use super::{Room, setting, turns, until};

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
    /// The hub hangs. Seconds pass until its sessions notice.
    StopHub,
    EndHub,
    KillSession,
    KillEditor,
    /// One session comes to the successor long after the others.
    KillHubBehindStoppedSession,
    /// The successor finds an editor that does not answer yet.
    KillHubBeforeStoppedEditor,
    KillHubAndEditor,
}

impl Fault {
    fn of(round: u64) -> Self {
        match round % 10 {
            1 => Self::KillHubBehindStoppedSession,
            3 => Self::EndHub,
            4 => Self::KillHubBeforeStoppedEditor,
            5 => Self::KillSession,
            7 => Self::KillEditor,
            8 => Self::KillHubAndEditor,
            9 if round % 20 == 9 => Self::StopHub,
            _ => Self::KillHub,
        }
    }

    fn ends_hub(self) -> bool {
        !matches!(self, Self::KillSession | Self::KillEditor)
    }

    /// Returns how many calls it may cost their outcome. The editor has one call at a time. From a journal the successor learns
    /// what became of it, unless the journal ends with its editor.
    fn costs_at_most(self, journal: bool) -> usize {
        match self {
            Self::KillSession => 0,
            Self::KillEditor | Self::KillHubAndEditor => 1,
            _ => usize::from(!journal),
        }
    }
}

/// How long a session or an editor stands still.
const STILL: Duration = Duration::from_millis(100);

/// Several sessions over one hub, with their editor.
struct Storm<'r> {
    room: &'r Room,
    hub: Hub<'r>,
    census: Census,
    unity: Unity,
    package: &'static Package,
    sessions: Vec<(Client, Load)>,
    /// How many sessions went on without a hub, because hub after hub ended within a second, and were replaced.
    left: u64,
}

/// Whether a session serves its client by itself, for the rest of its life. It has a connection of its own to the editor then.
fn has_left(client: &Client) -> bool {
    client.log().contains("hub_forgone")
}

impl<'r> Storm<'r> {
    fn start(room: &'r Room, package: &'static Package, clients: u64) -> Self {
        let census = Census::of(room);
        let (unity, hub) = (Self::unity(room, package), Hub { room });
        let session = |number| (open(room), Load::of(package, number * 1_000_000));
        let sessions = (0..clients).map(session).collect();
        let mut storm = Self { room, hub, census, unity, package, sessions, left: 0 };
        storm.greet();
        storm
    }

    fn unity(room: &Room, package: &Package) -> Unity {
        // A hub is told no port, so an editor whose port stands nowhere has the one of its package's code.
        let port = if package.facts.port == Port::Told { package.facts.default_ports[0] } else { 0 };
        Unity::of_project(room, &["--quiet", "--dialect", package.name, "--port", &port.to_string()])
    }

    fn greet(&mut self) {
        self.sessions.iter_mut().for_each(|(client, _)| greet(self.package, client));
    }

    fn load(&mut self) {
        self.sessions.iter_mut().for_each(|(client, load)| load.some(client));
    }

    /// Makes calls in every session, does something meanwhile, and returns how many calls that cost their outcome.
    fn round(&mut self, fault: Fault, scenario: &mut Scenario) -> usize {
        self.load();
        std::thread::sleep(Duration::from_micros(fastrand::u64(0..20_000)));
        self.load();
        self.inflict(fault);
        scenario.record.injected(&format!("{fault:?}"));
        self.census.ended += u64::from(fault.ends_hub());
        self.load();
        self.settle(scenario)
    }

    /// Waits for every answer, and returns how many counted calls have an unknown outcome.
    fn settle(&mut self, scenario: &mut Scenario) -> usize {
        self.sessions.iter_mut().map(|(client, load)| load.settle(client, scenario)).sum()
    }

    /// Replaces each session that serves itself by one that `open` opens, so that every round finds all sessions on one hub. Each
    /// must have all its answers.
    fn renew(&mut self, open: impl Fn(&Room) -> Client) {
        for (client, _) in self.sessions.iter_mut().filter(|(client, _)| has_left(client)) {
            std::mem::replace(client, open(self.room)).close(self.room);
            self.left += 1;
        }
    }

    fn inflict(&mut self, fault: Fault) {
        let at = fastrand::usize(..self.sessions.len());
        match fault {
            Fault::KillHub => drop(self.hub.signal(Signal::SIGKILL)),
            Fault::StopHub => drop(self.hub.signal(Signal::SIGSTOP)),
            Fault::EndHub => drop(self.hub.signal(Signal::SIGTERM)),
            Fault::KillSession => {
                let (client, load) = &mut self.sessions[at];
                client.kill();
                load.forsake();
                *client = open(self.room);
            }
            Fault::KillEditor => {
                self.unity.kill();
                self.unity = Self::unity(self.room, self.package);
            }
            Fault::KillHubBehindStoppedSession => {
                self.sessions[at].0.stop();
                self.hub.signal(Signal::SIGKILL);
                std::thread::sleep(STILL);
                self.sessions[at].0.signal(Signal::SIGCONT);
            }
            Fault::KillHubBeforeStoppedEditor => {
                self.unity.stop();
                self.hub.signal(Signal::SIGKILL);
                std::thread::sleep(STILL);
                self.unity.go_on();
            }
            Fault::KillHubAndEditor => {
                self.hub.signal(Signal::SIGKILL);
                self.unity.kill();
                self.unity = Self::unity(self.room, self.package);
            }
        }
    }

    /// Checks how often each call ran, and what the hubs left.
    fn end(mut self, scenario: &mut Scenario) {
        self.greet();
        for (_, load) in &self.sessions {
            load.audit(self.room, scenario);
        }
        scenario.picture(&self.sessions[0].0, self.room);
        assert_eq!(self.census.broken(), Vec::<String>::new());
        scenario.record.checked("I18", 1 + self.census.ended);
        for (client, _) in self.sessions {
            client.close(self.room);
        }
        self.hub.end();
    }
}

/// Runs the load of several sessions over one hub, and does something to it in each round.
fn storm(package: &'static Package) {
    let rounds = if package == PACKAGES[0] || package.facts.journal { 20 } else { 10 };
    let clients = setting("SESSIONS", 4);
    let rounds = turns(package, 0, setting("ROUNDS", rounds), 20);
    let mut scenario = Scenario::new(&record_name("hub-kills", package), &["H01", "H02", "H03", "H04", "H05"]);
    let told = (package.facts.port == Port::Told).then(|| package.facts.default_ports[0]);
    let _port = told.map(alone_with_the_port);
    let room = Room::new();
    let mut storm = Storm::start(&room, package, clients);
    let mut unknown = 0;
    for round in &rounds {
        let fault = Fault::of(*round);
        let lost = storm.round(fault, &mut scenario);
        let most = fault.costs_at_most(package.facts.journal);
        assert!(lost <= most, "{fault:?} in round {round} cost {lost} calls");
        unknown += lost;
        storm.renew(open);
    }
    scenario.record.figure("hubs_ended", storm.census.ended as f64);
    let left = storm.left;
    storm.end(&mut scenario);
    scenario.record.figure("rounds", rounds.len() as f64);
    scenario.record.figure("sessions", clients as f64);
    scenario.record.figure("unknown", unknown as f64);
    scenario.record.figure("sessions_that_left", left as f64);
}

/// Keeps other runs of these tests on this machine from the one port that there is, until it is dropped.
fn alone_with_the_port(port: u16) -> OwnPort {
    let mut own = None;
    until("no other test plays an editor on this port", || {
        own = OwnPort::of(port).ok();
        own.is_some()
    });
    own.expect("it was claimed")
}

/// With a journal a killed hub costs no call its result.
#[test]
fn a_hub_killed_stopped_and_ended_again_and_again_costs_no_session_an_answer_and_no_call_runs_twice() {
    wanted().for_each(storm);
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

/// The old hub does not wait for a call that takes long, and says nothing about it: its successor asks the editor's journal.
#[test]
fn a_hub_that_is_told_to_end_leaves_a_running_call_to_its_successor() {
    let mut scenario = Scenario::new("hub-told-to-end", &["H03"]);
    let room = Room::new();
    let package = Package::that(|facts| facts.journal);
    let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", package.name]);
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
    assert!(answer.0.to_string().contains("The call was taken over"), "{}", answer.0);
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
