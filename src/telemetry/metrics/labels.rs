//! The possible values of every label. They come from enums in the code, never from a peer.

use strum::VariantArray;

use crate::fsm::cause::{Cause, Loss};
use crate::fsm::{Machine, bridge, call, discovery, push, registry, restart, session};
use crate::protocol::hub::Reason;
use crate::protocol::mcp::{self, Method};

/// The values of one label.
pub type Values = fn() -> Vec<&'static str>;

/// The label values of one series, in the order of the labels' names; unused positions are empty.
pub type Row = [&'static str; 2];

/// The labels of a metric, which determine its series.
#[derive(Debug, Clone, Copy)]
pub enum Labels {
    /// No label: one series.
    Plain,
    /// A series for each of these values.
    One(&'static str, Values),
    /// A series for each of these pairs of values.
    Two([&'static str; 2], fn() -> Vec<Row>),
    /// One series, whose values are those of this build.
    Build([&'static str; 3]),
}

impl Labels {
    /// Returns the possible values of each label.
    pub fn values(&self) -> Vec<(&'static str, Vec<&'static str>)> {
        match self {
            Self::Plain => Vec::new(),
            Self::One(name, values) => vec![(name, values())],
            Self::Two([first, second], rows) => {
                let (firsts, seconds): (Vec<_>, Vec<_>) = rows().into_iter().map(<(_, _)>::from).unzip();
                vec![(first, distinct(firsts)), (second, distinct(seconds))]
            }
            Self::Build(names) => names.iter().map(|name| (*name, vec!["*"])).collect(),
        }
    }

    /// Returns the names of the labels.
    pub fn names(&self) -> Vec<&'static str> {
        self.values().into_iter().map(|(name, _)| name).collect()
    }

    /// Returns the series that exist from the start, at zero.
    pub fn rows(&self) -> Vec<Row> {
        match self {
            Self::Plain => vec![Row::default()],
            Self::One(_, values) => values().into_iter().map(|value| [value, ""]).collect(),
            Self::Two(_, rows) => rows(),
            Self::Build(_) => Vec::new(),
        }
    }
}

/// Returns the values without repetitions, in their order.
fn distinct(values: Vec<&'static str>) -> Vec<&'static str> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

/// Returns the labels of an enum's values.
fn of<E: VariantArray + Copy + Into<&'static str> + 'static>() -> Vec<&'static str> {
    E::VARIANTS.iter().map(|value| (*value).into()).collect()
}

/// Returns every pair of these values.
fn pairs(firsts: &[&'static str], seconds: &[&'static str]) -> Vec<Row> {
    firsts.iter().flat_map(|first| seconds.iter().map(move |second| [*first, *second])).collect()
}

/// Declares an enum of label values that only metrics need, and the function that lists them.
macro_rules! label {
    ($(#[$doc:meta])* $name:ident, $list:ident { $($(#[$value_doc:meta])* $value:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
        #[strum(serialize_all = "snake_case")]
        pub enum $name {
            $($(#[$value_doc])* $value,)*
        }

        pub(super) fn $list() -> Vec<&'static str> {
            of::<$name>()
        }
    };
}

label! {
    /// How a client's request ended.
    Outcome, outcomes {
        /// With a result.
        Ok,
        /// With an error.
        Error,
        /// The client cancelled it, so it has no answer.
        Cancelled,
    }
}
label! {
    /// What a call waited for before it was sent.
    Wait, waits {
        /// Until the editor is found and connected.
        Connect,
        /// Until a domain reload ends.
        Reload,
        /// Until a compilation ends.
        Compile,
        /// Until it may be sent: another call or the tool list was with the editor.
        Queue,
    }
}
label! {
    /// Why a call is sent again.
    Resend, resends {
        /// The connection was lost.
        Reconnect,
        /// The editor reloaded.
        Reload,
        /// An editor answered that the call was meant for another editor, and ran nothing.
        TurnedAway,
    }
}
label! {
    /// How a dial to the editor ended.
    DialResult, dial_results {
        /// The greeting was answered.
        Ok,
        /// No process listens on the port.
        Refused,
        /// The process that accepted was gone before it was known whose it is.
        Vanished,
        /// The connection was not established in time.
        TimedOut,
        /// The port belongs to another project's editor.
        WrongProject,
        /// Nothing proves which project the port belongs to.
        Unproven,
        /// The program that listens there is not a bridge.
        WrongPeer,
        /// The previous connection still existed.
        PermitHeld,
        /// This process had no file descriptor left.
        NoDescriptors,
        /// The system did not let this process use the port.
        Forbidden,
        /// The connection was established, and ended before the greeting was answered.
        Unfinished,
    }
}
label! {
    /// How a domain reload ended.
    ReloadResult, reload_results {
        /// The editor was greeted again after a reload that it announced, that a file of the project showed, or that
        /// the greeting shows.
        Completed,
        /// The editor was greeted again, and its package announces no reloads: the outage was most likely a reload.
        Presumed,
        /// The editor's process is gone, or another process was greeted.
        NotReturned,
    }
}
label! {
    /// The parts that are started again when they end.
    Part, parts {
        /// The root of a session's tree.
        Gateway,
        /// The tool catalogue.
        Registry,
        /// The supervisor of one editor's actors.
        Link,
        /// The search for the editor.
        Discovery,
        /// The connection to the editor.
        Bridge,
        /// The push listener.
        Push,
        /// The client's session.
        Session,
        /// The exporter of these metrics.
        Exporter,
    }
}
label! {
    /// The promises that are checked while the gateway runs.
    Invariant, invariants {
        /// A call was answered a second time.
        AnsweredTwice,
        /// A call was answered, but no open request waited for it, and it was not cancelled.
        AnswerForNobody,
        /// A call that may have run was sent again, although its tool is not repeatable.
        UnsafeResend,
        /// A message for stdout was not one line.
        BrokenLine,
    }
}
label! {
    /// Why an HTTP request was refused before its message was read.
    HttpRefusal, http_refusals {
        /// It is not a request of HTTP/1.1.
        NotHttp,
        /// The client was gone before it was complete, or before it was answered.
        CutOff,
        /// Its head or its body is too large.
        TooLarge,
        /// Its method is not `POST`.
        BadMethod,
        /// Its `Host` is not one of this service.
        BadHost,
        /// A web page of another origin sent it.
        ForeignPage,
        /// It has no token, or a wrong one.
        Unauthorized,
        /// Its path is not served.
        NotFound,
        /// Its body is not JSON, or its client does not take the types of answers.
        BadType,
        /// It was not complete in time.
        TooSlow,
        /// Too many connections or requests were open.
        Busy,
        /// The hub was ending.
        Ending,
    }
}

impl Wait {
    /// Returns the value for the cause of holding a call.
    pub fn of(cause: Cause) -> Self {
        match cause {
            Cause::Reloading => Self::Reload,
            Cause::Compiling => Self::Compile,
            Cause::Busy | Cause::Blocked | Cause::Stalled | Cause::Listing | Cause::Overload => Self::Queue,
            Cause::Connecting
            | Cause::Starting
            | Cause::Lost
            | Cause::BridgeStopped
            | Cause::Displaced
            | Cause::Crashed
            | Cause::ProcessGone
            | Cause::Closed
            | Cause::NotRunning
            | Cause::NoPackage
            | Cause::ProjectUnknown
            | Cause::BridgeDown
            | Cause::WrongPeer
            | Cause::WrongProject
            | Cause::Unproven
            | Cause::NoDescriptors
            | Cause::Forbidden
            | Cause::Ambiguous
            | Cause::ProjectUnsettled
            | Cause::ProjectChanged
            | Cause::UnknownTool
            | Cause::TooLarge
            | Cause::BadArguments
            | Cause::Policy
            | Cause::Audit
            | Cause::Unrecorded
            | Cause::ClientAway
            | Cause::Gateway
            | Cause::ShuttingDown => Self::Connect,
        }
    }
}

impl From<bridge::ConnectFailure> for DialResult {
    fn from(failure: bridge::ConnectFailure) -> Self {
        match failure {
            bridge::ConnectFailure::Refused => Self::Refused,
            bridge::ConnectFailure::Vanished => Self::Vanished,
            bridge::ConnectFailure::TimedOut => Self::TimedOut,
            bridge::ConnectFailure::WrongProject => Self::WrongProject,
            bridge::ConnectFailure::Unproven => Self::Unproven,
            bridge::ConnectFailure::WrongPeer => Self::WrongPeer,
            bridge::ConnectFailure::PermitHeld => Self::PermitHeld,
            bridge::ConnectFailure::NoDescriptors => Self::NoDescriptors,
            bridge::ConnectFailure::Forbidden => Self::Forbidden,
        }
    }
}

/// The reason for which a hub refuses a connection that does not say who it is. The other reasons are those of
/// [`Reason`].
pub const NO_HELLO: &str = "no_hello";
/// The value of the label of projects for all projects without their own series.
pub const OTHER: &str = "other";

pub(super) fn requests() -> Vec<Row> {
    pairs(&of::<Method>(), &outcomes())
}

pub(super) fn restarts() -> Vec<Row> {
    pairs(&parts(), &of::<restart::EndReason>())
}

pub(super) fn losses() -> Vec<&'static str> {
    of::<Loss>()
}

pub(super) fn refusals() -> Vec<&'static str> {
    of::<Reason>().into_iter().chain([NO_HELLO]).collect()
}

pub(super) fn clients() -> Vec<&'static str> {
    // A client of the table without a name cannot be recognised, so it is counted as unknown.
    let known = mcp::clients::known_clients().iter().filter(|client| !client.names.is_empty());
    let known = known.map(|client| client.label);
    known.chain([mcp::clients::UNKNOWN_CLIENT.name]).collect()
}

pub(super) fn verdicts_with_causes() -> Vec<Row> {
    use call::Verdict;
    let plain = [Verdict::Ok, Verdict::ToolError, Verdict::StillRunning, Verdict::Cancelled];
    let causes = Cause::VARIANTS.iter().map(|cause| Verdict::NotExecuted(*cause));
    let losses = Loss::VARIANTS.iter().map(|loss| Verdict::OutcomeUnknown(*loss));
    let all = plain.into_iter().chain(causes).chain(losses);
    all.map(|verdict| [verdict.label(), verdict.cause().unwrap_or("")]).collect()
}

/// Returns the parts that are supervisors.
pub(super) fn supervisors() -> Vec<&'static str> {
    [Part::Gateway, Part::Link].map(Into::into).to_vec()
}

/// Returns the machines of which each link or session has exactly one: the name, the states in the order of the chart,
/// and the first state. Supervisors and calls are not included, because there are several of them at a time. Their
/// effects have other metrics: restarts and escalations, verdicts and waits.
pub fn machine_states() -> [(&'static str, Vec<&'static str>, &'static str); 5] {
    fn of_machine<M: Machine>() -> (&'static str, Vec<&'static str>, &'static str)
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

pub(super) fn states() -> Vec<Row> {
    let machines = machine_states().into_iter();
    machines.flat_map(|(machine, states, _)| pairs(&[machine], &states)).collect()
}

/// Returns the states of all machines, including those of calls.
pub(super) fn all_states() -> Vec<Row> {
    states().into_iter().chain(pairs(&[call::Call::NAME], &of::<call::State>())).collect()
}
