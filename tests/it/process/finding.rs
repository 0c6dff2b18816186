//! Finding the editor by its project: before it runs, while it reloads, after its port has changed; and what compilations do
//! to a call.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use holdfast_fake_unity::Package;
use serde_json::json;

use super::client::{self, Client, Verdict};
use super::proxy::{Act, Proxy};
use super::unity::Unity;
use super::{Room, once_within, until};

/// Creates a project that no editor has opened yet.
fn bare_project(project: &Path) {
    for folder in ["Assets", "ProjectSettings"] {
        std::fs::create_dir_all(project.join(folder)).expect("a folder");
    }
}

fn open(room: &Room) -> Client {
    Client::open(room, &["--project", &room.project().display().to_string()])
}

#[test]
fn an_editor_that_starts_after_the_gateway_is_found() {
    let mut to_say_so = Duration::MAX;
    once_within("to find it", Duration::from_secs(7), || {
        let room = Room::new();
        bare_project(&room.project());
        let mut client = open(&room);
        assert!(client.tools().iter().any(|tool| tool == "holdfast_status"));
        let began = Instant::now();
        let early = client.done("echo", &json!({"text": "early"}));
        assert_eq!(early.verdict(), Verdict::NotExecuted, "{}", early.0);
        to_say_so = to_say_so.min(began.elapsed());
        let unity = Unity::of_project(&room, &["--quiet"]);
        let began = Instant::now();
        until("the editor's tools are listed", || client.tools().iter().any(|tool| tool == "echo"));
        let took = began.elapsed();
        client.echoes();
        drop(unity);
        client.close(&room);
        // Without an editor, the call must be refused quickly too.
        if to_say_so < Duration::from_secs(3) { took } else { Duration::MAX }
    });
}

#[test]
fn a_gateway_that_starts_while_the_editor_reloads_waits_for_it() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet"]);
    let mark = unity.mark();
    unity.say("reload 1500");
    unity.hear(mark, |event| event["event"] == "reload_begun");
    let mut client = open(&room);
    let id = client.call("count", &json!({"key": "through the reload"}));
    let answer = client.answer(id);
    assert_eq!(answer.verdict(), Verdict::Ok, "{}", answer.0);
    assert_eq!(room.runs("through the reload"), 1);
    client.close(&room);
}

/// Another program gets the port while the editor reloads. What its package does then is seen on the editor's output.
#[test]
#[expect(clippy::disallowed_types, reason = "the thief is another program")]
fn an_editor_whose_port_is_taken_while_it_reloads_listens_on_another_and_is_followed_there() {
    for dialect in [Package::without_a_journal().name, Package::with_a_journal().name] {
        let room = Room::new();
        let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", dialect]);
        let mut client = open(&room);
        client.echoes();
        let mark = unity.mark();
        unity.say("reload 300");
        unity.hear(mark, |event| event["event"] == "reload_begun");
        let mut thief = None;
        until("the port is free to take", || {
            thief = std::net::TcpListener::bind(("127.0.0.1", unity.port)).ok();
            thief.is_some()
        });
        // A call on a connection whose end was not noticed yet may have run, for all that the gateway knows.
        until("the reload is noticed", || {
            let status = client.done("holdfast_status", &json!({}));
            !status.0["result"]["structuredContent"]["editor"]["last_loss"]["cause"].is_null()
        });
        let id = client.call("count", &json!({"key": "through the reload"}));
        assert_eq!(unity.hear(mark, |event| event["event"] == "port_taken")["port"], unity.port);
        assert_ne!(unity.hear(mark, |event| event["event"] == "listening")["port"], unity.port, "{dialect}");
        // While the thief alone listens there, the call may be refused, truly; it then runs when it is made again.
        let mut answer = client.answer(id);
        until("the editor is followed", || {
            if answer.verdict() == Verdict::NotExecuted {
                assert_eq!(room.runs("through the reload"), 0, "{dialect}: {}", answer.0);
                answer = client.done("count", &json!({"key": "through the reload"}));
            }
            answer.verdict() != Verdict::NotExecuted
        });
        assert_eq!(answer.verdict(), Verdict::Ok, "{dialect}: {}", answer.0);
        assert_eq!(room.runs("through the reload"), 1);
        client.close(&room);
    }
}

fn losses(client: &Client) -> usize {
    client.log().matches(r#""event":"link_down""#).count()
}

#[test]
fn a_port_that_moved_is_followed_and_the_held_call_goes_there() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet"]);
    let mut client = open(&room);
    client.echoes();
    let mut round = 0;
    let mut follow = || {
        round += 1;
        let mark = unity.mark();
        let before = losses(&client);
        unity.say("move 300");
        // A call sent on the ending connection could rightly have an unknown outcome; this call is held instead.
        until("the loss is seen", || losses(&client) > before);
        let key = format!("moved {round}");
        let id = client.call("count", &json!({"key": key}));
        let back = unity.hear(mark, |event| event["event"] == "reload_ended");
        let since = Instant::now();
        let answer = client.answer(id);
        let took = since.elapsed();
        assert_eq!(answer.verdict(), Verdict::Ok, "{}", answer.0);
        assert_eq!(room.runs(&key), 1);
        assert_ne!(back["port"], unity.port, "it did move");
        took
    };
    for _ in 0..3 {
        once_within("to follow it", Duration::from_secs(2), &mut follow);
    }
    client.close(&room);
}

