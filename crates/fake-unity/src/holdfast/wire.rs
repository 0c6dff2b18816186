//! Frames and envelopes as `unity/Documentation~/protocol.md` describes them. Written from that page alone, so that the gateway's codec is
//! tested against code that does not have the same mistakes.

use bytes::{Buf, Bytes, BytesMut};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json::{Object, quoted};
use crate::odd;

/// Version of the protocol.
pub(crate) const PROTOCOL: u64 = 2;
const MIB: usize = 1024 * 1024;
/// Longest message of a peer that has not proven that it knows the token.
pub(crate) const STRANGERS_MAX_BYTES: usize = MIB;
/// Longest message of a gateway that has proven that it knows the token.
pub(crate) const GATEWAYS_MAX_BYTES: usize = 16 * MIB;
/// Longest message that is sent to a client.
pub(crate) const OUTGOING_MAX_BYTES: usize = 64 * MIB;
/// Longest id of a call or a gateway, longest name, and longest endpoint and token for push messages, in bytes.
pub(crate) const NAME_MAX_BYTES: usize = 256;
/// Longest header.
const HEADER_MAX_BYTES: usize = 4096;
/// Longest request id.
const ID_MAX_BYTES: usize = 1024;

/// Removes the next whole frame from the buffer and returns its body; `None` if more bytes are needed.
///
/// # Errors
/// The header is broken, or the body is longer than `max`. The rest of the stream cannot be read.
pub(crate) fn take_frame(buffer: &mut BytesMut, max: usize) -> Result<Option<Bytes>, String> {
    let Some((start, length)) = header(buffer)? else { return Ok(None) };
    if length > max {
        return Err(format!("a message has at most {max} bytes"));
    }
    if buffer.len() < start + length {
        return Ok(None);
    }
    buffer.advance(start);
    Ok(Some(buffer.split_to(length).freeze()))
}

/// The offset and the length of the body; `None` while the header is incomplete.
fn header(buffer: &[u8]) -> Result<Option<(usize, usize)>, String> {
    let head = buffer.get(..HEADER_MAX_BYTES).unwrap_or(buffer);
    let mut length = None;
    let mut start = 0;
    while let Some(end) = head.get(start..).and_then(|rest| memchr::memmem::find(rest, b"\r\n")) {
        let line = head.get(start..start + end).unwrap_or_default();
        start += end + 2;
        if line.is_empty() {
            let length = length.ok_or("a header needs a Content-Length")?;
            return Ok(Some((start, length)));
        }
        let (name, value) = header_line(line)?;
        if name.eq_ignore_ascii_case("Content-Length") && length.replace(number(value)?).is_some() {
            return Err("a header has one Content-Length".to_owned());
        }
    }
    if head.len() == HEADER_MAX_BYTES {
        return Err(format!("a header has at most {HEADER_MAX_BYTES} bytes"));
    }
    // A line that cannot become a header line fails at once: its peer may wait for an answer before it sends more.
    let unfinished = head.get(start..).unwrap_or_default();
    let name = unfinished.split(|byte| *byte == b':').next().unwrap_or_default();
    let name = name.strip_suffix(b"\r").unwrap_or(name);
    if name.iter().all(|byte| is_name(*byte)) { Ok(None) } else { Err(NO_HEADER.to_owned()) }
}

const NO_HEADER: &str = "a header's lines have the form 'Name: value'";

fn header_line(line: &[u8]) -> Result<(&str, &str), String> {
    let text = std::str::from_utf8(line).map_err(|_| NO_HEADER)?;
    match text.split_once(':') {
        Some((name, value)) if !name.is_empty() && name.bytes().all(is_name) => Ok((name, value)),
        _ => Err(NO_HEADER.to_owned()),
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

fn number(value: &str) -> Result<usize, String> {
    let digits = value.trim_matches(' ');
    if digits.is_empty() || digits.len() > 20 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("a Content-Length is a number of at most 20 digits".to_owned());
    }
    // A number that is too large for `usize` exceeds the limit as well.
    Ok(digits.parse().unwrap_or(usize::MAX))
}

/// Returns a frame with this body.
pub(crate) fn frame(body: &str) -> Vec<u8> {
    let body = odd::bytes(body);
    let mut bytes = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(&body);
    bytes
}

/// A request or a notification.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// The request's id as JSON; `None` for a notification.
    pub(crate) id: Option<String>,
    pub(crate) method: String,
    pub(crate) params: Params,
    /// Size of the message, in bytes.
    pub(crate) bytes: usize,
}

