//! What must be remembered from one event of the link to the next.

use tokio::time::Instant;

/// How much speaks for a domain reload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Suspicion {
    /// Nothing.
    #[default]
    None,
    /// The bridge of a package that announces nothing stopped.
    Presumed,
    /// The editor or its files said so.
    Told,
}

/// What must be remembered from one event of the link to the next.
#[derive(Debug, Default)]
pub(super) struct LinkStory {
    /// A greeted connection ended, and no other is greeted yet.
    pub(super) lost: Option<Instant>,
    /// Whether a reload is behind it, as far as is known.
    pub(super) reload: Suspicion,
    /// When the editor accepted the newest connection that was greeted.
    pub(super) accepted: Option<Instant>,
    /// The editor accepted a connection after a loss, and no call has left on it yet.
    pub(super) back: Option<Instant>,
}
