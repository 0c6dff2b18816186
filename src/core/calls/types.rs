//! The values that the ledger takes, returns and keeps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use strum::VariantNames as _;
use tokio::time::Instant;

use crate::core::age;
use crate::fsm::call::{State, Verdict};
use crate::fsm::cause::Cause;
use crate::limits::{PATIENCE_MARGIN, RUNNING_MAX};
use crate::protocol::crossing::{self, Label};
use crate::protocol::dialect::{EditorAnswer, Heartbeat, JournalKey, Recovery};
use crate::protocol::ids::{CallId, RequestKey, SessionId};
use crate::protocol::mcp::{AnswerForm, ClientInfo, ClientProfile, ProtocolVersion};
use crate::protocol::policy::Grounds;
use crate::protocol::trace::TraceContext;

/// The project that calls are for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    /// It is not known yet which project is wanted. No call is sent until it is.
    Asked,
    /// This project is wanted. `None`: there is no project; then only a port that the user named may be used.
    Settled(Option<PathBuf>),
}

impl Default for Wanted {
    fn default() -> Self {
        Self::Settled(None)
    }
}

impl Wanted {
    /// Returns the wanted project. `None` if it is not known yet, or if there is no project.
    pub fn project(&self) -> Option<&Path> {
        match self {
            Self::Settled(project) => project.as_deref(),
            Self::Asked => None,
        }
    }

    /// Whether `project` is wanted, or may turn out to be the wanted project.
    pub fn may_be(&self, project: Option<&Path>) -> bool {
        *self == Self::Asked || self.is(project)
    }

    /// Whether calls may be sent to the editor of `project`. `None` is the unknown project of an editor on a port that the user
    /// named.
    pub fn is(&self, project: Option<&Path>) -> bool {
        matches!(self, Self::Settled(wanted) if wanted.as_deref() == project)
    }
}

/// A call as a session passes it to the ledger.
#[derive(Debug)]
pub struct NewCall {
    /// The call's id inside holdfast.
    pub id: CallId,
    /// The client's request, which the call's result will answer.
    pub request: RequestKey,
    /// The tool's name as the client knows it.
    pub tool: String,
    /// The arguments: a JSON object.
    pub arguments: Arc<RawValue>,
    pub progress_token: Option<Box<RawValue>>,
    pub trace: Option<Arc<TraceContext>>,
    /// Who made the request: named by the request itself, or the client of a routed session. `None`: the client over stdin.
    pub requester: Option<Arc<ClientInfo>>,
    /// Whether the call may run in parallel with others; false if that is not known.
    pub parallel: bool,
    /// How long the client waits for an answer.
    pub patience: Duration,
    /// How long the client had waited when the call reached the ledger.
    pub waited: Duration,
    /// The client profile that the answer is written for.
    pub profile: ClientProfile,
    pub form: AnswerForm,
}

/// A call that an earlier gateway sent, and whose outcome is to be looked for.
#[derive(Debug)]
pub struct RecoveredCall {
    pub id: CallId,
    pub tool: Arc<str>,
    pub project: Option<PathBuf>,
    /// How the outcome may be learned.
    pub recovery: Recovery,
    /// The client profile that the answer is written for.
    pub profile: ClientProfile,
    /// Who made the request.
    pub requester: Arc<ClientInfo>,
    /// Whether the call was sent under another name than this gateway has.
    pub of_another_gateway: bool,
}

/// What is known about a call when it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// How the outcome may be learned after a loss.
    pub recovery: Recovery,
    /// The tool's own time limit; zero if it has none.
    pub tool_timeout: Duration,
    /// Whether the live tool list declares the tool read-only or idempotent. A list from disk is not enough: it may come from
    /// another version of the tool.
    pub repeatable: bool,
}

impl Terms {
    /// Returns how long the call may run before its client is answered "still running".
    pub fn running_max(&self) -> Duration {
        RUNNING_MAX.max(self.tool_timeout + PATIENCE_MARGIN)
    }
}

