//! Fault tests with real processes: the real gateway, and a fake editor that is killed, starved, slowed and restarted.
//!
//! The harness is [`holdfast_testkit::process`]. These tests add repetition, the faults of a bad network, and the faults of a
//! machine that lacks a resource. Every scenario writes a [`chaos_tests::record::Record`].

#![allow(clippy::disallowed_types, reason = "thieves and shapers of connections are programs outside the runtime")]
#![expect(
    clippy::disallowed_methods,
    reason = "processes are watched from outside, in real time, on the threads of the tests"
)]

mod cycles;
mod exits;
mod floods;
#[cfg(target_os = "linux")]
mod hub;
mod network;
#[cfg(unix)]
mod resources;
mod soak;
#[cfg(unix)]
mod stopped;

#[cfg(unix)]
use chaos_tests::room::program;
use chaos_tests::room::{Room, SOON, once_within, until};
use chaos_tests::scenario;
use chaos_tests::share::share;
#[cfg(target_os = "linux")]
use chaos_tests::share::{shared, turns};
use holdfast_testkit::process::{client, shaper, system, unity};

/// Reads a number from the environment.
fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}
