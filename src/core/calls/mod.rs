//! The [`Ledger`] of every open call, of what was sent, and of late results.

mod entries;
mod entry;
mod finished;
mod ledger;
mod phase;
mod progress;
mod types;

pub use self::ledger::Ledger;
pub use self::types::{
    Answer, Claim, ClaimRefused, HeldCall, Keep, Known, Lookup, NewCall, ProgressNews, Record, RecoveredCall, Refused,
    Settlement, Surprises, Terms, Wanted,
};

use tokio::time::Instant;

/// Access to the ledger, which is behind a lock in the gateway and part of the state in the model checker.
pub trait LedgerAccess {
    /// Runs one short operation on the ledger, with the current time, and returns its value.
    fn with<T>(&mut self, operation: impl FnOnce(&mut Ledger, Instant) -> T) -> T;
}