/// A held call that a connection has reserved and is about to send.
#[derive(Debug, Clone)]
pub struct HeldCall {
    pub id: CallId,
    pub request: RequestKey,
    /// The client profile that the answer is written for.
    pub profile: ClientProfile,
    /// The tool's name as the client knows it.
    pub tool: Arc<str>,
    pub arguments: Arc<RawValue>,
    /// How often the call was sent, this time included.
    pub nth: u8,
    /// Whether the client wants progress notifications.
    pub progress: bool,
    pub trace: Option<Arc<TraceContext>>,
    /// Who made the request: named by the request itself, or the client of a routed session. `None`: the client over stdin.
    pub requester: Option<Arc<ClientInfo>>,
}

#[derive(Debug, Clone)]
pub struct ProgressNews {
    pub token: Arc<RawValue>,
    /// The value, which rises with each report of the same call.
    pub progress: f64,
    /// The final value, if the tool knows it.
    pub total: Option<f64>,
    /// What the call waits for or does.
    pub message: String,
}

/// An order that the caller must carry out after it has released the ledger's lock.
#[derive(Debug)]
pub enum Settlement {
    /// Answer the client's request.
    Answer(Box<Answer>),
    /// Report progress, so that the client knows that its call is alive.
    Progress {
        /// The call's request. No progress is reported once it is answered.
        request: RequestKey,
        news: ProgressNews,
        /// The MCP version to write it in.
        version: ProtocolVersion,
    },
    /// A call is held again or may be sent now: the bridge must order a connection to send it.
    HeldAgain,
    /// Tell the editor that nobody waits for one of its calls any more.
    Withdraw {
        call: CallId,
        /// The call's key at the editor, if it has one.
        key: Option<JournalKey>,
    },
    /// Pass a late answer to [`Ledger::keep`](super::Ledger::keep).
    KeepLate {
        call: CallId,
        /// The project that the call was for, if one was known.
        project: Option<PathBuf>,
        answer: EditorAnswer,
        profile: ClientProfile,
    },
    /// Log that a call ended without an answer to its client, or that its record changed.
    Noted {
        call: CallId,
        /// The session that made the call.
        session: SessionId,
        tool: Arc<str>,
        /// How the call ended.
        verdict: Verdict,
        /// Who made the request, as in [`NewCall::requester`].
        requester: Option<Arc<ClientInfo>>,
        /// The project that the call was for, if one was known.
        project: Option<PathBuf>,
    },
}

/// An answer to write to a client.
#[derive(Debug)]
pub struct Answer {
    pub request: RequestKey,
    pub call: CallId,
    /// The trace that the call is part of.
    pub trace: Option<Arc<TraceContext>>,
    /// Who made the request: named by the request itself, or the client of a routed session. `None`: the client over stdin.
    pub requester: Option<Arc<ClientInfo>>,
    pub tool: Arc<str>,
    /// How the call ended.
    pub verdict: Verdict,
    /// The editor's answer, for `ok` and `tool_error`.
    pub body: Option<EditorAnswer>,
    /// The time from the client's request until now.
    pub took: Duration,
    /// If this call was held until now: the oldest other call that had a place at the editor, and for how long.
    pub behind: Option<(CallId, Arc<str>, Duration)>,
    /// The time from the loss of the connection until now, if the editor is back.
    pub came_back: Option<Duration>,
    /// Whether the connection was lost and no other cause than a domain reload is known for that.
    pub reload_likely: bool,
    /// Whether the call was sent and an editor said that it did not run.
    pub unrun: bool,
    /// The refusal, if the policy or the audit refused the call.
    pub refused: Option<Box<Refused>>,
    /// What is known of the editor, if the call is not answered by it.
    pub known: Option<Box<Known>>,
    /// Whether an earlier gateway sent the call, and its client came back for the answer.
    pub taken_over: bool,
    /// The project that the call was for, if one was known.
    pub project: Option<PathBuf>,
    /// The client profile that the answer is written for.
    pub profile: ClientProfile,
    pub form: AnswerForm,
}

/// What is known of the editor when a call is answered without it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// What the connected editor says that keeps it from taking calls.
    pub obstacle: Option<Arc<str>>,
    /// The last heartbeat of the connected editor, and its age.
    pub heartbeat: Option<(Heartbeat, Duration)>,
    /// Why the editor's process is gone, if it is known to be.
    pub gone: Option<Cause>,
}

