//! The shells around the machines: actors that receive, feed a machine, and carry out its effects.
//!
//! Actors send messages without waiting for a reply (`cast`). No handler awaits another actor, a socket or stdout: tasks do. The
//! tasks of a running actor belong to its spec's [`Tasks`](crate::runtime::supervisor::Tasks); what must outlive the actor is in
//! the [`Parts`](parts::Parts).

pub mod attachment;
pub mod bridge;
pub mod connection;
pub mod discovery;
pub mod editors;
pub mod gateway;
pub mod gateway_tools;
pub mod instance_keeper;
pub mod intake;
pub mod package_tools;
pub mod parts;
pub mod port;
pub mod probe;
pub mod push;
pub mod registry;
pub mod safe_mode;
pub mod seat;
pub mod session;
