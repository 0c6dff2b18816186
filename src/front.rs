//! The front: the table of open client requests and the queue to stdout. Outlives every actor.
//!
//! Not an actor: a bounded store with short synchronous operations. It is the only place that can put a line on stdout, and it
//! answers a request at most once: an answer to a request that is not open (answered, cancelled) is dropped and counted.

mod batches;
mod subscriptions;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio::time::Instant;

use self::batches::Batch;
pub use self::batches::BatchKey;
pub use self::subscriptions::TooManySubscriptions;
use crate::limits::{
    CLIENT_MESSAGE_MAX_BYTES, OPEN_REQUESTS_MAX, SHARED_WRITE_BYTES, STDOUT_NOTIFICATIONS_MAX, STDOUT_QUEUE_HIGH_BYTES,
    STDOUT_QUEUE_MAX_LINES,
};
use crate::protocol::ids::RequestKey;
use crate::protocol::jsonrpc::{self, RequestId, RpcError};
use crate::protocol::mcp::stateless::{self, Caller, Filter};
use crate::protocol::mcp::{Method, ServerInfo};
use crate::telemetry::events::Events;
use crate::telemetry::metrics::labels::{MessageKind, Outcome};

/// What this program says of itself.
pub const SERVER: ServerInfo<'static> = ServerInfo { version: env!("CARGO_PKG_VERSION") };

/// The kind of our own request for the client's roots.
pub const ROOTS_LIST: &str = "roots/list";
/// The kind of our own question whether the client lives.
pub const PING: &str = "ping";
/// The kind of the notification that the tools are others.
pub const TOOLS_CHANGED: &str = "tools/list_changed";

/// Why a request is not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotOpened {
    /// A request with this id is open: the first one keeps its answer.
    Duplicate,
    /// More requests are open than are kept.
    Full,
}

/// In whose hands an open request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    /// The intake's: no session has it.
    Intake,
    /// A session's.
    Session,
    /// The ledger's: it became a call, whose verdict is its answer.
    Ledger,
    /// Nobody's: it is open to be told of changes.
    Subscription(Filter),
}

/// An open request.
struct Open {
    id: RequestId,
    /// The batch that it is a member of.
    batch: Option<BatchKey>,
    holder: Holder,
    method: Method,
    /// Who asks, where the request says so itself.
    caller: Option<Arc<Caller>>,
    since: Instant,
}

#[derive(Default)]
struct Inner {
    /// Open requests.
    open: HashMap<RequestKey, Open>,
    /// The open requests by the ids that their client gave them.
    keys: HashMap<RequestId, RequestKey>,
    /// Batches whose members are not all answered.
    batches: HashMap<BatchKey, Batch>,
    /// Bytes of the answers that wait there.
    batched_bytes: usize,
    /// The last key that was given out.
    last_key: u64,
    /// The last requests that were cancelled: an answer may be on its way to them.
    cancelled: VecDeque<RequestKey>,
    /// The last progress told of an open request.
    progress: HashMap<RequestKey, f64>,
    /// Answers whose request is taken, or whose batch is being joined, and whose line is not queued yet.
    rendering: usize,
    queue: VecDeque<Line>,
    queued_bytes: usize,
    notifications: usize,
    dropped_notifications: u64,
    surplus_answers: u64,
    writing: bool,
    broken: bool,
}

impl Inner {
    fn next_key(&mut self) -> RequestKey {
        self.last_key += 1;
        RequestKey(self.last_key)
    }

    /// Takes a request out of the table.
    fn close(&mut self, key: RequestKey) -> Option<Open> {
        let open = self.open.remove(&key)?;
        self.keys.remove(&open.id);
        self.progress.remove(&key);
        Some(open)
    }
}

struct Line {
    text: String,
    /// Notifications may be dropped or coalesced; answers never.
    notification: Option<&'static str>,
}

/// See the module's documentation.
#[derive(Default)]
pub struct Front {
    events: Events,
    inner: Mutex<Inner>,
    filled: Notify,
    /// Lines left, or a request was answered.
    emptied: Notify,
}

impl std::fmt::Debug for Front {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let inner = self.lock();
        f.debug_struct("Front").field("open", &inner.open.len()).field("queued", &inner.queue.len()).finish()
    }
}

