//! Passes the progress that tools report on to the clients.

use tokio::time::Instant;

use super::Ledger;
use crate::core::calls::entries::EntryMut;
use crate::core::calls::types::Settlement;
use crate::protocol::dialect::CallProgress;

impl Ledger {
    /// Handles a report of a tool about its progress. Ignores it if the call is not running, or if its client wants no progress.
    pub fn progressed(&mut self, progress: CallProgress, now: Instant) -> Vec<Settlement> {
        let CallProgress { call, done, total, message } = progress;
        let runs = |entry: &EntryMut<'_>| entry.is_awaited() && !entry.is_held();
        let Some(mut entry) = self.entry_mut(call).filter(runs) else { return Vec::new() };
        let (version, request) = (entry.call.profile.version, entry.call.request);
        let told = entry.progress.as_mut().and_then(|progress| progress.measured(done, total, message, now));
        let told = told.map(|news| Settlement::Progress { request, news, version });
        told.into_iter().collect()
    }
}
