//! The one table of metrics: name, meaning and labels of each metric.
//!
//! Metrics are registered, described and set to zero from this table. Two files are generated from it: `docs/metrics.md` for
//! people, and `dashboards/metrics.json` for checking the dashboards.

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

/// The time from a call or a request to its answer. OpenTelemetry proposes these bounds for MCP.
const ANSWER: &[f64] = &[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
/// The time to handle a message, which normally takes microseconds.
const HANDLE: &[f64] = &[0.0001, 0.001, 0.005, 0.01, 0.1, 1.0];
/// How late a timer fired.
const LAG: &[f64] = &[0.001, 0.005, 0.01, 0.05, 0.1, 1.0];
/// The time from a dial to the answer of the greeting.
const CONNECT: &[f64] = &[0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 5.0, 30.0];
/// The length of a domain reload: seconds for a small project, minutes for a large one.
const RELOAD: &[f64] = &[0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 34.0, 60.0, 120.0, 300.0];
/// The time from when an editor listens again to when the first call is sent. The promise is 1 s.
const RECOVERY: &[f64] = &[0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 30.0];
/// The time that a machine stays in a state, from the length of a dial to an hour.
const DWELL: &[f64] = &[0.01, 0.1, 1.0, 10.0, 60.0, 120.0, 600.0, 3600.0];
/// Sizes of results, from small texts to results that are written to files.
const RESULT: &[f64] = &[256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262_144.0, 1_048_576.0, 6_291_456.0];

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
use Labels::{Each, Late, Open, Plain, Rows};

metrics! {
    BuildInfo: Gauge, Count, "build_info", Open(&["version", "revision", "mcp_protocol"]),
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
    ClockJumps: Counter, Count, "clock_jumps_total", Each(&[("direction", labels::clock_directions)]),
        "Jumps of the wall clock by more than 2 s within one second: the machine slept, or somebody set the clock";

    McpRequests: Counter, Count, "mcp_requests_total",
        Each(&[("method", labels::methods), ("outcome", labels::outcomes)]),
        "Requests from the client, counted when they are answered or cancelled; a failed tool call is an answered request";
    McpRequestDuration: Histogram(ANSWER), Seconds, "mcp_request_duration_seconds", Each(&[("method", labels::timed_methods)]),
        "Time from the arrival of a request to its answer";
    McpInFlight: Gauge, Count, "mcp_requests_in_flight", Plain, "Requests that are open at the moment";
    McpMessages: Counter, Count, "mcp_messages_total",
        Each(&[("direction", labels::directions), ("kind", labels::message_kinds)]),
        "JSON-RPC messages read from and queued for the client";
    McpInvalid: Counter, Count, "mcp_invalid_messages_total", Each(&[("reason", labels::invalid_messages)]),
        "Lines from the client that were not accepted as a message, and requests that were not accepted";
    McpSession: Gauge, Count, "mcp_session_info",
        Late(&[("era", labels::eras), ("protocol", labels::protocols), ("client", labels::clients)]),
        "1 for the open session; 0 for a session that a later initialize replaced";
    StdoutQueued: Gauge, Count, "stdout_queued_messages", Plain, "Messages that wait until the client reads stdout";
    StdoutCapacity: Gauge, Count, "stdout_queue_capacity", Plain, "Number of queued messages at which holdfast stops reading requests";
    StdoutDropped: Counter, Count, "stdout_dropped_notifications_total", Plain,
        "Notifications that were dropped because the client did not read stdout";
    StdoutSurplus: Counter, Count, "mcp_surplus_answers_total", Plain,
        "Answers that were not written because their request was no longer open";
    StdoutWritten: Gauge, Seconds, "stdout_last_write_timestamp_seconds", Plain,
        "Time of the last write to stdout; 0 before the first";

    ToolCalls: Counter, Count, "tool_calls_total", Rows(&["verdict", "cause"], labels::verdicts_with_causes),
        "Calls of the editor's tools by verdict and cause, counted when they are answered or cancelled";
    ToolCallsByTool: Counter, Count, "tool_calls_by_tool_total", Late(&[("tool", labels::tools), ("verdict", labels::verdicts)]),
        "Calls of the editor's tools by tool and verdict; tools after the first 23 that an editor lists count as other";
    ToolCallsByProject: Counter, Count, "tool_calls_by_project_total", Each(&[("verdict", labels::verdicts)]),
        "Calls of the editor's tools by project and verdict";
    ToolCallDurationByProject: Histogram(ANSWER), Seconds, "tool_call_duration_by_project_seconds", Plain,
        "Time from the arrival of a call to its answer, by project";
    ToolCallDuration: Histogram(ANSWER), Seconds, "tool_call_duration_seconds", Each(&[("verdict", labels::verdicts)]),
        "Time from the arrival of a call to its answer";
    ToolCallWait: Histogram(ANSWER), Seconds, "tool_call_wait_seconds", Each(&[("cause", labels::waits)]),
        "Time from the arrival of a call (or from its loss, if it is sent again) until it is sent: time not spent in Unity";
    ToolCallsInFlight: Gauge, Count, "tool_calls_in_flight", Plain, "Calls that were sent to Unity and have not ended there";
    ToolCallsQueued: Gauge, Count, "tool_calls_queued", Plain, "Calls that are held: they wait to be sent";
    ToolCallCapacity: Gauge, Count, "tool_call_queue_capacity", Plain, "Limit of open requests, calls included";
    ToolCallResends: Counter, Count, "tool_call_resends_total", Each(&[("cause", labels::resends)]),
        "Calls that were sent again because their tool is repeatable, or because an editor turned them away without running them";
    ToolResultBytes: Histogram(RESULT), Bytes, "tool_result_bytes", Plain, "Sizes of the results that the client was given";

    ConnectAttempts: Counter, Count, "unity_connect_attempts_total", Each(&[("result", labels::dial_results)]),
        "Attempts to connect to the editor, by result; ok means that the greeting succeeded";
    ConnectDuration: Histogram(CONNECT), Seconds, "unity_connect_duration_seconds", Plain,
        "Time from the start of an attempt to the end of the greeting, for attempts that gave a connection";
    Disconnects: Counter, Count, "unity_disconnects_total", Each(&[("reason", labels::losses)]),
        "Connections that ended after their greeting had succeeded";
    BackoffDelay: Gauge, Seconds, "unity_backoff_delay_seconds", Plain, "Present delay before the next attempt to connect; 0 if there is none";
    BackoffShortcuts: Counter, Count, "unity_backoff_shortcuts_total", Each(&[("hint", labels::hints)]),
        "Delays before an attempt to connect that a hint cut short";
    ConnectionEpoch: Gauge, Count, "unity_connection_epoch", Plain, "Number of the present connection; 0 if there is none";
    LastMessage: Gauge, Seconds, "unity_last_message_timestamp_seconds", Plain,
        "Time when bytes last arrived from the editor; 0 before the first";
    LastTick: Gauge, Seconds, "unity_last_editor_tick_timestamp_seconds", Plain,
        "Time when the editor last drew a frame, as it reports itself; 0 before the first, and for packages that do not report it";
    Heartbeat: Histogram(CONNECT), Seconds, "unity_heartbeat_seconds", Plain,
        "Time that the editor took to answer a heartbeat, which its main thread does not take part in";
    JournalOutcomes: Counter, Count, "unity_journal_outcomes_total", Each(&[("outcome", labels::journal_outcomes)]),
        "What the editor's journal reported about calls whose connection had ended";
    Frames: Counter, Count, "unity_frames_total", Each(&[("direction", labels::directions)]),
        "Messages from and to the editor";
    Bytes: Counter, Bytes, "unity_bytes_total", Each(&[("direction", labels::directions)]),
        "Bytes from and to the editor";
    FrameErrors: Counter, Count, "unity_frame_errors_total", Each(&[("reason", labels::frame_errors)]),
        "Data from the editor that broke the protocol. What breaks the frames ends the connection; a whole message that cannot be read costs only itself";
    Unmatched: Counter, Count, "unity_unmatched_responses_total", Each(&[("reason", labels::strays)]),
        "Replies from the editor that belong to no open call or request";
    Reloads: Counter, Count, "unity_reloads_total", Each(&[("result", labels::reload_results)]),
        "Domain reloads that closed the connection, by result; presumed if the editor's package does not announce reloads";
    ReloadDuration: Histogram(RELOAD), Seconds, "unity_reload_duration_seconds", Plain,
        "Time from a connection's end by a reload until the next connection is greeted";
    RecoveryDuration: Histogram(RECOVERY), Seconds, "unity_recovery_duration_seconds", Plain,
        "Time from the editor's accept after a loss until the first held call is sent";
    Instances: Gauge, Count, "unity_instances", Each(&[("state", labels::instances)]),
        "Ports of editors that the last survey found, by whether they may be called";

    PushEvents: Counter, Count, "push_events_total", Rows(&["kind", "result"], labels::push_events),
        "Messages on the push channel; nothing depends on them";
    PushDepth: Gauge, Count, "push_queue_depth", Plain, "Push messages that wait to be handled";
    PushCapacity: Gauge, Count, "push_queue_capacity", Plain, "Limit of waiting push messages";

    HubSessions: Gauge, Count, "hub_sessions", Plain, "Open sessions on the hub; 0 if this process is no hub";
    HubSessionsOpened: Counter, Count, "hub_sessions_opened_total", Plain, "Sessions that the hub opened";
    HubSessionsRefused: Counter, Count, "hub_sessions_refused_total", Each(&[("reason", labels::refusals)]),
        "Connections to the hub that did not become a session";
    HubStarts: Gauge, Count, "hub_starts", Plain,
        "How many hubs have had this hub's name (one after another, in one state folder), this one included; 0 if this process is no hub";
    HubCallsTakenOver: Counter, Count, "hub_calls_taken_over_total", Plain,
        "Calls that an earlier hub sent and did not answer, and whose outcome this hub looks for; counted at its start";
    HubRecordsUnwritten: Counter, Count, "hub_records_unwritten_total", Plain,
        "Records of calls that the hub could not write; a call whose sending cannot be recorded is not sent";
    HubRecordsFailing: Gauge, Count, "hub_records_failing", Plain,
        "1 if the hub could not write the last record, 0 if it could";

    HttpRequests: Counter, Count, "http_requests_total",
        Each(&[("era", labels::http_eras), ("status", labels::http_statuses)]),
        "Answers of MCP over HTTP by the era of the message and the class of the status; none if no message was read that has an answer";
    HttpRefusals: Counter, Count, "http_refusals_total", Each(&[("reason", labels::http_refusals)]),
        "Requests of MCP over HTTP that were refused before their message was read";
    HttpStreams: Gauge, Count, "http_streams", Plain, "Responses of MCP over HTTP that are open streams";

    FsmState: Gauge, Count, "fsm_state", Rows(&["machine", "state"], labels::states),
        "1 for the present state of a machine, 0 for its other states";
    FsmCode: Gauge, Count, "fsm_state_code", Rows(&["machine", "state"], labels::states),
        "Constant: the number of a state, in the order of its machine's chart";
    FsmEntered: Gauge, Seconds, "fsm_state_entered_timestamp_seconds", Each(&[("machine", labels::machines)]),
        "Time when a machine entered its present state";
    FsmTransitions: Counter, Count, "fsm_transitions_total", Rows(&["machine", "from", "to"], labels::edges),
        "Transitions of a machine between the states of its chart";
    FsmDwell: Histogram(DWELL), Seconds, "fsm_state_duration_seconds", Rows(&["machine", "state"], labels::states),
        "Time that a machine spent in a state, recorded when it leaves the state";
    FsmUnexpected: Counter, Count, "fsm_unexpected_events_total", Rows(&["machine", "state"], labels::all_states),
        "Events that came in a state that does not expect them: a bug of holdfast. Such an event has no effect";
    ActorUp: Gauge, Count, "actor_up", Each(&[("actor", labels::actors)]), "Actors of this name that run: one for each session, or one for each link";
    ActorStarts: Counter, Count, "actor_starts_total", Each(&[("actor", labels::actors)]), "Starts of an actor";
    ActorRestarts: Counter, Count, "actor_restarts_total",
        Each(&[("actor", labels::actors), ("reason", labels::end_reasons)]),
        "Restarts of an actor, by how it had ended";
    ActorHandle: Histogram(HANDLE), Seconds, "actor_handle_duration_seconds", Each(&[("actor", labels::handlers)]),
        "Time that an actor took to handle one message";
    MailboxDepth: Gauge, Count, "actor_mailbox_depth", Each(&[("actor", labels::edged_actors)]),
        "Messages from outside that an actor has not finished handling; other messages cannot pile up";
    Escalations: Counter, Count, "supervisor_escalations_total", Each(&[("supervisor", labels::supervisors)]),
        "Times that a supervisor gave up because its children ended too often";
    TreeRebuilds: Counter, Count, "tree_rebuilds_total", Plain, "Times that the actors of a link or a session were built again after their supervisor gave up";
    Invariants: Counter, Count, "invariant_violations_total", Each(&[("invariant", labels::invariants)]),
        "Promises that holdfast saw itself break: a bug of holdfast. Should stay 0";

    LogEvents: Counter, Count, "log_events_total", Each(&[("level", labels::levels)]), "Log lines by level";
    LogDropped: Counter, Count, "log_events_dropped_total", Each(&[("reason", labels::log_drops)]),
        "Log lines that were not written to stderr";
    Scrapes: Counter, Count, "scrapes_total", Each(&[("result", labels::scrape_results)]),
        "Requests to the exporter, without the present one";
    Shutdowns: Counter, Count, "shutdowns_total", Each(&[("reason", labels::end_causes)]),
        "Gateway exits (only in holdfast_last_exit.prom)";
}

/// The metrics that have a series for each project in a hub, with the further label [`PROJECT`].
pub const BY_PROJECT: &[Id] = &[
    Id::ToolCallsByProject,
    Id::ToolCallDurationByProject,
    Id::ToolCallsInFlight,
    Id::ToolCallsQueued,
    Id::Disconnects,
    Id::ConnectionEpoch,
    Id::FsmState,
    Id::FsmEntered,
];

/// How much is measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum MetricsLevel {
    /// All of the table.
    #[default]
    Full,
    /// The metrics of [`BASIC`]: for many gateways that one Prometheus collects.
    Basic,
}

