//! A run record in the form that is drawn. Records are written by other processes, possibly of another version: a missing field
//! is not shown, and a field of the wrong type makes the record `unreadable` instead of an error.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::limits::RUN_RECORD_OLD;
use crate::telemetry::tone::Tone;

/// What one gateway's record says.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Gateway {
    /// The time of writing, in seconds since the Unix epoch. The ages in the record are relative to it.
    pub written_at: f64,
    /// The state in one sentence.
    pub summary: String,
    /// The project's folder.
    pub project: Option<String>,
    /// The editor of the project.
    pub editor: Editor,
    /// The tools that the client gets.
    pub tools: Tools,
    /// The numbers of calls that are held and of calls that were sent.
    pub queue: Queue,
    /// The known problems, with their fixes.
    pub problems: Vec<String>,
    /// Open and recent calls.
    pub calls: Calls,
    /// The last outages, newest first.
    pub outages: Vec<Outage>,
    /// The history of each machine.
    pub timelines: Vec<Timeline>,
    /// The gateway process itself.
    pub gateway: About,
    /// Whether the record could not be parsed.
    #[serde(skip)]
    pub unreadable: bool,
}

/// The editor of a gateway, as its record describes it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Editor {
    /// Whether the editor accepts calls.
    pub ready: bool,
    /// What that means for a person who waits.
    pub tone: Option<Tone>,
    /// The bridge machine's state.
    pub state: String,
    /// Why the editor is not ready; `None` if it is.
    pub why: Option<String>,
    /// How long the state has lasted, in milliseconds.
    pub since_ms: u64,
    /// The port of the connection.
    pub port: Option<u16>,
    /// The pid of the editor.
    pub pid: Option<u32>,
    /// The Unity version.
    pub unity_version: Option<String>,
    /// The number of connections so far.
    pub connections: u64,
    /// The last heartbeat, if the package has one.
    #[serde(rename = "pulse")]
    pub heartbeat: Option<Heartbeat>,
    /// What a connected editor has stopped sending: heartbeats, frames, or an answer. `None` if nothing is overdue.
    pub still: Option<Still>,
}

/// What a connected editor has stopped sending: heartbeats, frames, or an answer.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Still {
    /// A description for people.
    pub says: String,
    /// Whether the editor may be at work all the same.
    pub may_work: bool,
}

/// The last heartbeat of an editor.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Heartbeat {
    /// A description for people.
    pub says: String,
}

/// The tools that the client gets.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Tools {
    /// The number of tools.
    pub count: u64,
    /// The source of the list.
    pub from: String,
}

/// The numbers of calls that are held and of calls that were sent.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Queue {
    /// Calls that are held in the gateway.
    pub held: u64,
    /// Calls that were sent to the editor.
    pub running: u64,
}

/// Open and recent calls.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Calls {
    /// The number of open calls.
    pub open_count: u64,
    /// The oldest open calls.
    pub open: Vec<Call>,
    /// The newest ended calls.
    pub recent: Vec<Call>,
}

/// One call.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Call {
    /// The name of the tool.
    pub tool: String,
    /// The state of the call.
    pub state: String,
    /// The verdict, if the call has ended.
    pub verdict: Option<String>,
    /// The cause of the verdict.
    pub cause: Option<String>,
    /// How long the call was held before it was sent, in milliseconds; `None` if it was not sent.
    pub held_ms: Option<u64>,
    /// The cause for which the call is held, as a label.
    pub waits_for: Option<String>,
    /// The same cause as a phrase. A gateway of an older version does not write it.
    pub waits_says: Option<String>,
    /// How long ago the call came in, in milliseconds.
    pub accepted_ms_ago: u64,
    /// The time from when the call came in until the answer, or until the record was written, in milliseconds.
    pub took_ms: u64,
}

/// One outage of the editor.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Outage {
    /// How the connection ended.
    pub why: String,
    /// The cause that was given while the editor was away.
    pub cause: Option<String>,
    /// How long ago the outage began, in milliseconds.
    pub ago_ms: u64,
    /// The length of the outage in milliseconds; `None` while it lasts.
    pub back_after_ms: Option<u64>,
}

/// The history of one machine.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Timeline {
    /// The name of the machine.
    pub machine: String,
    /// Its state.
    pub state: String,
    /// When the machine entered this state, in seconds since the Unix epoch.
    pub since: f64,
    /// The meaning of the state.
    pub tone: Tone,
    /// The tone of each of the last seconds as a letter, the newest last.
    #[serde(rename = "strip")]
    pub sparkline: String,
}

/// The gateway process.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct About {
    /// Its version.
    pub version: String,
    /// The pid of the gateway.
    pub pid: u64,
    /// The number of the session: a hub has several, with one pid.
    pub session: u64,
    /// How long the gateway has been running, in milliseconds.
    pub up_ms: u64,
    /// The name of its client.
    pub client: String,
    /// The number of restarts of each actor.
    pub actor_restarts: BTreeMap<String, u64>,
}

impl Gateway {
    /// Reads a record. If it cannot be parsed, returns a gateway with `unreadable` set and the pid that the record gives.
    pub fn of(record: Value) -> Self {
        let pid = record.pointer("/gateway/pid").and_then(Value::as_u64).unwrap_or_default();
        serde_json::from_value(record).unwrap_or_else(|_| Self::unread(pid))
    }

    /// A gateway whose record cannot be read.
    pub fn unread(pid: impl Into<u64>) -> Self {
        Self { unreadable: true, gateway: About { pid: pid.into(), ..About::default() }, ..Self::default() }
    }

    /// Returns what the gateway is told apart by: its pid and its session.
    pub fn id(&self) -> (u64, u64) {
        (self.gateway.pid, self.gateway.session)
    }

    /// Returns the last part of the project's path, or a placeholder.
    pub fn name(&self) -> &str {
        let path = self.project.as_deref().unwrap_or_default();
        match path.rsplit(['/', '\\']).find(|part| !part.is_empty()) {
            Some(name) => name,
            None if self.unreadable => "unreadable",
            None => "no project",
        }
    }

    /// Returns the tone of the editor's state.
    pub fn tone(&self) -> Tone {
        match (self.unreadable, self.editor.tone) {
            (true, _) => Tone::Unsure,
            (false, Some(tone)) => tone,
            // Written by an older version.
            (false, None) if self.editor.ready => Tone::Good,
            (false, None) => Tone::Waiting,
        }
    }

    /// Returns the age of the record.
    pub fn age(&self, now: f64) -> Duration {
        Duration::try_from_secs_f64(now - self.written_at).unwrap_or_default()
    }

    /// Whether the record is older than [`RUN_RECORD_OLD`]: the gateway has failed to renew it in time, and it may be out of
    /// date.
    pub fn is_old(&self, now: f64) -> bool {
        !self.unreadable && self.age(now) > RUN_RECORD_OLD
    }

    /// Returns a time span that was still growing when the record was written: the span plus the record's age.
    pub fn grown(&self, millis: u64, now: f64) -> Duration {
        Duration::from_millis(millis).saturating_add(self.age(now))
    }
}
