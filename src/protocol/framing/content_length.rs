//! STUB, to be replaced by the real Content-Length framing.

use bytes::{Bytes, BytesMut};

use super::{BadFrame, Framer};

/// Decoder of `Content-Length` frames.
#[derive(Debug)]
pub struct ContentLength {
    max: usize,
    buffer: BytesMut,
}

impl ContentLength {
    /// A decoder that refuses frames with more than `max_bytes` bytes.
    pub fn new(max_bytes: usize) -> Self {
        Self { max: max_bytes, buffer: BytesMut::new() }
    }
}

impl Framer for ContentLength {
    fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    fn next_frame(&mut self) -> Result<Option<Bytes>, BadFrame> {
        let Some(end) = self.buffer.windows(4).position(|w| w == b"\r\n\r\n") else { return Ok(None) };
        let head = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        let length: usize = head
            .strip_prefix("Content-Length: ")
            .ok_or(BadFrame::LengthMissing)?
            .parse()
            .map_err(|_| BadFrame::LengthMalformed)?;
        if length > self.max {
            return Err(BadFrame::TooLarge { length: length as u64, max: self.max });
        }
        if self.buffer.len() < end + 4 + length {
            return Ok(None);
        }
        let _ = self.buffer.split_to(end + 4);
        Ok(Some(self.buffer.split_to(length).freeze()))
    }

    fn at_boundary(&self) -> bool {
        self.buffer.is_empty()
    }
}

/// A whole frame around this body.
pub fn encode(body: &[u8]) -> Bytes {
    let mut frame = BytesMut::from(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
    frame.extend_from_slice(body);
    frame.freeze()
}
