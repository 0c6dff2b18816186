//! The table of open client requests and the queue of lines for the client.
//!
//! Every operation is short and does no I/O. The caller holds a lock around it and wakes the tasks that wait. A request is
//! answered at most once, because it must first be taken out of the table. If a request is not in the table (it was answered or
//! cancelled), its answer is dropped and counted.

mod batches;
mod hold;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use self::batches::Batches;
pub use self::batches::{Array, BatchKey, line_of};
pub use self::hold::{Hold, Holder};
use crate::limits::{
    OPEN_REQUESTS_MAX, SHARED_WRITE_BYTES, STDOUT_NOTIFICATIONS_MAX, STDOUT_QUEUE_HIGH_BYTES, STDOUT_QUEUE_MAX_LINES,
    SUBSCRIPTIONS_MAX,
};
use crate::protocol::ids::{RequestKey, SessionId};
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::mcp::request::Filter;
use crate::protocol::mcp::stateless::{self, Requester};
use crate::protocol::mcp::{AnswerForm, ClientProfile, Method};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotOpened {
    /// A request with this id is open already.
    Duplicate,
    /// `OPEN_REQUESTS_MAX` requests are open.
    Full,
}

/// The client already has `SUBSCRIPTIONS_MAX` subscriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManySubscriptions;

/// A request that a session has accepted, and what its answer depends on. Created once, when the session accepts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub key: RequestKey,
    /// The client profile that the answer is written for.
    pub profile: ClientProfile,
    /// The form of the answer, if a tool's result answers the request.
    pub form: AnswerForm,
}

#[derive(Debug)]
pub struct Open {
    /// The id that the client gave the request.
    pub id: RequestId,
    pub batch: Option<BatchKey>,
    pub hold: Hold,
    /// The changes that the client wants to be notified of, if the request is a subscription.
    pub subscription: Option<Filter>,
    pub method: Method,
    /// Who made the request, if the request itself says so (stateless era).
    pub requester: Option<Arc<Requester>>,
}

#[derive(Debug)]
struct QueuedLine {
    text: String,
    /// The kind of a notification, which may be dropped or coalesced. `None` for an answer, which never may.
    notification: Option<&'static str>,
}

/// Counts for status and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestCounts {
    pub open: usize,
    /// Lines that wait to be written to stdout.
    pub queued: usize,
}

/// The result of queueing a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notified {
    Queued,
    /// An identical line is still queued, so a second one is not needed.
    Coalesced,
    /// The notification is not sent: too many wait, its subscription has ended, or the client is gone.
    Dropped,
}

/// The open requests of one session and its queue to stdout; see the module's documentation.
#[derive(Debug, Default)]
pub struct Requests {
    session: SessionId,
    open: HashMap<RequestKey, Open>,
    /// The open requests by the ids that their client gave them.
    keys: HashMap<RequestId, RequestKey>,
    batches: Batches,
    /// The last key that was given out.
    last_key: u64,
    /// The requests that were cancelled last: an answer to them may be under way.
    cancelled: VecDeque<RequestKey>,
    /// The last progress value sent for each open request.
    progress: HashMap<RequestKey, f64>,
    /// Answers whose request is out of the table, or whose batch is being joined, and whose line is not queued yet.
    rendering: usize,
    queue: VecDeque<QueuedLine>,
    queued_bytes: usize,
    notifications: usize,
    /// The client is gone: nothing is queued any more.
    broken: bool,
    /// How many more requests than `OPEN_REQUESTS_MAX` may be open.
    more: usize,
}

impl Requests {
    pub fn of(session: SessionId) -> Self {
        Self { session, ..Self::default() }
    }

    /// Lets this many more requests be open than `OPEN_REQUESTS_MAX`.
    pub fn allow_more(&mut self, more: usize) {
        self.more = more;
    }

    // ---- the table ----

    /// Opens a request, which then gets exactly one answer. `requester` is who made the request, if it is one of the stateless era.
    ///
    /// # Errors
    /// Returns [`NotOpened`] if the request was not added to the table.
    pub fn open(
        &mut self,
        id: &RequestId,
        method: Method,
        requester: Option<Arc<Requester>>,
    ) -> Result<Hold, NotOpened> {
        if self.keys.contains_key(id) {
            return Err(NotOpened::Duplicate);
        }
        if self.open.len() >= OPEN_REQUESTS_MAX + self.more {
            return Err(NotOpened::Full);
        }
        let key = self.next_key();
        let hold = Hold::new(key);
        let open = Open { id: id.clone(), batch: None, hold: hold.clone(), subscription: None, method, requester };
        self.open.insert(key, open);
        self.keys.insert(id.clone(), key);
        Ok(hold)
    }

