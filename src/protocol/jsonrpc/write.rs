//! Writes messages, each as one line without the line end.
//!
//! Raw JSON is copied unchanged, except that line breaks are removed. In valid JSON they are insignificant white space, so a
//! message is always one line, however the editor formatted it.

use std::borrow::Cow;

use memchr::memchr2;

use super::{RequestId, RpcError, compact};
use crate::protocol::text::quote;

/// Returns the same JSON without line breaks.
fn one_line(json: &str) -> Cow<'_, str> {
    if memchr2(b'\n', b'\r', json.as_bytes()).is_some() { compact(json) } else { Cow::Borrowed(json) }
}

const HEAD: &str = r#"{"jsonrpc":"2.0""#;

/// Writes [`HEAD`] and these members, whose values are JSON.
fn object(members: &[(&str, &str)]) -> String {
    let bytes: usize = members.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
    // One byte for the brace, and one for the line end that the caller appends: a large line need not be copied for it.
    let mut line = String::with_capacity(HEAD.len() + bytes + 2);
    line.push_str(HEAD);
    for (name, value) in members {
        line.push_str(",\"");
        line.push_str(name);
        line.push_str("\":");
        line.push_str(value);
    }
    line.push('}');
    line
}

/// Writes a request. `params` is a JSON object or array.
pub fn request(id: &RequestId, method: &str, params: Option<&str>) -> String {
    let method = quote(method);
    match params.map(one_line) {
        Some(params) => object(&[("id", id.as_json()), ("method", &method), ("params", &params)]),
        None => object(&[("id", id.as_json()), ("method", &method)]),
    }
}

/// Writes a notification. `params` is a JSON object or array.
pub fn notification(method: &str, params: Option<&str>) -> String {
    let method = quote(method);
    match params.map(one_line) {
        Some(params) => object(&[("method", &method), ("params", &params)]),
        None => object(&[("method", &method)]),
    }
}

/// Whether a line that was written here is a response, or an array of responses, and not a notification. Do not ask
/// this for a request: it begins like a response.
pub fn is_answer(line: &[u8]) -> bool {
    let member = line.strip_prefix(HEAD.as_bytes()).is_some_and(|rest| rest.starts_with(br#","id":"#));
    member || line.starts_with(b"[")
}

/// Writes a successful response. `result_json` is any JSON value.
pub fn response(id: &RequestId, result_json: &str) -> String {
    object(&[("id", id.as_json()), ("result", &one_line(result_json))])
}

/// Writes a successful response. `write_result` appends the result directly: about `bytes` bytes of JSON, without a line break.
pub fn response_with(id: &RequestId, bytes: usize, write_result: impl FnOnce(&mut String)) -> String {
    const ID: &str = r#","id":"#;
    const RESULT: &str = r#","result":"#;
    let mut line = String::with_capacity(HEAD.len() + ID.len() + id.as_json().len() + RESULT.len() + bytes + 2);
    for part in [HEAD, ID, id.as_json(), RESULT] {
        line.push_str(part);
    }
    write_result(&mut line);
    line.push('}');
    line
}

/// Writes an error response. `id` is `None`, written as `null`, if the id of the request could not be read.
pub fn error(id: Option<&RequestId>, error: &RpcError) -> String {
    let mut body = format!("{{\"code\":{},\"message\":{}", error.code, quote(&error.message));
    if let Some(data) = &error.data {
        body.push_str(",\"data\":");
        body.push_str(&one_line(data.get()));
    }
    body.push('}');
    object(&[("id", id.map_or("null", RequestId::as_json)), ("error", &body)])
}
