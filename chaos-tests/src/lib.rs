//! Tests of the gateway under faults: the model, the simulation, real processes, quick fuzz tests. `README.md` in this crate
//! is the catalogue of the faults.

pub mod catalogue;
pub mod fuzz;
pub mod model;
pub mod record;
pub mod report;
pub mod room;
pub mod scenario;
pub mod share;
pub mod sim;

pub use holdfast_testkit::{checker, history};