/// What the front counted, for status and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrontCounts {
    /// Requests that are open.
    pub open: usize,
    /// Lines that wait for stdout.
    pub queued: usize,
    /// Notifications dropped for a slow reader.
    pub dropped_notifications: u64,
    /// Answers to requests that were not open any more.
    pub surplus_answers: u64,
}

impl Front {
    /// A front that tells these events.
    pub fn new(events: Events) -> Self {
        Self { events, ..Self::default() }
    }

    /// A lock whose holder panicked is entered again: every operation leaves the table whole.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a request: from here on it has exactly one answer, and a place for it in the queue. `caller` is who asks, for a
    /// request of the stateless era. Its key names it from here on.
    ///
    /// # Errors
    /// [`NotOpened`]; the request must be answered by [`reject`](Front::reject).
    pub fn open(&self, id: &RequestId, method: Method, caller: Option<Arc<Caller>>) -> Result<RequestKey, NotOpened> {
        let mut inner = self.lock();
        if inner.keys.contains_key(id) {
            return Err(NotOpened::Duplicate);
        }
        if inner.open.len() >= OPEN_REQUESTS_MAX {
            return Err(NotOpened::Full);
        }
        let key = inner.next_key();
        let open = Open { id: id.clone(), batch: None, holder: Holder::Intake, method, caller, since: Instant::now() };
        inner.open.insert(key, open);
        inner.keys.insert(id.clone(), key);
        Ok(key)
    }

    /// A key for something that is answered elsewhere; no request has it.
    pub fn foreign_key(&self) -> RequestKey {
        self.lock().next_key()
    }

    /// Marks a request as handed to a session.
    pub fn delivered(&self, key: RequestKey) {
        self.held_by(key, Holder::Session);
    }

    /// Marks a request as not taken by the session it was handed to.
    pub fn returned(&self, key: RequestKey) {
        self.held_by(key, Holder::Intake);
    }

    /// Marks a request as a call in the ledger: from here on a session's end does not answer it.
    pub fn became_call(&self, key: RequestKey) {
        self.held_by(key, Holder::Ledger);
    }

    fn held_by(&self, key: RequestKey, holder: Holder) {
        if let Some(held) = self.lock().open.get_mut(&key) {
            held.holder = holder;
        }
    }

    /// The open requests that a session had and that did not become calls.
    pub fn delivered_requests(&self) -> Vec<RequestKey> {
        self.requests(|holder| holder == Holder::Session)
    }

    /// The open requests that did not become calls.
    pub fn requests_without_call(&self) -> Vec<RequestKey> {
        self.requests(|holder| matches!(holder, Holder::Intake | Holder::Session))
    }

    /// The open requests that became calls.
    pub fn requests_with_call(&self) -> Vec<RequestKey> {
        self.requests(|holder| holder == Holder::Ledger)
    }

    /// In the order in which they were opened.
    fn requests(&self, wanted: impl Fn(Holder) -> bool) -> Vec<RequestKey> {
        let mut keys: Vec<RequestKey> =
            self.lock().open.iter().filter(|(_, open)| wanted(open.holder)).map(|(key, _)| *key).collect();
        keys.sort();
        keys
    }

    /// Who asks, for an open request of the stateless era.
    pub fn caller(&self, key: RequestKey) -> Option<Arc<Caller>> {
        self.lock().open.get(&key).and_then(|open| open.caller.clone())
    }

    /// Whether a request is open.
    pub fn is_open(&self, key: RequestKey) -> bool {
        self.lock().open.contains_key(&key)
    }

    /// The id of an open request, as its client wrote it.
    pub fn id(&self, key: RequestKey) -> Option<RequestId> {
        self.lock().open.get(&key).map(|open| open.id.clone())
    }

    /// Answers an open request with a result (JSON on one line). False if it was not open: nothing is written.
    pub fn answer(&self, key: RequestKey, result_json: &str) -> bool {
        self.settle(key, Outcome::Ok, |open| result_line(&open.id, result_json, open.caller.is_some()))
    }

    /// Answers an open request with an error. False if it was not open.
    pub fn answer_error(&self, key: RequestKey, error: &RpcError) -> bool {
        self.settle(key, Outcome::Error, |open| jsonrpc::error(Some(&open.id), error))
    }

