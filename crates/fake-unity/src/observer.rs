//! Reads the bytes of a connection as somebody who looks on: where a frame ends, what it asks, what it answers. The simulation puts
//! such an observer between the gateway and an editor. It shares no code with the gateway's codecs, so that it does not share their
//! mistakes.

use serde_json::Value;

/// How the bytes of a package's connections are read.
pub struct Wire {
    /// Returns the length of the frame at the start of these bytes; `None` if the frame is incomplete.
    pub length: fn(&[u8]) -> Result<Option<usize>, NoFrame>,
    /// Reads what a frame of the gateway asks for. The value is the frame's message.
    pub asked: fn(&[u8], &Value) -> Asked,
    /// Returns the arguments that the editor reads in a message that calls a tool; null if they are not JSON.
    pub arguments: fn(&Value) -> Value,
    /// Returns the name of what a message of the editor says by itself; `None` if it answers a request.
    pub says: fn(&Value) -> Option<String>,
    /// Reads what a message of the editor answers to a call; `None` if it answers nothing.
    pub answered: fn(&Value) -> Option<Answered>,
    /// Returns the number of tools in the result of a list, those included that the package's own server adds; `None` if it is no
    /// list.
    pub listed: fn(&Value) -> Option<usize>,
    /// Reads what the result of a question about calls says of them.
    pub outcomes: fn(&Value) -> Outcomes,
    /// Whether the editor reports with this message that nothing of a request ran or will run.
    pub is_unrun: fn(&Value) -> bool,
}

/// The error for bytes that cannot be the beginning of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoFrame;

/// What a complete frame of the gateway asks.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The tool of a call, or else the method.
    pub method: String,
    /// The request's id as it is written; empty if it has none.
    pub id: String,
    /// Id of the call in the editor's journal.
    pub sending: Option<String>,
    /// Whether the frame calls a tool. Always false for a package that has no method of its own for calls.
    pub is_call: bool,
}

/// What a message of the editor answers to a call.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// Whether it has a result. If not, it has an error.
    pub is_result: bool,
    /// What the tool returned.
    pub result: Value,
    /// Whether the result says that the tool failed.
    pub failed: bool,
}

/// What an editor's journal says of calls.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// The name of the journal; `None` if this package's answers name only the call.
    pub journal: Option<String>,
    /// For each call its id in the journal, and what became of it; `None` if that cannot be read.
    pub calls: Vec<(String, Option<Fate>)>,
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It waits or runs.
    Running,
    /// It has ended.
    Ended,
    /// The editor waits for it no longer. It may still wait or run, and nobody hears of its end.
    GivenUp,
    /// It has not run and will not.
    NotRun,
    /// A reload stopped it.
    Interrupted,
    /// The journal does not know.
    Forgotten,
}

/// Returns the message in a frame, which may have a head or its length in front; null if the frame has no JSON.
pub fn message(frame: &[u8]) -> Value {
    // No text begins with such a byte.
    if frame.first().is_some_and(|first| first & 0x80 != 0) {
        return serde_json::from_slice(&payload(frame)).unwrap_or_default();
    }
    let head = frame.windows(4).position(|window| window == b"\r\n\r\n");
    let body = match (head, frame) {
        // A length of 64 bits.
        (_, [0, 0, 0, 0, ..]) => frame.get(8..).unwrap_or_default(),
        (Some(end), _) => frame.get(end + 4..).unwrap_or_default(),
        (None, _) => frame,
    };
    serde_json::from_slice(body).unwrap_or_default()
}

/// Returns the id of a message; empty if it has none.
pub fn id_of(message: &Value) -> String {
    let id = message.get("id").filter(|id| !id.is_null());
    id.map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned)).unwrap_or_default()
}

