//! Sessions of several clients on one hub, and what happens if the hub cannot be used.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::fs::{File, Permissions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};

use holdfast_fake_unity::Package;
use std::time::{Duration, Instant};

use holdfast::core::port::messages::{CALL, OPENED};
use holdfast::limits::PATIENCE_MARGIN;
use holdfast::limits::hub::{
    CALL_RECORD_MAX_AGE, HUB_GONE_WITHIN, HUB_LOOK_EVERY, HUB_QUESTIONS_MAX, HUB_VERDICTS_MAX,
};
use holdfast::protocol::hub::{Hello, NEWEST, OLDEST, OpenRequest, PORT, SessionRules};
use holdfast::storage::call_files::CallFile;
use holdfast::storage::hub_folder::HubFolder;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::client::{self, Client, Verdict};
use super::unity::Unity;
use super::{Room, SOON, once_within, until};

/// A hub that a test started.
pub(super) struct Hub(pub(super) Child);

impl Drop for Hub {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(super) fn hub(room: &Room) -> Command {
    let mut command = client::command(room);
    command.arg("hub").stdin(Stdio::null()).stdout(Stdio::null());
    command
}

impl Hub {
    pub(super) fn start(room: &Room) -> Self {
        let errors = File::create(room.path().join("hub-errors.log")).unwrap();
        let hub = Self(hub(room).stderr(errors).spawn().unwrap());
        let file = room.state().join("hub/hub.json");
        until("the hub serves", || file.exists());
        hub
    }

    fn stop(&self) {
        kill(Pid::from_raw(i32::try_from(self.0.id()).unwrap()), Signal::SIGSTOP).unwrap();
    }
}

/// Returns the pid of the hub that runs.
pub(super) fn elected(room: &Room) -> Pid {
    let info: Value = serde_json::from_slice(&std::fs::read(room.state().join("hub/hub.json")).unwrap()).unwrap();
    Pid::from_raw(i32::try_from(info["pid"].as_i64().unwrap()).unwrap())
}

pub(super) fn flags<'a>(room: &Room, more: &[&'a str]) -> Vec<std::borrow::Cow<'a, str>> {
    let mut flags = vec!["--project".into(), room.project().display().to_string().into()];
    flags.extend(more.iter().map(|flag| (*flag).into()));
    flags
}

pub(super) fn open(room: &Room, more: &[&str]) -> Client {
    let flags = flags(room, more);
    Client::open(room, &flags.iter().map(|flag| &**flag).collect::<Vec<_>>())
}

pub(super) fn attached(client: &Client) -> bool {
    client.log().contains("hub_attached")
}

#[test]
fn each_session_on_a_hub_has_its_own_rules_and_leaves_none_to_the_hub() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    // This session starts the hub, with rules in its flags and in its environment.
    let mut command = client::command(&room);
    command.args(flags(&room, &["--hub", "start", "--deny", "echo"]).iter().map(|flag| &**flag));
    command.env("HOLDFAST_DENY", "count");
    let mut denied = Client::spawn(&room, command);
    denied.initialize();
    for tool in ["echo", "count"] {
        let answer = denied.done(tool, &json!({}));
        assert_eq!(answer.verdict(), Verdict::NotExecuted, "{}", answer.0);
    }
    let mut free = open(&room, &[]);
    free.echoes();
    assert_eq!(free.done("count", &json!({"key": "free"})).verdict(), Verdict::Ok);
    assert!(attached(&denied) && attached(&free));
    let status = free.done("holdfast_status", &json!({}));
    let clients = status.0["result"]["structuredContent"]["hub"]["clients"].as_array().map(Vec::len);
    assert_eq!(clients, Some(2), "{}", status.0);
    denied.close(&room);
    free.close(&room);
    kill(elected(&room), Signal::SIGTERM).unwrap();
    until("nothing is left", || !room.state().join("hub/hub.json").exists());
    assert!(room.run_records().is_empty(), "{:?}", room.run_records());
}

