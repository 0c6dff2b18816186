//! The server's side of a WebSocket (RFC 6455), as far as editors need it: text messages, no extensions, no subprotocol.

mod upgrade;

#[cfg(test)]
mod tests;

use bytes::{BufMut as _, Bytes, BytesMut};

pub use self::upgrade::{NotUpgraded, Upgrade, refusal};
use super::{BadFrame, Framer, make_room};
use crate::limits::DECODER_BUFFER_KEPT_BYTES;

/// Kinds of frames.
const CONTINUED: u8 = 0;
const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
/// The kinds from this one on are those of control frames.
const CONTROL: u8 = 8;
/// Bits of a frame's first two bytes.
const LAST: u8 = 0x80;
const RESERVED: u8 = 0x70;
const MASKED: u8 = 0x80;
/// The longest payload of a control frame, in bytes.
const CONTROL_MAX_BYTES: usize = 125;
/// The bytes of a mask.
const MASK_BYTES: usize = 4;

/// Encodes a text message.
pub fn text(message: &str) -> Bytes {
    frame(TEXT, message.as_bytes())
}

/// Encodes the end of the connection: its code, and the reason as far as there is room.
pub fn close(code: u16, reason: &str) -> Bytes {
    let mut payload = code.to_be_bytes().to_vec();
    for char in reason.chars() {
        if payload.len() + char.len_utf8() > CONTROL_MAX_BYTES {
            break;
        }
        payload.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
    }
    frame(CLOSE, &payload)
}

/// Encodes a whole frame. A server masks none.
fn frame(kind: u8, payload: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(payload.len() + 10);
    frame.put_u8(LAST | kind);
    match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(length @ 0..=125), _) => frame.put_u8(length),
        (_, Ok(length)) => {
            frame.put_u8(126);
            frame.put_u16(length);
        }
        _ => {
            frame.put_u8(127);
            frame.put_u64(payload.len() as u64);
        }
    }
    frame.extend_from_slice(payload);
    frame.freeze()
}

/// Decoder of a client's frames. Each text message is a frame of the [`Framer`], and the client's close is an empty one, after which
/// nothing follows. An empty text message says nothing and is skipped.
#[derive(Debug)]
pub struct WebSocket {
    max: usize,
    buffer: BytesMut,
    /// The parts of a message that came so far; `None` between two messages.
    parts: Option<BytesMut>,
    /// The answer to the last ping, or to the close.
    owed: Option<Bytes>,
    is_closed: bool,
    failed: Option<BadFrame>,
}

/// What the beginning of a frame says.
struct Head {
    is_last: bool,
    kind: u8,
    /// The bytes before the payload, the mask among them.
    bytes: usize,
    /// The bytes of the payload.
    length: usize,
}

impl Head {
    /// The bytes of the whole frame. The payload is bounded.
    fn whole(&self) -> usize {
        self.bytes + self.length
    }
}

impl WebSocket {
    /// Makes a decoder for messages of up to `max_bytes`.
    pub fn new(max_bytes: usize) -> Self {
        Self { max: max_bytes, buffer: BytesMut::new(), parts: None, owed: None, is_closed: false, failed: None }
    }

    /// Returns the bytes that came and belong to no frame that was returned.
    pub fn into_rest(self) -> Bytes {
        self.buffer.freeze()
    }

    /// Reads the beginning of the next frame, and checks it as soon as its bytes are there.
    fn head(&self) -> Result<Option<Head>, BadFrame> {
        let &[first, second, ref rest @ ..] = self.buffer.as_ref() else { return Ok(None) };
        let (is_last, kind) = (first & LAST != 0, first & 0x0f);
        let malformed = |why| Err(BadFrame::WebSocket(why));
        if first & RESERVED != 0 {
            return malformed("a frame uses an extension that was not agreed on");
        }
        if second & MASKED == 0 {
            return malformed("a client's frame is not masked");
        }
        match kind {
            CLOSE | PING | PONG if !is_last || usize::from(second & !MASKED) > CONTROL_MAX_BYTES => {
                return malformed("a control frame is too long, or only a part");
            }
            CLOSE | PING | PONG => {}
            TEXT if self.parts.is_some() => return malformed("a message begins within another one"),
            CONTINUED if self.parts.is_none() => return malformed("a message goes on that has not begun"),
            TEXT | CONTINUED => {}
            _ => return malformed("a frame is of a kind that no editor sends"),
        }
        let (bytes, length) = match second & !MASKED {
            126 => (4, rest.first_chunk().map(|length| u64::from(u16::from_be_bytes(*length)))),
            127 => (10, rest.first_chunk().map(|length| u64::from_be_bytes(*length))),
            length => (2, Some(u64::from(length))),
        };
        let Some(length) = length else { return Ok(None) };
        let before = if kind < CONTROL { self.parts.as_ref().map_or(0, BytesMut::len) } else { 0 };
        let whole = length.saturating_add(before as u64);
        match usize::try_from(length) {
            Ok(length) if whole <= self.max as u64 || kind >= CONTROL => {
                Ok(Some(Head { is_last, kind, bytes: bytes + MASK_BYTES, length }))
            }
            _ => Err(BadFrame::TooLarge { length: whole, max: self.max }),
        }
    }

    /// Removes the next whole frame from the buffer. Returns what the beginning said of it, and its payload.
    fn take(&mut self) -> Result<Option<(Head, BytesMut)>, BadFrame> {
        let Some(head) = self.head()?.filter(|head| self.buffer.len() >= head.whole()) else { return Ok(None) };
        let mut payload = self.buffer.split_to(head.whole());
        let mask = payload.split_to(head.bytes).split_off(head.bytes - MASK_BYTES);
        payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
        if self.buffer.is_empty() && payload.len() > DECODER_BUFFER_KEPT_BYTES {
            self.buffer = BytesMut::new();
        }
        Ok(Some((head, payload)))
    }

    fn read(&mut self) -> Result<Option<Bytes>, BadFrame> {
        while !self.is_closed
            && let Some((head, payload)) = self.take()?
        {
            match head.kind {
                PING => self.owed = Some(frame(PONG, &payload)),
                PONG => {}
                CLOSE => {
                    // The answer has the code of the close, if it has one.
                    self.owed = Some(frame(CLOSE, payload.get(..2).unwrap_or_default()));
                    self.is_closed = true;
                    self.buffer = BytesMut::new();
                    return Ok(Some(Bytes::new()));
                }
                _ => {
                    let message = match self.parts.take() {
                        None => payload,
                        Some(mut parts) => {
                            parts.extend_from_slice(&payload);
                            parts
                        }
                    };
                    if !head.is_last {
                        self.parts = Some(message);
                    } else if !message.is_empty() {
                        return Ok(Some(message.freeze()));
                    }
                }
            }
        }
        Ok(None)
    }
}

impl Framer for WebSocket {
    fn push(&mut self, bytes: &[u8]) {
        if self.failed.is_some() || self.is_closed {
            return;
        }
        if let Ok(Some(head)) = self.head() {
            make_room(&mut self.buffer, bytes.len(), head.whole());
        }
        self.buffer.extend_from_slice(bytes);
    }

    fn next_frame(&mut self) -> Result<Option<Bytes>, BadFrame> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        self.read().inspect_err(|failed| {
            self.failed = Some(failed.clone());
            self.buffer = BytesMut::new();
            self.parts = None;
        })
    }

    fn at_boundary(&self) -> bool {
        self.failed.is_none() && self.buffer.is_empty() && self.parts.is_none()
    }

    fn owed(&mut self) -> Option<Bytes> {
        self.owed.take()
    }
}
