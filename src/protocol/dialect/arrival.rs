//! Editors that connect to us: what they say until it is known whose they are.

use bytes::Bytes;

use super::BadMessage;

/// Reads the first words of one peer that has connected to us.
pub trait Reception: Send + Sync {
    /// Takes the next bytes of the peer.
    ///
    /// # Errors
    /// [`BadMessage`]: no editor of this package speaks like that.
    fn hear(&mut self, bytes: &[u8]) -> Result<Heard, BadMessage>;
    /// Returns what a peer is told before its connection is closed.
    fn turn_away(&self, why: &str) -> Bytes;
    /// Whether an editor that is turned away connects again at once, without an end. It is kept waiting instead.
    fn waits(&self) -> bool {
        false
    }
}

/// What a peer's first words come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// It has not said yet whose editor it is. It is told this meanwhile; may be empty.
    NotYet(Bytes),
    /// It has said whose editor it is.
    Introduced(Introduction),
}

/// What an editor says of itself when it connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Introduction {
    /// The root of the project that it has open, as it spells that.
    pub project: String,
    /// The bytes that came after these words.
    pub rest: Bytes,
}