#[test]
fn a_hub_leads_a_session_to_what_its_client_named_and_has_none_of_it_itself() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let mut command = client::command(&room);
    command.args(["--hub", "start"]);
    command.env("CLAUDE_PROJECT_DIR", room.project()).env("CLAUDE_CODE_SESSION_ID", "0f6f1c1e\u{1b}[2J");
    let mut claude = Client::spawn(&room, command);
    claude.open_as("claude-code", "2025-11-25", json!({}));
    claude.echoes();
    assert!(attached(&claude));
    let mut plain = open(&room, &[]);
    plain.echoes();
    let status = plain.done("holdfast_status", &json!({}));
    let clients = &status.0["result"]["structuredContent"]["hub"]["clients"];
    let sessions: Vec<(&Value, &Value)> =
        clients.as_array().unwrap().iter().map(|one| (&one["client"], &one["client_session"])).collect();
    assert_eq!(sessions.len(), 2, "{sessions:?}");
    let id = json!("0f6f1c1e\\u{1b}[2J");
    assert!(sessions.contains(&(&json!("claude-code"), &id)), "{sessions:?}");
    assert!(sessions.contains(&(&json!("process-test"), &Value::Null)), "{sessions:?}");
    // Sessions write their records by and by.
    until("status shows the session", || {
        let told = client::command(&room).arg("status").output().unwrap();
        String::from_utf8(told.stdout).unwrap().contains("claude-code (session 0f6f1c1e")
    });
    // No other session may be led by what this one's client said.
    #[cfg(target_os = "linux")]
    {
        let environment = std::fs::read(format!("/proc/{}/environ", elected(&room))).unwrap();
        let environment = String::from_utf8_lossy(&environment);
        assert!(environment.contains("HOME=") && !environment.contains("CLAUDE_"), "{environment}");
    }
    claude.close(&room);
    plain.close(&room);
    kill(elected(&room), Signal::SIGTERM).unwrap();
    until("nothing is left", || !room.state().join("hub/hub.json").exists());
}

#[test]
fn a_call_of_a_session_that_ended_goes_on_in_the_hub() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet"]);
    let _hub = Hub::start(&room);
    let mut first = open(&room, &[]);
    first.echoes();
    first.call("count", &json!({"key": "held", "hold": true}));
    until("the call runs", || room.runs("held") == 1);
    first.kill();
    let mut second = open(&room, &[]);
    let waiting = second.call("echo", &json!({"text": "behind"}));
    unity.order("release");
    assert_eq!(second.answer(waiting).verdict(), Verdict::Ok, "it waited for the call of the other session");
    assert_eq!(room.runs("held"), 1);
    second.close(&room);
}

#[test]
fn a_second_hub_leaves_the_first_one_alone() {
    let room = Room::new();
    let _hub = Hub::start(&room);
    let ended = hub(&room).output().unwrap();
    let says = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success() && says.contains("runs already"), "{:?}: {says}", ended.status);
    assert!(room.state().join("hub/hub.json").exists());
}

#[test]
fn a_hub_without_a_folder_of_its_own_does_not_start_and_says_why() {
    let room = Room::new();
    std::fs::remove_dir_all(room.state()).unwrap_or_default();
    std::fs::write(room.state(), "a file").unwrap();
    let ended = hub(&room).output().unwrap();
    let says = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{says}");
    assert!(says.contains("cannot be used"), "{says}");
    let mut client = open(&room, &["--hub", "start"]);
    let _unity = Unity::of_project(&room, &["--quiet"]);
    client.echoes();
    client.close(&room);
}

/// A session whose client reads nothing does not read the hub either. That must not look as if the hub were hung.
#[test]
fn a_client_that_reads_nothing_does_not_cost_the_others_their_hub() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let mut hub = Hub::start(&room);
    let mut command = client::command(&room);
    command.args(flags(&room, &[]).iter().map(|flag| &**flag));
    let mut deaf = Client::deaf(&room, command);
    deaf.ask(
        "initialize",
        &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "deaf", "version": "1"}}),
    );
    let text = "x".repeat(512 * 1024);
    for _ in 0..60 {
        deaf.call("echo", &json!({"text": text}));
    }
    let mut other = open(&room, &[]);
    let began = Instant::now();
    // Longer than it takes until a hub counts as hung.
    while began.elapsed() < HUB_LOOK_EVERY * (u32::from(HUB_QUESTIONS_MAX) + 3) {
        other.echoes();
    }
    assert!(hub.0.try_wait().unwrap().is_none(), "it was ended");
    assert!(!deaf.log().contains("hub_hung"), "{}", deaf.log());
    other.close(&room);
}

