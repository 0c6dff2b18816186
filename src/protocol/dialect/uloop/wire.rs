//! Envelopes: orders into frames, frames into replies and events.

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::rpc::{self, loggable, quoted};
use super::super::{
    BadGreeting, BadMessage, EditorError, EditorEvent, EncodeError, Expected, Greeted, Hello, Inbound, LeaveReason,
    Met, Order, Refusal, Reply, WireId,
};
use crate::limits::ULOOP_REQUEST_MAX_BYTES;

/// The list methods, newest first: v0.25 and later, v0.20 to v0.24, v0.4 to v0.19. Framed versions know the first; the others
/// cost nothing.
pub(in crate::protocol::dialect) const LIST_METHODS: [&str; 3] =
    ["get-tool-details", "get-command-details", "getCommandDetails"];

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
const REFUSALS: [&str; 6] = [
    "Unknown tool: ",
    "Unknown command: ",
    "Command not registered: ",
    "Parameter type mismatch for tool '",
    "Invalid x-uloop metadata: ",
    "Fast project validation is unavailable.",
];

/// A whole frame for this order. The order of members is the one that the package's own server writes.
pub(super) fn encode(id: WireId, order: &Order<'_>) -> Result<Bytes, EncodeError> {
    let (method, params, trailer) = match order {
        Order::Greeting { hello, .. } => ("set-client-name", greeting_params(hello), String::new()),
        Order::ListTools { step, development } => {
            let method = LIST_METHODS.get(*step).copied().unwrap_or(LIST_METHODS[LIST_METHODS.len() - 1]);
            (method, format!(r#"{{"IncludeDevelopmentOnly":{development}}}"#), String::new())
        }
        Order::Call { tool, call, expected, .. } => {
            (*tool, call.arguments.get().to_owned(), expected.map(identity_member).unwrap_or_default())
        }
        Order::Outcomes(_) | Order::Cancel(_) | Order::Heartbeat => return Err(EncodeError::NotSpoken),
    };
    rpc::request(id, method, &params, &trailer, ULOOP_REQUEST_MAX_BYTES)
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
    let Expected::Told { project_root, server_session_id } = expected else { return String::new() };
    format!(
        r#","x-uloop":{{"expectedProjectRoot":{},"expectedServerSessionId":{}}}"#,
        quoted(project_root),
        quoted(server_session_id)
    )
}

/// What a frame's body says.
pub(super) fn decode(frame: &[u8]) -> Result<Inbound, BadMessage> {
    rpc::decode(frame, read_error, notified)
}

/// What a notification means.
pub(in crate::protocol::dialect) fn notified(method: &str, params: Option<&RawValue>) -> Option<Inbound> {
    Some(Inbound::Event(match method {
        "notifications/tools/list_changed" => EditorEvent::ToolsChanged,
        "notifications/server/shutdown" => EditorEvent::Leaving(leave_reason(params)),
        _ => return None,
    }))
}

fn leave_reason(params: Option<&RawValue>) -> LeaveReason {
    let params: Value = params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or_default();
    match params.get("reason").and_then(Value::as_str) {
        Some("DomainReload") => LeaveReason::Reload,
        Some("EditorQuit") => LeaveReason::Quit,
        _ => LeaveReason::Unknown,
    }
}

/// Reads an error object by name: the package writes the members of `data` in varying order. Before v0.24 `data` is a text.
pub(in crate::protocol::dialect) fn read_error(error: &RawValue) -> EditorError {
    let error: Value = serde_json::from_str(error.get()).unwrap_or_else(|_| json!({}));
    let code = error.get("code").and_then(Value::as_i64).unwrap_or(INTERNAL_ERROR);
    let data = error.get("data").unwrap_or(&Value::Null);
    let field = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    let data_text = data.as_str().map_or_else(|| field(data, "message"), |text| text.trim().to_owned());
    let parts = [field(&error, "message"), data_text, field(data, "reason")];
    let wrong_editor = parts.iter().any(|part| WRONG_EDITOR.contains(&part.as_str()));
    let refused = field(data, "type") == "security_blocked" || parts.iter().any(|part| is_refusal(part));
    let refusal = if wrong_editor { Some(Refusal::WrongEditor) } else { refused.then_some(Refusal::Final) };
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
    EditorError { code, message, refusal }
}

fn is_refusal(part: &str) -> bool {
    let disabled = part.starts_with("Tool '") && part.contains("' is disabled. ");
    disabled || REFUSALS.iter().any(|start| part.starts_with(start))
}

/// Whether the editor does not know the method it was asked for.
pub(in crate::protocol::dialect) fn unknown_method(error: &EditorError) -> bool {
    error.code == METHOD_NOT_FOUND || REFUSALS[..3].iter().any(|words| error.message.contains(words))
}

/// A result that names the client or says something, as every framed version answers.
///
/// An unknown tool is no greeting: `set-client-name` exists since v0.20 and frames since v0.27, so an editor that is framed
/// and does not know it is another server (the older `setClientName` was only ever spoken in lines). The package's own
/// timeout of the greeting is one: only uLoop words it so, its main thread was busy, and the name is shown to people only.
pub(super) fn check_greeting(said: &[Reply]) -> Result<Greeted, BadGreeting> {
    let met = || Ok(Greeted::Done(Met::default()));
    match said.last().ok_or(BadGreeting::Silent)? {
        Reply::Result(result) if is_greeting(result) => met(),
        Reply::Result(_) => Err(BadGreeting::ForeignPeer(
            "it answered the greeting with a result that has neither ClientName nor Message".into(),
        )),
        Reply::Error(error) if timed_out(error, "set-client-name") => met(),
        Reply::Error(error) if unknown_method(error) => Err(BadGreeting::ForeignPeer(
            format!(
                "it does not know set-client-name, which every uLoopMCP since v0.27 knows: {}",
                loggable(&error.message)
            )
            .into(),
        )),
        Reply::Error(error) => Err(BadGreeting::Refused { what: "greeting", why: loggable(&error.message) }),
    }
}

/// Whether a result is what the package answers to a greeting: it names the client or says something.
pub(in crate::protocol::dialect) fn is_greeting(result: &RawValue) -> bool {
    let result: Value = serde_json::from_str(result.get()).unwrap_or_default();
    ["ClientName", "Message"].iter().any(|name| result.get(name).is_some_and(Value::is_string))
}

/// Whether this is the package's own timeout of a method.
pub(in crate::protocol::dialect) fn timed_out(error: &EditorError, method: &str) -> bool {
    error.code == INTERNAL_ERROR && error.message.contains(&format!("{method} timed out"))
}
