//! What a fake editor tells about itself.

use std::collections::BTreeMap;

use serde::Serialize;

/// Something that happened in a fake editor. As JSON: an object with the name of the variant in `event`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The bridge listens.
    Listening {
        /// On this port.
        port: u16,
        /// The pid that the editor claims to have.
        pid: u32,
        /// Number of the domain, from 1, rising with every reload.
        domain: u64,
    },
    /// A connection was accepted.
    Accepted {
        /// Its number, from 1.
        connection: u64,
    },
    /// A client gave its name.
    ClientNamed {
        /// On this connection.
        connection: u64,
        /// The name.
        name: String,
    },
    /// A request was read.
    Request {
        /// On this connection.
        connection: u64,
        /// Its method.
        method: String,
    },
    /// A tool began on the main thread: from here on its side effects count.
    CallBegun {
        /// On this connection.
        connection: u64,
        /// The tool.
        tool: String,
        /// Under what the journal knows it, where there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// It may run while others run.
        parallel: bool,
    },
    /// The journal has its last word on a call.
    CallSettled {
        /// Its id there.
        call: String,
        /// `done`, `notRun` or `interrupted`.
        status: &'static str,
    },
    /// The reply to a tool call was written.
    CallEnded {
        /// On this connection.
        connection: u64,
        /// The tool.
        tool: String,
        /// `ok` or `error`.
        outcome: &'static str,
    },
    /// A line was written to Unity's console.
    Logged {
        /// Its text.
        message: String,
    },
    /// A connection ended.
    Closed {
        /// Its number.
        connection: u64,
        /// Why.
        reason: &'static str,
    },
    /// The editor connected to a push listener.
    PushAttached {
        /// The listener.
        endpoint: String,
    },
    /// A push connection ended.
    PushDetached {
        /// The listener.
        endpoint: String,
    },
    /// A domain reload began: everything is disconnected, and the port is closed.
    ReloadBegun {
        /// For this many milliseconds.
        silence_ms: u64,
    },
    /// The domain is back, and the bridge listens.
    ReloadEnded {
        /// On this port.
        port: u16,
    },
    /// The tool list changed.
    ToolsChanged {
        /// Number of tools now.
        tools: usize,
    },
    /// The bridge was stopped, the editor lives.
    Down,
    /// The main thread and the sockets stand still.
    Frozen,
    /// They go on.
    Thawed,
    /// The port cannot be bound; the bridge stays down until `up`.
    BindFailed {
        /// This port.
        port: u16,
        /// The system's reason.
        error: String,
    },
    /// A file cannot be written or removed.
    FileFailed {
        /// Its path.
        path: String,
        /// The system's reason.
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
    /// Port it listens on; `None` while it does not.
    pub port: Option<u16>,
    /// The pid that the editor claims to have.
    pub pid: u32,
    /// Number of the domain.
    pub domain: u64,
    /// Session of the bridge's present start.
    pub session_id: String,
    /// Connections accepted since the start.
    pub accepts: u64,
    /// Requests read since the start.
    pub requests: u64,
    /// Requests for the tool list since the start.
    pub list_requests: u64,
    /// Messages that were no JSON.
    pub unparsable: u64,
    /// Connections open now.
    pub connections: usize,
    /// Names of the clients connected now.
    pub clients: Vec<String>,
    /// Push connections open now.
    pub push_connections: usize,
    /// Work that was queued and not begun when a domain ended.
    pub lost: u64,
    /// Work that had begun and was cut by the end of a domain.
    pub interrupted: u64,
    /// Work queued for the main thread now.
    pub queued: u64,
    /// Work begun and not done now.
    pub running: u64,
    /// Runs of the `count` tool by key.
    pub runs: BTreeMap<String, u64>,
    /// Runs of the compiler.
    pub compiles: u64,
    /// Tools registered.
    pub tools: usize,
    /// Sockets and main thread stand still.
    pub frozen: bool,
    /// A modal dialog blocks the main thread.
    pub modal: bool,
    /// Scripts do not compile.
    pub compile_errors: bool,
    /// Play mode.
    pub playing: bool,
}
