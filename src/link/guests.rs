//! Calls of guests: of the HTTP API in a package's documents. They use the same ledger and the same queue as the client's calls,
//! with the same promises. But no request of a client belongs to a guest's call, and its answer goes to the guest.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::oneshot;

use crate::fsm::call::Verdict;
use crate::limits::GUEST_CALLS_MAX;
use crate::protocol::ids::{CallId, RequestKey, SessionId};
use crate::protocol::mcp::{ClientInfo, ToolResult};
use crate::runtime::enter;

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
    /// The call's id: the result can be fetched by it later.
    pub id: CallId,
    /// Receives the answer, once. A guest that stops waiting can still fetch the result by `id`.
    pub answer: oneshot::Receiver<GuestAnswer>,
}

/// The waiting guests, by the request key that the ledger has for each.
#[derive(Debug, Default)]
pub(super) struct Guests {
    waiting: Mutex<HashMap<RequestKey, oneshot::Sender<GuestAnswer>>>,
    last: AtomicU64,
}

impl Guests {
    /// The client name in the audit. Who a guest is, is not known.
    pub(super) fn name() -> ClientInfo {
        ClientInfo { name: "documented HTTP API".to_owned(), ..ClientInfo::default() }
    }

    /// Adds a waiting guest under a new request key. `None` if [`GUEST_CALLS_MAX`] guests wait.
    pub(super) fn wait(&self) -> Option<(RequestKey, oneshot::Receiver<GuestAnswer>)> {
        let request = RequestKey::new(SessionId::GUESTS, self.last.fetch_add(1, Ordering::Relaxed));
        let (sender, answer) = oneshot::channel();
        let mut waiting = enter(&self.waiting);
        if waiting.len() >= GUEST_CALLS_MAX {
            return None;
        }
        waiting.insert(request, sender);
        Some((request, answer))
    }

    /// Takes the guest that waits under this request key, if there is one.
    pub(super) fn take(&self, request: RequestKey) -> Option<oneshot::Sender<GuestAnswer>> {
        enter(&self.waiting).remove(&request)
    }
}
