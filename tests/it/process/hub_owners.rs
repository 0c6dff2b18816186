//! Who may send a call: two hubs at once, records that are not at their place, a hub that cannot be ended, and one that makes way.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::fs::Permissions;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use holdfast::limits::hub::{HUB_LOOK_EVERY, HUB_QUESTIONS_MAX, HUB_SUCCESSOR_MAX};
use holdfast::protocol::hub::{Hello, NEWEST, OLDEST, OpenRequest, SessionRules};
use holdfast::survey::Survey;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::client::{self, Answer, Client, Verdict};
use super::unity::Unity;
use super::{Room, once_within, until};

/// A hub that a test started.
struct Hub(Child);

impl Hub {
    fn start(room: &Room, arguments: &[&str]) -> Self {
        let mut command = client::command(room);
        command.arg("hub").args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let hub = Self(command.spawn().unwrap());
        until("the hub serves", || elected(room) == Some(hub.0.id()));
        hub
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.0.id()).unwrap()), signal).unwrap();
    }

    fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn folder(room: &Room) -> PathBuf {
    room.state().join("hub")
}

/// Returns the pid of the hub that runs, as its file says.
fn elected(room: &Room) -> Option<u32> {
    let info: Value = serde_json::from_slice(&std::fs::read(folder(room).join("hub.json")).ok()?).ok()?;
    u32::try_from(info["pid"].as_u64()?).ok()
}

/// Ends the hub that a session started.
fn end_hub(room: &Room) {
    if let Some(pid) = elected(room) {
        let _ = kill(Pid::from_raw(i32::try_from(pid).unwrap()), Signal::SIGKILL);
    }
}

fn open(room: &Room, more: &[&str]) -> Client {
    let project = room.project().display().to_string();
    Client::open(room, &[&["--project", &project], more].concat())
}

/// Lets the editor answer what it holds until the call is answered. It counts a call before it holds it, so one order may come too early.
fn released(unity: &mut Unity, client: &Client, call: u64) -> Answer {
    until("it is answered", || {
        unity.order("release");
        std::thread::sleep(Duration::from_millis(50));
        client.is_answered(call)
    });
    client.answer(call)
}

fn replaced_by_a_copy(path: &Path) {
    let copy = path.with_extension("copy");
    std::fs::copy(path, &copy).unwrap();
    std::fs::rename(copy, path).unwrap();
}

/// A cleaner, or a backup that is restored: then another hub may be elected, or nobody reads what the first one writes.
#[test]
fn a_call_runs_once_whatever_becomes_of_the_files_of_the_hub_that_has_it() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 6] = [
        ("no lock", |folder| std::fs::remove_file(folder.join("hub.lock")).unwrap()),
        ("another lock", |folder| replaced_by_a_copy(&folder.join("hub.lock"))),
        ("no records", |folder| std::fs::remove_file(folder.join("calls.jsonl")).unwrap()),
        ("other records", |folder| replaced_by_a_copy(&folder.join("calls.jsonl"))),
        ("empty records", |folder| std::fs::write(folder.join("calls.jsonl"), "").unwrap()),
        ("no folder", |folder| std::fs::rename(folder, folder.with_extension("old")).unwrap()),
    ];
    for (name, change) in changes {
        for signal in [Signal::SIGKILL, Signal::SIGTERM] {
            let room = Room::new();
            let mut unity = Unity::of_project(&room, &["--quiet"]);
            let mut first = Hub::start(&room, &[]);
            let mut client = open(&room, &[]);
            client.echoes();
            change(&folder(&room));
            // Where the lock is free now, a second hub runs.
            let second = matches!(name, "no lock" | "another lock" | "no folder").then(|| Hub::start(&room, &[]));
            let call = client.call("count", &json!({"key": "k", "hold": true}));
            until("it is sent or answered", || room.runs("k") > 0 || client.is_answered(call));
            let _ = kill(Pid::from_raw(i32::try_from(first.0.id()).unwrap()), signal);
            until("the first hub ends", || first.has_ended());
            let began = Instant::now();
            let answer = released(&mut unity, &client, call);
            let runs = room.runs("k");
            let told = format!("{name}, {signal}: {} after {:?}", answer.0, began.elapsed());
            match answer.verdict() {
                Verdict::Ok => assert_eq!(runs, 1, "{told}"),
                Verdict::NotExecuted => assert_eq!(runs, 0, "{told}"),
                _ => assert!(runs <= 1, "{runs}: {told}"),
            }
            // The next call is served by whoever is the hub now.
            client.echoes();
            drop(second);
            end_hub(&room);
        }
    }
}

