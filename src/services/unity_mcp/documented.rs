//! What these services need of the gateway, and the shape of their replies.

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

/// What these services need of the gateway.
pub trait Documented: Gateway {
    /// Where a service is to listen, if it was asked for.
    fn address(&self, companion: Companion) -> Option<SocketAddr>;
    /// Waits until the editor's package has such a service, or has none.
    fn is_spoken(&self, companion: Companion, wanted: bool) -> impl Future<Output = ()> + Send;
    /// Says what keeps a service from its work, with the fix, or that nothing does any more.
    fn set_trouble(&self, companion: Companion, what: Option<String>);
    /// Calls a tool for one who waits so long. `None` if more such calls are open than may be: nothing was sent.
    fn call(self: &Arc<Self>, tool: &str, arguments: Box<RawValue>, patience: Duration) -> Option<Call>;
    /// Whether a call has not been sent yet.
    fn is_held(&self, id: CallId) -> bool;
    /// What is known of a call's result.
    fn look_up(&self, id: CallId) -> Lookup;
    /// An id that was never used before.
    fn new_id(&self) -> CallId;
    /// Reads or writes the logs.
    fn logbook<T>(&self, operation: impl FnOnce(&mut Logbook) -> T) -> T;
}

/// A call that was taken.
pub struct Call {
    /// Its identity: under it the result can be fetched later.
    pub id: CallId,
    /// Its answer, or `None` if that was lost by a bug of ours. Who does not wait for it loses nothing of the call.
    pub answer: BoxFuture<'static, Option<Answer>>,
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call").field("id", &self.id).finish_non_exhaustive()
    }
}

/// How such a call ended.
#[derive(Debug)]
pub struct Answer {
    /// Its verdict.
    pub verdict: Verdict,
    /// The editor's answer, or the verdict in words.
    pub result: ToolResult,
}

/// A success.
pub(super) fn ok(body: &impl Serialize) -> Reply {
    reply(StatusCode::OK, body)
}

/// An error, in the shape of the package's logger.
pub(super) fn error(status: StatusCode, error: &str) -> Reply {
    reply(status, &json!({"status": "error", "error": error}))
}

pub(super) fn reply(status: StatusCode, body: &impl Serialize) -> Reply {
    Reply::new(status, "application/json", serde_json::to_string(body).unwrap_or_default())
}
