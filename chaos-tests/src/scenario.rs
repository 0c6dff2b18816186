//! One scenario: what it covers, what it counted, and its record at the end, also when it panics.

#![expect(clippy::disallowed_methods, reason = "processes are watched from outside, in real time")]

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use holdfast_testkit::process::client::{Client, Verdict};

use crate::record::{Record, percentile, timeline};
use crate::room::Room;

/// Far more of a log than a picture shows.
const TAIL_BYTES: u64 = 1024 * 1024;

/// The end of a file, from the beginning of a line on.
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

/// What a scenario does: its test says it, in its name.
fn about() -> String {
    let thread = std::thread::current();
    let test = thread.name().and_then(|name| name.rsplit("::").next()).unwrap_or_default();
    test.replace('_', " ")
}

/// See the module's documentation.
pub struct Scenario {
    /// What is written at the end.
    pub record: Record,
    began: Instant,
}

impl Scenario {
    /// A scenario of this name, which injects these faults of the catalogue.
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

    /// Percentiles of some values, noted and printed.
    pub fn percentiles(&mut self, name: &str, values: &[f64]) {
        for (label, share) in [("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
            self.record.figure(&format!("{name}_{label}_ms"), percentile(values, share));
        }
    }

    /// A picture of the session's last stretch. To be taken before the client closes: the log goes with the room.
    pub fn picture(&mut self, client: &Client, room: &Room) {
        self.record.timeline = timeline::of(&tail(client.log_file()), &tail(&room.editor_log()));
    }

    /// Says one line, past the capture of the test runner's output.
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
