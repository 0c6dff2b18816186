//! Splits the editor's bytes into frames: a greeting line first, then frames with their length in front.

use bytes::{Buf, Bytes, BytesMut};
use memchr::memchr;

use crate::limits::{COPLAY_GREETING_MAX_BYTES, EDITOR_MESSAGE_MAX_BYTES};
use crate::protocol::framing::{BadFrame, Framer};

/// How the greeting begins. Tokens follow, which forks add to.
pub(super) const WELCOME: &str = "WELCOME UNITY-MCP ";
/// The token of editors that put a length before each message. Older ones do not.
const FRAMING: &str = "FRAMING=1";
/// Bytes of that length.
const LENGTH_BYTES: usize = 8;

/// The decoder of one connection.
#[derive(Default)]
pub(super) struct Frames {
    buffer: BytesMut,
    is_greeted: bool,
    bad: Option<BadFrame>,
}

impl Framer for Frames {
    fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    fn next_frame(&mut self) -> Result<Option<Bytes>, BadFrame> {
        match &self.bad {
            Some(bad) => Err(bad.clone()),
            None => self.next().inspect_err(|bad| self.bad = Some(bad.clone())),
        }
    }

    fn at_boundary(&self) -> bool {
        self.buffer.is_empty()
    }
}

impl Frames {
    fn next(&mut self) -> Result<Option<Bytes>, BadFrame> {
        if !self.is_greeted && !self.take_greeting()? {
            return Ok(None);
        }
        loop {
            let Some(length) = self.buffer.first_chunk().copied().map(u64::from_be_bytes) else { return Ok(None) };
            if length == 0 {
                // By the package's own server a sign of life. No known editor sends it.
                self.buffer.advance(LENGTH_BYTES);
                continue;
            }
            let too_large = || BadFrame::TooLarge { length, max: EDITOR_MESSAGE_MAX_BYTES };
            let length = usize::try_from(length).ok().filter(|length| *length <= EDITOR_MESSAGE_MAX_BYTES);
            let length = length.ok_or_else(too_large)?;
            if self.buffer.len() < LENGTH_BYTES + length {
                return Ok(None);
            }
            self.buffer.advance(LENGTH_BYTES);
            let frame = self.buffer.split_to(length).freeze();
            if self.buffer.is_empty() {
                // A large message must not leave its memory behind.
                self.buffer = BytesMut::new();
            }
            return Ok(Some(frame));
        }
    }

    /// Takes the greeting line; false while it is not whole.
    fn take_greeting(&mut self) -> Result<bool, BadFrame> {
        let begun = self.buffer.len().min(WELCOME.len());
        let is_other = self.buffer.get(..begun) != WELCOME.as_bytes().get(..begun);
        let end =
            memchr(b'\n', self.buffer.get(..self.buffer.len().min(COPLAY_GREETING_MAX_BYTES)).unwrap_or_default());
        match end {
            _ if is_other => Err(BadFrame::NoGreeting("it does not greet as MCP for Unity does")),
            None if self.buffer.len() >= COPLAY_GREETING_MAX_BYTES => {
                Err(BadFrame::NoGreeting("its greeting has no end"))
            }
            None => Ok(false),
            Some(end) => {
                let line = self.buffer.split_to(end + 1);
                let has =
                    |wanted: &str| line.as_ref().split(u8::is_ascii_whitespace).any(|token| token == wanted.as_bytes());
                if has("BRIDGE_PROTOCOL=2") {
                    return Err(BadFrame::NoGreeting(
                        "it wants the handshake of a fork (BRIDGE_PROTOCOL=2), which holdfast does not speak",
                    ));
                }
                if !has(FRAMING) {
                    return Err(BadFrame::NoGreeting(
                        "it is an MCP for Unity that sends no lengths (FRAMING=1), older than 8.0: update the package",
                    ));
                }
                self.is_greeted = true;
                Ok(true)
            }
        }
    }
}

/// Puts the length in front of a message.
pub(super) fn frame(message: &[u8]) -> Bytes {
    [(message.len() as u64).to_be_bytes().as_slice(), message].concat().into()
}
