//! The words of the seam between dialects and the rest: orders, frames' meanings, tools, answers. Values only.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Expected, InputSchema, Secret};
use crate::protocol::ids::CallId;
use crate::protocol::trace::TraceContext;

/// What is true of every editor that speaks a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Properties {
    /// Calls that may be outstanding at once on one connection. 1: the bridge works strictly in order.
    pub window: usize,
    /// The editor connects to a push listener of ours if the greeting names one.
    pub push: bool,
    /// The editor answers [`Order::Pulse`] off its main thread, whatever that is doing.
    pub pulse: bool,
    /// Bound of one encoded message to the editor, header included, in bytes.
    pub request_max_bytes: usize,
    /// Ports tried when nothing else names one, best first.
    pub default_ports: &'static [u16],
    /// How its bytes travel.
    pub transport: Transport,
}

/// How a dialect's bytes travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// One stream of bytes, which the dialect cuts into frames.
    Stream,
    /// HTTP/1.1, a connection for each request. The dialect's frames are lines: see [`http`](super::http).
    Http,
}

/// An HTTP service that a package's documents have beside its own server, and in whose place the gateway can listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Companion {
    /// It takes the logs that the editor posts.
    Logger,
    /// The HTTP API that the package's documents put between client and editor.
    DocumentedHop,
}

/// A tool that a package's own server answered by itself; so does the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackageTool {
    /// Waits until the editor is ready.
    WaitReady,
    /// Brings the editor's window to the front.
    FocusWindow,
    /// The late result of a call, by its id.
    Result,
    /// The newest entry of each log.
    Logs,
    /// The entries of one log.
    LogByName,
    /// What is known of one call, by its id.
    LogDetails,
    /// A text.
    Help(&'static str),
}

/// What the editor is told first on a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hello {
    /// This process of the gateway, among all others.
    pub gateway: String,
    /// Hex digits that were never used before.
    pub challenge: String,
    /// Who the editor must be.
    pub expected: Option<Expected>,
    /// The client's name, shown in the editor.
    pub client_name: String,
    /// The editor's port that was dialled.
    pub editor_port: u16,
    /// `127.0.0.1:PORT` of our push listener, if there is one.
    pub push_endpoint: Option<String>,
    /// What the editor must say on that listener with every message, where its dialect can.
    pub push_token: Secret,
}

/// One sending of a call.
#[derive(Debug, Clone, Copy)]
pub struct Sending<'a> {
    /// The call.
    pub call: CallId,
    /// 1 for the first time.
    pub nth: u8,
    /// Rises with every sending of this process.
    pub seq: u64,
    /// The journal that this connection's editor keeps ([`Met::journal`]).
    pub journal: Option<&'a str>,
    /// Files of the project can be read afterwards.
    pub project_known: bool,
    /// The version of the package in the project, if its files tell it.
    pub package_version: Option<&'a str>,
}

impl Sending<'_> {
    /// The first sending of a call to an editor without a journal.
    pub fn first(call: CallId, project_known: bool) -> Self {
        Self { call, nth: 1, seq: 1, journal: None, project_known, package_version: None }
    }
}

/// Under what an editor's journal knows a sending.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JournalKey {
    /// The journal: that of one process of the editor.
    pub journal: String,
    /// The sending's id there.
    pub id: String,
    /// [`Sending::seq`].
    pub seq: u64,
}

/// The identity of one message to the editor. Numbers rise over the life of the process and are never used twice, so a reply
/// of an older connection matches nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireId {
    /// Unique in this process.
    pub number: u64,
    /// The call it belongs to; part of the id on the wire where the dialect's ids can carry it, so that one word follows a
    /// call from the client to Unity's console.
    pub call: Option<CallId>,
}