/// Without the file of its lock, another process may be elected.
#[test]
fn a_hub_whose_lock_is_removed_makes_way_and_takes_nothing_of_its_successor() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let mut first = Hub::start(&room);
    let mut client = open(&room, &[]);
    client.echoes();
    std::fs::remove_file(room.state().join("hub/hub.lock")).unwrap();
    until("the hub ends", || first.0.try_wait().unwrap().is_some());
    client.echoes();
    client.close(&room);
    let second = elected(&room);
    assert_ne!(u32::try_from(second.as_raw()).unwrap(), first.0.id());
    kill(second, Signal::SIGTERM).unwrap();
}

/// The first call waits for nothing but the end of the hub that cannot start.
#[test]
fn a_session_whose_hub_cannot_start_serves_by_itself_at_once() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let folder = room.state().join("hub");
    std::fs::create_dir_all(folder.join("calls.jsonl")).unwrap();
    std::fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    nix::unistd::mkfifo(&folder.join("hub.log"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut client = open(&room, &["--hub", "start"]);
    client.echoes();
    assert!(client.log().contains("it ended at once"), "{}", client.log());
    client.close(&room);
}

/// Runs `answer` for each connection to something that only looks like a hub, and checks that a session serves its client by
/// itself beside it.
fn beside(answer: impl Fn(UnixStream) + Send + Sync + 'static, log: &str) {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let folder = room.state().join("hub");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    let lock = File::create(folder.join("hub.lock")).unwrap();
    lock.try_lock().unwrap();
    let socket = folder.join("socket");
    let info = json!({"pid": 1, "version": "9.0.0", "hub": "x", "started": 1.0, "protocol": 9, "socket": socket});
    std::fs::write(folder.join("hub.json"), info.to_string()).unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || listener.incoming().flatten().for_each(answer));
    let mut client = open(&room, &[]);
    client.echoes();
    assert!(client.log().contains(log), "{}", client.log());
    client.close(&room);
}

fn hello(stream: &UnixStream) -> Value {
    let mut line = String::new();
    let _ = BufReader::new(stream).read_line(&mut line);
    serde_json::from_str(&line).unwrap_or_default()
}

#[test]
fn a_hub_of_another_protocol_is_left_alone_and_its_reason_is_logged() {
    let refuses = |mut stream: UnixStream| {
        assert_eq!(hello(&stream)["newest"], NEWEST);
        let _ = writeln!(stream, r#"{{"refused":{{"reason":"protocol","says":"update the older one"}}}}"#);
    };
    beside(refuses, "update the older one");
}

#[test]
fn what_does_not_answer_as_a_hub_does_is_left_alone() {
    let talks = |mut stream: UnixStream| {
        hello(&stream);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    };
    beside(talks, "hub_refused");
}

#[test]
fn what_hangs_up_is_no_hub() {
    beside(drop, "hub_forgone");
}

/// `initialize` is answered before the session knows whether the hub answers.
#[test]
fn a_hub_that_says_nothing_costs_a_session_a_second_and_nothing_else() {
    let silent = std::sync::Mutex::new(Vec::new());
    beside(move |stream| silent.lock().unwrap().push(stream), "hub_forgone");
}

#[test]
fn at_the_end_of_stdin_the_hub_says_which_call_still_runs_and_which_did_not() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet"]);
    let _hub = Hub::start(&room);
    let mut client = open(&room, &[]);
    client.echoes();
    let running = client.call("count", &json!({"key": "running", "hold": true}));
    until("the call runs", || room.runs("running") == 1);
    let waiting = client.call("count", &json!({"key": "waiting"}));
    client.close_stdin();
    let (status, took) = client.ended_within(SOON);
    assert_eq!(status.code(), Some(0), "after {took:?}");
    client.check(&room);
    let (running, waiting) = (client.answer(running), client.answer(waiting));
    assert_eq!(waiting.verdict(), Verdict::NotExecuted, "{}", waiting.0);
    assert_eq!(running.verdict(), Verdict::StillRunning, "{}", running.0);

    // The call goes on, and another session finds its result under its id.
    unity.order("release");
    let text = running.text();
    let call = text.split(|c: char| !c.is_ascii_hexdigit() && c != '-').find(|word| word.len() >= 32).unwrap();
    let mut other = open(&room, &[]);
    until("the late result", || {
        other.done("holdfast_result", &json!({"call_id": call})).text().contains("running")
            && other.done("holdfast_result", &json!({"call_id": call})).verdict() == Verdict::Ok
    });
    assert_eq!((room.runs("running"), room.runs("waiting")), (1, 0));
    other.close(&room);
}