/// The metrics of [`MetricsLevel::Basic`]: how calls end, whether they wait, whether the editor is there, and broken promises. The
/// machines are there as the one of the connection only.
pub const BASIC: &[Id] = &[
    Id::BuildInfo,
    Id::ProcessStart,
    Id::ProcessMemory,
    Id::McpSession,
    Id::ToolCalls,
    Id::ToolCallsInFlight,
    Id::ToolCallsQueued,
    Id::Reloads,
    Id::HubSessions,
    Id::FsmState,
    Id::FsmEntered,
    Id::Invariants,
];

/// The label that names a project, and with it the project's editor. Prometheus has it from the record of a gateway that serves
/// one project (`services/metrics/target.rs`); on the series of a hub, which serves several, it stands beside the other labels.
pub const PROJECT: &str = "project";

impl Id {
    /// Whether the metric is there at this level.
    pub fn is_at(self, level: MetricsLevel) -> bool {
        level == MetricsLevel::Full || BASIC.contains(&self)
    }

    /// Returns the series of the gateway at this level.
    pub fn rows(self, level: MetricsLevel) -> Vec<labels::Row> {
        match level {
            MetricsLevel::Full => self.metric().labels.rows(),
            MetricsLevel::Basic if !self.is_at(level) => Vec::new(),
            MetricsLevel::Basic => self.rows_of_connection(),
        }
    }

    /// Returns the series that each project has in a hub at this level; none if the metric does not tell projects apart.
    pub fn rows_of_project(self, level: MetricsLevel) -> Vec<labels::Row> {
        let is_there = BY_PROJECT.contains(&self) && self.is_at(level);
        if is_there { self.rows_of_connection() } else { Vec::new() }
    }

    /// Returns the rows of the table; of the machines, only those of the connection.
    fn rows_of_connection(self) -> Vec<labels::Row> {
        let mut rows = self.metric().labels.rows();
        if matches!(self, Self::FsmState | Self::FsmEntered) {
            rows.retain(|[machine, ..]| *machine == <bridge::Bridge as Machine>::NAME);
        }
        rows
    }

    /// Returns the metric's row of the table.
    pub fn metric(self) -> &'static Metric {
        &TABLE[self as usize]
    }
}
