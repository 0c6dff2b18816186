//! Other ways to an editor than a port that it listens on, and other shapes of the exchange than one stream, each with a
//! package that only tests have.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

mod arrives;
mod jobs;
