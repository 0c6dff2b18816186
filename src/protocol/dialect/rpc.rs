//! JSON-RPC envelopes and their Content-Length frames, shared by several dialects.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::members::Members;
use super::wreck::{self, Wreck};
use super::{BadMessage, EditorError, EncodeError, Inbound, Reply, WireId};
use crate::limits::LOG_FIELD_MAX_BYTES;
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

/// The text of a message, without a byte order mark. Fails if it is not UTF-8. How deep it is nested does not matter: raw members
/// are found without recursion, and a parser of values refuses what is too deep for it.
pub(super) fn object_text(bytes: &[u8]) -> Result<&str, BadMessage> {
    let text = std::str::from_utf8(bytes).map_err(|_| BadMessage::NotUtf8)?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
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
    let read = object_text(frame).and_then(parse_object::<Envelope<'_>>);
    let (envelope, wreck, fault) = match read {
        Ok(envelope) => (envelope, None, BadMessage::NotAMessage("neither method nor result nor error")),
        Err(fault) => {
            let (envelope, wreck) = salvaged(frame);
            (envelope, wreck, fault)
        }
    };
    let id = envelope.id.filter(|id| id.get() != "null");
    let number = id.and_then(own_number);
    if let Some(method) = envelope.method {
        let Ok(method) = serde_json::from_str::<String>(method.get()) else {
            return Err(BadMessage::ODD_METHOD);
        };
        if number.is_some() {
            // An editor sends no requests, and this one has an id of ours: the peer sends back what it receives.
            return Err(BadMessage::ECHO);
        }
        if id.is_some() {
            return Ok(Inbound::Unmatched { what: loggable(&format!("a request: {method}")) });
        }
        let unknown = || Inbound::Unmatched { what: loggable(&format!("a notification: {method}")) };
        return Ok(notified(&method, envelope.params).unwrap_or_else(unknown));
    }
    let reply = match (envelope.error.filter(|error| error.get() != "null"), envelope.result, wreck) {
        (Some(error), ..) => Reply::Error(read_error(error)),
        (None, Some(result), None) => Reply::Result(result.to_owned()),
        (None, _, Some(wreck)) => Reply::Wreck(wreck),
        // Whatever the message is, it answers the request that it names.
        (None, None, None) if number.is_some() => Reply::Wreck(Wreck::of_message(frame)),
        (None, None, None) => return Err(fault),
    };
    match number {
        Some(number) => Ok(Inbound::Reply { number, reply }),
        None if matches!(reply, Reply::Wreck(_)) && id.is_none() => Err(fault),
        None => {
            Ok(Inbound::Unmatched { what: loggable(&format!("a reply to id {}", id.map_or("null", RawValue::get))) })
        }
    }
}

/// Returns the readable parts of a message that is not JSON as a whole: the members that are JSON, and the broken
/// result or error as a wreck.
fn salvaged(frame: &[u8]) -> (Envelope<'_>, Option<Wreck>) {
    let parts = wreck::parts(frame, ["id", "method", "params", "result", "error"]).values;
    let [id, method, params, result, error] = parts.map(|part| part.and_then(wreck::json));
    let broken = |index: usize, read: Option<&RawValue>| parts.get(index).copied().flatten().filter(|_| read.is_none());
    let wreck = match (broken(4, error), broken(3, result)) {
        (Some(error), _) => Some(Wreck::of_error(error)),
        (None, Some(result)) => Some(Wreck::of_result(result)),
        (None, None) => None,
    };
    (Envelope { id, method, params, result, error }, wreck)
}

/// Reads JSON member by member. A value that no parser takes, because it is nested too deep or has a number out of
/// range, becomes null, and everything else is kept. Looks into objects for two levels, which is where an error object
/// has its texts.
pub(super) fn readable(json: &RawValue) -> Value {
    fn within(json: &RawValue, levels: u8) -> Value {
        let whole = serde_json::from_str(json.get()).ok();
        whole.or_else(|| serde_json::from_str(&jsonrpc::strict(json.get())?).ok()).unwrap_or_else(|| {
            let members = Members::of(json).filter(|_| levels > 0);
            members.map_or(Value::Null, |members| {
                members.iter().map(|(name, value)| (name.to_owned(), within(value, levels - 1))).collect()
            })
        })
    }
    within(json, 2)
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
