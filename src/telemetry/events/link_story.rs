//! The state that the events of a link keep from one to the next.

use tokio::time::Instant;

/// How strong the signs of a domain reload are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Suspicion {
    /// No sign.
    #[default]
    None,
    /// The connection ended while the editor's process lives, and its package announces nothing.
    Presumed,
    /// The editor or its files reported a reload.
    Told,
}

/// The state that the events of a link keep from one to the next.
#[derive(Debug, Default)]
pub(super) struct LinkStory {
    /// When the last greeted connection ended; `None` while a greeted one is open.
    pub(super) lost: Option<Instant>,
    /// The signs that this loss is a domain reload.
    pub(super) reload: Suspicion,
    /// When the editor accepted the newest greeted connection.
    pub(super) accepted: Option<Instant>,
    /// When the editor accepted a connection after a loss, until the first call is sent on it.
    pub(super) back: Option<Instant>,
}
