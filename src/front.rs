//! The front: the table of open client requests and the queue to stdout. Outlives every actor.
//!
//! Not an actor: a bounded store with short synchronous operations. It is the only place that can put a line on stdout, and it
//! answers a request at most once: an answer to a request that is not open (answered, cancelled) is dropped and counted.

mod subscriptions;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio::time::Instant;

pub use self::subscriptions::TooManySubscriptions;
use crate::limits::{
    CLIENT_MESSAGE_MAX_BYTES, OPEN_REQUESTS_MAX, SHARED_WRITE_BYTES, STDOUT_NOTIFICATIONS_MAX, STDOUT_QUEUE_HIGH_BYTES,
    STDOUT_QUEUE_MAX_LINES,
};
use crate::protocol::jsonrpc::{self, RequestId, RpcError};
use crate::protocol::mcp::stateless::{self, Caller, Filter};
use crate::protocol::mcp::{Method, ServerInfo};
use crate::telemetry::events::Events;
use crate::telemetry::metrics::labels::{MessageKind, Outcome};

/// What this program says of itself.
pub const SERVER: ServerInfo<'static> = ServerInfo { version: env!("CARGO_PKG_VERSION") };

/// The kind of our own request for the client's roots.
pub const ROOTS_LIST: &str = "roots/list";
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
    holder: Holder,
    method: Method,
    /// Who asks, where the request says so itself.
    caller: Option<Arc<Caller>>,
    since: Instant,
}

#[derive(Default)]
struct Inner {
    /// Open requests.
    open: HashMap<RequestId, Open>,
    /// The last requests that were cancelled: an answer may be on its way to them.
    cancelled: VecDeque<RequestId>,
    /// The last progress told of an open request.
    progress: HashMap<RequestId, f64>,
    /// Answers whose request is taken and whose line is not queued yet.
    rendering: usize,
    queue: VecDeque<Line>,
    queued_bytes: usize,
    notifications: usize,
    dropped_notifications: u64,
    surplus_answers: u64,
    writing: bool,
    broken: bool,
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
    /// request of the stateless era.
    ///
    /// # Errors
    /// [`NotOpened`]; the request must be answered by [`reject`](Front::reject).
    pub fn open(&self, id: &RequestId, method: Method, caller: Option<Arc<Caller>>) -> Result<(), NotOpened> {
        let mut inner = self.lock();
        if inner.open.contains_key(id) {
            return Err(NotOpened::Duplicate);
        }
        if inner.open.len() >= OPEN_REQUESTS_MAX {
            return Err(NotOpened::Full);
        }
        inner.open.insert(id.clone(), Open { holder: Holder::Intake, method, caller, since: Instant::now() });
        Ok(())
    }

    /// Marks a request as handed to a session.
    pub fn delivered(&self, id: &RequestId) {
        self.held_by(id, Holder::Session);
    }

    /// Marks a request as not taken by the session it was handed to.
    pub fn returned(&self, id: &RequestId) {
        self.held_by(id, Holder::Intake);
    }

    /// Marks a request as a call in the ledger: from here on a session's end does not answer it.
    pub fn became_call(&self, id: &RequestId) {
        self.held_by(id, Holder::Ledger);
    }

    fn held_by(&self, id: &RequestId, holder: Holder) {
        if let Some(held) = self.lock().open.get_mut(id) {
            held.holder = holder;
        }
    }

    /// The open requests that a session had and that did not become calls.
    pub fn delivered_requests(&self) -> Vec<RequestId> {
        self.requests(|holder| holder == Holder::Session)
    }

    /// The open requests that did not become calls.
    pub fn requests_without_call(&self) -> Vec<RequestId> {
        self.requests(|holder| matches!(holder, Holder::Intake | Holder::Session))
    }

    /// The open requests that became calls.
    pub fn requests_with_call(&self) -> Vec<RequestId> {
        self.requests(|holder| holder == Holder::Ledger)
    }

    fn requests(&self, wanted: impl Fn(Holder) -> bool) -> Vec<RequestId> {
        let mut ids: Vec<RequestId> =
            self.lock().open.iter().filter(|(_, open)| wanted(open.holder)).map(|(id, _)| id.clone()).collect();
        ids.sort();
        ids
    }

    /// Who asks, for an open request of the stateless era.
    pub fn caller(&self, id: &RequestId) -> Option<Arc<Caller>> {
        self.lock().open.get(id).and_then(|open| open.caller.clone())
    }

