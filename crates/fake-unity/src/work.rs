//! Work for the editor's main thread, its outcome, and the orders that an editor is given.

use std::time::Duration;

use holdfast_net::BoxFuture;
use tokio::sync::oneshot;

use super::json::Object;

/// What the main thread runs for a request: begins it, and says whether it is done.
pub(crate) type Job = Box<dyn FnOnce() -> Begun + Send>;

/// Queued work. It runs even when whoever asked has left meanwhile, as in Unity; it is lost when the domain ends first.
pub(crate) struct Work {
    pub(crate) job: Job,
    pub(crate) reply: oneshot::Sender<Done>,
}

/// Work that has begun.
pub(crate) enum Begun {
    /// And is done.
    Done(Done),
    /// And goes on beside the main thread, whose next free moment delivers its outcome.
    Later(BoxFuture<'static, Done>),
}

impl Begun {
    /// Done, with this result.
    pub(crate) fn ok(result: Object) -> Self {
        Self::Done(Done::ok(result))
    }

    /// Done, with this fault.
    pub(crate) fn fault(fault: Fault) -> Self {
        Self::Done(Done { result: Err(fault), then: None })
    }
}

/// The outcome of work.
pub(crate) struct Done {
    /// The result, to which a face may add members, or what went wrong.
    pub(crate) result: Result<Object, Fault>,
    /// What happens once the reply was written.
    pub(crate) then: Option<Order>,
}

impl Done {
    /// This result, and nothing after it.
    pub(crate) fn ok(result: Object) -> Self {
        Self { result: Ok(result), then: None }
    }
}

/// What went wrong, in terms that a face turns into its error shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An exception with this message.
    Internal(String),
    /// A parameter or the request's identity is refused, with this message.
    Refused(String),
    /// The security settings block the tool.
    Blocked(String),
    /// The tool's own time limit passed.
    Timeout { tool: String, seconds: u64 },
    /// It was asked to stop, and did.
    Cancelled,
}

/// What the model is asked to do beside a tool's own work. Carried out by the runtime, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Order {
    /// Reload the domain; the bridge is silent for this long.
    Reload { silence: Duration, port: NextPort },
    /// Tell everyone that the tool list changed.
    ToolsChanged { names: Vec<String>, change: &'static str },
    /// Stop the bridge.
    Down { reset: bool },
    /// Start the bridge, or the whole editor after a crash.
    Up,
    /// Send a push message of this type.
    Push { kind: String },
    /// Tell everyone whom it concerns that play mode began or ended.
    StateChanged,
    /// End without cleaning up.
    Crash,
    /// End as a user ends the editor.
    Quit,
}

/// The port after a reload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextPort {
    /// The one it had.
    Same,
    /// Another one.
    New,
}
