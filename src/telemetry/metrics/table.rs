//! The one table of metrics: name, meaning and labels of each metric.
//!
//! Metrics are registered, described and set to zero from this table. Two files are generated from it: `docs/metrics.md` for
//! people, and `dashboards/metrics.json` for checking the dashboards.

use super::labels::{self, Labels};

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
        "Always 1; the labels say which build of holdfast this is and the newest MCP version it speaks";
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
        "Requests of the client, counted when they are answered or cancelled; a tool that failed is an answered request";
    McpRequestDuration: Histogram(ANSWER), Seconds, "mcp_request_duration_seconds", Each(&[("method", labels::methods)]),
        "From a request's arrival to its answer";
    McpInFlight: Gauge, Count, "mcp_requests_in_flight", Plain, "Requests that are open now";
    McpMessages: Counter, Count, "mcp_messages_total",
        Each(&[("direction", labels::directions), ("kind", labels::message_kinds)]),
        "JSON-RPC messages read from and queued for the client";
    McpInvalid: Counter, Count, "mcp_invalid_messages_total", Each(&[("reason", labels::invalid_messages)]),
        "Lines of the client that were not taken as a message, or requests that were not opened";
    McpSession: Gauge, Count, "mcp_session_info",
        Late(&[("era", labels::eras), ("protocol", labels::protocols), ("client", labels::clients)]),
        "1 for the session that is open; 0 for one that another initialize replaced";
    StdoutQueued: Gauge, Count, "stdout_queued_messages", Plain, "Messages that wait for the client to read stdout";
    StdoutCapacity: Gauge, Count, "stdout_queue_capacity", Plain, "Queued messages from which on reading stops";
    StdoutDropped: Counter, Count, "stdout_dropped_notifications_total", Plain,
        "Notifications dropped because the client does not read stdout";
    StdoutSurplus: Counter, Count, "mcp_surplus_answers_total", Plain,
        "Answers that came after their request was cancelled or answered at an end; nothing was written";
    StdoutWritten: Gauge, Seconds, "stdout_last_write_timestamp_seconds", Plain,
        "When something was last written to stdout; 0 before";

    ToolCalls: Counter, Count, "tool_calls_total", Rows(&["verdict", "cause"], labels::verdicts_with_causes),
        "Calls of the editor's tools by how they ended, counted when the client was answered or had cancelled";
    ToolCallsByTool: Counter, Count, "tool_calls_by_tool_total", Late(&[("tool", labels::tools), ("verdict", labels::verdicts)]),
        "The same by tool: the first 24 tools that an editor lists, then other";
    ToolCallDuration: Histogram(ANSWER), Seconds, "tool_call_duration_seconds", Each(&[("verdict", labels::verdicts)]),
        "From a call's arrival to its answer";
    ToolCallWait: Histogram(ANSWER), Seconds, "tool_call_wait_seconds", Each(&[("cause", labels::waits)]),
        "From a call's arrival, or its loss if it is sent again, until its bytes leave: time not spent in Unity";
    ToolCallsInFlight: Gauge, Count, "tool_calls_in_flight", Plain, "Calls that were sent and have not ended in Unity";
    ToolCallsQueued: Gauge, Count, "tool_calls_queued", Plain, "Calls that are held";
    ToolCallCapacity: Gauge, Count, "tool_call_queue_capacity", Plain, "Most requests open at once, calls included";
    ToolCallResends: Counter, Count, "tool_call_resends_total", Each(&[("cause", labels::resends)]),
        "Calls sent once more: declared repeatable, or turned away by an editor before anything ran";
    ToolResultBytes: Histogram(RESULT), Bytes, "tool_result_bytes", Plain, "Sizes of the results handed to the client";

    ConnectAttempts: Counter, Count, "unity_connect_attempts_total", Each(&[("result", labels::dial_results)]),
        "Dials of the editor by result; ok is a greeting that was answered rightly";
    ConnectDuration: Histogram(CONNECT), Seconds, "unity_connect_duration_seconds", Plain,
        "From the dial to the greeting's answer, for dials that gave a connection";
    Disconnects: Counter, Count, "unity_disconnects_total", Each(&[("reason", labels::losses)]),
        "Greeted connections that ended";
    BackoffDelay: Gauge, Seconds, "unity_backoff_delay_seconds", Plain, "The delay that is waited now; 0 when none is";
    BackoffShortcuts: Counter, Count, "unity_backoff_shortcuts_total", Each(&[("hint", labels::hints)]),
        "Backoff waits ended early by a hint";
    ConnectionEpoch: Gauge, Count, "unity_connection_epoch", Plain, "Number of the connection that is up; 0 when none is";
    LastMessage: Gauge, Seconds, "unity_last_message_timestamp_seconds", Plain,
        "When bytes last came from the editor; 0 before";
    LastTick: Gauge, Seconds, "unity_last_editor_tick_timestamp_seconds", Plain,
        "When the editor last drew a frame, by its own word; 0 before, and for packages that do not tell";
    Heartbeat: Histogram(CONNECT), Seconds, "unity_heartbeat_seconds", Plain,
        "How long the editor took to say how it is, off its main thread";
    JournalOutcomes: Counter, Count, "unity_journal_outcomes_total", Each(&[("outcome", labels::journal_outcomes)]),
        "What the editor's journal said of calls whose connection had ended";
    Frames: Counter, Count, "unity_frames_total", Each(&[("direction", labels::directions)]),
        "Messages from and to the editor";
    Bytes: Counter, Bytes, "unity_bytes_total", Each(&[("direction", labels::directions)]),
        "Bytes from and to the editor";
    FrameErrors: Counter, Count, "unity_frame_errors_total", Each(&[("reason", labels::frame_errors)]),
        "Bytes of an editor that were not its protocol; each ended its connection";
    Unmatched: Counter, Count, "unity_unmatched_responses_total", Each(&[("reason", labels::strays)]),
        "Replies of the editor that belong to nothing that is open";
    Reloads: Counter, Count, "unity_reloads_total", Each(&[("result", labels::reload_results)]),
        "Domain reloads that took the connection, by whether the editor came back; presumed where its package tells of none";
    ReloadDuration: Histogram(RELOAD), Seconds, "unity_reload_duration_seconds", Plain,
        "From the connection's end by a reload until the next one is greeted";
    RecoveryDuration: Histogram(RECOVERY), Seconds, "unity_recovery_duration_seconds", Plain,
        "From the editor's accept after a loss until the first call that was held for it is on its way";
    Instances: Gauge, Count, "unity_instances", Each(&[("state", labels::instances)]),
        "Ports of editors that the last look around found, by whether they may be called";

    PushEvents: Counter, Count, "push_events_total", Rows(&["kind", "result"], labels::push_events),
        "Messages on the push channel; none of them is needed";
    PushDepth: Gauge, Count, "push_queue_depth", Plain, "Push messages that wait for their actor";
    PushCapacity: Gauge, Count, "push_queue_capacity", Plain, "Most push messages that may wait";

    FsmState: Gauge, Count, "fsm_state", Rows(&["machine", "state"], labels::states),
        "1 for the state that a machine is in, 0 for its others";
    FsmCode: Gauge, Count, "fsm_state_code", Rows(&["machine", "state"], labels::states),
        "A constant: the number of a state, in the order of its machine's chart";
    FsmEntered: Gauge, Seconds, "fsm_state_entered_timestamp_seconds", Each(&[("machine", labels::machines)]),
        "When a machine entered the state that it is in";
    FsmTransitions: Counter, Count, "fsm_transitions_total", Rows(&["machine", "from", "to"], labels::edges),
        "Transitions of a machine; the edges are those of its chart";
    FsmDwell: Histogram(DWELL), Seconds, "fsm_state_duration_seconds", Rows(&["machine", "state"], labels::states),
        "How long a machine stayed in a state, recorded when it leaves it";
    FsmUnexpected: Counter, Count, "fsm_unexpected_events_total", Rows(&["machine", "state"], labels::all_states),
        "Events not expected in the state they came in: a bug of holdfast, without an effect";
    ActorUp: Gauge, Count, "actor_up", Each(&[("actor", labels::actors)]), "1 while the part runs";
    ActorStarts: Counter, Count, "actor_starts_total", Each(&[("actor", labels::actors)]), "Starts of a part";
    ActorRestarts: Counter, Count, "actor_restarts_total",
        Each(&[("actor", labels::actors), ("reason", labels::end_reasons)]),
        "Starts of a part after it ended, by how it ended";
    ActorHandle: Histogram(HANDLE), Seconds, "actor_handle_duration_seconds", Each(&[("actor", labels::handlers)]),
        "How long a part took for one message";
    MailboxDepth: Gauge, Count, "actor_mailbox_depth", Each(&[("actor", labels::edged_actors)]),
        "Messages from outside that wait for a part or are being handled; only these can grow";
    Escalations: Counter, Count, "supervisor_escalations_total", Each(&[("supervisor", labels::supervisors)]),
        "A supervisor gave up because its children ended too often";
    TreeRebuilds: Counter, Count, "tree_rebuilds_total", Plain, "The whole tree was built again after it gave up";
    Invariants: Counter, Count, "invariant_violations_total", Each(&[("invariant", labels::invariants)]),
        "A promise was seen broken: a bug of ours. Stays 0";

    LogEvents: Counter, Count, "log_events_total", Each(&[("level", labels::levels)]), "Log lines by level";
    LogDropped: Counter, Count, "log_events_dropped_total", Each(&[("reason", labels::log_drops)]),
        "Log lines that stderr did not take";
    Scrapes: Counter, Count, "scrapes_total", Each(&[("result", labels::scrape_results)]),
        "Requests to the exporter, this one not included";
    Shutdowns: Counter, Count, "shutdowns_total", Each(&[("reason", labels::end_causes)]),
        "Gateway exits (seen in holdfast_last_exit.prom only)";
}

impl Id {
    /// Returns the metric's row of the table.
    pub fn metric(self) -> &'static Metric {
        &TABLE[self as usize]
    }
}
