//! Sessions and commands whose links a real hub has.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use holdfast_fake_unity::Package;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::client::{self, Client, Verdict};
use super::hub::{Hub, attached, elected, hub, open};
use super::unity::Unity;
use super::{Room, until};

fn run(room: &Room, arguments: &[&str]) -> Output {
    let mut command = client::command(room);
    command.args(arguments).args(["--project", room.project().to_str().unwrap()]);
    command.stdin(Stdio::null()).output().unwrap()
}

/// How many connections the editor has accepted, as the hub counts them.
fn connections(client: &mut Client) -> u64 {
    client.done("holdfast_status", &json!({})).body()["editor"]["connections"].as_u64().unwrap()
}

#[test]
fn a_command_uses_the_hub_that_runs_and_ends_with_the_code_of_its_verdict() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet"]);
    let _hub = Hub::start(&room);
    let mut session = open(&room, &[]);
    session.echoes();
    let rows: [(&[&str], i32, &str); 7] = [
        (&["call", "echo", r#"{"text":"over the hub"}"#], 0, "over the hub"),
        (&["call", "count", r#"{"key":"by command"}"#, "--json"], 0, "structuredContent"),
        (&["call", "fail"], 1, ""),
        (&["call", "no_such_tool"], 2, ""),
        (&["call", "echo", "{}", "--deny", "echo"], 3, ""),
        (&["call", "holdfast_status"], 0, "is connected and ready"),
        (&["tools"], 0, "live from the editor"),
    ];
    for (arguments, code, says) in rows {
        let told = run(&room, arguments);
        let all = String::from_utf8_lossy(&told.stdout).into_owned() + &String::from_utf8_lossy(&told.stderr);
        assert_eq!(told.status.code(), Some(code), "{arguments:?}: {all}");
        assert!(all.contains(says), "{arguments:?}: {all}");
    }
    assert_eq!(room.runs("by command"), 1);
    assert_eq!(connections(&mut session), 1, "the commands used the hub's connection");
    let calls = session.done("holdfast_calls", &json!({"limit": 50})).body();
    let by = |tool: &str| calls["calls"].as_array().unwrap().iter().any(|call| call["tool"] == tool);
    assert!(by("count") && by("fail"), "{calls}");

    // A command that is told to end says whether its call was sent.
    let mut command = client::command(&room);
    command.args(["call", "count", r#"{"key":"cut","hold":true}"#, "--project", room.project().to_str().unwrap()]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the call runs", || room.runs("cut") == 1);
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    let told = child.wait_with_output().unwrap();
    let says = String::from_utf8_lossy(&told.stderr).into_owned();
    assert_eq!(told.status.code(), Some(4), "{says}");
    unity.order("release");

    // On its own, it has a connection of its own.
    let mut command = client::command(&room);
    command.env("HOLDFAST_HUB", "never").args(["call", "echo", "--project", room.project().to_str().unwrap()]);
    assert_eq!(command.output().unwrap().status.code(), Some(0));
    session.close(&room);
}

/// A result crosses in pieces, and a command takes it whole.
#[test]
fn a_result_of_megabytes_crosses_whole_to_a_command_and_fitted_to_a_session() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let _hub = Hub::start(&room);
    let large = 9 << 20;
    let told = run(&room, &["call", "big", &json!({"n": large}).to_string()]);
    assert_eq!(told.status.code(), Some(0), "{}", String::from_utf8_lossy(&told.stderr));
    assert!(told.stdout.len() > large, "{} bytes", told.stdout.len());
    let mut session = open(&room, &[]);
    for (bytes, is_inline) in [(1 << 20, true), (large, false)] {
        let answer = session.done("big", &json!({"n": bytes}));
        assert_eq!(answer.verdict(), Verdict::Ok);
        let size = answer.0.to_string().len();
        assert_eq!(size > bytes, is_inline, "{size}");
    }
    session.close(&room);
}

#[test]
fn the_rules_of_a_hub_hold_for_what_a_session_lists_and_calls() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let mut command = hub(&room);
    command.args(["--deny", "count", "--hide-denied"]).stderr(Stdio::null());
    let _hub = Hub(command.spawn().unwrap());
    until("the hub serves", || room.state().join("hub/hub.json").exists());
    let mut session = open(&room, &[]);
    session.echoes();
    assert!(attached(&session));
    let id = session.ask("tools/list", &json!({}));
    let listed = session.answer(id).0["result"]["tools"].to_string();
    assert!(listed.contains("\"echo\"") && !listed.contains("\"count\""), "{listed}");
    let refused = session.done("count", &json!({"key": "k"}));
    assert_eq!((refused.verdict(), room.runs("k")), (Verdict::NotExecuted, 0), "{}", refused.0);
    let status = session.done("holdfast_status", &json!({})).body();
    assert_eq!(status["tools"]["hidden"]["count"], 1, "{status:#}");
    session.close(&room);
}

#[test]
fn over_a_hub_a_part_of_many_tools_is_listed_and_the_rest_is_found_and_called_under_the_hubs_rules() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet", "--tools", "90"]);
    let mut command = hub(&room);
    command.args(["--deny", "more-0088"]).stderr(Stdio::null());
    let _hub = Hub(command.spawn().unwrap());
    until("the hub serves", || room.state().join("hub/hub.json").exists());
    let listed = |session: &mut Client| {
        let id = session.ask("tools/list", &json!({}));
        let list = session.answer(id).0["result"].clone();
        list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].to_string()).collect::<Vec<_>>()
    };
    let mut session = open(&room, &[]);
    let mut other = open(&room, &["--toolsets", "all"]);
    for session in [&mut session, &mut other] {
        session.echoes();
        assert!(attached(session));
    }
    assert_eq!((listed(&mut session).len(), listed(&mut other).len() > 80), (40, true));
    let found = session.done("holdfast_tools", &json!({"find": "more-0089"})).body();
    assert_eq!(found["tools"][0]["name"], "more-0089", "{found:#}");
    assert!(listed(&mut session).contains(&"\"more-0089\"".to_owned()));
    let through = session.done("holdfast_tools", &json!({"call": "count", "arguments": {"key": "k"}}));
    assert_eq!((through.verdict(), room.runs("k")), (Verdict::Ok, 1), "{}", through.0);
    let refused = session.done("holdfast_tools", &json!({"call": "more-0088"}));
    assert_eq!(refused.verdict(), Verdict::NotExecuted, "{}", refused.0);
    assert!(refused.text().contains("deny \"more-0088\""), "{}", refused.0);
    session.close(&room);
    other.close(&room);
}

