//! The messages that the discovery actor receives.

use std::sync::Arc;

use crate::fsm::discovery::Timer;
use crate::survey::Survey;

/// Messages to the discovery actor.
#[derive(Debug)]
pub enum Message {
    /// The bridge asks for targets.
    Wanted,
    /// A watched file changed.
    FilesChanged,
    /// A survey ended: its number, and its result.
    Surveyed(u64, Arc<Survey>),
    /// A timer may be due.
    Timer(Timer),
    /// The gateway stops.
    Stop,
}