/// A message to the editor.
#[derive(Debug, Clone, Copy)]
pub enum Order<'a> {
    /// The next message of the greeting.
    Greeting {
        /// What there is to tell.
        hello: &'a Hello,
        /// What the editor has said to the greeting so far.
        said: &'a [Reply],
    },
    /// The tool list, by the `step`-th of the dialect's known methods (0 first; see [`ListStep::TryNext`]).
    ListTools {
        /// Index into the dialect's ladder of list methods.
        step: usize,
        /// Ask for development-only tools too.
        development: bool,
    },
    /// A tool call.
    Call {
        /// The tool's own name in the editor.
        tool: &'a str,
        /// The call, made ready by [`Dialect::prepare_call`](super::Dialect::prepare_call).
        call: &'a PreparedCall,
        /// Whom the editor must be, where the dialect can ask.
        expected: Option<&'a Expected>,
        /// The client wants to hear how far it is.
        progress: bool,
    },
    /// What became of these sendings, where the editor keeps a journal ([`Met::journal`]).
    Outcomes(&'a [JournalKey]),
    /// This sending is not wanted any more; nothing answers it.
    Cancel(&'a JournalKey),
    /// How the editor is ([`Properties::pulse`]).
    Pulse,
}

/// A message from the editor.
#[derive(Debug)]
pub enum Inbound {
    /// A reply to the message with this number.
    Reply {
        /// The [`WireId::number`] it answers.
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
pub struct Pulse {
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
    /// Which tools it has ([`ToolListing::revision`]).
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

/// A tool of the editor, normalised: the same shape for every dialect, and the shape of the catalogue on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditorTool {
    /// The tool's own name in the editor.
    pub name: String,
    /// What it does, in the editor's words.
    pub description: String,
    /// JSON Schema of its arguments: `type: object`.
    pub input_schema: InputSchema,
    /// MCP annotations; all four are always known.
    pub annotations: Annotations,
    /// Hidden unless development tools are asked for.
    #[serde(default)]
    pub development_only: bool,
    /// A call that may have run may be sent again: declared read-only or idempotent.
    #[serde(default)]
    pub repeatable: bool,
    /// It may run while other calls run.
    #[serde(default)]
    pub parallel: bool,
    /// Its work goes on after a domain reload that cuts it.
    #[serde(default)]
    pub resumable: bool,
}

/// MCP tool annotations (hints), all stated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// A name for people.
    pub title: String,
    /// It changes nothing.
    pub read_only_hint: bool,
    /// It may destroy something.
    pub destructive_hint: bool,
    /// Calling it again changes nothing more.
    pub idempotent_hint: bool,
    /// It reaches beyond the editor.
    pub open_world_hint: bool,
}

/// A tool list as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolListing {
    /// The usable tools, in the editor's order. A schema may have hundreds of kilobytes and is kept once, whoever lists it.
    pub tools: Vec<Arc<EditorTool>>,
    /// What of it is the same as long as the tools are, if the editor says so.
    pub revision: Option<String>,
    /// The unusable ones: name (or position) and reason. One bad tool never takes the list with it.
    pub dropped: Vec<(String, String)>,
}

/// What a reply to [`Order::ListTools`] means.
#[derive(Debug)]
pub enum ListStep {
    /// The list.
    Tools(ToolListing),
    /// This editor does not know that method: ask again with the next step.
    TryNext,
    /// No list can be had; the reason in words.
    Failed(String),
}

/// How the outcome of a call may still be learned when its connection ends before its reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovery {
    /// Not at all.
    None,
    /// The editor writes the result into a file of the project.
    ResultFile {
        /// Path of the file below the project root.
        path: String,
        /// While one of these files exists the editor is not done.
        busy_files: &'static [&'static str],
        /// For how long none of them may exist.
        quiet: Duration,
    },
    /// The editor's journal knows it by this.
    Journal(JournalKey),
    /// Only that the editor came back can be told: the reload it caused followed.
    Inferred,
}

/// A call ready to be encoded.
#[derive(Debug)]
pub struct PreparedCall {
    /// The arguments as they are sent.
    pub arguments: Box<RawValue>,
    /// How its outcome may be learned after a cut.
    pub recovery: Recovery,
    /// The tool's own time limit, if an argument or its default says one.
    pub timeout: Option<Duration>,
    /// The time limit that the editor is told, in place of the tool's own.
    pub limit: Option<Duration>,
    /// A domain reload may follow its answer, without a word.
    pub reload_follows: bool,
    /// The trace that it is part of, for a dialect that has a place for it.
    pub trace: Option<Arc<TraceContext>>,
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

impl PreparedCall {
    /// A call that is sent as it was given, and of which nothing more is known.
    pub fn as_given(arguments: &RawValue) -> Self {
        Self {
            arguments: arguments.to_owned(),
            recovery: Recovery::None,
            timeout: None,
            limit: None,
            reload_follows: false,
            trace: None,
        }
    }
}

/// An editor's answer to a call, ready for the client.
#[derive(Debug, Clone)]
pub struct EditorAnswer {
    /// The editor says that the tool failed.
    pub is_error: bool,
    /// What it answered.
    pub body: AnswerBody,
}

impl EditorAnswer {
    /// The same with a remark of the gateway's behind it.
    #[must_use]
    pub fn with_note(self, note: &str) -> Self {
        let block = || serde_json::value::to_raw_value(&serde_json::json!({"type": "text", "text": note})).ok();
        let body = match self.body {
            AnswerBody::Text(text) => AnswerBody::Text(format!("{text}\n\n{note}")),
            AnswerBody::Json(json) => AnswerBody::JsonAndBlocks(json, block().into_iter().collect()),
            AnswerBody::Blocks(blocks) => AnswerBody::Blocks(blocks.into_iter().chain(block()).collect()),
            AnswerBody::JsonAndBlocks(json, blocks) => {
                AnswerBody::JsonAndBlocks(json, blocks.into_iter().chain(block()).collect())
            }
        };
        Self { body, ..self }
    }
}

/// The body of an [`EditorAnswer`].
#[derive(Debug, Clone)]
pub enum AnswerBody {
    /// Any JSON value, as the editor wrote it (numbers untouched).
    Json(Box<RawValue>),
    /// A text.
    Text(String),
    /// Content blocks in MCP's own shape.
    Blocks(Vec<Box<RawValue>>),
    /// A JSON value, and content blocks beside it.
    JsonAndBlocks(Box<RawValue>, Vec<Box<RawValue>>),
}
