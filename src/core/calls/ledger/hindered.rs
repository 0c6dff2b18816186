//! What delays calls although a connection is open: the editor is silent, the next request cannot be connected, or the editor has
//! not sent its tool list yet.

use super::Ledger;
use crate::fsm::cause::Cause;
use crate::protocol::ids::Epoch;

impl Ledger {
    /// Records why nothing can be written on this connection for now. `None`: it can be written on again.
    pub fn hinder(&mut self, epoch: Epoch, cause: Option<Cause>) {
        let before = self.hindered;
        match cause {
            Some(cause) if self.open_epochs.contains_key(&epoch) => {
                self.hindered = Some((epoch, cause));
                self.now_wait_for(cause);
            }
            Some(_) => {}
            None => self.hindered = self.hindered.filter(|(hindered, _)| *hindered != epoch),
        }
        self.moved |= self.hindered != before;
    }

    /// Sets whether calls wait for the tool list of the open connection.
    pub fn await_list(&mut self, awaited: bool) {
        self.moved |= self.awaits_list != awaited;
        self.awaits_list = awaited;
    }

    pub(super) fn hindrance(&self) -> Option<Cause> {
        let (epoch, cause) = self.hindered?;
        self.open_epochs.contains_key(&epoch).then_some(cause)
    }
}
