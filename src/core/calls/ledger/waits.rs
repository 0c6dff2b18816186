//! What held calls wait for.

use super::Ledger;
use crate::core::calls::entry::Entry;
use crate::core::calls::types::Wanted;
use crate::fsm::cause::{Availability, Cause};

impl Ledger {
    /// Tells the entries since when the editor is absent, which shortens every hold. While the wanted project is
    /// unknown, no absence counts.
    pub(super) fn mind_absence(&mut self) {
        self.entries.set_absence(self.absent_since.filter(|_| self.wanted != Wanted::Asked));
    }

    pub(super) fn now_wait_for(&mut self, cause: Cause) {
        self.entries.change_all(|entry| {
            if entry.is_held() {
                entry.waits_for = cause;
            }
        });
    }

    pub(super) fn hold_cause(&self, entry: &Entry) -> Cause {
        match self.availability {
            _ if entry.call.unknown_arguments => Cause::ClientAway,
            _ if entry.phase().rests().is_some() => Cause::Blocked,
            _ if self.wanted == Wanted::Asked => Cause::ProjectUnsettled,
            Some(Availability::Coming(cause) | Availability::Absent(cause)) => cause,
            Some(Availability::Open) => {
                // A reserved call does not wait for a place or a tool list.
                let otherwise = if entry.reserved().is_some() {
                    Cause::Connecting
                } else if self.awaits_list && !self.is_busy_beside(entry) {
                    Cause::Listing
                } else {
                    Cause::Busy
                };
                self.hindrance().unwrap_or(otherwise)
            }
            None => Cause::Connecting,
        }
    }

    /// Whether nothing delays this call (tool list, other calls, hindrance): then it is sent at once, with no cause to report.
    pub(super) fn is_about_to_leave(&self, entry: &Entry) -> bool {
        let free = !self.awaits_list && !self.is_busy_beside(entry) && self.hindrance().is_none();
        let free = free && entry.phase().rests().is_none();
        entry.is_held() && self.availability == Some(Availability::Open) && self.wanted != Wanted::Asked && free
    }

    /// Whether another call has a place at the editor.
    pub(super) fn is_busy_beside(&self, entry: &Entry) -> bool {
        self.entries.places() > usize::from(entry.has_place())
    }
}
