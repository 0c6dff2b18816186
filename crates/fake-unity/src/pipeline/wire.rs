//! HTTP as the package's listener reads and writes it. Written from the protocol's description alone, so that the gateway's codec is
//! tested against code that does not have the same mistakes.

use bytes::BytesMut;

use crate::face::Reader;
use crate::limits::HTTP_HEAD_MAX_BYTES;
use crate::odd;

/// Largest body of a command, in bytes.
pub(super) const EXEC_MAX_BYTES: usize = 1_048_576;
/// Largest body of a request to cancel a job.
pub(super) const CANCEL_MAX_BYTES: usize = 4096;
/// So much of a body that is too large is read before the refusal.
const DRAIN_MAX_BYTES: usize = 8 * EXEC_MAX_BYTES;

/// A request.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) method: String,
    /// The path in lower case, since paths ignore case.
    pub(super) path: String,
    pub(super) query: String,
    pub(super) host: String,
    pub(super) token: String,
    pub(super) origin: Option<String>,
    pub(super) body: BytesMut,
    /// Length of the body as the head gives it.
    pub(super) length: usize,
    /// Whether the client wants the connection to be closed after the answer.
    pub(super) closes: bool,
}

impl Request {
    /// Returns a parameter of the query.
    pub(super) fn asked(&self, name: &str) -> Option<&str> {
        self.query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find(|(key, _)| *key == name)
            .map(|(_, said)| said)
    }
}

/// Reads the next request. `None`: the connection ended before it was whole, or its head is too large.
pub(super) async fn read(reader: &mut Reader, buffer: &mut BytesMut) -> std::io::Result<Option<Request>> {
    let end = loop {
        match memchr::memmem::find(buffer, b"\r\n\r\n") {
            Some(end) => break end + 4,
            None if buffer.len() > HTTP_HEAD_MAX_BYTES => return Ok(None),
            None => {}
        }
        if reader.read(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let Some(mut request) = head(&String::from_utf8_lossy(&buffer.split_to(end))) else { return Ok(None) };
    let wanted = request.length.min(DRAIN_MAX_BYTES);
    while buffer.len() < wanted {
        if reader.read(buffer).await? == 0 {
            return Ok(None);
        }
    }
    request.body = buffer.split_to(wanted);
    // What is not drained cannot be told from a next request.
    request.closes |= request.length > wanted;
    Ok(Some(request))
}

fn head(text: &str) -> Option<Request> {
    let mut lines = text.trim_end().split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, target, version) = (first.next()?, first.next()?, first.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request {
        method: method.to_owned(),
        path: path.to_ascii_lowercase(),
        query: query.to_owned(),
        closes: version == "HTTP/1.0",
        ..Request::default()
    };
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "host" => value.clone_into(&mut request.host),
            "content-length" => request.length = value.parse().ok()?,
            "connection" => request.closes = value.eq_ignore_ascii_case("close"),
            "authorization" => request.token = value.strip_prefix("Bearer ").unwrap_or_default().to_owned(),
            "origin" => request.origin = Some(value.to_owned()),
            _ => {}
        }
    }
    Some(request)
}

/// Returns the bytes of a response.
pub(super) fn response(status: u16, kind: &str, body: &str, closes: bool) -> Vec<u8> {
    let reason = match status {
        200 => "OK",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Request Entity Too Large",
        429 => "Too Many Requests",
        503 => "Service Unavailable",
        _ => "Bad Request",
    };
    let connection = if closes { "Connection: close" } else { "Keep-Alive: timeout=15,max=100" };
    let body = odd::bytes(body);
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nServer: Mono-HTTPAPI/1.0\r\nContent-Length: {}\r\n\
         {connection}\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body].concat()
}
