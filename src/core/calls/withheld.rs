//! An answer that is withheld for a moment.

use tokio::time::Instant;

use crate::protocol::dialect::EditorAnswer;

/// An answer that the client has not had yet.
#[derive(Debug, Clone)]
pub(super) struct Withheld {
    pub(super) answer: EditorAnswer,
    pub(super) since: Instant,
    /// The reload has shown itself: the editor is away, or says that it leaves.
    pub(super) reloading: bool,
}

impl Withheld {
    /// What decides when it is told.
    pub(super) fn is_reloading(&self) -> bool {
        self.reloading
    }
}
