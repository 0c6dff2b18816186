//! What delays calls although a connection is open: the editor is silent, the next request cannot be connected, or the editor has
//! not sent its tool list yet.

use std::sync::Arc;

use tokio::time::Instant;

use super::Ledger;
use crate::core::calls::phase::Rest;
use crate::core::calls::types::Known;
use crate::core::user_text;
use crate::fsm::cause::{Availability, Cause};
use crate::protocol::dialect::Heartbeat;
use crate::protocol::ids::{CallId, Epoch};

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

    /// Keeps what is known of the editor on this connection, for the texts about its calls. No decision depends on it.
    pub fn felt(&mut self, epoch: Epoch, heartbeat: Option<Heartbeat>, now: Instant) {
        self.heartbeat = heartbeat.map(|heartbeat| (epoch, heartbeat, now));
    }

    /// Keeps what the editor on this connection says that keeps it from taking calls, as [`felt`](Self::felt) does.
    pub fn obstructed(&mut self, epoch: Epoch, obstacle: Option<Arc<str>>) {
        self.moved |= self.obstacle.as_ref().map(|(_, by)| by) != obstacle.as_ref();
        self.obstacle = obstacle.map(|by| (epoch, by));
    }

    /// Keeps a held call from being sent on this connection, because the editor has refused it in these words. Other calls are sent.
    pub fn rest(&mut self, call: CallId, epoch: Epoch, says: Arc<str>) {
        if let Some(mut entry) = self.entry_mut(call) {
            entry.rest(Some(Rest { epoch, says }));
        }
    }

    /// Lets a call be sent again that [`rest`](Self::rest) kept.
    pub fn end_rest(&mut self, call: CallId) {
        if let Some(mut entry) = self.entry_mut(call) {
            entry.rest(None);
        }
    }

    /// Returns what is known of the wanted project's editor.
    pub(super) fn known(&self, now: Instant) -> Known {
        let felt = self.heartbeat.filter(|(epoch, ..)| self.is_wanted(*epoch));
        let away = self.availability.and_then(Availability::cause);
        Known {
            heartbeat: felt.map(|(_, heartbeat, at)| (heartbeat, now.saturating_duration_since(at))),
            obstacle: self.obstacle().cloned(),
            gone: away.filter(|cause| cause.is_gone() && self.open_epochs.is_empty()),
        }
    }

    /// Returns, as a phrase, what keeps the connected editor from its calls, if that is known.
    pub(super) fn known_hindrance(&self, now: Instant) -> Option<String> {
        if let Some(by) = self.obstacle() {
            return Some(by.to_string());
        }
        match self.known(now).heartbeat {
            Some((heartbeat, ago)) => user_text::hindered(heartbeat, ago),
            None => (self.hindrance() == Some(Cause::Stalled)).then(|| user_text::SILENT.to_owned()),
        }
    }

    /// Returns what keeps the connected editor from taking calls, in its own words.
    pub(super) fn obstacle(&self) -> Option<&Arc<str>> {
        let (epoch, by) = self.obstacle.as_ref()?;
        self.open_epochs.contains_key(epoch).then_some(by)
    }

    pub(super) fn hindrance(&self) -> Option<Cause> {
        let (epoch, cause) = self.hindered?;
        self.open_epochs.contains_key(&epoch).then_some(cause)
    }
}
