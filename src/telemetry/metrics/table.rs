//! The one table of metrics: name, meaning and labels of each metric.
//!
//! Metrics are registered, described and set to zero from this table. Two files are generated from it:
//! `docs/metrics.md` for people, and `dashboards/metrics.json` for checking the dashboards.

use super::labels::{self, Labels};
use crate::fsm::{Machine, bridge};

/// The prefix of all names except the standard ones of a process.
pub const PREFIX: &str = "holdfast_";

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Only rises, from zero at the start of the process.
    Counter,
    /// Rises and falls.
    Gauge,
    /// Counts values by size. The list contains the upper bounds of the buckets.
    Histogram(&'static [f64]),
}

/// The unit of a metric. The metric's name ends with the unit, except for `Count`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Unit {
    /// A number of something, or a state.
    Count,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
}

/// One metric.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// The name without [`PREFIX`]. Standard names of a process (`process_…`) do not get the prefix.
    pub name: &'static str,
    /// The kind of the metric.
    pub kind: Kind,
    /// The unit of the metric.
    pub unit: Unit,
    /// The meaning for people, in one sentence.
    pub help: &'static str,
    /// The labels of the metric.
    pub labels: Labels,
}

impl Metric {
    /// Returns the name with [`PREFIX`], or without it for a standard name of a process.
    pub fn full_name(&self) -> String {
        if self.name.starts_with("process_") { self.name.to_owned() } else { format!("{PREFIX}{}", self.name) }
    }
}

