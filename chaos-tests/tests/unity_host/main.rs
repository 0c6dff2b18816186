//! The real gateway and the real Unity package: its C# runs in the simulated editor, on Mono and on CoreCLR, in a domain that is
//! really unloaded.
//!
//! The harness is that of `tests/it/process`, with the simulated editor in the place of the fake one: it knows the same words and
//! writes each run of its counting tools to a file before it answers. Every scenario runs on both runtimes, side by side, and
//! writes a [`chaos_tests::record::Record`] for each.

#![allow(clippy::disallowed_types, reason = "strangers and proxies are programs outside the runtime")]
#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    reason = "processes are watched from outside, in real time, on the threads of the tests"
)]

#[allow(dead_code, reason = "shared with tests/it/process, which uses the rest")]
#[path = "../../../tests/it/process/client.rs"]
mod client;
#[allow(dead_code, reason = "shared with tests/it/process, which uses the rest")]
#[path = "../../../tests/it/process/proxy.rs"]
mod proxy;
#[allow(dead_code, reason = "shared with tests/it/process, which uses the rest")]
#[path = "../../../tests/it/process/room.rs"]
mod room;
#[path = "../real/scenario.rs"]
mod scenario;
#[allow(dead_code, reason = "shared with tests/real, which uses the rest")]
#[path = "../real/shaper.rs"]
mod shaper;
#[allow(dead_code, reason = "shared with tests/it/process, which uses the rest")]
#[path = "../../../tests/it/process/system.rs"]
mod system;
#[allow(dead_code, reason = "shared with tests/it/process, which uses the rest")]
#[path = "../../../tests/it/process/unity.rs"]
mod unity;

mod calls;
mod load;
mod losses;
mod network;
mod reloads;
mod results;
mod stage;
mod strangers;
mod uloop;
mod wire;

use client::{Client, Verdict};
use room::{Room, SOON, until};
use scenario::Scenario;

/// The gateway under test.
fn holdfast() -> &'static std::ffi::OsStr {
    static BINARY: std::sync::OnceLock<std::ffi::OsString> = std::sync::OnceLock::new();
    BINARY.get_or_init(|| {
        std::env::var_os("HOLDFAST_BIN").expect(
            "HOLDFAST_BIN names no binary: `make test` sets it; by hand, `cargo build` and HOLDFAST_BIN=$PWD/target/debug/holdfast",
        )
    })
}
