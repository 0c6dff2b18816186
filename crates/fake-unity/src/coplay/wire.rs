//! Frames, commands and replies as the package's C# side reads and writes them. Written from the protocol's description alone, so that
//! the gateway's codec is tested against code that does not have the same mistakes.

use bytes::{Buf, Bytes, BytesMut};
use serde_json::{Map, Value, json};

use crate::json::Object;
use crate::odd;
use crate::work::Fault;

/// The first words of the editor on a connection.
pub(super) const GREETING: &str = "WELCOME UNITY-MCP 1 FRAMING=1\n";
/// The largest frame that the editor takes, in bytes (the package's own number).
pub(super) const FRAME_MAX_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of the length before each frame.
pub(super) const LENGTH_BYTES: usize = 8;
/// Characters of a text that is no JSON that are sent back; that there is such a bound is inferred.
const RECEIVED_MAX: usize = 50;

/// Removes the next whole frame from the buffer; `None` if more bytes are needed.
///
/// # Errors
/// The frame is empty or too large: the connection must be closed.
pub(super) fn take_frame(buffer: &mut BytesMut) -> Result<Option<Bytes>, &'static str> {
    let Some(length) = buffer.first_chunk().copied().map(u64::from_be_bytes) else { return Ok(None) };
    let length = usize::try_from(length).ok().filter(|length| (1..=FRAME_MAX_BYTES).contains(length));
    let length = length.ok_or("a frame that is empty or too large")?;
    if buffer.len() < LENGTH_BYTES + length {
        return Ok(None);
    }
    buffer.advance(LENGTH_BYTES);
    Ok(Some(buffer.split_to(length).freeze()))
}

/// Makes a frame.
pub(super) fn frame(text: &str) -> Vec<u8> {
    let body = odd::bytes(text);
    [(body.len() as u64).to_be_bytes().as_slice(), &body].concat()
}

/// A command as far as it could be read.
pub(super) enum Command {
    /// A command with its parameters.
    Named(String, Map<String, Value>),
    /// The reply to something else.
    Wrong(String),
}

/// Reads a command.
pub(super) fn read_command(frame: &[u8]) -> Command {
    let text = String::from_utf8_lossy(frame);
    if text.trim().is_empty() {
        return Command::Wrong(refusal("Empty command received"));
    }
    let Ok(Value::Object(mut members)) = serde_json::from_str(&text) else {
        let received: String = text.chars().take(RECEIVED_MAX).collect();
        let reply = Object::new().text("status", "error").text("error", "Invalid JSON format");
        return Command::Wrong(reply.text("receivedText", &received).finish());
    };
    let name = members.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    if name.is_empty() {
        return Command::Wrong(refusal("Command type cannot be empty"));
    }
    let params = members.remove("params").and_then(|params| serde_json::from_value(params).ok());
    Command::Named(name, params.unwrap_or_default())
}

/// The reply of a command that came to an end. The result is JSON.
pub(super) fn success(result: &str) -> String {
    Object::new().text("status", "success").raw("result", result).finish()
}

/// The reply of the package itself, before anything ran.
pub(super) fn refusal(error: &str) -> String {
    failure(error, "Unknown", Value::Null)
}

/// The reply to a command whose fault ended it.
pub(super) fn of_fault(fault: Fault) -> String {
    match fault {
        Fault::Internal(words) => {
            failure(&words, "Unknown (error during processing)", "  at MCPForUnity.Editor.Tools.Run ()".into())
        }
        Fault::Refused(words) => success(&failed(&words, None).finish()),
        Fault::Blocked(tool) => refusal(&format!("Tool '{tool}' is disabled in the Unity Editor.")),
        // Never sent: the package has other limits of time, and nobody waits for a cancelled command.
        Fault::Timeout { .. } | Fault::Cancelled => refusal("The operation was canceled."),
    }
}

fn failure(error: &str, command: &str, trace: Value) -> String {
    let reply = Object::new().text("status", "error").text("error", error).text("command", command);
    reply.raw("stackTrace", &trace.to_string()).finish()
}

/// The reply when a command took too long. That it has no other members is inferred.
pub(super) fn too_long(error: &str) -> String {
    Object::new().text("status", "error").text("error", error).finish()
}

/// The result of a tool that succeeded.
pub(super) fn done(message: &str, data: &Value) -> Object {
    with_data(Object::new().flag("success", true).text("message", message), Some(data))
}

/// The result of a tool that failed.
pub(super) fn failed(code: &str, data: Option<&Value>) -> Object {
    with_data(Object::new().flag("success", false).text("code", code).text("error", code), data)
}

/// The result of a tool that goes on, and is asked again.
pub(super) fn pending(message: &str, data: &Value) -> Object {
    let result = Object::new().flag("success", true).text("_mcp_status", "pending").raw("_mcp_poll_interval", "0.5");
    with_data(result.text("message", message), Some(data))
}

fn with_data(result: Object, data: Option<&Value>) -> Object {
    match data.filter(|data| !data.is_null()) {
        Some(data) => result.raw("data", &data.to_string()),
        None => result,
    }
}

/// What a tool answers while tests run.
pub(super) fn tests_running() -> Object {
    failed("tests_running", Some(&json!({"reason": "tests_running", "retry_after_ms": 5000})))
}
