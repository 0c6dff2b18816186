//! Frames and envelopes as the package's C# side reads and writes them.

use bytes::{Buf, Bytes, BytesMut};
use serde_json::{Value, json};

use crate::json::{Object, quoted};
use crate::odd;
use crate::work::Fault;

/// The largest request, with its head. A larger one ends the session without an answer.
pub(super) const REQUEST_MAX_BYTES: usize = 1024 * 1024;

/// The only error code of the package.
const ERROR_CODE: i32 = -32603;

/// Removes the next whole frame from the buffer and returns its body; `None` if more bytes are needed.
///
/// # Errors
/// Why the session ends without an answer.
pub(super) fn take_frame(buffer: &mut BytesMut) -> Result<Option<Bytes>, &'static str> {
    const TOO_LARGE: &str = "request too large";
    let Some(end) = memchr::memmem::find(buffer, b"\r\n\r\n") else {
        return if buffer.len() > REQUEST_MAX_BYTES { Err(TOO_LARGE) } else { Ok(None) };
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    let mut headers = head.split("\r\n").filter_map(|line| line.split_once(':'));
    let first = headers.find(|(name, _)| name.trim().eq_ignore_ascii_case("Content-Length"));
    let length = first.and_then(|(_, value)| value.trim().parse::<usize>().ok()).ok_or("no length of the request")?;
    let start = end + 4;
    match start.checked_add(length) {
        Some(whole) if whole <= REQUEST_MAX_BYTES => {
            if buffer.len() < whole {
                return Ok(None);
            }
            buffer.advance(start);
            Ok(Some(buffer.split_to(length).freeze()))
        }
        _ => Err(TOO_LARGE),
    }
}

/// Returns a message as it is sent.
pub(super) fn frame(message: &str) -> Vec<u8> {
    let body = odd::bytes(message);
    [format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes(), body].concat()
}

/// What the editor reads of a request.
#[derive(Debug)]
pub(super) struct Request {
    /// The id as JSON; `None`: a notification.
    pub(super) id: Option<String>,
    pub(super) method: String,
    pub(super) params: Value,
    /// What the client says of itself.
    uloop: Value,
}

/// Reads a request; `None` if it is no JSON object.
pub(super) fn read_request(frame: &[u8]) -> Option<Request> {
    let mut message: Value = serde_json::from_slice(frame).ok()?;
    let members = message.as_object_mut()?;
    let mut take = |name: &str| members.get_mut(name).map(Value::take).unwrap_or_default();
    let id = Some(take("id")).filter(|id| !id.is_null()).map(|id| id.to_string());
    let method = take("method").as_str().unwrap_or_default().to_owned();
    Some(Request { id, method, params: take("params"), uloop: take("uloop") })
}

impl Request {
    /// Whether the client asks for this. Only a boolean counts.
    pub(super) fn asks_for(&self, name: &str) -> bool {
        self.uloop.get(name) == Some(&Value::Bool(true))
    }

    /// Returns a flag of the parameters that is read before the tool is looked up: only under its own name, and only a boolean
    /// counts.
    pub(super) fn flag(&self, name: &str, default: bool) -> bool {
        self.params.get(name).map_or(default, |value| value == &Value::Bool(true))
    }

    /// Returns the error for a client that speaks another protocol; `None` if it speaks this one.
    pub(super) fn misfit(&self, protocol: i64) -> Option<Failure> {
        let current = self.uloop.get("protocolVersion").and_then(Value::as_i64);
        if current == Some(protocol) {
            return None;
        }
        let named = |name| self.uloop.get(name).filter(|value| value.is_string()).cloned();
        let mut data = json!({
            "type": "cli_update_required",
            "message": "The command line and this package speak different protocols",
            "currentCliVersion": named("projectRunnerVersion").or_else(|| named("cliVersion")),
            "currentProtocolVersion": current,
            "requiredProtocolVersion": protocol,
            "retryableAfterUpdate": true,
        });
        // A client that is newer has nothing to update.
        if current.is_none_or(|current| current < protocol) {
            data["updateCommand"] = "uloop update".into();
        }
        Some(Failure { message: "CLI update required".to_owned(), data })
    }
}

/// An error as it is written.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) message: String,
    pub(super) data: Value,
}

impl Failure {
    /// An exception: its words stand in the data.
    pub(super) fn thrown(words: &str) -> Self {
        Self { message: "Internal error".to_owned(), data: json!({"type": "internal_error", "message": words}) }
    }

    /// What the package refuses itself: the words stand in front.
    pub(super) fn refused(words: String) -> Self {
        Self { message: words, data: json!({"type": "internal_error", "message": ""}) }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Internal(words) => Self::thrown(&words),
            Fault::Refused(words) => Self::refused(words),
            Fault::Blocked(tool) => Self {
                message: "Blocked by security settings".to_owned(),
                data: json!({"type": "security_blocked", "reason": "Dynamic code is switched off",
                    "message": format!("{tool} is not allowed in this project")}),
            },
            // Never sent: the package has no limits of time of its own, and a cancelled request gets no answer.
            Fault::Timeout { .. } | Fault::Cancelled => Self::thrown("The operation was canceled."),
        }
    }
}

/// Returns an answer with a result.
pub(super) fn success(id: &str, result: &str) -> Vec<u8> {
    frame(&Object::new().text("jsonrpc", "2.0").raw("id", id).raw("result", result).finish())
}

/// Returns an answer with an error.
pub(super) fn failure(id: &str, Failure { message, data }: &Failure) -> Vec<u8> {
    let error =
        Object::new().number("code", ERROR_CODE).raw("message", &quoted(message)).raw("data", &data.to_string());
    frame(&Object::new().text("jsonrpc", "2.0").raw("id", id).raw("error", &error.finish()).finish())
}

/// Returns a message that comes before the answer.
fn before(id: &str, result: &str, uloop: &Value) -> Vec<u8> {
    let message = Object::new().text("jsonrpc", "2.0").raw("id", id).raw("result", result);
    frame(&message.raw("uloop", &uloop.to_string()).finish())
}

/// Says that a request was taken, and, if it was asked for, how many seconds lie between two heartbeats.
pub(super) fn accepted(id: &str, heartbeat_seconds: Option<u64>) -> Vec<u8> {
    let mut uloop = json!({"phase": "accepted"});
    if let Some(seconds) = heartbeat_seconds {
        uloop["heartbeatIntervalSeconds"] = seconds.into();
    }
    before(id, r#"{"accepted":true}"#, &uloop)
}

/// Says that a request is still at work, and since when the main thread has not ticked.
pub(super) fn heartbeat(id: &str, stall_seconds: f64) -> Vec<u8> {
    before(id, r#"{"alive":true}"#, &json!({"phase": "heartbeat", "mainThreadStallSeconds": stall_seconds}))
}

/// Makes a result of a JSON object. Another value is one without members.
pub(super) fn members(said: &Value) -> Object {
    let members = said.as_object().into_iter().flatten();
    members.fold(Object::new(), |object, (name, value)| object.raw(name, &value.to_string()))
}