    /// Returns a key that was never given out before.
    fn next_key(&mut self) -> RequestKey {
        self.last_key += 1;
        RequestKey::new(self.session, self.last_key)
    }

    pub fn get(&self, key: RequestKey) -> Option<&Open> {
        self.open.get(&key)
    }

    /// Returns the open requests of these holders, in the order in which they were opened.
    pub fn held_by(&self, holders: &[Holder]) -> Vec<RequestKey> {
        self.those(|open| holders.iter().any(|holder| open.hold.is_with(*holder)))
    }

    /// Returns the subscriptions for which `wanted` is true, in the order in which they were opened.
    pub fn subscriptions(&self, wanted: impl Fn(Filter) -> bool) -> Vec<RequestKey> {
        self.those(|open| open.subscription.is_some_and(&wanted))
    }

    fn those(&self, wanted: impl Fn(&Open) -> bool) -> Vec<RequestKey> {
        let mut keys: Vec<RequestKey> =
            self.open.iter().filter(|(_, open)| wanted(open)).map(|(key, _)| *key).collect();
        keys.sort();
        keys
    }

    /// Takes a request out of the table to answer it. Returns `None` if it is not open.
    pub fn take(&mut self, key: RequestKey) -> Option<Open> {
        let open = self.open.remove(&key)?;
        open.hold.end();
        self.keys.remove(&open.id);
        self.progress.remove(&key);
        Some(open)
    }

    /// Takes a request out of the table because its client cancelled it. Returns `None` if it is not open. Otherwise the caller
    /// must call [`rendered`](Self::rendered), with the arrays of the request's batch that are due.
    pub fn cancel(&mut self, id: &RequestId) -> Option<(RequestKey, Open)> {
        let key = *self.keys.get(id)?;
        let open = self.take(key)?;
        if self.cancelled.len() >= OPEN_REQUESTS_MAX {
            self.cancelled.pop_front();
        }
        self.cancelled.push_back(key);
        self.rendering += 1;
        Some((key, open))
    }

    /// Whether the client cancelled this request, among the last `OPEN_REQUESTS_MAX` that it cancelled.
    pub fn was_cancelled(&self, key: RequestKey) -> bool {
        self.cancelled.contains(&key)
    }

    // ---- batches ----

    pub fn begin_batch(&mut self) -> BatchKey {
        let RequestKey { number, .. } = self.next_key();
        self.batches.begin(BatchKey(number));
        BatchKey(number)
    }

    /// Adds an open request to a batch that is being read.
    pub fn join_batch(&mut self, request: RequestKey, key: BatchKey) {
        if let Some(open) = self.open.get_mut(&request)
            && self.batches.join(key)
        {
            open.batch = Some(key);
        }
    }

    /// Announces lines that [`rendered`](Self::rendered) will queue, so that the queue does not count as empty until then.
    pub fn render(&mut self) {
        self.rendering += 1;
    }

    /// Records that a member of a batch has ended, with this answer or none. Returns the arrays to send now.
    pub fn settle_member(&mut self, key: BatchKey, answer: Option<String>, ended: bool) -> Vec<Array> {
        self.batches.settle(key, answer, ended)
    }

    /// Ends all batches. Returns their waiting answers, which the caller must queue with [`rendered`](Self::rendered).
    pub fn end_batches(&mut self) -> Vec<Array> {
        self.rendering += 1;
        self.batches.end()
    }

    // ---- the queue ----

    /// Queues the lines that were announced with [`render`](Self::render),
    /// [`cancel`](Self::cancel) or [`end_batches`](Self::end_batches).
    pub fn rendered(&mut self, lines: Vec<String>) {
        self.rendering -= 1;
        self.push(lines);
    }

    /// Queues answers to messages that were never open requests.
    pub fn push(&mut self, lines: Vec<String>) {
        for text in lines {
            self.queue(text, None);
        }
    }

    fn queue(&mut self, text: String, notification: Option<&'static str>) {
        if !self.broken {
            self.queued_bytes += text.len();
            self.queue.push_back(QueuedLine { text, notification });
        }
    }

