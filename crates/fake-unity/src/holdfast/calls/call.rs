//! A call that waits or runs: what is known about it, and how far it has come.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::holdfast::package::Traits;
use crate::spec::Tool;

/// The state of a call that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The call waits for its turn.
    Waiting,
    /// It is the turn of the call, which waits for its thread.
    Scheduled,
    /// The call's tool has begun.
    Running,
}

/// Signals to a call that is scheduled or running. The channel closes when the call ends, for any reason.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Signal {
    pub(crate) deadline: Option<Instant>,
    /// The time limit from which the deadline was computed, in whole seconds, rounded up.
    pub(crate) seconds: u64,
    pub(crate) cancelled: bool,
}

/// The connection and the request that get the answer to a call.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) connection: u64,
    /// Id of the request that is answered, as JSON.
    pub(crate) request: String,
}

/// The key of a call in the journal. Calls that came as uLoop's methods have none.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) id: String,
    pub(crate) gateway: String,
    pub(crate) seq: u64,
}

/// A call that waits or runs.
pub(crate) struct Call {
    pub(crate) identity: Option<Identity>,
    /// `None` for a call that was resumed after a reload.
    pub(crate) caller: Option<Caller>,
    pub(crate) tool: Tool,
    pub(super) traits: Traits,
    pub(super) arguments: Option<String>,
    /// Size of the call's message, in bytes.
    pub(super) bytes: usize,
    pub(super) timeout: Option<Duration>,
    pub(super) wants_progress: bool,
    /// The state that the tool saved before a reload; `None` for a new call.
    pub(super) resumed: Option<String>,
    pub(crate) phase: Phase,
    pub(crate) started: Option<Instant>,
    pub(super) signal: watch::Sender<Signal>,
    pub(super) progress: Option<(f64, Instant)>,
    /// Content blocks, as JSON.
    pub(super) content: Vec<String>,
}

/// A call that asks for admission.
pub(crate) struct Order {
    pub(crate) identity: Option<Identity>,
    pub(crate) caller: Caller,
    pub(crate) tool: String,
    pub(crate) arguments: Option<String>,
    pub(crate) bytes: usize,
    pub(crate) timeout: Option<Duration>,
    pub(crate) progress: bool,
}
