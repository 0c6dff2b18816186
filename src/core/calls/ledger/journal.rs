//! Handles what the editor reports about calls that were sent: in its journal, or in a reply that refuses a call. Also ends
//! searches for outcomes that can no longer be found.

use std::sync::Arc;

use tokio::time::Instant;

use super::Ledger;
use crate::core::calls::entry::Entry;
use crate::core::calls::phase::{Attempt, News};
use crate::core::calls::types::{Settlement, Wanted};
use crate::fsm::call::Event;
use crate::fsm::cause::{Availability, Loss};
use crate::protocol::dialect::{JournalKey, Recovery};
use crate::protocol::ids::{CallId, Epoch};

impl Ledger {
    /// Records that the editor's answer is a refusal: the call did not run, unless an earlier attempt was lost, which
    /// may have run.
    pub fn says_unrun(&mut self, call: CallId) {
        if let Some(mut entry) = self.entry_mut(call) {
            entry.says_unrun();
        }
    }

    /// Gives up the search for a call's outcome: no record of it can be found any more.
    pub fn give_up(&mut self, call: CallId, now: Instant) -> Vec<Settlement> {
        self.feed_call(call, Event::OutcomeLost, now)
    }

    /// Handles the editor's reply that it did not run the call because it is about to leave, to reload or for good. Returns false
    /// if no answer to the call is expected on that connection.
    pub fn postponed(&mut self, call: CallId, epoch: Epoch, now: Instant) -> (bool, Vec<Settlement>) {
        let mut heard = self.hear(call, epoch, Event::NotRunProven, now);
        if heard.0 {
            self.refuse_held_at_the_end(now, &mut heard.1);
        }
        heard
    }

    /// Handles the editor's reply that it runs a call as a job, which has this key.
    pub fn submitted(&mut self, call: CallId, epoch: Epoch, key: JournalKey, now: Instant) -> Vec<Settlement> {
        self.hear(call, epoch, News::Submitted(Recovery::Journal(key)), now).1
    }

    /// Handles the reply that a call has begun some work. Its end is looked for in this file.
    pub fn follow(&mut self, call: CallId, epoch: Epoch, file: Recovery, now: Instant) -> Vec<Settlement> {
        self.hear(call, epoch, News::Submitted(file), now).1
    }

    /// Whether a call has begun some work whose end a file tells, and its client waits for that.
    pub fn follows_work(&self) -> bool {
        self.entries.iter().any(|entry| {
            entry.is_awaited()
                && entry.sought().is_some_and(|attempt| matches!(attempt.recovery, Recovery::StatusFile { .. }))
        })
    }

    /// Whether a client waits for the outcome of a call that is asked for.
    pub fn awaits_an_outcome(&self) -> bool {
        let is_asked_for = |attempt: &Attempt| matches!(attempt.recovery, Recovery::Journal(_));
        self.entries.iter().any(|entry| entry.is_awaited() && entry.sought().is_some_and(is_asked_for))
    }

    /// Returns an earlier call whose end this file is to tell, and its tool. The file would not tell the two apart.
    pub fn followed_in(&self, file: &str) -> Option<(CallId, Arc<str>)> {
        let tells = |recovery: &Recovery| matches!(recovery, Recovery::StatusFile { path, .. } if *path == file);
        let first = self.entries.iter().find(|entry| entry.sought().is_some_and(|attempt| tells(&attempt.recovery)))?;
        Some((first.call.id, Arc::clone(&first.call.tool)))
    }

    /// Whether calls may be sent: on any connection, and on one that was opened after this call was sent.
    pub fn is_back(&self, call: CallId) -> (bool, bool) {
        let is_open = self.availability == Some(Availability::Open) && !self.open_epochs.is_empty();
        let sent = self.entry(call).and_then(|entry| entry.phase().attempt()?.epoch);
        let later = self.open_epochs.keys().any(|open| sent.is_none_or(|sent| *open > sent));
        (is_open, is_open && later)
    }

