//! The log that a gateway keeps on disk, and `holdfast logs`, which shows it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

use super::client::{self, Client, Verdict};
use super::unity::Unity;
use super::{Room, until};

fn logs(room: &Room, words: &[&str]) -> Command {
    let mut command = client::command(room);
    command.arg("logs").args(words);
    command
}

fn run(room: &Room, words: &[&str]) -> Output {
    logs(room, words).stdin(Stdio::null()).output().expect("it runs")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn open(room: &Room, more: &[&str]) -> Client {
    let project = room.project().display().to_string();
    Client::open(room, &[&["--project", project.as_str()], more].concat())
}

#[test]
fn the_log_of_a_killed_gateway_is_kept_and_shown() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    // What stderr shows is the user's choice. The file has what a report of a bug needs.
    let mut client = open(&room, &["--log", "error"]);
    client.echoes();
    let pid = client.pid().to_string();
    until("the call is on disk", || out(&run(&room, &["--gateway", &pid])).contains("call_answered"));
    client.kill();
    client.ended_within(super::SOON);
    assert!(!client.log().contains("call_answered"), "{}", client.log());

    let project = room.project().display().to_string();
    let shown = run(&room, &["--project", &project]);
    let text = out(&shown);
    assert_eq!(shown.status.code(), Some(0));
    assert!(text.lines().next().is_some_and(|line| line.contains("INFO  gateway_started command=serve")), "{text}");
    assert!(text.contains("call_answered tool=echo verdict=ok") || text.contains(" tool=echo verdict=ok "), "{text}");
    let about = String::from_utf8_lossy(&shown.stderr).into_owned();
    assert!(about.contains(&format!("gateway {pid} of ")) && about.contains("UTC"), "{about}");

    let last = out(&run(&room, &["--project", &project, "--json", "-n", "1"]));
    let line: Value = serde_json::from_str(&last).expect("one line of JSON");
    let all = out(&run(&room, &["--project", &project, "--json"]));
    assert!(line["event"].is_string() && all.ends_with(&last), "{last}");
    assert!(all.contains(r#""event":"call_answered""#), "{all}");
    #[cfg(unix)]
    for file in std::fs::read_dir(room.state().join("logs")).expect("it is there").flatten() {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = file.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file:?}");
    }

    let other = run(&room, &["--gateway", "1"]);
    let says = String::from_utf8_lossy(&other.stderr).into_owned();
    assert_eq!(other.status.code(), Some(1), "{other:?}");
    assert!(says.contains("gateway 1 has left no log") && says.contains(&format!("--gateway {pid} (of ")), "{says}");
}

#[test]
fn what_must_not_or_cannot_be_logged_leaves_the_session_whole() {
    for blocked in [false, true] {
        let room = Room::new();
        let _unity = Unity::of_project(&room, &["--quiet"]);
        std::fs::create_dir_all(room.state()).expect("it is writable");
        if blocked {
            std::fs::write(room.state().join("logs"), "not a folder").expect("it is writable");
        }
        let mut client = open(&room, &["--log", if blocked { "info" } else { "off" }]);
        for _ in 0..20 {
            assert_eq!(client.done("echo", &json!({"text": "x"})).verdict(), Verdict::Ok);
        }
        client.close(&room);
        assert!(!room.state().join("logs").is_dir());
        assert_eq!(run(&room, &[]).status.code(), Some(1));
    }
}

/// `holdfast logs -f`, and what it has printed.
struct Following {
    child: Child,
    lines: std::sync::mpsc::Receiver<String>,
}

impl Following {
    fn start(room: &Room, words: &[&str]) -> Self {
        let mut command = logs(room, words);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let (tell, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    fn hears(&self, what: &str) {
        while !self.lines.recv_timeout(super::SOON).unwrap_or_else(|_| panic!("no {what}")).contains(what) {}
    }

    fn ended(&mut self) -> Option<i32> {
        let mut ended = None;
        until("its end", || {
            ended = self.child.try_wait().expect("it can be waited for");
            ended.is_some()
        });
        ended.and_then(|status| status.code())
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_log_is_followed_until_its_gateway_has_ended() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let mut client = open(&room, &[]);
    until("the log", || run(&room, &[]).status.success());
    let mut following = Following::start(&room, &["-f", "-n", "0", "--json"]);
    // The follower has to be there first: it is, as soon as it has printed a line.
    until("its first line", || {
        client.done("fail", &json!({}));
        following.lines.try_recv().is_ok()
    });
    client.done("echo", &json!({"text": "x"}));
    following.hears("\"tool\":\"echo\"");
    client.close(&room);
    following.hears("gateway_ending");
    assert_eq!(following.ended(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_reader_that_is_gone_ends_it() {
    let room = Room::new();
    let client = Client::open(&room, &[]);
    until("the log", || run(&room, &[]).status.success());
    // A pipe whose reader is gone, though nothing is logged any more.
    let mut command = logs(&room, &["-f"]);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut first = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    stdout.read_line(&mut first).expect("readable");
    assert!(first.contains("gateway_started"), "{first}");
    drop(stdout);
    let mut ended = None;
    until("its end", || {
        ended = child.try_wait().expect("it can be waited for");
        ended.is_some()
    });
    assert_eq!(ended.and_then(|status| status.code()), Some(0));
    assert_eq!(super::room::ends_with_its_terminal(logs(&room, &["-f"]), "gateway_started"), Some(0));
    client.close(&room);
}

#[cfg(target_os = "linux")]
#[test]
fn the_log_of_a_session_on_a_hub_is_the_hubs() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet"]);
    let mut client = open(&room, &["--hub", "start"]);
    client.echoes();
    let project = room.project().display().to_string();
    until("the call is in it", || {
        let text = out(&run(&room, &["--project", &project]));
        text.contains("gateway_started command=hub") && text.contains("tool=echo verdict=ok")
    });
    let hub: Value =
        serde_json::from_slice(&std::fs::read(room.state().join("hub/hub.json")).expect("it is there")).expect("JSON");
    client.close(&room);
    let pid = i32::try_from(hub["pid"].as_u64().expect("a pid")).expect("a pid");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM).expect("it lives");
}
