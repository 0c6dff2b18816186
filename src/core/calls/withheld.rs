//! An answer that is withheld because a domain reload may follow it.

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

impl Withheld {
    /// Whether the reload is visible, which decides how long the answer is withheld.
    pub(super) fn is_reloading(&self) -> bool {
        self.reloading
    }
}
