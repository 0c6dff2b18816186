//! What the actors stand on: supervision, addresses that outlive a restart, bounded mailboxes, timers, the messages of all actors,
//! and the gateway's surroundings: configuration, network, machine, logs and metrics.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub mod addresses;
pub mod environment;
pub mod health;
pub mod instrumented;
pub mod mailbox;
pub mod messages;
pub mod outbox;
pub mod slot;
pub mod supervisor;
pub mod timers;

/// Enters a lock, also one whose holder panicked: what lies behind it is changed in single steps.
pub fn enter<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
