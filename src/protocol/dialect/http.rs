//! The lines between a dialect that speaks HTTP and the carrier that opens a connection for each of its requests. They never
//! leave the process: a dialect is pure and knows what to ask and what an answer means, the carrier knows sockets.
//!
//! Only an answer has a line. When a request cannot be sent, or its connection ends before the answer is whole, the carrier ends
//! the whole conversation as a broken stream does; it knows which calls not a byte was sent of.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// What the carrier is to ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask<'a> {
    /// Under which the answer comes. Numbers rise from line to line.
    pub number: u64,
    /// The call it belongs to, handed back with the answer.
    pub call: Option<Cow<'a, str>>,
    /// `GET` or `POST`.
    pub method: Cow<'a, str>,
    /// Path, with its `/`.
    pub path: Cow<'a, str>,
    /// Type of the body; a request without a body has none.
    pub content_type: Option<Cow<'a, str>>,
    /// The body; may be empty.
    pub body: Cow<'a, str>,
}

/// What the carrier heard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard<'a> {
    /// Of which [`Ask`].
    pub number: u64,
    /// [`Ask::call`].
    pub call: Option<Cow<'a, str>>,
    /// [`Ask::path`].
    pub path: Cow<'a, str>,
    /// HTTP status code.
    pub status: u16,
    /// The header of that name.
    pub server: Option<Cow<'a, str>>,
    /// The body; what is not UTF-8 in it is replaced.
    pub body: Cow<'a, str>,
}
