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

use super::handshake::ProtocolVersion;

/// The client that an answer is written for. It belongs to the request: in the stateless era each request names its version and
/// client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientProfile {
    /// The protocol version of the answer.
    pub version: ProtocolVersion,
    /// The client's habits, with the user's settings applied.
    pub client: ClientTraits,
    /// Who reads holdfast's own texts.
    pub audience: Audience,
    /// Whether the client takes results of every size as they are. Such a client is in this program.
    pub whole: bool,
}

/// Who reads the texts that holdfast itself writes. The advice about what to do next depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Audience {
    /// An AI: it can call holdfast's own tools and ask its user.
    #[default]
    Agent,
    /// A person at a terminal: `holdfast call`.
    Person,
}

/// The profile of an unknown client with this version.
impl From<ProtocolVersion> for ClientProfile {
    fn from(version: ProtocolVersion) -> Self {
        Self { version, client: UNKNOWN_CLIENT, audience: Audience::Agent, whole: false }
    }
}
