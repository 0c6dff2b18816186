//! The chaos suite. See `README.md` beside this file.

pub mod checker;
pub mod fuzz;
pub mod history;
pub mod sim;
