//! Clients over HTTP, of both eras, on a hub that is killed, stopped and ended under their load, as is the editor. Some of the
//! clients leave before they have their answer.
//!
//! What counts is the editor's own count of runs: no call runs twice, and what a client is told is true of that count.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chaos_tests::record::Record;
use holdfast_testkit::http::{Connection, Response};
use holdfast_testkit::process::hub::{Era, Hub, asks, call, path};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::super::client::{Client, Verdict};
use holdfast_fake_unity::{PACKAGES, Package};

use super::super::cycles::{Load, is_wanted};
use super::super::unity::Unity;
use super::super::{Room, SOON, setting, shared, until};
use super::{STILL, Scenario, has_left, open, open_calls};

/// Calls of one client in a round, one after the other.
const CALLS: usize = 4;
/// Clients of each era that leave while their call waits behind another one.
const WAITING: usize = 3;

/// What is done to the hub or to the editor in one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    KillHub,
    StopHub,
    EndHub,
    KillEditor,
    KillHubAndEditor,
}

impl Fault {
    fn of(round: u64) -> Self {
        match round % 6 {
            0 => Self::KillHub,
            1 => Self::None,
            2 => Self::KillEditor,
            3 => Self::EndHub,
            4 => Self::StopHub,
            _ => Self::KillHubAndEditor,
        }
    }

    fn kills_hub(self) -> bool {
        matches!(self, Self::KillHub | Self::KillHubAndEditor)
    }

    /// Returns how many calls it may cost their outcome, besides those whose hub was killed, which get no answer. The editor has one
    /// call at a time.
    fn costs_at_most(self) -> usize {
        match self {
            Self::None | Self::StopHub => 0,
            _ => 1,
        }
    }
}

/// What became of a call.
#[derive(Debug, Clone)]
struct Told {
    key: String,
    era: Era,
    /// Whether its client left.
    left: bool,
    /// `None` if the connection ended before an answer was there.
    answer: Option<Response>,
}

/// How often each call ran.
fn runs(room: &Room) -> HashMap<String, u64> {
    let mut runs = HashMap::new();
    // A kill may leave an incomplete line. No answer says that its call ran.
    let text = std::fs::read_to_string(room.count_file()).unwrap_or_default();
    for line in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        *runs.entry(line["key"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }
    runs
}

/// Returns the promises that are broken, and how many calls have an unknown outcome.
fn judge(told: &[Told], runs: &HashMap<String, u64>, fault: Fault) -> (Vec<String>, usize) {
    let (mut broken, mut unknown) = (Vec::new(), 0);
    for Told { key, era, left, answer } in told {
        let ran = runs.get(key).copied().unwrap_or(0);
        if ran > 1 {
            broken.push(format!("{key} ({era:?}) ran {ran} times"));
        }
        match answer {
            None if *left || fault.kills_hub() => {}
            // A hub that ends closes connections of which it has read nothing.
            None if fault == Fault::EndHub && ran == 0 => {}
            None => broken.push(format!("{key} ({era:?}) got no answer")),
            Some(answer) if answer.status() == 503 => {
                if ran > 0 {
                    broken.push(format!("{key} was refused and ran: {answer:?}"));
                }
            }
            Some(answer) if answer.status() == 200 => {
                let messages = answer.messages();
                let answers: Vec<_> = messages.iter().filter(|message| message["id"] == 1).collect();
                let [one] = answers.as_slice() else {
                    broken.push(format!("{key} ({era:?}) got {} answers: {answer:?}", answers.len()));
                    continue;
                };
                let verdict = Verdict::of(one);
                unknown += usize::from(verdict == Verdict::Unknown);
                if !verdict.ran().is_true(ran) {
                    broken.push(format!("{key} ({era:?}) ran {ran} times and was answered {verdict:?}: {answer:?}"));
                }
            }
            Some(answer) => broken.push(format!("{key} ({era:?}) got {answer:?}")),
        }
    }
    (broken, unknown)
}

/// What a client knows of the service. A successor of the hub has the same address and token.
#[derive(Clone)]
struct Caller {
    address: String,
    token: String,
    path: String,
    keys: Arc<AtomicU64>,
}

/// Several clients of a hub, with their editor.
struct Storm<'r> {
    room: &'r Room,
    package: &'static Package,
    hub: Hub,
    unity: Unity,
    caller: Caller,
    told: Vec<Told>,
    /// Sessions over stdin and stdout on the same hub. One of them starts a hub when this one is gone, which serves no HTTP.
    sessions: Vec<(Client, Load)>,
}

