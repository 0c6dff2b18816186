//! What the events of a link must remember from one event to the next.

use tokio::time::Instant;

/// How strong the signs of a domain reload are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Suspicion {
    /// No sign.
    #[default]
    None,
    /// The connection ended while the editor's process was alive, and its package announces nothing.
    Presumed,
    /// The editor or its files reported a reload.
    Told,
}

/// What the events of a link must remember from one event to the next.
#[derive(Debug, Default)]
pub(super) struct LinkStory {
    /// When the last greeted connection ended; `None` while a greeted connection is open, or before the first one.
    pub(super) lost: Option<Instant>,
    /// How strong the signs are that the outage is a domain reload.
    pub(super) reload: Suspicion,
    /// When the editor accepted the connection that was greeted last.
    pub(super) accepted: Option<Instant>,
    /// When the editor accepted the first connection after a loss. Removed when the first call is sent on it.
    pub(super) back: Option<Instant>,
}
