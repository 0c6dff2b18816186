//! Handles what the editor reports about calls that were sent: in its journal, or in a reply that refuses a call. Also ends
//! searches for outcomes that can no longer be found.

use tokio::time::Instant;

use super::Ledger;
use crate::core::calls::entry::Entry;
use crate::core::calls::types::Settlement;
use crate::core::calls::wanted::Wanted;
use crate::fsm::call::{Event, State};
use crate::protocol::dialect::{JournalKey, Recovery};
use crate::protocol::ids::{CallId, Epoch};

impl Ledger {
    /// Records that the editor's answer is a refusal: the call did not run, unless an earlier sending of it was lost and may have.
    pub fn says_unrun(&mut self, call: CallId) {
        if let Some(index) = self.position(call)
            && let Some(mut entry) = self.entries.get_mut(index)
        {
            entry.unrun = entry.machine.machine().loss.is_none();
        }
    }

    /// Gives up the search for a call's outcome: no record of it can be found any more.
    pub fn give_up(&mut self, call: CallId, now: Instant) -> Vec<Settlement> {
        self.feed_call(call, &Event::OutcomeLost, None, now)
    }

    /// Handles the editor's reply that it did not run the call because it is about to leave, to reload or for good. Returns false
    /// if no answer to the call is expected on that connection.
    pub fn postponed(&mut self, call: CallId, epoch: Epoch, now: Instant) -> (bool, Vec<Settlement>) {
        let open = self.open_epochs.contains_key(&epoch);
        let Some(index) = self.position_in(call, epoch).filter(|_| open) else { return (false, Vec::new()) };
        if let Some(mut entry) = self.entries.get_mut(index) {
            entry.epoch = None;
        }
        (true, self.spare(index, now))
    }

    /// The key under which the editor's journal has a call; `None` if no journal has it.
    pub fn journal_key(&self, call: CallId) -> Option<JournalKey> {
        match &self.entry(call)?.recovery {
            Recovery::Journal(key) => Some(key.clone()),
            Recovery::None | Recovery::ResultFile { .. } | Recovery::Inferred => None,
        }
    }

    /// Whether the outcome of this sending (the attempt to send the call that has this key) is still being looked for. A late
    /// answer to an earlier question must not be applied to a call that has been sent again since.
    pub fn seeks(&self, call: CallId, key: &JournalKey) -> bool {
        let entry = self.position(call).and_then(|index| self.entries.get(index));
        entry.is_some_and(|entry| {
            entry.is_looked_for() && matches!(&entry.recovery, Recovery::Journal(own) if own == key)
        })
    }

    /// Handles the journal's statement that a call did not run and will not run. `sealed`: because the journal did not know it. For
    /// a call that was sent under another gateway's name that is no proof: a journal remembers for each name which calls it let go.
    pub fn proven_unrun(&mut self, call: CallId, sealed: bool, now: Instant) -> Vec<Settlement> {
        let Some(index) = self.position(call) else { return Vec::new() };
        if sealed && self.entries.get(index).is_some_and(|entry| entry.of_another_gateway) {
            return self.forgotten(call, now);
        }
        self.spare(index, now)
    }

    /// Handles the journal's statement that a call is still waiting or running. Restarts the time limit of the search.
    pub fn found_running(&mut self, call: CallId, now: Instant) {
        if let Some(mut entry) = self.position(call).and_then(|index| self.entries.get_mut(index)) {
            entry.lost = entry.lost.map(|_| now);
        }
    }

    /// Handles the journal's statement that a call was begun and then interrupted by a reload.
    pub fn found_interrupted(&mut self, call: CallId, now: Instant) -> Vec<Settlement> {
        self.after_recovery(call, &Event::FoundInterrupted, now)
    }

    /// Handles the journal's statement that it has no record of a call.
    pub fn forgotten(&mut self, call: CallId, now: Instant) -> Vec<Settlement> {
        self.after_recovery(call, &Event::OutcomeLost, now)
    }

    /// Ends the search for outcomes that were only in a lost journal. Every journal of the wanted project's editors counts as
    /// lost, except the journal `but`. Nothing is known about the editors of other projects, so their calls are left alone.
    pub fn journals_gone(&mut self, but: Option<&str>, now: Instant) -> Vec<Settlement> {
        self.forget_those(now, |entry, wanted| {
            wanted.may_be(entry.project.as_deref())
                && matches!(&entry.recovery, Recovery::Journal(key) if Some(key.journal.as_str()) != but)
        })
    }

    /// Ends the search for the outcomes of unanswered calls that belong to a project other than the wanted one, since nobody asks
    /// that project's editor. A result file is still read. If the client was already told that the call is still running, the
    /// search stays open, and the editor is asked once its project is wanted again.
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

    /// If the call is now held again, it no longer counts as sent. If the gateway is ending, all held calls are refused. Entries
    /// of ended calls are removed.
    fn hold_again(&mut self, index: usize, now: Instant, out: &mut Vec<Settlement>) {
        if let Some(mut entry) = self.entries.get_mut(index).filter(|entry| entry.state() == State::Held) {
            entry.sent = None;
        }
        self.refuse_held_at_the_end(now, out);
        self.entries.remove_ended();
    }
}
