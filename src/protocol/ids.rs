//! Identifier types that the compiler keeps apart.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// The identity of a call, from the client's request to Unity's console and the log: a GUID.
///
/// Made from random bytes that the caller supplies ([`CallId::from_random`]), because this code has no source of randomness.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(Uuid);

impl CallId {
    /// Makes a version 4 GUID from these random bytes.
    pub fn from_random(bytes: [u8; 16]) -> Self {
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }

    /// Parses a GUID in any spelling that the `uuid` crate accepts. White space around the GUID is ignored. `None` if the text is
    /// not one.
    pub fn parse(text: &str) -> Option<Self> {
        Uuid::try_parse(text.trim()).ok().map(Self)
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl Serialize for CallId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CallId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("not a GUID"))
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The number of one client's session in this process. A number is never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct SessionId(pub u32);

impl SessionId {
    /// The session over stdin and stdout.
    pub const STDIO: Self = Self(0);
    /// The first session of a message that came alone ([`is_post`](Self::is_post)). When all numbers of such sessions
    /// are used up, which takes weeks of the highest load, they begin again. Numbers that are still in use are left
    /// out.
    pub const FIRST_POST: Self = Self(1 << 31);
    /// Requests of an earlier hub, whose sessions have not come to this one.
    pub const RECOVERED: Self = Self(u32::MAX - 1);
    /// Requests of the documented HTTP API (guests). These requests belong to no client, and their answers leave over
    /// that API.
    pub const GUESTS: Self = Self(u32::MAX);

    /// Returns the session for the order of turns. Messages that came alone share one turn, because one client sends
    /// many of them.
    pub fn turn(self) -> Self {
        if self.is_post() { Self::FIRST_POST } else { self }
    }

    /// Whether the session is for one message that came alone, as over HTTP.
    pub fn is_post(self) -> bool {
        (Self::FIRST_POST..Self::RECOVERED).contains(&self)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of one link to an editor in this process. A number is never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkId(pub u32);

impl LinkId {
    /// The link that exists from the start of the process.
    pub const FIRST: Self = Self(0);
}

/// The key of one open request of a client.
///
/// A client may use a request id again after that request was cancelled or answered, but a key is never used again. So an answer
/// or a progress report cannot reach a later request with the same id, nor a request of another session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestKey {
    /// The session that sent the request and gets the answer.
    pub session: SessionId,
    /// The number of the request in that session.
    pub number: u64,
}

impl RequestKey {
    /// Makes the key of the request with this number in this session.
    pub const fn new(session: SessionId, number: u64) -> Self {
        Self { session, number }
    }
}

/// The number of one connection to an editor. It rises during the life of the process. A frame, claim or write of one epoch never
/// affects a call of another epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
