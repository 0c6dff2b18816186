//! Work for the editor's main thread, its outcome, and the orders that an editor can receive.

use std::time::Duration;

use holdfast_net::BoxFuture;
use tokio::sync::oneshot;

use super::json::Object;

/// Work that the main thread runs for a request. It returns its outcome, or a future if the work continues.
pub(crate) type Job = Box<dyn FnOnce() -> Begun + Send>;

/// Queued work. As in Unity, it runs even if its caller has disconnected. It is lost if the domain ends first.
pub(crate) struct Work {
    pub(crate) job: Job,
    pub(crate) reply: oneshot::Sender<Done>,
}

/// Work that has begun.
pub(crate) enum Begun {
    /// The work is done.
    Done(Done),
    /// The work continues outside of the main thread. Its outcome is delivered when the main thread is free.
    Later(BoxFuture<'static, Done>),
}

impl Begun {
    /// Makes work that is done, with this result.
    pub(crate) fn ok(result: Object) -> Self {
        Self::Done(Done::ok(result))
    }

    /// Makes work that has failed with this fault.
    pub(crate) fn fault(fault: Fault) -> Self {
        Self::Done(Done { result: Err(fault), then: None })
    }
}

/// The outcome of work.
pub(crate) struct Done {
    /// The result, to which the simulated package may add members, or the fault.
    pub(crate) result: Result<Object, Fault>,
    /// The order to carry out after the reply was written; `None`: no order.
    pub(crate) then: Option<Order>,
}

impl Done {
    /// Makes an outcome with this result and without an order.
    pub(crate) fn ok(result: Object) -> Self {
        Self { result: Ok(result), then: None }
    }
}

/// Why work failed. Each simulated package writes it as an error in its own form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An exception with this message.
    Internal(String),
    /// A parameter, or the identity in the request, was refused with this message.
    Refused(String),
    /// The security settings block this tool.
    Blocked(String),
    /// The tool's own time limit passed.
    Timeout { tool: String, seconds: u64 },
    /// The call was cancelled, and its work stopped.
    Cancelled,
}

/// An order to the editor, other than to run a tool. The runtime carries orders out one after the other.
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