/// Connects to a hub, or to its successor.
async fn connected(address: &str) -> Connection<TcpStream> {
    let connecting = async {
        loop {
            match TcpStream::connect(address).await {
                Ok(stream) => return Connection::over(stream),
                Err(_) => sleep(Duration::from_millis(5)).await,
            }
        }
    };
    timeout(SOON, connecting).await.expect("a hub listens")
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

impl Caller {
    fn post(&self, era: Era, message: &Value) -> String {
        asks((&self.address, &self.token), era, &self.path, message)
    }

    /// The bytes of a counted call.
    fn asks(&self, era: Era, key: &str, streams: bool) -> String {
        let mut message = call("count", json!({"key": key}));
        if streams {
            message["params"]["_meta"] = json!({"progressToken": key});
        }
        self.post(era, &message)
    }

    async fn connect(&self) -> Connection<TcpStream> {
        connected(&self.address).await
    }

    /// Waits for a successful answer of the editor.
    fn greet(&self) {
        let bytes = self.post(Era::Handshake, &call("echo", json!({})));
        let answered = || async { self.connect().await.ask(&bytes).await.map(|answer| answer.answer()) };
        until("the editor answers", || block_on(answered()).is_some_and(|answer| Verdict::of(&answer) == Verdict::Ok));
    }

    /// What one client does in a round.
    fn calls(&self) -> Vec<Told> {
        let mut told = Vec::new();
        for _ in 0..CALLS {
            let key = format!("k{}", self.keys.fetch_add(1, Ordering::Relaxed));
            let era = if fastrand::bool() { Era::Handshake } else { Era::Stateless };
            let (left, bytes) = (fastrand::u8(..4) == 0, self.asks(era, &key, fastrand::bool()));
            let answer = block_on(async {
                let mut connection = self.connect().await;
                if left {
                    connection.send(&bytes).await;
                    sleep(Duration::from_micros(fastrand::u64(..8_000))).await;
                    return None;
                }
                timeout(SOON, connection.ask(&bytes)).await.expect("an answer, or the end of the connection")
            });
            told.push(Told { key, era, left, answer });
        }
        told
    }
}

impl<'r> Storm<'r> {
    fn start(room: &'r Room, package: &'static Package, sessions: u64) -> Self {
        let (unity, hub) = (Self::unity(room, package), Hub::start(room));
        let (address, token) = (hub.address.clone(), hub.token.clone());
        let caller = Caller { address, token, path: path(room), keys: Arc::default() };
        caller.greet();
        let session = |number| (open(room), Load::of(package, (1 + number) * 1_000_000));
        let sessions = (0..sessions).map(session).collect();
        Self { room, package, hub, unity, caller, told: Vec::new(), sessions }
    }

    fn unity(room: &Room, package: &Package) -> Unity {
        Unity::of_project(room, &["--quiet", "--dialect", package.name])
    }

    fn inflict(&mut self, fault: Fault) {
        let (kills_editor, ends_hub) =
            (matches!(fault, Fault::KillEditor | Fault::KillHubAndEditor), fault.kills_hub() || fault == Fault::EndHub);
        match fault {
            Fault::None | Fault::KillEditor => {}
            Fault::KillHub | Fault::KillHubAndEditor => self.hub.kill(),
            Fault::EndHub => self.hub.end(),
            Fault::StopHub => {
                self.hub.signal(Signal::SIGSTOP);
                std::thread::sleep(STILL);
                self.hub.signal(Signal::SIGCONT);
            }
        }
        if kills_editor {
            self.unity.kill();
            self.unity = Self::unity(self.room, self.package);
        }
        if ends_hub {
            self.hub = Hub::with(self.room, &["--http", &self.caller.address]);
        }
    }

    /// Has all clients make calls, does something meanwhile, and returns how many calls that cost their outcome.
    fn round(&mut self, clients: u64, fault: Fault, scenario: &mut Scenario) -> usize {
        let (caller, room) = (self.caller.clone(), self.room);
        self.load();
        let told: Vec<Told> = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..clients).map(|_| scope.spawn(|| caller.calls())).collect();
            std::thread::sleep(Duration::from_micros(fastrand::u64(..20_000)));
            self.inflict(fault);
            self.load();
            clients.into_iter().flat_map(|client| client.join().expect("it ends")).collect()
        });
        scenario.record.injected(&format!("{fault:?}"));
        if fault.costs_at_most() == 0 {
            // With a handshake, the call of a client that has left goes on.
            for told in told.iter().filter(|told| told.left && told.era == Era::Handshake) {
                until("the call of a client that left has run", || room.runs(&told.key) == 1);
            }
        }
        let (broken, unknown) = judge(&told, &runs(room), fault);
        assert_eq!(broken, Vec::<String>::new(), "{fault:?}");
        scenario.record.checked("I1", told.iter().filter(|told| told.answer.is_some()).count() as u64);
        self.told.extend(told);
        let unknown =
            unknown + self.sessions.iter_mut().map(|(client, load)| load.settle(client, scenario)).sum::<usize>();
        // A session that serves itself has a connection of its own, on which the editor has a call besides the hub's.
        for (client, _) in self.sessions.iter_mut().filter(|(client, _)| has_left(client)) {
            std::mem::replace(client, open(room)).close(room);
        }
        unknown
    }

    fn load(&mut self) {
        self.sessions.iter_mut().for_each(|(client, load)| load.some(client));
    }

    /// Clients of both eras leave while their calls wait behind another one: with a handshake these run, without they never do.
    fn leave_while_waiting(&mut self, scenario: &mut Scenario) {
        let number = self.caller.keys.fetch_add(1, Ordering::Relaxed);
        let gate = format!("gate{number}");
        let held = |era: Era| (0..WAITING).map(move |nth| format!("{era:?}{number}-{nth}")).collect::<Vec<_>>();
        let caller = self.caller.clone();
        // A call of a hub that was killed may be held too, but for its client.
        let waiting = |calls: &str| calls.matches("\\\"busy\\\"").count();
        block_on(async {
            let calls = || async {
                let asks = caller.post(Era::Handshake, &call("holdfast_calls", json!({"limit": 50})));
                caller.connect().await.ask(&asks).await.expect("an answer").body
            };
            let mut first = caller.connect().await;
            let message = call("count", json!({"key": gate, "hold": true}));
            first.send(&caller.post(Era::Handshake, &message)).await;
            until("the call runs", || self.room.runs(&gate) == 1);
            let mut others = Vec::new();
            for era in [Era::Handshake, Era::Stateless] {
                for key in held(era) {
                    let mut connection = caller.connect().await;
                    connection.send(&caller.asks(era, &key, fastrand::bool())).await;
                    others.push(connection);
                }
            }
            let wanted = async |count: usize, what: &str| {
                let mut seen = String::new();
                let waits = async {
                    loop {
                        seen = calls().await;
                        if waiting(&seen) == count {
                            break;
                        }
                        sleep(Duration::from_millis(5)).await;
                    }
                };
                assert!(timeout(SOON, waits).await.is_ok(), "{what}: {seen}");
            };
            wanted(2 * WAITING, "all wait").await;
            drop(others);
            wanted(WAITING, "those without a handshake are withdrawn").await;
            self.unity.order("release");
            let head = timeout(SOON, first.head()).await.expect("in time").expect("a head");
            assert!(first.body(&head).await.is_some_and(|body| body.contains("Runs")));
        });
        for key in held(Era::Handshake) {
            until("the call of a client that left has run", || self.room.runs(&key) == 1);
        }
        // Came after all of them.
        self.caller.greet();
        for key in held(Era::Stateless) {
            assert_eq!(self.room.runs(&key), 0, "{key} was withdrawn and ran");
        }
        scenario.record.injected("LeaveWhileWaiting");
        scenario.record.checked("I2", 2 * WAITING as u64);
    }

    /// Checks how often each call ran, and what the hubs left.
    fn end(mut self, scenario: &mut Scenario) {
        self.caller.greet();
        for (client, load) in self.sessions {
            load.audit(self.room, scenario);
            client.close(self.room);
        }
        self.hub.end();
        assert_eq!(
            open_calls(&self.room.state().join("hub")),
            Vec::<String>::new(),
            "calls are left open in the records"
        );
        let runs = runs(self.room);
        for told in &self.told {
            let ran = runs.get(&told.key).copied().unwrap_or(0);
            assert!(ran <= 1, "{} ran {ran} times", told.key);
            scenario.record.checked("I2", 1);
        }
    }
}

