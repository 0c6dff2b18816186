//! What the ledger takes, gives and remembers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::fsm::call::Verdict;
use crate::fsm::cause::Cause;
use crate::limits::{PATIENCE_MARGIN, RUNNING_MAX};
use crate::protocol::dialect::{EditorAnswer, JournalKey, Recovery};
use crate::protocol::ids::{CallId, RequestKey};
use crate::protocol::mcp::{ClientInfo, ClientProfile, ProtocolVersion};
use crate::protocol::policy::Grounds;
use crate::protocol::trace::TraceContext;

/// A call as the session hands it over.
#[derive(Debug)]
pub struct NewCall {
    /// Its identity from here on.
    pub id: CallId,
    /// The client's request it answers.
    pub request: RequestKey,
    /// The tool's name as the client knows it.
    pub tool: String,
    /// The arguments: a JSON object.
    pub arguments: Arc<RawValue>,
    /// The client's progress token.
    pub progress_token: Option<Box<RawValue>>,
    /// The trace that it is part of.
    pub trace: Option<Arc<TraceContext>>,
    /// Who asked, where the request says so itself; else it is the client that opened the session.
    pub requester: Option<Arc<ClientInfo>>,
    /// It may run while other calls run, as far as is known.
    pub parallel: bool,
    /// How long the client waits for an answer.
    pub patience: Duration,
    /// For whom its answer is written.
    pub profile: ClientProfile,
}

/// What is known of a call when it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// How its outcome may be learned after a loss.
    pub recovery: Recovery,
    /// The tool's own time limit; zero if it has none.
    pub tool_timeout: Duration,
    /// The live list declares it read-only or idempotent. A list from disk proves nothing: it may be of another version.
    pub repeatable: bool,
}

impl Terms {
    /// How long it may run before the client is told that it still does.
    pub fn running_max(&self) -> Duration {
        RUNNING_MAX.max(self.tool_timeout + PATIENCE_MARGIN)
    }
}

/// A held call that the bridge is about to send.
#[derive(Debug, Clone)]
pub struct HeldCall {
    /// Its identity.
    pub id: CallId,
    /// The tool's name as the client knows it.
    pub tool: Arc<str>,
    /// The arguments.
    pub arguments: Arc<RawValue>,
    /// 1 if it was never sent before.
    pub nth: u8,
    /// The client wants to hear how far it is.
    pub progress: bool,
    /// The trace that it is part of.
    pub trace: Option<Arc<TraceContext>>,
    /// Who asked, where the request says so itself; else it is the client that opened the session.
    pub requester: Option<Arc<ClientInfo>>,
}

/// One piece of news of a call's progress.
#[derive(Debug, Clone)]
pub struct ProgressNews {
    /// The client's token.
    pub token: Arc<RawValue>,
    /// Strictly rising within a call.
    pub progress: f64,
    /// What that rises to, if the tool knows.
    pub total: Option<f64>,
    /// What it waits for, or does.
    pub message: String,
}

/// Something the caller must carry out after the lock is free.
#[derive(Debug)]
pub enum Settlement {
    /// Answer the client's request.
    Answer(Answer),
    /// Tell the client that its call is alive.
    Progress {
        /// The request it belongs to: nothing is said of it once that is answered.
        request: RequestKey,
        /// What it is told.
        news: ProgressNews,
        /// The version to write it in.
        version: ProtocolVersion,
    },
    /// A call that was cut is held once more: somebody has to send it.
    HeldAgain,
    /// The editor has a call that nobody waits for any more.
    Withdraw {
        /// Under what it knows it.
        key: JournalKey,
    },
    /// A late answer came; render it and give it back with [`Ledger::keep_late`](super::Ledger::keep_late).
    KeepLate {
        /// Whose.
        call: CallId,
        /// The project that it was for; see [`Answer::project`].
        project: Option<PathBuf>,
        /// What the editor answered.
        answer: EditorAnswer,
        /// For whom it is written.
        profile: ClientProfile,
    },
    /// A call ended without an answer being owed, or its record changed: for the log.
    Noted {
        /// Whose.
        call: CallId,
        /// Which tool.
        tool: Arc<str>,
        /// How.
        verdict: Verdict,
        /// Who asked; see [`NewCall::requester`].
        requester: Option<Arc<ClientInfo>>,
        /// The project that it was for; see [`Answer::project`].
        project: Option<PathBuf>,
    },
}

