//! The messages that the actors receive, except for supervisors, and the addresses of a link's actors. They are kept outside of the
//! actors' modules, so that any actor can send to any other without importing it.

use super::slot::{Mailbox, Slot};

pub mod attachment;
pub mod session;

/// The addresses of the actors of one link, and the limits of their mailboxes.
#[derive(Debug, Default)]
pub struct Addresses {
    pub discovery: Slot<discovery::Message>,
    pub bridge: Slot<bridge::Message>,
    pub push: Slot<push::Message>,
    pub registry: Slot<registry::Message>,
    pub mailboxes: Mailboxes,
}

#[derive(Debug, Default)]
pub struct Mailboxes {
    /// The limit for messages of the editor's connection to the bridge and to the registry.
    pub bridge: Mailbox,
    /// The limit for messages of push sockets to the push actor.
    pub push: Mailbox,
}

pub mod bridge {
    use std::sync::Arc;

    pub use crate::fsm::bridge::Event;
    use crate::fsm::bridge::Timer;
    use crate::protocol::ids::{CallId, Epoch};
    use crate::runtime::slot::Permit;
    use crate::survey::Survey;

    #[derive(Debug)]
    pub enum Message {
        /// News from other parts: the editor is needed, calls wait, a hint came, the link stops.
        Told(Event),
        /// A survey has ended. `news`: it found targets, and a file had changed. So an editor may be there, and the
        /// bridge dials now.
        Offered { survey: Arc<Survey>, news: bool },
        /// Another project is wanted, or it is unknown which one, or the wanted project is known again.
        ProjectMoved,
        /// An event on the connection of this epoch.
        Heard(Epoch, Event, Option<Permit>),
        /// A call has no answer, and a file may tell how it ends.
        OutcomeOpen,
        /// The probe for this result file ended.
        ProbeEnded(CallId, String),
        /// The task of this epoch's connection panicked.
        ConnectionFailed(Epoch),
        /// A timer may be due.
        Timer(Timer),
    }
}

pub mod discovery {
    use std::sync::Arc;

    pub use crate::fsm::discovery::Event;
    use crate::fsm::discovery::Timer;
    use crate::survey::Survey;

    /// Messages to the discovery actor.
    #[derive(Debug)]
    pub enum Message {
        /// The bridge asks for targets, or a watched file changed.
        Told(Event),
        /// A survey ended: its number, and its result.
        Surveyed(u64, Arc<Survey>),
        /// A timer may be due.
        Timer(Timer),
    }
}

pub mod push {
    use std::sync::Arc;

    use crate::fsm::push::Timer;
    use crate::net::Listener;
    use crate::protocol::dialect::PushEvent;
    use crate::runtime::slot::Permit;

    /// Messages to the push actor.
    pub enum Message {
        Bound(std::io::Result<Arc<dyn Listener>>),
        /// A message was read on a socket.
        Hint(PushEvent, Option<Permit>),
        /// This many messages of the editor did not arrive: their sequence numbers are missing.
        Missed(u64, Option<Permit>),
        /// A timer may be due.
        Timer(Timer),
    }
}

pub mod registry {
    use std::path::PathBuf;
    use std::sync::Arc;

    use crate::fsm::registry::Timer;
    use crate::protocol::dialect::ToolListing;
    use crate::protocol::ids::Epoch;
    use crate::runtime::slot::Permit;
    use crate::storage::catalogue_file::{CatalogueFile, Unusable};

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
        DiskRead(PathBuf, Result<CatalogueFile, Unusable>),
        /// A timer may be due.
        Timer(Timer),
    }
}
