//! Envelopes: orders into frames, frames into replies and events.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::{
    BadMessage, EditorError, EditorEvent, EncodeError, Expected, Hello, Inbound, LeaveReason, Order, Reply, WireId,
};
use super::tools::LIST_METHODS;
use crate::limits::{JSON_DEPTH_MAX, LOG_FIELD_MAX_BYTES, ULOOP_REQUEST_MAX_BYTES};
use crate::protocol::framing::content_length;
use crate::protocol::ids::CallId;
use crate::protocol::jsonrpc;

/// First part of the id of a message that belongs to no call.
const OWN_PREFIX: &str = "holdfast";
/// The one error code that the package knows.
const INTERNAL_ERROR: i64 = -32603;
/// JSON-RPC's own code, which the package never uses; other servers do.
const METHOD_NOT_FOUND: i64 = -32601;

/// Answers to a call that carries the wrong `x-uloop` (package v2.0 and later).
const WRONG_EDITOR: [&str; 2] = [
    "Connected Unity instance belongs to a different project.",
    "Unity CLI Loop server session changed. Retry the command.",
];
/// Beginnings of what the package says before it runs anything. Only beginnings: a tool's own error may quote such words.
const REFUSALS: [&str; 5] = [
    "Unknown tool: ",
    "Unknown command: ",
    "Parameter type mismatch for tool '",
    "Invalid x-uloop metadata: ",
    "Fast project validation is unavailable.",
];

