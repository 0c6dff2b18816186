//! Reads the bytes of a dialect for the proxy: where a frame ends, what it asks, what it answers. It shares no code with the
//! gateway's codecs, so that it does not share their mistakes.

use holdfast_fake_unity::FakeDialect;
use serde_json::Value;

/// The dialect of the package whose bytes are read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Speech(pub FakeDialect);

/// The error for bytes that cannot be the beginning of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoFrame;

/// What a complete frame of the gateway asks.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The tool of a call, or else the method.
    pub method: String,
    /// The request's id as it is written; empty over HTTP.
    pub id: String,
    /// Id of the call in the editor's journal.
    pub sending: Option<String>,
    /// Whether the frame calls a tool. Always false for uLoopMCP and uMCP, which have no method of their own for calls.
    pub is_call: bool,
}

impl Speech {
    /// Returns the length of the frame at the start of these bytes; `None` if the frame is incomplete.
    ///
    /// # Errors
    /// [`NoFrame`] if the bytes cannot begin a frame.
    pub fn length(self, bytes: &[u8]) -> Result<Option<usize>, NoFrame> {
        match self.0 {
            FakeDialect::Uloop | FakeDialect::Holdfast => framed(bytes),
            FakeDialect::Umcp | FakeDialect::Turbokettle => {
                Ok(bytes.iter().position(|byte| *byte == b'\n').map(|end| end + 1))
            }
            FakeDialect::UnityMcp => http(bytes),
        }
    }

    /// Returns the message in a frame; null if the frame has no JSON.
    pub fn message(self, frame: &[u8]) -> Value {
        let body = match self.0 {
            FakeDialect::Umcp | FakeDialect::Turbokettle => Some(frame),
            FakeDialect::Uloop | FakeDialect::Holdfast | FakeDialect::UnityMcp => {
                frame.windows(4).position(|window| window == b"\r\n\r\n").and_then(|end| frame.get(end + 4..))
            }
        };
        body.and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default()
    }

    /// Reads what a frame of the gateway asks for.
    pub fn asked(self, frame: &[u8], message: &Value) -> Asked {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        match self.0 {
            FakeDialect::Uloop | FakeDialect::Umcp => {
                Asked { method: text(message.get("method")), id: id_of(message), ..Asked::default() }
            }
            FakeDialect::Holdfast => {
                let method = text(message.get("method"));
                let is_call = method == "holdfast/call";
                let sending = message.pointer("/params/callId").and_then(Value::as_str).filter(|_| is_call);
                Asked {
                    method: if sending.is_some() { text(message.pointer("/params/tool")) } else { method },
                    id: id_of(message),
                    sending: sending.map(str::to_owned),
                    is_call,
                }
            }
            FakeDialect::Turbokettle => {
                let method = text(message.get("cmd"));
                let is_call = method == "invoke_tool";
                let params: Value = serde_json::from_str(&text(message.get("params"))).unwrap_or_default();
                let method = if is_call { text(params.get("tool")) } else { method };
                Asked { method, id: id_of(message), sending: None, is_call }
            }
            FakeDialect::UnityMcp => {
                let head = String::from_utf8_lossy(frame);
                let path = head.split(' ').nth(1).unwrap_or_default();
                let (method, is_call) = match path.strip_prefix("/api/CodeExecution/") {
                    Some("execute-code") => ("execute_code", true),
                    Some("game-state") => ("get_state", true),
                    Some("start-game") => ("start_game", true),
                    Some("stop-game") => ("stop_game", true),
                    _ => (path, false),
                };
                Asked { method: method.to_owned(), is_call, ..Asked::default() }
            }
        }
    }

    /// Returns the id that a frame of the editor answers; empty if it names none.
    pub fn answered(self, message: &Value) -> String {
        id_of(message)
    }

    /// Whether each request has its own connection, so that an answer needs no id.
    pub fn asks_once(self) -> bool {
        self.0 == FakeDialect::UnityMcp
    }

    /// Whether the ids of the dialect's requests name their calls.
    pub fn names_calls(self) -> bool {
        !matches!(self.0, FakeDialect::Umcp | FakeDialect::UnityMcp)
    }

    /// Whether the editor reports that nothing of a request ran or will run. holdfast's package reports it in a field,
    /// uLoopMCP from v2.0.0 on by the two refusals of `x-uloop`, turbokettle when it does not know the tool.
    pub fn is_unrun(self, message: &Value) -> bool {
        let error = message.get("error").map(Value::to_string).unwrap_or_default();
        match self.0 {
            FakeDialect::Holdfast => message.pointer("/error/data/ran") == Some(&Value::Bool(false)),
            FakeDialect::Uloop => {
                error.contains("server session changed") || error.contains("belongs to a different project")
            }
            FakeDialect::Turbokettle => {
                error.starts_with("\"Unknown tool: ") && message.get("ok") == Some(&Value::Bool(false))
            }
            FakeDialect::Umcp | FakeDialect::UnityMcp => false,
        }
    }