fn games(room: &Room, name: &str) -> PathBuf {
    dunce::canonicalize(room.path()).unwrap().join("games").join(name)
}

/// The editors of other sessions are seen by one that names no project.
#[test]
fn a_session_without_a_project_uses_the_editors_that_others_have_on_the_hub() {
    let room = Room::new();
    let _editors =
        ["Castle", "Forest"].map(|name| Unity::start(&room, &["--project", games(&room, name).to_str().unwrap()]));
    let _hub = Hub::start(&room);
    let mut others =
        ["Castle", "Forest"].map(|name| Client::open(&room, &["--project", games(&room, name).to_str().unwrap()]));
    others.iter_mut().for_each(Client::echoes);
    let mut command = client::command(&room);
    std::fs::create_dir_all(room.path().join("elsewhere")).unwrap();
    command.current_dir(room.path().join("elsewhere"));
    let mut session = Client::spawn(&room, command);
    session.initialize();
    let mut told = Value::Null;
    until("both are listed", || {
        told = session.done("holdfast_editors", &json!({})).body();
        told["editors"].as_array().is_some_and(|editors| editors.len() == 2)
    });
    let clients: Vec<u64> =
        told["editors"].as_array().unwrap().iter().map(|editor| editor["clients"].as_u64().unwrap()).collect();
    assert_eq!(clients, [2, 2], "{told:#}");
    let unnamed = session.done("count", &json!({"key": "unnamed"}));
    assert_eq!(unnamed.verdict(), Verdict::NotExecuted, "{}", unnamed.0);
    for name in ["Castle", "Forest"] {
        let answer = session.done("count", &json!({"key": name, "holdfast_editor": name}));
        assert_eq!(answer.verdict(), Verdict::Ok, "{}", answer.0);
    }
    assert_eq!((room.runs("unnamed"), room.runs("Castle"), room.runs("Forest")), (0, 1, 1));
    let calls = session.done("holdfast_calls", &json!({})).body();
    assert!(calls["calls"].as_array().unwrap().iter().any(|call| call["editor"] == "Castle"), "{calls}");
    for client in others.into_iter().chain([session]) {
        client.close(&room);
    }
}

