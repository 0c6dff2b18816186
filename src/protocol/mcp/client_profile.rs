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
}

/// A client of which nothing more is known.
impl From<ProtocolVersion> for ClientProfile {
    fn from(version: ProtocolVersion) -> Self {
        Self { version, client: UNKNOWN_CLIENT }
    }
}
