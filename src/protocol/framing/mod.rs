//! Frames out of a byte stream, incrementally: any split of the bytes gives the same frames.

pub mod content_length;
pub mod http;
pub mod lines;

use bytes::Bytes;

/// An incremental decoder of one connection's incoming bytes.
///
/// Feed with [`push`](Framer::push), then call [`next_frame`](Framer::next_frame) until it gives `None`.
/// After an error the stream has no trustworthy frame boundary any more: the connection must be closed.
pub trait Framer: Send {
    /// Takes the next bytes of the stream, in any split.
    fn push(&mut self, bytes: &[u8]);
    /// The next whole frame (its body, without header or line end), if there is one.
    ///
    /// # Errors
    /// The first violation of the framing; repeated on every later call.
    fn next_frame(&mut self) -> Result<Option<Bytes>, BadFrame>;
    /// True when the stream could end here without cutting a frame.
    fn at_boundary(&self) -> bool;
}

/// Why a byte stream is not a stream of frames. Each variant is one exact sin of the peer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum BadFrame {
    /// The header block is longer than the bound.
    #[error("the header is longer than {max} bytes")]
    HeaderTooLong {
        /// The bound in bytes.
        max: usize,
    },
    /// A header line is not `Name: value` in ASCII.
    #[error("a header line is not of the form `Name: value`")]
    HeaderMalformed,
    /// No `Content-Length` among the headers.
    #[error("the header has no Content-Length")]
    LengthMissing,
    /// More than one `Content-Length` (never "first wins").
    #[error("the header has more than one Content-Length")]
    LengthDuplicate,
    /// The value is not a plain decimal number (`+5`, `0x10`, `-1`, empty, 400 digits).
    #[error("the Content-Length is not a plain decimal number")]
    LengthMalformed,
    /// The frame is larger than the bound; nothing was allocated for it.
    #[error("the frame has {length} bytes, more than the {max} that are accepted")]
    TooLarge {
        /// The announced (or, for lines, so far seen) length in bytes.
        length: u64,
        /// The bound in bytes.
        max: usize,
    },
}