    /// Ends the sending of one call, although its connection goes on: its outcome is looked for as after a loss.
    pub fn lose(&mut self, call: CallId, epoch: Epoch, loss: Loss, now: Instant) -> Vec<Settlement> {
        self.hear(call, epoch, Event::EpochClosed(loss), now).1
    }

    /// The key under which the editor's journal has a call; `None` if no journal has it.
    pub fn journal_key(&self, call: CallId) -> Option<JournalKey> {
        match &self.entry(call)?.phase().attempt()?.recovery {
            Recovery::Journal(key) => Some(key.clone()),
            Recovery::None | Recovery::ResultFile { .. } | Recovery::StatusFile { .. } | Recovery::Inferred => None,
        }
    }

    /// Whether the outcome of this sending (the attempt to send the call that has this key) is still being looked for. A late
    /// answer to an earlier question must not be applied to a call that has been sent again since.
    pub fn seeks(&self, call: CallId, key: &JournalKey) -> bool {
        let sought = self.entry(call).and_then(Entry::sought);
        sought.is_some_and(|attempt| matches!(&attempt.recovery, Recovery::Journal(own) if own == key))
    }

    /// Handles the journal's statement that a call did not run and will not run. `sealed`: the journal says so because
    /// it did not know the call. That is no proof for a call that was sent under another gateway's name: a journal
    /// remembers, for each name, which calls it let go.
    pub fn proven_unrun(&mut self, call: CallId, sealed: bool, now: Instant) -> Vec<Settlement> {
        let sought = self.entry(call).and_then(Entry::sought);
        if sealed && sought.is_some_and(|attempt| attempt.of_another_gateway) {
            return self.forgotten(call, now);
        }
        self.feed_call(call, Event::NotRunProven, now)
    }

    /// Handles the journal's statement that a call is still waiting or running. Restarts the time limit of the search.
    pub fn found_running(&mut self, call: CallId, now: Instant) {
        if let Some(mut entry) = self.entry_mut(call) {
            entry.seek_anew(now);
        }
    }

    /// Handles the journal's statement that a call was begun and then interrupted by a reload.
    pub fn found_interrupted(&mut self, call: CallId, now: Instant) -> Vec<Settlement> {
        self.feed_call(call, Event::FoundInterrupted, now)
    }

    /// Handles the journal's statement that it has no record of a call.
    pub fn forgotten(&mut self, call: CallId, now: Instant) -> Vec<Settlement> {
        self.feed_call(call, Event::OutcomeLost, now)
    }

    /// Ends the search for outcomes that were only in a lost journal. Every journal of the wanted project's editors counts as
    /// lost, except the journal `but`. Nothing is known about the editors of other projects, so their calls are left alone.
    pub fn journals_gone(&mut self, but: Option<&str>, now: Instant) -> Vec<Settlement> {
        self.forget_those(now, |entry, attempt, wanted| {
            wanted.may_be(entry.call.project.as_deref())
                && matches!(&attempt.recovery, Recovery::Journal(key) if Some(key.journal.as_str()) != but)
        })
    }

    /// Ends the search for the outcomes of unanswered calls that belong to a project other than the wanted one, since nobody asks
    /// that project's editor. A result file is still read. If the client was already told that the call is still running, the
    /// search stays open, and the editor is asked once its project is wanted again.
    pub(super) fn give_up_elsewhere(&mut self, now: Instant) -> Vec<Settlement> {
        self.forget_those(now, |entry, attempt, wanted| {
            entry.is_awaited()
                && entry.call.project.is_some()
                && !wanted.may_be(entry.call.project.as_deref())
                && !matches!(attempt.recovery, Recovery::ResultFile { .. } | Recovery::StatusFile { .. })
        })
    }

    fn forget_those(&mut self, now: Instant, which: impl Fn(&Entry, &Attempt, &Wanted) -> bool) -> Vec<Settlement> {
        let gone = self
            .entries
            .iter()
            .filter(|entry| entry.sought().is_some_and(|attempt| which(entry, attempt, &self.wanted)));
        let gone: Vec<CallId> = gone.map(|entry| entry.call.id).collect();
        gone.into_iter().flat_map(|call| self.forgotten(call, now)).collect()
    }
}
