//! Content-Length framing: a header with the length before each message. Used by uLoop v0.27 and later, and by our own package.
//!
//! The format is `Content-Length: <decimal bytes>\r\n\r\n<body>`, as in the Language Server Protocol. Real peers write exactly
//! that, but accept different input: uLoop's TypeScript side splits header lines at `\r?\n` and reads the number with `parseInt`,
//! its C# side splits at `\r\n` and reads the number with `int.TryParse`. This decoder refuses everything that those two could
//! read differently.

use bytes::{Buf, Bytes, BytesMut};

use super::{BadFrame, Framer, make_room};
use crate::limits::{DECODER_BUFFER_KEPT_BYTES, FRAME_HEADER_MAX_BYTES, FRAME_LENGTH_DIGITS_MAX};

/// Encodes a body as a whole frame.
pub fn encode(body: &[u8]) -> Bytes {
    let header = format!("Content-Length: {}\r\n\r\n", body.len());
    let mut frame = BytesMut::with_capacity(header.len() + body.len());
    frame.extend_from_slice(header.as_bytes());
    frame.extend_from_slice(body);
    frame.freeze()
}

/// Decoder of Content-Length frames.
///
/// Each header byte is checked as it arrives. The first wrong byte ends the stream; the decoder does not wait for the rest of a
/// header that never comes (from an HTTP server, or a TLS handshake). Memory grows with the bytes received, never with the length
/// announced.
#[derive(Debug)]
pub struct ContentLength {
    max: usize,
    buffer: BytesMut,
    part: Part,
    /// Whether the buffer has held a large frame: its memory is then released as soon as it is empty.
    large: bool,
    failed: Option<BadFrame>,
}

#[derive(Debug)]
enum Part {
    /// In the header: the number of bytes checked so far, the start of the current line, and the length if its line was read.
    Header { judged: usize, line: usize, length: Option<usize> },
    /// In a body of this many bytes.
    Body(usize),
}

const HEADER: Part = Part::Header { judged: 0, line: 0, length: None };

impl ContentLength {
    /// Makes a decoder for frames with bodies of up to `max_bytes`.
    pub fn new(max_bytes: usize) -> Self {
        Self { max: max_bytes, buffer: BytesMut::new(), part: HEADER, large: false, failed: None }
    }

    fn read(&mut self) -> Result<Option<Bytes>, BadFrame> {
        if let Part::Header { judged, line, length } = &mut self.part {
            let mut body = None;
            while body.is_none()
                && let Some(&byte) = self.buffer.get(*judged)
            {
                if *judged >= FRAME_HEADER_MAX_BYTES {
                    return Err(BadFrame::HeaderTooLong { max: FRAME_HEADER_MAX_BYTES });
                }
                let so_far = self.buffer.get(*line..*judged).unwrap_or_default();
                *judged += 1;
                match (so_far.strip_suffix(b"\r"), byte) {
                    (Some(b""), b'\n') => body = Some(length.ok_or(BadFrame::LengthMissing)?),
                    (Some(whole), b'\n') => {
                        if let Some(announced) = read_line(whole, self.max)? {
                            match length {
                                Some(_) => return Err(BadFrame::LengthDuplicate),
                                None => *length = Some(announced),
                            }
                        }
                        *line = *judged;
                    }
                    (None, b'\r' | b'\t' | b' '..=b'~') => {}
                    _ => return Err(BadFrame::HeaderMalformed),
                }
            }
            let Some(body) = body else { return Ok(None) };
            self.buffer.advance(*judged);
            self.part = Part::Body(body);
        }
        let Part::Body(length) = self.part else { return Ok(None) };
        if self.buffer.len() < length {
            return Ok(None);
        }
        let body = self.buffer.split_to(length).freeze();
        self.large |= length > DECODER_BUFFER_KEPT_BYTES;
        if self.large && self.buffer.is_empty() {
            self.large = false;
            self.buffer = BytesMut::new();
        }
        self.part = HEADER;
        Ok(Some(body))
    }
}

impl Framer for ContentLength {
    fn push(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            if let Part::Body(length) = self.part {
                make_room(&mut self.buffer, bytes.len(), length);
            }
            self.buffer.extend_from_slice(bytes);
        }
    }

    fn next_frame(&mut self) -> Result<Option<Bytes>, BadFrame> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        self.read().inspect_err(|failed| {
            self.failed = Some(failed.clone());
            self.buffer = BytesMut::new();
        })
    }

    fn at_boundary(&self) -> bool {
        self.failed.is_none() && self.buffer.is_empty() && matches!(self.part, Part::Header { .. })
    }
}

/// Reads one header line without its line end. Returns the length if it is the `Content-Length` line, `None` for other headers.
fn read_line(line: &[u8], max: usize) -> Result<Option<usize>, BadFrame> {
    let Some((name, value)) = memchr::memchr(b':', line).and_then(|colon| line.split_at_checked(colon)) else {
        return Err(BadFrame::HeaderMalformed);
    };
    // Characters of a field name (RFC 9110, 5.6.2). A folded line begins with a space and is refused here.
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    if name.is_empty() || !name.iter().all(is_name) {
        return Err(BadFrame::HeaderMalformed);
    }
    if !name.eq_ignore_ascii_case(b"Content-Length") {
        return Ok(None);
    }
    let digits = value.strip_prefix(b":").unwrap_or(value).trim_ascii();
    if digits.len() > FRAME_LENGTH_DIGITS_MAX || !digits.iter().all(u8::is_ascii_digit) {
        return Err(BadFrame::LengthMalformed);
    }
    let length: u64 =
        str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).ok_or(BadFrame::LengthMalformed)?;
    match usize::try_from(length) {
        Ok(length) if length <= max => Ok(Some(length)),
        _ => Err(BadFrame::TooLarge { length, max }),
    }
}

#[cfg(test)]
mod tests;
