//! Work for the editor's main thread, its outcome, and the orders that an editor can receive.

use std::time::Duration;

use holdfast_net::BoxFuture;
use tokio::sync::oneshot;

use super::json::Object;

/// What the main thread runs for a request. It begins the work and returns whether the work is done.
pub(crate) type Job = Box<dyn FnOnce() -> Begun + Send>;

/// Queued work. It runs even if its caller has disconnected, as in Unity; it is lost if the domain ends first.
pub(crate) struct Work {
    pub(crate) job: Job,
    pub(crate) reply: oneshot::Sender<Done>,
}

/// Work that has begun.
pub(crate) enum Begun {
    /// The work is done.
    Done(Done),
    /// The work continues beside the main thread; its outcome is delivered at the main thread's next free moment.
    Later(BoxFuture<'static, Done>),
}

impl Begun {
    /// Work that is done, with this result.
    pub(crate) fn ok(result: Object) -> Self {
        Self::Done(Done::ok(result))
    }

    /// Work that is done and failed with this fault.
    pub(crate) fn fault(fault: Fault) -> Self {
        Self::Done(Done { result: Err(fault), then: None })
    }
}

/// The outcome of work.
pub(crate) struct Done {
    /// The result, to which a face may add members, or the fault.
    pub(crate) result: Result<Object, Fault>,
    /// The order to carry out after the reply was written.
    pub(crate) then: Option<Order>,
}

impl Done {
    /// An outcome with this result and no order after it.
    pub(crate) fn ok(result: Object) -> Self {
        Self { result: Ok(result), then: None }
    }
}

/// Why work failed; each face turns it into its own error shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An exception with this message.
    Internal(String),
    /// A parameter or the request's identity was refused, with this message.
    Refused(String),
    /// The security settings block the tool.
    Blocked(String),
    /// The tool's own time limit passed.
    Timeout { tool: String, seconds: u64 },
    /// The call was cancelled, and its work stopped.
    Cancelled,
}

/// An order to the editor beside a tool's own work. The runtime carries orders out one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Order {
    /// Reload the domain; the bridge is silent for this long.
    Reload { silence: Duration, port: NextPort },
    /// Notify all peers that the tool list changed.
    ToolsChanged { names: Vec<String>, change: &'static str },
    /// Stop the bridge.
    Down { reset: bool },
    /// Start the bridge, or the whole editor after a crash.
    Up,
    /// Send a push message of this type.
    Push { kind: String },
    /// Notify the peers that play mode began or ended, where the protocol has a message for it.
    StateChanged,
    /// End without cleaning up, as in a crash.
    Crash,
    /// Quit as if the user had quit.
    Quit,
}

/// The port after a reload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextPort {
    /// The port that the bridge had before.
    Same,
    /// Another port.
    New,
}
