//! An editor that is connected and takes no calls for now: a dialog is open in it, or it has not settled since its start.

use std::sync::Arc;

use tokio::time::Instant;

use super::{Answered, Exchange, Settled};
use crate::core::calls::Ledger;
use crate::fsm::cause::Cause;
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

    /// Handles the refusal of a call that did not run because the editor takes none for now. The call is held again.
    pub(super) fn refused_while_busy(&mut self, call: CallId, ledger: &mut Ledger, now: Instant) -> Answered {
        // Only a heartbeat tells when it takes calls again.
        if self.quiet.beats {
            self.blocked = true;
            ledger.hinder(self.epoch, Some(Cause::Blocked));
        }
        let (known, settlements) = ledger.turned_away(call, self.epoch, Cause::Blocked, now);
        self.quiet.watched(now);
        self.calls_wait = ledger.has_held();
        Answered { known, settled: Settled { settlements, events: self.freed() }, hang_up: false }
    }
}
