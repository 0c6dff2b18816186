//! What the tests of holdfast are built on; none of it is shipped. This crate depends on the gateway's crate. The gateway's own
//! unit tests cannot use it, because they would see its types as those of a second copy of the gateway.
//!
//! [`agent_task`] is an everyday task of an agent, call by call, and [`editor_tasks`] and [`ui_task`] are more of them. [`checker`] checks a [`history`] against the promises. [`net`] and [`host`] are a network and a machine in memory.
//! [`http`] is a client of
//! MCP over HTTP. [`sabotage`] makes the gateway's actors fail as planned. [`process`] is the harness around the real binary.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

pub mod agent_task;
pub mod checker;
pub mod editor_tasks;
pub mod facts;
pub mod history;
pub mod host;
pub mod http;
pub mod net;
pub mod process;
pub mod sabotage;
pub mod ui_task;
