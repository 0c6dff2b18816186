//! JSON-RPC 2.0 messages, as MCP writes them on stdio: one message per line.
//!
//! The reader keeps what a peer wrote: parameters and results stay raw JSON, and request ids stay byte-exact. If a message is not
//! accepted, its id is still searched for, so that a broken request gets an error and does not hang.
//!
//! Sources: the JSON-RPC 2.0 specification (envelope, error codes, ids); MCP `basic/transports` (one message per line, no
//! embedded line break, no batch outside 2025-03-26); RFC 8259 (grammar, whitespace).

mod fault;
mod id;
mod parse;
mod quote;
mod scan;
pub mod spans;
mod text;
mod write;

pub use fault::{Fault, Invalid, RpcError};
pub use id::RequestId;
pub use parse::{Message, members, parse};
pub use quote::{quote_into, quoted_len};
pub use scan::IdScanner;
pub use text::{compact, depth_ok, strict};
pub use write::{error, is_answer, notification, request, response, response_with};

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
