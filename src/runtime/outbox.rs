//! The open client requests and the queue to stdout, shared by all parts and outliving every actor.
//!
//! Not an actor: [`Requests`] behind a lock that is never held across an await, and the two things that can be waited for. It is
//! the only place that can put a line on stdout.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::core::requests::{
    Array, BatchKey, Holder, NotOpened, Notified, Open, RequestCounts, Requests, TooManySubscriptions, line_of,
};
use crate::limits::{CLIENT_MESSAGE_MAX_BYTES, STDOUT_WRITE_MAX_BYTES};
use crate::protocol::ids::{RequestKey, SessionId};
use crate::protocol::jsonrpc::{self, RequestId, RpcError};
use crate::protocol::mcp::request::Filter;
use crate::protocol::mcp::stateless::{self, Caller};
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

/// See the module's documentation.
#[derive(Default)]
pub struct Outbox {
    events: Events,
    requests: Mutex<Requests>,
    filled: Notify,
    /// Lines left, or a request was answered.
    emptied: Notify,
    /// Bytes that stdout took so far.
    left: AtomicU64,
}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts = self.counts();
        f.debug_struct("Outbox").field("open", &counts.open).field("queued", &counts.queued).finish()
    }
}

impl Outbox {
    /// The outbox of a session; it tells these events.
    pub fn new(session: SessionId, events: Events) -> Self {
        Self { events, requests: Mutex::new(Requests::of(session)), ..Self::default() }
    }