/// The official SDKs kill a server four seconds after they closed its stdin.
#[test]
fn a_hub_that_hangs_at_the_end_of_stdin_does_not_keep_the_session() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let mut nth = 0;
    once_within("the end beside a hub that hangs", HUB_VERDICTS_MAX + HUB_LOOK_EVERY, || {
        nth += 1;
        let hub = Hub::start(&room);
        let mut client = open(&room, &[]);
        client.echoes();
        let key = nth.to_string();
        let call = client.call("count", &json!({"key": key, "hold": true}));
        until("the call runs", || room.runs(&key) == 1);
        hub.stop();
        client.close_stdin();
        let (status, took) = client.ended_within(SOON);
        assert_eq!(status.code(), Some(0), "after {took:?}");
        client.check(&room);
        let answer = client.answer(call);
        assert_eq!(answer.verdict(), Verdict::Unknown, "{}", answer.0);
        took
    });
}

/// The successor is told of the call and of the end at once. It has not looked at the call when it refuses what is left.
#[test]
fn a_call_that_ran_is_not_denied_when_the_session_ends_right_after_its_hub() {
    for (dialect, signal) in [
        (Package::without_a_journal().name, Signal::SIGKILL),
        (Package::with_a_journal().name, Signal::SIGKILL),
        (Package::with_a_journal().name, Signal::SIGTERM),
    ] {
        for delay in [0, 20, 50, 100] {
            let room = Room::new();
            let _unity = Unity::of_project(&room, &["--quiet", "--dialect", dialect]);
            let mut hub = Hub::start(&room);
            let mut client = open(&room, &[]);
            client.echoes();
            let call = client.call("count", &json!({"key": "ran", "hold": true}));
            until("the call runs", || room.runs("ran") == 1);
            kill(Pid::from_raw(hub.0.id().try_into().unwrap()), signal).unwrap();
            std::thread::sleep(Duration::from_millis(delay));
            client.close_stdin();
            let (status, took) = client.ended_within(SOON);
            assert_eq!(status.code(), Some(0), "after {took:?}");
            client.check(&room);
            let told = client.answer(call).0.to_string();
            let denied =
                ["Nothing of it was sent", "Nothing was sent", "Not executed", "not executed", "not sent to Unity"];
            assert!(!denied.iter().any(|denial| told.contains(denial)), "{dialect}, {signal}, {delay} ms: {told}");
            assert_eq!(room.runs("ran"), 1);
            let killed = hub.0.id();
            let _ = hub.0.wait();
            let started = client.log().contains("hub_attached") && room.state().join("hub/hub.json").exists();
            let successor = started.then(|| elected(&room)).filter(|pid| u32::try_from(pid.as_raw()) != Ok(killed));
            let _ = successor.map(|pid| kill(pid, Signal::SIGKILL));
        }
    }
}

