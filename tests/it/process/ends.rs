//! How the gateway ends: quickly, with every answer that is still expected, and without leaving files or processes behind.

use std::process::{Command, Stdio};
use std::time::Duration;

use holdfast::limits::{DRAIN_MAX, FLUSH_READING_MAX};
use holdfast_fake_unity::Package;
use serde_json::json;

use super::client::{self, Client, Verdict};
use super::system::{memory_kib, runs};
use super::unity::Unity;
use super::{GOES, PROGRAM, Room, SOON, once_within, until};

/// A gateway that has nothing to wait for must end before the time that a running call gets. The exact times are in the chaos
/// report.
const AT_ONCE: Duration = DRAIN_MAX;
/// A client that reads nothing does not get as much time as one that reads slowly.
const UNREAD: Duration = Duration::from_secs(FLUSH_READING_MAX.as_secs() * 2 / 5);

fn session(room: &Room) -> (Unity, Client) {
    let unity = Unity::start(room, &[]);
    let mut client = Client::open(room, &["--port", &unity.port.to_string()]);
    client.echoes();
    (unity, client)
}

/// Opens another session with the same editor.
fn again(room: &Room, unity: &Unity) -> Client {
    let mut client = Client::open(room, &["--port", &unity.port.to_string()]);
    client.echoes();
    client
}

#[test]
fn the_end_of_stdin_with_nothing_sent_is_the_end_at_once() {
    let room = Room::new();
    // stdin ends before the first byte, and in the middle of a line.
    for share in [0, 30] {
        once_within("the end of what is no session yet", AT_ONCE, || {
            let mut client = Client::spawn(&room, client::command(&room));
            let (_, line) = client.request_line("initialize", &json!({}));
            client.write(&line.as_bytes()[..share]).expect("it reads");
            client.close_stdin();
            let (status, took) = client.ended_within(SOON);
            assert_eq!(status.code(), Some(0), "{status} after {took:?}");
            client.check(&room);
            took
        });
    }
    let mut unity = Unity::start(&room, &[]);
    once_within("the end of a session", AT_ONCE, || again(&room, &unity).close(&room));
    until("the editor sees it go", || unity.stats()["connections"] == 0);
    assert!(room.run_records().is_empty(), "{:?}", room.run_records());
}

#[test]
fn a_batch_of_requests_and_the_end_of_stdin_are_all_answered() {
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    for _ in 0..5 {
        let mut command = client::command(&room);
        command.args(["--port", &unity.port.to_string()]);
        let mut client = Client::spawn(&room, command);
        let mut text = String::new();
        let opening = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "batch", "version": "1"}});
        for (method, params) in [
            ("initialize", opening),
            ("tools/list", json!({})),
            ("tools/call", json!({"name": "holdfast_status", "arguments": {}})),
            ("tools/call", json!({"name": "echo", "arguments": {"text": "x"}})),
            ("ping", json!({})),
        ] {
            text.push_str(&client.request_line(method, &params).1);
        }
        client.write(text.as_bytes()).expect("it reads");
        client.close(&room);
    }
}

