//! The lines between a dialect that speaks HTTP and the carrier that opens a connection for each of its requests. They never
//! leave the process: a dialect is pure and knows what to ask and what an answer means, the carrier knows sockets.
//!
//! A request that is on its way when its connection ends has no line: the carrier then ends the whole conversation, as a broken
//! stream does, and what was sent may have run.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// What the carrier is to ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask<'a> {
    /// Under which the answer comes.
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
    /// What became of it.
    #[serde(flatten)]
    pub end: End<'a>,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End<'a> {
    /// It was answered.
    Answered {
        /// HTTP status code.
        status: u16,
        /// The header of that name.
        server: Option<Cow<'a, str>>,
        /// The body; what is not UTF-8 in it is replaced.
        body: Cow<'a, str>,
    },
    /// Not a byte of it left; why, in words.
    Unsent(Cow<'a, str>),
}