/// Encodes a message as a Content-Length frame.
pub fn frame(message: &Value) -> Vec<u8> {
    let text = message.to_string();
    format!("Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes()
}

/// Returns a member's text; empty if it is none.
pub(crate) fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The length of a Content-Length frame.
pub(crate) fn framed(bytes: &[u8]) -> Result<Option<usize>, NoFrame> {
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

/// The length of a line.
#[expect(clippy::unnecessary_wraps, reason = "any bytes begin a line; other framings refuse some")]
pub(crate) fn line(bytes: &[u8]) -> Result<Option<usize>, NoFrame> {
    Ok(bytes.iter().position(|byte| *byte == b'\n').map(|end| end + 1))
}

/// The length of a request or response whose head gives the length of the body.
pub(crate) fn http(bytes: &[u8]) -> Result<Option<usize>, NoFrame> {
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

/// The first bytes of a WebSocket's frames, as far as packages use them: a whole text, a close, a ping and a pong.
const WEBSOCKET_FRAMES: [u8; 4] = [0x81, 0x88, 0x89, 0x8a];

/// The length of a frame of a WebSocket.
pub(crate) fn websocket(bytes: &[u8]) -> Result<Option<usize>, NoFrame> {
    if bytes.first().is_some_and(|first| !WEBSOCKET_FRAMES.contains(first)) {
        return Err(NoFrame);
    }
    Ok(websocket_head(bytes).map(|(head, _, length)| head.saturating_add(length)).filter(|whole| bytes.len() >= *whole))
}

/// Reads the head of a frame of a WebSocket: its length, the mask, and the length of the payload behind it. A server masks nothing.
fn websocket_head(bytes: &[u8]) -> Option<(usize, [u8; 4], usize)> {
    let &[_, second, ref rest @ ..] = bytes else { return None };
    let (head, length) = match second & 0x7f {
        126 => (4, u16::from_be_bytes(*rest.first_chunk()?).into()),
        127 => (10, usize::try_from(u64::from_be_bytes(*rest.first_chunk()?)).unwrap_or(usize::MAX)),
        length => (2, length.into()),
    };
    if second & 0x80 == 0 {
        return Some((head, [0; 4], length));
    }
    Some((head + 4, *bytes.get(head..)?.first_chunk()?, length))
}

/// Returns the payload of a WebSocket's frame; nothing of one that is cut.
fn payload(frame: &[u8]) -> Vec<u8> {
    let Some((head, mask, length)) = websocket_head(frame) else { return Vec::new() };
    let payload = frame.get(head..head.saturating_add(length)).unwrap_or_default();
    payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect()
}

/// Reads a JSON-RPC request whose method is the tool.
pub(crate) fn json_rpc(_frame: &[u8], message: &Value) -> Asked {
    Asked { method: text(message.get("method")), id: id_of(message), ..Asked::default() }
}

/// Reads an answer of JSON-RPC whose result is what the tool returned.
pub(crate) fn json_rpc_answer(message: &Value) -> Option<Answered> {
    if message.get("method").is_some() {
        return None;
    }
    if message.get("error").is_some_and(|error| !error.is_null()) {
        return Some(Answered::default());
    }
    let result = message.get("result")?.clone();
    let failed = ["Success", "success"].iter().any(|name| result.get(name) == Some(&Value::Bool(false)));
    Some(Answered { is_result: true, result, failed })
}

/// Counts the entries of a list.
pub(crate) fn entries(list: &Value) -> Option<usize> {
    list.as_array().map(Vec::len)
}

impl Wire {
    /// JSON-RPC in Content-Length frames, with the tool as the method. No list, no journal, and no proof that a call did not run.
    pub(crate) const FRAMES: Self = Self {
        length: framed,
        asked: json_rpc,
        arguments: |message| message.get("params").cloned().unwrap_or_default(),
        says: |message| message.get("method").and_then(Value::as_str).map(str::to_owned),
        answered: json_rpc_answer,
        listed: |_| None,
        outcomes: |_| Outcomes::default(),
        is_unrun: |_| false,
    };
    /// The same, one message a line.
    pub(crate) const LINES: Self = Self { length: line, ..Self::FRAMES };
}

/// Reads a frame of the gateway that another follows, and checks that it is not whole without its last byte.
#[cfg(test)]
pub(crate) fn read(package: &crate::Package, frame: &str) -> (String, String, bool) {
    let bytes = format!("{frame}next").into_bytes();
    assert_eq!((package.wire.length)(&bytes[..frame.len() - 1]), Ok(None), "{frame}");
    assert_eq!((package.wire.length)(&bytes), Ok(Some(frame.len())), "{frame}");
    let Asked { method, id, is_call, .. } = (package.wire.asked)(frame.as_bytes(), &message(frame.as_bytes()));
    (method, id, is_call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_begin_a_frame_is_refused() {
        assert_eq!(framed(b"HTTP/1.1 200 OK"), Err(NoFrame));
        assert_eq!(http(b"Content-Length: 3"), Err(NoFrame));
        let frame = String::from_utf8(frame(&serde_json::json!({"id": "c.7", "method": "count"}))).unwrap();
        assert_eq!(framed(frame.as_bytes()), Ok(Some(frame.len())));
    }
}
