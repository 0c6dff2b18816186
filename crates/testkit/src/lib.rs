//! What the tests of holdfast are built on; nothing of it is shipped. It depends on the gateway. The gateway's own unit tests
//! cannot use it, since it would see another copy of the gateway's types.
//!
//! [`checker`] checks a [`history`] against the promises. [`net`] and [`host`] are a network and a machine in memory.
//! [`sabotage`] makes the gateway's actors fail as planned. [`process`] is the harness around the real binary.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

pub mod checker;
pub mod history;
pub mod host;
pub mod net;
pub mod process;
pub mod sabotage;
