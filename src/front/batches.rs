//! JSON-RPC batches, which MCP 2025-03-26 alone has: the answers of one go out together, as an array on one line, as soon as the
//! last of them is there. What would make that line too long, or let too much wait for slow members, goes ahead in an array of its own.

use super::{Front, Inner, Line};
use crate::limits::CLIENT_MESSAGE_MAX_BYTES;
use crate::protocol::ids::RequestKey;
use crate::protocol::jsonrpc::{self, RequestId, RpcError};
use crate::telemetry::metrics::labels::MessageKind;

/// A batch whose members are not all answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BatchKey(u64);

/// What the members of a batch were answered so far.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Open requests, and one while its line is being read.
    owed: usize,
    answers: Vec<String>,
    bytes: usize,
}

/// The answers of one array.
type Array = Vec<String>;

impl Batch {
    fn array(&mut self) -> Option<Array> {
        self.bytes = 0;
        let answers = std::mem::take(&mut self.answers);
        (!answers.is_empty()).then_some(answers)
    }
}

fn line_of(array: &[String]) -> String {
    format!("[{}]", array.join(","))
}

impl Inner {
    /// A member has ended, with this answer or none. Gives the arrays that are due.
    fn batched(&mut self, key: BatchKey, answer: Option<String>, ended: bool) -> Vec<Array> {
        // It was ended before all of it was read.
        let Some(batch) = self.batches.get_mut(&key) else {
            return answer.map(|answer| vec![answer]).into_iter().collect();
        };
        let before = batch.bytes;
        let mut due = Vec::new();
        if let Some(answer) = answer {
            // The comma or bracket before it.
            let bytes = answer.len() + 1;
            if batch.bytes + bytes + 1 > CLIENT_MESSAGE_MAX_BYTES {
                due.extend(batch.array());
            }
            batch.bytes += bytes;
            batch.answers.push(answer);
        }
        batch.owed -= usize::from(ended);
        let over = self.batched_bytes - before + batch.bytes > CLIENT_MESSAGE_MAX_BYTES;
        if batch.owed == 0 || over {
            due.extend(batch.array());
        }
        self.batched_bytes = self.batched_bytes - before + batch.bytes;
        if batch.owed == 0 {
            self.batches.remove(&key);
        }
        due
    }
}

impl Front {
    /// Begins to read a batch: its answers wait for [`end_batch`](Self::end_batch).
    pub fn begin_batch(&self) -> BatchKey {
        let mut inner = self.lock();
        let RequestKey(number) = inner.next_key();
        inner.batches.insert(BatchKey(number), Batch { owed: 1, ..Batch::default() });
        BatchKey(number)
    }

    /// The open request is a member of a batch that is being read.
    pub fn join_batch(&self, request: RequestKey, key: BatchKey) {
        let mut inner = self.lock();
        let Inner { open, batches, .. } = &mut *inner;
        if let (Some(open), Some(batch)) = (open.get_mut(&request), batches.get_mut(&key)) {
            open.batch = Some(key);
            batch.owed += 1;
        }
    }

    /// All members of a batch are read.
    pub fn end_batch(&self, key: BatchKey) {
        self.lock().rendering += 1;
        self.push_answer(Some(key), None, true);
    }

    /// The program ends: what batches hold goes out, also where not all members are read. A later answer goes out alone.
    pub fn end_batches(&self) {
        let mut inner = self.lock();
        inner.rendering += 1;
        inner.batched_bytes = 0;
        let due: Vec<Array> =
            std::mem::take(&mut inner.batches).into_values().filter_map(|mut batch| batch.array()).collect();
        drop(inner);
        self.push_rendered(due.iter().map(|array| line_of(array)).collect());
    }

    /// As [`reject`](Self::reject), for a member of a batch that is being read.
    pub fn reject_member(&self, key: BatchKey, id: Option<&RequestId>, error: &RpcError) {
        let text = jsonrpc::error(id, error);
        self.events.message_queued(MessageKind::Response, &text);
        self.lock().rendering += 1;
        self.push_answer(Some(key), Some(text), false);
    }

    /// Queues what an answer, or a request's end without one, makes due. The caller has counted it as `rendering`: an array may
    /// reach megabytes, and is joined outside the lock.
    pub(super) fn push_answer(&self, batch: Option<BatchKey>, answer: Option<String>, ended: bool) {
        let lines = match batch {
            None => answer.into_iter().collect(),
            Some(key) => {
                let due = self.lock().batched(key, answer, ended);
                due.iter().map(|array| line_of(array)).collect()
            }
        };
        self.push_rendered(lines);
    }

    fn push_rendered(&self, lines: Vec<String>) {
        self.push_lines(lines, |inner| inner.rendering -= 1);
    }

    pub(super) fn push_lines(&self, lines: Vec<String>, also: impl FnOnce(&mut Inner)) {
        let mut inner = self.lock();
        also(&mut inner);
        if !inner.broken {
            inner.queued_bytes += lines.iter().map(String::len).sum::<usize>();
            inner.queue.extend(lines.into_iter().map(|text| Line { text, notification: None }));
        }
        drop(inner);
        self.filled.notify_one();
        // A member that was answered frees its place, also where nothing is written yet.
        self.emptied.notify_waiters();
    }
}
