//! An MCP client that checks everything, for the demo, the tests, the benchmarks and the chaos suite. It depends on no other
//! crate of holdfast.
//!
//! [`mod@line`] writes a client's messages. [`session`] remembers the requests, pairs each answer with its request and records
//! every fault of the server; it does no I/O and gets the time as a value. Two clients are built on it: [`tasks`] uses tokio and
//! its clock, which a test may pause; [`threads`] runs in real time. [`answer`] interprets an answer as an AI does. [`wire`]
//! records the messages for the schema check.

pub mod answer;
pub mod line;
pub mod session;
pub mod tasks;
pub mod threads;
pub mod wire;
