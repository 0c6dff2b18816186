//! Splits byte streams into frames, incrementally: the frames do not depend on how the bytes are split.

pub mod content_length;
pub mod http;
pub mod lines;
pub mod websocket;

use bytes::{Bytes, BytesMut};

use crate::limits::{DECODER_BUFFER_KEPT_BYTES, DECODER_GROWTH};

/// An incremental decoder of one connection's incoming bytes.
///
/// Call [`push`](Framer::push), then [`next_frame`](Framer::next_frame) until it returns `None`. After an error the frame
/// boundaries of the stream are unknown, so the connection must be closed.
pub trait Framer: Send {
    /// Takes the next bytes of the stream.
    fn push(&mut self, bytes: &[u8]);
    /// Returns the body of the next complete frame, without header or line end; `None` if more bytes are needed.
    ///
    /// # Errors
    /// The first violation of the framing. Every later call returns the same error.
    fn next_frame(&mut self) -> Result<Option<Bytes>, BadFrame>;
    /// Whether the stream may end here without cutting a frame.
    fn at_boundary(&self) -> bool;
    /// Returns once what the framing itself has to answer, such as the pong to a ping. A newer answer replaces one that was not taken.
    fn owed(&mut self) -> Option<Bytes> {
        None
    }
}

/// Reserves memory for `bytes` more bytes of a frame of `length` bytes: [`DECODER_GROWTH`] times what is needed, but never more than
/// the frame. An allocator keeps about twice its largest block, so a buffer of twice the frame would keep too much.
fn make_room(buffer: &mut BytesMut, bytes: usize, length: usize) {
    let (needed, has) = (buffer.len() + bytes, buffer.capacity());
    if needed > has && needed <= length && needed > DECODER_BUFFER_KEPT_BYTES {
        let mut larger = BytesMut::with_capacity(length.min(needed.saturating_mul(DECODER_GROWTH)));
        larger.extend_from_slice(buffer);
        *buffer = larger;
    }
}

/// Why a byte stream is not a valid stream of frames.
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
    /// The header has no `Content-Length`.
    #[error("the header has no Content-Length")]
    LengthMissing,
    /// The header has more than one `Content-Length`; none of them is used.
    #[error("the header has more than one Content-Length")]
    LengthDuplicate,
    /// The value is not a plain decimal number (`+5`, `0x10`, `-1`, empty, 400 digits).
    #[error("the Content-Length is not a plain decimal number")]
    LengthMalformed,
    /// The peer does not begin with the line that the dialect demands; the text says what it is instead.
    #[error("{0}")]
    NoGreeting(&'static str),
    /// The frame is larger than the bound; no memory was reserved for its announced length.
    #[error("the frame has {length} bytes, more than the {max} that are accepted")]
    TooLarge {
        /// The announced length in bytes. For lines, and for HTTP bodies of unknown length: the bound plus one.
        length: u64,
        /// The bound in bytes.
        max: usize,
    },
    /// A frame that a WebSocket's client must not send.
    #[error("{0}")]
    WebSocket(&'static str),
}
