//! The ledger's deadlines: when the ledger must act for a call, and what it ends then.

use tokio::time::Instant;

use super::Ledger;
use crate::core::calls::entry::Entry;
use crate::core::calls::types::Settlement;
use crate::fsm::call::Event;

impl Ledger {
    /// Returns when [`elapse`](Ledger::elapse) must be called next; `None` if no call has a deadline.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.entries.next_deadline()
    }

    /// Like [`next_deadline`](Ledger::next_deadline), and records that the caller will wake at that time.
    pub fn arm(&mut self) -> Option<Instant> {
        self.armed = self.next_deadline();
        self.armed
    }

    /// Whether the next deadline is earlier than the wake-up that [`arm`](Ledger::arm) recorded, or no wake-up is recorded.
    pub fn wakes_late(&self) -> bool {
        match (self.next_deadline(), self.armed) {
            (Some(next), Some(armed)) => next < armed,
            (next, _) => next.is_some(),
        }
    }

    /// Returns whether a call was added, ended or changed, or what calls wait for has changed, since the last call of this
    /// function.
    pub fn take_moved(&mut self) -> bool {
        std::mem::take(&mut self.moved)
    }

    /// Ends what has reached its time limit, and reports progress.
    pub fn elapse(&mut self, now: Instant) -> Vec<Settlement> {
        let mut out = Vec::new();
        self.end_grace(now, &mut out);
        for index in self.entries.due(now) {
            // If the search for a call's outcome ends, the call may be held again, and the time for holding it may already be
            // over.
            while let Some(event) = self.entries.get(index).and_then(|entry| self.due(entry, now)) {
                self.feed(index, event, now, &mut out);
            }
            self.report_progress(index, now, &mut out);
        }
        self.refuse_held_at_the_end(now, &mut out);
        self.entries.remove_ended();
        out
    }

    /// Returns the event of a time limit of this call that has passed. Each such event changes the call's state, so the loop in
    /// `elapse` ends.
    fn due(&self, entry: &Entry, now: Instant) -> Option<Event> {
        entry.due(self.entries.absent_since(), || self.hold_cause(entry), now)
    }
}
