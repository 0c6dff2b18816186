//! The outbox of a session: the client's open requests and the queue to stdout. All parts share it, and it outlives every actor.
//!
//! The outbox is not an actor: it is [`Requests`] behind a lock that is never held across an await, with two signals to wait for.
//! Only this file writes lines to stdout.
//!
//! Only the part that has the [`Right`] writes. That is stdout's pump (the task that writes the queue) or, for a short answer
//! while the queue is empty, the part that answers. Such a part takes both the request and the right under one lock, makes the
//! line outside of the lock, and writes as much as stdout takes without blocking; the pump writes the rest. So a plain answer
//! takes the lock once and wakes no thread.

use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout_at};

use crate::core::requests::{
    Array, BatchKey, Hold, Holder, NotOpened, Notified, Open, RequestCounts, Requests, TooManySubscriptions, line_of,
};
use crate::limits::{CLIENT_MESSAGE_MAX_BYTES, STDOUT_AT_ONCE_MAX_BYTES, STDOUT_WRITE_MAX_BYTES};
use crate::platform::stdio::WriteAtOnce;
use crate::protocol::ids::{RequestKey, SessionId};
use crate::protocol::jsonrpc::{self, RequestId, RpcError};
use crate::protocol::mcp::request::{Filter, List};
use crate::protocol::mcp::stateless::{self, Requester};
use crate::protocol::mcp::{Method, ServerInfo};
use crate::runtime::enter;
use crate::telemetry::events::Events;
use crate::telemetry::metrics::labels::Outcome;

/// What this program tells clients about itself.
pub const SERVER: ServerInfo<'static> = ServerInfo { version: env!("CARGO_PKG_VERSION") };

/// The kind of our own request for the client's roots.
pub const ROOTS_LIST: &str = "roots/list";
/// The kind of our own ping to the client.
pub const PING: &str = "ping";

/// The outbox of one session; see the module's documentation.
#[derive(Default)]
pub struct Outbox {
    events: Events,
    requests: Mutex<Requests>,
    /// How often the lock was taken, for a test.
    locked: AtomicU64,
    /// The number of lines in the queue, and whether it has no room for more answers, as of when the lock was last released.
    queued: AtomicUsize,
    full: AtomicBool,
    /// Whether the right to write is taken.
    writing: AtomicBool,
    /// The rest of a line that the holder of the right passes to the pump, together with the right.
    left_to_pump: Mutex<Option<Vec<u8>>>,
    /// Writes to stdout without blocking; not set if that is not possible.
    at_once: OnceLock<WriteAtOnce>,
    filled: Notify,
    /// Notified when lines were written or a request was answered.
    emptied: Notify,
    /// Bytes that stdout has taken so far.
    left: AtomicU64,
}

/// The held lock. Dropping it updates the outbox's copies of the queue's state.
struct Entered<'o> {
    requests: MutexGuard<'o, Requests>,
    outbox: &'o Outbox,
}

impl Deref for Entered<'_> {
    type Target = Requests;

    fn deref(&self) -> &Requests {
        &self.requests
    }
}

impl DerefMut for Entered<'_> {
    fn deref_mut(&mut self) -> &mut Requests {
        &mut self.requests
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.outbox.queued.store(self.requests.queued(), Ordering::SeqCst);
        self.outbox.full.store(!self.requests.has_room(), Ordering::SeqCst);
    }
}

/// The right to write to stdout. Dropping it releases the right, even if making the line panics. A right that was
/// passed to the pump is not released.
struct Right<'o> {
    outbox: &'o Outbox,
    left_to_pump: bool,
}

impl Drop for Right<'_> {
    fn drop(&mut self) {
        if !self.left_to_pump {
            self.outbox.writing.store(false, Ordering::SeqCst);
        }
        self.outbox.emptied.notify_waiters();
        // Lines that were queued in the meantime could not be written because the right was taken: wake the pump.
        if self.left_to_pump || self.outbox.queued.load(Ordering::SeqCst) > 0 {
            self.outbox.filled.notify_one();
        }
    }
}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts = self.counts();
        f.debug_struct("Outbox").field("open", &counts.open).field("queued", &counts.queued).finish()
    }
}