/// A call that the policy or the audit refused.
#[derive(Debug, Clone)]
pub struct Refused {
    /// Why the call was refused.
    pub grounds: Grounds,
    pub arguments: Arc<RawValue>,
}

/// A claim, for the log and the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// How long the call waited to be sent: since the client's request, or since the loss of the call's last connection.
    pub waited: Duration,
    /// The cause that the call waited for last.
    pub waited_for: Cause,
    /// How often the call was sent, this time included.
    pub nth: u8,
    /// Whether the call was sent before on a connection that was lost.
    pub lost: bool,
    /// Whether the tool was declared repeatable at the sending before this one.
    pub repeatable: bool,
}

/// Counts of events that should never happen. No decision depends on them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surprises {
    /// Calls that were answered a second time.
    pub answered_twice: u64,
    /// The number of events that a call's state does not handle, by state.
    pub undecided: BTreeMap<&'static str, u64>,
}

/// Why a claim was refused: no byte may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimRefused {
    EpochClosed,
    /// The call is not held any more: it was cancelled, answered or already claimed.
    NotHeld,
    /// The call's hold limit has passed.
    LimitPassed,
    /// The connection leads to an editor of another project than the wanted one.
    NotWanted,
    /// The call was meant for another project than the one that is now wanted, so it can never be sent.
    OtherProject,
}

/// A call as `holdfast_calls` and `holdfast_result` show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub id: CallId,
    pub tool: Arc<str>,
    #[serde(deserialize_with = "state")]
    pub state: Label,
    /// How the call ended, if it has ended.
    pub verdict: Option<Verdict>,
    /// The cause that the call waits for, while it is held.
    pub waits_for: Option<Cause>,
    #[serde(with = "age")]
    pub accepted: Instant,
    #[serde(default, with = "age::some")]
    pub sent: Option<Instant>,
    /// When the client was answered, or when the call ended without an answer.
    #[serde(default, with = "age::some")]
    pub ended: Option<Instant>,
    /// Whether the answer is the editor's refusal, so that the call did not run.
    #[serde(default)]
    pub unrun: bool,
    /// Only for the ledger that keeps the result. Another process asks that ledger ([`Lookup`]) and has `None` here.
    #[serde(skip)]
    pub(super) late: Late,
}

/// Reads the state of a record, which is only shown.
fn state<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Label, D::Error> {
    crossing::shown(deserializer, State::VARIANTS.iter().copied())
}

/// Why the result of an ended call is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Its client does not have it, and may ask for it.
    Owed,
    /// It was written to a connection that does not tell whether its client got it. However many there are, none of them takes
    /// the place of a result that is owed.
    Written,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Late {
    #[default]
    None,
    /// The late result has arrived and is about to be kept.
    Rendering,
    Kept(Arc<str>, Instant, Keep),
    Expired,
}

/// The result of looking up a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lookup {
    /// No such call is on record.
    Unknown,
    /// The call has not ended, or its late result is about to be kept.
    Open(Record),
    /// The call ended, and nothing but that is kept of it.
    Ended(Record),
    /// The result that is kept, as the JSON of an MCP result.
    Kept(Arc<str>),
    /// The call had a result that was kept, which was dropped for its age or size.
    Expired(Record),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_a_ledger_keeps_of_a_result_stays_with_it() {
        let now = Instant::now();
        let late = Late::Kept("{}".into(), now, Keep::Owed);
        let record = Record {
            id: CallId::from_random([7; 16]),
            tool: "compile".into(),
            state: State::Abandoned.into(),
            verdict: Some(Verdict::StillRunning),
            waits_for: None,
            accepted: now - Duration::from_secs(9),
            sent: Some(now - Duration::from_secs(8)),
            ended: Some(now - Duration::from_millis(1)),
            unrun: false,
            late,
        };
        let back: Record = serde_json::from_str(&serde_json::to_string(&record).unwrap()).unwrap();
        assert_eq!(back.late, Late::None);
        assert_eq!(back, Record { late: Late::None, ..record });
    }
}
