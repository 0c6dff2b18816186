//! Facts about the clients: how long they wait for a call, whether they react to a changed list, and which names, schemas and
//! results they accept. The table is in `table.rs`; `holdfast doctor --clients` and `docs/clients.md` show the facts.
//!
//! A client is found by `clientInfo.name`, ignoring case: an exact name wins, otherwise the longest prefix. A fact that nobody
//! has observed is [`Fact::Unknown`], never a guess. Only [`Client::traits`] decides how a client with an unknown fact is
//! treated.

mod facts;
mod lookup;
mod settings;
mod table;
#[cfg(test)]
mod tests;

pub use facts::{
    AS_OF, ASSUMED_FROM, Beyond, Client, ClientTraits, Evidence, Fact, IMAGE_LIMIT_ASSUMED, ImageLimit, Named,
    TellsProject, TextLimit, UNKNOWN_CLIENT, Wait,
};
pub use lookup::{a_name_of, client_of, known_clients, labelled, traits_of};
pub use settings::{ClientOverrides, ClientSettings, most_specific};