/// Reads a message.
///
/// # Errors
/// The id with which to answer, as JSON, and the refusal.
pub(crate) fn read(message: &[u8]) -> Result<Request, (String, Refusal)> {
    #[derive(Deserialize)]
    struct Envelope {
        #[serde(default)]
        id: Option<Box<RawValue>>,
        #[serde(default)]
        method: Option<Value>,
        #[serde(default)]
        params: Option<Value>,
    }
    let null = || "null".to_owned();
    let invalid = |why: &str| Refusal::invalid_request(&format!("This is no JSON-RPC request: {why}"));
    let value: Value = serde_json::from_slice(message).map_err(|error| {
        (null(), Refusal::new("parse_error", -32700, false, format!("The message is no JSON: {error}")))
    })?;
    if !value.is_object() {
        return Err((null(), invalid(if value.is_array() { "batches are not taken" } else { "it is no object" })));
    }
    let envelope: Envelope = serde_json::from_slice(message).map_err(|error| (null(), invalid(&error.to_string())))?;
    let id = envelope.id.map(|id| id.get().to_owned());
    if let Some(text) = &id {
        let fits = text.starts_with('"') || text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        if !fits || text.len() > ID_MAX_BYTES {
            return Err((null(), invalid(&format!("an id is a text or a number of at most {ID_MAX_BYTES} bytes"))));
        }
    }
    let Some(Value::String(method)) = envelope.method else {
        return Err((id.unwrap_or_else(null), invalid("the method is missing")));
    };
    Ok(Request { id, method, params: Params(envelope.params.unwrap_or(Value::Null)), bytes: message.len() })
}

/// The parameters of a method.
#[derive(Debug, Clone)]
pub(crate) struct Params(pub(crate) Value);

impl Params {
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// Returns the text member `name`, which must have `least` to `most` bytes.
    pub(crate) fn text(&self, name: &str, least: usize, most: usize) -> Result<String, Refusal> {
        match self.get(name) {
            Some(Value::String(text)) if (least..=most).contains(&text.len()) => Ok(text.clone()),
            _ => Err(Refusal::params(format!("{name} must be a text of {least} to {most} bytes"))),
        }
    }

    /// Returns the text member `name`, which may have at most `most` bytes; `None` if it is absent.
    pub(crate) fn optional_text(&self, name: &str, most: usize) -> Result<Option<String>, Refusal> {
        self.get(name).map(|_| self.text(name, 0, most)).transpose()
    }

    /// Returns the member `name`, which must be an integer from `least` to `most`.
    pub(crate) fn number(&self, name: &str, least: u64, most: u64) -> Result<u64, Refusal> {
        match self.get(name).and_then(Value::as_u64) {
            Some(number) if (least..=most).contains(&number) => Ok(number),
            _ => Err(Refusal::params(format!("{name} must be a whole number from {least} to {most}"))),
        }
    }

    /// Returns the boolean member `name`; false if it is absent.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Refusal> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(value)) => Ok(*value),
            Some(_) => Err(Refusal::params(format!("{name} must be true or false"))),
        }
    }
}

/// An error as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) kind: &'static str,
    code: i32,
    pub(crate) ran: bool,
    pub(crate) message: String,
    detail: Option<String>,
    /// Further members of `data`, each with its name and its value as JSON.
    more: Vec<(&'static str, String)>,
}

impl Refusal {
    pub(crate) fn new(kind: &'static str, code: i32, ran: bool, message: impl Into<String>) -> Self {
        Self { kind, code, ran, message: message.into(), detail: None, more: Vec::new() }
    }

    pub(crate) fn params(message: String) -> Self {
        Self::new("invalid_params", -32602, false, message)
    }

    pub(crate) fn invalid_request(message: &str) -> Self {
        Self::new("invalid_request", -32600, false, message)
    }

    pub(crate) fn not_proven(message: &str) -> Self {
        Self::new("not_proven", -32001, false, message)
    }

    /// Sets `data.message`. Otherwise it is the same as `message`.
    pub(crate) fn detail(mut self, detail: &str) -> Self {
        self.detail = Some(detail.to_owned());
        self
    }

