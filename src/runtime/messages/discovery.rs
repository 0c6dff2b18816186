//! The messages that the discovery actor receives.

use std::sync::Arc;

use crate::fsm::discovery::Timer;
use crate::survey::Survey;

/// Messages to the discovery actor.
#[derive(Debug)]
pub enum Message {
    /// The bridge asks for targets.
    Wanted,
    /// The client was asked for its roots.
    RootsAsked,
    /// The client has answered the request for its roots, or did not answer in time.
    RootsKept,
    /// The client named other roots.
    RootsHinted,
    /// A watched file changed.
    FilesChanged,
    /// A survey ended: its number, the generation of the roots that it was made with, and its result.
    Surveyed(u64, u64, Arc<Survey>),
    /// A timer may be due.
    Timer(Timer),
    /// The gateway stops.
    Stop,
}
