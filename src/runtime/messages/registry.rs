//! What the registry receives.

use std::path::PathBuf;

use ractor::ActorRef;

use super::bridge;
use crate::fsm::bridge::Event;
use crate::fsm::registry::Timer;
use crate::protocol::ids::Epoch;
use crate::runtime::mailbox::Permit;
use crate::storage::catalogue_file::{CatalogueFile, Unusable};

/// Tells the bridge that a list is over when this is dropped: behind what the registry made of the list, and also if no registry
/// lives to handle it.
#[derive(Debug)]
pub struct ListIsOver {
    bridge: ActorRef<bridge::Message>,
    epoch: Epoch,
    event: Event,
}

impl ListIsOver {
    /// `event` is what the bridge is told of this connection's list.
    pub fn new(bridge: ActorRef<bridge::Message>, epoch: Epoch, event: Event) -> Self {
        Self { bridge, epoch, event }
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
    /// A list came on this connection, and is published if it is of the wanted project.
    ListReceived(Epoch, ListIsOver),
    /// No list came.
    ListFailed(Epoch, String, ListIsOver),
    /// The project is known, and its catalogue can be read; or there is none.
    ProjectKnown(Option<PathBuf>),
    /// The catalogue on disk was read, or cannot be.
    DiskRead(PathBuf, Result<CatalogueFile, Unusable>),
    /// A timer may be due.
    Timer(Timer),
}