/// Without a hub the calls go on, and each is on record where the next gateway finds it.
#[test]
fn a_gateway_of_one_client_whose_records_are_taken_away_makes_new_ones_and_goes_on() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 3] = [
        ("no folder", |folder| std::fs::remove_dir_all(folder).unwrap()),
        ("renamed", |folder| std::fs::rename(folder, folder.with_extension("old")).unwrap()),
        ("no files", |folder| {
            std::fs::read_dir(folder).unwrap().for_each(|file| std::fs::remove_file(file.unwrap().path()).unwrap());
        }),
    ];
    for (name, change) in changes {
        let room = Room::new();
        let mut unity = Unity::of_project(&room, &["--quiet"]);
        let mut client = open(&room, &["--hub", "never"]);
        client.echoes();
        let calls = room.state().join("calls");
        until("it keeps records", || calls.is_dir());
        change(&calls);
        let call = client.call("count", &json!({"key": "k", "hold": true}));
        until("the call runs", || room.runs("k") == 1);
        let on_record = std::fs::read_dir(&calls).unwrap().any(|file| {
            std::fs::read_to_string(file.unwrap().path()).is_ok_and(|text| text.contains(r#""tool":"count""#))
        });
        assert!(on_record, "{name}");
        assert_eq!(released(&mut unity, &client, call).verdict(), Verdict::Ok, "{name}");
        client.close(&room);
    }
}

/// The hub that is copied with its home goes on, and editors tell the two apart by their names.
#[test]
fn a_hub_on_a_copy_of_the_records_of_another_has_a_name_of_its_own() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let first = Hub::start(&room, &[]);
    let mut client = open(&room, &[]);
    client.echoes();
    let _held = client.call("count", &json!({"key": "k", "hold": true}));
    until("the call runs", || room.runs("k") == 1);
    let copy = room.path().join("copy");
    std::fs::create_dir_all(copy.join("hub")).unwrap();
    std::fs::set_permissions(copy.join("hub"), Permissions::from_mode(0o700)).unwrap();
    std::fs::copy(folder(&room).join("calls.jsonl"), copy.join("hub/calls.jsonl")).unwrap();
    let mut command = client::command(&room);
    command.arg("hub").arg("--state-dir").arg(&copy).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let second = Hub(command.spawn().unwrap());
    let name = |state: &Path| {
        let text = std::fs::read_to_string(state.join("hub/calls.jsonl")).unwrap();
        let head: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        head["gateway"]["id"].as_str().unwrap().to_owned()
    };
    until("the second one serves", || copy.join("hub/hub.json").exists());
    assert_ne!(name(&copy), name(&room.state()));
    assert_eq!(room.runs("k"), 1);
    drop((second, first));
    end_hub(&room);
}

/// Returns how a process gets a pid namespace of its own here, as in a container; `None` if it cannot.
fn apart() -> Option<Vec<&'static str>> {
    let ways = [&["-p", "-f", "--mount-proc"] as &[&str], &["-U", "-r", "-p", "-f", "--mount-proc"]];
    let works = |way: &&&[&str]| {
        let tried = Command::new("unshare").args(**way).arg("true").stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    };
    ways.iter().find(works).map(|way| way.to_vec())
}

