//! JSON-RPC envelopes and their Content-Length frames, shared by several dialects.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{BadMessage, EditorError, EncodeError, Inbound, Reply, WireId};
use crate::limits::{JSON_DEPTH_MAX, LOG_FIELD_MAX_BYTES};
use crate::protocol::framing::content_length;
use crate::protocol::ids::CallId;
use crate::protocol::jsonrpc;

/// First part of the id of a message that does not belong to a call.
const OWN_PREFIX: &str = "holdfast";

/// Returns a text as a JSON string literal.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// The text of a message's id: `CALL.NUMBER`, or `holdfast.NUMBER` without a call.
pub(super) fn wire_id(id: WireId) -> String {
    match id.call {
        Some(call) => format!("{call}.{}", id.number),
        None => format!("{OWN_PREFIX}.{}", id.number),
    }
}

/// Encodes a request in a Content-Length frame. `trailer` holds members to append after the parameters; it starts with a comma,
/// or is empty.
pub(super) fn request(id: WireId, method: &str, params: &str, trailer: &str, max: usize) -> Result<Bytes, EncodeError> {
    frame(&format!(r#""id":{},"#, quoted(&wire_id(id))), method, params, trailer, max)
}

/// Encodes a notification in a Content-Length frame.
pub(super) fn notification(method: &str, params: &str, max: usize) -> Result<Bytes, EncodeError> {
    frame("", method, params, "", max)
}

fn frame(id: &str, method: &str, params: &str, trailer: &str, max: usize) -> Result<Bytes, EncodeError> {
    within(content_length::encode(body(id, method, params, trailer).as_bytes()), max)
}

/// The text of a message without a frame. `id` is the whole member with a trailing comma, or empty for a notification.
pub(super) fn body(id: &str, method: &str, params: &str, trailer: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0",{id}"method":{},"params":{params}{trailer}}}"#, quoted(method))
}

/// Returns the frame, or an error if it is larger than the editor accepts.
pub(super) fn within(frame: Bytes, max: usize) -> Result<Bytes, EncodeError> {
    if frame.len() > max {
        return Err(EncodeError::TooLarge { bytes: frame.len(), max });
    }
    Ok(frame)
}

/// The members of an envelope that are used. `jsonrpc` is not checked, because one of the packages ignores it too.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default, borrow, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Returns `Some` for a member that is `null`, to distinguish it from a missing member.
fn present<'de, D: serde::Deserializer<'de>>(source: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(source).map(Some)
}

/// The text of a message, without a byte order mark. Fails if it is not UTF-8 or nested deeper than `JSON_DEPTH_MAX`.
pub(super) fn object_text(bytes: &[u8]) -> Result<&str, BadMessage> {
    let text = std::str::from_utf8(bytes).map_err(|_| BadMessage::NotUtf8)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !jsonrpc::depth_ok(text.as_bytes(), JSON_DEPTH_MAX) {
        return Err(BadMessage::TooDeep);
    }
    Ok(text)
}

/// Parses a JSON object into a struct of raw members. Arrays are refused, because serde would read them as positional fields.
pub(super) fn parse_object<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, BadMessage> {
    match serde_json::from_str(text) {
        Ok(value) if is_object(text) => Ok(value),
        Ok(_) => Err(BadMessage::NotAMessage("not a JSON object")),
        Err(error) if error.is_data() => Err(BadMessage::NotAMessage("its members are not those of a message")),
        Err(_) => Err(BadMessage::NotJson),
    }
}

/// Whether this JSON text is an object.
pub(super) fn is_object(text: &str) -> bool {
    text.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('{')
}

/// Decodes the body of a frame. `read_error` reads an error object. `notified` maps a known notification to its meaning.
pub(super) fn decode(
    frame: &[u8],
    read_error: impl FnOnce(&RawValue) -> EditorError,
    notified: impl FnOnce(&str, Option<&RawValue>) -> Option<Inbound>,
) -> Result<Inbound, BadMessage> {
    decode_with(frame, own_number, read_error, notified)
}

/// Like [`decode`], for ids in another format than ours: `own_number` reads the number in an id.
pub(super) fn decode_with(
    frame: &[u8],
    own_number: impl Fn(&RawValue) -> Option<u64>,
    read_error: impl FnOnce(&RawValue) -> EditorError,
    notified: impl FnOnce(&str, Option<&RawValue>) -> Option<Inbound>,
) -> Result<Inbound, BadMessage> {
    let envelope: Envelope<'_> = parse_object(object_text(frame)?)?;
    let id = envelope.id.filter(|id| id.get() != "null");
    if let Some(method) = envelope.method {
        let Ok(method) = serde_json::from_str::<String>(method.get()) else {
            return Err(BadMessage::NotAMessage("the method is not a text"));
        };
        if id.and_then(&own_number).is_some() {
            // An editor sends no requests, and this one has an id of ours: the peer sends back what it receives.
            return Err(BadMessage::NotAMessage("a request of ours, sent back"));
        }
        if id.is_some() {
            return Ok(Inbound::Unmatched { what: loggable(&format!("a request: {method}")) });
        }
        let unknown = || Inbound::Unmatched { what: loggable(&format!("a notification: {method}")) };
        return Ok(notified(&method, envelope.params).unwrap_or_else(unknown));
    }
    let reply = match (envelope.error.filter(|error| error.get() != "null"), envelope.result) {
        (Some(error), _) => Reply::Error(read_error(error)),
        (None, Some(result)) => Reply::Result(result.to_owned()),
        (None, None) => return Err(BadMessage::NotAMessage("neither method nor result nor error")),
    };
    Ok(match id.and_then(own_number) {
        Some(number) => Inbound::Reply { number, reply },
        None => Inbound::Unmatched { what: loggable(&format!("a reply to id {}", id.map_or("null", RawValue::get))) },
    })
}

/// Returns the error in a reply that names no request, because its id is `null` or missing. `None` for any other frame.
pub(super) fn unnamed_error(frame: &[u8], read_error: impl FnOnce(&RawValue) -> EditorError) -> Option<Reply> {
    let envelope: Envelope<'_> = parse_object(object_text(frame).ok()?).ok()?;
    let named = envelope.id.is_some_and(|id| id.get() != "null");
    let error = envelope.error.filter(|error| error.get() != "null" && !named && envelope.method.is_none())?;
    Some(Reply::Error(read_error(error)))
}

/// Returns the number in an id of ours. Editors return ids unchanged, so an id that is spelled differently is not ours (`None`).
pub(super) fn own_number(id: &RawValue) -> Option<u64> {
    let text: String = serde_json::from_str(id.get()).ok()?;
    let (prefix, number) = text.rsplit_once('.')?;
    let known = prefix == OWN_PREFIX || CallId::parse(prefix).is_some();
    let number = number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok()).flatten();
    if known { number } else { None }
}

/// Prepares text from outside for a log: escapes control characters, and cuts the text at `LOG_FIELD_MAX_BYTES`.
pub(super) fn loggable(text: &str) -> String {
    let mut out = String::new();
    for piece in text.chars().map(char::escape_debug) {
        let piece = piece.to_string();
        if out.len() + piece.len() > LOG_FIELD_MAX_BYTES {
            break;
        }
        out.push_str(&piece);
    }
    out
}
