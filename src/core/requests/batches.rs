//! JSON-RPC batches, which exist only in MCP 2025-03-26. The answers of a batch are sent together, as an array on one line, as
//! soon as the last answer is ready. The answers so far are sent earlier, in a separate array, if the line would become too long,
//! or if the answers of all batches that wait for slow members would have too many bytes.

use std::collections::HashMap;

use crate::limits::CLIENT_MESSAGE_MAX_BYTES;

/// Identifies a batch that has unanswered members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BatchKey(pub(super) u64);

pub type Array = Vec<String>;

pub fn line_of(array: &[String]) -> String {
    format!("[{}]", array.join(","))
}

/// The answers of a batch so far.
#[derive(Debug, Default)]
struct Batch {
    /// The number of open requests of the batch, plus one while the batch's line is being read.
    owed: usize,
    answers: Array,
    bytes: usize,
}

impl Batch {
    fn array(&mut self) -> Option<Array> {
        self.bytes = 0;
        let answers = std::mem::take(&mut self.answers);
        (!answers.is_empty()).then_some(answers)
    }
}

/// All batches that have unanswered members.
#[derive(Debug, Default)]
pub(super) struct Batches {
    open: HashMap<BatchKey, Batch>,
    /// Bytes of the waiting answers of all batches.
    bytes: usize,
}

impl Batches {
    pub(super) fn begin(&mut self, key: BatchKey) {
        self.open.insert(key, Batch { owed: 1, ..Batch::default() });
    }

    /// Adds a member to the batch that is being read. Returns false if there is no such batch.
    pub(super) fn join(&mut self, key: BatchKey) -> bool {
        let batch = self.open.get_mut(&key);
        batch.map(|batch| batch.owed += 1).is_some()
    }

    /// Records the answer of a member, if any, and that the member has `ended`. Returns the arrays to send now.
    pub(super) fn settle(&mut self, key: BatchKey, answer: Option<String>, ended: bool) -> Vec<Array> {
        // The batch was ended before all of it was read: the answer is sent alone.
        let Some(batch) = self.open.get_mut(&key) else {
            return answer.map(|answer| vec![answer]).into_iter().collect();
        };
        let before = batch.bytes;
        let mut due = Vec::new();
        if let Some(answer) = answer {
            // One byte more, for the comma or bracket before the answer.
            let bytes = answer.len() + 1;
            if batch.bytes + bytes + 1 > CLIENT_MESSAGE_MAX_BYTES {
                due.extend(batch.array());
            }
            batch.bytes += bytes;
            batch.answers.push(answer);
        }
        batch.owed -= usize::from(ended);
        let over = self.bytes - before + batch.bytes > CLIENT_MESSAGE_MAX_BYTES;
        if batch.owed == 0 || over {
            due.extend(batch.array());
        }
        self.bytes = self.bytes - before + batch.bytes;
        if batch.owed == 0 {
            self.open.remove(&key);
        }
        due
    }

    /// Ends all batches. Returns their waiting answers.
    pub(super) fn end(&mut self) -> Vec<Array> {
        self.bytes = 0;
        std::mem::take(&mut self.open).into_values().filter_map(|mut batch| batch.array()).collect()
    }
}
