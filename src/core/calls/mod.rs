//! The [`Ledger`] of every open call, of what was sent, and of late results.

mod entries;
mod entry;
mod finished;
mod ledger;
mod progress;
mod types;
mod wanted;
mod withheld;

pub use self::ledger::Ledger;
pub use self::types::{
    Answer, ClaimRefused, HeldCall, Lookup, NewCall, ProgressNews, Record, Refused, Sending, Settlement, Surprises,
    Terms,
};
pub use self::wanted::Wanted;

use tokio::time::Instant;

/// Access to the ledger, which is behind a lock or part of a model's state.
pub trait LedgerAccess {
    /// Runs one short operation at the current time and returns its value.
    fn with<T>(&mut self, operation: impl FnOnce(&mut Ledger, Instant) -> T) -> T;
}
