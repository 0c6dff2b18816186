//! The messages that the registry actor receives.

use std::path::PathBuf;
use std::sync::Arc;

use crate::fsm::registry::Timer;
use crate::protocol::dialect::ToolListing;
use crate::protocol::ids::Epoch;
use crate::runtime::mailbox::Permit;
use crate::storage::catalogue_file::{CatalogueFile, Unusable};

/// Messages to the registry.
#[derive(Debug)]
pub enum Message {
    /// The editor of this connection was greeted.
    LinkReady(Epoch),
    /// The connection is not usable any more.
    LinkLost,
    /// The editor's list may have changed.
    ChangeHinted(Option<Permit>),
    /// A list arrived on this connection.
    ListReceived(Epoch, Arc<ToolListing>),
    /// The tool list of this connection could not be read; the text says why.
    ListFailed(Epoch, String),
    /// The wanted project is known, and its catalogue can be read. `None`: there is no project.
    ProjectKnown(Option<PathBuf>),
    /// The catalogue on disk was read, or could not be.
    DiskRead(PathBuf, Result<CatalogueFile, Unusable>),
    /// A timer may be due.
    Timer(Timer),
}
