//! How often work goes from one task to another: what a call and a reload cost beside the work itself.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The counter. It is off unless a test turns it on.
#[derive(Debug, Default)]
pub(super) struct HandOvers {
    is_on: AtomicBool,
    counts: Mutex<BTreeMap<&'static str, u64>>,
}

impl HandOvers {
    pub(super) fn add(&self, to: &'static str) {
        if self.is_on.load(Ordering::Relaxed) {
            *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(to).or_default() += 1;
        }
    }

    pub(super) fn take(&self) -> BTreeMap<&'static str, u64> {
        self.is_on.store(true, Ordering::Relaxed);
        std::mem::take(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
