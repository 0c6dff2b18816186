//! The messages of all actors. They stand below the actors, so that each can send to each without importing it.

pub mod bridge;
pub mod discovery;
pub mod push;
pub mod registry;
pub mod session;
