//! The requests that a service accepts.

use std::time::Duration;

/// The requests that a service accepts.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// The size of the largest body in bytes; `None` if bodies are not read.
    pub body_max: Option<usize>,
    /// Whether requests that a web page sent (they have an `Origin` header) are accepted.
    pub pages: bool,
    pub connections_max: usize,
    /// What happens to connections beyond the highest number.
    pub beyond: Beyond,
    pub lasting: Lasting,
}

/// What happens to a connection beyond the highest number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// The connection is refused, with an answer that says so.
    Refused,
    /// The connection is not accepted yet, and waits in the listener's queue.
    Waits,
}

#[derive(Debug, Clone, Copy)]
pub enum Lasting {
    /// The connection ends with its first answer. A body must have a `Content-Length`.
    Once,
    /// The connection is kept for further requests, and an answer may be a stream. A connection beyond the highest
    /// number takes the place of a connection on which no request is open, if there is one.
    Kept(Kept),
}

/// The bounds of kept connections.
#[derive(Debug, Clone, Copy)]
pub struct Kept {
    pub idle_max: Duration,
    /// How long the body of a request may take to arrive.
    pub body_time_max: Duration,
    /// How long a client may read nothing of an answer.
    pub stall_max: Duration,
    /// Bytes of all bodies of requests that are not answered.
    pub bodies_max_bytes: usize,
}

impl Lasting {
    /// Returns the bounds of kept connections; `None` if connections are not kept.
    pub fn kept(self) -> Option<Kept> {
        match self {
            Self::Once => None,
            Self::Kept(kept) => Some(kept),
        }
    }
}
