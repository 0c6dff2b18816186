//! What the tests of holdfast stand on, and nothing that is shipped. It knows the gateway; the gateway's own unit tests cannot use
//! it, as they see another copy of the gateway's types.
//!
//! [`checker`] holds a [`history`] against the promises. [`net`] and [`host`] are a network and a machine in memory. [`sabotage`] makes the gateway's actors fail on a plan.
//! [`process`] is the harness around the real binary.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

pub mod checker;
pub mod history;
pub mod host;
pub mod net;
pub mod process;
pub mod sabotage;