#[test]
fn a_successor_grants_a_call_only_the_rest_of_its_clients_patience() {
    const PATIENCE: Duration = Duration::from_secs(6);
    // A successor that grants the whole patience again answers after two thirds of it and all of it.
    once_within("the rest of the patience", PATIENCE * 5 / 3, || taken_over_while_waiting(PATIENCE));
}

/// Kills the hub when a call has waited for two thirds of its client's patience. Returns how long its client waited in all.
fn taken_over_while_waiting(patience: Duration) -> Duration {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let mut hub = Hub::start(&room);
    let mut other = open(&room, &[]);
    other.echoes();
    let running = other.call("count", &json!({"key": "running", "hold": true}));
    until("the call runs", || room.runs("running") == 1);
    let mut client = Client::impatient(
        &room,
        (patience + PATIENCE_MARGIN).as_secs(),
        &flags(&room, &[]).iter().map(|flag| &**flag).collect::<Vec<_>>(),
    );
    let began = Instant::now();
    let waiting = client.call("count", &json!({"key": "waiting", "hold": true}));
    until("the call has waited", || began.elapsed() >= patience * 2 / 3);
    hub.0.kill().unwrap();
    hub.0.wait().unwrap();
    let answer = client.answer(waiting);
    let took = client.answered_at(waiting).unwrap() - began;
    assert!(attached(&client), "the successor answers");
    // It is sent, unless the machine is so busy that the patience ends before the successor is connected.
    assert!(matches!(answer.verdict(), Verdict::StillRunning | Verdict::NotExecuted), "{}", answer.0);
    assert_eq!(other.answer(running).verdict(), Verdict::Unknown);
    kill(elected(&room), Signal::SIGKILL).unwrap();
    took
}

/// The journal knows the call although another gateway asks for it.
#[test]
fn a_session_that_finds_no_successor_asks_the_editors_journal_for_its_calls() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", "holdfast"]);
    let mut hub = Hub::start(&room);
    let mut client = open(&room, &[]);
    client.echoes();
    let call = client.call("count", &json!({"key": "kept", "hold": true}));
    until("the call runs", || room.runs("kept") == 1);
    // Nobody starts a successor while this lock is held.
    let lock = File::create(room.state().join("hub/start.lock")).unwrap();
    lock.lock().unwrap();
    hub.0.kill().unwrap();
    hub.0.wait().unwrap();
    until("the session serves itself", || client.log().contains("hub_forgone"));
    unity.order("release");
    let answer = client.answer(call);
    assert_eq!((answer.verdict(), room.runs("kept")), (Verdict::Ok, 1), "{}", answer.0);
    client.close(&room);
}

/// Another session has started a successor, which is slow to take the records over.
#[test]
fn a_session_that_goes_on_by_itself_waits_for_a_successor_that_is_about_to_have_the_records() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", "holdfast"]);
    let mut hub = Hub::start(&room);
    let mut client = open(&room, &[]);
    client.echoes();
    let running = client.call("count", &json!({"key": "running", "hold": true}));
    until("the call runs", || room.runs("running") == 1);
    let waiting = client.call("count", &json!({"key": "waiting"}));
    let start_lock = File::create(room.state().join("hub/start.lock")).unwrap();
    start_lock.lock().unwrap();
    let folder = HubFolder::of(&room.state());
    hub.0.kill().unwrap();
    hub.0.wait().unwrap();
    let mut elected = None;
    until("the lock is free", || {
        elected = folder.elect().unwrap();
        elected.is_some()
    });
    until("the session serves itself", || client.log().contains("hub_forgone"));
    std::thread::sleep(2 * HUB_GONE_WITHIN);
    let successor = elected.unwrap();
    let lock = successor.lock_placed().unwrap();
    let _records = CallFile::open(&folder.records(), "g".repeat(32), lock).unwrap();
    unity.order("release");
    for (call, key) in [(running, "running"), (waiting, "waiting")] {
        let answer = client.answer(call);
        assert_eq!((answer.verdict(), room.runs(key)), (Verdict::Ok, 1), "{}", answer.0);
    }
    client.close(&room);
}