/// A hub outside of the session's container stands still for longer than a session waits, and goes on.
#[test]
fn what_a_hub_has_that_cannot_be_ended_is_not_sent_by_the_session_and_what_is_new_is() {
    let Some(way) = apart() else {
        assert!(std::env::var_os("CI").is_none(), "unshare makes no pid namespace here, and CI must try this");
        let _ = writeln!(std::io::stderr(), "NOT TRIED: unshare makes no pid namespace here");
        return;
    };
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let hub = Hub::start(&room, &[]);
    let mut command = Command::new("unshare");
    command.args(way).arg(room.program()).args(["serve", "--project"]).arg(room.project());
    client::environment(&mut command, &room);
    let mut client = Client::spawn(&room, command);
    client.initialize();
    client.echoes();
    hub.signal(Signal::SIGSTOP);
    let handed = client.call("count", &json!({"key": "handed"}));
    until("the session serves itself", || client.log().contains("hub_forgone"));
    assert_eq!(client.answer(handed).verdict(), Verdict::Unknown);
    assert!(client.log().contains("holds the lock"), "{}", client.log());
    assert_eq!(client.done("count", &json!({"key": "new"})).verdict(), Verdict::Ok);
    hub.signal(Signal::SIGCONT);
    // What the hub does next comes after what it reads of the session that has hung up.
    let mut other = open(&room, &[]);
    other.echoes();
    assert!(other.log().contains("hub_attached"));
    assert_eq!((room.runs("handed"), room.runs("new")), (0, 1), "it hung up before the hub read the call");
    other.close(&room);
}

/// Attaches to the hub as a session does.
fn attach(room: &Room, open: Vec<OpenRequest>) -> (UnixStream, BufReader<UnixStream>) {
    let rules = SessionRules { project: Some(room.project()), ..SessionRules::default() };
    let (build, pid, session) = (env!("CARGO_PKG_VERSION").to_owned(), std::process::id(), "c".repeat(32));
    let hello = Hello { oldest: OLDEST, newest: NEWEST, build, pid, session, open, records: None, rules };
    let mut stream = UnixStream::connect(folder(room).join("socket")).unwrap();
    writeln!(stream, "{}", serde_json::to_string(&hello).unwrap()).unwrap();
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    writeln!(stream, "{}", json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).unwrap();
    let reader = BufReader::new(stream.try_clone().unwrap());
    (stream, reader)
}

fn says_call(stream: &mut UnixStream, number: u64, key: &str) {
    let params = json!({"name": "count", "arguments": {"key": key}});
    writeln!(stream, "{}", json!({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})).unwrap();
}