impl Outbox {
    /// Creates the outbox of a session; `events` logs and counts its messages.
    pub fn new(session: SessionId, events: Events) -> Self {
        Self { events, requests: Mutex::new(Requests::of(session)), ..Self::default() }
    }

    /// Lets this many more requests be open.
    pub fn allow_more(&self, more: usize) {
        self.lock().allow_more(more);
    }

    /// Takes the lock, even if a former holder panicked: every operation leaves the table of requests consistent.
    fn lock(&self) -> Entered<'_> {
        self.locked.fetch_add(1, Ordering::Relaxed);
        Entered { requests: self.requests.lock().unwrap_or_else(PoisonError::into_inner), outbox: self }
    }

    /// How often the lock was taken so far; a test limits this for a call.
    pub fn times_locked(&self) -> u64 {
        self.locked.load(Ordering::Relaxed)
    }

    /// Allows a short answer to be written at once by the part that answers, while the queue is empty.
    pub fn write_at_once(&self, write: WriteAtOnce) {
        let _ = self.at_once.set(write);
    }

    /// Takes the right to write; `None` if another part has it. The lock is held at the same time, so that lines are written in
    /// the order in which the lock was taken.
    fn take_right(&self, _locked: &Entered<'_>) -> Option<Right<'_>> {
        // Created only if the right is free: dropping another `Right` would release the right of the part that has it.
        (!self.writing.swap(true, Ordering::SeqCst)).then(|| Right { outbox: self, left_to_pump: false })
    }

    /// Opens a request: from here on the request gets exactly one answer, the queue has room for that answer, and the request's
    /// key identifies it. `requester` is set for a request of the stateless era. [`Hold::pass`] passes the request to the next
    /// holder.
    ///
    /// # Errors
    /// [`NotOpened`] if the id is open already or too many requests are; the request must be answered with
    /// [`reject`](Outbox::reject).
    pub fn open(&self, id: &RequestId, method: Method, requester: Option<Arc<Requester>>) -> Result<Hold, NotOpened> {
        self.lock().open(id, method, requester)
    }

    /// Passes an open request back to the session, because it is no longer a call.
    pub fn given_back(&self, key: RequestKey) {
        if let Some(open) = self.lock().get(key) {
            open.hold.pass(Holder::Session);
        }
    }

    /// Returns the open requests that the session actor has and that did not become calls.
    pub fn delivered_requests(&self) -> Vec<RequestKey> {
        self.lock().held_by(&[Holder::Session])
    }

    /// Returns the open requests that did not become calls: those of the session actor, and those not delivered to it yet.
    pub fn requests_without_call(&self) -> Vec<RequestKey> {
        self.lock().held_by(&[Holder::Intake, Holder::Session])
    }

    /// Notes that the answer to a request is being made and comes soon. At the end the gateway waits for it, as for the
    /// answer of a call.
    pub fn is_being_answered(&self, key: RequestKey) {
        if let Some(open) = self.lock().get(key) {
            open.hold.pass(Holder::Ledger);
        }
    }

    /// Returns the open requests that became calls.
    pub fn requests_with_call(&self) -> Vec<RequestKey> {
        self.lock().held_by(&[Holder::Ledger])
    }

    pub fn is_open(&self, key: RequestKey) -> bool {
        self.lock().get(key).is_some()
    }

    /// Returns the id of an open request, as its client wrote it; `None` if the request is not open.
    fn id(&self, key: RequestKey) -> Option<RequestId> {
        self.lock().get(key).map(|open| open.id.clone())
    }

    /// Returns the id of a request if it is a number; `None` if the request is not open, or its id is no such number.
    pub fn number_of(&self, key: RequestKey) -> Option<u64> {
        self.id(key)?.as_json().parse().ok()
    }

    /// Answers an open request with a result (JSON on one line). Returns false and writes nothing if the request is not open.
    pub fn answer(&self, key: RequestKey, result_json: &str) -> bool {
        let short = result_json.len() <= STDOUT_AT_ONCE_MAX_BYTES;
        self.settle(key, Outcome::Ok, short, |open| result_line(&open.id, result_json, open.requester.is_some()))
    }

    /// As [`answer`](Self::answer), for a result that is complete in the form of the request's era already.
    pub fn answer_as_is(&self, key: RequestKey, result_json: &str) -> bool {
        let short = result_json.len() <= STDOUT_AT_ONCE_MAX_BYTES;
        self.settle(key, Outcome::Ok, short, |open| jsonrpc::response(&open.id, result_json))
    }

    /// As [`answer`](Self::answer), but `write` puts the result straight into the line. `bytes` is its approximate size.
    pub fn answer_with(&self, key: RequestKey, bytes: usize, write: impl FnOnce(&mut String)) -> bool {
        self.settle(key, Outcome::Ok, bytes <= STDOUT_AT_ONCE_MAX_BYTES, |open| {
            if open.requester.is_none() {
                return jsonrpc::response_with(&open.id, bytes, write);
            }
            let mut json = String::with_capacity(bytes);
            write(&mut json);
            result_line(&open.id, &json, true)
        })
    }

    /// Answers an open request with an error. Returns false and writes nothing if the request is not open.
    pub fn answer_error(&self, key: RequestKey, error: &RpcError) -> bool {
        self.settle(key, Outcome::Error, true, |open| jsonrpc::error(Some(&open.id), error))
    }

    fn settle(&self, key: RequestKey, outcome: Outcome, short: bool, line: impl FnOnce(&Open) -> String) -> bool {
        let mut requests = self.lock();
        let Some(open) = requests.take(key) else { return false };
        let past_the_queue = short && open.batch.is_none() && requests.is_next();
        let right = if past_the_queue { self.take_right(&requests) } else { None };
        if right.is_none() {
            requests.render();
        }
        drop(requests);
        // The line is made outside the lock, since results reach megabytes. The request is removed already, so no other
        // part can answer it in the meantime.
        let mut text = line(&open);
        // The two bytes are the brackets of a batch.
        if text.len() + 2 > CLIENT_MESSAGE_MAX_BYTES {
            let error = RpcError::internal("the answer is larger than a client can take, and was not put into a file");
            text = jsonrpc::error(Some(&open.id), &error);
        }
        self.events.request_ended(open.method, outcome);
        self.events.check_line(&text);
        match right {
            Some(right) => self.write_out(right, text),
            None => self.push_answer(open.batch, Some(text), true),
        }
        true
    }

    /// Writes a line at once, and passes what stdout does not take to the pump.
    fn write_out(&self, mut right: Right<'_>, line: String) {
        let mut bytes = line.into_bytes();
        bytes.push(b'\n');
        let at_once = self.at_once.get().filter(|_| bytes.len() <= STDOUT_AT_ONCE_MAX_BYTES);
        // If writing fails, the pump gets the whole line, fails with the same error and ends.
        let count = at_once.and_then(|write| write(&bytes).ok()).unwrap_or(0);
        self.left.fetch_add(count as u64, Ordering::Relaxed);
        if count < bytes.len() {
            bytes.drain(..count);
            *enter(&self.left_to_pump) = Some(bytes);
            right.left_to_pump = true;
        } else {
            self.events.stdout_written();
        }
    }

    /// Removes the open request with this id, which the client cancelled: it gets no answer. Returns `None` if no such request is
    /// open.
    pub fn cancel(&self, id: &RequestId) -> Option<RequestKey> {
        let (key, open) = self.lock().cancel(id)?;
        self.push_answer(open.batch, None, true);
        self.events.request_ended(open.method, Outcome::Cancelled);
        Some(key)
    }

    pub fn was_cancelled(&self, key: RequestKey) -> bool {
        self.lock().was_cancelled(key)
    }

    /// Answers a request that was never opened (broken, duplicate, beyond the limit) with an error.
    pub fn reject(&self, id: Option<&RequestId>, error: &RpcError) {
        self.push_unasked(jsonrpc::error(id, error));
    }

    /// Answers a request that was never opened with a result (JSON on one line).
    pub fn reject_with_result(&self, id: &RequestId, result_json: &str, is_stateless: bool) {
        self.push_unasked(result_line(id, result_json, is_stateless));
    }

    fn push_unasked(&self, text: String) {
        self.events.check_line(&text);
        self.change(|requests| requests.push(vec![text]));
    }

    /// Sends a notification, or a request of ours. With `coalesce`, nothing is added if the same line of this `kind` is still
    /// queued. False if the line was dropped because too many wait.
    pub fn notify(&self, kind: &'static str, text: String, coalesce: bool) -> bool {
        self.notify_of(None, kind, text, coalesce)
    }

    /// As [`notify`](Self::notify); for a subscription, sends nothing if the subscription has ended.
    fn notify_of(&self, subscription: Option<RequestKey>, kind: &'static str, text: String, coalesce: bool) -> bool {
        self.events.check_line(&text);
        let notified = self.lock().notify(subscription, kind, text, coalesce);
        if notified == Notified::Queued {
            self.filled.notify_one();
        }
        notified != Notified::Dropped
    }

    /// Sends the progress of an open request. Sends nothing if the request has ended, or if `progress` is not greater than
    /// before: progress is decided under the ledger's lock, which is released before this call, so two values can arrive in the
    /// wrong order.
    pub fn progress(&self, key: RequestKey, progress: f64, text: String) {
        if self.lock().progress(key, progress, text) {
            self.filled.notify_one();
        }
    }

    // ---- subscriptions of the stateless era ----

    /// Makes an open request a subscription. Its acknowledgement is sent before any other message of the subscription.
    ///
    /// # Errors
    /// Too many subscriptions are open. The request stays open and must be answered.
    pub fn subscribe(&self, key: RequestKey, filter: Filter) -> Result<(), TooManySubscriptions> {
        if self.lock().subscribe(key, filter)? {
            self.filled.notify_one();
        }
        Ok(())
    }

    /// Sends "the list changed" to every subscription that asked for it, or only to `only`. Returns whether any asked for it.
    pub fn list_changed(&self, list: List, only: Option<RequestKey>) -> bool {
        let listening = self.lock().subscriptions(|filter| filter.wants(list));
        let is_wanted = !listening.is_empty();
        for key in listening.into_iter().filter(|key| only.is_none_or(|only| only == *key)) {
            let Some(id) = self.id(key) else { continue };
            self.notify_of(Some(key), list.notification(), stateless::list_changed(list, &id), true);
        }
        is_wanted
    }

    /// Ends every subscription with the answer to its request.
    pub fn end_subscriptions(&self) {
        let subscriptions = self.lock().subscriptions(|_| true);
        for key in subscriptions {
            self.settle(key, Outcome::Ok, true, |open| stateless::subscription_ended(&open.id));
        }
    }

    // ---- batches of MCP 2025-03-26 ----

    /// Begins to read a batch: its answers are kept until [`end_batch`](Self::end_batch).
    pub fn begin_batch(&self) -> BatchKey {
        self.lock().begin_batch()
    }

    /// Makes an open request a member of a batch that is being read.
    pub fn join_batch(&self, request: RequestKey, key: BatchKey) {
        self.lock().join_batch(request, key);
    }

    /// Ends a batch after all its members are read. The answers are sent as soon as the last one is there.
    pub fn end_batch(&self, key: BatchKey) {
        self.lock().render();
        self.push_answer(Some(key), None, true);
    }

    /// Sends the answers that batches hold, even if not all their members are read, because the program ends. Later answers are
    /// sent alone.
    pub fn end_batches(&self) {
        let due = self.lock().end_batches();
        self.push_arrays(&due);
    }

    /// As [`reject`](Self::reject), for a member of a batch that is being read.
    pub fn reject_member(&self, key: BatchKey, id: Option<&RequestId>, error: &RpcError) {
        let text = jsonrpc::error(id, error);
        self.events.check_line(&text);
        self.lock().render();
        self.push_answer(Some(key), Some(text), false);
    }

    /// Queues the lines that are due after an answer, or after a request ended without one. An array is joined outside the lock:
    /// it may have megabytes.
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

    /// Changes the queue. Wakes the pump, and the tasks that wait for room or for an answer.
    fn change(&self, change: impl FnOnce(&mut Requests)) {
        change(&mut self.lock());
        self.filled.notify_one();
        // The answer to a member of a batch closes its request, even if nothing is written yet.
        self.emptied.notify_waiters();
    }

    // ---- the queue to stdout ----

    /// Waits until the queue has room for more answers. It has room unless stdout is blocked.
    pub async fn room(&self) {
        if self.full.load(Ordering::SeqCst) {
            self.until(Requests::has_room).await;
        }
    }

    /// Whether a full queue keeps requests from being read.
    pub fn is_blocked(&self) -> bool {
        self.lock().is_blocked()
    }

    /// Whether everything that was queued has been written, or stdout has failed.
    pub fn is_flushed(&self) -> bool {
        self.has_flushed(&self.lock())
    }

    /// Whether stdout has failed.
    pub fn is_broken(&self) -> bool {
        self.lock().is_broken()
    }

    fn has_flushed(&self, requests: &Requests) -> bool {
        requests.is_broken() || requests.is_empty() && !self.writing.load(Ordering::SeqCst)
    }

    /// Waits for [`is_flushed`](Self::is_flushed).
    pub async fn flushed(&self) {
        self.until(|requests| self.has_flushed(requests)).await;
    }

    /// Waits for [`is_flushed`](Self::is_flushed), at most `most`, and gives up earlier if the client reads nothing for `stall`.
    /// Returns false if not everything was written.
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

    /// Waits until lines wait and the client takes nothing for `most`. This is noticed after twice that time at the
    /// latest.
    pub async fn stands_still(&self, most: Duration) {
        loop {
            let (before, waits) = (self.left.load(Ordering::Relaxed), !self.is_flushed());
            sleep(most).await;
            if waits && !self.is_flushed() && self.left.load(Ordering::Relaxed) == before {
                return;
            }
        }
    }

    /// Waits until no request that became a call is open.
    pub async fn calls_answered(&self) {
        self.until(|requests| requests.held_by(&[Holder::Ledger]).is_empty()).await;
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

    /// Returns the numbers of open requests and queued lines, among others.
    pub fn counts(&self) -> RequestCounts {
        let counts = self.lock().counts();
        let left_to_pump = usize::from(enter(&self.left_to_pump).is_some());
        RequestCounts { queued: counts.queued + left_to_pump, ..counts }
    }

    /// Writes the queue to `out` until a write fails, because the client is gone. Small lines share a write.
    pub async fn pump_out(&self, mut out: impl AsyncWrite + Unpin) {
        loop {
            let (bytes, _right) = self.next_write().await;
            if self.write(&mut out, &bytes).await.is_err() {
                self.lock().fail();
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

    async fn next_write(&self) -> (Vec<u8>, Right<'_>) {
        loop {
            let filled = self.filled.notified();
            if let Some(bytes) = enter(&self.left_to_pump).take() {
                return (bytes, Right { outbox: self, left_to_pump: false });
            }
            if self.queued.load(Ordering::SeqCst) > 0 {
                let mut requests = self.lock();
                if let Some(right) = self.take_right(&requests)
                    && let Some(bytes) = requests.take_write()
                {
                    return (bytes, right);
                }
            }
            filled.await;
        }
    }
}

/// Returns the line with a result, in the form of the request's era.
fn result_line(id: &RequestId, result_json: &str, is_stateless: bool) -> String {
    if is_stateless {
        jsonrpc::response(id, &stateless::complete(result_json, &SERVER))
    } else {
        jsonrpc::response(id, result_json)
    }
}

#[cfg(test)]
mod tests;