fn storm(package: &'static Package, rounds: u64, sessions: u64) {
    if !is_wanted(package.name) {
        return;
    }
    let name = if sessions == 0 { "http-kills" } else { "http-kills-beside-sessions" };
    let mut scenario = Scenario::new(&format!("{name}-{}", package.name), &["H10", "H11"]);
    let (clients, rounds) = (setting("SESSIONS", 4), setting("ROUNDS", if shared() { rounds / 2 } else { rounds }));
    let room = Room::new();
    let mut storm = Storm::start(&room, package, sessions);
    let mut unknown = 0;
    for round in 0..rounds {
        let fault = Fault::of(round);
        let lost = storm.round(clients, fault, &mut scenario);
        assert!(lost <= fault.costs_at_most(), "{fault:?} in round {round} cost {lost} calls");
        unknown += lost;
        if round % 6 == 1 {
            storm.caller.greet();
            storm.leave_while_waiting(&mut scenario);
        }
    }
    scenario.record.figure("rounds", rounds as f64);
    scenario.record.figure("clients", clients as f64);
    scenario.record.figure("calls", storm.told.len() as f64);
    scenario.record.figure("unknown", unknown as f64);
    storm.end(&mut scenario);
}

#[test]
fn clients_over_http_get_one_true_answer_each_while_hub_and_editor_are_killed_and_nothing_runs_twice() {
    storm(PACKAGES[0], 48, 0);
}