/// The time from a call to its answer. OpenTelemetry proposes these bounds for MCP.
const ANSWER: &[f64] = &[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
/// How late a timer fired.
const LAG: &[f64] = &[0.001, 0.005, 0.01, 0.05, 0.1, 1.0];
/// The time from a dial to the answer of the greeting.
const CONNECT: &[f64] = &[0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 5.0, 30.0];
/// The length of a domain reload: seconds for a small project, minutes for a large one.
const RELOAD: &[f64] = &[0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 34.0, 60.0, 120.0, 300.0];
/// The time from when an editor listens again to when the first call is sent. The promise is 1 s.
const RECOVERY: &[f64] = &[0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 30.0];

macro_rules! metrics {
    ($($id:ident: $kind:expr, $unit:ident, $name:literal, $labels:expr, $help:literal;)*) => {
        /// The metrics of the table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, strum::VariantArray)]
        pub enum Id {
            $(#[doc = $help] $id,)*
        }

        /// All metrics, in the order of [`Id`].
        pub static TABLE: &[Metric] = &[
            $(Metric { name: $name, kind: $kind, unit: Unit::$unit, help: $help, labels: $labels },)*
        ];
    };
}

use Kind::{Counter, Gauge, Histogram};
use Labels::{Build, One, Plain, Two};

metrics! {
    BuildInfo: Gauge, Count, "build_info", Build(["version", "revision", "mcp_protocol"]),
        "Always 1; the labels give the build of holdfast and the newest MCP version that it supports";
    ProcessStart: Gauge, Seconds, "process_start_time_seconds", Plain,
        "When the gateway was started, in seconds since the epoch";
    ProcessCpu: Counter, Seconds, "process_cpu_seconds_total", Plain,
        "Processor time used, in whole seconds (Linux)";
    ProcessMemory: Gauge, Bytes, "process_resident_memory_bytes", Plain, "Resident memory (Linux)";
    ProcessFds: Gauge, Count, "process_open_fds", Plain, "Open file descriptors (Linux)";
    ProcessFdsMax: Gauge, Count, "process_max_fds", Plain, "Limit of open file descriptors (Linux)";
    RuntimeLag: Histogram(LAG), Seconds, "runtime_lag_seconds", Plain,
        "How late a timer of one second fires on the main runtime";

    McpRequests: Counter, Count, "mcp_requests_total", Two(["method", "outcome"], labels::requests),
        "Requests from the client, counted when they are answered or cancelled; a failed tool call is an answered request";
    McpInFlight: Gauge, Count, "mcp_requests_in_flight", Plain, "Requests that are open at the moment";
    McpSessions: Gauge, Count, "mcp_sessions", One("client", labels::clients),
        "Open sessions by client; a message that came alone over HTTP is none";
    StdoutQueued: Gauge, Count, "stdout_queued_messages", Plain, "Messages that wait until the client reads stdout";
    StdoutWritten: Gauge, Seconds, "stdout_last_write_timestamp_seconds", Plain,
        "Time of the last write to stdout; 0 before the first";

    ToolCalls: Counter, Count, "tool_calls_total", Two(["verdict", "cause"], labels::verdicts_with_causes),
        "Calls of the editor's tools by verdict and cause, counted when they are answered or cancelled";
    ToolCallDuration: Histogram(ANSWER), Seconds, "tool_call_duration_seconds", Plain,
        "Time from the arrival of a call to its answer";
    ToolCallWait: Histogram(ANSWER), Seconds, "tool_call_wait_seconds", One("cause", labels::waits),
        "Time from the arrival of a call (or from its loss, if it is sent again) until it is sent: time not spent in Unity";
    ToolCallsInFlight: Gauge, Count, "tool_calls_in_flight", Plain, "Calls that were sent to Unity and have not ended there";
    ToolCallsQueued: Gauge, Count, "tool_calls_queued", Plain, "Calls that are held: they wait to be sent";
    ToolCallResends: Counter, Count, "tool_call_resends_total", One("cause", labels::resends),
        "Calls that were sent again because their tool is repeatable, or because an editor turned them away without running them";

    ConnectAttempts: Counter, Count, "unity_connect_attempts_total", One("result", labels::dial_results),
        "Attempts to connect to the editor, by result; ok means that the greeting succeeded";
    ConnectDuration: Histogram(CONNECT), Seconds, "unity_connect_duration_seconds", Plain,
        "Time from the start of an attempt to the end of the greeting, for attempts that gave a connection";
    Disconnects: Counter, Count, "unity_disconnects_total", One("reason", labels::losses),
        "Connections that ended after their greeting had succeeded";
    LastTick: Gauge, Seconds, "unity_last_editor_tick_timestamp_seconds", Plain,
        "Time when the editor last drew a frame, as it reports itself; 0 before the first, and for packages that do not report it";
    Reloads: Counter, Count, "unity_reloads_total", One("result", labels::reload_results),
        "Domain reloads that closed the connection, by result; presumed if the editor's package does not announce reloads";
    ReloadDuration: Histogram(RELOAD), Seconds, "unity_reload_duration_seconds", Plain,
        "Time from a connection's end by a reload until the next connection is greeted";
    RecoveryDuration: Histogram(RECOVERY), Seconds, "unity_recovery_duration_seconds", Plain,
        "Time from the editor's accept after a loss until the first held call is sent";

    HubSessions: Gauge, Count, "hub_sessions", Plain, "Open sessions on the hub; 0 if this process is no hub";
    HubSessionsRefused: Counter, Count, "hub_sessions_refused_total", One("reason", labels::refusals),
        "Connections to the hub that did not become a session";
    HubStarts: Gauge, Count, "hub_starts", Plain,
        "How many hubs have had this hub's name (one after another, in one state folder), this one included; 0 if this process is no hub";
    HubRecordsUnwritten: Counter, Count, "hub_records_unwritten_total", Plain,
        "Records of calls that the hub could not write; a call whose sending cannot be recorded is not sent";
    HubRecordsFailing: Gauge, Count, "hub_records_failing", Plain,
        "1 if the hub could not write the last record, 0 if it could";
    HttpRefusals: Counter, Count, "http_refusals_total", One("reason", labels::http_refusals),
        "Requests of MCP over HTTP that were refused before their message was read";

    FsmState: Gauge, Count, "fsm_state", Two(["machine", "state"], labels::states),
        "1 for the present state of a machine, 0 for its other states";
    FsmUnexpected: Counter, Count, "fsm_unexpected_events_total", Two(["machine", "state"], labels::all_states),
        "Events that came in a state that does not expect them: a bug of holdfast. Such an event has no effect";
    ActorRestarts: Counter, Count, "actor_restarts_total", Two(["actor", "reason"], labels::restarts),
        "Restarts of an actor, by how it had ended";
    Escalations: Counter, Count, "supervisor_escalations_total", One("supervisor", labels::supervisors),
        "Times that a supervisor gave up because its children ended too often";
    Invariants: Counter, Count, "invariant_violations_total", One("invariant", labels::invariants),
        "Promises that holdfast saw itself break: a bug of holdfast. Should stay 0";
}

/// The metrics that have a series for each project in a hub, with the further label [`PROJECT`].
pub const BY_PROJECT: &[Id] =
    &[Id::ToolCalls, Id::ToolCallDuration, Id::ToolCallsInFlight, Id::ToolCallsQueued, Id::Disconnects, Id::FsmState];

/// The label that names a project, and with it the project's editor. A gateway that serves one project has the label in
/// its record (`services/metrics/target.rs`), and Prometheus adds it to all series. A hub serves several projects, and
/// has the label on its series.
pub const PROJECT: &str = "project";

impl Id {
    /// Returns the metric's row of the table.
    pub fn metric(self) -> &'static Metric {
        &TABLE[self as usize]
    }

    /// Returns the series that each project has in a hub. Empty if the metric does not tell projects apart. Only one
    /// machine belongs to a project: the connection's.
    pub fn rows_of_project(self) -> Vec<labels::Row> {
        let mut rows = if BY_PROJECT.contains(&self) { self.metric().labels.rows() } else { Vec::new() };
        rows.retain(|[machine, _]| self != Self::FsmState || *machine == bridge::Bridge::NAME);
        rows
    }
}
