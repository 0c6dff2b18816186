//! A test's temporary folders and files (the test kit's `Room`), with the holdfast binary that `HOLDFAST_BIN` names.

use std::ffi::{OsStr, OsString};
use std::ops::Deref;
use std::sync::OnceLock;

use holdfast_testkit::process::room;
pub use holdfast_testkit::process::room::{SOON, once_within, until};

/// Returns the path of the binary under test.
///
/// # Panics
/// If `HOLDFAST_BIN` is not set.
pub fn program() -> &'static OsStr {
    static BINARY: OnceLock<OsString> = OnceLock::new();
    BINARY.get_or_init(|| {
        std::env::var_os("HOLDFAST_BIN").expect(
            "HOLDFAST_BIN names no binary: `make test` sets it; by hand, `cargo build` and HOLDFAST_BIN=$PWD/target/debug/holdfast",
        )
    })
}

/// The folders and files of one test.
pub struct Room(room::Room);

impl Room {
    /// Creates the folders of a test.
    #[expect(clippy::new_without_default, reason = "it makes folders, which nothing does by default")]
    pub fn new() -> Self {
        Self(room::Room::of(program()))
    }
}

impl Deref for Room {
    type Target = room::Room;

    fn deref(&self) -> &room::Room {
        &self.0
    }
}
