//! Encodes orders into frames, and decodes frames into replies and events.

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::rpc::{self, loggable, quoted};
use super::super::{
    BadGreeting, BadMessage, EditorEvent, EncodeError, Expected, Greeted, Hello, Inbound, LeaveReason, Met, Order,
    Reply, WireId,
};
use super::errors;
use crate::limits::ULOOP_REQUEST_MAX_BYTES;

/// The list methods, newest first: v0.25 and later, v0.20 to v0.24, v0.4 to v0.19. uLoopMCP with frames (v0.27 and later) knows
/// the first; uMCP, which shares this table, needs the others.
pub(in crate::protocol::dialect) const LIST_METHODS: [&str; 3] =
    ["get-tool-details", "get-command-details", "getCommandDetails"];

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
    rpc::decode(frame, errors::read, notified)
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
        Reply::Error(error) if errors::timed_out(error, "set-client-name") => met(),
        Reply::Error(error) if errors::unknown_method(error) => Err(BadGreeting::ForeignPeer(
            format!(
                "it does not know set-client-name, which every uLoopMCP since v0.27 knows: {}",
                loggable(&error.message)
            )
            .into(),
        )),
        Reply::Error(error) => Err(BadGreeting::Refused { what: "greeting", why: loggable(&error.message) }),
    }
}

/// The words for an answer to the greeting that is not the package's.
pub(in crate::protocol::dialect) const NO_GREETING: &str =
    "it answered the greeting with a result that has neither ClientName nor Message";

/// Whether a result is the package's answer to a greeting: one with a text `ClientName` or `Message`.
pub(in crate::protocol::dialect) fn is_greeting(result: &RawValue) -> bool {
    let result: Value = serde_json::from_str(result.get()).unwrap_or_default();
    ["ClientName", "Message"].iter().any(|name| result.get(name).is_some_and(Value::is_string))
}
