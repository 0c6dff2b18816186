//! How a client comes in: over stdin and stdout.

pub mod run;
pub mod stdin_reader;
