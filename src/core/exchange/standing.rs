//! An editor that is connected and takes no calls for now: a dialog is open in it, or it has not settled since its start.

use std::sync::Arc;

use tokio::time::Instant;

use super::{Answered, Exchange, Settled};
use crate::core::calls::Ledger;
use crate::fsm::cause::Cause;
use crate::limits::BUSY_PAUSE;
use crate::protocol::dialect::Standing;
use crate::protocol::ids::CallId;

impl Exchange {
    /// Handles what the editor says of itself: whether it takes calls. While it takes none, none is sent.
    pub fn stands(&mut self, standing: &Standing, ledger: &mut Ledger) {
        let obstacle: Option<Arc<str>> = standing.obstacle().map(Into::into);
        if std::mem::replace(&mut self.blocked, obstacle.is_some()) || obstacle.is_some() {
            ledger.hinder(self.epoch, obstacle.is_some().then_some(Cause::Blocked));
            self.calls_wait = ledger.has_held();
        }
        ledger.obstructed(self.epoch, obstacle);
    }

    /// Handles the refusal of a call that did not run because the editor takes none for now, in these words. The call is held again.
    pub(super) fn refused_while_busy(
        &mut self,
        call: CallId,
        says: Arc<str>,
        ledger: &mut Ledger,
        now: Instant,
    ) -> Answered {
        ledger.hinder(self.epoch, Some(Cause::Blocked));
        // A heartbeat tells when it takes calls again. Without one, only the next call can find out.
        if self.quiet.beats {
            self.blocked = true;
        } else {
            self.busy_until = Some(now + BUSY_PAUSE);
            ledger.obstructed(self.epoch, Some(says));
        }
        let (known, settlements) = ledger.turned_away(call, self.epoch, Cause::Blocked, now);
        self.quiet.watched(now);
        self.calls_wait = ledger.has_held();
        Answered { known, settled: Settled { settlements, events: self.freed() }, hang_up: false }
    }

    /// Handles the refusal of a call that did not run because of what the editor does, in these words. Other calls are sent meanwhile:
    /// one of them may tell when that has ended.
    pub(super) fn refused_alone(
        &mut self,
        call: CallId,
        says: Arc<str>,
        ledger: &mut Ledger,
        now: Instant,
    ) -> Answered {
        let (known, settlements) = ledger.turned_away(call, self.epoch, Cause::Blocked, now);
        ledger.rest(call, self.epoch, says);
        self.resting.push_back((now + BUSY_PAUSE, call));
        self.quiet.watched(now);
        self.calls_wait = ledger.has_held();
        Answered { known, settled: Settled { settlements, events: self.freed() }, hang_up: false }
    }

    /// Returns when a call may be sent again that the editor was too busy for; `None` if there is none.
    pub fn calls_again(&self) -> Option<Instant> {
        self.resting.front().map(|(until, _)| *until).into_iter().chain(self.busy_until).min()
    }

    /// Lets the calls be sent again whose rest is over.
    pub(super) fn end_rests(&mut self, ledger: &mut Ledger, now: Instant) {
        while let Some((_, call)) = self.resting.front().copied().filter(|(until, _)| now >= *until) {
            self.resting.pop_front();
            ledger.end_rest(call);
            self.calls_wait = true;
        }
    }

    /// Ends the pause after the editor was busy. While calls wait, what keeps them is still told.
    pub(super) fn end_pause(&mut self, ledger: &mut Ledger, now: Instant) {
        if self.busy_until.is_none_or(|until| now < until) {
            return;
        }
        self.busy_until = None;
        self.calls_wait = ledger.has_held();
        if !self.calls_wait {
            self.is_free(ledger);
        }
    }

    /// A call was answered: nothing keeps the editor from its calls any more, as far as nobody but it can tell.
    pub(super) fn is_free_again(&mut self, ledger: &mut Ledger) {
        if !self.quiet.beats {
            self.is_free(ledger);
        }
    }

    fn is_free(&self, ledger: &mut Ledger) {
        ledger.hinder(self.epoch, None);
        ledger.obstructed(self.epoch, None);
    }
}