#[test]
fn the_end_of_stdin_lets_a_running_call_answer_for_a_moment() {
    let room = Room::new();
    let mut unity = Unity::start(&room, &[]);
    for _ in 0..GOES {
        let mut client = again(&room, &unity);
        let mark = unity.mark();
        let id = client.call("hold", &json!({}));
        unity.begun(mark, "hold");
        let held = client.call("count", &json!({"key": "held"}));
        // The gateway reads in order, so its answer to the ping shows that it has read both calls.
        let ping = client.ask("ping", &json!({}));
        client.answer(ping);
        client.close_stdin();
        until("it has seen the end", || client.log().contains(r#""event":"gateway_ending""#));
        unity.order("release");
        let (status, took) = client.ended_within(SOON);
        assert_eq!(status.code(), Some(0), "after {took:?}");
        assert_eq!(client.answer(held).verdict(), Verdict::NotExecuted);
        assert_eq!(room.runs("held"), 0);
        client.check(&room);
        match client.answer(id).verdict() {
            Verdict::Ok => return,
            // On a busy machine the editor's answer may come after the end.
            verdict => assert_eq!(verdict, Verdict::Unknown),
        }
    }
    panic!("of {GOES} running calls none was waited for");
}

#[test]
fn the_end_of_stdin_does_not_wait_for_a_call_that_never_ends() {
    let room = Room::new();
    let (unity, mut client) = session(&room);
    let mark = unity.mark();
    let id = client.call("hold", &json!({}));
    unity.begun(mark, "hold");
    client.close_stdin();
    let (status, took) = client.ended_within(SOON);
    assert_eq!(status.code(), Some(0), "after {took:?}");
    let answer = client.answer(id);
    assert_eq!(answer.verdict(), Verdict::Unknown, "{}", answer.0);
    client.check(&room);
}

/// Over HTTP a call waits at its connection until its first byte can be written. The gateway need not wait for such a call
/// when it ends.
#[test]
fn the_end_of_stdin_does_not_wait_for_a_call_that_was_not_sent() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", Package::that(|facts| !facts.results).name]);
    let project = room.project().display().to_string();
    once_within("the end with a call that was not sent", AT_ONCE, || {
        let mut client = Client::open(&room, &["--project", &project, "--port", &unity.port.to_string()]);
        until("the editor's tools", || client.tools().iter().any(|tool| tool == "execute_code"));
        unity.stop();
        let id = client.call("execute_code", &json!({"code": "return 1;"}));
        until("it waits for the editor", || {
            client.done("holdfast_calls", &json!({})).text().contains(r#""waits_for": "stalled""#)
        });
        client.close_stdin();
        let (status, took) = client.ended_within(SOON);
        assert_eq!(status.code(), Some(0), "after {took:?}");
        assert_eq!(client.answer(id).verdict(), Verdict::NotExecuted);
        client.check(&room);
        unity.go_on();
        took
    });
}

#[test]
fn a_large_result_that_is_being_put_into_a_file_at_the_end_is_not_called_unsent() {
    let room = Room::new();
    let (unity, mut client) = session(&room);
    for _ in 0..2 {
        let mark = unity.mark();
        let id = client.call("big", &json!({"n": 9 * 1024 * 1024}));
        unity.hear(mark, |event| event["event"] == "call_ended" && event["tool"] == "big");
        client.close_stdin();
        let (status, took) = client.ended_within(SOON);
        assert_eq!(status.code(), Some(0), "after {took:?}");
        let answer = client.answer(id);
        let said = answer.0.to_string();
        assert!(
            answer.verdict() != Verdict::NotExecuted && !said.contains("othing was sent"),
            "it was sent: {said:.500}"
        );
        client.check(&room);
        client = Client::open(&room, &["--port", &unity.port.to_string()]);
        client.echoes();
    }
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_with_every_answer_given() {
    use nix::sys::signal::Signal;
    let room = Room::new();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let unity = Unity::start(&room, &[]);
        once_within("the end of what is idle", AT_ONCE, || {
            let mut idle = again(&room, &unity);
            idle.signal(signal);
            let (status, took) = idle.ended_within(SOON);
            assert_eq!(status.code(), Some(0), "{signal} while idle");
            idle.check(&room);
            took
        });

        let mut busy = again(&room, &unity);
        let mark = unity.mark();
        let running = busy.call("hold", &json!({}));
        unity.begun(mark, "hold");
        let held: Vec<u64> = (0..100).map(|n| busy.call("count", &json!({"key": format!("{signal}-{n}")}))).collect();
        let ping = busy.ask("ping", &json!({}));
        busy.answer(ping);
        busy.signal(signal);
        let (status, took) = busy.ended_within(SOON);
        assert_eq!(status.code(), Some(0), "{signal} while busy, after {took:?}");
        assert_eq!(busy.answer(running).verdict(), Verdict::Unknown, "{signal}");
        for (n, id) in held.into_iter().enumerate() {
            assert_eq!(busy.answer(id).verdict(), Verdict::NotExecuted, "{signal}, held call {n}");
            assert_eq!(room.runs(&format!("{signal}-{n}")), 0);
        }
        busy.check(&room);
    }
    assert!(room.run_records().is_empty(), "{:?}", room.run_records());
}

/// Starts a gateway whose launcher, a shell, is the client's child. Returns the client, and the gateway's own pid. The test
/// keeps both pipes open, as a grandchild would.
#[cfg(unix)]
fn launched(room: &Room, port: u16) -> (Client, u32) {
    let mut command = Command::new("/bin/sh");
    client::environment(&mut command, room);
    let script = r#"exec 3<&0; "$0" --port "$1" <&3 3<&- & echo $! >"$2"; wait"#;
    let pid_file = room.path().join("pid");
    command.args(["-c", script, PROGRAM, &port.to_string()]).arg(&pid_file);
    let client = Client::deaf(room, command);
    let pid = || std::fs::read_to_string(&pid_file).unwrap_or_default().trim().parse().ok();
    until("the shell wrote the pid", || pid().is_some());
    let pid = pid().expect("a pid");
    assert_ne!(pid, client.pid());
    (client, pid)
}

/// Does the same as the Unix version, with `cmd` as the shell.
#[cfg(not(unix))]
fn launched(room: &Room, port: u16) -> (Client, u32) {
    let mut command = Command::new("cmd");
    client::environment(&mut command, room);
    // `cmd` takes a word that begins with a slash as an option.
    command.args(["/C", &PROGRAM.replace('/', "\\"), "--port", &port.to_string()]);
    let client = Client::deaf(room, command);
    let pid = || {
        let records = room.run_records();
        records.iter().find_map(|record| record.file_stem()?.to_str()?.parse().ok())
    };
    until("the gateway left its record", || pid().is_some());
    let pid = pid().expect("a pid");
    assert_ne!(pid, client.pid());
    (client, pid)
}

#[test]
fn a_parent_that_dies_is_noticed_though_the_pipe_stays_open() {
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let (client, pid) = launched(&room, unity.port);
    let mut client = client.hearing();
    client.initialize();
    client.echoes();
    client.kill();
    // stdout ends with the last process that has it open.
    client.ended_within(SOON);
    until("the process is gone", || !runs(pid));
    assert!(room.run_records().is_empty(), "{:?}", room.run_records());
}

#[test]
fn a_launcher_that_ends_takes_no_session_with_it_whose_client_lives() {
    let room = Room::new();
    let unity = Unity::start(&room, &[]);
    let (client, pid) = launched(&room, unity.port);
    let mut client = client.hearing();
    client.initialize();
    client.echoes();
    let mark = unity.mark();
    let running = client.call("sleep", &json!({"ms": 1500}));
    unity.begun(mark, "sleep");
    client.kill();
    // The gateway asks the client with a ping, and continues to work before and after the answer.
    until("it asks whether the client lives", || client.asked_by_server("ping").is_some());
    let asked = client.asked_by_server("ping").expect("it asked");
    client.send(&json!({"jsonrpc": "2.0", "id": asked, "result": {}}));
    assert_eq!(client.answer(running).verdict(), Verdict::Ok);
    client.echoes();
    assert!(runs(pid));
    client.close_stdin();
    until("the process is gone", || !runs(pid));
    client.check(&room);
}

#[test]
fn a_client_that_goes_before_it_opens_a_session_leaves_no_orphan_though_its_end_of_stdin_is_kept() {
    let room = Room::new();
    let (mut client, pid) = launched(&room, 1);
    client.kill();
    drop(client.take_stdout());
    until("the process is gone", || !runs(pid));
    client.check(&room);
}

#[cfg(unix)]
#[test]
fn a_client_that_closes_stdout_ends_it() {
    let room = Room::new();
    let mut client = Client::deaf(&room, client::command(&room));
    // The gateway notices the closed stdout without writing to it.
    drop(client.take_stdout());
    let (status, took) = client.ended_within(SOON);
    assert_eq!(status.code(), Some(0), "after {took:?}");
    client.check(&room);
}

#[test]
fn a_client_that_reads_nothing_and_goes_does_not_hold_it() {
    once_within("the end with a client that read nothing", UNREAD, reads_nothing_and_goes);
}

fn reads_nothing_and_goes() -> Duration {
    let room = Room::new();
    let mut client = Client::deaf(&room, client::command(&room));
    let opening =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "deaf", "version": "1"}});
    let (_, first) = client.request_line("initialize", &opening);
    let mut text = first;
    for _ in 0..20_000 {
        text.push_str(&client.request_line("tools/list", &json!({})).1);
    }
    let mut stdin = client.take_stdin();
    let (full, filled) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        use std::io::Write as _;
        for line in text.lines() {
            if stdin.write_all(format!("{line}\n").as_bytes()).is_err() {
                return;
            }
            let _ = full.send(());
        }
    });
    // The gateway reads lines until its answers fill the pipe, then stops reading, so the writer blocks.
    let mut lines = 0;
    while filled.recv_timeout(Duration::from_secs(1)).is_ok() {
        lines += 1;
    }
    assert!(lines < 20_000, "a blocked stdout did not stop it from reading");
    assert!(memory_kib(client.pid()) < 96 * 1024, "{} KiB", memory_kib(client.pid()));
    // The client dies: both pipes break, in the middle of the writer's line.
    drop(client.take_stdout());
    let (status, took) = client.ended_within(SOON);
    assert_eq!(status.code(), Some(0), "after {took:?}");
    writer.join().expect("the writer ends with the pipe");
    client.check(&room);
    took
}