#[test]
fn a_call_that_was_told_to_be_running_keeps_its_id_and_its_late_result_over_takeovers() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", "holdfast"]);
    let mut hub = Hub::start(&room);
    let flags = flags(&room, &[]);
    let mut client = Client::impatient(&room, 6, &flags.iter().map(|flag| &**flag).collect::<Vec<_>>());
    client.echoes();
    let call = client.call("count", &json!({"key": "late", "hold": true}));
    let told = client.answer(call);
    assert_eq!(told.verdict(), Verdict::StillRunning, "{}", told.0);
    let text = told.text();
    let id = text.split(|c: char| !c.is_ascii_hexdigit() && c != '-').find(|word| word.len() >= 32).unwrap();
    hub.0.kill().unwrap();
    hub.0.wait().unwrap();
    let mut killed = hub.0.id();
    let result = |client: &mut Client| client.done("holdfast_result", &json!({"call_id": id}));
    let running = result(&mut client).text();
    assert!(running.contains("count") && !running.contains("no call"), "{running}");
    unity.order("release");
    let mut late = None;
    for _ in 0..2 {
        until("the late result", || {
            late = Some(result(&mut client))
                .filter(|answer| answer.verdict() == Verdict::Ok && !answer.text().contains("not finished"));
            late.is_some()
        });
        let successor = elected(&room);
        assert_ne!(u32::try_from(successor.as_raw()), Ok(killed));
        killed = successor.as_raw().unsigned_abs();
        kill(successor, Signal::SIGKILL).unwrap();
    }
    assert_eq!(room.runs("late"), 1);
    client.close(&room);
}

/// The hub deletes an answer that nobody comes for. A session that comes after that was stopped meanwhile.
#[test]
fn of_a_call_whose_record_may_be_too_old_nothing_is_denied() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let _hub = Hub::start(&room);
    open(&room, &[]).echoes();
    let cases = [(Duration::ZERO, 1), (CALL_RECORD_MAX_AGE, 0)];
    for ((waited, runs), speaks) in cases.into_iter().flat_map(|case| [(case, OLDEST), (case, PORT)]) {
        let key = format!("waited-{}-{speaks}", waited.as_secs());
        let attach = |records: Option<String>| {
            let open = OpenRequest { request: 1, sent: true, waited_ms: waited.as_millis().try_into().unwrap() };
            let rules = SessionRules { project: Some(room.project()), ..SessionRules::default() };
            let session = format!("{speaks}{:031}", waited.as_secs());
            let build = env!("CARGO_PKG_VERSION").to_owned();
            let pid = std::process::id();
            let hello = Hello { oldest: OLDEST, newest: speaks, build, pid, session, open: vec![open], records, rules };
            let mut stream = UnixStream::connect(room.state().join("hub/socket")).unwrap();
            writeln!(stream, "{}", serde_json::to_string(&hello).unwrap()).unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            (stream, reader, serde_json::from_str::<Value>(&line).unwrap())
        };
        // The name of the records, which a session has from the hub that it lost.
        let records = attach(None).2["welcome"]["records"].as_str().unwrap().to_owned();
        let (mut stream, reader, _) = attach(Some(records));
        let client = json!({"name": "back", "version": "1"});
        let handshake = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let call = json!({"name": "count", "arguments": {"key": key}});
        // A session of an older program speaks MCP.
        let said = match speaks {
            PORT => [
                json!({"jsonrpc": "2.0", "method": OPENED, "params": {"name": "back", "version": "2025-11-25"}}),
                json!({"jsonrpc": "2.0", "id": 1, "method": CALL, "params": {"project": room.project(), "tool": "count",
                    "arguments": {"key": key}}}),
            ],
            _ => [
                json!({"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": handshake}),
                json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}),
            ],
        };
        for line in said {
            writeln!(stream, "{line}").unwrap();
        }
        let mut answers = reader.lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        let answer = answers.find(|answer| answer["id"] == 1).unwrap();
        assert_eq!(room.runs(&key), runs, "{answer}");
        assert_eq!(answer.to_string().contains("Outcome unknown"), runs == 0, "{answer}");
    }
}
