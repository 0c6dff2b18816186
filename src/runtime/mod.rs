//! What the actors stand on: supervision, addresses that outlive a restart, bounded mailboxes, timers, and the messages of all actors.

pub mod mailbox;
pub mod messages;
pub mod outbox;
pub mod slot;
pub mod supervisor;
pub mod timed;
pub mod timers;
