//! What the registry receives.

use std::path::PathBuf;

use crate::fsm::registry::Timer;
use crate::protocol::ids::Epoch;
use crate::runtime::mailbox::Permit;
use crate::storage::catalogue_file::{CatalogueFile, Unusable};

/// What the registry receives.
#[derive(Debug)]
pub enum Message {
    /// The editor of this connection was greeted.
    LinkReady(Epoch),
    /// The connection is not usable any more.
    LinkLost,
    /// The editor's list may have changed.
    ChangeHinted(Option<Permit>),
    /// A list came on this connection, and is published if it is of the wanted project.
    ListReceived(Epoch),
    /// No list came.
    ListFailed(Epoch, String),
    /// The project is known, and its catalogue can be read; or there is none.
    ProjectKnown(Option<PathBuf>),
    /// The catalogue on disk was read, or cannot be.
    DiskRead(PathBuf, Result<CatalogueFile, Unusable>),
    /// A timer may be due.
    Timer(Timer),
}
