//! The messages of all actors. They are below the actors, so that each actor can send to each other without importing it.

pub mod bridge;
pub mod discovery;
pub mod push;
pub mod registry;
pub mod session;
