//! The chaos suite. See `README.md` beside this file.

pub mod catalogue;
pub mod fuzz;
pub mod model;
pub mod record;
pub mod report;
pub mod room;
pub mod scenario;
pub mod sim;

pub use holdfast_testkit::{checker, history};