    fn settle(&self, key: RequestKey, outcome: Outcome, line: impl FnOnce(&Open) -> String) -> bool {
        let mut inner = self.lock();
        let Some(open) = inner.close(key) else {
            inner.surplus_answers += 1;
            return false;
        };
        inner.rendering += 1;
        drop(inner);
        // Rendered outside the lock: results reach megabytes. The request is taken, so nobody else can answer meanwhile.
        let mut text = line(&open);
        // With the brackets of a batch.
        if text.len() + 2 > CLIENT_MESSAGE_MAX_BYTES {
            let error = RpcError::internal("the answer is larger than a client can take, and was not put into a file");
            text = jsonrpc::error(Some(&open.id), &error);
        }
        self.events.request_ended(open.method, outcome, open.since.elapsed());
        self.events.message_queued(MessageKind::Response, &text);
        self.push_answer(open.batch, Some(text), true);
        true
    }

    /// Forgets the open request with this id, which the client cancelled: it gets no answer. `None` if there is none.
    pub fn cancel(&self, id: &RequestId) -> Option<RequestKey> {
        let mut inner = self.lock();
        let key = *inner.keys.get(id)?;
        let open = inner.close(key)?;
        if inner.cancelled.len() >= OPEN_REQUESTS_MAX {
            inner.cancelled.pop_front();
        }
        inner.cancelled.push_back(key);
        inner.rendering += 1;
        drop(inner);
        self.push_answer(open.batch, None, true);
        self.events.request_ended(open.method, Outcome::Cancelled, open.since.elapsed());
        Some(key)
    }

    /// Whether a request was cancelled a while ago.
    pub fn was_cancelled(&self, key: RequestKey) -> bool {
        self.lock().cancelled.contains(&key)
    }

    /// Answers something that never became an open request (broken, duplicate, beyond the bound).
    pub fn reject(&self, id: Option<&RequestId>, error: &RpcError) {
        let text = jsonrpc::error(id, error);
        self.events.message_queued(MessageKind::Response, &text);
        self.push_lines(vec![text], |_| {});
    }

    /// Answers something that never became an open request with a result (JSON on one line).
    pub fn reject_with_result(&self, id: &RequestId, result_json: &str, is_stateless: bool) {
        let text = result_line(id, result_json, is_stateless);
        self.events.message_queued(MessageKind::Response, &text);
        self.push_lines(vec![text], |_| {});
    }

    /// Sends a notification (or a request of ours). `kind` names what may be coalesced: the same line that is still queued makes a
    /// second one needless when `coalesce` is set. Whether it is on its way: where too many wait, it is dropped.
    pub fn notify(&self, kind: &'static str, text: String, coalesce: bool) -> bool {
        self.notify_of(None, kind, text, coalesce)
    }

    /// The same for one subscription: nothing, if it has ended.
    fn notify_of(&self, subscription: Option<RequestKey>, kind: &'static str, text: String, coalesce: bool) -> bool {
        self.events.check_line(&text);
        let mut inner = self.lock();
        if subscription.is_some_and(|key| !inner.open.contains_key(&key)) {
            return false;
        }
        if coalesce && inner.queue.iter().any(|line| line.notification == Some(kind) && line.text == text) {
            return true;
        }
        if inner.notifications >= STDOUT_NOTIFICATIONS_MAX {
            inner.dropped_notifications += 1;
            return false;
        }
        inner.notifications += 1;
        // Queued under the same lock as the look: the end of a subscription comes behind it.
        if !inner.broken {
            inner.queued_bytes += text.len();
            inner.queue.push_back(Line { text, notification: Some(kind) });
        }
        drop(inner);
        let sort = if matches!(kind, ROOTS_LIST | PING) { MessageKind::Request } else { MessageKind::Notification };
        self.events.message_queued(sort, "");
        self.filled.notify_one();
        true
    }