/// Stands where a hub of this protocol would, with its lock.
fn played(room: &Room, protocol: u32) -> (UnixListener, std::fs::File) {
    let folder = room.state().join("hub");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    let lock = std::fs::File::create(folder.join("hub.lock")).unwrap();
    lock.try_lock().unwrap();
    let socket = folder.join("socket");
    let info =
        json!({"pid": 1, "version": "0.1.0", "hub": "x", "started": 1.0, "protocol": protocol, "socket": socket});
    std::fs::write(folder.join("hub.json"), info.to_string()).unwrap();
    (UnixListener::bind(&socket).unwrap(), lock)
}

/// A hub of an older program, which speaks MCP only.
#[test]
fn a_hub_of_before_is_asked_to_retire_and_told_nothing_else() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let (listener, lock) = played(&room, 1);
    let socket = room.state().join("hub/socket");
    let said = Arc::new(Mutex::new(Vec::<String>::new()));
    let heard = Arc::clone(&said);
    std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
        lines.next();
        let welcome = json!({"protocol": 1, "build": "0.1.0", "pid": 1, "hub": "x", "records": "r"});
        writeln!(stream, "{}", json!({"welcome": welcome})).unwrap();
        for line in lines {
            let message: Value = serde_json::from_str(&line).unwrap();
            let method = message["method"].as_str().unwrap_or_default().to_owned();
            heard.lock().unwrap().push(method.clone());
            match method.as_str() {
                "ping" => writeln!(stream, "{}", json!({"jsonrpc": "2.0", "id": message["id"], "result": {}})).unwrap(),
                "holdfast/retire" => break,
                _ => {}
            }
        }
        // It ends when its calls are answered: it has none.
        std::fs::remove_file(&socket).unwrap();
        drop(lock);
    });
    let mut session = open(&room, &["--hub", "start"]);
    session.echoes();
    assert_eq!(*said.lock().unwrap(), ["holdfast/retire"]);
    assert!(session.log().matches("hub_attached").count() >= 2, "{}", session.log());
    session.close(&room);
}

/// The hub may say what it sees in the same moment as that it takes the session.
#[test]
fn what_a_hub_sees_is_heard_from_the_first_moment_on() {
    let room = Room::new();
    let (listener, lock) = played(&room, 2);
    let project = room.project();
    let vectors = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/port/messages.json")).unwrap();
    let vectors: Vec<Value> = serde_json::from_slice(&vectors).unwrap();
    let of = |is: &str| vectors.iter().find(|vector| vector["is"] == is).unwrap().clone();
    let (mut seen, tools) = (of("what is seen")["params"].clone(), of("the tools of a link")["result"].clone());
    seen["project"] = json!(project);
    for (member, value) in [("project", json!(project)), ("wanted", json!({"settled": project}))] {
        seen["seen"][member] = value;
    }
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            lines.next();
            let welcome = json!({"protocol": 2, "build": "0.1.0", "pid": 1, "hub": "x", "records": "r"});
            let sighting = json!({"jsonrpc": "2.0", "method": "port/seen", "params": seen});
            let both = format!("{}\n{sighting}\n", json!({"welcome": welcome}));
            stream.write_all(both.as_bytes()).unwrap();
            for line in lines {
                let message: Value = serde_json::from_str(&line).unwrap();
                let answer = match message["method"].as_str() {
                    Some("port/tools") => tools.clone(),
                    Some("port/look") => {
                        json!(holdfast::survey::Survey {
                            project: Some(project.clone()),
                            ..holdfast::survey::Survey::nothing()
                        })
                    }
                    Some("ping") => json!({}),
                    _ => continue,
                };
                writeln!(stream, "{}", json!({"jsonrpc": "2.0", "id": message["id"], "result": answer})).unwrap();
            }
        }
    });
    for _ in 0..20 {
        let mut session = open(&room, &[]);
        let id = session.ask("tools/list", &json!({}));
        let listed = session.answer(id).0["result"]["tools"].to_string();
        assert!(listed.contains("\"create\""), "{listed}");
        session.close(&room);
    }
    drop(lock);
}

