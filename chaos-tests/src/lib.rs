//! The chaos suite. See `README.md` beside this file.

pub mod checker;
pub mod history;
pub mod model;
pub mod record;
pub mod sim;
