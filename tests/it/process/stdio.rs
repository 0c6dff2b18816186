//! stdin, stdout and stderr as some launchers set them up: non-blocking, with buffers of a few KiB, read slowly.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use nix::sys::socket::{setsockopt, sockopt};
use serde_json::json;

use super::client::{self, Client};
use super::unity::Unity;
use super::{Room, until};

/// Larger than all buffers between the gateway and the test together.
const LARGE: usize = 1024 * 1024;

/// Creates a pair of sockets. The gateway gets the far end: non-blocking, with the smallest buffers that the system permits.
fn pair() -> (Stdio, OwnedFd) {
    let (near, far) = UnixStream::pair().expect("a pair");
    far.set_nonblocking(true).expect("a mode");
    for end in [&near, &far] {
        setsockopt(end, sockopt::SndBuf, &4096).expect("a size");
    }
    (Stdio::from(OwnedFd::from(far)), near.into())
}

fn command(room: &Room, unity: &Unity) -> std::process::Command {
    let mut command = client::command(room);
    command.args(["--port", &unity.port.to_string()]);
    command
}

#[test]
fn pipes_that_do_not_block_are_waited_for_in_both_directions() {
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let mut plain = Client::open(&room, &["--port", &unity.port.to_string()]);
    let mut client = Client::over(&room, command(&room, &unity), [pair(), pair()]);
    // When the gateway starts to read, there are no bytes yet.
    client.initialize();
    client.echoes();
    for text in ["x".repeat(LARGE / 2), "short".to_owned()] {
        let arguments = json!({"text": text});
        let sent = client.done("echo", &arguments);
        assert_eq!(sent.0["result"], plain.done("echo", &arguments).0["result"], "as large a request as answer");
    }
    let arguments = json!({"n": LARGE});
    let answer = client.done("big", &arguments);
    assert!(answer.text().len() >= LARGE, "{} bytes", answer.text().len());
    assert!(answer.0["result"] == plain.done("big", &arguments).0["result"], "the same bytes as through a pipe");
    client.echoes();
    client.close(&room);
    plain.close(&room);
}

#[test]
fn a_reader_of_a_stdout_that_does_not_block_may_take_its_time() {
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let mut command = command(&room, &unity);
    let [(stdin, to), (stdout, from)] = [pair(), pair()];
    let (mut to, mut from) = (UnixStream::from(to), UnixStream::from(from));
    let mut child = command.stdin(stdin).stdout(stdout).stderr(Stdio::null()).spawn().expect("it starts");
    drop(command);
    let opening =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "slow", "version": "1"}});
    let mut text = String::new();
    for (id, method, params) in [
        (1, "initialize", opening),
        (2, "tools/call", json!({"name": "big", "arguments": {"n": LARGE}})),
        (3, "ping", json!({})),
    ] {
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        text.push_str(&format!("{line}\n"));
    }
    std::io::Write::write_all(&mut to, text.as_bytes()).expect("it reads");
    // Each piece that is read is much smaller than the bytes that wait, so nearly every write of the gateway finds a full
    // buffer.
    let mut heard = Vec::new();
    let mut piece = [0; 701];
    let whole = |heard: &[u8]| heard.ends_with(b"}\n") && heard.len() > LARGE;
    while !whole(&heard) {
        let count = from.read(&mut piece).expect("it writes");
        assert!(count > 0, "stdout ended after {} bytes", heard.len());
        heard.extend_from_slice(&piece[..count]);
        std::thread::yield_now();
    }
    drop(to);
    assert_eq!(child.wait().expect("our child").code(), Some(0));
    let answers: Vec<serde_json::Value> =
        heard.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let mut ids: Vec<i64> = answers.iter().filter_map(|answer| answer["id"].as_i64()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3], "each once");
}

#[test]
fn a_stderr_that_does_not_block_loses_no_line() {
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let (stderr, near) = pair();
    let mut command = command(&room, &unity);
    command.env("HOLDFAST_LOG", "info").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
    let mut child = command.spawn().expect("it starts");
    drop(command);
    let (mut stdin, stdout) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
    let mut answers = std::io::BufRead::lines(std::io::BufReader::new(stdout));
    // Each call is logged, and nobody reads stderr in the meantime.
    const CALLS: usize = 200;
    for id in 0..=CALLS {
        let params = match id {
            0 => {
                json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "log", "version": "1"}})
            }
            _ => json!({"name": "echo", "arguments": {"text": "x"}}),
        };
        let method = if id == 0 { "initialize" } else { "tools/call" };
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        std::io::Write::write_all(&mut stdin, format!("{line}\n").as_bytes()).expect("it reads");
        let mut line = || answers.next().expect("an answer").expect("text");
        while !line().contains(r#""id":"#) {}
    }
    let reading = std::thread::spawn(move || {
        let mut log = String::new();
        UnixStream::from(near).read_to_string(&mut log).map(|_| log)
    });
    drop(stdin);
    assert_eq!(child.wait().expect("our child").code(), Some(0));
    let log = reading.join().expect("no panic").expect("text");
    let events: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("torn: {line}"))).collect();
    assert_eq!(events.iter().filter(|event| event["event"] == "call_answered").count(), CALLS);
    assert!(events.iter().any(|event| event["event"] == "gateway_ending"), "{log}");
}

#[test]
fn a_command_whose_stdout_does_not_block_writes_its_whole_result() {
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let call = || {
        let mut command = client::command(&room);
        command.args(["call", "big", &json!({"n": LARGE}).to_string(), "--port", &unity.port.to_string()]);
        command.stdin(Stdio::null());
        command
    };
    let wanted = call().output().expect("it runs");
    assert!(wanted.status.success() && wanted.stdout.len() > LARGE, "{wanted:?}");
    let [(stdout, near), (stderr, _errors)] = [pair(), pair()];
    let mut command = call();
    let mut child = command.stdout(stdout).stderr(stderr).spawn().expect("it starts");
    drop(command);
    let mut got = Vec::new();
    UnixStream::from(near).read_to_end(&mut got).expect("it writes");
    assert_eq!(child.wait().expect("our child").code(), Some(0));
    assert!(got == wanted.stdout, "{} bytes in place of {}", got.len(), wanted.stdout.len());
}

#[test]
fn arguments_may_come_from_a_stdin_that_does_not_block() {
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let (far, near) = std::io::pipe().expect("a pipe");
    rustix::io::ioctl_fionbio(&far, true).expect("a mode");
    let mut command = client::command(&room);
    command.args(["call", "echo", "-", "--port", &unity.port.to_string()]);
    let stdin = far.try_clone().expect("a descriptor");
    let child = command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    drop(command);
    let mut near = near;
    for part in [r#"{"te"#, r#"xt":"in two "#, r#"parts"}"#] {
        std::io::Write::write_all(&mut near, part.as_bytes()).expect("it reads");
        // After that the command tries to read more, and there are no bytes.
        until("it reads", || rustix::io::ioctl_fionread(&far).is_ok_and(|left| left == 0));
    }
    drop((near, far));
    let ended = child.wait_with_output().expect("it ends");
    assert!(ended.status.success() && String::from_utf8_lossy(&ended.stdout).contains("in two parts"), "{ended:?}");
}
