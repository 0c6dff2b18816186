//! The table of open client requests and the queue of lines for the client.
//!
//! Every operation is short and does no I/O; the caller holds a lock around it and wakes whoever waits. A request is answered at
//! most once: it must be taken out of the table first, and an answer to one that is not there (answered, cancelled) is only
//! counted.

mod batches;
mod hold;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tokio::time::Instant;

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
use crate::protocol::mcp::stateless::{self, Caller};
use crate::protocol::mcp::{ClientProfile, Method};

/// Why a request is not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotOpened {
    /// A request with this id is open: the first one keeps its answer.
    Duplicate,
    /// More requests are open than are kept.
    Full,
}

/// A client listens as often as it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManySubscriptions;

/// A request that was taken up: what its answer goes to, and for whom it is written. Made once, when the session takes it up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// The request.
    pub key: RequestKey,
    /// For whom the answer is written.
    pub profile: ClientProfile,
}

/// An open request.
#[derive(Debug)]
pub struct Open {
    /// The id that its client gave it.
    pub id: RequestId,
    /// The batch that it is a member of.
    pub batch: Option<BatchKey>,
    /// In whose hands it is.
    pub hold: Hold,
    /// What its client wants to be told, where it is a subscription.
    pub subscription: Option<Filter>,
    /// Its method.
    pub method: Method,
    /// Who asks, where the request says so itself.
    pub caller: Option<Arc<Caller>>,
    /// When it was opened.
    pub since: Instant,
}

#[derive(Debug)]
struct Line {
    text: String,
    /// Notifications may be dropped or coalesced; answers never.
    notification: Option<&'static str>,
}

/// What was counted, for status and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestCounts {
    /// Requests that are open.
    pub open: usize,
    /// Lines that wait for stdout.
    pub queued: usize,
    /// Notifications dropped for a slow reader.
    pub dropped_notifications: u64,
    /// Answers to requests that were not open any more.
    pub surplus_answers: u64,
}

/// What became of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notified {
    /// It is queued.
    Queued,
    /// The same line is still queued: that one says it.
    Coalesced,
    /// It is not sent: too many wait, or its subscription has ended.
    Dropped,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct Requests {
    /// Whose they are.
    session: SessionId,
    /// Open requests.
    open: HashMap<RequestKey, Open>,
    /// The open requests by the ids that their client gave them.
    keys: HashMap<RequestId, RequestKey>,
    batches: Batches,
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
    /// The client is gone: nothing is queued any more.
    broken: bool,
}

impl Requests {
    /// No request yet, of this session.
    pub fn of(session: SessionId) -> Self {
        Self { session, ..Self::default() }
    }

    // ---- the table ----

    /// Opens a request: from here on it has exactly one answer. `caller` is who asks, for a request of the stateless era.
    ///
    /// # Errors
    /// [`NotOpened`]: it is not in the table.
    pub fn open(
        &mut self,
        id: &RequestId,
        method: Method,
        caller: Option<Arc<Caller>>,
        now: Instant,
    ) -> Result<Hold, NotOpened> {
        if self.keys.contains_key(id) {
            return Err(NotOpened::Duplicate);
        }
        if self.open.len() >= OPEN_REQUESTS_MAX {
            return Err(NotOpened::Full);
        }
        let key = self.next_key();
        let hold = Hold::new(key);
        let open =
            Open { id: id.clone(), batch: None, hold: hold.clone(), subscription: None, method, caller, since: now };
        self.open.insert(key, open);
        self.keys.insert(id.clone(), key);
        Ok(hold)
    }

    /// A key that no other request has.
    fn next_key(&mut self) -> RequestKey {
        self.last_key += 1;
        RequestKey::new(self.session, self.last_key)
    }

    /// An open request.
    pub fn get(&self, key: RequestKey) -> Option<&Open> {
        self.open.get(&key)
    }

    /// The open requests in such hands, in the order in which they were opened.
    pub fn held_by(&self, holders: &[Holder]) -> Vec<RequestKey> {
        self.those(|open| holders.iter().any(|holder| open.hold.is_with(*holder)))
    }

    /// The subscriptions, in the order in which they were opened.
    pub fn subscriptions(&self, wanted: impl Fn(Filter) -> bool) -> Vec<RequestKey> {
        self.those(|open| open.subscription.is_some_and(&wanted))
    }

    fn those(&self, wanted: impl Fn(&Open) -> bool) -> Vec<RequestKey> {
        let mut keys: Vec<RequestKey> =
            self.open.iter().filter(|(_, open)| wanted(open)).map(|(key, _)| *key).collect();
        keys.sort();
        keys
    }

    fn close(&mut self, key: RequestKey) -> Option<Open> {
        let open = self.open.remove(&key)?;
        open.hold.end();
        self.keys.remove(&open.id);
        self.progress.remove(&key);
        Some(open)
    }

    /// Takes a request out of the table to answer it. `None` if it is not open.
    pub fn take(&mut self, key: RequestKey) -> Option<Open> {
        let open = self.close(key);
        if open.is_none() {
            self.surplus_answers += 1;
        }
        open
    }

    /// Takes the request with this id out of the table, which its client cancelled. `None` if it is not open. Its batch is owed
    /// to the queue from now on.
    pub fn cancel(&mut self, id: &RequestId) -> Option<(RequestKey, Open)> {
        let key = *self.keys.get(id)?;
        let open = self.close(key)?;
        if self.cancelled.len() >= OPEN_REQUESTS_MAX {
            self.cancelled.pop_front();
        }
        self.cancelled.push_back(key);
        self.rendering += 1;
        Some((key, open))
    }

