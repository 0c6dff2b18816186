//! For whom an answer is written.

use super::clients::{ClientTraits, UNKNOWN_CLIENT};
use super::handshake::ProtocolVersion;

/// For whom an answer is written. It belongs to the request: in the stateless era each request names its own version and client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientProfile {
    /// The protocol version of the answer.
    pub version: ProtocolVersion,
    /// The client's habits, a user's settings applied.
    pub client: ClientTraits,
    /// Who reads holdfast's own texts.
    pub audience: Audience,
}

/// Who reads the texts that holdfast itself writes: what to do next differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Audience {
    /// An AI: it can call holdfast's own tools and ask its user.
    #[default]
    Agent,
    /// A person at a terminal: `holdfast call`.
    Person,
}

/// A client of which nothing more is known.
impl From<ProtocolVersion> for ClientProfile {
    fn from(version: ProtocolVersion) -> Self {
        Self { version, client: UNKNOWN_CLIENT, audience: Audience::Agent }
    }
}
