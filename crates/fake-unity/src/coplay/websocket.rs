//! The client's side of a WebSocket (RFC 6455), as far as the package uses it: no TLS, no extensions, no subprotocol.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{Buf, Bytes, BytesMut};
use sha1::{Digest as _, Sha1};

use crate::face::Reader;
use crate::limits::HTTP_HEAD_MAX_BYTES;

/// What the standard adds to a key before its hash.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The largest message that is read, in bytes. It is above the largest that the gateway sends.
const MESSAGE_MAX_BYTES: usize = 64 * 1024 * 1024;

const CONTINUED: u8 = 0;
pub(super) const TEXT: u8 = 1;
pub(super) const CLOSE: u8 = 8;
const PING: u8 = 9;
pub(super) const PONG: u8 = 10;

/// Returns the key of a handshake, which is made from random bytes.
pub(super) fn key(random: [u8; 16]) -> String {
    STANDARD.encode(random)
}

/// Returns the request that begins a connection.
pub(super) fn request(host: &str, port: u16, path: &str, key: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: {key}\r\n\r\n"
    )
}

/// Returns what a server answers to a key.
pub(super) fn accept(key: &str) -> String {
    STANDARD.encode(Sha1::digest(format!("{key}{GUID}")))
}

/// Makes a frame. A client masks each.
pub(super) fn frame(kind: u8, payload: &[u8], mask: [u8; 4]) -> Vec<u8> {
    let mut frame = vec![0x80 | kind];
    match payload.len() {
        length @ 0..126 => frame.push(0x80 | length as u8),
        length @ 126..0x1_0000 => {
            frame.push(0x80 | 126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend(mask);
    frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

/// What the server said.
pub(super) enum Heard {
    Text(String),
    /// A ping of the protocol, which is no message.
    Ping(Bytes),
    /// The server closes, and says why.
    Close(Bytes),
    /// The connection ended, or what came is no frame of a server.
    End(&'static str),
}

/// The incoming side of a connection.
pub(super) struct Incoming {
    reader: Reader,
    buffer: BytesMut,
    /// The parts of a message that came so far; `None` between two messages.
    parts: Option<Vec<u8>>,
}

impl Incoming {
    pub(super) fn new(reader: Reader) -> Self {
        Self { reader, buffer: BytesMut::new(), parts: None }
    }

    /// Reads the answer to the request. Returns whether the server takes it.
    pub(super) async fn is_taken(&mut self, key: &str) -> std::io::Result<bool> {
        loop {
            if let Some(end) = memchr::memmem::find(&self.buffer, b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&self.buffer.split_to(end + 4)).into_owned();
                let named = |name: &str| {
                    let mut headers = head.lines().skip(1).filter_map(|line| line.split_once(':'));
                    headers
                        .find(|(header, _)| header.eq_ignore_ascii_case(name))
                        .map(|(_, value)| value.trim().to_owned())
                };
                let is_upgraded = named("upgrade").is_some_and(|word| word.eq_ignore_ascii_case("websocket"));
                let is_meant = named("sec-websocket-accept").is_some_and(|answer| answer == accept(key));
                return Ok(head.starts_with("HTTP/1.1 101 ") && is_upgraded && is_meant);
            }
            if self.buffer.len() > HTTP_HEAD_MAX_BYTES || self.reader.read(&mut self.buffer).await? == 0 {
                return Ok(false);
            }
        }
    }

    /// Reads on until the server said something. Cancel-safe.
    pub(super) async fn next(&mut self) -> std::io::Result<Heard> {
        loop {
            match take_frame(&mut self.buffer) {
                Err(why) => return Ok(Heard::End(why)),
                Ok(None) => {
                    if self.reader.read(&mut self.buffer).await? == 0 {
                        return Ok(Heard::End("closed by the gateway"));
                    }
                }
                Ok(Some((_, PING, payload))) => return Ok(Heard::Ping(payload)),
                Ok(Some((_, CLOSE, payload))) => return Ok(Heard::Close(payload)),
                Ok(Some((is_last, kind @ (TEXT | CONTINUED), payload))) => {
                    if (kind == TEXT) == self.parts.is_some() {
                        return Ok(Heard::End("a part of no message"));
                    }
                    let parts = self.parts.get_or_insert_default();
                    parts.extend(payload);
                    if parts.len() > MESSAGE_MAX_BYTES {
                        return Ok(Heard::End("a message that is too large"));
                    }
                    if is_last {
                        let text = self.parts.take().unwrap_or_default();
                        return Ok(Heard::Text(String::from_utf8_lossy(&text).into_owned()));
                    }
                }
                // A pong, or data that the package does not read.
                Ok(Some(_)) => {}
            }
        }
    }
}

/// Removes the next whole frame from the buffer: whether it is the last part of its message, its kind and its payload.
fn take_frame(buffer: &mut BytesMut) -> Result<Option<(bool, u8, Bytes)>, &'static str> {
    let &[first, second, ..] = buffer.as_ref() else { return Ok(None) };
    if first & 0x70 != 0 || second & 0x80 != 0 {
        return Err("no frame of a server");
    }
    let rest = buffer.get(2..).unwrap_or_default();
    let (head, length) = match second {
        126 => (4, rest.first_chunk().map(|length| u64::from(u16::from_be_bytes(*length)))),
        127 => (10, rest.first_chunk().map(|length| u64::from_be_bytes(*length))),
        length => (2, Some(u64::from(length))),
    };
    let Some(length) = length else { return Ok(None) };
    let length = usize::try_from(length).ok().filter(|length| *length <= MESSAGE_MAX_BYTES);
    let length = length.ok_or("a frame that is too large")?;
    if buffer.len() < head + length {
        return Ok(None);
    }
    buffer.advance(head);
    Ok(Some((first & 0x80 != 0, first & 0x0f, buffer.split_to(length).freeze())))
}
