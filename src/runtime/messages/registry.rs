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

/// Tells the bridge, when it is dropped, that a list has ended: after the registry's own orders, and also if no registry runs to
/// handle the list. The event is `ListLost` unless [`is_published`](Self::is_published) was called.
#[derive(Debug)]
pub struct ListIsOver {
    bridge: ActorRef<bridge::Message>,
    epoch: Epoch,
    event: Event,
}

impl ListIsOver {
    /// For the list of this connection.
    pub fn new(bridge: ActorRef<bridge::Message>, epoch: Epoch) -> Self {
        Self { bridge, epoch, event: Event::ListLost }
    }

    /// The list is published: calls can be looked up in it.
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
    /// The list could not be read; the text tells why.
    ListFailed(Epoch, String, ListIsOver),
    /// The wanted project is known, and its catalogue can be read; `None`: there is none.
    ProjectKnown(Option<PathBuf>),
    /// The catalogue on disk was read, or could not be.
    DiskRead(PathBuf, Result<CatalogueFile, Unusable>),
    /// A timer may be due.
    Timer(Timer),
}