/// An answer to be written.
#[derive(Debug)]
pub struct Answer {
    /// The client's request.
    pub request: RequestKey,
    /// The call.
    pub call: CallId,
    /// The trace that it is part of.
    pub trace: Option<Arc<TraceContext>>,
    /// Who asked, where the request says so itself; else it is the client that opened the session.
    pub requester: Option<Arc<ClientInfo>>,
    /// Its tool.
    pub tool: Arc<str>,
    /// How it ended.
    pub verdict: Verdict,
    /// The editor's answer, for `ok` and `tool_error`.
    pub body: Option<EditorAnswer>,
    /// From the client's request until now.
    pub took: Duration,
    /// The call that has the editor's only place, and since when, if that is why this one waited.
    pub behind: Option<(CallId, Duration)>,
    /// The editor came back this long after the connection was lost.
    pub came_back: Option<Duration>,
    /// Nothing says that it was away for another cause than a domain reload.
    pub reload_likely: bool,
    /// It was sent, and an editor says that nothing of it ran.
    pub unrun: bool,
    /// Why it was refused, where its cause does not tell all.
    pub refused: Option<Box<Refused>>,
    /// The project that it was for, if one was known.
    pub project: Option<PathBuf>,
    /// For whom it is written.
    pub profile: ClientProfile,
}

/// A call that was refused on the user's word.
#[derive(Debug, Clone)]
pub struct Refused {
    /// Why.
    pub grounds: Grounds,
    /// What it was to be called with.
    pub arguments: Arc<RawValue>,
}

/// A claim, for the log and the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    /// From the client's request, or from the loss if it was lost, until now.
    pub waited: Duration,
    /// What for, last.
    pub waited_for: Cause,
    /// 1 for the first time.
    pub nth: u8,
    /// It was sent before on a connection that was lost.
    pub lost: bool,
    /// It was declared repeatable when it was sent before.
    pub repeatable: bool,
}

/// What should never be seen. Only counted: nothing is decided by it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surprises {
    /// Calls that were answered a second time.
    pub answered_twice: u64,
    /// Events that no state of a call decides, by the state.
    pub undecided: BTreeMap<&'static str, u64>,
}

/// Why a claim was refused. Nothing may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimRefused {
    /// The connection's epoch is closed.
    EpochClosed,
    /// The call is not held any more (cancelled, answered, claimed by another).
    NotHeld,
    /// It was held as long as it may be.
    LimitPassed,
    /// The connection leads to another project's editor than is wanted now.
    NotWanted,
    /// The call was meant for another project than the connection's: it can never be sent on it.
    OtherProject,
}

/// A call as `holdfast_calls` and `holdfast_result` show it.
#[derive(Debug, Clone)]
pub struct Record {
    /// The call.
    pub id: CallId,
    /// Its tool.
    pub tool: Arc<str>,
    /// Its state's label.
    pub state: &'static str,
    /// How it ended, if it has.
    pub verdict: Option<Verdict>,
    /// What it waits for, while it is held.
    pub waits_for: Option<Cause>,
    /// When it was accepted.
    pub accepted: Instant,
    /// When it was sent, if it was.
    pub sent: Option<Instant>,
    /// When the client was answered.
    pub ended: Option<Instant>,
    /// Its answer is the editor's refusal: nothing of it ran.
    pub unrun: bool,
    pub(super) late: Late,
}

#[derive(Debug, Clone)]
pub(super) enum Late {
    None,
    /// It came, and is being brought into its shape.
    Rendering,
    Kept(Arc<str>, Instant),
    Expired,
}

/// What is known of a call's result.
#[derive(Debug, Clone)]
pub enum Lookup {
    /// No such call is on record.
    Unknown,
    /// It is not finished.
    Open(Record),
    /// It ended, and its answer went to the client then.
    Ended(Record),
    /// Its late result: the MCP result JSON.
    Late(Record, Arc<str>),
    /// It had a late result, which was dropped for age or space.
    Expired(Record),
}
