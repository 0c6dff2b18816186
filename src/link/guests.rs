//! Calls of others than the client: of the HTTP API that a package's documents have. They go the way of the client's calls, through
//! the same ledger and with the same promises, in the same queue for the editor. Only the answer goes to whoever asked, and no
//! request of the client stands for it.

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
    /// Its identity: under it the result can be fetched later.
    pub id: CallId,
    /// Its answer comes here, once. Who does not wait for it loses nothing of the call.
    pub answer: oneshot::Receiver<GuestAnswer>,
}

/// The guests that wait, by the request that stands for each in the ledger.
#[derive(Debug, Default)]
pub(super) struct Guests {
    waiting: Mutex<HashMap<RequestKey, oneshot::Sender<GuestAnswer>>>,
    last: AtomicU64,
}

impl Guests {
    /// What an audit calls them: who they are nobody knows.
    pub(super) fn name() -> ClientInfo {
        ClientInfo { name: "documented HTTP API".to_owned(), ..ClientInfo::default() }
    }

    /// Has a guest wait, under the request that stands for it. `None` if as many wait as may.
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

    /// Whoever asked for this, if it was a guest.
    pub(super) fn take(&self, request: RequestKey) -> Option<oneshot::Sender<GuestAnswer>> {
        enter(&self.waiting).remove(&request)
    }
}
