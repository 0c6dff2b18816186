//! Those who wait for the answers to the calls of others than the client.

use std::collections::HashMap;

use tokio::sync::oneshot;

use crate::fsm::call::Verdict;
use crate::protocol::ids::{CallId, RequestKey};
use crate::protocol::mcp::ToolResult;

/// The guests that wait, by the request that stands for each in the ledger.
pub(super) type Guests = HashMap<RequestKey, oneshot::Sender<GuestAnswer>>;

/// How a guest's call ended.
#[derive(Debug)]
pub struct GuestAnswer {
    /// Its verdict.
    pub verdict: Verdict,
    /// The editor's answer, or the verdict in words.
    pub result: ToolResult,
}

/// A guest's call.
#[derive(Debug)]
pub struct GuestCall {
    /// Its identity: under it the result can be fetched later.
    pub id: CallId,
    /// Its answer comes here, once. Who does not wait for it loses nothing of the call.
    pub answer: oneshot::Receiver<GuestAnswer>,
}