/// Results that a session does not read hold up nobody else, however large they are.
#[test]
fn a_session_that_does_not_read_holds_up_no_other() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let _hub = Hub::start(&room);
    let mut command: Command = client::command(&room);
    command.args(["serve", "--project", room.project().to_str().unwrap()]);
    let mut deaf = Client::deaf(&room, command);
    let client = json!({"name": "deaf", "version": "1"});
    deaf.ask("initialize", &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}));
    for _ in 0..16 {
        deaf.call("big", &json!({"n": 4 << 20}));
    }
    let mut other = open(&room, &[]);
    for _ in 0..50 {
        other.echoes();
    }
    other.close(&room);
    deaf.kill();
}

/// A client may write to a pipe and close it at once.
#[test]
fn what_was_asked_before_the_end_of_stdin_is_answered() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let _hub = Hub::start(&room);
    let mut session = open(&room, &[]);
    session.echoes();
    let asked = ["holdfast_status", "holdfast_calls", "holdfast_editors"].map(|tool| session.call(tool, &json!({})));
    let read = session.ask("resources/read", &json!({"uri": "holdfast://status"}));
    session.close_stdin();
    for id in asked {
        let answer = session.answer(id);
        assert_eq!(answer.verdict(), Verdict::Ok, "{}", answer.0);
    }
    let answer = session.answer(read);
    assert!(answer.0["result"]["contents"].is_array(), "{}", answer.0);
}

