//! What the editor sends: replies, events, progress, push messages, and the answers of its journal.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Wreck;
use crate::limits::HEARTBEAT_LATE;
use crate::protocol::crossing::millis;
use crate::protocol::ids::CallId;

/// A message from the editor.
#[derive(Debug)]
pub enum Inbound {
    /// A reply to the message with this number.
    Reply {
        /// The [`WireId::number`](super::WireId::number) of the message that is answered.
        number: u64,
        /// The content of the reply.
        reply: Reply,
    },
    /// A reply of an editor whose replies name no request: it answers the only one that is open. Where none is, requests and replies
    /// no longer go together, and the connection ends.
    Next(Reply),
    /// Something that happened in the editor.
    Event(EditorEvent),
    /// Progress of a call.
    Progress(CallProgress),
    /// The editor works on a request, and says no more than that, or how its main thread is.
    Alive(Option<Heartbeat>),
    /// A reply with an id that is not ours (unknown, null or malformed), a request, or an unknown notification: counted and
    /// dropped.
    Unmatched {
        /// What the message claims to be, shortened and escaped for a log.
        what: String,
    },
}

/// Progress of a running call, in the unit that its tool chose.
#[derive(Debug, Clone, PartialEq)]
pub struct CallProgress {
    /// The call.
    pub call: CallId,
    /// The progress so far: finite and not negative.
    pub done: f64,
    /// The value of `done` at the end, if the tool knows it.
    pub total: Option<f64>,
    /// What the tool is doing now.
    pub message: Option<String>,
}

/// A reply of the editor.
#[derive(Debug)]
pub enum Reply {
    /// The result, as the editor wrote it.
    Result(Box<RawValue>),
    /// An error object.
    Error(EditorError),
    /// A reply that cannot be read, or only in parts.
    Wreck(Wreck),
}

/// An error object of the editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorError {
    /// JSON-RPC code.
    pub code: i64,
    /// The message and the additions of the error's data, as one text for a person or an AI.
    pub message: String,
    /// Set only if the editor's package says that it refused the call before anything ran, and says so in a place that
    /// no tool can fill. Words that a tool could have written are no refusal.
    pub refusal: Option<Refused>,
}

/// A refusal by the editor's package, and the calls for which it is proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// What the refusal means for the call.
    pub how: Refusal,
    /// The calls for which the refusal is proof.
    pub of: RefusedCall,
}

/// The calls for which a refusal is proof. In the answer to any other call the refusal is that tool's own failure: a
/// tool may ask the package to run other tools, and is then refused itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefusedCall {
    /// Any call.
    Any,
    /// A call of this tool.
    Tool(String),
    /// A call of one of these tools.
    OneOf(&'static [&'static str]),
    /// A call that named the editor that it is for.
    NamesEditor,
}

impl Refused {
    /// Returns what the refusal means for a call of this tool; `None` if it is no proof for that call. `names_editor`: the call
    /// named the editor that it is for.
    pub fn for_call(&self, tool: &str, names_editor: bool) -> Option<Refusal> {
        let proves = match &self.of {
            RefusedCall::Any => true,
            RefusedCall::Tool(refused) => refused == tool,
            RefusedCall::OneOf(refused) => refused.contains(&tool),
            RefusedCall::NamesEditor => names_editor,
        };
        proves.then_some(self.how)
    }
}

/// What a refusal by the editor means for the call. Nothing of the refused message has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The same call would be refused again (security settings, unknown or disabled tool, arguments).
    Final,
    /// The editor is about to close the connection: the call can be sent on the next one.
    Leaving,
    /// The editor has another project open than the one that the call is for.
    OtherProject,
    /// The editor's server has begun anew since the call was made for it.
    OtherSession,
    /// The editor takes no calls for now, and decided so before it took this one: the call can be sent again when the editor says that
    /// it takes calls.
    Busy,
    /// As [`Busy`](Self::Busy), but only calls of some tools are kept off by what the editor does. Others are taken meanwhile.
    NotYet,
    /// The editor already has this attempt to send the call. The duplicate did not run; the first copy gets its own answer.
    Double,
}

