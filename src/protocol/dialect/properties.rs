//! What is true of every editor that speaks a dialect.

/// What is true of every editor that speaks a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Properties {
    /// Calls that may be outstanding at once on one connection. 1: the bridge works strictly in order.
    pub window: usize,
    /// The editor connects to a push listener of ours if the greeting names one.
    pub push: bool,
    /// The editor answers [`Order::Heartbeat`](super::Order::Heartbeat) off its main thread, whatever that is doing.
    pub heartbeat: bool,
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
