//! Limits of the system: file descriptors, and the size of files.

use std::process::{Command, Stdio};

use serde_json::json;

use super::client::{self, Client, Verdict};
use super::unity::Unity;
use super::{PROGRAM, Room, SOON, until};

/// Returns a command that runs holdfast under a limit set by the shell's `ulimit`.
fn limited(room: &Room, limit: &str, words: &[&str]) -> Command {
    let mut command = Command::new("/bin/sh");
    client::environment(&mut command, room);
    command.env("HOLDFAST_LOG", "warn");
    command.args(["-c", &format!(r#"ulimit {limit}; exec "$0" "$@""#), PROGRAM]).args(words);
    command
}

#[test]
fn with_too_few_descriptors_it_serves_or_names_them() {
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let port = unity.port.to_string();
    let mut served = 0;
    for limit in 4..=32 {
        let ulimit = format!("-n {limit}");
        let mut client = Client::spawn(&room, limited(&room, &ulimit, &["--port", &port]));
        let (ping, line) = client.request_line("ping", &json!({}));
        let written = client.write(line.as_bytes()).is_ok();
        until("it answers or ends", || client.is_answered(ping) || client.has_ended());
        if written && client.is_answered(ping) {
            served += 1;
            client.initialize();
            client.echoes();
            client.close(&room);
            continue;
        }
        let (status, _) = client.ended_within(SOON);
        let log = client.log();
        // With fewer descriptors the system cannot even start a program.
        let loaded = !log.contains("shared librar") && !log.contains("Too many open files in system");
        assert!(!log.contains("panicked"), "{limit}: {log}");
        assert!(!loaded || (status.code() == Some(71) && log.contains("ulimit -n")), "{limit}: {status} {log}");
        let call = limited(&room, &ulimit, &["call", "echo", "--port", &port]).output().expect("it runs");
        let said = String::from_utf8_lossy(&call.stderr);
        assert!(!loaded || (call.status.code() == Some(71) && said.contains("ulimit -n")), "{limit}: {call:?}");
    }
    assert!(served > 5, "{served} of 29");
}

#[test]
#[cfg(target_os = "linux")]
fn a_call_without_a_descriptor_for_its_connection_is_told_that_and_nothing_of_unity() {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let mut command = client::command(&room);
    command.args(["--port", &unity.port.to_string()]);
    let mut client = Client::spawn(&room, command);
    let ping = client.ask("ping", &json!({}));
    client.answer(ping);
    let pid = Pid::from_raw(i32::try_from(client.pid()).expect("a pid"));
    let most =
        |most| prlimit(pid, Resource::Nofile, Rlimit { current: Some(most), maximum: Some(4096) }).expect("a limit");
    // Descriptors that are open stay open, but no new one can be opened, even after one is closed.
    most(3);
    client.initialize();
    let answer = client.done("count", &json!({"key": "starved"}));
    let text = answer.text();
    assert_eq!(answer.verdict(), Verdict::NotExecuted, "{text}");
    assert!(text.contains("ulimit -n") && !text.contains("no Unity Editor"), "{text}");
    let status = client.done("holdfast_status", &json!({})).text();
    assert!(status.contains("descriptors") && !status.contains("no Unity Editor"), "{status}");
    most(1024);
    until("the link is up", || client.done("echo", &json!({"text": "x"})).verdict() == Verdict::Ok);
    assert_eq!(room.runs("starved"), 0);
    client.close(&room);
}

#[test]
fn a_limit_on_the_size_of_files_is_a_write_error_like_any_other() {
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let port = unity.port.to_string();
    // No byte can be written to a file: the gateway's record, the catalogue and the log are lost, but the session continues.
    let mut client = Client::spawn(&room, limited(&room, "-f 0", &["--port", &port]));
    client.initialize();
    client.echoes();
    client.close(&room);

    // Files are limited to 4 KiB (dash counts blocks of 512 bytes, bash of 1024). At some point the record of a call in the
    // audit cannot be written, and then that call is not sent.
    let audit = room.path().join("audit.jsonl");
    let mut command = limited(&room, "-f 8", &["--port", &port, "--audit", &audit.display().to_string()]);
    command.env("HOLDFAST_LOG", "off");
    let mut client = Client::spawn(&room, command);
    client.initialize();
    let mut refused = None;
    for n in 0..100 {
        let answer = client.done("count", &json!({"key": format!("n{n}")}));
        if answer.verdict() != Verdict::Ok {
            refused.get_or_insert((n, answer));
        }
    }
    let (first, answer) = refused.expect("the file cannot hold them all");
    let text = answer.text();
    assert_eq!(answer.verdict(), Verdict::NotExecuted, "{text}");
    assert!(text.contains("audit") && text.contains("file"), "{text}");
    assert!(
        (0..100).all(|n| room.runs(&format!("n{n}")) <= usize::from(n < first)),
        "what is not recorded does not run"
    );
    client.close(&room);

    // A large result that cannot be written to a file is still answered.
    let mut client = Client::spawn(&room, limited(&room, "-f 8", &["--port", &port]));
    client.initialize();
    for n in [7, 9] {
        assert_ne!(client.done("big", &json!({"n": n * 1024 * 1024})).verdict(), Verdict::NotExecuted);
    }
    client.echoes();
    client.close(&room);

    // A command that only writes files is not killed by the limit either.
    let setup = limited(&room, "-f 0", &["setup", "cursor"]).stdin(Stdio::null()).output().expect("it runs");
    assert!(setup.status.code().is_some_and(|code| code != 0), "{setup:?}");
}

/// An empty file can be made on a full disk.
#[test]
fn doctor_says_that_the_state_folder_has_no_room_and_what_helps() {
    let room = Room::new();
    std::fs::create_dir_all(room.state()).expect("a state folder");
    let doctor = limited(&room, "-f 0", &["doctor"]).stdin(Stdio::null()).output().expect("it runs");
    let says = String::from_utf8_lossy(&doctor.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(says.contains("cannot take 64 KiB more") && says.contains("make room on that disk"), "{says}");
    assert_eq!(doctor.status.code(), Some(1), "{says}");
}

/// What `holdfast status` prints, on one line.
#[cfg(target_os = "linux")]
fn status(room: &Room) -> String {
    let mut command = Command::new(PROGRAM);
    client::environment(&mut command, room);
    let done = command.arg("status").stdin(Stdio::null()).output().expect("it runs");
    String::from_utf8_lossy(&done.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
#[cfg(target_os = "linux")]
fn a_gateway_that_has_no_room_for_its_record_is_named_and_says_so_itself() {
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let mut client = Client::spawn(&room, limited(&room, "-f 0", &["--port", &unity.port.to_string()]));
    client.initialize();
    client.echoes();
    let named = format!("gateway {} record cannot be read", client.pid());
    until("it is named", || {
        let said = status(&room);
        assert!(!said.contains("No gateway runs") || !room.state().join("run").exists(), "{said}");
        said.contains(&named)
    });
    until("it says so itself", || {
        client.done("holdfast_status", &json!({})).text().contains("has not been renewed for")
    });
    client.close(&room);
}

#[test]
#[cfg(target_os = "linux")]
fn a_hub_that_has_no_room_for_its_records_is_named_and_their_age_is_told() {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let hub = super::hub::Hub::start(&room);
    let pid = hub.0.id();
    until("its record is there", || !room.run_records().is_empty());
    assert!(status(&room).contains(&format!("hub {pid}: serves the sessions")), "{}", status(&room));
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    prlimit(Pid::from_raw(i32::try_from(pid).expect("a pid")), Resource::Fsize, none).expect("a limit");
    let mut client = super::hub::open(&room, &[]);
    let mut said = String::new();
    until("the age of its record is told", || {
        said = status(&room);
        assert!(said.contains(&format!("hub {pid}:")) && !said.contains("No gateway runs"), "{said}");
        said.contains("not renewed since")
    });
    until("it says so itself", || {
        client.done("holdfast_status", &json!({})).text().contains("has not been renewed for")
    });
}