    /// Whether a request is open.
    pub fn is_open(&self, id: &RequestId) -> bool {
        self.lock().open.contains_key(id)
    }

    /// Answers an open request with a result (JSON on one line). False if it was not open: nothing is written.
    pub fn answer(&self, id: &RequestId, result_json: &str) -> bool {
        self.settle(id, Outcome::Ok, |open| result_line(id, result_json, open.caller.is_some()))
    }

    /// Answers an open request with an error. False if it was not open.
    pub fn answer_error(&self, id: &RequestId, error: &RpcError) -> bool {
        self.settle(id, Outcome::Error, |_| jsonrpc::error(Some(id), error))
    }

    fn settle(&self, id: &RequestId, outcome: Outcome, line: impl FnOnce(&Open) -> String) -> bool {
        let mut inner = self.lock();
        let Some(open) = inner.open.remove(id) else {
            inner.surplus_answers += 1;
            return false;
        };
        inner.progress.remove(id);
        inner.rendering += 1;
        drop(inner);
        // Rendered outside the lock: results reach megabytes. The id is taken, so nobody else can answer meanwhile.
        let mut text = line(&open);
        if text.len() > CLIENT_MESSAGE_MAX_BYTES {
            let error = RpcError::internal("the answer is larger than a client can take, and was not put into a file");
            text = jsonrpc::error(Some(id), &error);
        }
        self.events.request_ended(open.method, outcome, open.since.elapsed());
        self.events.message_queued(MessageKind::Response, &text);
        self.push_and(Line { text, notification: None }, |inner| inner.rendering -= 1);
        self.emptied.notify_waiters();
        true
    }

    /// Forgets an open request that the client cancelled: it gets no answer. False if it was not open.
    pub fn cancel(&self, id: &RequestId) -> bool {
        let mut inner = self.lock();
        inner.progress.remove(id);
        let Some(open) = inner.open.remove(id) else { return false };
        if inner.cancelled.len() >= OPEN_REQUESTS_MAX {
            inner.cancelled.pop_front();
        }
        inner.cancelled.push_back(id.clone());
        drop(inner);
        self.events.request_ended(open.method, Outcome::Cancelled, open.since.elapsed());
        true
    }

    /// Whether a request was cancelled a while ago.
    pub fn was_cancelled(&self, id: &RequestId) -> bool {
        self.lock().cancelled.contains(id)
    }

    /// Answers something that never became an open request (broken, duplicate, beyond the bound).
    pub fn reject(&self, id: Option<&RequestId>, error: &RpcError) {
        let text = jsonrpc::error(id, error);
        self.events.message_queued(MessageKind::Response, &text);
        self.push(Line { text, notification: None });
    }

    /// Answers something that never became an open request with a result (JSON on one line).
    pub fn reject_with_result(&self, id: &RequestId, result_json: &str, is_stateless: bool) {
        let text = result_line(id, result_json, is_stateless);
        self.events.message_queued(MessageKind::Response, &text);
        self.push(Line { text, notification: None });
    }

    /// Sends a notification (or a request of ours). `kind` names what may be coalesced: the same line that is still queued makes a
    /// second one needless when `coalesce` is set.
    pub fn notify(&self, kind: &'static str, text: String, coalesce: bool) {
        self.notify_of(None, kind, text, coalesce);
    }

    /// The same for one subscription: nothing, if it has ended.
    fn notify_of(&self, subscription: Option<&RequestId>, kind: &'static str, text: String, coalesce: bool) {
        let mut inner = self.lock();
        if subscription.is_some_and(|id| !inner.open.contains_key(id)) {
            return;
        }
        if coalesce && inner.queue.iter().any(|line| line.notification == Some(kind) && line.text == text) {
            return;
        }
        if inner.notifications >= STDOUT_NOTIFICATIONS_MAX {
            inner.dropped_notifications += 1;
            return;
        }
        inner.notifications += 1;
        let sort = if kind == ROOTS_LIST { MessageKind::Request } else { MessageKind::Notification };
        self.events.message_queued(sort, &text);
        // Queued under the same lock as the look: the end of a subscription comes behind it.
        if !inner.broken {
            inner.queued_bytes += text.len();
            inner.queue.push_back(Line { text, notification: Some(kind) });
        }
        drop(inner);
        self.filled.notify_one();
    }

