//! The clock's side of the ledger: when something falls due, and what is ended then.

use tokio::time::Instant;

use super::Ledger;
use crate::core::calls::entry::Entry;
use crate::core::calls::types::Settlement;
use crate::fsm::call::{Event, State};

impl Ledger {
    /// When [`elapse`](Ledger::elapse) has something to do.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.entries.next_deadline()
    }

    /// As [`next_deadline`](Ledger::next_deadline), and remembers that somebody wakes then.
    pub fn arm(&mut self) -> Option<Instant> {
        self.armed = self.next_deadline();
        self.armed
    }

    /// True when something falls due before whoever was armed wakes.
    pub fn wakes_late(&self) -> bool {
        match (self.next_deadline(), self.armed) {
            (Some(next), Some(armed)) => next < armed,
            (next, _) => next.is_some(),
        }
    }

    /// Whether a call came, went or changed its state since this was last asked.
    pub fn take_moved(&mut self) -> bool {
        std::mem::take(&mut self.moved)
    }

    /// Ends what has lasted as long as it may, and reports progress.
    pub fn elapse(&mut self, now: Instant) -> Vec<Settlement> {
        let mut out = Vec::new();
        self.end_grace(now, &mut out);
        for index in self.entries.due(now) {
            // What is given up as lost may be held again, and have been held for as long as it may be.
            while let Some(event) = self.entries.get(index).and_then(|entry| self.due(entry, now)) {
                self.feed(index, &event, None, now, &mut out);
            }
            self.report_progress(index, now, &mut out);
        }
        self.refuse_held_at_the_end(now, &mut out);
        self.entries.sweep();
        out
    }

    /// What has lasted as long as it may. Each such event moves its call on, so that they end.
    fn due(&self, entry: &Entry, now: Instant) -> Option<Event> {
        match entry.state() {
            // Its answer is there: what it waits for has an end of its own.
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
