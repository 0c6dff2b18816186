//! The real-process layer of the chaos suite: the real binary and a real fake editor, killed, starved, slowed and restarted.
//!
//! The harness is that of `tests/it/process`; what is added here is repetition, the faults of a network that is merely bad, and
//! those of a machine that is short of something. Every scenario writes a [`chaos_tests::record::Record`].

#![allow(clippy::disallowed_types, reason = "thieves and shapers of connections are programs outside the runtime")]
#![expect(
    clippy::disallowed_methods,
    reason = "processes are watched from outside, in real time, on the threads of the tests"
)]

#[allow(dead_code, reason = "shared with tests/it/process, which uses the rest")]
#[path = "../../../tests/it/process/client.rs"]
mod client;
#[allow(dead_code, reason = "shared with tests/it/process, which uses the rest")]
#[path = "../../../tests/it/process/room.rs"]
mod room;
#[path = "../../../tests/it/process/system.rs"]
mod system;
#[allow(dead_code, reason = "shared with tests/it/process, which uses the rest")]
#[path = "../../../tests/it/process/unity.rs"]
mod unity;

mod cycles;
mod exits;
mod floods;
mod network;
#[cfg(unix)]
mod resources;
mod scenario;
mod shaper;
mod soak;
#[cfg(unix)]
mod stopped;

use room::{Room, SOON, once_within, until};

/// The binary under test.
fn holdfast() -> &'static std::ffi::OsStr {
    static BINARY: std::sync::OnceLock<std::ffi::OsString> = std::sync::OnceLock::new();
    BINARY.get_or_init(|| {
        std::env::var_os("HOLDFAST_BIN").expect(
            "HOLDFAST_BIN names no binary: `make test` sets it; by hand, `cargo build` and HOLDFAST_BIN=$PWD/target/debug/holdfast",
        )
    })
}

/// A number from the environment.
fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}
