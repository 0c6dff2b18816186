//! The requests that a service accepts.

/// The requests that a service accepts.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// The size of the largest body in bytes; `None` if bodies are not read.
    pub body_max: Option<usize>,
    /// Whether requests that a web page sent (they have an `Origin` header) are accepted.
    pub pages: bool,
    /// The highest number of connections at once.
    pub connections_max: usize,
    /// What happens to connections beyond that number.
    pub beyond: Beyond,
}

/// What happens to a connection beyond the highest number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// It is refused, with an answer that says so.
    Refused,
    /// It is not accepted yet, and waits in the listener's queue.
    Waits,
}
