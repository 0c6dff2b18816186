//! The ledger's deadlines: when a call needs action, and what is ended then.

use tokio::time::Instant;

use super::Ledger;
use crate::core::calls::entry::Entry;
use crate::core::calls::types::Settlement;
use crate::fsm::call::{Event, State};

impl Ledger {
    /// Returns when [`elapse`](Ledger::elapse) has something to do.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.entries.next_deadline()
    }

    /// Like [`next_deadline`](Ledger::next_deadline), and records that the caller will wake at that time.
    pub fn arm(&mut self) -> Option<Instant> {
        self.armed = self.next_deadline();
        self.armed
    }

    /// Whether a deadline is earlier than the wake-up that was recorded by [`arm`](Ledger::arm).
    pub fn wakes_late(&self) -> bool {
        match (self.next_deadline(), self.armed) {
            (Some(next), Some(armed)) => next < armed,
            (next, _) => next.is_some(),
        }
    }

    /// Returns whether calls have come, ended or changed, or what they wait for has changed, since this was last asked.
    pub fn take_moved(&mut self) -> bool {
        std::mem::take(&mut self.moved)
    }

    /// Ends what has reached its time limit, and reports progress.
    pub fn elapse(&mut self, now: Instant) -> Vec<Settlement> {
        let mut out = Vec::new();
        self.end_grace(now, &mut out);
        for index in self.entries.due(now) {
            // A call that is given up as lost may be held again, and its hold may already be over.
            while let Some(event) = self.entries.get(index).and_then(|entry| self.due(entry, now)) {
                self.feed(index, &event, None, now, &mut out);
            }
            self.report_progress(index, now, &mut out);
        }
        self.refuse_held_at_the_end(now, &mut out);
        self.entries.sweep();
        out
    }

    /// Returns the event of a time limit that has passed. Each such event changes the call's state, so the loop ends.
    fn due(&self, entry: &Entry, now: Instant) -> Option<Event> {
        match entry.state() {
            // The answer is there. `end_grace` ends the wait.
            _ if entry.withheld.is_some() => None,
            State::Accepted | State::Held if now >= entry.held_until(self.entries.absent_since()) => {
                Some(Event::HoldEnded(self.hold_cause(entry)))
            }
            State::Recovering | State::Abandoned if entry.lost.is_some() && now >= entry.recovery_end() => {
                Some(Event::OutcomeLost)
            }
            State::Sent | State::Recovering if now >= entry.answer_by() => Some(Event::PatienceEnded),
            _ => None,
        }
    }
}