    /// Whether a request was cancelled a while ago.
    pub fn was_cancelled(&self, key: RequestKey) -> bool {
        self.cancelled.contains(&key)
    }

    // ---- batches ----

    /// Begins to read a batch.
    pub fn begin_batch(&mut self) -> BatchKey {
        let RequestKey { number, .. } = self.next_key();
        self.batches.begin(BatchKey(number));
        BatchKey(number)
    }

    /// The open request is a member of a batch that is being read.
    pub fn join_batch(&mut self, request: RequestKey, key: BatchKey) {
        if let Some(open) = self.open.get_mut(&request)
            && self.batches.join(key)
        {
            open.batch = Some(key);
        }
    }

    /// Something is owed to the queue that [`rendered`](Self::rendered) brings.
    pub fn render(&mut self) {
        self.rendering += 1;
    }

    /// A member of a batch has ended, with this answer or none. Returns the arrays that are due.
    pub fn settle_member(&mut self, key: BatchKey, answer: Option<String>, ended: bool) -> Vec<Array> {
        self.batches.settle(key, answer, ended)
    }

    /// Ends all batches. Returns what they hold, which is owed to the queue from now on.
    pub fn end_batches(&mut self) -> Vec<Array> {
        self.rendering += 1;
        self.batches.end()
    }

    // ---- the queue ----

    /// Queues what was owed: the lines of answers.
    pub fn rendered(&mut self, lines: Vec<String>) {
        self.rendering -= 1;
        self.push(lines);
    }

    /// Queues lines that answer something which never was an open request.
    pub fn push(&mut self, lines: Vec<String>) {
        for text in lines {
            self.queue(text, None);
        }
    }

    fn queue(&mut self, text: String, notification: Option<&'static str>) {
        if !self.broken {
            self.queued_bytes += text.len();
            self.queue.push_back(Line { text, notification });
        }
    }

    /// Queues a notification. `kind` names what may be coalesced: the same line that is still queued makes a second one needless
    /// when `coalesce` is set. For a subscription: nothing, if it has ended; its end comes behind what is queued here.
    pub fn notify(
        &mut self,
        subscription: Option<RequestKey>,
        kind: &'static str,
        text: String,
        coalesce: bool,
    ) -> Notified {
        if subscription.is_some_and(|key| !self.open.contains_key(&key)) {
            return Notified::Dropped;
        }
        if coalesce && self.queue.iter().any(|line| line.notification == Some(kind) && line.text == text) {
            return Notified::Coalesced;
        }
        if self.notifications >= STDOUT_NOTIFICATIONS_MAX {
            self.dropped_notifications += 1;
            return Notified::Dropped;
        }
        self.notifications += 1;
        self.queue(text, Some(kind));
        Notified::Queued
    }

    /// Queues the progress of an open request; its answer comes behind it. False, and nothing is queued, if the request is not
    /// open, if it was told as much before, or if too many notifications wait.
    pub fn progress(&mut self, key: RequestKey, progress: f64, text: String) -> bool {
        let told = self.progress.get(&key).is_some_and(|told| *told >= progress);
        if !self.open.contains_key(&key) || self.broken || told {
            return false;
        }
        self.progress.insert(key, progress);
        if self.notifications >= STDOUT_NOTIFICATIONS_MAX {
            self.dropped_notifications += 1;
            return false;
        }
        self.notifications += 1;
        self.queue(text, Some("progress"));
        true
    }

    /// Makes an open request a subscription and queues the acknowledgement, which is owed and never dropped. False if nothing was
    /// queued: it was cancelled meanwhile, or the client is gone.
    ///
    /// # Errors
    /// More are open than may be: the request is still open, and must be answered.
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

    /// Whether the queue has room for more answers, or nothing is written any more.
    pub fn has_room(&self) -> bool {
        self.broken || !self.is_blocked()
    }

    /// True while a full queue keeps requests from being read.
    pub fn is_blocked(&self) -> bool {
        self.queue.len() >= STDOUT_QUEUE_MAX_LINES || self.queued_bytes >= STDOUT_QUEUE_HIGH_BYTES
    }

    /// Whether a line may be written past the queue: nothing waits in it.
    pub fn is_next(&self) -> bool {
        !self.broken && self.queue.is_empty()
    }

    /// Lines that wait.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// True when everything that was queued has left the queue, and nothing is owed to it.
    pub fn is_empty(&self) -> bool {
        self.broken || (self.queue.is_empty() && self.rendering == 0)
    }

    /// Whether the client is gone.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// What was counted.
    pub fn counts(&self) -> RequestCounts {
        RequestCounts {
            open: self.open.len(),
            queued: self.queue.len(),
            dropped_notifications: self.dropped_notifications,
            surplus_answers: self.surplus_answers,
        }
    }

    /// Takes the bytes of the next write out of the queue.
    pub fn take_write(&mut self) -> Option<Vec<u8>> {
        let mut bytes = self.pop()?.into_bytes();
        bytes.push(b'\n');
        // Small lines share a write; a large one is never copied.
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

    /// A write failed: the client is gone, and what is queued with it.
    pub fn fail(&mut self) {
        self.broken = true;
        self.queue.clear();
        self.queued_bytes = 0;
    }
}
