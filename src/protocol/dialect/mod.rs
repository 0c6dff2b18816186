//! A dialect is one Unity package's wire protocol, as a pure value: where its files lie, how bytes are framed, how tools are
//! listed and called, and what its frames mean. Machines and actors know no dialect by name, only its [`Properties`].

pub mod uloop;

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::framing::Framer;
use super::ids::CallId;

/// What is true of every editor that speaks a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Properties {
    /// Calls that may be outstanding at once on one connection. 1: the bridge works strictly in order.
    pub window: usize,
    /// The editor connects to a push listener of ours if the greeting names one.
    pub push: bool,
    /// The editor keeps a journal of calls across reloads and can be asked for an outcome.
    pub journal: bool,
    /// Bound of one encoded message to the editor, header included, in bytes.
    pub request_max_bytes: usize,
    /// Port tried when nothing else names one.
    pub default_port: Option<u16>,
}

/// A file of a Unity project that tells something about its editor. Paths are relative to the project root, with `/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProjectFile {
    /// Path below the project root.
    pub path: &'static str,
    /// Whether the content matters or only that the file is there.
    pub content: bool,
}

/// What was found of one [`ProjectFile`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// There is no such file.
    Missing,
    /// It is there, but its content was not asked for.
    Present,
    /// It is there, with this content.
    Content(Vec<u8>),
    /// It is there and cannot be read; the reason in words.
    Unreadable(String),
}

/// The files of one project, by their path as the dialect named it.
pub type ProjectFiles = BTreeMap<&'static str, FileState>;

/// What a project's files say about its editor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectFacts {
    /// The package is part of the project, as far as its files tell.
    pub installed: bool,
    /// The package's version, if the files tell it.
    pub package_version: Option<String>,
    /// The port the package is set to, and the file that says so.
    pub port: Option<(u16, &'static str)>,
    /// The pid of the project's editor.
    pub editor_pid: Option<u32>,
    /// The version of Unity that this editor is.
    pub editor_version: Option<String>,
    /// Whom the editor must prove to be when it is called.
    pub expected: Option<Expected>,
    /// What lock files say the editor is doing.
    pub activity: Option<Activity>,
    /// What is wrong with the files, one sentence each with the mend.
    pub problems: Vec<String>,
}

/// The identity an editor is asked to check before it runs a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The project root as the editor's own settings spell it.
    pub project_root: String,
    /// The editor's server session.
    pub server_session_id: String,
}

/// What an editor is doing, from its lock files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Activity {
    /// Compiling scripts.
    Compiling,
    /// Reloading its domain.
    Reloading,
    /// Its bridge is starting.
    Starting,
}

/// What the editor is told first on a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The client's name, shown in the editor.
    pub client_name: String,
    /// The editor's port that was dialled.
    pub editor_port: u16,
    /// `127.0.0.1:PORT` of our push listener, if there is one.
    pub push_endpoint: Option<String>,
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
    /// The first message of a connection.
    Greeting(&'a Hello),
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
        /// The arguments: a JSON object.
        arguments: &'a RawValue,
        /// Whom the editor must be, where the dialect can ask.
        expected: Option<&'a Expected>,
    },
}

/// Why an order cannot be put on the wire. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The encoded message is larger than the editor accepts.
    #[error("the request has {bytes} bytes on the wire, more than the {max} that the editor accepts")]
    TooLarge {
        /// Encoded size, header included.
        bytes: usize,
        /// The bound.
        max: usize,
    },
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
    /// A reply to nothing of ours (unknown, null or odd id), or a notification that is not known: counted and dropped.
    Unmatched {
        /// What it claimed to be, cut and escaped for a log.
        what: String,
    },
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
    /// The editor refused before it ran anything (security settings, unknown or disabled tool, wrong project): a fact the
    /// text may state.
    pub refused: bool,
    /// The editor says that it is not the one we expect (another project, another session).
    pub wrong_editor: bool,
}

/// Something that happened in the editor, told on the bridge connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EditorEvent {
    /// The tool list changed, or the editor is ready again.
    ToolsChanged,
    /// The editor is about to close the connection.
    Leaving(LeaveReason),
}

/// Why an editor leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum LeaveReason {
    /// It reloads its domain and comes back.
    Reload,
    /// It quits.
    Quit,
    /// It stops its bridge and says nothing more exact.
    Unknown,
}