/// Both connections are read once the hub goes on, in any order.
#[test]
fn a_session_that_comes_again_while_the_hub_stands_still_has_its_call_sent_once() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let hub = Hub::start(&room, &[]);
    open(&room, &[]).echoes();
    for number in 1..=10 {
        let key = format!("k{number}");
        let (mut first, _) = attach(&room, Vec::new());
        let mut lines = BufReader::new(first.try_clone().unwrap()).lines();
        lines.find(|line| line.as_ref().unwrap().contains(r#""id":0,"#)).unwrap().unwrap();
        drop(lines);
        hub.signal(Signal::SIGSTOP);
        says_call(&mut first, number, &key);
        drop(first);
        let (mut second, reader) = attach(&room, vec![OpenRequest { request: number, sent: true, waited_ms: 0 }]);
        says_call(&mut second, number, &key);
        hub.signal(Signal::SIGCONT);
        let mut answers = reader.lines().map_while(Result::ok);
        let id = format!(r#""id":{number},"#);
        let answer = answers.find(|line| line.contains(&id)).unwrap();
        let runs = room.runs(&key);
        assert!(runs <= 1 && answer.contains("Runs") == (runs == 1), "{runs}: {answer}");
    }
}

/// The way from a hub that a session started to one that serves HTTP, while a call runs for longer than it takes until a hub counts as
/// hung.
#[test]
fn a_hub_that_makes_way_is_heard_and_hears_and_what_is_new_waits_for_the_next_one() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet"]);
    let mut first = Hub::start(&room, &["--leave-when-idle"]);
    let mut client = open(&room, &["--hub", "start"]);
    client.echoes();
    let held = client.call("count", &json!({"key": "held", "hold": true}));
    until("the call runs", || room.runs("held") == 1);
    let waiting = client.call("count", &json!({"key": "waiting"}));
    let mut command = client::command(&room);
    command.args(["hub", "--http", "127.0.0.1:0"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let second = Hub(command.spawn().unwrap());
    until("the first one makes way", || !folder(&room).join("socket").exists());
    let new = client.call("count", &json!({"key": "new"}));
    let began = Instant::now();
    // Longer than it takes until a hub counts as hung.
    while began.elapsed() < HUB_LOOK_EVERY * (u32::from(HUB_QUESTIONS_MAX) + 3) {
        assert!(!first.has_ended(), "it was ended");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!client.log().contains("hub_hung"), "{}", client.log());
    assert_eq!((released(&mut unity, &client, held).verdict(), room.runs("held")), (Verdict::Ok, 1));
    for (call, key) in [(waiting, "waiting"), (new, "new")] {
        let answer = client.answer(call);
        assert_eq!((answer.verdict(), room.runs(key)), (Verdict::Ok, 1), "{}", answer.0);
        assert!(!answer.0.to_string().contains("was taken over"), "it was given back before it was sent: {}", answer.0);
    }
    until("the first one ends", || first.has_ended());
    until("the second one serves", || elected(&room) == Some(second.0.id()));
    client.close(&room);
}

#[test]
fn a_hub_that_makes_way_takes_a_cancellation() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let mut first = Hub::start(&room, &["--leave-when-idle"]);
    let mut client = open(&room, &[]);
    client.echoes();
    let held = client.call("count", &json!({"key": "held", "hold": true}));
    until("the call runs", || room.runs("held") == 1);
    std::fs::remove_file(folder(&room).join("calls.jsonl")).unwrap();
    until("it makes way", || !folder(&room).join("socket").exists());
    client.cancel(held);
    until("it has nothing to wait for", || first.has_ended());
    end_hub(&room);
}

#[test]
fn a_hub_whose_socket_is_removed_binds_it_again() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let mut hub = Hub::start(&room, &[]);
    std::fs::remove_file(folder(&room).join("socket")).unwrap();
    let mut client = open(&room, &["--hub", "start"]);
    client.echoes();
    assert!(client.log().contains("hub_attached") && !client.log().contains("hub_started"), "{}", client.log());
    assert!(!hub.has_ended());
    client.close(&room);
}

/// The first call waits for nothing that cannot come.
#[test]
fn a_session_that_can_start_no_hub_serves_by_itself_at_once_and_says_why() {
    once_within("a session without a state folder", HUB_SUCCESSOR_MAX / 2, || {
        let room = Room::new();
        let _unity = Unity::of_project(&room, &["--quiet"]);
        let _ = std::fs::remove_dir_all(room.state());
        std::os::unix::fs::symlink(room.path().join("nowhere/at all"), room.state()).unwrap();
        let began = Instant::now();
        let mut client = open(&room, &["--hub", "start"]);
        client.echoes();
        let took = began.elapsed();
        assert!(client.log().contains("hub_not_started") && client.log().contains("no hub runs"), "{}", client.log());
        client.close(&room);
        took
    });
}

/// Serves one session as a hub that answers each call with `line`, in which NUMBER stands for the number of the request. Returns the
/// verdict that the client gets. `logged`: what the session's log says.
fn answered_with(welcome: u32, line: &'static [u8], logged: &str) -> Verdict {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let folder = folder(&room);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    let lock = std::fs::File::create(folder.join("hub.lock")).unwrap();
    lock.try_lock().unwrap();
    let (socket, build) = (folder.join("socket"), env!("CARGO_PKG_VERSION"));
    let info = json!({"pid": 1, "version": build, "hub": "x", "started": 1.0, "protocol": 1, "socket": socket});
    std::fs::write(folder.join("hub.json"), info.to_string()).unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    let project = room.project();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            lines.next();
            let says = json!({"protocol": welcome, "build": build, "pid": 1, "hub": "x", "records": "r"});
            let _ = writeln!(stream, "{}", json!({"welcome": says}));
            for said in lines {
                let said: Value = serde_json::from_str(&said).unwrap();
                let number = said["id"].to_string();
                match said["method"].as_str() {
                    Some("port/look") => {
                        let survey = Survey { project: Some(project.clone()), ..Survey::nothing() };
                        let told = json!({"jsonrpc": "2.0", "id": said["id"], "result": survey});
                        let _ = writeln!(stream, "{told}");
                    }
                    Some("port/call") => {
                        let line = String::from_utf8_lossy(line).replace("NUMBER", &number);
                        let _ = stream.write_all(line.as_bytes()).and_then(|()| stream.write_all(b"\n"));
                    }
                    Some("ping") => {
                        let _ = writeln!(stream, "{}", json!({"jsonrpc": "2.0", "id": said["id"], "result": {}}));
                    }
                    _ => {}
                }
            }
        }
    });
    let mut client = open(&room, &[]);
    client.initialize();
    let call = client.call("count", &json!({"key": "k"}));
    let answer = client.answer(call);
    until("its log line", || client.log().contains(logged));
    client.close(&room);
    answer.verdict()
}

