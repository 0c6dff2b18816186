//! The messages of a client, one line each, without the line end.

use std::fmt::Display;

use serde_json::{Value, json};

/// The second message of a handshake.
pub const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Returns a request. `id` and `params` are inserted as they are, so they must be JSON.
pub fn request(id: impl Display, method: &str, params: impl Display) -> String {
    let method = Value::from(method);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#)
}

/// Returns a notification. `params` is inserted as it is, so it must be JSON.
pub fn notification(method: &str, params: impl Display) -> String {
    let method = Value::from(method);
    format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{params}}}"#)
}

/// Returns the cancellation of a request.
pub fn cancel(id: impl Display) -> String {
    notification("notifications/cancelled", format_args!(r#"{{"requestId":{id}}}"#))
}

/// Returns the parameters of `initialize`.
#[must_use]
pub fn handshake(name: &str, version: &str, capabilities: Value) -> Value {
    json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": name, "version": "1"}})
}

/// Returns the parameters of a call.
#[must_use]
pub fn call(tool: &str, arguments: Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

/// Like [`call`], with a token for its progress.
#[must_use]
pub fn call_with_progress(tool: &str, arguments: Value, token: impl Into<Value>) -> Value {
    json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": token.into()}})
}
