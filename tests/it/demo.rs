//! The demo as a person runs it: it ends successfully, says so, and leaves no process or file behind, even when it is
//! interrupted.

use std::io::{BufRead as _, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use holdfast_fake_unity::PACKAGES;
use serde_json::Value;
use tempfile::TempDir;

use crate::process::room::start;

/// Returns a demo's command with a separate temporary folder, which distinguishes its children from those of other tests.
fn demo(folder: &TempDir, flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdfast"));
    command.arg("demo").args(flags).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("TMPDIR", folder.path()).env("TMP", folder.path()).env("TEMP", folder.path());
    // Variables of a user's shell must not reach the gateway of the demo.
    command.env("UNITY_TCP_PORT", "1").env("HOLDFAST_PORT", "1").env_remove("COLUMNS");
    command
}

fn run(folder: &TempDir, flags: &[&str]) -> (Output, String) {
    let output = start(|| demo(folder, flags).spawn()).wait_with_output().expect("it can be waited for");
    let text = String::from_utf8(output.stdout.clone()).expect("it is text");
    (output, text)
}

/// Counts the processes whose command line contains the folder; `None` if the system cannot list them.
fn processes_in(folder: &Path) -> Option<usize> {
    let folder = folder.to_str()?;
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    let names_it = |entry: &std::fs::DirEntry| {
        std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(folder))
    };
    Some(processes.filter(names_it).count())
}

fn assert_nothing_left(folder: &TempDir) {
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).expect("the folder is there").flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "files are left: {left:?}");
    assert!(matches!(processes_in(folder.path()), None | Some(0)), "processes are left");
}

#[test]
fn the_demo_keeps_every_promise_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (output, text) = run(&folder, &["--fast"]);
    assert_eq!(output.status.code(), Some(0), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let last = text.lines().rfind(|line| !line.is_empty()).unwrap();
    assert!(last.starts_with(" All 10 promises kept: 16 calls in "), "{last}");
    for said in [
        "after domain reload ",
        "after compile ",
        "after kill and restart ",
        "after reload before the answer ",
        "#11 compile: Success, 0 errors",
        "outcome unknown",
        "cancelled before it was sent",
        "kept Nothing ran twice ",
    ] {
        assert!(text.contains(said), "{said} is missing in\n{text}");
    }
    // The text of a lost call must not claim a return that has not happened.
    assert!(!text.contains("Unity is back"), "{text}");
    // The output is not a terminal, so it has no colours, and only ASCII.
    assert!(text.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)), "{text}");
    assert_nothing_left(&folder);
}

#[test]
fn the_demo_keeps_every_promise_with_each_package() {
    let others = PACKAGES[1..].iter().map(|package| {
        std::thread::spawn(move || {
            let dialect = package.name;
            let folder = tempfile::tempdir().unwrap();
            let (output, text) = run(&folder, &["--fast", "--dialect", dialect]);
            assert_eq!(output.status.code(), Some(0), "{dialect}: {text}");
            assert!(text.contains(" All 10 promises kept: 16 calls in "), "{dialect}: {text}");
            // Only a package that keeps its answers across a reload can still give an answer that was lost with the
            // connection.
            assert_eq!(text.contains("count sugar: ok"), package.facts.journal, "{dialect}: {text}");
            assert_nothing_left(&folder);
        })
    });
    for other in others.collect::<Vec<_>>() {
        other.join().expect("it kept its promises");
    }
}

#[test]
fn as_json_every_line_is_an_event_and_the_last_one_is_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let (output, text) = run(&folder, &["--fast", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let named = |name: &str| events.iter().filter(|event| event["event"] == name).count();
    assert_eq!((named("act"), named("call"), named("promise"), named("recovery")), (8, 16, 10, 4), "{text}");
    let timeline = events.iter().find(|event| event["event"] == "timeline").expect("the picture of the session");
    assert_eq!((count(timeline, "lanes"), count(timeline, "calls")), (3, 16), "{timeline}");
    let end = events.last().unwrap();
    assert_eq!((&end["event"], &end["kept"], &end["broken"]), (&"end".into(), &10.into(), &0.into()));
    assert_nothing_left(&folder);
}

/// Returns how many elements a list of the timeline has.
fn count(event: &Value, list: &str) -> usize {
    event["timeline"][list].as_array().map_or(0, Vec::len)
}

/// Starts a demo and waits until its gateway and its Unity both run. Returns the demo, the gateway's pid, and the lines that
/// are not read yet.
fn started(folder: &TempDir) -> (Child, i32, Lines<BufReader<ChildStdout>>) {
    let mut child = start(|| demo(folder, &["--json"]).spawn());
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let mut pid = None;
    loop {
        let line = lines.next().expect("a call is made").expect("it is text");
        if let Some((_, rest)) = line.split_once("starts the gateway (pid ") {
            pid = rest.split(')').next().and_then(|pid| pid.parse().ok());
        }
        if line.contains("#3 count") {
            break;
        }
    }
    if let Some(seen) = processes_in(folder.path()) {
        assert_eq!(seen, 2, "the gateway and Unity are seen, so that their absence can be");
    }
    (child, pid.expect("a pid"), lines)
}

#[cfg(unix)]
#[test]
fn a_gateway_that_dies_is_a_broken_promise() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    let folder = tempfile::tempdir().unwrap();
    let (mut child, gateway, lines) = started(&folder);
    kill(Pid::from_raw(gateway), Signal::SIGKILL).unwrap();
    let text: Vec<String> = lines.map(Result::unwrap).collect();
    let text = text.join("\n");
    assert_eq!(child.wait().unwrap().code(), Some(1), "{text}");
    let broken = |promise: &str| text.contains(&format!(r#""promise":"{promise}","kept":false"#));
    assert!(broken("It left at once with its client") && broken("The demo came to its end"), "{text}");
    assert!(matches!(processes_in(folder.path()), None | Some(0)), "processes are left");
}

#[cfg(unix)]
#[test]
fn an_interrupted_demo_ends_its_children_and_removes_its_folder() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    let folder = tempfile::tempdir().unwrap();
    // The rest of the output is not read: an interrupted demo must end without a reader.
    let (mut child, _, _lines) = started(&folder);
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_nothing_left(&folder);
}

#[test]
fn the_children_of_a_killed_demo_end_by_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, _, _lines) = started(&folder);
    child.kill().unwrap();
    child.wait().unwrap();
    let (send, gone) = std::sync::mpsc::channel();
    let path = folder.path().to_owned();
    std::thread::spawn(move || {
        while !matches!(processes_in(&path), None | Some(0)) {
            std::thread::yield_now();
        }
        let _ = send.send(());
    });
    gone.recv_timeout(Duration::from_secs(20)).expect("both children leave when their stdin ends");
}