    /// Queues a notification. With `coalesce`, nothing is queued if an identical line of the same `kind` still waits. Nothing is
    /// queued either if the client is gone, if the subscription has ended, or if too many notifications wait. The answer that ends
    /// a subscription is written after everything that was queued for it.
    pub fn notify(
        &mut self,
        subscription: Option<RequestKey>,
        kind: &'static str,
        text: String,
        coalesce: bool,
    ) -> Notified {
        if self.broken || subscription.is_some_and(|key| !self.open.contains_key(&key)) {
            return Notified::Dropped;
        }
        if coalesce && self.queue.iter().any(|line| line.notification == Some(kind) && line.text == text) {
            return Notified::Coalesced;
        }
        if self.notifications >= STDOUT_NOTIFICATIONS_MAX {
            return Notified::Dropped;
        }
        self.notifications += 1;
        self.queue(text, Some(kind));
        Notified::Queued
    }

    /// Queues the progress of an open request, ahead of its answer. Returns false and queues nothing if the request is not open,
    /// if an equal or higher value was reported before, if too many notifications wait, or if the client is gone.
    pub fn progress(&mut self, key: RequestKey, progress: f64, text: String) -> bool {
        let told = self.progress.get(&key).is_some_and(|told| *told >= progress);
        let is_full = self.notifications >= STDOUT_NOTIFICATIONS_MAX;
        if !self.open.contains_key(&key) || self.broken || told || is_full {
            return false;
        }
        self.progress.insert(key, progress);
        self.notifications += 1;
        self.queue(text, Some("progress"));
        true
    }

    /// Turns an open request into a subscription and queues the acknowledgement, which is never dropped. Returns false if nothing
    /// was queued because the request was cancelled in the meantime, or because the client is gone.
    ///
    /// # Errors
    /// `SUBSCRIPTIONS_MAX` are open. The request is still open and must be answered.
    pub fn subscribe(&mut self, key: RequestKey, filter: Filter) -> Result<bool, TooManySubscriptions> {
        if self.open.values().filter(|open| open.subscription.is_some()).count() >= SUBSCRIPTIONS_MAX {
            return Err(TooManySubscriptions);
        }
        let Some(open) = self.open.get_mut(&key) else { return Ok(false) };
        open.hold.pass(Holder::Subscription);
        open.subscription = Some(filter);
        let text = stateless::acknowledged(&open.id, filter);
        self.queue(text, None);
        Ok(!self.broken)
    }

    /// Whether the queue has room for more answers. Also true once the client is gone, since nothing is written then.
    pub fn has_room(&self) -> bool {
        self.broken || !self.is_blocked()
    }

    /// Whether the queue is so full that no requests are read.
    pub fn is_blocked(&self) -> bool {
        self.queue.len() >= STDOUT_QUEUE_MAX_LINES || self.queued_bytes >= STDOUT_QUEUE_HIGH_BYTES
    }

    /// Whether a line may be written without being queued, because the queue is empty and the client is there.
    pub fn is_next(&self) -> bool {
        !self.broken && self.queue.is_empty()
    }

    /// Returns the number of waiting lines.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Whether the queue is empty and no announced line is missing. Also true once the client is gone.
    pub fn is_empty(&self) -> bool {
        self.broken || (self.queue.is_empty() && self.rendering == 0)
    }

    /// Whether the client is gone.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Returns the counts for status and metrics.
    pub fn counts(&self) -> RequestCounts {
        RequestCounts { open: self.open.len(), queued: self.queue.len() }
    }

    /// Removes the bytes of the next write from the queue; `None` if it is empty.
    pub fn take_write(&mut self) -> Option<Vec<u8>> {
        let mut bytes = self.pop()?.into_bytes();
        bytes.push(b'\n');
        // Small lines share a write. A large line is written alone, which saves a copy.
        while bytes.len() < SHARED_WRITE_BYTES
            && self.queue.front().is_some_and(|line| line.text.len() < SHARED_WRITE_BYTES)
            && let Some(text) = self.pop()
        {
            bytes.extend_from_slice(text.as_bytes());
            bytes.push(b'\n');
        }
        Some(bytes)
    }

    fn pop(&mut self) -> Option<String> {
        let line = self.queue.pop_front()?;
        self.queued_bytes -= line.text.len();
        self.notifications -= usize::from(line.notification.is_some());
        Some(line.text)
    }

    /// Records a failed write: the client is gone, and the queued lines are dropped.
    pub fn fail(&mut self) {
        self.broken = true;
        self.queue.clear();
        self.queued_bytes = 0;
        self.notifications = 0;
    }
}

#[cfg(test)]
mod tests;
