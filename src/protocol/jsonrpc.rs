//! JSON-RPC 2.0: ids, errors and message writers (stub of the signatures).

use std::borrow::Cow;

use serde_json::value::RawValue;

/// A request id, kept as the JSON text it came in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestId(String);

impl RequestId {
    /// The id as JSON.
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// Reads an id: a string or an integer.
    pub fn from_json(json: &str) -> Option<Self> {
        let ok = serde_json::from_str::<String>(json).is_ok() || serde_json::from_str::<i64>(json).is_ok();
        ok.then(|| Self(json.to_owned()))
    }

    /// An id of ours.
    pub fn from_number(number: u64) -> Self {
        Self(number.to_string())
    }

    /// An id of ours.
    pub fn from_text(text: &str) -> Self {
        Self(serde_json::Value::from(text).to_string())
    }
}

/// A JSON-RPC error object.
#[derive(Debug, Clone)]
pub struct RpcError {
    /// The code.
    pub code: i64,
    /// The message.
    pub message: String,
    /// More about it.
    pub data: Option<Box<RawValue>>,
}

/// A notification.
pub fn notification(method: &str, params: Option<&str>) -> String {
    let params = params.map(|params| format!(r#","params":{params}"#)).unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0","method":"{method}"{params}}}"#)
}

/// A request.
pub fn request(id: &RequestId, method: &str, params: Option<&str>) -> String {
    let params = params.map(|params| format!(r#","params":{params}"#)).unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0","id":{},"method":"{method}"{params}}}"#, id.as_json())
}

/// The same JSON without white space between its tokens.
pub fn compact(json: &str) -> Cow<'_, str> {
    let (mut out, mut quoted, mut escaped) = (String::with_capacity(json.len()), false, false);
    for c in json.chars() {
        if quoted {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if c.is_ascii_whitespace() {
            continue;
        } else {
            quoted = c == '"';
        }
        out.push(c);
    }
    Cow::Owned(out)
}
pub fn depth_ok(json: &[u8], max: usize) -> bool {
    let (mut depth, mut text, mut escaped) = (0_usize, false, false);
    for byte in json {
        match (text, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => text = !text,
            (false, b'{' | b'[') => depth += 1,
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > max {
            return false;
        }
    }
    true
}