/// Whoever takes 0 for "done" must not be told so of a call that may have run, or may not have.
#[test]
fn a_command_whose_hub_is_killed_ends_with_the_code_of_what_became_of_its_call() {
    // Its editor has no journal, or it has one.
    for (dialect, code, says) in
        [(Package::without_a_journal().name, 4, "Outcome unknown"), (Package::with_a_journal().name, 0, "Runs")]
    {
        let room = Room::new();
        let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", dialect]);
        let hub = Hub::start(&room);
        // It starts the successor: a command starts none.
        let mut session = open(&room, &[]);
        session.echoes();
        let mut command = client::command(&room);
        command.args(["call", "count", r#"{"key":"k","hold":true}"#, "--project", room.project().to_str().unwrap()]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        until("the call runs", || room.runs("k") == 1);
        drop(hub);
        until("a successor serves", || session.log().matches("hub_attached").count() >= 2);
        unity.order("release");
        let told = child.wait_with_output().unwrap();
        let all = String::from_utf8_lossy(&told.stdout).into_owned() + &String::from_utf8_lossy(&told.stderr);
        assert_eq!((told.status.code(), room.runs("k")), (Some(code), 1), "{dialect}: {all}");
        assert!(all.contains(says), "{dialect}: {all}");
        session.close(&room);
        kill(super::hub::elected(&room), Signal::SIGKILL).unwrap();
    }
}

/// A list that was known is not taken away because a successor does not know it yet.
#[test]
fn the_tools_stay_listed_while_the_hub_is_replaced() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet"]);
    let hub = Hub::start(&room);
    let mut session = open(&room, &[]);
    let listed = |session: &mut Client| {
        let id = session.ask("tools/list", &json!({}));
        session.answer(id).0["result"]["tools"].to_string()
    };
    until("the tools are listed", || listed(&mut session).contains("\"echo\""));
    // From here on nothing is on disk, and no editor answers.
    unity.stop();
    let _ = std::fs::remove_dir_all(room.state().join("catalogues"));
    drop(hub);
    until("a successor serves", || session.log().matches("hub_attached").count() >= 2);
    let told = listed(&mut session);
    assert!(told.contains("\"echo\""), "{told}");
    unity.go_on();
    session.echoes();
    session.close(&room);
    kill(super::hub::elected(&room), Signal::SIGKILL).unwrap();
}

#[test]
fn a_hub_is_started_for_a_command_if_the_settings_say_so() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let config = room.path().join("config.toml");
    std::fs::write(&config, "[hub]\nstart = true\n").unwrap();
    let call = |more: &[&str]| {
        let words = ["call", "echo", r#"{"text":"x"}"#, "--config", config.to_str().unwrap()];
        let told = run(&room, &[&words[..], more].concat());
        let said = String::from_utf8_lossy(&told.stderr).into_owned();
        assert_eq!(told.status.code(), Some(0), "{said}");
        said
    };
    let starts = |said: String| said.contains("no hub runs, so one is started");
    assert!(!starts(call(&["--hub", "never"])));
    assert!(starts(call(&[])));
    let hub = elected(&room);
    assert!(!starts(call(&[])), "it uses the one that runs");
    assert_eq!(elected(&room), hub);
    kill(hub, Signal::SIGTERM).unwrap();
    until("the hub ends", || !room.state().join("hub/hub.json").exists());
}

/// The id that a command says is the one that the hub knows the call by.
#[test]
fn the_hub_knows_a_call_by_the_id_that_its_command_said() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet"]);
    let _hub = Hub::start(&room);
    let result = |id: &str, more: &[&str]| {
        let told = run(&room, &[&["result", id, "--timeout", "20"], more].concat());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (told.status.code(), text(&told.stdout), text(&told.stderr))
    };
    let own = "4f6f1c1e-4b0c-4a52-9d0c-3e8d5a3f7b11";
    for (key, named) in [("plain", &[][..]), ("named", &["--id", own])] {
        let arguments = format!(r#"{{"key":"{key}","hold":true}}"#);
        let mut command = client::command(&room);
        command.args(["call", "count", &arguments]).args(named).args(["--project", room.project().to_str().unwrap()]);
        let mut killed = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(killed.stderr.take().unwrap()).lines().map_while(Result::ok);
        let id = said.filter_map(|line| line.strip_prefix("holdfast: call id ").map(str::to_owned)).next().unwrap();
        until("the call runs", || room.runs(key) == 1);
        killed.kill().unwrap();
        killed.wait().unwrap();
        unity.say("release");
        let told = result(&id, &[]);
        assert!(told.0 == Some(0) && told.1.contains("\"Runs\":1"), "{key}: {told:?}");
        let json: Value = serde_json::from_str(&result(&id, &["--json"]).1).unwrap();
        assert_eq!(
            (&json["verdict"], &json["ran"], &json["call_id"]),
            (&json!("ok"), &json!("yes"), &json!(id)),
            "{key}"
        );
        assert_eq!(room.runs(key), 1);
    }
    // The command had the answer "still running". The result that came later is the call's.
    let late = "5f6f1c1e-4b0c-4a52-9d0c-3e8d5a3f7b11";
    let running = run(&room, &["call", "count", r#"{"key":"late","hold":true}"#, "--id", late, "--timeout", "1"]);
    assert_eq!(running.status.code(), Some(4));
    unity.say("release");
    let told = result(late, &["--json"]);
    let json: Value = serde_json::from_str(&told.1).unwrap();
    assert_eq!((told.0, &json["verdict"], &json["exit_code"]), (Some(0), &json!("ok"), &json!(0)), "{json}");
    assert_eq!(room.runs("late"), 1);
}
