//! The possible values of every label. They come from enums in the code, never from a peer.

use strum::VariantArray;

use super::edges::EDGES;
pub use super::label_values::*;
use crate::core::shutdown::ShutdownReason;
use crate::fsm::cause::{Cause, Loss};
use crate::fsm::{bridge, call, discovery, push, registry, restart, session};
use crate::protocol::dialect::{JournalOutcome, PushEvent};
use crate::protocol::mcp::{self, Method, ProtocolVersion};

/// The values of one label.
pub type Values = fn() -> Vec<&'static str>;

/// The label values of one series, in the order of the labels' names; unused positions are empty.
pub type Row = [&'static str; 3];

/// The labels of a metric, which determine its series.
#[derive(Debug, Clone, Copy)]
pub enum Labels {
    /// No label: one series.
    Plain,
    /// A series for every combination of these values.
    Each(&'static [(&'static str, Values)]),
    /// A series for each of these combinations.
    Rows(&'static [&'static str], fn() -> Vec<Row>),
    /// Combinations of these values, each added when it first occurs. (If one is a tool's name, an editor has listed that tool.)
    Late(&'static [(&'static str, Values)]),
    /// One series, whose values are those of this build.
    Open(&'static [&'static str]),
}

impl Labels {
    /// Returns the names of the labels.
    pub fn names(&self) -> Vec<&'static str> {
        match self {
            Self::Plain => Vec::new(),
            Self::Each(labels) | Self::Late(labels) => labels.iter().map(|(name, _)| *name).collect(),
            Self::Rows(names, _) | Self::Open(names) => names.to_vec(),
        }
    }

    /// Returns the possible values of each label.
    pub fn values(&self) -> Vec<(&'static str, Vec<&'static str>)> {
        match self {
            Self::Plain => Vec::new(),
            Self::Each(labels) | Self::Late(labels) => labels.iter().map(|(name, values)| (*name, values())).collect(),
            Self::Rows(names, rows) => {
                let rows = rows();
                let distinct = |at: usize| {
                    let mut seen = Vec::new();
                    for row in &rows {
                        if let Some(value) = row.get(at).filter(|value| !seen.contains(*value)) {
                            seen.push(value);
                        }
                    }
                    seen
                };
                names.iter().enumerate().map(|(at, name)| (*name, distinct(at))).collect()
            }
            Self::Open(names) => names.iter().map(|name| (*name, vec!["*"])).collect(),
        }
    }

    /// Returns the series that exist from the start, at zero.
    pub fn rows(&self) -> Vec<Row> {
        match self {
            Self::Plain => vec![Row::default()],
            Self::Each(labels) => {
                let mut rows = vec![Row::default()];
                for (at, (_, values)) in labels.iter().enumerate() {
                    rows =
                        rows.iter().flat_map(|row| values().into_iter().map(|value| with(*row, at, value))).collect();
                }
                rows
            }
            Self::Rows(_, rows) => rows(),
            Self::Late(_) | Self::Open(_) => Vec::new(),
        }
    }
}

fn with(mut row: Row, at: usize, value: &'static str) -> Row {
    if let Some(place) = row.get_mut(at) {
        *place = value;
    }
    row
}

/// Returns a row with these values; the remaining positions are empty.
pub fn row<const N: usize>(values: [&'static str; N]) -> Row {
    let mut row = Row::default();
    for (place, value) in row.iter_mut().zip(values) {
        *place = value;
    }
    row
}

fn of<E: VariantArray + Copy + Into<&'static str> + 'static>() -> Vec<&'static str> {
    E::VARIANTS.iter().map(|value| (*value).into()).collect()
}

macro_rules! values {
    ($($name:ident = $of:ty;)*) => {$(
        pub(super) fn $name() -> Vec<&'static str> {
            of::<$of>()
        }
    )*};
}

values! {
    outcomes = Outcome;
    directions = Direction;
    message_kinds = MessageKind;
    methods = Method;
    waits = Wait;
    resends = Resend;
    dial_results = DialResult;
    hints = Hint;
    strays = Stray;
    reload_results = ReloadResult;
    instances = Instance;
    actors = Part;
    invariants = Invariant;
    scrape_results = ScrapeResult;
    clock_directions = ClockDirection;
    log_drops = LogDrop;
    losses = Loss;
    end_reasons = restart::EndReason;
    end_causes = ShutdownReason;
    http_eras = HttpEra;
    http_refusals = HttpRefusal;
}

/// The methods whose requests have a duration: all but a subscription, which lasts as long as its client.
pub(super) fn timed_methods() -> Vec<&'static str> {
    let timed = Method::VARIANTS.iter().filter(|method| !method.is_subscription());
    timed.map(|method| (*method).into()).collect()
}

/// The classes of HTTP statuses that answers have.
pub(super) fn http_statuses() -> Vec<&'static str> {
    vec!["2xx", "4xx", "5xx"]
}

/// The fault that is a client's line with an id already in use, in addition to those of
/// [`Fault`](crate::protocol::jsonrpc::Fault).
pub const DUPLICATE_ID: &str = "duplicate_id";
/// The fault that is a request beyond the largest number of open requests.
pub const TOO_MANY_REQUESTS: &str = "too_many_requests";
/// The reason for which a hub refuses a connection that does not say who it is, in addition to those of
/// [`Reason`](crate::protocol::hub::Reason).
pub const NO_HELLO: &str = "no_hello";
/// The value of the label `tool` for all tools without their own series.
pub const OTHER: &str = "other";