#[test]
fn a_call_that_the_editor_turns_away_is_sent_to_the_right_one() {
    let room = Room::new();
    let unity = Unity::of_project(&room, &["--quiet"]);
    let proxy = Proxy::start(unity.port);
    let project = room.project().display().to_string();
    let mut client = Client::open(&room, &["--project", &project, "--port", &proxy.port.to_string()]);
    client.echoes();
    // The editor refuses the call as it does after a reload whose files were read a moment too early.
    for message in [
        "Unity CLI Loop server session changed. Retry the command.",
        "Connected Unity instance belongs to a different project.",
    ] {
        let key = format!("{message}-end");
        proxy.plan(&key, Act::RefuseRequest(message), false);
        let answer = client.done("count", &json!({"key": key}));
        assert_eq!(answer.verdict(), Verdict::Ok, "{}", answer.0);
        assert_eq!((room.runs(&key), proxy.requests_with(&key)), (1, 2), "{message}");
    }
    // The call is not repeated for ever.
    let key = "never-end";
    proxy.plan_times(9, key, Act::RefuseRequest("Connected Unity instance belongs to a different project."), false);
    let answer = client.done("count", &json!({"key": key}));
    assert_eq!(answer.verdict(), Verdict::NotExecuted, "{}", answer.0);
    assert!(answer.text().contains("has another project open"), "{}", answer.0);
    assert_eq!((room.runs(key), proxy.requests_with(key)), (0, 3));
    client.close(&room);
}

#[test]
fn a_compile_that_ends_in_a_reload_gives_its_true_result() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet"]);
    let mut client = open(&room);
    client.echoes();
    let behind = {
        let id = client.call("compile", &json!({}));
        let behind = client.call("count", &json!({"key": "behind the compile"}));
        let answer = client.answer(id);
        assert_eq!(answer.verdict(), Verdict::Ok, "{}", answer.0);
        assert_eq!(answer.body()["Success"], true, "{}", answer.0);
        behind
    };
    assert_eq!(client.answer(behind).verdict(), Verdict::Ok);
    assert_eq!((room.runs("behind the compile"), &unity.stats()["compiles"]), (1, &json!(1)));

    unity.say("compile-error on");
    let answer = client.done("compile", &json!({}));
    assert_eq!(answer.verdict(), Verdict::ToolError, "{}", answer.0);
    assert!(answer.text().contains("CS0246"), "{}", answer.text());
    assert_eq!(unity.stats()["compiles"], 2);
    client.close(&room);
}

#[test]
fn a_compile_whose_editor_is_killed_is_unknown_and_not_repeated() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--compile-ms", "60000"]);
    let mut client = open(&room);
    client.echoes();
    let mark = unity.mark();
    let id = client.call("compile", &json!({"WaitForDomainReload": false}));
    unity.begun(mark, "compile");
    unity.kill();
    let mut next = Unity::of_project(&room, &["--quiet"]);
    let answer = client.answer(id);
    assert_eq!(answer.verdict(), Verdict::Unknown, "{}", answer.0);
    client.echoes();
    assert_eq!(next.stats()["compiles"], 0);
    client.close(&room);
}

#[test]
fn the_result_of_an_earlier_compile_of_the_same_id_is_not_taken_for_this_one() {
    for killed in [false, true] {
        let room = Room::new();
        let mut unity = Unity::of_project(&room, &["--compile-ms", "1500", "--compile-reload-ms", "0"]);
        let mut client = open(&room);
        client.echoes();
        let arguments = json!({"RequestId": "build-1", "WaitForDomainReload": true});
        let first = client.done("compile", &arguments);
        assert_eq!(first.verdict(), Verdict::Ok, "{}", first.0);
        // An earlier session left this file, made with the caller's id or by another server.
        let file = room.project().join("Temp/uLoopMCP/compile-results/build-1.json");
        std::fs::write(&file, r#"{"Success":true,"Message":"the first"}"#).expect("the folder is there");

        unity.say("compile-error on");
        let mark = unity.mark();
        let id = client.call("compile", &arguments);
        unity.begun(mark, "compile");
        // Without the lock file, only the name of the result file distinguishes the two compilations.
        until("it compiles", || std::fs::remove_file(room.project().join("Temp/compiling.lock")).is_ok());
        if killed {
            unity.kill();
        } else {
            unity.say("rst");
        }
        let _next = killed.then(|| Unity::of_project(&room, &["--quiet"]));
        let answer = client.answer(id);
        if killed {
            assert_eq!(answer.verdict(), Verdict::Unknown, "{}", answer.0);
        } else {
            assert!(answer.text().contains("CS0246"), "its own result: {}", answer.0);
        }
        client.close(&room);
    }
}

#[test]
fn a_compile_that_is_to_wait_for_its_reload_is_answered_when_that_is_over() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet", "--compile-gap-ms", "300", "--compile-reload-ms", "700"]);
    let mut client = open(&room);
    client.echoes();
    let before = unity.stats()["domain"].as_u64();
    let answer = client.done("compile", &json!({"WaitForDomainReload": true}));
    assert_eq!(answer.verdict(), Verdict::Ok, "{}", answer.0);
    assert_eq!(unity.stats()["domain"].as_u64(), before.map(|domain| domain + 1), "the reload is over");
    assert!(answer.text().contains("Success") && !answer.text().contains("ProjectRoot"), "{}", answer.0);
    // No reload follows a failed compilation, and the failure is reported at once.
    unity.say("compile-error on");
    once_within("to tell of an error", Duration::from_secs(2), || {
        let began = Instant::now();
        assert_eq!(client.done("compile", &json!({"WaitForDomainReload": true})).verdict(), Verdict::ToolError);
        began.elapsed()
    });
    client.close(&room);
}

