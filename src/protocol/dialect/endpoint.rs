//! Where an editor is reached.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Secret;

/// Where an editor is reached. Only its port crosses to another process: there it is shown, and not connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// The editor listens on this port of 127.0.0.1.
    Port(u16),
    /// The editor is an HTTP server.
    Http {
        /// Its port of 127.0.0.1.
        port: u16,
        /// The token that it asks for in each request, if it asks for one. It answers 401 to any other, and runs nothing.
        token: Option<Secret>,
    },
    /// The editor connects to this port of 127.0.0.1, on which we listen, and says which project it has open.
    Arrival(u16),
}

impl Endpoint {
    /// Returns the port of 127.0.0.1 at which the two sides meet.
    pub fn port(&self) -> u16 {
        match self {
            Self::Port(port) | Self::Http { port, .. } | Self::Arrival(port) => *port,
        }
    }

    /// Returns the token that each request must have.
    pub fn token(&self) -> Option<&Secret> {
        match self {
            Self::Http { token, .. } => token.as_ref(),
            Self::Port(_) | Self::Arrival(_) => None,
        }
    }
}

impl Serialize for Endpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.port().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Endpoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u16::deserialize(deserializer).map(Self::Port)
    }
}
