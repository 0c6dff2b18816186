//! Identifiers that are never mixed up.

use std::fmt;

use uuid::Uuid;

/// A call's identity from the client's request to Unity's console and the log: a GUID.
///
/// Made from random bytes that the shell supplies ([`CallId::from_random`]); the pure layers have no randomness of their own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(Uuid);

impl CallId {
    /// A version 4 GUID of these random bytes.
    pub fn from_random(bytes: [u8; 16]) -> Self {
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }

    /// Reads a GUID in any of its usual spellings.
    pub fn parse(text: &str) -> Option<Self> {
        Uuid::try_parse(text.trim()).ok().map(Self)
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One client's session, of those that this process has. A number is never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct SessionId(pub u32);

impl SessionId {
    /// The session over stdin and stdout.
    pub const STDIO: Self = Self(0);
    /// Requests of the documented HTTP API: no client's, and answered there.
    pub const GUESTS: Self = Self(u32::MAX);
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One link to an editor, of those that this process has. A number is never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkId(pub u32);

impl LinkId {
    /// The link that is there from the start.
    pub const FIRST: Self = Self(0);
}

/// One opening of a client's request.
///
/// A client may use an id again once the request that had it is cancelled or answered; a key is never used again. So whoever
/// answers, reports progress or asks about a request means that request and not the next one with its id, nor another session's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestKey {
    /// The session that it came in on: its answer leaves there.
    pub session: SessionId,
    /// Its number there.
    pub number: u64,
}

impl RequestKey {
    /// The request of this number in this session.
    pub const fn new(session: SessionId, number: u64) -> Self {
        Self { session, number }
    }
}

/// The number of one connection to an editor, rising over the life of the process. A frame, claim or write of one epoch
/// can never touch a call of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
