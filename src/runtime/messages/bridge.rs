//! What the bridge receives, and what it hears of its connection.

use std::sync::Arc;
use std::time::Duration;

use crate::fsm::bridge::{ConnectFailure, Drop, Timer};
use crate::protocol::dialect::{JournalKey, LeaveReason, PushEvent};
use crate::protocol::ids::Epoch;
use crate::runtime::mailbox::Permit;
use crate::survey::{Identity, Survey};

/// What the bridge hears of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// It is up, and the peer may be called.
    Connected(Identity),
    /// It never was.
    ConnectFailed(ConnectFailure),
    /// The greeting was answered rightly.
    Greeted {
        /// Calls that the editor takes at once.
        window: u8,
        /// It answers for itself off its main thread.
        pulse: bool,
        /// The domain it is in, if it tells ([`Met::domain`](crate::protocol::dialect::Met::domain)).
        domain: Option<u64>,
    },
    /// The greeting was answered wrongly.
    GreetingRefused,
    /// The list is published.
    ListAnswered,
    /// There is none to be had now.
    ListFailed,
    /// A call was claimed: its bytes leave now.
    CallSent {
        /// How long it may run before its client is told that it still does.
        running_max: Duration,
    },
    /// A call's place is free.
    WorkFinished {
        /// More calls wait.
        more: bool,
    },
    /// Bytes came, but no whole message yet.
    BytesArrived,
    /// The editor said how it is.
    PulseArrived,
    /// The editor says goodbye.
    Leaving(LeaveReason),
    /// It ended.
    Ended(Drop),
}

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
    /// The connection of this epoch says something.
    News(Epoch, News, Option<Permit>),
    /// A call was put into the ledger.
    CallsWaiting,
    /// The registry wants a fresh list.
    ListWanted,
    /// A list that came, or was on its way to the registry, may be lost with it.
    ListLost,
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