pub(super) fn invalid_messages() -> Vec<&'static str> {
    let faults = <crate::protocol::jsonrpc::Fault as strum::VariantNames>::VARIANTS;
    faults.iter().copied().chain([DUPLICATE_ID, TOO_MANY_REQUESTS]).collect()
}

pub(super) fn refusals() -> Vec<&'static str> {
    of::<crate::protocol::hub::Reason>().into_iter().chain([NO_HELLO]).collect()
}

/// Returns the outcomes that a journal may report for a call.
pub fn journal_outcomes() -> Vec<&'static str> {
    <JournalOutcome as strum::VariantNames>::VARIANTS.to_vec()
}

pub(super) fn frame_errors() -> Vec<&'static str> {
    let frames = <crate::protocol::framing::BadFrame as strum::VariantNames>::VARIANTS;
    let messages = <crate::protocol::dialect::BadMessage as strum::VariantNames>::VARIANTS;
    frames.iter().chain(messages).copied().collect()
}

/// Returns the label for the era of an MCP version.
pub fn era(version: ProtocolVersion) -> &'static str {
    if version.is_stateless() { "stateless" } else { "handshake" }
}

pub(super) fn eras() -> Vec<&'static str> {
    vec![era(ProtocolVersion::LATEST), era(ProtocolVersion::STATELESS)]
}

pub(super) fn protocols() -> Vec<&'static str> {
    ProtocolVersion::ALL.into_iter().map(ProtocolVersion::label).collect()
}

pub(super) fn clients() -> Vec<&'static str> {
    // A client of the table without a name cannot be recognised, so it is counted as unknown.
    let known = mcp::clients::known_clients().iter().filter(|client| !client.names.is_empty());
    let known = known.map(|client| client.label);
    known.chain([mcp::clients::UNKNOWN_CLIENT.name]).collect()
}

pub(super) fn tools() -> Vec<&'static str> {
    vec!["*", OTHER]
}

pub(super) fn levels() -> Vec<&'static str> {
    vec!["error", "warn", "info", "debug", "trace"]
}

pub(super) fn verdicts() -> Vec<&'static str> {
    let mut labels = Vec::new();
    for [verdict, ..] in verdicts_with_causes() {
        if !labels.contains(&verdict) {
            labels.push(verdict);
        }
    }
    labels
}

pub(super) fn verdicts_with_causes() -> Vec<Row> {
    use call::Verdict;
    let plain = [Verdict::Ok, Verdict::ToolError, Verdict::StillRunning, Verdict::Cancelled];
    let causes = Cause::VARIANTS.iter().map(|cause| Verdict::NotExecuted(*cause));
    let losses = Loss::VARIANTS.iter().map(|loss| Verdict::OutcomeUnknown(*loss));
    let all = plain.into_iter().chain(causes).chain(losses);
    all.map(|verdict| row([verdict.label(), verdict.cause().unwrap_or("")])).collect()
}

/// Returns the parts that are supervisors.
pub(super) fn supervisors() -> Vec<&'static str> {
    [Part::Gateway, Part::Link].map(Into::into).to_vec()
}

/// Returns the parts that handle messages.
pub(super) fn handlers() -> Vec<&'static str> {
    [Part::Registry, Part::Discovery, Part::Bridge, Part::Push, Part::Session].map(Into::into).to_vec()
}

/// Returns the parts whose mailboxes require a permit for messages from outside.
pub(super) fn edged_actors() -> Vec<&'static str> {
    [Part::Bridge, Part::Push, Part::Session].map(Into::into).to_vec()
}

pub(super) fn push_events() -> Vec<Row> {
    use strum::VariantNames as _;
    let kinds = PushEvent::VARIANTS.iter().copied();
    let results = |kind| of::<PushResult>().into_iter().map(move |result| row([kind, result]));
    kinds.flat_map(results).collect()
}

/// Returns the machines of which each link or session has exactly one: the name, the states in the order of the chart, and the
/// first state. Supervisors and calls are not included, because there are several of them at a time. Their effects have other
/// metrics: restarts and escalations, verdicts and waits.
pub fn machine_states() -> [(&'static str, Vec<&'static str>, &'static str); 5] {
    fn of_machine<M: crate::fsm::Machine>() -> (&'static str, Vec<&'static str>, &'static str)
    where
        M::State: VariantArray,
    {
        (M::NAME, of::<M::State>(), M::initial().into())
    }
    [
        of_machine::<bridge::Bridge>(),
        of_machine::<discovery::Discovery>(),
        of_machine::<push::Push>(),
        of_machine::<registry::Registry>(),
        of_machine::<session::Session>(),
    ]
}

pub(super) fn machines() -> Vec<&'static str> {
    machine_states().into_iter().map(|(machine, ..)| machine).collect()
}

pub(super) fn states() -> Vec<Row> {
    let machines = machine_states().into_iter();
    machines.flat_map(|(machine, states, _)| states.into_iter().map(move |state| row([machine, state]))).collect()
}

/// Returns the states of all machines, including those of calls.
pub(super) fn all_states() -> Vec<Row> {
    let calls = of::<call::State>().into_iter().map(|state| row([<call::Call as crate::fsm::Machine>::NAME, state]));
    states().into_iter().chain(calls).collect()
}

pub(super) fn edges() -> Vec<Row> {
    EDGES.iter().map(|(machine, from, to)| row([machine, from, to])).collect()
}
