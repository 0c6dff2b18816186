//! Converts bytes to values and back. Pure: no runtime, no clock, no randomness, no environment, no logging, no await.

pub mod crossing;
pub mod dialect;
pub mod framing;
pub mod hub;
pub mod ids;
pub mod jsonrpc;
pub mod mcp;
pub mod policy;
pub mod text;
pub mod trace;
