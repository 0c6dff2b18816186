//! What the bridge receives.

use std::sync::Arc;

use crate::fsm::bridge::{Event, Timer};
use crate::protocol::dialect::{JournalKey, PushEvent};
use crate::protocol::ids::Epoch;
use crate::runtime::mailbox::Permit;
use crate::survey::Survey;

/// Messages to the bridge.
#[derive(Debug)]
pub enum Message {
    /// Somebody needs the editor.
    Wanted,
    /// A survey found targets.
    Offered(Arc<Survey>),
    /// A survey found no targets.
    NothingOffered(Arc<Survey>),
    /// The wanted project is in question, or is known again.
    ProjectMoved,
    /// A file changed, so an editor may be there: dial now.
    GoodNews,
    /// An event on the connection of this epoch.
    Heard(Epoch, Event, Option<Permit>),
    /// A call was put into the ledger.
    CallsWaiting,
    /// The registry wants a fresh list.
    ListWanted,
    /// A message of the push channel.
    Hint(PushEvent),
    /// The probe for this file ended.
    ProbeEnded(String),
    /// The editor has a call that no client waits for any more.
    Withdrawn(JournalKey),
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
