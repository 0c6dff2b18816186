//! The messages that the actors receive, except for supervisors. They are kept outside of the actors' modules, so that any actor
//! can send to any other without importing it.

pub mod attachment;
pub mod bridge;
pub mod discovery;
pub mod push;
pub mod registry;
pub mod session;