/// A push message: a hint. It may refresh, shorten a wait or name a cause; it never closes, holds or delays anything.
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

/// Why a message is not one of the dialect. The connection has a wrong peer or a broken one and is closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum BadMessage {
    /// Not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// Not JSON.
    #[error("not JSON")]
    NotJson,
    /// Nested deeper than the bound.
    #[error("nested too deep")]
    TooDeep,
    /// JSON, but no message of this dialect.
    #[error("not a message of this dialect: {0}")]
    NotAMessage(&'static str),
}

/// A tool of the editor, normalised: the same shape for every dialect, and the shape of the catalogue on disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EditorTool {
    /// The tool's own name in the editor.
    pub name: String,
    /// What it does, in the editor's words.
    pub description: String,
    /// JSON Schema of its arguments: `type: object`.
    pub input_schema: serde_json::Map<String, serde_json::Value>,
    /// MCP annotations; all four are always known.
    pub annotations: Annotations,
    /// Hidden unless development tools are asked for.
    #[serde(default)]
    pub development_only: bool,
    /// A call that may have run may be sent again: declared read-only or idempotent.
    #[serde(default)]
    pub repeatable: bool,
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
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolListing {
    /// The usable tools, in the editor's order.
    pub tools: Vec<EditorTool>,
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
}

/// An editor's answer to a call, ready for the client.
#[derive(Debug)]
pub struct EditorAnswer {
    /// The editor says that the tool failed.
    pub is_error: bool,
    /// What it answered.
    pub body: AnswerBody,
}

/// The body of an [`EditorAnswer`].
#[derive(Debug)]
pub enum AnswerBody {
    /// Any JSON value, as the editor wrote it (numbers untouched).
    Json(Box<RawValue>),
    /// A text.
    Text(String),
    /// Content blocks in MCP's own shape.
    Blocks(Vec<Box<RawValue>>),
}

/// One Unity package's wire protocol.
pub trait Dialect: Send + Sync + std::fmt::Debug + 'static {
    /// Its name in flags, logs and labels.
    fn name(&self) -> &'static str;
    /// What is true of every editor that speaks it.
    fn properties(&self) -> &'static Properties;
    /// The project's files that [`read_project`](Dialect::read_project) wants to see.
    fn project_files(&self) -> &'static [ProjectFile];
    /// What those files say.
    fn read_project(&self, files: &ProjectFiles) -> ProjectFacts;
    /// A decoder for a new connection.
    fn framer(&self) -> Box<dyn Framer>;
    /// A whole frame, header included.
    ///
    /// # Errors
    /// [`EncodeError`]; nothing was sent.
    fn encode(&self, id: WireId, order: &Order<'_>) -> Result<Bytes, EncodeError>;
    /// What a frame's body says.
    ///
    /// # Errors
    /// [`BadMessage`]: the peer is not this dialect's editor, or broken.
    fn decode(&self, frame: &[u8]) -> Result<Inbound, BadMessage>;
    /// Whether a reply to the greeting is that of this dialect's editor.
    ///
    /// # Errors
    /// What the peer said instead, in words.
    fn check_greeting(&self, reply: &Reply) -> Result<(), String>;
    /// What a reply to the `step`-th list method means.
    fn read_tools(&self, reply: &Reply, step: usize) -> ListStep;
    /// Makes a call ready: the package's own parameters for surviving a reload, its time limit. `tool` is `None` when the tool
    /// is not in the list; `project_known` tells whether files of the project can be read afterwards.
    fn prepare_call(
        &self,
        call: CallId,
        name: &str,
        tool: Option<&EditorTool>,
        arguments: &RawValue,
        project_known: bool,
    ) -> PreparedCall;
    /// An editor's reply to a call, ready for the client.
    fn read_answer(&self, reply: Reply) -> EditorAnswer;
    /// Whether a reply to a call that has a [`Recovery`] only says that the outcome will be told elsewhere.
    fn is_deferred(&self, _reply: &Reply) -> bool {
        false
    }
    /// The reply that a [`Recovery::ResultFile`] holds; `None` while it is not whole.
    fn read_result_file(&self, bytes: &[u8]) -> Option<Reply>;
    /// What a line on the push socket says.
    ///
    /// # Errors
    /// [`BadMessage`]: counted, ignored.
    fn decode_push(&self, line: &[u8]) -> Result<PushEvent, BadMessage>;
}
