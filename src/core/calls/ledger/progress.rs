//! What the client is told of the progress of its calls.

use tokio::time::Instant;

use super::Ledger;
use crate::core::calls::types::Settlement;
use crate::fsm::call::State;
use crate::protocol::dialect::CallProgress;

impl Ledger {
    /// How far a call is, by its tool's own word.
    pub fn progressed(&mut self, progress: CallProgress, now: Instant) -> Vec<Settlement> {
        let CallProgress { call, done, total, message } = progress;
        let entry = self.entries.iter_mut().find(|entry| entry.id == call && !entry.settled);
        let Some(entry) = entry.filter(|entry| matches!(entry.state(), State::Sent | State::Recovering)) else {
            return Vec::new();
        };
        let (version, request) = (entry.audience.version, entry.request);
        let told = entry.progress.as_mut().and_then(|progress| progress.measured(done, total, message, now));
        let told = told.map(|news| Settlement::Progress { request, news, version });
        told.into_iter().collect()
    }
}
