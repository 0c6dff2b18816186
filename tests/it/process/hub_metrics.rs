//! The metrics of a real hub, over its kill and the start of its successor.

use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::client::{self, Client, Verdict};
use super::metrics::{fetch, record_of, target_of};
use super::room::start;
use super::unity::Unity;
use super::{Room, until};

/// A hub that a user started, with metrics. Dropping it kills it.
struct Hub {
    child: Child,
    target: String,
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Hub {
    fn start(room: &Room) -> Self {
        let mut command = client::command(room);
        command.args(["hub", "--metrics"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = start(|| command.spawn());
        let target = target_of(room, child.id());
        Self { child, target }
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits until the metrics have these lines.
    fn shows(&self, lines: &[&str]) {
        let page = || fetch(&self.target, "/metrics");
        for line in lines {
            until(&format!("{line}\nin\n{}", page()), || page().lines().any(|known| known == *line));
        }
    }

    /// The label by which Prometheus puts it together with its predecessor.
    fn name(&self, room: &Room) -> Value {
        let record = record_of(room, self.child.id()).expect("a record");
        record[0]["labels"]["__meta_holdfast_hub"].clone()
    }
}

/// Says something that no session says, and returns the hub's answer.
#[cfg(unix)]
fn say_nonsense(room: &Room) -> String {
    use std::io::{Read as _, Write as _};
    let info = std::fs::read(room.state().join("hub/hub.json")).expect("the hub's file");
    let info: Value = serde_json::from_slice(&info).expect("JSON");
    let socket = info["socket"].as_str().expect("a path");
    let mut stream = std::os::unix::net::UnixStream::connect(socket).expect("it accepts");
    stream.write_all(b"nonsense\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

#[test]
fn a_hub_shows_its_sessions_and_its_successor_shows_the_start_and_the_call_that_was_lost() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet"]);
    let mut first = Hub::start(&room);
    first.shows(&["holdfast_hub_starts 1", "holdfast_hub_sessions 0"]);
    let mut client = Client::open(&room, &["--project", &room.project().display().to_string()]);
    client.echoes();
    first.shows(&[
        "holdfast_hub_sessions 1",
        "holdfast_hub_records_unwritten_total 0",
        "holdfast_hub_records_failing 0",
    ]);
    // A second editor in the same hub: each series says whose it is.
    let towers = room.project().with_file_name("Tower");
    let mut tower = Unity::start(&room, &["--quiet", "--project", &towers.display().to_string()]);
    let mut other = Client::open(&room, &["--project", &towers.display().to_string()]);
    other.echoes();
    other.echoes();
    let editor = room.project().file_name().expect("a name").to_string_lossy().into_owned();
    for (project, calls) in [(editor.as_str(), 1), ("Tower", 2)] {
        first.shows(&[
            &format!("holdfast_tool_calls_total{{verdict=\"ok\",cause=\"\",project=\"{project}\"}} {calls}"),
            &format!("holdfast_tool_call_duration_seconds_count{{project=\"{project}\"}} {calls}"),
            &format!("holdfast_fsm_state{{machine=\"bridge\",state=\"ready\",project=\"{project}\"}} 1"),
            &format!("holdfast_unity_disconnects_total{{reason=\"quit\",project=\"{project}\"}} 0"),
        ]);
    }
    tower.order("quit");
    first.shows(&[
        "holdfast_fsm_state{machine=\"bridge\",state=\"ready\",project=\"Tower\"} 0",
        "holdfast_unity_disconnects_total{reason=\"quit\",project=\"Tower\"} 1",
        &format!("holdfast_fsm_state{{machine=\"bridge\",state=\"ready\",project=\"{editor}\"}} 1"),
    ]);
    other.close(&room);
    first.shows(&["holdfast_hub_sessions 1"]);
    #[cfg(unix)]
    {
        assert!(say_nonsense(&room).contains("bad_hello"));
        first.shows(&["holdfast_hub_sessions_refused_total{reason=\"bad_hello\"} 1", "holdfast_hub_sessions 1"]);
    }

    let id = client.call("count", &json!({"key": "held", "hold": true}));
    until("the call runs", || room.runs("held") == 1);
    let name = first.name(&room);
    // The session would start a successor itself, without metrics.
    #[cfg(unix)]
    client.signal(nix::sys::signal::Signal::SIGSTOP);
    first.kill();
    let second = Hub::start(&room);
    #[cfg(unix)]
    client.signal(nix::sys::signal::Signal::SIGCONT);
    assert!(name.is_string() && second.name(&room) == name, "{name}");
    second.shows(&[
        "holdfast_hub_starts 2",
        "holdfast_hub_sessions 1",
        "holdfast_hub_sessions_refused_total{reason=\"bad_hello\"} 0",
    ]);
    unity.order("release");
    // This editor has no journal that would know what became of the call.
    assert_eq!((client.answer(id).verdict(), room.runs("held")), (Verdict::Unknown, 1));
    client.close(&room);
    let lost =
        format!("holdfast_tool_calls_total{{verdict=\"outcome_unknown\",cause=\"hub_ended\",project=\"{editor}\"}} 1");
    second.shows(&["holdfast_hub_sessions 0", &lost]);
}
