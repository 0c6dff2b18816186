//! What comes from the editor: replies, events, progress, pushes, and what its journal says.

use std::time::Duration;

use serde_json::value::RawValue;

use crate::protocol::ids::CallId;

/// A message from the editor.
#[derive(Debug)]
pub enum Inbound {
    /// A reply to the message with this number.
    Reply {
        /// The [`WireId::number`](super::WireId::number) it answers.
        number: u64,
        /// What it says.
        reply: Reply,
    },
    /// Something that happened in the editor.
    Event(EditorEvent),
    /// How far a call is.
    Progress(CallProgress),
    /// A reply to nothing of ours (unknown, null or odd id), or a notification that is not known: counted and dropped.
    Unmatched {
        /// What it claimed to be, cut and escaped for a log.
        what: String,
    },
}

/// How far a running call is, in its tool's own measure.
#[derive(Debug, Clone, PartialEq)]
pub struct CallProgress {
    /// The call.
    pub call: CallId,
    /// How far: finite and not negative.
    pub done: f64,
    /// Of how much, if the tool knows.
    pub total: Option<f64>,
    /// What it is doing.
    pub message: Option<String>,
}

/// A reply of the editor.
#[derive(Debug)]
pub enum Reply {
    /// The result, as the editor wrote it.
    Result(Box<RawValue>),
    /// An error object.
    Error(EditorError),
}

/// An error object of the editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorError {
    /// JSON-RPC code.
    pub code: i64,
    /// The message, and what its data adds, as one text for a person or an AI.
    pub message: String,
    /// Set if the editor refused before it ran anything: a fact the text may state.
    pub refusal: Option<Refusal>,
}

/// What a refusal of the editor means for the call, of which nothing has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// It stays refused (security settings, unknown or disabled tool, arguments).
    Final,
    /// The editor is about to leave: the call can be sent to its next connection.
    Leaving,
    /// It is not the editor that was meant (another project, another session).
    WrongEditor,
    /// The editor has this sending already: nothing of the second ran, and the first is answered for itself.
    Double,
}

/// Something that happened in the editor, told on the bridge connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EditorEvent {
    /// The tool list changed, or the editor is ready again.
    ToolsChanged,
    /// The editor is about to close the connection.
    Leaving(LeaveReason),
    /// It is in another state.
    State(EditorState),
    /// A call of an earlier connection has ended: its outcome can be asked for.
    Settled,
}

/// What an editor says it is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::EnumString)]
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
    /// A state that is not known.
    Unknown,
}

/// How an editor is, told off its main thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heartbeat {
    /// What it says it is doing.
    pub state: EditorState,
    /// Since its last frame. Growing while nothing runs: it imports, compiles or shows a modal dialog.
    pub frame_age: Duration,
    /// It has the keyboard.
    pub focused: bool,
    /// It imports assets.
    pub importing: bool,
    /// The last compilation had errors.
    pub compile_errors: bool,
    /// Calls that wait for its main thread, of all clients.
    pub queued: u32,
    /// Calls that run, of all clients.
    pub running: u32,
}

/// What the answers to the greeting mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Greeted {
    /// Another message is due.
    NotYet,
    /// It is the right editor.
    Done(Met),
}

/// What the greeting told of the editor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Met {
    /// The journal it keeps: one process's. Another name is another journal, which knows nothing of the first.
    pub journal: Option<String>,
    /// Which tools it has ([`ToolListing::revision`](super::ToolListing::revision)).
    pub tools_revision: Option<String>,
    /// The domain it is in: another number in the same process means that it has reloaded, the same that it has not.
    pub domain: Option<u64>,
}

/// Why an editor leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum LeaveReason {
    /// It reloads its domain and comes back.
    Reload,
    /// It quits.
    Quit,
    /// Its user stopped the bridge; the editor goes on.
    Stopped,
    /// It stops its bridge and says nothing more exact.
    Unknown,
}

/// A push message: a hint, which anybody on this machine can send. It may refresh, shorten a wait, or name a reload where nothing says
/// otherwise; it never closes or delays anything, and never makes calls be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum PushEvent {
    /// The editor attached its push connection.
    ConnectionEstablished,
    /// A domain reload begins.
    DomainReload,
    /// A domain reload is over.
    DomainReloadRecovered,
    /// The tool list changed.
    ToolsChanged,
    /// The user stopped the bridge.
    UserDisconnect,
    /// The editor shuts down.
    UnityShutdown,
    /// A type that is not known: counted, ignored.
    Unknown,
}

impl PushEvent {
    /// The event of this type, as the editor's side of every push protocol spells it.
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

/// What a journal says of a sending.
#[derive(Debug, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum JournalOutcome {
    /// It ended with this reply.
    Ended(Reply),
    /// It ended, but its reply was let go; why, in words.
    EndedUnkept(String),
    /// It waits or runs; its end will be told ([`EditorEvent::Settled`]).
    Running,
    /// It has not run and will not.
    NotRun,
    /// It had begun, and a domain reload cut it: there is no result.
    Interrupted,
    /// The journal cannot tell.
    Forgotten,
}
