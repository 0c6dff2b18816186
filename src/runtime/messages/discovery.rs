//! What the discovery actor receives.

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
    /// The client has answered, or did not in time.
    RootsKept,
    /// The client named other roots.
    RootsHinted,
    /// A watched file changed.
    FilesChanged,
    /// The survey of this number, made with the roots of this generation, ended.
    Surveyed(u64, u64, Arc<Survey>),
    /// A timer may be due.
    Timer(Timer),
    /// The gateway stops.
    Stop,
}
