//! What the registry receives.

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

/// Tells the bridge when this is dropped that a list is over: behind what the registry wants next, and also if no registry lives to
/// handle it. Until it is published, no list was learned.
#[derive(Debug)]
pub struct ListIsOver {
    bridge: ActorRef<bridge::Message>,
    epoch: Epoch,
    event: Event,
}

impl ListIsOver {
    /// Of the list on this connection.
    pub fn new(bridge: ActorRef<bridge::Message>, epoch: Epoch) -> Self {
        Self { bridge, epoch, event: Event::ListLost }
    }

    /// The list is published: calls may be looked up in it.
    pub fn is_published(mut self) {
        self.event = Event::ListAnswered;
    }
}

impl Drop for ListIsOver {
    fn drop(&mut self) {
        let _ = self.bridge.cast(bridge::Message::Heard(self.epoch, self.event, None));
    }
}

/// What the registry receives.
#[derive(Debug)]
pub enum Message {
    /// The editor of this connection was greeted.
    LinkReady(Epoch),
    /// The connection is not usable any more.
    LinkLost,
    /// The editor's list may have changed.
    ChangeHinted(Option<Permit>),
    /// A list came on this connection.
    ListReceived(Epoch, Arc<ToolListing>, ListIsOver),
    /// No list came.
    ListFailed(Epoch, String, ListIsOver),
    /// The project is known, and its catalogue can be read; or there is none.
    ProjectKnown(Option<PathBuf>),
    /// The catalogue on disk was read, or cannot be.
    DiskRead(PathBuf, Result<CatalogueFile, Unusable>),
    /// A timer may be due.
    Timer(Timer),
}
