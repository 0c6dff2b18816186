//! The ledger of calls behind its lock, and three signals that tasks can wait for.
//!
//! The locks of the ledger and of the client's requests are never held together.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::core::calls::{Ledger, LedgerAccess, Wanted};
use crate::protocol::ids::Epoch;
use crate::runtime::enter;

/// The ledger of one link, for all parts; see the module's documentation.
#[derive(Default)]
pub struct SharedLedger {
    ledger: Mutex<Ledger>,
    /// How often the lock was taken, for a test.
    locked: AtomicU64,
    /// A copy of the ledger's wanted project: it is read several times for each call, and changes about once in a session.
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

    /// How often the lock was taken so far; a test limits this for a call.
    pub fn times_locked(&self) -> u64 {
        self.locked.load(Ordering::Relaxed)
    }

    /// Runs one short operation and returns its value. Settlements in that value must be passed to
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

    /// Waits until a call was added, removed or changed its state since the last wait. For one waiter only.
    pub async fn moved(&self) {
        self.calls_moved.notified().await;
    }

    /// Wakes the tasks that wait in [`settled`](Self::settled). Called after settlements were carried out.
    pub fn was_settled(&self) {
        self.call_settled.notify_waiters();
    }

    /// Waits until no client waits for a sent call.
    pub async fn settled(&self) {
        self.until_none(Ledger::awaited).await;
    }

    /// As [`settled`](Self::settled), for the calls of one connection.
    pub async fn settled_on(&self, epoch: Epoch) {
        self.until_none(|ledger| ledger.awaited_on(epoch)).await;
    }

    /// Waits until nothing is expected of any call: neither an answer, nor the late result of a call that was answered
    /// "still running".
    pub async fn all_over(&self) {
        self.until_none(Ledger::expected).await;
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

    /// Waits until the ledger's next deadline has passed, even if the deadline changes in the meantime. `woken` is
    /// called at each such change.
    pub async fn due(&self, woken: impl Fn()) {
        loop {
            let moved = self.deadline_moved.notified();
            let next = self.lock().arm();
            let Some(deadline) = next else {
                moved.await;
                woken();
                continue;
            };
            tokio::select! {
                biased;
                () = moved => woken(),
                () = tokio::time::sleep_until(deadline) => return,
            }
        }
    }
}
