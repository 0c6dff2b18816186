//! The closed values of every label. They come from the enums that the code itself works with; none ever comes from a peer.

use strum::VariantArray;

use super::edges::EDGES;
use crate::actors::main_loop::Why;
use crate::fsm::cause::{Cause, Loss};
use crate::fsm::{bridge, call, discovery, push, registry, restart, session};
use crate::protocol::dialect::PushEvent;
use crate::protocol::mcp::{self, Method, ProtocolVersion};

/// The values of one label.
pub type Values = fn() -> Vec<&'static str>;

/// The values of one series' labels, in the order of the labels' names; what is not needed is empty.
pub type Row = [&'static str; 3];

/// Which labels a metric has, and which series.
#[derive(Debug, Clone, Copy)]
pub enum Labels {
    /// None: one series.
    Plain,
    /// Every combination of these values.
    Each(&'static [(&'static str, Values)]),
    /// These combinations.
    Rows(&'static [&'static str], fn() -> Vec<Row>),
    /// Combinations that appear as they are met, of these values (a tool's name is one that an editor listed).
    Late(&'static [(&'static str, Values)]),
    /// One series, whose values are this build's.
    Open(&'static [&'static str]),
}

impl Labels {
    /// The labels' names.
    pub fn names(&self) -> Vec<&'static str> {
        match self {
            Self::Plain => Vec::new(),
            Self::Each(labels) | Self::Late(labels) => labels.iter().map(|(name, _)| *name).collect(),
            Self::Rows(names, _) | Self::Open(names) => names.to_vec(),
        }
    }

    /// The values of each label.
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

    /// The series that stand at zero from the start.
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

/// A row of one or more values.
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

/// Declares an enum of label values.
macro_rules! label {
    ($(#[$doc:meta])* $name:ident { $($(#[$value_doc:meta])* $value:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
        #[strum(serialize_all = "snake_case")]
        pub enum $name {
            $($(#[$value_doc])* $value,)*
        }
    };
}

label! {
    /// How a request of the client ended.
    Outcome {
        /// With a result.
        Ok,
        /// With an error.
        Error,
        /// The client took it back: it has no answer.
        Cancelled,
    }
}
label! {
    /// Whether something came or went.
    Direction {
        /// From the peer.
        Rx,
        /// To the peer.
        Tx,
    }
}
label! {
    /// Kinds of JSON-RPC messages.
    MessageKind {
        /// A request.
        Request,
        /// A response.
        Response,
        /// A notification.
        Notification,
    }
}
label! {
    /// What a call waited for before it was sent.
    Wait {
        /// The editor had to be found or dialled.
        Connect,
        /// It reloaded its domain.
        Reload,
        /// It compiled.
        Compile,
        /// Another call, or the list, had its place.
        Queue,
    }
}
label! {
    /// Why a call is sent again.
    Resend {
        /// The connection was lost.
        Reconnect,
        /// The editor reloaded.
        Reload,
        /// An editor turned it away unrun.
        TurnedAway,
    }
}
label! {
    /// How a dial of the editor ended.
    DialResult {
        /// Greeted.
        Ok,
        /// Nothing listens there.
        Refused,
        /// The connect did not end in time.
        TimedOut,
        /// The port belongs to another project's editor.
        WrongProject,
        /// Nothing proves whose port it is.
        Unproven,
        /// What listens there is no bridge.
        WrongPeer,
        /// The former connection had not fallen.
        PermitHeld,
        /// Connected, and ended before the greeting was answered.
        Unfinished,
    }
}
label! {
    /// What cut a wait short.
    Hint {
        /// A file of the project or of the editor changed.
        InstanceRecord,
        /// The push channel said so.
        Push,
        /// Somebody needs the editor.
        User,
    }
}
label! {
    /// What an unmatched reply was.
    Stray {
        /// Its number belongs to no open request of the connection: unknown, or answered before.
        UnknownId,
        /// It names no request at all.
        NoId,
        /// Its call owes nothing to this connection any more.
        Late,
    }
}
label! {
    /// How a reload ended.
    ReloadResult {
        /// The editor was greeted again.
        Completed,
        /// Nothing speaks for its return any more.
        NotReturned,
    }
}
label! {
    /// Editors that a look around found.
    Instance {
        /// May be called.
        Callable,
        /// Two projects fit, and nobody guesses.
        Ambiguous,
        /// Somebody listens, and may not be called.
        Refused,
        /// Named by a file, and nobody listens.
        Stale,
    }
}
label! {
    /// What became of a push message.
    PushResult {
        /// It was passed on.
        Delivered,
        /// Too many came, or too many sockets were open.
        Dropped,
        /// It was no message that is known.
        Rejected,
    }
}
label! {
    /// The parts that are supervised.
    Part {
        /// The root.
        Gateway,
        /// The tool catalogue.
        Registry,
        /// The supervisor of one editor.
        Link,
        /// Where the editor is.
        Discovery,
        /// The connection.
        Bridge,
        /// The push listener.
        Push,
        /// MCP.
        Session,
        /// This endpoint.
        Exporter,
    }
}
label! {
    /// Promises that are watched while the gateway runs.
    Invariant {
        /// A call was answered a second time.
        AnsweredTwice,
        /// A call that was answered had no request that waited for it, and was not cancelled.
        AnswerForNobody,
        /// A call that may have run was claimed again without being declared repeatable.
        UnsafeResend,
        /// A message for stdout was not one line.
        BrokenLine,
    }
}
label! {
    /// What a request to the exporter got.
    ScrapeResult {
        /// What it asked for.
        Ok,
        /// Refused: another host's name.
        BadHost,
        /// Refused: a method other than GET and HEAD.
        BadMethod,
        /// No such path.
        NotFound,
        /// Not HTTP, or too large a head.
        BadRequest,
        /// It did not send its head in time.
        TimedOut,
        /// Too many connections were open.
        Busy,
    }
}
label! {
    /// Which way the wall clock jumped.
    ClockDirection {
        /// Ahead: the machine slept, or the clock was set.
        Forward,
        /// Back: the clock was set.
        Backward,
    }
}
label! {
    /// Why a log line is missing.
    LogDrop {
        /// Too many waited.
        QueueFull,
        /// stderr could not be written.
        SinkError,
    }
}

impl Wait {
    /// What a cause of holding means here.
    pub fn of(cause: Cause) -> Self {
        match cause {
            Cause::Reloading => Self::Reload,
            Cause::Compiling => Self::Compile,
            Cause::Busy | Cause::Stalled | Cause::Listing | Cause::Overload => Self::Queue,
            Cause::Connecting
            | Cause::Lost
            | Cause::Crashed
            | Cause::Closed
            | Cause::NotRunning
            | Cause::BridgeDown
            | Cause::WrongPeer
            | Cause::WrongProject
            | Cause::Unproven
            | Cause::Ambiguous
            | Cause::UnknownTool
            | Cause::TooLarge
            | Cause::Policy
            | Cause::ShuttingDown => Self::Connect,
        }
    }
}

impl From<bridge::ConnectFailure> for DialResult {
    fn from(failure: bridge::ConnectFailure) -> Self {
        match failure {
            bridge::ConnectFailure::Refused => Self::Refused,
            bridge::ConnectFailure::TimedOut => Self::TimedOut,
            bridge::ConnectFailure::WrongProject => Self::WrongProject,
            bridge::ConnectFailure::Unproven => Self::Unproven,
            bridge::ConnectFailure::WrongPeer => Self::WrongPeer,
            bridge::ConnectFailure::PermitHeld => Self::PermitHeld,
        }
    }
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
    end_causes = Why;
}

/// What a line of the client can be refused for beside [`Fault`](crate::protocol::jsonrpc::Fault).
pub const DUPLICATE_ID: &str = "duplicate_id";
/// See [`DUPLICATE_ID`].
pub const TOO_MANY_REQUESTS: &str = "too_many_requests";
/// The tool of a call that is not among the listed ones with a series of their own.
pub const OTHER: &str = "other";

pub(super) fn invalid_messages() -> Vec<&'static str> {
    let faults = <crate::protocol::jsonrpc::Fault as strum::VariantNames>::VARIANTS;
    faults.iter().copied().chain([DUPLICATE_ID, TOO_MANY_REQUESTS]).collect()
}

pub(super) fn frame_errors() -> Vec<&'static str> {
    let frames = <crate::protocol::framing::BadFrame as strum::VariantNames>::VARIANTS;
    let messages = <crate::protocol::dialect::BadMessage as strum::VariantNames>::VARIANTS;
    frames.iter().chain(messages).copied().collect()
}

pub(super) fn eras() -> Vec<&'static str> {
    vec!["handshake"]
}

