//! HTTP as Mono's listener reads and writes it. Written from the protocol's description alone, so that the gateway's codec is
//! tested against code that does not have the same mistakes.

use bytes::BytesMut;

use crate::limits::{BIG_MAX_BYTES, HTTP_HEAD_MAX_BYTES};
use crate::odd;

/// The parts of a request's head that the listener reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) method: String,
    /// The path without its query.
    pub(crate) path: String,
    pub(crate) host: Option<String>,
    pub(crate) length: Option<usize>,
    /// Whether the client wants the connection to be closed after the answer.
    pub(crate) close: bool,
    /// Whether the first line has three words.
    pub(crate) valid: bool,
}

/// Removes the next whole head from the buffer; `None` if more bytes are needed.
///
/// # Errors
/// The head or the announced body is too large: the connection must be closed.
pub(crate) fn take_head(buffer: &mut BytesMut) -> Result<Option<Head>, ()> {
    let Some(end) = memchr::memmem::find(buffer, b"\r\n\r\n") else {
        return if buffer.len() > HTTP_HEAD_MAX_BYTES { Err(()) } else { Ok(None) };
    };
    let text = String::from_utf8_lossy(&buffer.split_to(end + 4)).into_owned();
    let mut lines = text.trim_end().split("\r\n");
    let first: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let mut head = Head { valid: first.len() == 3, ..Head::default() };
    if let [method, target, version] = first.as_slice() {
        head.method = (*method).to_owned();
        head.path = target.split('?').next().unwrap_or_default().to_owned();
        head.close = *version == "HTTP/1.0";
    }
    for line in lines {
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "host" => head.host = Some(value.to_owned()),
            "content-length" => head.length = value.parse().ok(),
            "connection" => head.close = value.eq_ignore_ascii_case("close"),
            _ => {}
        }
    }
    if head.length.is_some_and(|length| length > BIG_MAX_BYTES) {
        return Err(());
    }
    Ok(Some(head))
}

/// Returns the answer with which the listener itself refuses a request and closes the connection. `None`: the request is passed
/// on to the package.
pub(crate) fn refusal(head: &Head) -> Option<Vec<u8>> {
    let name = head.host.as_deref().map(|host| host.split(':').next().unwrap_or_default());
    let (status, reason, words) = if !head.valid {
        (400, "Bad Request", "Bad Request")
    } else if !name.is_some_and(|name| name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1") {
        (400, "Bad Request", "Bad Request (Invalid host)")
    } else if head.method == "POST" && head.length.is_none() {
        (411, "Length Required", "Length Required")
    } else {
        return None;
    };
    Some(answer(status, reason, "text/html", &format!("<h1>{words}</h1>"), true))
}

/// Returns a response.
pub(crate) fn answer(status: u16, reason: &str, kind: &str, body: &str, close: bool) -> Vec<u8> {
    let connection = if close { "Connection: close" } else { "Keep-Alive: timeout=15,max=100" };
    let body = odd::bytes(body);
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nServer: Mono-HTTPAPI/1.0\r\nDate: Tue, 22 Jul 2025 21:34:56 \
         GMT\r\nContent-Length: {}\r\n{connection}\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body].concat()
}
