//! What a client says, one line each, without the line's end.

use std::fmt::Display;

use serde_json::{Value, json};

/// The second message of a handshake.
pub const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A request. Id and parameters are shown as they are, so they have to be JSON.
pub fn request(id: impl Display, method: &str, params: impl Display) -> String {
    let method = Value::from(method);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#)
}

/// A notification.
pub fn notification(method: &str, params: impl Display) -> String {
    let method = Value::from(method);
    format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{params}}}"#)
}

/// Takes a request back.
pub fn cancel(id: impl Display) -> String {
    notification("notifications/cancelled", format_args!(r#"{{"requestId":{id}}}"#))
}

/// Parameters of `initialize`.
#[must_use]
pub fn handshake(name: &str, version: &str, capabilities: Value) -> Value {
    json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": name, "version": "1"}})
}

/// Parameters of a call.
#[must_use]
pub fn call(tool: &str, arguments: Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

/// As [`call`], with a token for its progress.
#[must_use]
pub fn call_with_progress(tool: &str, arguments: Value, token: impl Into<Value>) -> Value {
    json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": token.into()}})
}