#[test]
fn clients_over_http_of_an_editor_with_a_journal_get_one_true_answer_each_while_both_are_killed() {
    storm(Package::that(|facts| facts.journal), 24, 0);
}

/// Sessions start a successor of a hub that is gone, without HTTP. The hub that is started again to serve HTTP takes over from it.
#[test]
fn clients_over_http_and_sessions_share_a_hub_that_is_killed_and_no_answer_is_lost() {
    storm(PACKAGES[0], 18, 2);
}

/// What is checked above finds each of these.
#[test]
fn a_proxy_that_repeats_a_post_and_answers_that_are_wrong_are_found_out() {
    let room = Room::new();
    let mut scenario = Scenario::new("http-planted", &["H10"]);
    let mut storm = Storm::start(&room, PACKAGES[0], 0);
    storm.round(4, Fault::None, &mut scenario);
    let found = |told: &[Told]| judge(told, &runs(&room), Fault::None).0;
    assert_eq!(found(&storm.told), Vec::<String>::new());
    // A proxy with this bug sends a POST again when the connection to the hub was cut.
    let repeated = Told { key: "again".into(), era: Era::Handshake, left: true, answer: None };
    block_on(async {
        for _ in 0..2 {
            storm.caller.connect().await.send(&storm.caller.asks(repeated.era, &repeated.key, false)).await;
        }
    });
    until("both run", || room.runs(&repeated.key) == 2);
    assert!(found(&[repeated])[0].contains("ran 2 times"));
    let answered = storm.told.iter().find(|told| told.answer.is_some()).expect("most clients stay").clone();
    let with = |change: &dyn Fn(&Response) -> Option<Response>| {
        found(&[Told { answer: answered.answer.as_ref().and_then(change), ..answered.clone() }])
    };
    let lies = json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "Not executed: x"}], "isError": true}});
    let of = |answer: &Response, messages: &[&Value]| {
        let body = messages.iter().map(|message| format!("event: message\ndata: {message}\n\n")).collect();
        let mut head = answer.head.clone();
        head.headers.retain(|(name, _)| name != "content-type");
        head.headers.push(("content-type".to_owned(), "text/event-stream".to_owned()));
        Some(Response { head, body })
    };
    assert!(with(&|_| None)[0].contains("no answer"));
    assert!(with(&|answer| of(answer, &[&lies]))[0].contains("was answered NotExecuted"));
    assert!(with(&|answer| of(answer, &[&answer.answer(), &answer.answer()]))[0].contains("2 answers"));
    scenario.record.checked("I2", 4);
    storm.end(&mut scenario);
    let about = "A proxy that repeats a POST, an answer that is missing, comes twice or lies: each must be found out.";
    Record::write_planted("planted-over-http", about, 4).expect("the record can be written");
}
