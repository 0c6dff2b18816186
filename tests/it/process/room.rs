//! A test's temporary folders and files (the test kit's `Room`), with the binary that cargo built for these tests.

use std::ops::Deref;

use holdfast_testkit::process::room;
pub use holdfast_testkit::process::room::{GOES, SOON, once_within, start, until};

/// The folder and the environment of one test.
pub struct Room(room::Room);

impl Room {
    pub fn new() -> Self {
        Self(room::Room::of(super::holdfast()))
    }
}

impl Deref for Room {
    type Target = room::Room;

    fn deref(&self) -> &room::Room {
        &self.0
    }
}
