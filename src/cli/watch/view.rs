//! A run record as it is drawn. Records come from other processes, maybe of another version: what is missing is not shown, and
//! what does not fit makes the record unreadable, never an error.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::limits::RUN_RECORD_OLD;
use crate::telemetry::tone::Tone;

/// One gateway.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Gateway {
    /// When this was written, in seconds since the epoch. Ages below count from then.
    pub written_at: f64,
    /// One sentence.
    pub summary: String,
    /// The project's folder.
    pub project: Option<String>,
    /// Its editor.
    pub editor: Editor,
    /// The tools that are shown to the client.
    pub tools: Tools,
    /// How many calls wait and run.
    pub queue: Queue,
    /// What is wrong.
    pub problems: Vec<String>,
    /// The calls.
    pub calls: Calls,
    /// The last times without the editor, newest first.
    pub outages: Vec<Outage>,
    /// What the machines did.
    pub timelines: Vec<Timeline>,
    /// The gateway itself.
    pub gateway: About,
    /// The record could not be read.
    #[serde(skip)]
    pub unreadable: bool,
}

/// The editor of a gateway.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Editor {
    /// It takes calls.
    pub ready: bool,
    /// The bridge machine's state.
    pub state: String,
    /// Why it is not ready.
    pub why: Option<String>,
    /// For how long.
    pub since_ms: u64,
    /// Its port.
    pub port: Option<u16>,
    /// Its process.
    pub pid: Option<u32>,
    /// Its version.
    pub unity_version: Option<String>,
    /// Connections so far.
    pub connections: u64,
    /// How it said it is, where it can be asked.
    #[serde(rename = "pulse")]
    pub heartbeat: Option<Heartbeat>,
    /// What of it does not move although it is connected.
    pub still: Option<Still>,
}

/// See [`Editor::still`].
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Still {
    /// In words.
    pub says: String,
    /// It may work on a call.
    pub may_work: bool,
}

/// See [`Editor::heartbeat`].
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Heartbeat {
    /// In words.
    pub says: String,
}

/// See [`Gateway::tools`].
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Tools {
    /// How many.
    pub count: u64,
    /// Where the list comes from.
    pub from: String,
}

/// See [`Gateway::queue`].
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Queue {
    /// Calls that wait here.
    pub held: u64,
    /// Calls that were sent.
    pub running: u64,
}

/// See [`Gateway::calls`].
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Calls {
    /// How many are in flight.
    pub open_count: u64,
    /// The oldest of them.
    pub open: Vec<Call>,
    /// The newest of those that ended.
    pub recent: Vec<Call>,
}

/// A call.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Call {
    /// Which tool.
    pub tool: String,
    /// Where it is.
    pub state: String,
    /// How it ended.
    pub verdict: Option<String>,
    /// Why it ended so.
    pub cause: Option<String>,
    /// What it waits for, as a label.
    pub waits_for: Option<String>,
    /// The same as a phrase; a gateway of an older version does not write it.
    pub waits_says: Option<String>,
    /// When it came.
    pub accepted_ms_ago: u64,
    /// From then until it was answered (or until the record was written).
    pub took_ms: u64,
}

/// A time without the editor.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Outage {
    /// How the connection ended.
    pub why: String,
    /// What kept the editor away.
    pub cause: Option<String>,
    /// When it began.
    pub ago_ms: u64,
    /// How long it was; `None` while it lasts.
    pub back_after_ms: Option<u64>,
}

/// What one machine did.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Timeline {
    /// Which machine.
    pub machine: String,
    /// Its state.
    pub state: String,
    /// Since when, in seconds since the epoch.
    pub since: f64,
    /// What its state means.
    pub tone: Tone,
    /// A letter for each of the last seconds.
    pub strip: String,
}

/// See [`Gateway::gateway`].
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct About {
    /// Its version.
    pub version: String,
    /// Its process.
    pub pid: u64,
    /// For how long it runs.
    pub up_ms: u64,
    /// Its client's name.
    pub client: String,
    /// Restarts of its parts.
    pub actor_restarts: BTreeMap<String, u64>,
}

impl Gateway {
    /// A record as it was read.
    pub fn of(record: Value) -> Self {
        let pid = record.pointer("/gateway/pid").and_then(Value::as_u64).unwrap_or_default();
        serde_json::from_value(record).unwrap_or_else(|_| Self {
            unreadable: true,
            gateway: About { pid, ..About::default() },
            ..Self::default()
        })
    }

    /// The last part of the project's path.
    pub fn name(&self) -> &str {
        let path = self.project.as_deref().unwrap_or_default();
        match path.rsplit(['/', '\\']).find(|part| !part.is_empty()) {
            Some(name) => name,
            None if self.unreadable => "unreadable",
            None => "no project",
        }
    }

    /// How its editor stands.
    pub fn tone(&self) -> Tone {
        match (self.unreadable, self.editor.ready, &self.editor.why) {
            (true, ..) => Tone::Unsure,
            (_, true, _) if self.editor.state == "stalled" => Tone::Trouble,
            (_, true, _) if self.editor.still.as_ref().is_some_and(|still| !still.may_work) => Tone::Trouble,
            (_, true, _) => Tone::Good,
            (_, false, Some(why))
                if matches!(
                    &**why,
                    "connecting"
                        | "reloading"
                        | "compiling"
                        | "starting"
                        | "bridge_stopped"
                        | "listing"
                        | "lost"
                        | "busy"
                ) =>
            {
                Tone::Waiting
            }
            (_, false, _) => Tone::Trouble,
        }
    }

    /// How old the record is.
    pub fn age(&self, now: f64) -> Duration {
        Duration::try_from_secs_f64(now - self.written_at).unwrap_or_default()
    }

    /// Its writer has missed a renewal: what it says may be over.
    pub fn is_old(&self, now: f64) -> bool {
        !self.unreadable && self.age(now) > RUN_RECORD_OLD
    }

    /// A span that was still growing when the record was written.
    pub fn grown(&self, millis: u64, now: f64) -> Duration {
        Duration::from_millis(millis).saturating_add(self.age(now))
    }
}
