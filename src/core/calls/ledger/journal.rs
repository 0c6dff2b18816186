//! What an editor's own word proves of calls that were sent: its journal's, or that of one that is about to leave.

use tokio::time::Instant;

use super::Ledger;
use crate::core::calls::entry::Entry;
use crate::core::calls::types::Settlement;
use crate::core::calls::wanted::Wanted;
use crate::fsm::call::{Event, State};
use crate::protocol::dialect::{JournalKey, Recovery};
use crate::protocol::ids::{CallId, Epoch};

impl Ledger {
    /// By the editor's own word nothing of it ran: its answer is a refusal.
    pub fn says_unrun(&mut self, call: CallId) {
        if let Some(index) = self.position(call)
            && let Some(mut entry) = self.entries.get_mut(index)
        {
            entry.unrun = true;
        }
    }

    /// No record outside the connection will tell the outcome any more.
    pub fn give_up(&mut self, call: CallId, now: Instant) -> Vec<Settlement> {
        self.feed_call(call, &Event::OutcomeLost, None, now)
    }

    /// The editor replied that it is about to leave, and ran nothing. False if the call owes nothing to that connection.
    pub fn postponed(&mut self, call: CallId, epoch: Epoch, now: Instant) -> (bool, Vec<Settlement>) {
        let open = self.open_epochs.contains_key(&epoch);
        let Some(index) = self.position_in(call, epoch).filter(|_| open) else { return (false, Vec::new()) };
        if let Some(mut entry) = self.entries.get_mut(index) {
            entry.epoch = None;
        }
        (true, self.spare(index, now))
    }

    /// Whether the outcome of this very sending is still looked for. An answer that comes late, behind one to an earlier question,
    /// says nothing of a call that was sent anew meanwhile.
    pub fn seeks(&self, call: CallId, key: &JournalKey) -> bool {
        let entry = self.position(call).and_then(|index| self.entries.get(index));
        entry.is_some_and(|entry| {
            entry.is_looked_for() && matches!(&entry.recovery, Recovery::Journal(own) if own == key)
        })
    }

    /// The editor's journal says that nothing of a call ran, and that nothing will.
    pub fn proven_unrun(&mut self, call: CallId, now: Instant) -> Vec<Settlement> {
        self.position(call).map(|index| self.spare(index, now)).unwrap_or_default()
    }

    /// The editor's journal says that a call still waits or runs there: its outcome is looked for as long as it says so.
    pub fn found_running(&mut self, call: CallId, now: Instant) {
        if let Some(mut entry) = self.position(call).and_then(|index| self.entries.get_mut(index)) {
            entry.lost = entry.lost.map(|_| now);
        }
    }

    /// The editor's journal says that it had begun a call, and that a reload cut it.
    pub fn found_interrupted(&mut self, call: CallId, now: Instant) -> Vec<Settlement> {
        self.after_recovery(call, &Event::FoundInterrupted, now)
    }

    /// The editor's journal cannot tell what became of a call.
    pub fn forgotten(&mut self, call: CallId, now: Instant) -> Vec<Settlement> {
        self.after_recovery(call, &Event::OutcomeLost, now)
    }

    /// The journals of all editors of the wanted project but this one are gone, and with them what became of the calls that they knew.
    /// Of other projects' editors nothing is known.
    pub fn journals_gone(&mut self, but: Option<&str>, now: Instant) -> Vec<Settlement> {
        self.forget_those(now, |entry, wanted| {
            wanted.may_be(entry.project.as_deref())
                && matches!(&entry.recovery, Recovery::Journal(key) if Some(key.journal.as_str()) != but)
        })
    }

    /// Nobody asks the editor of another project than the wanted one what became of a call: a client that waits for that is told now.
    /// A result that is in a file is read all the same, and for a call that was told to be still running its editor is asked when it is
    /// wanted again.
    pub(super) fn give_up_elsewhere(&mut self, now: Instant) -> Vec<Settlement> {
        self.forget_those(now, |entry, wanted| {
            !entry.settled
                && entry.project.is_some()
                && !wanted.may_be(entry.project.as_deref())
                && !matches!(entry.recovery, Recovery::ResultFile { .. })
        })
    }

    fn forget_those(&mut self, now: Instant, which: impl Fn(&Entry, &Wanted) -> bool) -> Vec<Settlement> {
        let looked_for = self.entries.iter().filter(|entry| entry.is_looked_for() && which(entry, &self.wanted));
        let gone: Vec<CallId> = looked_for.map(|entry| entry.id).collect();
        gone.into_iter().flat_map(|call| self.forgotten(call, now)).collect()
    }

    fn spare(&mut self, index: usize, now: Instant) -> Vec<Settlement> {
        let mut out = Vec::new();
        self.feed(index, &Event::NotRunProven, None, now, &mut out);
        self.hold_again(index, now, &mut out);
        out
    }

    fn after_recovery(&mut self, call: CallId, event: &Event, now: Instant) -> Vec<Settlement> {
        let mut out = Vec::new();
        if let Some(index) = self.position(call) {
            self.feed(index, event, None, now, &mut out);
            self.hold_again(index, now, &mut out);
        }
        out
    }

    /// What was sent and is held again has left nothing behind on any connection.
    fn hold_again(&mut self, index: usize, now: Instant, out: &mut Vec<Settlement>) {
        if let Some(mut entry) = self.entries.get_mut(index).filter(|entry| entry.state() == State::Held) {
            entry.sent = None;
        }
        self.refuse_held_at_the_end(now, out);
        self.entries.sweep();
    }
}