#[test]
fn a_request_whose_answer_the_session_cannot_read_is_answered_all_the_same() {
    let deep: &'static [u8] =
        format!(r#"{{"jsonrpc":"2.0","id":NUMBER,"result":{}{}}}"#, "[".repeat(200), "]".repeat(200)).leak().as_bytes();
    let long: &'static [u8] =
        format!(r#"{{"jsonrpc":"2.0","id":NUMBER,"result":{{"a":"{}"}}}}"#, "x".repeat(17 << 20)).leak().as_bytes();
    // A later hub may say how a call ended in a word that this program does not know.
    let later: &'static [u8] = br#"{"jsonrpc":"2.0","id":NUMBER,"result":{"call":"c63493d2-0466-4a56-8ca1-fd801b14e93b","verdict":"later","answer":{}}}"#;
    let lacks: &'static [u8] = br#"{"jsonrpc":"2.0","id":NUMBER,"result":{"call":"c63493d2-0466-4a56-8ca1-fd801b14e93b","verdict":"ok","pieces":2}}"#;
    let nothing: &'static [u8] = br#"{"jsonrpc":"2.0","id":NUMBER,"result":null}"#;
    let cut: &'static [u8] = br#"{"jsonrpc":"2.0","id":NUMBER,"result":{"a":"#;
    for line in [deep, long, later, lacks, nothing, cut, b"what?", b"{\"no\":", b"[]"] {
        let verdict = answered_with(NEWEST, line, "hub_unreadable");
        let line = String::from_utf8_lossy(&line[..line.len().min(60)]);
        assert_eq!(verdict, Verdict::Unknown, "{line}");
    }
}

#[test]
fn a_hub_that_speaks_what_was_not_offered_is_left_alone() {
    assert_eq!(answered_with(9, b"", "was not offered"), Verdict::Ok);
}

/// The verdicts are those of every other end.
#[test]
fn at_the_end_of_stdin_without_a_hub_its_records_tell_what_was_sent() {
    for signal in [Signal::SIGKILL, Signal::SIGSTOP] {
        let room = Room::new();
        let _unity = Unity::of_project(&room, &["--quiet"]);
        let hub = Hub::start(&room, &[]);
        // Nobody starts a successor while this lock is held.
        let start = std::fs::File::create(folder(&room).join("start.lock")).unwrap();
        start.lock().unwrap();
        let mut client = open(&room, &[]);
        client.echoes();
        let sent = client.call("count", &json!({"key": "sent", "hold": true}));
        until("the call runs", || room.runs("sent") == 1);
        let held = client.call("count", &json!({"key": "held"}));
        // Requests go to the hub in their order.
        client.done("holdfast_status", &json!({}));
        hub.signal(signal);
        client.close_stdin();
        let (status, took) = client.ended_within(super::SOON);
        assert_eq!(status.code(), Some(0), "after {took:?}");
        client.check(&room);
        let (sent, held) = (client.answer(sent), client.answer(held));
        assert_eq!(sent.verdict(), Verdict::Unknown, "{signal}: {}", sent.0);
        assert!(sent.text().contains("Call id"), "{signal}: {}", sent.0);
        // A hub that stands still may go on and send it.
        let expected = if signal == Signal::SIGKILL { Verdict::NotExecuted } else { Verdict::Unknown };
        assert_eq!(held.verdict(), expected, "{signal}: {}", held.0);
    }
}
