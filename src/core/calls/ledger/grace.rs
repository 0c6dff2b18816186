//! Answers that are withheld because a domain reload may follow them without an announcement. A client that asked for a refresh
//! wants to continue after the reload, and calls sent before the reload would be interrupted.

use std::time::Duration;

use tokio::time::Instant;

use super::Ledger;
use crate::core::calls::entry::Entry;
use crate::core::calls::phase::{News, Phase};
use crate::core::calls::types::Settlement;
use crate::core::user_text;
use crate::fsm::cause::Availability;
use crate::protocol::dialect::EditorAnswer;
use crate::protocol::ids::{CallId, Epoch};

/// What was seen of a reload, which is added to a withheld answer as a note.
enum Signs {
    /// No reload was seen.
    None,
    /// The editor reloaded and is back after this time.
    Back(Duration),
    /// The editor went away and has not come back within this time.
    Away(Duration),
}

impl Ledger {
    /// Withholds the editor's reply to a call after which a reload may follow. Answers at once if the call's project is no longer
    /// wanted. Returns false if no answer to the call is expected on that connection.
    pub fn withhold(
        &mut self,
        call: CallId,
        epoch: Epoch,
        answer: EditorAnswer,
        now: Instant,
    ) -> (bool, Vec<Settlement>) {
        let project = self.entry(call).and_then(|entry| entry.call.project.as_deref());
        if !self.wanted.may_be(project) {
            // What this editor does next will not be observed.
            return self.reply(call, epoch, answer, now);
        }
        // The editor may already have announced that it leaves.
        let reloading = !self.availability.is_some_and(Availability::is_no_absence);
        self.hear(call, epoch, News::Withheld { answer, reloading }, now)
    }

    /// Handles the evidence that no reload follows this call: its withheld answer is sent, unless a reload is visible already.
    pub fn no_reload_follows(&mut self, call: CallId, now: Instant) -> Vec<Settlement> {
        let mut out = Vec::new();
        self.tell_withheld(now, &mut out, |entry, _, reloading| {
            (entry.call.id == call && !reloading).then_some(Signs::None)
        });
        out
    }

    /// Records that the editor that is back runs in another process than before.
    pub fn editor_replaced(&mut self, now: Instant) {
        self.no_reload = Some(now);
    }

    /// Whether an absence that began at `since` may have been a domain reload.
    pub(super) fn may_have_reloaded(&self, since: Instant) -> bool {
        self.no_reload.is_none_or(|at| at < since)
    }

    /// Handles a change of the link's availability, which may show the start or the end of a reload. At the end, sends the
    /// answers that were withheld for it.
    pub(super) fn see_reload(&mut self, availability: Availability, now: Instant, out: &mut Vec<Settlement>) {
        if !availability.is_no_absence() {
            self.entries.change_all(Entry::sees_reload);
        }
        if availability == Availability::Open {
            self.tell_withheld(now, out, |_, since, reloading| {
                reloading.then(|| Signs::Back(now.saturating_duration_since(since)))
            });
        }
    }

    /// Sends the withheld answers whose time limit has passed.
    pub(super) fn end_grace(&mut self, now: Instant, out: &mut Vec<Settlement>) {
        self.tell_withheld(now, out, |entry, since, reloading| {
            let waited = now.saturating_duration_since(since);
            let due = entry.grace_end().is_some_and(|end| now >= end);
            due.then_some(if reloading { Signs::Away(waited) } else { Signs::None })
        });
    }

    /// Sends all withheld answers, because the gateway ends.
    pub(super) fn tell_all_withheld(&mut self, now: Instant, out: &mut Vec<Settlement>) {
        self.tell_withheld(now, out, |_, _, _| Some(Signs::None));
    }

    /// Sends the withheld answers of these calls without a note.
    pub(super) fn tell_withheld_of(&mut self, which: impl Fn(&Entry) -> bool, now: Instant, out: &mut Vec<Settlement>) {
        self.tell_withheld(now, out, |entry, _, _| which(entry).then_some(Signs::None));
    }

    /// Sends the withheld answers for which `signs` returns a value. `signs` is given the time since when an answer is
    /// withheld, and whether a reload is visible.
    fn tell_withheld(
        &mut self,
        now: Instant,
        out: &mut Vec<Settlement>,
        signs: impl Fn(&Entry, Instant, bool) -> Option<Signs>,
    ) {
        let mut told = false;
        for index in 0..self.entries.len() {
            let Some(entry) = self.entries.get(index) else { continue };
            let Phase::Withheld { answer, since, reloading, .. } = entry.phase() else { continue };
            let (error, likely) = (answer.is_error, self.may_have_reloaded(*since));
            let note = match signs(entry, *since, *reloading) {
                None => continue,
                Some(Signs::None) => None,
                Some(Signs::Back(waited)) => Some(user_text::reloaded(waited, likely)),
                Some(Signs::Away(waited)) => {
                    Some(user_text::still_reloading(waited, likely, entry.call.profile.audience))
                }
            };
            told = true;
            self.feed(index, News::Told { error, note }, now, out);
        }
        if told {
            self.entries.remove_ended();
            self.go_on(out);
        }
    }

    /// Reports calls that may be sent now that no answer is withheld.
    pub(super) fn go_on(&self, out: &mut Vec<Settlement>) {
        if self.has_held() {
            out.push(Settlement::HeldAgain);
        }
    }
}
