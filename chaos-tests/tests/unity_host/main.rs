//! The real gateway and the real Unity package. The C# code runs in the simulated editor, on Mono and on CoreCLR, in a domain
//! that is really unloaded.
//!
//! The harness is [`holdfast_testkit::process`], with the simulated editor in place of the fake one: it accepts the same
//! orders, and writes each run of its counting tools to a file before it answers. Every scenario runs on both runtimes at the
//! same time, and writes a [`chaos_tests::record::Record`] for each.

#![allow(clippy::disallowed_types, reason = "strangers and proxies are programs outside the runtime")]
#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    reason = "processes are watched from outside, in real time, on the threads of the tests"
)]

mod agent_task;
mod calls;
mod legacy;
mod listing;
mod load;
mod losses;
mod network;
mod reloads;
mod results;
mod stage;
mod strangers;
mod transcripts;
mod unity_try;
mod wire;

use chaos_tests::room::{Room, SOON, until};
use chaos_tests::scenario::Scenario;
use client::{Client, Verdict};
use holdfast_testkit::process::{client, proxy, shaper, system, unity};
