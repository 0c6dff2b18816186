//! The real binary against a real fake editor under real faults: signals, sockets cut at chosen bytes, pipes that end or fill.
//!
//! Everything is watched from outside. A small MCP client ([`client`]) holds every line of stdout against JSON-RPC and every id
//! against "answered once"; the fake editor ([`unity`]) writes each run of its `count` tool to a file before it replies, so that
//! a call that ran twice leaves two lines; a proxy ([`proxy`]) between the two cuts, withholds or forges single messages.
//!
//! Ports are the system's choice, homes and projects are temporary, and only processes that a test started are ended.

#![expect(
    clippy::disallowed_methods,
    reason = "processes are watched from outside, in real time, on the threads of the tests"
)]

pub mod client;
mod proxy;
pub mod room;
mod system;
pub mod unity;

mod audit;
mod cuts;
mod ends;
mod finding;
mod floods;
#[cfg(unix)]
mod limits;
mod losses;
mod metrics;
mod openings;
mod requests;
mod secrets;
#[cfg(unix)]
mod stdio;
mod storms;
#[cfg(unix)]
mod watch;

use room::{GOES, Room, SOON, once_within, until};

/// The binary under test.
const HOLDFAST: &str = env!("CARGO_BIN_EXE_holdfast");

fn holdfast() -> &'static std::ffi::OsStr {
    HOLDFAST.as_ref()
}