    /// Adds the call and its tool to `data`, before the members that were added earlier.
    pub(crate) fn about(mut self, call: &str, tool: &str) -> Self {
        self.more.splice(0..0, [("callId", quoted(call)), ("tool", quoted(tool))]);
        self
    }

    /// Adds a text to `data`.
    pub(crate) fn with(self, name: &'static str, text: &str) -> Self {
        self.with_raw(name, quoted(text))
    }

    /// Adds a value to `data`.
    pub(crate) fn with_raw(mut self, name: &'static str, json: String) -> Self {
        self.more.push((name, json));
        self
    }

    /// Returns the error object as JSON.
    pub(crate) fn json(&self) -> String {
        let data = Object::new()
            .text("type", self.kind)
            .flag("ran", self.ran)
            .text("message", self.detail.as_ref().unwrap_or(&self.message));
        let data = self.more.iter().fold(data, |data, (name, json)| data.raw(name, json));
        Object::new().number("code", self.code).text("message", &self.message).raw("data", &data.finish()).finish()
    }
}

/// Returns a reply whose result is given as JSON.
pub(crate) fn success(id: &str, result: &str) -> Vec<u8> {
    frame(&Object::new().text("jsonrpc", "2.0").raw("id", id).raw("result", result).finish())
}

/// Returns a reply whose error is given as JSON.
pub(crate) fn failure(id: &str, error: &str) -> Vec<u8> {
    frame(&Object::new().text("jsonrpc", "2.0").raw("id", id).raw("error", error).finish())
}

/// Returns a notification.
pub(crate) fn notification(method: &str, params: Object) -> Vec<u8> {
    frame(&Object::new().text("jsonrpc", "2.0").text("method", method).raw("params", &params.finish()).finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(bytes: &[u8]) -> Result<Option<Bytes>, String> {
        take_frame(&mut BytesMut::from(bytes), 100)
    }

    #[test]
    fn a_frame_is_whole_at_its_last_byte_and_not_before() {
        let bytes = frame("{\"a\":\"ä\"}");
        for cut in 0..bytes.len() {
            assert_eq!(take(&bytes[..cut]), Ok(None), "at {cut}");
        }
        let mut buffer = BytesMut::from(&[&b"X-Other: y\r\ncontent-length:2\r\n\r\n{}"[..], &bytes].concat()[..]);
        assert_eq!(take_frame(&mut buffer, 100), Ok(Some(Bytes::from("{}"))));
        assert_eq!(take_frame(&mut buffer, 100), Ok(Some(Bytes::from("{\"a\":\"ä\"}"))));
        assert!(buffer.is_empty());
    }

    #[test]
    fn what_is_no_header_is_told_at_once() {
        for wrong in [
            "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
            "POST ",
            "\r\n{}",
            "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
            "Content-Length: -2\r\n\r\n{}",
            "Content-Length: 101\r\n\r\n",
            "Content-Length: 99999999999999999999\r\n\r\n",
            "Content-Length: 000000000000000000002\r\n\r\n{}",
            "Content-Length:\r\n\r\n{}",
            ": 2\r\n\r\n",
            "\u{0}",
        ] {
            assert!(take(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert!(take(format!("A: {}", "x".repeat(HEADER_MAX_BYTES)).as_bytes()).is_err());
    }

    #[test]
    fn ids_are_kept_as_they_were_written() {
        for id in ["\"ts_1\"", "7", "-1", "12345678901234567890123"] {
            let request = read(format!("{{\"id\":{id},\"method\":\"ping\"}}").as_bytes()).unwrap();
            assert_eq!(request.id.unwrap(), id);
        }
        assert!(read(b"{\"id\":null,\"method\":\"ping\"}").unwrap().id.is_none());
        for (wrong, kind) in [
            ("[]", "invalid_request"),
            ("{\"id\":[1],\"method\":\"x\"}", "invalid_request"),
            ("{\"id\":1,\"method\":5}", "invalid_request"),
            ("{\"id\":1,", "parse_error"),
            ("\"\\ud800\"", "parse_error"),
        ] {
            assert_eq!(read(wrong.as_bytes()).unwrap_err().1.kind, kind, "{wrong}");
        }
        let deep = format!("{{\"id\":1,\"method\":\"x\",\"params\":{}{}}}", "[".repeat(200), "]".repeat(200));
        assert_eq!(read(deep.as_bytes()).unwrap_err().1.kind, "parse_error");
    }
}
