//! What stands before the calls of a connection that is open: its editor is not heard, or cannot be connected to for the next call, or
//! its tool list is asked for.

use super::Ledger;
use crate::fsm::cause::Cause;
use crate::protocol::ids::Epoch;

impl Ledger {
    /// Nothing can be written on this connection for now, and why; `None`: it can again.
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

    /// Whether the calls wait for the tool list of the connection that is open.
    pub fn await_list(&mut self, awaited: bool) {
        self.moved |= self.awaits_list != awaited;
        self.awaits_list = awaited;
    }

    pub(super) fn hindrance(&self) -> Option<Cause> {
        let (epoch, cause) = self.hindered?;
        self.open_epochs.contains_key(&epoch).then_some(cause)
    }
}
