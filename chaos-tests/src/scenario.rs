//! One scenario: the faults that it covers, its counts, and its record, which is written at the end, even after a panic.

#![expect(clippy::disallowed_methods, reason = "processes are watched from outside, in real time")]

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use holdfast_testkit::process::client::{Client, Verdict};

use crate::record::{Record, percentile, timeline};
use crate::room::Room;

/// Largest part of a log that is read, in bytes: far more than a picture shows.
const TAIL_BYTES: u64 = 1024 * 1024;

/// Returns the end of a file, from the beginning of a line.
fn tail(path: &Path) -> String {
    let read = || {
        let mut file = File::open(path)?;
        let skipped = file.metadata()?.len().saturating_sub(TAIL_BYTES);
        file.seek(SeekFrom::Start(skipped))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        Ok::<_, std::io::Error>(match text.split_once('\n') {
            Some((_, whole)) if skipped > 0 => whole.to_owned(),
            _ => text,
        })
    };
    read().unwrap_or_default()
}

/// Describes the scenario by the name of its test.
fn about() -> String {
    let thread = std::thread::current();
    let test = thread.name().and_then(|name| name.rsplit("::").next()).unwrap_or_default();
    test.replace('_', " ")
}

/// One scenario. Its record is written when it is dropped.
pub struct Scenario {
    /// The record of the scenario.
    pub record: Record,
    began: Instant,
}

impl Scenario {
    /// Begins a scenario with this name, which injects these faults of the catalogue.
    pub fn new(name: &str, faults: &[&str]) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let record = Record {
            name: name.to_owned(),
            about: about(),
            faults: faults.iter().map(|&fault| fault.to_owned()).collect(),
            started_unix_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            ..Record::default()
        };
        Self { record, began: Instant::now() }
    }

    /// Counts how a call ended.
    pub fn verdict(&mut self, verdict: Verdict) {
        self.record.verdict(match verdict {
            Verdict::Ok => "ok",
            Verdict::ToolError => "tool_error",
            Verdict::NotExecuted => "not_executed",
            Verdict::Unknown => "unknown",
            Verdict::StillRunning => "still_running",
            Verdict::Refused => "refused",
        });
    }

    /// Adds the p50, p99 and maximum of some values in milliseconds to the figures.
    pub fn percentiles(&mut self, name: &str, values: &[f64]) {
        for (label, share) in [("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
            self.record.figure(&format!("{name}_{label}_ms"), percentile(values, share));
        }
    }

    /// Draws a picture of the session's end. Must be called before the client closes, because the log is then removed with
    /// the room.
    pub fn picture(&mut self, client: &Client, room: &Room) {
        self.record.timeline = timeline::of(&tail(client.log_file()), &tail(&room.editor_log()));
    }

    /// Writes a line to stderr, which the test runner does not capture here.
    pub fn say(&self, line: &str) {
        let _ = writeln!(std::io::stderr(), "{}: {line}", self.record.name);
    }
}

impl Drop for Scenario {
    fn drop(&mut self) {
        self.record.took_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.record.passed = !std::thread::panicking();
        self.say(&format!(
            "verdicts {:?}, checks {:?}, {:?}",
            self.record.verdicts, self.record.invariants, self.record.figures
        ));
        if let Err(error) = self.record.write() {
            self.say(&format!("its record was not written: {error}"));
        }
    }
}
