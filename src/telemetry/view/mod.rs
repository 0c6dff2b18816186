//! What a person can know of one session: plain values. `actors::gateway_tools` makes them; `holdfast_status` answers a
//! [`Status`], and the run record is a [`Snapshot`]. [`told`] puts them into the words that every screen shows.
//!
//! Other processes read the records, possibly of another version. A member that is missing in a record has no value
//! here.

pub mod told;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::flight::Timeline;
use super::tone::Tone;

/// The state now. The names of its members are an interface: scripts read them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// One sentence.
    pub summary: String,
    /// Advice, if something is wrong.
    pub next: Option<String>,
    pub editor: Editor,
    pub project: Option<String>,
    pub package: Option<Package>,
    pub problems: Vec<String>,
    /// The ports, projects and packages among which no editor could be chosen.
    pub candidates: Vec<Value>,
    pub tools: Tools,
    /// The rules that forbid tools, with their source.
    pub policy: Vec<String>,
    /// The file in which calls are recorded.
    pub audit: Option<String>,
    pub queue: Queue,
    pub hub: Option<Hub>,
    pub gateway: About,
    pub resources: Resources,
    /// The names of the editors, for a session that may use several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub editors: Option<Vec<String>>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Editor {
    pub ready: bool,
    /// How bad the state is. It is decided once, so that every screen shows the same. A record of an older version has
    /// none.
    pub tone: Option<Tone>,
    /// The label of the connection's state.
    pub state: String,
    /// The label of the cause, if the editor cannot be called.
    pub why: Option<String>,
    pub since_ms: u64,
    pub port: Option<u16>,
    /// The local socket at which it is reached, in words, if it has no port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_socket: Option<String>,
    pub port_named_by: Option<String>,
    pub pid: Option<u32>,
    pub connections: u64,
    pub pulse: Option<Pulse>,
    pub still: Option<Still>,
    pub unity_version: Option<String>,
    /// A program at the editor's port that does not answer as the editor.
    pub stranger: Option<String>,
    pub last_loss: Option<Outage>,
}

/// The last heartbeat.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pulse {
    pub says: String,
    pub state: String,
    pub frame_age_ms: u64,
    /// `None`, as the next ones: the editor does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focused: Option<bool>,
    pub importing: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compile_errors: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<u32>,
    pub asked_ms_ago: u64,
}

/// What makes no progress in a connected editor.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Still {
    pub for_ms: u64,
    pub says: String,
    /// Whether the editor may be at work all the same.
    pub may_work: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Package {
    pub dialect: String,
    pub version: Option<String>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The tools that the client gets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tools {
    pub count: usize,
    /// How many of them are not listed at first.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_listed: usize,
    pub from: String,
    pub hidden: Hidden,
}

/// The tools that the client does not get.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hidden {
    pub count: usize,
    pub first: Vec<HiddenTool>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HiddenTool {
    pub tool: String,
    pub why: String,
    /// The editor's name, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub editor: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Queue {
    pub held: usize,
    pub running: usize,
    /// The call that has run longest.
    pub busy_with: Option<Busy>,
    /// The name of that call's client, if several clients share the gateway.
    pub busy_for: Option<String>,
}

impl Queue {
    /// The queue of two editors together. It tells of the call that has run longest in either.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let ran = |queue: &Self| queue.busy_with.as_ref().map(|busy| busy.for_ms);
        let (held, running) = (self.held + other.held, self.running + other.running);
        let longest = if ran(&other) > ran(&self) { other } else { self };
        Self { held, running, ..longest }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Busy {
    pub call_id: String,
    pub tool: String,
    pub for_ms: u64,
}

/// The hub that the session is on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hub {
    pub name: String,
    pub clients: Vec<HubClient>,
    pub http: Option<String>,
    pub starts: u64,
    pub calls_taken_over: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HubClient {
    pub client: String,
    /// The client's own id of its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_session: Option<String>,
    pub project: Option<String>,
    pub is_this: bool,
}

/// The gateway's process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    pub version: String,
    pub pid: u64,
    pub up_ms: u64,
    pub client: String,
    /// The client's own id of its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_session: Option<String>,
    /// The number of the session: a hub has several, with one pid.
    pub session: u64,
    pub actor_restarts: BTreeMap<String, u64>,
}

/// The gateway's own resources, beyond what the system shows of any process; helps to find a leak.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Resources {
    pub tasks: Option<usize>,
}

/// The content of a run record: the state, and what happened lately. The number of calls and steps is limited, and so is the length
/// of a tool's name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    #[serde(flatten)]
    pub status: Status,
    /// When the record was written, in seconds since the Unix epoch. Ages in the record count until then.
    pub written_at: f64,
    pub calls: Calls,
    /// The times without the editor, the last one first.
    pub outages: Vec<Outage>,
    pub timelines: Vec<Timeline>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Calls {
    pub open_count: usize,
    /// The open calls, the oldest first.
    pub open: Vec<Call>,
    /// The calls that ended, the last one first.
    pub recent: Vec<Call>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Call {
    pub call_id: String,
    pub tool: String,
    pub state: String,
    pub verdict: Option<String>,
    pub cause: Option<String>,
    /// What the call waits for: first as a label, then as a phrase.
    pub waits_for: Option<String>,
    pub waits_says: Option<String>,
    pub accepted_ms_ago: u64,
    /// How long the call was held before it was sent; `None` if it was not sent.
    pub held_ms: Option<u64>,
    /// The time from the arrival of the call to its answer, or until now.
    pub took_ms: u64,
    /// The editor's name, if `holdfast_calls` tells of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub editor: Option<Option<String>>,
}

/// A time without the editor.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outage {
    /// How the connection ended.
    pub why: String,
    /// What kept the editor away, as far as it was learned later.
    pub cause: Option<String>,
    pub ago_ms: u64,
    /// How long the outage lasted; `None` while it lasts.
    pub back_after_ms: Option<u64>,
}

/// A time span as the views have it.
pub fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
