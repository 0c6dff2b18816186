//! What a fake editor reports about itself.

use std::collections::BTreeMap;

use serde::Serialize;

/// Something that happened in a fake editor. Its JSON is an object whose `event` names the variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The bridge began to listen.
    Listening {
        /// The port.
        port: u16,
        /// The pid that the editor claims to have.
        pid: u32,
        /// Number of the domain, from 1. It increases with every reload.
        domain: u64,
    },
    /// The project has files that somebody else made. They are not changed.
    LeftAlone {
        /// Their paths, relative to the project's root.
        files: Vec<String>,
    },
    /// A connection was accepted.
    Accepted {
        /// Number of the connection, from 1.
        connection: u64,
    },
    /// A client sent its name.
    ClientNamed {
        /// Number of the connection.
        connection: u64,
        /// The client's name.
        name: String,
    },
    /// A request was read.
    Request {
        /// Number of the connection.
        connection: u64,
        /// The request's method.
        method: String,
    },
    /// A tool began to run on its thread. Its side effects may have happened already.
    CallBegun {
        /// Number of the connection on which the call came; 0 for a call that continues after a reload.
        connection: u64,
        /// The tool's name.
        tool: String,
        /// The call's id in the journal; `None` if the package has no journal or the call has no id.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// Whether other calls may run at the same time.
        parallel: bool,
    },
    /// The journal got the final status of a call.
    CallSettled {
        /// The call's id.
        call: String,
        /// `done`, `notRun` or `interrupted`.
        status: &'static str,
    },
    /// A tool call ended: its reply was written, or was discarded because of
    /// [`FakeUnity::lose_answer`](super::FakeUnity::lose_answer).
    CallEnded {
        /// Number of the connection on which the call came; 0 for a call that continued after a reload.
        connection: u64,
        /// The tool's name.
        tool: String,
        /// `ok` or `error`.
        outcome: &'static str,
    },
    /// A line was written to Unity's console.
    Logged {
        /// The text of the line.
        message: String,
    },
    /// A connection ended.
    Closed {
        /// Number of the connection.
        connection: u64,
        /// Why it ended.
        reason: &'static str,
    },
    /// The editor connected to a push listener.
    PushAttached {
        /// Address of the listener.
        endpoint: String,
    },
    /// A push connection ended.
    PushDetached {
        /// Address of the listener.
        endpoint: String,
    },
    /// A domain reload began: all connections and the port are closed.
    ReloadBegun {
        /// Milliseconds until the bridge listens again.
        silence_ms: u64,
    },
    /// The reload ended: the new domain runs, and its bridge listens.
    ReloadEnded {
        /// The port on which the bridge listens.
        port: u16,
    },
    /// The tool list changed.
    ToolsChanged {
        /// Number of tools after the change.
        tools: usize,
    },
    /// The bridge was stopped; the editor still runs.
    Down,
    /// The main thread and the sockets were stopped.
    Frozen,
    /// The main thread and the sockets run again.
    Thawed,
    /// Another program has the port. What the bridge does then is the package's: it may wait, or listen on another port.
    PortTaken {
        /// The port.
        port: u16,
        /// The system's error message.
        error: String,
    },
    /// The port cannot be bound. The bridge stays stopped until [`FakeUnity::up`](super::FakeUnity::up).
    BindFailed {
        /// The port.
        port: u16,
        /// The system's error message.
        error: String,
    },
    /// A file cannot be written or removed.
    FileFailed {
        /// Path of the file, or of its folder.
        path: String,
        /// The system's error message.
        error: String,
    },
    /// The editor crashed; its files stay.
    Crashed,
    /// The editor quit.
    Quit,
}

/// Counters and state of a fake editor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Port on which the editor listens; `None` while it does not.
    pub port: Option<u16>,
    /// The pid that the editor claims to have.
    pub pid: u32,
    /// Number of the domain, from 1.
    pub domain: u64,
    /// Session id of the bridge, which is new at each of its starts.
    pub session_id: String,
    /// Connections accepted since the start.
    pub accepts: u64,
    /// Requests read since the start.
    pub requests: u64,
    /// Requests for the tool list since the start.
    pub list_requests: u64,
    /// Messages that were not valid JSON.
    pub unparsable: u64,
    /// Connections open now.
    pub connections: usize,
    /// Names of the clients connected now.
    pub clients: Vec<String>,
    /// Push connections open now.
    pub push_connections: usize,
    /// Number of pieces of work that were still queued when their domain ended.
    pub lost: u64,
    /// Number of pieces of work that had begun when the end of their domain stopped them.
    pub interrupted: u64,
    /// Number of pieces of work queued now.
    pub queued: u64,
    /// Number of pieces of work that have begun and are not done yet.
    pub running: u64,
    /// Number of runs of the `count` tool by key.
    pub runs: BTreeMap<String, u64>,
    /// Number of compilations.
    pub compiles: u64,
    /// Number of registered tools.
    pub tools: usize,
    /// Whether the sockets and the main thread are stopped.
    pub frozen: bool,
    /// Whether a modal dialog blocks the main thread.
    pub modal: bool,
    /// Whether the scripts fail to compile.
    pub compile_errors: bool,
    /// Whether the editor is in play mode.
    pub playing: bool,
}
