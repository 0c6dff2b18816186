//! The messages that the bridge actor receives.

use std::sync::Arc;

use crate::fsm::bridge::{Event, Timer};
use crate::protocol::dialect::PushEvent;
use crate::protocol::ids::Epoch;
use crate::runtime::mailbox::Permit;
use crate::survey::Survey;

/// Messages to the bridge.
#[derive(Debug)]
pub enum Message {
    /// The editor is needed, so the bridge must connect.
    Wanted,
    /// A survey found targets.
    Offered(Arc<Survey>),
    /// A survey found no targets.
    NothingOffered(Arc<Survey>),
    /// Which project is wanted has changed, has become unknown, or is known again.
    ProjectMoved,
    /// A file changed, so an editor may be there: dial now.
    GoodNews,
    /// An event on the connection of this epoch.
    Heard(Epoch, Event, Option<Permit>),
    /// A call was put into the ledger while no connection is up.
    CallsWaiting,
    /// The editor sent this message on the push channel.
    Hint(PushEvent),
    /// The probe for this result file ended.
    ProbeEnded(String),
    /// No client waits for what was sent on this epoch's connection.
    NobodyWaits(Epoch),
    /// The task of this epoch's connection panicked.
    ConnectionFailed(Epoch),
    /// The editor's process of this epoch has ended.
    EditorVanished(Epoch),
    /// A timer may be due.
    Timer(Timer),
    /// The gateway stops.
    Stop,
}
