//! What actors are built on: supervision, addresses that outlive a restart, bounded mailboxes, timers, the messages of all
//! actors, and the gateway's environment: configuration, network, machine, logs and metrics.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub mod arrivals;
pub mod environment;
pub mod health;
pub mod messages;
pub mod outbox;
pub mod slot;
pub mod supervisor;
pub mod timers;

/// Takes a lock, even if a former holder panicked: values behind such locks are changed in single steps, so they are still valid.
pub fn enter<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
