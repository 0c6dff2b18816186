//! What a service takes.

/// What a service takes.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Its largest body; `None`: it reads no bodies.
    pub body_max: Option<usize>,
    /// Requests of web pages, which name their origin, are taken.
    pub pages: bool,
    /// How many connections it has at once.
    pub connections_max: usize,
    /// What happens to those beyond that number.
    pub beyond: Beyond,
}

/// What happens to one connection too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// It is told to come again.
    Refused,
    /// It waits in the listener's own queue.
    Waits,
}
