//! Every open call, what was sent of it, and late results: the [`Ledger`].

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