    /// Sends the progress of an open request; nothing is sent once that was answered or cancelled, nor what is not more than
    /// was told before: whoever decides on progress does so under a lock that it has left when it comes here.
    pub fn progress(&self, id: &RequestId, progress: f64, text: String) {
        let mut inner = self.lock();
        let told = inner.progress.get(id).is_some_and(|told| *told >= progress);
        if !inner.open.contains_key(id) || inner.broken || told {
            return;
        }
        inner.progress.insert(id.clone(), progress);
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

    fn push(&self, line: Line) {
        self.push_and(line, |_| {});
    }

    fn push_and(&self, line: Line, also: impl FnOnce(&mut Inner)) {
        let mut inner = self.lock();
        also(&mut inner);
        if inner.broken {
            drop(inner);
            self.emptied.notify_waiters();
            return;
        }
        inner.queued_bytes += line.text.len();
        inner.queue.push_back(line);
        drop(inner);
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
mod tests {
    use super::*;

    fn id(number: u64) -> RequestId {
        RequestId::from_number(number)
    }

    async fn written(front: &Front) -> String {
        let (mut near, far) = tokio::io::duplex(1 << 20);
        let pump = front.pump_out(far);
        let read = async {
            front.flushed().await;
            let mut bytes = vec![0; 1 << 20];
            let count = tokio::io::AsyncReadExt::read(&mut near, &mut bytes).await.unwrap();
            String::from_utf8_lossy(bytes.get(..count).unwrap()).into_owned()
        };
        tokio::select! {
            biased;
            text = read => text,
            () = pump => panic!("the pump ended"),
        }
    }

    #[tokio::test]
    async fn a_request_is_answered_once_and_a_cancelled_one_never() {
        let front = Front::default();
        front.open(&id(1), Method::CallTool, None).unwrap();
        front.open(&id(2), Method::CallTool, None).unwrap();
        assert_eq!(front.open(&id(1), Method::CallTool, None), Err(NotOpened::Duplicate));
        assert!(front.cancel(&id(2)) && !front.cancel(&id(2)));
        assert!(front.answer(&id(1), "{}"));
        assert!(!front.answer(&id(1), "{\"again\":true}"));
        assert!(!front.answer_error(&id(2), &RpcError::internal("late")));
        let text = written(&front).await;
        assert_eq!(text.lines().count(), 1, "{text}");
        assert_eq!(front.counts().surplus_answers, 2);
    }

    #[tokio::test]
    async fn open_requests_and_notifications_are_bounded_and_list_changes_coalesce() {
        let front = Front::default();
        for number in 0..OPEN_REQUESTS_MAX as u64 {
            front.open(&id(number), Method::CallTool, None).unwrap();
        }
        assert_eq!(front.open(&id(9999), Method::CallTool, None), Err(NotOpened::Full));
        for _ in 0..10 {
            front.notify("changed", "{}".into(), true);
        }
        assert_eq!(front.counts().queued, 1);
        for _ in 0..2 * STDOUT_NOTIFICATIONS_MAX {
            front.notify("progress", "{}".into(), false);
        }
        assert_eq!(front.counts().queued, STDOUT_NOTIFICATIONS_MAX);
        assert_eq!(front.counts().dropped_notifications as usize, STDOUT_NOTIFICATIONS_MAX + 1);
    }

    #[test]
    fn progress_that_was_overtaken_is_not_told() {
        let front = Front::default();
        front.open(&id(1), Method::CallTool, None).unwrap();
        for progress in [2.0, 1.0, 2.0, 3.0] {
            front.progress(&id(1), progress, progress.to_string());
        }
        assert_eq!(front.counts().queued, 2);
        front.answer(&id(1), "{}");
        front.progress(&id(1), 4.0, "late".to_owned());
        assert_eq!(front.counts().queued, 3);
        // The next request with this id begins anew.
        front.open(&id(1), Method::CallTool, None).unwrap();
        front.progress(&id(1), 1.0, "1".to_owned());
        assert_eq!(front.counts().queued, 4);
    }

    #[tokio::test]
    async fn a_client_that_is_gone_blocks_nobody() {
        let front = Front::default();
        let (near, far) = tokio::io::duplex(64);
        drop(near);
        front.open(&id(1), Method::CallTool, None).unwrap();
        front.answer(&id(1), "{}");
        front.pump_out(far).await;
        front.flushed().await;
        front.room().await;
    }
}
