//! Other ways to an editor than a port that it listens on, and other shapes of the exchange than one stream, each with a small
//! package that exists only here.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

mod arrives;
mod jobs;
