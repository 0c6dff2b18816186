//! JSON-RPC batches, which MCP 2025-03-26 alone has: the answers of one go out together, as an array on one line, as soon as the
//! last of them is there. What would make that line too long, or let too much wait for slow members, goes ahead in an array of its own.

use std::collections::HashMap;

use crate::limits::CLIENT_MESSAGE_MAX_BYTES;

/// A batch whose members are not all answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BatchKey(pub(super) u64);

/// The answers of one array.
pub type Array = Vec<String>;

/// The line that an array is written as.
pub fn line_of(array: &[String]) -> String {
    format!("[{}]", array.join(","))
}

/// What the members of a batch were answered so far.
#[derive(Debug, Default)]
struct Batch {
    /// Open requests, and one while its line is being read.
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

/// Batches whose members are not all answered.
#[derive(Debug, Default)]
pub(super) struct Batches {
    open: HashMap<BatchKey, Batch>,
    /// Bytes of the answers that wait in all of them.
    bytes: usize,
}

impl Batches {
    /// A batch is being read.
    pub(super) fn begin(&mut self, key: BatchKey) {
        self.open.insert(key, Batch { owed: 1, ..Batch::default() });
    }

    /// The batch that is being read has one more member. False if there is no such batch.
    pub(super) fn join(&mut self, key: BatchKey) -> bool {
        let batch = self.open.get_mut(&key);
        batch.map(|batch| batch.owed += 1).is_some()
    }

    /// A member has ended, with this answer or none. Returns the arrays that are due.
    pub(super) fn settle(&mut self, key: BatchKey, answer: Option<String>, ended: bool) -> Vec<Array> {
        // It was ended before all of it was read.
        let Some(batch) = self.open.get_mut(&key) else {
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

    /// Ends all of them. Returns what they hold.
    pub(super) fn end(&mut self) -> Vec<Array> {
        self.bytes = 0;
        std::mem::take(&mut self.open).into_values().filter_map(|mut batch| batch.array()).collect()
    }
}
