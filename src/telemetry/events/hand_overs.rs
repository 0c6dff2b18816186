//! How often work goes from one task to another: what a call and a reload cost beside the work itself.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Events;

/// The counter. It is off unless a test turns it on.
#[derive(Debug, Default)]
pub(super) struct HandOvers {
    is_on: AtomicBool,
    counts: Mutex<BTreeMap<&'static str, u64>>,
}

impl Events {
    /// Counts from now on.
    pub fn count_hand_overs(&self) {
        self.0.hand_overs.is_on.store(true, Ordering::Relaxed);
    }

    /// An actor of this name handles a message, or a task of this name was woken by a channel or a notice.
    pub fn handed_over(&self, to: &'static str) {
        if self.0.hand_overs.is_on.load(Ordering::Relaxed) {
            *self.0.hand_overs.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(to).or_default() += 1;
        }
    }

    /// Returns how often each actor or task was handed something since the last time.
    pub fn take_hand_overs(&self) -> BTreeMap<&'static str, u64> {
        std::mem::take(&mut self.0.hand_overs.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
