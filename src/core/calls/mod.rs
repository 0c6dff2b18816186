//! Every open call, what was sent of it, and late results: the [`Ledger`].

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

/// Access to the ledger, wherever it lies: behind a lock, or in the state of a model.
pub trait LedgerAccess {
    /// Runs one short operation at the present time and returns its value.
    fn with<T>(&mut self, operation: impl FnOnce(&mut Ledger, Instant) -> T) -> T;
}
