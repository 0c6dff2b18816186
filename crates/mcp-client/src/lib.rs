//! An MCP client that believes nothing, for the demo, the tests, the benchmarks and the chaos suite. It depends on nothing of holdfast's.
//!
//! [`mod@line`] writes what a client says. [`session`] remembers what was asked, pairs each answer with its request and notes every
//! fault of the server; it does no I/O and takes time as a value. Two clients stand on it: [`tasks`] runs on tokio and its clock,
//! which a test may pause; [`threads`] runs in real time. [`answer`] reads an answer as an AI reads it. [`wire`] records what is
//! said for the schema check.

pub mod answer;
pub mod line;
pub mod session;
pub mod tasks;
pub mod threads;
pub mod wire;
