//! The profile of the client that an answer is written for.

use super::clients::{ClientTraits, UNKNOWN_CLIENT};
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