/// Something that happened in the editor, reported on the bridge connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EditorEvent {
    /// The tool list changed, or the editor is ready again.
    ToolsChanged,
    /// The editor is about to close the connection.
    Leaving(LeaveReason),
    /// The editor's state has changed to this one.
    State(EditorState),
    /// A call of an earlier connection has ended: its outcome can now be asked for.
    Settled,
}

/// The state that an editor reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr, strum::EnumString)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum EditorState {
    /// Nothing special.
    Ready,
    /// In play mode.
    Playing,
    /// Compiling scripts.
    Compiling,
    /// Reloading its domain.
    Reloading,
    /// About to quit.
    Stopping,
    /// A state that holdfast does not know.
    #[serde(other)]
    Unknown,
}

/// The condition of an editor. A thread other than its main thread reports it, or it is inferred from what that thread answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Heartbeat {
    /// The state that the editor reports.
    pub state: EditorState,
    /// Time since the editor's last frame. If it grows while no call runs, the editor imports, compiles or shows a modal dialog.
    #[serde(with = "millis")]
    pub frame_age: Duration,
    /// Whether the editor has the keyboard focus.
    #[serde(default)]
    pub focused: bool,
    /// Whether the editor imports assets.
    #[serde(default)]
    pub importing: bool,
    /// Whether the last compilation had errors.
    #[serde(default)]
    pub compile_errors: bool,
    /// Number of calls that wait for the main thread, of all clients.
    #[serde(default)]
    pub queued: u32,
    /// Number of calls that run, of all clients.
    #[serde(default)]
    pub running: u32,
    /// Whether the editor does not tell of its main thread. Then `frame_age` is how long that thread has left a question, or a call
    /// of ours, without a word, `running` counts our calls only, and nothing is known of the focus, the queue and compile errors.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inferred: bool,
    /// How often the editor says so while it has a call, if it does so by itself. Zero: it is asked for it.
    #[serde(default, with = "millis", skip_serializing_if = "Duration::is_zero")]
    pub every: Duration,
}

impl Heartbeat {
    /// What is known of an editor that tells nothing of its main thread but this.
    pub fn inferred(state: EditorState, frame_age: Duration) -> Self {
        Self {
            state,
            frame_age,
            focused: false,
            importing: false,
            compile_errors: false,
            queued: 0,
            running: 0,
            inferred: true,
            every: Duration::ZERO,
        }
    }

    /// Whether a call without progress is all that tells of the main thread. That is no proof that the thread stands still.
    pub fn is_guessed(&self) -> bool {
        self.inferred && self.running > 0
    }

    /// Whether the editor should have been heard again, if this came so long `ago`.
    pub fn is_late(&self, ago: Duration) -> bool {
        ago >= HEARTBEAT_LATE.max(self.every * 2)
    }

    /// How long the main thread has had no frame, as far as is known so long after. Where the editor is heard of rarely, what came
    /// after its word is not known.
    pub fn still(&self, ago: Duration) -> Duration {
        if self.every.is_zero() { self.frame_age + ago } else { self.frame_age }
    }

    /// Whether the main thread has had no frame for this long although nothing that is known keeps it busy: no call, no
    /// import, no compile.
    pub fn stands_still(&self, old: Duration) -> bool {
        let is_quiet = matches!(self.state, EditorState::Ready | EditorState::Playing | EditorState::Unknown);
        is_quiet && self.frame_age >= old && !self.importing && self.running == 0
    }
}

/// How far a job is, as the editor says when it is asked for the job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobProgress {
    /// The progress so far: finite and not negative.
    pub done: f64,
    /// The value of `done` at the end, if it is known.
    pub total: Option<f64>,
    /// What the editor shows beside it.
    pub message: Option<String>,
}

/// Whether an editor takes calls, as it says when it is asked for its heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It takes calls, as far as it says.
    TakesCalls,
    /// It takes none. The text says what stands in the way, as a phrase: `the dialog "Save?" is open in Unity`.
    Blocked(Arc<str>),
}

