//! What may be asked of the ledger: counts, records, late results.

use std::sync::Arc;

use tokio::time::Instant;

use super::words::Late;
use super::{Entry, Ledger, Lookup, Record};
use crate::fsm::call::State;
use crate::limits::{LATE_RESULT_MAX_AGE, LATE_RESULTS_MAX_BYTES};
use crate::protocol::ids::CallId;

impl Ledger {
    /// Calls that are held, and calls that were sent and are not answered by the editor.
    pub fn counts(&self) -> (usize, usize) {
        let held = self.entries.iter().filter(|entry| entry.state() == State::Held).count();
        let flying = |state| matches!(state, State::Sent | State::Recovering | State::Abandoned | State::Cancelled);
        (held, self.entries.iter().filter(|entry| flying(entry.state())).count())
    }

    /// Calls that were sent and whose client still waits.
    pub fn awaited(&self) -> usize {
        self.entries.iter().filter(|entry| !entry.settled && entry.state() != State::Held).count()
    }

    /// The call that has the editor's place on a connection, and since when.
    pub fn running(&self) -> Option<(CallId, Arc<str>, Instant)> {
        let entry = self.entries.iter().find(|entry| entry.has_place())?;
        Some((entry.id, Arc::clone(&entry.tool), entry.sent.unwrap_or(entry.accepted)))
    }

    /// The newest calls first: open ones, then finished ones.
    pub fn records(&self) -> impl Iterator<Item = Record> + '_ {
        let owes = |entry: &&Entry| !entry.settled;
        let open = |entry: &Entry| {
            let waits_for = (entry.state() == State::Held).then(|| self.hold_cause(entry));
            Record { waits_for, ..Record::of(entry) }
        };
        self.entries.iter().rev().filter(owes).map(open).chain(self.finished.iter().rev().cloned())
    }

    /// What is known of a call's result.
    pub fn look_up(&mut self, call: CallId, now: Instant) -> Lookup {
        self.expire(now);
        let flying = |entry: &&Entry| {
            // A cancelled call that has its place still is Unity's to answer.
            let ended = matches!(entry.state(), State::Answered | State::Uncertain | State::Cancelled);
            entry.id == call && !(ended && entry.epoch.is_none())
        };
        if let Some(entry) = self.entries.iter().find(flying) {
            return Lookup::Open(Record::of(entry));
        }
        if let Some(record) = self.finished.iter().find(|record| record.id == call) {
            return match &record.late {
                Late::Kept(result, _) => Lookup::Late(record.clone(), Arc::clone(result)),
                Late::Expired => Lookup::Expired(record.clone()),
                Late::Rendering => Lookup::Open(record.clone()),
                Late::None => Lookup::Ended(record.clone()),
            };
        }
        Lookup::Unknown
    }

    /// Keeps a rendered late result, within the bounds of count, bytes and age.
    pub fn keep_late(&mut self, call: CallId, result: &str, now: Instant) {
        if let Some(record) = self.finished.iter_mut().find(|record| record.id == call) {
            let fits = result.len() <= LATE_RESULTS_MAX_BYTES;
            record.late = if fits { Late::Kept(result.into(), now) } else { Late::Expired };
        }
        self.expire(now);
    }

    fn expire(&mut self, now: Instant) {
        let mut bytes = 0;
        for record in self.finished.iter_mut().rev() {
            if let Late::Kept(result, since) = &record.late {
                bytes += result.len();
                if bytes > LATE_RESULTS_MAX_BYTES || now.saturating_duration_since(*since) > LATE_RESULT_MAX_AGE {
                    record.late = Late::Expired;
                }
            }
        }
    }
}
