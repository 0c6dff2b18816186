//! The lines between a dialect that speaks HTTP and the HTTP transport, which opens one connection for each request. The lines
//! never leave the process. The dialect is pure: it knows the requests and the meaning of the answers. The HTTP transport knows
//! the sockets.
//!
//! The HTTP transport writes a line only for an answer. If a request cannot be sent, or its connection ends before the answer is
//! complete, the transport ends the conversation as if a stream broke. It knows for which calls no byte was sent.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// A request that the HTTP transport is to send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask<'a> {
    /// Number of the request, repeated in its answer. Numbers rise from line to line.
    pub number: u64,
    /// The call that the request belongs to, repeated in its answer.
    pub call: Option<Cow<'a, str>>,
    /// `GET` or `POST`.
    pub method: Cow<'a, str>,
    /// Path, with the leading `/`.
    pub path: Cow<'a, str>,
    /// Content type of the body; `None` for a request without a body.
    pub content_type: Option<Cow<'a, str>>,
    /// The body; may be empty.
    pub body: Cow<'a, str>,
}

/// The answer that the HTTP transport received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard<'a> {
    /// [`Ask::number`] of the request.
    pub number: u64,
    /// [`Ask::call`] of the request.
    pub call: Option<Cow<'a, str>>,
    /// [`Ask::path`] of the request.
    pub path: Cow<'a, str>,
    /// HTTP status code.
    pub status: u16,
    /// The `Server` header.
    pub server: Option<Cow<'a, str>>,
    /// The body, with U+FFFD in place of what is not UTF-8.
    pub body: Cow<'a, str>,
}
