//! Calls of guests, which come over the HTTP API that a package's documents describe. They use the same ledger and the same queue
//! as the client's calls, with the same promises. But they do not belong to a client's request, and their answers go to the
//! guest.

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
    pub verdict: Verdict,
    /// The editor's answer, or the verdict in words.
    pub result: ToolResult,
}

/// A guest's call.
#[derive(Debug)]
pub struct GuestCall {
    /// The call's id, with which the result can be fetched later.
    pub id: CallId,
    /// Receives the answer once. A guest that stops waiting can still fetch the result with `id`.
    pub answer: oneshot::Receiver<GuestAnswer>,
}

/// The guests that wait for an answer, by the request key that the ledger has for each.
#[derive(Debug, Default)]
pub(super) struct Guests {
    waiting: Mutex<HashMap<RequestKey, oneshot::Sender<GuestAnswer>>>,
    last: AtomicU64,
}

impl Guests {
    /// Returns the client that the audit names for a guest, since it is not known which program a guest is.
    pub(super) fn name() -> ClientInfo {
        ClientInfo { name: "documented HTTP API".to_owned(), ..ClientInfo::default() }
    }

    /// Adds a waiting guest under a new request key. Returns `None` if [`GUEST_CALLS_MAX`] guests wait already.
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

    /// Removes and returns the guest that waits under this request key, if there is one.
    pub(super) fn take(&self, request: RequestKey) -> Option<oneshot::Sender<GuestAnswer>> {
        enter(&self.waiting).remove(&request)
    }
}
