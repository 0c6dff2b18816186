//! Passes the progress that tools report on to the clients.

use tokio::time::Instant;

use super::Ledger;
use crate::core::calls::entries::EntryMut;
use crate::core::calls::types::Settlement;
use crate::fsm::call::State;
use crate::protocol::dialect::CallProgress;

impl Ledger {
    /// Handles a report of a tool about its progress. Ignores it if the call is not running, or if its client wants no progress.
    pub fn progressed(&mut self, progress: CallProgress, now: Instant) -> Vec<Settlement> {
        let CallProgress { call, done, total, message } = progress;
        let entry = self.position(call).and_then(|index| self.entries.get_mut(index));
        let runs = |entry: &EntryMut<'_>| !entry.settled && matches!(entry.state(), State::Sent | State::Recovering);
        let Some(mut entry) = entry.filter(runs) else {
            return Vec::new();
        };
        let (version, request) = (entry.profile.version, entry.request);
        let told = entry.progress.as_mut().and_then(|progress| progress.measured(done, total, message, now));
        let told = told.map(|news| Settlement::Progress { request, news, version });
        told.into_iter().collect()
    }
}