    /// Sends the progress of an open request; nothing is sent once that was answered or cancelled, nor what is not more than
    /// was told before: whoever decides on progress does so under a lock that it has left when it comes here.
    pub fn progress(&self, key: RequestKey, progress: f64, text: String) {
        let mut inner = self.lock();
        let told = inner.progress.get(&key).is_some_and(|told| *told >= progress);
        if !inner.open.contains_key(&key) || inner.broken || told {
            return;
        }
        inner.progress.insert(key, progress);
        if inner.notifications >= STDOUT_NOTIFICATIONS_MAX {
            inner.dropped_notifications += 1;
            return;
        }
        // Queued under the same lock as the look: an answer that is being given now comes behind it.
        inner.notifications += 1;
        inner.queued_bytes += text.len();
        inner.queue.push_back(Line { text, notification: Some("progress") });
        drop(inner);
        self.events.message_queued(MessageKind::Notification, "");
        self.filled.notify_one();
    }

    /// Waits until stdout has room for more answers. Only a blocked stdout makes anybody wait here.
    pub async fn room(&self) {
        loop {
            let emptied = self.emptied.notified();
            {
                let inner = self.lock();
                let room = inner.queue.len() < STDOUT_QUEUE_MAX_LINES && inner.queued_bytes < STDOUT_QUEUE_HIGH_BYTES;
                if room || inner.broken {
                    return;
                }
            }
            emptied.await;
        }
    }

    /// True while a full queue keeps requests from being read.
    pub fn is_blocked(&self) -> bool {
        let inner = self.lock();
        inner.queue.len() >= STDOUT_QUEUE_MAX_LINES || inner.queued_bytes >= STDOUT_QUEUE_HIGH_BYTES
    }

    /// True when everything that was queued has been written.
    pub fn is_flushed(&self) -> bool {
        let inner = self.lock();
        inner.broken || (inner.queue.is_empty() && !inner.writing && inner.rendering == 0)
    }

    /// Waits until everything that was queued has been written.
    pub async fn flushed(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.is_flushed() {
                return;
            }
            emptied.await;
        }
    }

    /// Waits until no request that became a call is open.
    pub async fn calls_answered(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.requests_with_call().is_empty() {
                return;
            }
            emptied.await;
        }
    }

    /// What was counted.
    pub fn counts(&self) -> FrontCounts {
        let inner = self.lock();
        FrontCounts {
            open: inner.open.len(),
            queued: inner.queue.len(),
            dropped_notifications: inner.dropped_notifications,
            surplus_answers: inner.surplus_answers,
        }
    }

    /// Writes the queue to `out` until that fails (the client is gone). One write per batch of lines.
    pub async fn pump_out(&self, mut out: impl AsyncWrite + Unpin) {
        loop {
            let batch = self.next_batch().await;
            let written = async {
                out.write_all(&batch).await?;
                out.flush().await
            };
            let failed = written.await.is_err();
            let mut inner = self.lock();
            inner.writing = false;
            if failed {
                inner.broken = true;
                inner.queue.clear();
                inner.queued_bytes = 0;
            }
            drop(inner);
            self.emptied.notify_waiters();
            if failed {
                return;
            }
            self.events.stdout_written();
        }
    }

    async fn next_batch(&self) -> Vec<u8> {
        loop {
            let filled = self.filled.notified();
            if let Some(batch) = self.take_batch() {
                return batch;
            }
            filled.await;
        }
    }

    fn take_batch(&self) -> Option<Vec<u8>> {
        let mut inner = self.lock();
        let first = inner.queue.pop_front()?;
        inner.queued_bytes -= first.text.len();
        inner.notifications -= usize::from(first.notification.is_some());
        let mut batch = first.text.into_bytes();
        batch.push(b'\n');
        // Small lines share a write; a large one is never copied.
        while batch.len() < SHARED_WRITE_BYTES
            && inner.queue.front().is_some_and(|line| line.text.len() < SHARED_WRITE_BYTES)
            && let Some(line) = inner.queue.pop_front()
        {
            inner.queued_bytes -= line.text.len();
            inner.notifications -= usize::from(line.notification.is_some());
            batch.extend_from_slice(line.text.as_bytes());
            batch.push(b'\n');
        }
        inner.writing = true;
        Some(batch)
    }
}

/// A result as its era writes it.
fn result_line(id: &RequestId, result_json: &str, is_stateless: bool) -> String {
    if is_stateless {
        jsonrpc::response(id, &stateless::complete(result_json, &SERVER))
    } else {
        jsonrpc::response(id, result_json)
    }
}

#[cfg(test)]
mod tests;
