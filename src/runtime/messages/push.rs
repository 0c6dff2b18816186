//! The messages that the push actor receives.

use std::sync::Arc;

use crate::fsm::push::Timer;
use crate::net::Listener;
use crate::protocol::dialect::PushEvent;
use crate::runtime::mailbox::Permit;

/// Messages to the push actor.
pub enum Message {
    /// The listener is bound, or could not be bound.
    Bound(std::io::Result<Arc<dyn Listener>>),
    /// A socket was accepted.
    Attached,
    /// A socket ended.
    Detached,
    /// A message was read on a socket.
    Hint(PushEvent, Option<Permit>),
    /// This many messages of the editor did not arrive: their sequence numbers are missing.
    Missed(u64, Option<Permit>),
    /// A timer may be due.
    Timer(Timer),
    /// The gateway stops.
    Stop,
}

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Bound(_) => "Bound",
            Self::Attached => "Attached",
            Self::Detached => "Detached",
            Self::Hint(..) => "Hint",
            Self::Missed(..) => "Missed",
            Self::Timer(_) => "Timer",
            Self::Stop => "Stop",
        })
    }
}
