//! The real binary with a real fake editor and real faults: signals, sockets that are cut at chosen bytes, pipes that end or
//! fill up.
//!
//! The harness is [`holdfast_testkit::process`]. Its client checks that every line of stdout is valid JSON-RPC, and that
//! every id is answered once.

#![expect(
    clippy::disallowed_methods,
    reason = "processes are watched from outside, in real time, on the threads of the tests"
)]

pub mod room;

mod audit;
mod cuts;
mod ends;
mod finding;
mod floods;
mod http;
#[cfg(target_os = "linux")]
mod hub;
mod hub_metrics;
#[cfg(target_os = "linux")]
mod hub_owners;
#[cfg(target_os = "linux")]
mod killed_both;
#[cfg(unix)]
mod limits;
mod logs;
mod losses;
mod metrics;
mod openings;
#[cfg(unix)]
mod port;
mod requests;
mod restart;
#[cfg(target_os = "linux")]
mod results;
mod secrets;
mod several;
#[cfg(unix)]
mod stdio;
mod storms;
#[cfg(target_os = "linux")]
mod takeovers;
#[cfg(unix)]
mod watch;

pub use holdfast_testkit::process::{client, unity};
use holdfast_testkit::process::{proxy, system};
use room::{GOES, Room, SOON, once_within, until};

/// The binary under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_holdfast");

fn program() -> &'static std::ffi::OsStr {
    PROGRAM.as_ref()
}
