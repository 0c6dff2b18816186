//! The shells: receive, feed the machine, carry out its effects.
//!
//! Actors cast; no handler awaits another actor, a socket or stdout: tasks do. What an incarnation spawns lies in its spec's
//! [`Tasks`](crate::runtime::supervisor::Tasks), what must outlive it in the
//! [`Parts`](parts::Parts) that it is given.

pub mod bridge;
pub mod connection;
pub mod discovery;
pub mod gateway;
pub mod gateway_tools;
pub mod instance_keeper;
pub mod package_tools;
pub mod parts;
pub mod probe;
pub mod push;
pub mod registry;
pub mod seat;
pub mod session;
