//! What the services of Unity-MCP's documents need of the gateway, and the form of their replies.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::core::calls::Lookup;
use crate::core::logbook::Logbook;
use crate::fsm::call::Verdict;
use crate::net::BoxFuture;
use crate::protocol::dialect::Companion;
use crate::protocol::ids::CallId;
use crate::protocol::mcp::ToolResult;
use crate::services::Gateway;
use crate::services::http::{Reply, StatusCode};

/// What the services of Unity-MCP's documents need of the gateway.
pub trait Documented: Gateway {
    /// Returns the address at which to serve `companion`; `None` if it was not asked for.
    fn address(&self, companion: Companion) -> Option<SocketAddr>;
    /// Waits until the editor's package has the service. If `wanted` is false, waits until it does not have it.
    fn is_spoken(&self, companion: Companion, wanted: bool) -> impl Future<Output = ()> + Send;
    /// Reports what keeps a service from working, with the fix. `None` reports that the service works again.
    fn set_problem(&self, companion: Companion, what: Option<String>);
    /// Calls a tool for a caller that waits for `patience`. Returns `None` if too many such calls are open; nothing was sent
    /// then.
    fn call(
        self: &Arc<Self>,
        tool: &str,
        arguments: Box<RawValue>,
        patience: Duration,
    ) -> impl Future<Output = Option<Call>> + Send;
    /// Whether a call has not been sent yet.
    fn is_held(&self, id: CallId) -> bool;
    fn look_up(&self, id: CallId) -> Lookup;
    fn new_id(&self) -> CallId;
    fn logbook<T>(&self, operation: impl FnOnce(&mut Logbook) -> T) -> T;
}

/// A call that the gateway has accepted.
pub struct Call {
    /// The id under which the result can be fetched later.
    pub id: CallId,
    /// The answer; `None` if it was lost by a bug of ours. Dropping the future does not cancel the call.
    pub answer: BoxFuture<'static, Option<Answer>>,
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call").field("id", &self.id).finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub struct Answer {
    pub verdict: Verdict,
    /// The editor's answer, or a text about the verdict.
    pub result: ToolResult,
}

pub(super) fn ok(body: &impl Serialize) -> Reply {
    reply(StatusCode::OK, body)
}

/// Returns the reply to a request that failed, in the form that the package's logger uses.
pub(super) fn error(status: StatusCode, error: &str) -> Reply {
    reply(status, &json!({"status": "error", "error": error}))
}

pub(super) fn reply(status: StatusCode, body: &impl Serialize) -> Reply {
    Reply::new(status, "application/json", serde_json::to_string(body).unwrap_or_default())
}
