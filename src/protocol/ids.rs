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

/// One opening of a client's request.
///
/// A client may use an id again once the request that had it is cancelled or answered; a key is never used again. So whoever
/// answers, reports progress or asks about a request means that request and not the next one with its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestKey(pub u64);

/// The number of one connection to an editor, rising over the life of the process. A frame, claim or write of one epoch
/// can never touch a call of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