    /// Whether the proxy may deliver a frame twice on its connection. uMCP before v0.18 sends errors without an id: only
    /// their order shows which request they answer, and real TCP never delivers anything twice.
    pub fn may_come_again(self, message: &Value) -> bool {
        match self.0 {
            FakeDialect::Umcp => message.get("method").is_some() || !self.answered(message).is_empty(),
            FakeDialect::Uloop | FakeDialect::Holdfast | FakeDialect::Turbokettle | FakeDialect::UnityMcp => true,
        }
    }

    /// Whether the proxy may deliver a frame again on a later connection. Not over HTTP, where only the connection shows
    /// which request a response belongs to.
    pub fn may_be_replayed(self, message: &Value) -> bool {
        !self.asks_once() && self.may_come_again(message)
    }
}

fn framed(bytes: &[u8]) -> Result<Option<usize>, NoFrame> {
    const NAME: &[u8] = b"Content-Length:";
    let seen = bytes.len().min(NAME.len());
    if bytes[..seen] != NAME[..seen] {
        return Err(NoFrame);
    }
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    let header = std::str::from_utf8(&bytes[NAME.len()..end]).map_err(|_| NoFrame)?;
    let number = header.split("\r\n").next().unwrap_or_default().trim();
    let length: usize = number.parse().map_err(|_| NoFrame)?;
    Ok((bytes.len() >= end + 4 + length).then_some(end + 4 + length))
}

/// Returns the length of a request or response whose head gives the length of the body.
fn http(bytes: &[u8]) -> Result<Option<usize>, NoFrame> {
    let begins = |word: &[u8]| bytes.iter().zip(word).all(|(byte, letter)| byte == letter);
    if ![b"HTTP/1.1 ".as_slice(), b"GET /", b"POST /"].into_iter().any(begins) {
        return Err(NoFrame);
    }
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let length = head.split("\r\n").find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.unwrap_or("0").trim().parse().map_err(|_| NoFrame)?;
    Ok((bytes.len() >= end + 4 + length).then_some(end + 4 + length))
}

/// Encodes a message as a Content-Length frame.
pub fn frame(message: &Value) -> Vec<u8> {
    let text = message.to_string();
    format!("Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes()
}

fn id_of(message: &Value) -> String {
    let id = message.get("id").filter(|id| !id.is_null());
    id.map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_dialects_frames_are_told_apart_and_read() {
        let asked = |dialect, frame: &str| {
            let speech = Speech(dialect);
            let bytes = format!("{frame}next").into_bytes();
            assert_eq!(speech.length(&bytes[..frame.len() - 1]), Ok(None), "{frame}");
            assert_eq!(speech.length(&bytes), Ok(Some(frame.len())), "{frame}");
            speech.asked(frame.as_bytes(), &speech.message(frame.as_bytes()))
        };
        let one =
            |method: &str, id: &str, is_call| Asked { method: method.into(), id: id.into(), is_call, sending: None };
        let line = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"count\",\"params\":{}}\n";
        assert_eq!(asked(FakeDialect::Umcp, line), one("count", "7", false));
        let line = "{\"id\":\"c.7\",\"cmd\":\"invoke_tool\",\"params\":\"{\\\"tool\\\":\\\"count\\\"}\"}\n";
        assert_eq!(asked(FakeDialect::Turbokettle, line), one("count", "c.7", true));
        assert_eq!(asked(FakeDialect::Turbokettle, "{\"id\":\"h.1\",\"cmd\":\"ping\"}\n"), one("ping", "h.1", false));
        let request = "POST /api/CodeExecution/execute-code HTTP/1.1\r\nContent-Length: 4\r\n\r\ncode";
        assert_eq!(asked(FakeDialect::UnityMcp, request), one("execute_code", "", true));
        let ping = "GET /ping HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(asked(FakeDialect::UnityMcp, ping), one("/ping", "", false));
        let message = serde_json::json!({"id": "c.7", "method": "count"});
        let framed = String::from_utf8(frame(&message)).expect("text");
        assert_eq!(asked(FakeDialect::Uloop, &framed), one("count", "c.7", false));
        assert_eq!(Speech(FakeDialect::Uloop).length(b"HTTP/1.1 200 OK"), Err(NoFrame));
        assert_eq!(Speech(FakeDialect::UnityMcp).length(b"Content-Length: 3"), Err(NoFrame));
    }
}
