//! Encodes orders into frames, and decodes frames into replies and events.

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::rpc::{self, loggable, quoted, readable};
use super::super::{
    BadGreeting, BadMessage, EditorError, EditorEvent, EncodeError, Expected, Greeted, Hello, Inbound, LeaveReason,
    Met, Order, Refusal, Reply, WireId,
};
use crate::limits::ULOOP_REQUEST_MAX_BYTES;

/// The list methods, newest first: v0.25 and later, v0.20 to v0.24, v0.4 to v0.19. uLoopMCP with frames (v0.27 and later) knows
/// the first; uMCP, which shares this table, needs the others.
pub(in crate::protocol::dialect) const LIST_METHODS: [&str; 3] =
    ["get-tool-details", "get-command-details", "getCommandDetails"];

/// The only error code that the package uses.
const INTERNAL_ERROR: i64 = -32603;
/// JSON-RPC's code for an unknown method. The package never uses it; other servers do.
const METHOD_NOT_FOUND: i64 = -32601;

/// Error texts for a call with a wrong `x-uloop` member (package v2.0 and later).
const WRONG_EDITOR: [&str; 2] = [
    "Connected Unity instance belongs to a different project.",
    "Unity CLI Loop server session changed. Retry the command.",
];
/// Prefixes of the package's errors before it runs anything. Only prefixes are compared, because a tool's own error may quote the
/// words.
const REFUSALS: [&str; 6] = [
    "Unknown tool: ",
    "Unknown command: ",
    "Command not registered: ",
    "Parameter type mismatch for tool '",
    "Invalid x-uloop metadata: ",
    "Fast project validation is unavailable.",
];

/// Encodes this order as a whole frame. The members have the same order as those of the package's own server.
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

/// The parameters of the greeting. `ClientPort` is the package's name for the editor's port. Released versions ignore
/// `ClientPort` and the endpoint.
fn greeting_params(hello: &Hello) -> String {
    let endpoint = match &hello.push_endpoint {
        Some(endpoint) => format!(r#","PushNotificationEndpoint":{}"#, quoted(endpoint)),
        None => String::new(),
    };
    format!(r#"{{"ClientName":{},"ClientPort":{}{endpoint}}}"#, quoted(&hello.client_name), hello.editor_port)
}

/// The `x-uloop` member, which versions before v2.0 ignore.
fn identity_member(expected: &Expected) -> String {
    let Expected::Told { project_root, server_session_id } = expected else { return String::new() };
    format!(
        r#","x-uloop":{{"expectedProjectRoot":{},"expectedServerSessionId":{}}}"#,
        quoted(project_root),
        quoted(server_session_id)
    )
}

/// Decodes the body of a frame.
pub(super) fn decode(frame: &[u8]) -> Result<Inbound, BadMessage> {
    rpc::decode(frame, read_error, notified)
}

/// Maps a known notification to its event; `None` for any other method.
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

/// Reads an error object. Members are read by name, because their order in `data` varies. Before v0.24 `data` is a text.
pub(in crate::protocol::dialect) fn read_error(error: &RawValue) -> EditorError {
    let error = readable(error);
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

/// Whether the error says that the editor does not know the method.
pub(in crate::protocol::dialect) fn unknown_method(error: &EditorError) -> bool {
    error.code == METHOD_NOT_FOUND || REFUSALS[..3].iter().any(|words| error.message.contains(words))
}

/// Checks the reply to `set-client-name`. A result with a text `ClientName` or `Message` is accepted: every version with frames
/// answers like that.
///
/// An "unknown tool" error fails the greeting. `set-client-name` exists since v0.20 and frames since v0.27, so a peer with frames
/// that does not know it is another server (the older `setClientName` exists only in line versions). If the package reports that
/// its greeting timed out, the peer is accepted: only uLoop uses these words, its main thread was merely busy, and the client's
/// name is only shown to people.
pub(super) fn check_greeting(said: &[Reply]) -> Result<Greeted, BadGreeting> {
    let met = || Ok(Greeted::Done(Met::default()));
    match said.last().ok_or(BadGreeting::Silent)? {
        Reply::Result(result) if is_greeting(result) => met(),
        Reply::Result(_) | Reply::Wreck(_) => Err(BadGreeting::ForeignPeer(NO_GREETING.into())),
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

/// What an answer to the greeting that is not the package's is called.
pub(in crate::protocol::dialect) const NO_GREETING: &str =
    "it answered the greeting with a result that has neither ClientName nor Message";

/// Whether a result is the package's answer to a greeting: one with a text `ClientName` or `Message`.
pub(in crate::protocol::dialect) fn is_greeting(result: &RawValue) -> bool {
    let result: Value = serde_json::from_str(result.get()).unwrap_or_default();
    ["ClientName", "Message"].iter().any(|name| result.get(name).is_some_and(Value::is_string))
}

/// Whether the error is the package's own report that this method timed out.
pub(in crate::protocol::dialect) fn timed_out(error: &EditorError, method: &str) -> bool {
    error.code == INTERNAL_ERROR && error.message.contains(&format!("{method} timed out"))
}
