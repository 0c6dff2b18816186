//! An answer that is withheld because a domain reload may follow it.

use std::hash::{Hash, Hasher};

use tokio::time::Instant;

use crate::protocol::dialect::EditorAnswer;

/// An answer that the client does not have yet.
#[derive(Debug, Clone)]
pub(super) struct Withheld {
    pub(super) answer: EditorAnswer,
    pub(super) since: Instant,
    /// Whether the reload is visible: the editor is away, or has announced that it leaves.
    pub(super) reloading: bool,
}

/// As for the [`Ledger`](super::Ledger).
impl Hash for Withheld {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        // What the tool said decides nothing.
        let Self { answer: EditorAnswer { is_error, body: _ }, since, reloading } = self;
        (is_error, since, reloading).hash(hasher);
    }
}