impl Standing {
    /// Returns what stands in the way.
    pub fn obstacle(&self) -> Option<&str> {
        match self {
            Self::TakesCalls => None,
            Self::Blocked(by) => Some(by),
        }
    }
}

/// How far some work is, according to its file ([`Recovery::StatusFile`](super::Recovery::StatusFile)).
#[derive(Debug)]
pub enum WorkStatus {
    /// It has not ended.
    Runs {
        /// Whether it goes on after a domain reload.
        over_reload: bool,
    },
    /// It has ended.
    Ended {
        /// What its end means for the call that began it.
        reply: Reply,
        /// Whether a domain reload follows.
        reload_follows: bool,
    },
}

/// What the replies to the greeting mean so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Greeted {
    /// The greeting needs another message.
    NotYet,
    /// The greeting is complete: the peer is the right editor.
    Done(Met),
}

/// What the greeting says about the editor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Met {
    /// The name of the editor's journal, one for each editor process. A journal with another name knows nothing about the calls
    /// in this one.
    pub journal: Option<String>,
    /// The revision of the tool list ([`ToolListing::revision`](super::ToolListing::revision)).
    pub tools_revision: Option<String>,
    /// The number of the editor's domain. In the same process, another number means that the domain was reloaded, an equal number
    /// that it was not.
    pub domain: Option<u64>,
    /// Whether the editor takes calls, if it says so.
    pub standing: Option<Standing>,
    /// The number of the protocol that both sides speak, for a dialect that has such numbers. Each message names it.
    pub agreed: Option<u32>,
}

/// Why an editor closes the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum LeaveReason {
    /// The editor reloads its domain and returns.
    Reload,
    /// The editor quits.
    Quit,
    /// The user stopped the bridge; the editor keeps running.
    Stopped,
    /// The editor stops its bridge and gives no known reason.
    Unknown,
}

/// A push message. It is only a hint, because any program on this machine can send one. A hint may cause a refresh, shorten a
/// wait, or name a reload where nothing contradicts it. It never closes or delays anything and never makes a call fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum PushEvent {
    /// The editor opened its push connection.
    ConnectionEstablished,
    /// A domain reload begins.
    DomainReload,
    /// A domain reload has ended.
    DomainReloadRecovered,
    /// The tool list changed.
    ToolsChanged,
    /// The user stopped the bridge.
    UserDisconnect,
    /// The editor shuts down.
    UnityShutdown,
    /// An unknown type: counted and ignored.
    Unknown,
}

impl PushEvent {
    /// Returns the event for a `type` text. The texts are the same in every push protocol.
    pub fn named(kind: &str) -> Self {
        match kind {
            "CONNECTION_ESTABLISHED" => Self::ConnectionEstablished,
            "DOMAIN_RELOAD" => Self::DomainReload,
            "DOMAIN_RELOAD_RECOVERED" => Self::DomainReloadRecovered,
            "TOOLS_CHANGED" => Self::ToolsChanged,
            "USER_DISCONNECT" => Self::UserDisconnect,
            "UNITY_SHUTDOWN" => Self::UnityShutdown,
            _ => Self::Unknown,
        }
    }
}

/// What a journal says about one attempt to send a call.
#[derive(Debug, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum JournalOutcome {
    /// The attempt ended with this reply.
    Ended(Reply),
    /// The attempt ended, but the journal no longer has its reply. The text says why.
    EndedUnkept(String),
    /// The call waits or runs. The editor reports its end ([`EditorEvent::Settled`]).
    Running,
    /// The journal has no result yet, and does not say that the call waits or runs. A journal that was lost says the same.
    NotYet,
    /// The editor's own server waits for the call no longer, or failed: the call may still wait or run, and nobody will say how it ends.
    GivenUp,
    /// The call has not run and will not run.
    NotRun {
        /// Whether the journal says so because it did not know the call when it was asked.
        sealed: bool,
    },
    /// A domain reload interrupted the call while it ran: there is no result.
    Interrupted,
    /// The journal does not know the outcome.
    Forgotten,
    /// The journal's record of this attempt cannot be read.
    Unreadable,
}
