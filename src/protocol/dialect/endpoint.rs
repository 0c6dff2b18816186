//! Where an editor is reached.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Secret;

/// Where an editor is reached. Only its port or its path crosses to another process: there it is shown, and not connected to.
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
    /// The editor listens on the first of these local sockets that is there. Their names belong to one project.
    Local(LocalSocket),
}

/// The places of a local socket, the best first: Unix sockets, on Windows named pipes. `{user}` in a path stands for the number of
/// the user. It is never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalSocket(pub Vec<String>);

impl LocalSocket {
    /// Returns the paths for this user.
    pub fn paths(&self, user: u32) -> Vec<PathBuf> {
        self.0.iter().map(|path| PathBuf::from(path.replace("{user}", &user.to_string()))).collect()
    }
}

impl Endpoint {
    /// Returns the port of 127.0.0.1 at which the two sides meet; 0 for a local socket, which has none.
    pub fn port(&self) -> u16 {
        match self {
            Self::Port(port) | Self::Http { port, .. } | Self::Arrival(port) => *port,
            Self::Local(_) => 0,
        }
    }

    /// Returns the token that each request must have.
    pub fn token(&self) -> Option<&Secret> {
        match self {
            Self::Http { token, .. } => token.as_ref(),
            Self::Port(_) | Self::Arrival(_) | Self::Local(_) => None,
        }
    }
}

/// How users read it: `port 8700`, or `the local socket NAME`.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(port) | Self::Http { port, .. } | Self::Arrival(port) => write!(f, "port {port}"),
            Self::Local(LocalSocket(paths)) => {
                let path = paths.first().map_or("", String::as_str);
                write!(f, "the local socket {}", path.rsplit(['/', '\\']).next().unwrap_or(path))
            }
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Crossing {
    Port(u16),
    Local(Vec<String>),
}

impl Serialize for Endpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Local(LocalSocket(paths)) => Crossing::Local(paths.clone()),
            _ => Crossing::Port(self.port()),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Endpoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Crossing::deserialize(deserializer)? {
            Crossing::Port(port) => Self::Port(port),
            Crossing::Local(paths) => Self::Local(LocalSocket(paths)),
        })
    }
}
