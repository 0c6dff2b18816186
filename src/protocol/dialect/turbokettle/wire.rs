//! Encodes each [`Order`] as a line, and decodes lines into replies.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::rpc::{self, loggable, object_text, parse_object, quoted};
use super::super::wreck::{self, Wreck};
use super::super::{
    BadGreeting, BadMessage, EditorError, EncodeError, Greeted, Hello, Inbound, Met, Order, Reply, WireId,
};
use super::schema;
use crate::limits::TURBOKETTLE_REQUEST_MAX_BYTES;
use crate::protocol::jsonrpc;

/// The package's error before its tool registry exists.
pub(super) const NO_REGISTRY: &str = "Tool registry not initialized";
/// The package's error while it starts and has not registered the ping yet.
const NO_PING: &str = "Ping handler not registered";
/// The value used as error code, because the package sends none.
const NO_CODE: i64 = 0;

/// Encodes an [`Order`] as a line. Its members come in the same sequence as in lines from the package's own server.
pub(super) fn encode(id: WireId, order: &Order<'_>) -> Result<Bytes, EncodeError> {
    let rest = match order {
        Order::Greeting { .. } | Order::Heartbeat => r#""cmd":"ping""#.to_owned(),
        Order::ListTools { .. } => r#""cmd":"list_tools""#.to_owned(),
        Order::Call { tool, call, .. } => {
            // Quoting escapes every line break in the arguments. The package treats a lone CR as the end of a line too.
            let params = format!(r#"{{"tool":{},"arguments":{}}}"#, quoted(tool), quoted(call.arguments.get()));
            format!(r#""cmd":"invoke_tool","params":{}"#, quoted(&params))
        }
        Order::Outcomes(_) | Order::Cancel(_) => return Err(EncodeError::NotSpoken),
    };
    let line = format!("{{\"id\":{},{rest}}}\n", quoted(&rpc::wire_id(id)));
    if line.len() > TURBOKETTLE_REQUEST_MAX_BYTES {
        return Err(EncodeError::TooLarge { bytes: line.len(), max: TURBOKETTLE_REQUEST_MAX_BYTES });
    }
    Ok(line.into())
}

/// The members that every reply has.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    ok: bool,
    #[serde(borrow)]
    data: &'a RawValue,
    #[serde(borrow)]
    error: &'a RawValue,
}

/// Decodes a line. The package sends only replies.
pub(super) fn decode(line: &[u8]) -> Result<Inbound, BadMessage> {
    let envelope: Envelope<'_> = match object_text(line).and_then(parse_object) {
        Ok(envelope) => envelope,
        Err(fault) => return salvaged(line).ok_or(fault),
    };
    let is_text = envelope.data.get().starts_with('"') || envelope.data.get() == "null";
    let Some(error) = data(envelope.error).filter(|_| is_text) else {
        return salvaged(line).ok_or(BadMessage::NotAMessage("its data or its error is not a text"));
    };
    let Some(number) = rpc::own_number(envelope.id) else {
        return Ok(Inbound::Unmatched { what: loggable(&format!("a reply to id {}: {error}", envelope.id.get())) });
    };
    let reply = if envelope.ok { Reply::Result(envelope.data.to_owned()) } else { Reply::Error(read_error(&error)) };
    Ok(Inbound::Reply { number, reply })
}

/// Reads a line that is not a reply as a whole, as far as it can be read. `None` if it does not name a request of ours.
///
/// The package does not escape most control characters in a text. They are read as they are.
fn salvaged(line: &[u8]) -> Option<Inbound> {
    let [id, ok, data, error] = wreck::parts(line, ["id", "ok", "data", "error"]).values;
    let number = rpc::own_number(id.and_then(wreck::json)?)?;
    // Without any member of a reply, the line is a request of ours, sent back.
    ok.or(data).or(error)?;
    let text = |part: Option<&[u8]>| {
        let text = std::str::from_utf8(part?).ok()?;
        serde_json::from_str::<Option<String>>(&schema::escaped(text)).ok().map(Option::unwrap_or_default)
    };
    let reply = match (ok, text(data), text(error)) {
        // The line is JSON, but no reply of this package.
        _ if wreck::json(line).is_some() => Reply::Wreck(Wreck::of_message(line)),
        (Some(b"true"), Some(data), _) => Reply::Result(RawValue::from_string(quoted(&data)).ok()?),
        (Some(b"false"), _, Some(error)) => Reply::Error(read_error(&error)),
        (Some(b"true"), None, _) => Reply::Wreck(Wreck::of_result(data.unwrap_or(line))),
        _ => Reply::Wreck(Wreck::of_message(line)),
    };
    Some(Inbound::Reply { number, reply })
}

/// Reads an error. No error of this package proves that nothing ran: a reply has one text for the package's errors and for those
/// of a tool, so a tool can write each of them (`Unknown tool: x`, `Tool registry not initialized`).
fn read_error(text: &str) -> EditorError {
    let text = text.trim();
    let message = if text.is_empty() { "the editor answered with an error and no text" } else { text };
    EditorError { code: NO_CODE, message: message.to_owned(), refusal: None }
}

/// Reads a text; `null` is read as an empty text. `None` for any other JSON.
pub(super) fn data(result: &RawValue) -> Option<String> {
    let read = |json: &str| serde_json::from_str::<Option<String>>(json).ok().map(Option::unwrap_or_default);
    // Half of a surrogate pair is no reason to lose the rest of the text.
    read(result.get()).or_else(|| read(&jsonrpc::strict(result.get())?))
}

/// Accepts a ping reply with the status `ok`. The package asks for no proof and gives none.
pub(super) fn check_greeting(hello: &Hello, said: &[Reply]) -> Result<Greeted, BadGreeting> {
    match said.last().ok_or(BadGreeting::Silent)? {
        Reply::Result(result) => {
            let pong: Value = data(result).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
            if pong.get("status").and_then(Value::as_str) == Some("ok") {
                // Each domain listens once, on a new port that the system chooses, so the port identifies the domain.
                let domain = Some(u64::from(hello.editor_port));
                return Ok(Greeted::Done(Met { domain, ..Met::default() }));
            }
            Err(BadGreeting::ForeignPeer("it answered the ping, but not with the status ok".into()))
        }
        Reply::Wreck(_) => Err(BadGreeting::ForeignPeer("it answered the ping with what cannot be read".into())),
        Reply::Error(error) if error.message == NO_PING || error.message == NO_REGISTRY => {
            Err(BadGreeting::Starting(loggable(&error.message)))
        }
        Reply::Error(error) => Err(BadGreeting::Refused { what: "ping", why: loggable(&error.message) }),
    }
}
