//! What delays calls although a connection is open: the editor is silent, the next request cannot be connected, or the editor has
//! not sent its tool list yet.

use tokio::time::Instant;

use super::Ledger;
use crate::core::calls::types::Known;
use crate::core::user_text;
use crate::fsm::cause::{Availability, Cause};
use crate::protocol::dialect::Heartbeat;
use crate::protocol::ids::Epoch;

impl Ledger {
    /// Records why nothing can be written on this connection for now. `None`: writing is possible again.
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

    /// Keeps what the editor on this connection says of itself, for the texts about its calls. No decision depends on it.
    pub fn felt(&mut self, epoch: Epoch, heartbeat: Heartbeat, now: Instant) {
        self.heartbeat = Some((epoch, heartbeat, now));
    }

    /// Returns what is known of the wanted project's editor.
    pub(super) fn known(&self, now: Instant) -> Known {
        let felt = self.heartbeat.filter(|(epoch, ..)| self.is_wanted(*epoch));
        let away = self.availability.and_then(Availability::cause);
        Known {
            heartbeat: felt.map(|(_, heartbeat, at)| (heartbeat, now.saturating_duration_since(at))),
            gone: away.filter(|cause| cause.is_gone() && self.open_epochs.is_empty()),
        }
    }

    /// Returns, as a phrase, what keeps the connected editor from its calls, if that is known.
    pub(super) fn known_hindrance(&self, now: Instant) -> Option<String> {
        match self.known(now).heartbeat {
            Some((heartbeat, ago)) => user_text::hindered(heartbeat, ago),
            None => (self.hindrance() == Some(Cause::Stalled)).then(|| user_text::SILENT.to_owned()),
        }
    }

    pub(super) fn hindrance(&self) -> Option<Cause> {
        let (epoch, cause) = self.hindered?;
        self.open_epochs.contains_key(&epoch).then_some(cause)
    }
}
