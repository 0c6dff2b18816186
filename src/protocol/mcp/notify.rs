//! Notifications to the client.

use serde_json::value::RawValue;

use crate::protocol::jsonrpc;

use super::handshake::ProtocolVersion;
use super::request::List;
use crate::protocol::text::quote;

/// Returns a progress notification on one line. `token` is the client's own, unchanged. The caller ensures that `progress` rises
/// with every notification of a call, and that no notification follows the answer.
pub fn progress(
    token: &RawValue,
    progress: f64,
    total: Option<f64>,
    message: Option<&str>,
    version: ProtocolVersion,
) -> String {
    let message = message
        .filter(|_| version.progress_message())
        .map(|message| format!(r#","message":{}"#, quote(message)))
        .unwrap_or_default();
    // Rust prints a float without a fraction as an integer.
    let total = total.map(|total| format!(r#","total":{total}"#)).unwrap_or_default();
    let params =
        format!(r#"{{"progressToken":{},"progress":{progress}{total}{message}}}"#, jsonrpc::compact(token.get()));
    jsonrpc::notification("notifications/progress", Some(&params))
}

/// The notification that a list has changed, on one line.
pub fn list_changed(list: List) -> String {
    jsonrpc::notification(list.notification(), None)
}
