//! Frames and envelopes as uLoop's C# side reads and writes them. Written from the protocol's description alone, so that the
//! gateway's codec is tested against code that does not have the same mistakes.

use bytes::{Buf, Bytes, BytesMut};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{Object, quoted};
use crate::odd;
use crate::package_version::PackageVersion;
use crate::work::Fault;

/// Size of the editor's buffer. A longer frame, header included, never becomes complete, and the overflow ends the connection.
pub(crate) const BUFFER_MAX_BYTES: usize = 1_048_576;

/// The only error code of the package.
const ERROR_CODE: i32 = -32603;

/// Removes the next whole frame from the buffer and returns its body; `None` if more bytes are needed.
///
/// # Errors
/// The buffer overflowed: the connection must be closed.
pub(crate) fn take_frame(buffer: &mut BytesMut) -> Result<Option<Bytes>, ()> {
    let whole = header(buffer).filter(|(start, length)| {
        start.checked_add(*length).is_some_and(|end| end <= buffer.len() && end <= BUFFER_MAX_BYTES)
    });
    match whole {
        Some((start, length)) => {
            buffer.advance(start);
            Ok(Some(buffer.split_to(length).freeze()))
        }
        None if buffer.len() > BUFFER_MAX_BYTES => Err(()),
        None => Ok(None),
    }
}

/// Returns the offset and the length of the body; `None` while the header is incomplete.
fn header(buffer: &[u8]) -> Option<(usize, usize)> {
    let end = memchr::memmem::find(buffer, b"\r\n\r\n")?;
    let text = String::from_utf8_lossy(buffer.get(..end)?);
    let value = text.split("\r\n").find_map(|line| {
        let name = line.get(..15)?;
        name.eq_ignore_ascii_case("Content-Length:").then(|| line.get(15..)).flatten()
    })?;
    Some((end + 4, value.trim().parse().ok()?))
}

/// Returns a body as it is sent: as a frame or as a line, depending on the version.
pub(crate) fn frame(body: &str, version: PackageVersion) -> Vec<u8> {
    if !version.framed() {
        return odd::bytes(&format!("{body}\n"));
    }
    let body = odd::bytes(body);
    let mut bytes = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(&body);
    bytes
}

/// The parts of a request that the editor reads.
#[derive(Debug, Deserialize)]
pub(crate) struct Request {
    /// The id. It is absent or `null` in a notification.
    #[serde(default)]
    pub(crate) id: Option<Box<RawValue>>,
    #[serde(default)]
    pub(crate) method: Option<String>,
    #[serde(default)]
    pub(crate) params: Option<Box<RawValue>>,
    #[serde(default, rename = "x-uloop")]
    pub(crate) identity: Option<Identity>,
}

/// The project and the session that a request expects to be answered by (from v2.0).
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Identity {
    #[serde(default)]
    pub(crate) expected_project_root: Option<String>,
    #[serde(default)]
    pub(crate) expected_server_session_id: Option<String>,
}

/// Reads a request; `None` if it is not a JSON object.
pub(crate) fn read_request(frame: &[u8]) -> Option<Request> {
    // serde would also read an array as a struct.
    let object = frame.trim_ascii_start().starts_with(b"{");
    serde_json::from_slice(frame).ok().filter(|_| object)
}

/// Returns a reply whose result is given as JSON.
pub(crate) fn success(id: &str, result: &str) -> String {
    Object::new().text("jsonrpc", "2.0").raw("id", id).raw("result", result).finish()
}

/// Returns a reply with an error, in the form of this version.
pub(crate) fn failure(id: &str, fault: &Fault, version: PackageVersion) -> String {
    let internal = |message: &str| Object::new().text("type", "internal_error").text("message", message);
    let (message, data) = match fault {
        Fault::Internal(text) => ("Internal error", internal(text)),
        Fault::Refused(text) if version.friendly_errors() => (text.as_str(), internal("")),
        Fault::Refused(text) => ("Internal error", internal(text)),
        Fault::Timeout { tool, seconds } => {
            ("Request timeout", internal(&format!("Tool {tool} timed out after {seconds} seconds")))
        }
        Fault::Cancelled => ("Internal error", internal("The call was cancelled")),
        Fault::Blocked(tool) => (
            "Tool blocked by security settings",
            Object::new()
                .text("type", "security_blocked")
                .text("command", tool)
                .text("reason", "Tool is blocked by security settings")
                .text("message", &format!("Tool '{tool}' is not allowed by the project's security settings")),
        ),
    };
    let data = if version.error_objects() { data.finish() } else { quoted(fault_text(fault).unwrap_or(message)) };
    let id = if version.names_errors() { id } else { "null" };
    let error = Object::new().number("code", ERROR_CODE).text("message", message).raw("data", &data);
    Object::new().text("jsonrpc", "2.0").raw("id", id).raw("error", &error.finish()).finish()
}

/// Returns the message of the exception, which is all that versions before v0.24 send. `None` if there is none.
fn fault_text(fault: &Fault) -> Option<&str> {
    match fault {
        Fault::Internal(text) | Fault::Refused(text) => Some(text),
        Fault::Timeout { .. } | Fault::Cancelled | Fault::Blocked(_) => None,
    }
}

/// A notification.
pub(crate) fn notification(method: &str, params: Object, version: PackageVersion) -> Vec<u8> {
    let body = Object::new().text("jsonrpc", "2.0").text("method", method).raw("params", &params.finish());
    frame(&body.finish(), version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_whole_at_its_last_byte_and_not_before() {
        let bytes = frame("{\"a\":\"ä\"}", PackageVersion::NEWEST);
        for cut in 0..bytes.len() {
            let mut buffer = BytesMut::from(&bytes[..cut]);
            assert_eq!(take_frame(&mut buffer), Ok(None), "at {cut}");
        }
        let mut buffer = BytesMut::from(&bytes[..]);
        assert_eq!(take_frame(&mut buffer), Ok(Some(Bytes::from("{\"a\":\"ä\"}"))));
        assert!(buffer.is_empty());
    }

    #[test]
    fn other_headers_are_ignored_and_the_name_has_no_case() {
        let mut buffer = BytesMut::from(&b"X: y\r\ncontent-length:2\r\n\r\n{}rest"[..]);
        assert_eq!(take_frame(&mut buffer), Ok(Some(Bytes::from("{}"))));
        assert_eq!(&buffer[..], b"rest");
    }

    #[test]
    fn the_limit_counts_the_header_too() {
        let body = |length: usize| "x".repeat(length);
        let header = "Content-Length: 1048550\r\n\r\n".len();
        let fits = BUFFER_MAX_BYTES - header;
        let mut buffer = BytesMut::from(&frame(&body(fits), PackageVersion::NEWEST)[..]);
        assert_eq!(take_frame(&mut buffer).map(|frame| frame.map(|bytes| bytes.len())), Ok(Some(fits)));
        let mut buffer = BytesMut::from(&frame(&body(fits + 1), PackageVersion::NEWEST)[..]);
        assert_eq!(take_frame(&mut buffer), Err(()));
    }

    #[test]
    fn ids_of_every_type_are_kept_as_they_were_written() {
        for id in ["\"ts_1\"", "7", "1.50", "12345678901234567890123", "[1,{\"a\":null}]"] {
            let request: Request = serde_json::from_str(&format!("{{\"id\":{id},\"method\":\"ping\"}}")).unwrap();
            assert_eq!(request.id.unwrap().get(), id);
        }
        let request: Request = serde_json::from_str("{\"id\":null,\"method\":\"ping\"}").unwrap();
        assert!(request.id.is_none());
    }
}