#[cfg(unix)]
#[test]
fn stdin_that_ends_behind_a_blocked_stdout_is_seen() {
    once_within("the end behind a blocked stdout", UNREAD, ends_behind_a_blocked_stdout);
}

#[cfg(unix)]
fn ends_behind_a_blocked_stdout() -> Duration {
    let room = Room::new();
    let mut client = Client::deaf(&room, client::command(&room));
    let opening =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "deaf", "version": "1"}});
    let (_, mut text) = client.request_line("initialize", &opening);
    // These are more answers than the pipe and the queue accept; the requests themselves fit.
    for _ in 0..1500 {
        text.push_str(&client.request_line("tools/list", &json!({})).1);
    }
    let mut stdin = client.take_stdin();
    let writer = std::thread::spawn(move || {
        use std::io::Write as _;
        // stdin is dropped here, before the gateway has read most of it.
        let _ = stdin.write_all(text.as_bytes());
    });
    let (status, took) = client.ended_within(SOON);
    assert_eq!(status.code(), Some(0), "after {took:?}");
    writer.join().expect("the writer ends");
    client.check(&room);
    took
}

#[test]
fn copies_started_at_once_with_an_empty_environment_in_the_root_folder_all_work() {
    let room = Room::new();
    let start = |with_home: bool| {
        let mut command = Command::new(PROGRAM);
        client::bare(&mut command, &room);
        command.current_dir("/").stdin(Stdio::piped());
        if !with_home {
            for home in ["HOME", "USERPROFILE", "LOCALAPPDATA"] {
                command.env_remove(home);
            }
        }
        Client::spawn(&room, command)
    };
    let mut clients: Vec<Client> = [true, true, true, false].map(start).into();
    for client in &mut clients {
        client.initialize();
    }
    for client in &mut clients {
        let tools = client.tools();
        assert!(tools.iter().any(|tool| tool == "holdfast_status"), "{tools:?}");
        let status = client.done("holdfast_status", &json!({}));
        assert_eq!(status.verdict(), Verdict::Ok, "{}", status.0);
    }
    for client in clients {
        client.close(&room);
    }
    let run = room.state_in_home().join("run");
    let left: Vec<_> = std::fs::read_dir(run).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn what_killed_gateways_left_is_gone_with_the_next_session() {
    let room = Room::new();
    let run = room.state().join("run");
    std::fs::create_dir_all(&run).expect("a folder");
    // Each gateway looks once for records that dead gateways left, and reads this file last. A gateway that was still looking
    // would remove the record of the first gateway that is killed here.
    let last = run.join("999999999.lock");
    let opened = || {
        std::fs::write(&last, "").expect("a file");
        let client = Client::open(&room, &[]);
        until("it has looked for what others left", || !last.exists());
        client
    };
    let mut killed = [opened(), opened(), opened()];
    // There is a record and a lock for each gateway.
    until("their records", || {
        room.run_records().iter().filter(|path| path.extension().is_some_and(|of| of == "json")).count() == 3
    });
    for client in &mut killed {
        client.kill();
        client.ended_within(SOON);
    }
    std::fs::write(run.join("4000000.lock"), "").expect("a file");
    assert!(room.run_records().len() >= 7, "{:?}", room.run_records());
    let client = Client::open(&room, &[]);
    let own = client.pid().to_string();
    let only_its_own = || room.run_records().iter().all(|path| path.file_stem().is_some_and(|stem| *stem == *own));
    until("nothing is left of the others", only_its_own);
    client.close(&room);
    assert!(room.run_records().is_empty(), "{:?}", room.run_records());
}

#[cfg(unix)]
#[test]
fn a_fifo_in_the_place_of_a_lock_holds_no_command() {
    let room = Room::new();
    let run = room.state().join("run");
    std::fs::create_dir_all(&run).expect("a folder");
    for name in ["5.json", "6.json"] {
        std::fs::write(run.join(name), "{}").expect("a file");
    }
    for name in ["5.lock", "7.lock", "8.json"] {
        nix::unistd::mkfifo(&run.join(name), nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
    }
    let mut command = client::command(&room);
    let mut status = command.arg("status").stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts");
    until("status ends", || status.try_wait().is_ok_and(|ended| ended.is_some()));
}

#[test]
fn a_home_that_is_relative_is_not_taken_so_no_folder_is_made_where_the_client_happens_to_start_us() {
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let mut command = client::command(&room);
    command
        .env(if cfg!(windows) { "LOCALAPPDATA" } else { "HOME" }, "home")
        .env_remove("HOLDFAST_STATE_DIR")
        .args(["--port", &unity.port.to_string()]);
    let mut client = Client::spawn(&room, command);
    client.initialize();
    let text = client.done("big", &json!({"n": 9 * 1024 * 1024})).text();
    assert!(text.contains("its result cannot be delivered"), "{text:.600}");
    client.close(&room);
}

/// Neither "a bug of holdfast" nor a wrong usage: a person pressed Ctrl-C, or a CI job was cancelled.
#[cfg(unix)]
#[test]
fn a_command_that_a_signal_ends_says_so_wherever_it_is() {
    use std::io::{BufRead as _, BufReader};

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    let room = Room::new();
    for lines in 1..=12 {
        let mut command = client::command(&room);
        command.args(["call", "count", "{}", "--timeout", "20", "--log", "trace"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut log = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let mut said: Vec<String> = log.by_ref().take(lines).map(|line| line.expect("UTF-8")).collect();
        kill(Pid::from_raw(i32::try_from(child.id()).expect("a pid")), Signal::SIGTERM).expect("it is a child of ours");
        said.extend(log.map(|line| line.expect("UTF-8")));
        let status = child.wait().expect("it ends");
        assert_eq!(status.code(), Some(3), "after {lines} lines: {status}\n{}", said.join("\n"));
        assert!(!said.concat().contains("please report"), "{}", said.join("\n"));
    }
}