#[test]
fn a_client_started_before_unity_sees_every_tool_from_the_disk() {
    let room = Room::new();
    let unity = Unity::of_project(&room, &["--quiet"]);
    let mut first = open(&room);
    let live = first.tools();
    assert!(live.iter().any(|tool| tool == "echo") && live.iter().any(|tool| tool == "compile"), "{live:?}");
    until("the catalogue is on disk", || catalogues(&room) == 1);
    first.close(&room);
    drop(unity);

    let mut second = open(&room);
    assert_eq!(second.tools(), live);
    let answer = second.done("echo", &json!({"text": "nobody there"}));
    assert_eq!(answer.verdict(), Verdict::NotExecuted, "{}", answer.0);
    let unity = Unity::of_project(&room, &["--quiet"]);
    until("the editor is found", || second.done("echo", &json!({"text": "x"})).verdict() == Verdict::Ok);
    drop(unity);
    second.close(&room);
}

fn catalogues(room: &Room) -> usize {
    let folders = std::fs::read_dir(room.state()).into_iter().flatten().flatten();
    let named = |path: &Path| path.extension().is_some_and(|extension| extension == "json");
    let below = folders.filter(|entry| entry.file_name() != "run").flat_map(|entry| std::fs::read_dir(entry.path()));
    below.flatten().flatten().filter(|entry| named(&entry.path())).count()
}

/// The most common reason for a silent Unity, which the port and the greeting do not show.
#[test]
fn doctor_says_that_a_dialog_stops_the_editor_and_makes_no_file() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", "holdfast"]);
    let audit = room.path().join("audit/calls.jsonl");
    let doctor = || {
        let mut command = client::command(&room);
        command.arg("doctor").arg("--project").arg(room.project()).env("HOLDFAST_AUDIT", &audit);
        let done = command.stdin(Stdio::null()).output().expect("it runs");
        String::from_utf8_lossy(&done.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let sound = doctor();
    assert!(!sound.contains("stood still"), "{sound}");
    unity.order("modal on");
    until("the dialog is told", || doctor().contains("most likely a dialog is open"));
    unity.order("modal off");
    until("it is gone", || !doctor().contains("stood still"));
    assert!(!audit.exists() && !room.path().join("audit").exists());
}

/// In Safe Mode, which Unity offers for scripts that do not compile, no package runs, and only Unity's log tells why.
#[test]
fn an_editor_in_safe_mode_is_named_by_the_error_in_its_log() {
    const ERROR: &str = "Assets/A.cs(3,7): error CS0246";
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet"]);
    unity.order("down");
    let place = if cfg!(target_os = "macos") { "Library/Logs/Unity" } else { ".config/unity3d" };
    let folder = room.home().join(place);
    std::fs::create_dir_all(&folder).expect("a folder");
    let log = format!("Unity\n-projectPath\n{}\n{ERROR}: no such type\n", room.project().display());
    std::fs::write(folder.join("Editor.log"), log).expect("a log");
    let mut client = open(&room);
    let summary = |client: &mut Client| {
        let status = client.done("holdfast_status", &json!({})).body();
        status["summary"].as_str().unwrap_or_default().to_owned()
    };
    until("the error is named", || {
        let told = summary(&mut client);
        told.contains("Safe Mode") && told.contains(ERROR)
    });
    let mut command = client::command(&room);
    command.args(["call", "echo", "--timeout", "2", "--project"]).arg(room.project()).stdin(Stdio::null());
    let refused = command.output().expect("it runs");
    let told = String::from_utf8_lossy(&[refused.stderr, refused.stdout].concat()).into_owned();
    assert!(!refused.status.success() && told.contains(ERROR) && told.contains("was not sent to Unity"), "{told}");
    unity.order("up");
    until("it is ready", || summary(&mut client).contains("ready"));
    assert!(!summary(&mut client).contains("Safe Mode"));
}