pub(super) fn protocols() -> Vec<&'static str> {
    ProtocolVersion::ALL.into_iter().map(ProtocolVersion::label).collect()
}

pub(super) fn clients() -> Vec<&'static str> {
    let known = mcp::clients::known_clients().map(|client| client.name);
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

/// Supervisors.
pub(super) fn supervisors() -> Vec<&'static str> {
    [Part::Gateway, Part::Link].map(Into::into).to_vec()
}

/// Parts that handle messages one by one.
pub(super) fn handlers() -> Vec<&'static str> {
    [Part::Registry, Part::Discovery, Part::Bridge, Part::Push, Part::Session].map(Into::into).to_vec()
}

/// Parts to which messages come from outside, which take a permit.
pub(super) fn edged_actors() -> Vec<&'static str> {
    [Part::Bridge, Part::Push, Part::Session].map(Into::into).to_vec()
}

pub(super) fn push_events() -> Vec<Row> {
    use strum::VariantNames as _;
    let kinds = PushEvent::VARIANTS.iter().copied();
    let results = |kind| of::<PushResult>().into_iter().map(move |result| row([kind, result]));
    kinds.flat_map(results).collect()
}

/// The machines of which there is one each, with their states in the order of their charts and the one they start in.
/// (A supervisor's and a call's are not among them: there are several of the one and many of the other at a time. Restarts and
/// escalations, and verdicts and waits, say the same by what came of them.)
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

/// The states of a call's machine too.
pub(super) fn all_states() -> Vec<Row> {
    let calls = of::<call::State>().into_iter().map(|state| row([<call::Call as crate::fsm::Machine>::NAME, state]));
    states().into_iter().chain(calls).collect()
}

pub(super) fn edges() -> Vec<Row> {
    EDGES.iter().map(|(machine, from, to)| row([machine, from, to])).collect()
}
