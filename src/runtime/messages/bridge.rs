//! What the bridge receives.

use std::sync::Arc;

use crate::fsm::bridge::{Event, Timer};
use crate::protocol::dialect::{JournalKey, PushEvent};
use crate::protocol::ids::Epoch;
use crate::runtime::mailbox::Permit;
use crate::survey::Survey;

/// What the bridge receives.
#[derive(Debug)]
pub enum Message {
    /// Somebody needs the editor.
    Wanted,
    /// Discovery looked around and offers its targets.
    Offered(Arc<Survey>),
    /// Discovery looked around and has none.
    NothingOffered(Arc<Survey>),
    /// Which project is wanted is in question, or settled anew.
    ProjectMoved,
    /// Discovery has good news: do not wait any longer.
    GoodNews,
    /// What happened on the connection of this epoch.
    Heard(Epoch, Event, Option<Permit>),
    /// A call was put into the ledger.
    CallsWaiting,
    /// The registry wants a fresh list.
    ListWanted,
    /// The push channel said something.
    Hint(PushEvent),
    /// The probe for this file ended.
    ProbeEnded(String),
    /// The editor has a call that nobody waits for any more.
    Withdrawn(JournalKey),
    /// No client waits for what was sent on this epoch's connection.
    NobodyWaits(Epoch),
    /// The task of this epoch's connection panicked.
    ConnectionFailed(Epoch),
    /// The editor's process of this epoch is gone.
    EditorVanished(Epoch),
    /// A timer may be due.
    Timer(Timer),
    /// The gateway stops.
    Stop,
}
