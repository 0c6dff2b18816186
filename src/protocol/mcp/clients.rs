//! What is known of the clients: how long they wait for a call, whether they hear of a changed list, what names, schemas and
//! results they take. The table is `table.rs`; `holdfast doctor --clients` and `docs/clients/` show it.
//!
//! A client is found by `clientInfo.name`, without regard to case: an exact name wins, else the longest prefix. A fact that
//! nobody has seen is [`Fact::Unknown`], never a guess; what is done then stands in [`Client::traits`] and nowhere else.

mod facts;
mod lookup;
mod settings;
mod table;
#[cfg(test)]
mod tests;

pub use facts::{
    AS_OF, ASSUMED_FROM, Beyond, Client, ClientTraits, Evidence, Fact, Named, TextLimit, UNKNOWN_CLIENT, Wait,
};
pub use lookup::{client_of, known_clients, labelled, traits_of};
pub use settings::{ClientOverrides, ClientSettings};
