//! The ledger of calls behind its lock, and the three things that can be waited for.
//!
//! The lock of the ledger and that of the client's requests are never held together.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::core::calls::{Ledger, LedgerAccess, Wanted};
use crate::protocol::ids::Epoch;
use crate::runtime::enter;

/// See the module's documentation.
#[derive(Default)]
pub struct SharedLedger {
    ledger: Mutex<Ledger>,
    /// How often the lock was taken.
    locked: AtomicU64,
    /// As the ledger has it: asked for several times a call, and changed once a session.
    wanted: Mutex<Arc<Wanted>>,
    deadline_moved: Notify,
    call_settled: Notify,
    calls_moved: Notify,
}

impl std::fmt::Debug for SharedLedger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (held, running) = self.lock().counts();
        f.debug_struct("SharedLedger").field("held", &held).field("running", &running).finish_non_exhaustive()
    }
}

impl LedgerAccess for &SharedLedger {
    fn with<T>(&mut self, operation: impl FnOnce(&mut Ledger, Instant) -> T) -> T {
        SharedLedger::with(self, operation)
    }
}

impl SharedLedger {
    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.locked.fetch_add(1, Ordering::Relaxed);
        enter(&self.ledger)
    }

    /// How often the lock was taken so far: what a call costs is bounded by a test.
    pub fn times_locked(&self) -> u64 {
        self.locked.load(Ordering::Relaxed)
    }

    /// Runs one short operation and gives its value. What it ordered must be carried out by
    /// [`Calls::settle`](super::Calls::settle).
    pub fn with<T>(&self, operation: impl FnOnce(&mut Ledger, Instant) -> T) -> T {
        let mut ledger = self.lock();
        let value = operation(&mut ledger, Instant::now());
        let (late, moved) = (ledger.wakes_late(), ledger.take_moved());
        if ledger.take_wanted_moved() {
            *enter(&self.wanted) = Arc::new(ledger.wanted().clone());
        }
        drop(ledger);
        if late {
            self.deadline_moved.notify_one();
        }
        if moved {
            self.calls_moved.notify_one();
        }
        value
    }

    /// The project that calls are for.
    pub fn wanted(&self) -> Arc<Wanted> {
        Arc::clone(&enter(&self.wanted))
    }

    /// Waits until a call came, went or changed its state since this was last asked. For one who waits.
    pub async fn moved(&self) {
        self.calls_moved.notified().await;
    }

    /// What was decided is carried out: whoever waits for the end of calls looks again.
    pub fn was_settled(&self) {
        self.call_settled.notify_waiters();
    }

    /// Waits until no client waits for a call that was sent.
    pub async fn settled(&self) {
        self.until_none(Ledger::awaited).await;
    }

    /// As [`settled`](Self::settled), for those of one connection.
    pub async fn settled_on(&self, epoch: Epoch) {
        self.until_none(|ledger| ledger.awaited_on(epoch)).await;
    }

    async fn until_none(&self, count: impl Fn(&Ledger) -> usize) {
        loop {
            let settled = self.call_settled.notified();
            if self.with(|ledger, _| count(ledger)) == 0 {
                return;
            }
            settled.await;
        }
    }

    /// Waits until the next deadline is over.
    pub async fn due(&self) {
        loop {
            let moved = self.deadline_moved.notified();
            let next = self.lock().arm();
            let Some(deadline) = next else {
                moved.await;
                continue;
            };
            tokio::select! {
                biased;
                () = moved => {}
                () = tokio::time::sleep_until(deadline) => return,
            }
        }
    }
}