    /// A lock whose holder panicked is entered again: every operation leaves the table whole.
    fn lock(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a request: from here on it has exactly one answer, and a place for it in the queue. `caller` is who asks, for a
    /// request of the stateless era. Its key names it from here on.
    ///
    /// # Errors
    /// [`NotOpened`]; the request must be answered by [`reject`](Outbox::reject).
    pub fn open(&self, id: &RequestId, method: Method, caller: Option<Arc<Caller>>) -> Result<RequestKey, NotOpened> {
        self.lock().open(id, method, caller, Instant::now())
    }

    /// Marks a request as handed to a session.
    pub fn delivered(&self, key: RequestKey) {
        self.lock().hold(key, Holder::Session);
    }

    /// Marks a request as not taken by the session it was handed to.
    pub fn returned(&self, key: RequestKey) {
        self.lock().hold(key, Holder::Intake);
    }

    /// Marks a request as a call in the ledger: from here on a session's end does not answer it.
    pub fn became_call(&self, key: RequestKey) {
        self.lock().hold(key, Holder::Ledger);
    }

    /// The open requests that a session had and that did not become calls.
    pub fn delivered_requests(&self) -> Vec<RequestKey> {
        self.lock().held(|holder| holder == Holder::Session)
    }

    /// The open requests that did not become calls.
    pub fn requests_without_call(&self) -> Vec<RequestKey> {
        self.lock().held(|holder| matches!(holder, Holder::Intake | Holder::Session))
    }

    /// The open requests that became calls.
    pub fn requests_with_call(&self) -> Vec<RequestKey> {
        self.lock().held(|holder| holder == Holder::Ledger)
    }

    /// Whether a request is open.
    pub fn is_open(&self, key: RequestKey) -> bool {
        self.lock().get(key).is_some()
    }

    /// The id of an open request, as its client wrote it.
    fn id(&self, key: RequestKey) -> Option<RequestId> {
        self.lock().get(key).map(|open| open.id.clone())
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
        let Some(open) = self.lock().take(key) else { return false };
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
        let (key, open) = self.lock().cancel(id)?;
        self.push_answer(open.batch, None, true);
        self.events.request_ended(open.method, Outcome::Cancelled, open.since.elapsed());
        Some(key)
    }

    /// Whether a request was cancelled a while ago.
    pub fn was_cancelled(&self, key: RequestKey) -> bool {
        self.lock().was_cancelled(key)
    }

    /// Answers something that never became an open request (broken, duplicate, beyond the bound).
    pub fn reject(&self, id: Option<&RequestId>, error: &RpcError) {
        self.push_unasked(jsonrpc::error(id, error));
    }

    /// Answers something that never became an open request with a result (JSON on one line).
    pub fn reject_with_result(&self, id: &RequestId, result_json: &str, is_stateless: bool) {
        self.push_unasked(result_line(id, result_json, is_stateless));
    }

    fn push_unasked(&self, text: String) {
        self.events.message_queued(MessageKind::Response, &text);
        self.change(|requests| requests.push(vec![text]));
    }

    /// Sends a notification (or a request of ours). `kind` names what may be coalesced: the same line that is still queued makes a
    /// second one needless when `coalesce` is set. Whether it is on its way: where too many wait, it is dropped.
    pub fn notify(&self, kind: &'static str, text: String, coalesce: bool) -> bool {
        self.notify_of(None, kind, text, coalesce)
    }

    /// The same for one subscription: nothing, if it has ended.
    fn notify_of(&self, subscription: Option<RequestKey>, kind: &'static str, text: String, coalesce: bool) -> bool {
        self.events.check_line(&text);
        let notified = self.lock().notify(subscription, kind, text, coalesce);
        if notified == Notified::Queued {
            let sort = if matches!(kind, ROOTS_LIST | PING) { MessageKind::Request } else { MessageKind::Notification };
            self.events.message_queued(sort, "");
            self.filled.notify_one();
        }
        notified != Notified::Dropped
    }

    /// Sends the progress of an open request; nothing is sent once that was answered or cancelled, nor what is not more than
    /// was told before: progress is decided under the lock of the calls, which is free again when it comes here.
    pub fn progress(&self, key: RequestKey, progress: f64, text: String) {
        if self.lock().progress(key, progress, text) {
            self.events.message_queued(MessageKind::Notification, "");
            self.filled.notify_one();
        }
    }

    // ---- subscriptions of the stateless era ----

    /// Makes an open request a subscription and tells its client so, before anything else that it is told under it.
    ///
    /// # Errors
    /// More are open than may be: the request is still open, and must be answered.
    pub fn subscribe(&self, key: RequestKey, filter: Filter) -> Result<(), TooManySubscriptions> {
        if self.lock().subscribe(key, filter)? {
            self.events.message_queued(MessageKind::Notification, "");
            self.filled.notify_one();
        }
        Ok(())
    }

    /// Tells every subscription that asked for it, or only this one, that the list of tools is another one.
    pub fn tools_changed(&self, only: Option<RequestKey>) {
        let listening = self.lock().held(|holder| matches!(holder, Holder::Subscription(Filter { tools: true })));
        for key in listening.into_iter().filter(|key| only.is_none_or(|only| only == *key)) {
            let Some(id) = self.id(key) else { continue };
            self.notify_of(Some(key), TOOLS_CHANGED, stateless::tools_list_changed(&id), true);
        }
    }

    /// Ends every subscription with the answer to its request.
    pub fn end_subscriptions(&self) {
        let subscriptions = self.lock().held(|holder| matches!(holder, Holder::Subscription(_)));
        for key in subscriptions {
            self.settle(key, Outcome::Ok, |open| stateless::subscription_ended(&open.id));
        }
    }

    // ---- batches of MCP 2025-03-26 ----

    /// Begins to read a batch: its answers wait for [`end_batch`](Self::end_batch).
    pub fn begin_batch(&self) -> BatchKey {
        self.lock().begin_batch()
    }

    /// The open request is a member of a batch that is being read.
    pub fn join_batch(&self, request: RequestKey, key: BatchKey) {
        self.lock().join_batch(request, key);
    }

    /// All members of a batch are read.
    pub fn end_batch(&self, key: BatchKey) {
        self.lock().render();
        self.push_answer(Some(key), None, true);
    }

    /// The program ends: what batches hold goes out, also where not all members are read. A later answer goes out alone.
    pub fn end_batches(&self) {
        let due = self.lock().end_batches();
        self.push_arrays(&due);
    }

    /// As [`reject`](Self::reject), for a member of a batch that is being read.
    pub fn reject_member(&self, key: BatchKey, id: Option<&RequestId>, error: &RpcError) {
        let text = jsonrpc::error(id, error);
        self.events.message_queued(MessageKind::Response, &text);
        self.lock().render();
        self.push_answer(Some(key), Some(text), false);
    }

    /// Queues what an answer, or a request's end without one, makes due. It is owed already, and an array is joined outside the
    /// lock: it may reach megabytes.
    fn push_answer(&self, batch: Option<BatchKey>, answer: Option<String>, ended: bool) {
        match batch {
            None => self.change(|requests| requests.rendered(answer.into_iter().collect())),
            Some(key) => {
                let due = self.lock().settle_member(key, answer, ended);
                self.push_arrays(&due);
            }
        }
    }

    fn push_arrays(&self, due: &[Array]) {
        let lines = due.iter().map(|array| line_of(array)).collect();
        self.change(|requests| requests.rendered(lines));
    }

    /// Changes the queue, and wakes the writer and who waits for an answer to leave.
    fn change(&self, change: impl FnOnce(&mut Requests)) {
        change(&mut self.lock());
        self.filled.notify_one();
        // A member of a batch that was answered frees its place, also where nothing is written yet.
        self.emptied.notify_waiters();
    }

    // ---- the queue to stdout ----

    /// Waits until stdout has room for more answers. Only a blocked stdout makes anybody wait here.
    pub async fn room(&self) {
        self.until(Requests::has_room).await;
    }

    /// True while a full queue keeps requests from being read.
    pub fn is_blocked(&self) -> bool {
        self.lock().is_blocked()
    }

    /// True when everything that was queued has been written.
    pub fn is_flushed(&self) -> bool {
        self.lock().is_flushed()
    }

    /// Waits until everything that was queued has been written.
    pub async fn flushed(&self) {
        self.until(Requests::is_flushed).await;
    }

    /// The same, for as long as the client takes something every `stall`, and for `most` in all. False if something is left that it
    /// has not taken.
    pub async fn flushed_while_it_reads(&self, stall: Duration, most: Duration) -> bool {
        let end = Instant::now() + most;
        loop {
            let before = self.left.load(Ordering::Relaxed);
            let look = (Instant::now() + stall).min(end);
            if timeout_at(look, self.flushed()).await.is_ok() {
                return true;
            }
            if look == end || self.left.load(Ordering::Relaxed) == before {
                return false;
            }
        }
    }

    /// Waits until no request that became a call is open.
    pub async fn calls_answered(&self) {
        self.until(|requests| requests.held(|holder| holder == Holder::Ledger).is_empty()).await;
    }

    async fn until(&self, reached: impl Fn(&Requests) -> bool) {
        loop {
            let emptied = self.emptied.notified();
            if reached(&self.lock()) {
                return;
            }
            emptied.await;
        }
    }

    /// What was counted.
    pub fn counts(&self) -> RequestCounts {
        self.lock().counts()
    }

    /// Writes the queue to `out` until that fails (the client is gone). One write per batch of lines.
    pub async fn pump_out(&self, mut out: impl AsyncWrite + Unpin) {
        loop {
            let bytes = self.next_write().await;
            let failed = self.write(&mut out, &bytes).await.is_err();
            self.lock().written(failed);
            self.emptied.notify_waiters();
            if failed {
                return;
            }
            self.events.stdout_written();
        }
    }

    async fn write(&self, out: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let count = out.write(&rest[..rest.len().min(STDOUT_WRITE_MAX_BYTES)]).await?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.left.fetch_add(count as u64, Ordering::Relaxed);
            rest = &rest[count..];
        }
        out.flush().await
    }

    async fn next_write(&self) -> Vec<u8> {
        loop {
            let filled = self.filled.notified();
            let bytes = self.lock().take_write();
            if let Some(bytes) = bytes {
                return bytes;
            }
            filled.await;
        }
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
