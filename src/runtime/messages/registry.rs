//! The messages that the registry actor receives.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::fsm::registry::Timer;
use crate::protocol::dialect::ToolListing;
use crate::protocol::ids::Epoch;
use crate::runtime::mailbox::Permit;
use crate::storage::catalogue_file::{CatalogueFile, Unusable};

/// Frees the place of a tool list at the editor when it is dropped. That is after what the registry does with the list, and it
/// happens also if no registry runs. The list counts as lost unless [`is_published`](Self::is_published) was called.
pub struct ListIsOver {
    free: Option<Box<dyn FnOnce(bool) + Send + Sync>>,
    published: bool,
}

impl fmt::Debug for ListIsOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListIsOver").field("published", &self.published).finish_non_exhaustive()
    }
}

impl ListIsOver {
    /// Creates the value for one list. `free` is told whether the list was published.
    pub fn new(free: impl FnOnce(bool) + Send + Sync + 'static) -> Self {
        Self { free: Some(Box::new(free)), published: false }
    }

    /// Marks the list as published: the tools of calls can be looked up in it.
    pub fn is_published(mut self) {
        self.published = true;
    }
}

impl Drop for ListIsOver {
    fn drop(&mut self) {
        if let Some(free) = self.free.take() {
            free(self.published);
        }
    }
}

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
    ListReceived(Epoch, Arc<ToolListing>, ListIsOver),
    /// The tool list of this connection could not be read; the text says why.
    ListFailed(Epoch, String, ListIsOver),
    /// The wanted project is known, and its catalogue can be read. `None`: there is no project.
    ProjectKnown(Option<PathBuf>),
    /// The catalogue on disk was read, or could not be.
    DiskRead(PathBuf, Result<CatalogueFile, Unusable>),
    /// A timer may be due.
    Timer(Timer),
}
