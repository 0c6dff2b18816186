//! The messages that the attachment actor receives: mostly news of its connection to the hub.

use std::sync::Arc;

use tokio::sync::{Notify, mpsc};

use crate::fsm::attachment::Timer;
use crate::platform::local_socket::Peer;
use crate::protocol::hub::{Refusal, Welcome};

/// The messages. `nth` is the number of a connection.
#[derive(Debug)]
pub enum Message {
    /// The hub took the session.
    Welcomed {
        nth: u64,
        /// What the hub says of itself.
        welcome: Welcome,
        peer: Option<Peer>,
        /// Takes lines for the hub, without line ends.
        lines: mpsc::Sender<String>,
        /// Notified if the hub does not read as many lines as may wait for it.
        overrun: Arc<Notify>,
    },
    /// No connection was made.
    Failed { nth: u64, why: NoAttachment },
    /// The connection ended.
    Closed { nth: u64 },
    /// No hub can be started by this process.
    NotStarted,
    /// A hub that this process started has ended.
    StartedEnded {
        pid: u32,
        /// Whether it ended without a failure, for example because another hub runs.
        well: bool,
    },
    /// The client sends nothing more.
    InputEnded,
    /// A timer may be due.
    Timer(Timer),
}

/// Why a session is not attached to a hub.
#[derive(Debug)]
pub enum NoAttachment {
    /// Nothing accepts connections.
    NoHub,
    /// The hub did not take the session.
    Refused(Refusal),
    /// The hub may not be used, or cannot be reached: a sentence for the log.
    Unusable(String),
    /// The hub accepted the connection and did not answer in time. The value is its process, if that is known.
    Unanswered(Option<Peer>),
}
