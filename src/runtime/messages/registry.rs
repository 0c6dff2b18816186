//! The messages that the registry actor receives.

use std::path::PathBuf;
use std::sync::Arc;

use ractor::ActorRef;

use super::bridge;
use crate::fsm::bridge::Event;
use crate::fsm::registry::Timer;
use crate::protocol::dialect::ToolListing;
use crate::protocol::ids::Epoch;
use crate::runtime::mailbox::Permit;
use crate::storage::catalogue_file::{CatalogueFile, Unusable};

/// Sends the bridge, when it is dropped, the event that a tool list has been dealt with. That is after what the registry does
/// with the list, and it happens also if no registry runs. The event is `ListLost` unless [`is_published`](Self::is_published)
/// was called.
#[derive(Debug)]
pub struct ListIsOver {
    bridge: ActorRef<bridge::Message>,
    epoch: Epoch,
    event: Event,
}

impl ListIsOver {
    /// Creates the value for the list of the connection with this epoch.
    pub fn new(bridge: ActorRef<bridge::Message>, epoch: Epoch) -> Self {
        Self { bridge, epoch, event: Event::ListLost }
    }

    /// Marks the list as published: the tools of calls can be looked up in it. Sends the event `ListAnswered`.
    pub fn is_published(mut self) {
        self.event = Event::ListAnswered;
    }
}

impl Drop for ListIsOver {
    fn drop(&mut self) {
        let _ = self.bridge.cast(bridge::Message::Heard(self.epoch, self.event, None));
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
