//! The harness around real processes: the real binary, a real fake editor, and proxies between them.
//!
//! Everything is observed from outside. [`client`] starts a gateway and is its client. [`unity`] starts a fake editor, which
//! writes each run of its `count` tool to a file before it replies, so that a call that ran twice leaves two lines. [`proxy`]
//! cuts, withholds or forges single messages between gateway and editor. [`shaper`] makes the network between them slow.
//! [`hub`] starts a hub that serves MCP over
//! HTTP. [`mod@room`] is the folder of one test. [`system`] returns what the operating system reports about a process.
//!
//! The operating system chooses the ports. Homes and projects are temporary. Tests end only processes that they started.

#![allow(clippy::disallowed_types, reason = "proxies are programs outside the runtime")]
#![expect(
    clippy::disallowed_methods,
    reason = "processes are watched from outside, in real time, on the threads of the tests"
)]

pub mod client;
pub mod hub;
pub mod proxy;
pub mod room;
pub mod shaper;
pub mod system;
pub mod unity;