/// A JSON string literal.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A whole frame for this order. The order of members is the one that the package's own server writes.
pub(super) fn encode(id: WireId, order: &Order<'_>) -> Result<Bytes, EncodeError> {
    let (method, params, trailer) = match order {
        Order::Greeting(hello) => ("set-client-name", greeting_params(hello), String::new()),
        Order::ListTools { step, development } => {
            let method = LIST_METHODS.get(*step).copied().unwrap_or(LIST_METHODS[LIST_METHODS.len() - 1]);
            (method, format!(r#"{{"IncludeDevelopmentOnly":{development}}}"#), String::new())
        }
        Order::Call { tool, arguments, expected } => {
            (*tool, arguments.get().to_owned(), expected.map(identity_member).unwrap_or_default())
        }
    };
    let id = match id.call {
        Some(call) => format!("{call}.{}", id.number),
        None => format!("{OWN_PREFIX}.{}", id.number),
    };
    let body =
        format!(r#"{{"jsonrpc":"2.0","id":{},"method":{},"params":{params}{trailer}}}"#, quoted(&id), quoted(method));
    let frame = content_length::encode(body.as_bytes());
    if frame.len() > ULOOP_REQUEST_MAX_BYTES {
        return Err(EncodeError::TooLarge { bytes: frame.len(), max: ULOOP_REQUEST_MAX_BYTES });
    }
    Ok(frame)
}

/// `ClientPort` is the package's name for the editor's own port. Released versions ignore it and the endpoint.
fn greeting_params(hello: &Hello) -> String {
    let endpoint = match &hello.push_endpoint {
        Some(endpoint) => format!(r#","PushNotificationEndpoint":{}"#, quoted(endpoint)),
        None => String::new(),
    };
    format!(r#"{{"ClientName":{},"ClientPort":{}{endpoint}}}"#, quoted(&hello.client_name), hello.editor_port)
}

/// Versions before v2.0 ignore the member.
fn identity_member(expected: &Expected) -> String {
    format!(
        r#","x-uloop":{{"expectedProjectRoot":{},"expectedServerSessionId":{}}}"#,
        quoted(&expected.project_root),
        quoted(&expected.server_session_id)
    )
}

/// The members of an envelope that mean something. `jsonrpc` is not looked at: the package itself ignores it.
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

/// Keeps `null` apart from an absent member.
fn present<'de, D: serde::Deserializer<'de>>(source: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(source).map(Some)
}

/// The text of one JSON object within the bounds.
pub(super) fn object_text(bytes: &[u8]) -> Result<&str, BadMessage> {
    let text = std::str::from_utf8(bytes).map_err(|_| BadMessage::NotUtf8)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !jsonrpc::depth_ok(text.as_bytes(), JSON_DEPTH_MAX) {
        return Err(BadMessage::TooDeep);
    }
    Ok(text)
}

/// Parses a JSON object into a struct of raw members; arrays, which serde would take as positional fields, are refused.
pub(super) fn parse_object<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, BadMessage> {
    match serde_json::from_str(text) {
        Ok(value) if is_object(text) => Ok(value),
        Ok(_) => Err(BadMessage::NotAMessage("not a JSON object")),
        Err(error) if error.is_data() => Err(BadMessage::NotAMessage("its members are not those of a message")),
        Err(_) => Err(BadMessage::NotJson),
    }
}

/// Whether this JSON text is that of an object.
pub(super) fn is_object(text: &str) -> bool {
    text.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('{')
}

/// What a frame's body says.
pub(super) fn decode(frame: &[u8]) -> Result<Inbound, BadMessage> {
    let envelope: Envelope<'_> = parse_object(object_text(frame)?)?;
    let id = envelope.id.filter(|id| id.get() != "null");
    if let Some(method) = envelope.method {
        return notification(id, method, envelope.params);
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

/// The number in an id of ours. The package echoes ids unchanged, so anything but our own spelling is nobody's.
fn own_number(id: &RawValue) -> Option<u64> {
    let text: String = serde_json::from_str(id.get()).ok()?;
    let (prefix, number) = text.rsplit_once('.')?;
    let known = prefix == OWN_PREFIX || CallId::parse(prefix).is_some();
    let number = number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok()).flatten();
    if known { number } else { None }
}

fn notification(id: Option<&RawValue>, method: &RawValue, params: Option<&RawValue>) -> Result<Inbound, BadMessage> {
    let Ok(method) = serde_json::from_str::<String>(method.get()) else {
        return Err(BadMessage::NotAMessage("the method is not a text"));
    };
    if id.and_then(own_number).is_some() {
        // An editor sends no requests, and this one bears our id: whoever listens there returns what it is sent.
        return Err(BadMessage::NotAMessage("a request of ours, sent back"));
    }
    Ok(match method.as_str() {
        _ if id.is_some() => Inbound::Unmatched { what: loggable(&format!("a request: {method}")) },
        "notifications/tools/list_changed" => Inbound::Event(EditorEvent::ToolsChanged),
        "notifications/server/shutdown" => Inbound::Event(EditorEvent::Leaving(leave_reason(params))),
        _ => Inbound::Unmatched { what: loggable(&format!("a notification: {method}")) },
    })
}

fn leave_reason(params: Option<&RawValue>) -> LeaveReason {
    let params: Value = params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or_default();
    match params.get("reason").and_then(Value::as_str) {
        Some("DomainReload") => LeaveReason::Reload,
        Some("EditorQuit") => LeaveReason::Quit,
        _ => LeaveReason::Unknown,
    }
}

/// Foreign text for a log: control characters escaped, cut to the bound.
fn loggable(text: &str) -> String {
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

/// Reads an error object by name: the package writes the members of `data` in varying order.
fn read_error(error: &RawValue) -> EditorError {
    let error: Value = serde_json::from_str(error.get()).unwrap_or_else(|_| json!({}));
    let code = error.get("code").and_then(Value::as_i64).unwrap_or(INTERNAL_ERROR);
    let data = error.get("data").unwrap_or(&Value::Null);
    let field = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    let parts = [field(&error, "message"), field(data, "message"), field(data, "reason")];
    let wrong_editor = parts.iter().any(|part| WRONG_EDITOR.contains(&part.as_str()));
    let refused = wrong_editor || field(data, "type") == "security_blocked" || parts.iter().any(|part| refusal(part));
    let mut message = String::new();
    for part in &parts {
        if part.is_empty() || message.contains(part.as_str()) {
            continue;
        }
        if !message.is_empty() {
            message.push_str(": ");
        }
        message.push_str(part);
    }
    if message.is_empty() {
        message = format!("the editor answered with error {code} and no text");
    }
    EditorError { code, message, refused, wrong_editor }
}

fn refusal(part: &str) -> bool {
    let disabled = part.starts_with("Tool '") && part.contains("' is disabled. ");
    disabled || REFUSALS.iter().any(|start| part.starts_with(start))
}

/// Whether the editor does not know the method it was asked for.
pub(super) fn unknown_method(error: &EditorError) -> bool {
    error.code == METHOD_NOT_FOUND || REFUSALS[..2].iter().any(|words| error.message.contains(words))
}

/// A result that names the client or says something, as every framed version answers.
///
/// An unknown tool is no greeting: `set-client-name` exists since v0.20 and frames since v0.27, so an editor that is framed
/// and does not know it is another server (the older `setClientName` was only ever spoken in lines). The package's own
/// timeout of the greeting is one: only uLoop words it so, its main thread was busy, and the name is shown to people only.
pub(super) fn check_greeting(reply: &Reply) -> Result<(), String> {
    match reply {
        Reply::Result(result) => {
            let result: Value = serde_json::from_str(result.get()).unwrap_or_default();
            if ["ClientName", "Message"].iter().any(|name| result.get(name).is_some_and(Value::is_string)) {
                return Ok(());
            }
            Err("it answered the greeting with a result that has neither ClientName nor Message".to_owned())
        }
        Reply::Error(error) if error.code == INTERNAL_ERROR && error.message.contains("set-client-name timed out") => {
            Ok(())
        }
        Reply::Error(error) if unknown_method(error) => Err(format!(
            "it does not know set-client-name, which every uLoopMCP since v0.27 knows: {}",
            loggable(&error.message)
        )),
        Reply::Error(error) => Err(format!("it refused the greeting: {}", loggable(&error.message))),
    }
}
