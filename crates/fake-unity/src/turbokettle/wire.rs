//! Lines and envelopes as the package's C# side reads and writes them. Written from the protocol's description alone, so that the
//! gateway's codec is tested against code that does not have the same mistakes.

use bytes::{Buf, BytesMut};
use memchr::memchr2;
use serde_json::{Map, Value};

use crate::json::Object;
use crate::odd;
use crate::work::Fault;

/// Removes the next whole line from the buffer and returns it without its end, which is LF, CR LF or a lone CR.
pub(crate) fn take_line(buffer: &mut BytesMut) -> Option<String> {
    let end = memchr2(b'\n', b'\r', buffer)?;
    // After a CR, .NET reads one more character before it returns the line, to see whether an LF follows.
    let ends = match (buffer.get(end), buffer.get(end + 1)) {
        (Some(b'\r'), None) => return None,
        (Some(b'\r'), Some(b'\n')) => 2,
        _ => 1,
    };
    let line = buffer.split_to(end);
    buffer.advance(ends);
    Some(String::from_utf8_lossy(&line).into_owned())
}

/// The members of a line that the editor reads. A member that is not a text is treated as absent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) id: Option<String>,
    pub(crate) cmd: String,
    pub(crate) params: String,
}

/// Reads a line; `None` if it is not a JSON object.
pub(crate) fn read_request(line: &str) -> Option<Request> {
    let members = object(line.trim_start_matches('\u{feff}'))?;
    let text = |name: &str| members.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(Request { id: text("id"), cmd: text("cmd").unwrap_or_default(), params: text("params").unwrap_or_default() })
}

/// Returns the tool's name and its arguments, which are in `params`.
///
/// # Errors
/// `params` is not a JSON object. The real editor throws an exception there and sends no reply.
pub(crate) fn read_invocation(params: &str) -> Result<(String, String), ()> {
    if params.is_empty() {
        return Ok(<(String, String)>::default());
    }
    let members = object(params).ok_or(())?;
    let text = |name: &str| members.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok((text("tool"), text("arguments")))
}

fn object(text: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(text) {
        Ok(Value::Object(members)) => Some(members),
        _ => None,
    }
}

/// Returns a reply whose result is given as JSON.
pub(crate) fn success(id: &str, data: &str) -> Vec<u8> {
    reply(id, true, data, "")
}

/// Returns a reply with an error.
pub(crate) fn failure(id: &str, error: &str) -> Vec<u8> {
    reply(id, false, "", error)
}

/// Every member is always written; an absent one as an empty text.
fn reply(id: &str, ok: bool, data: &str, error: &str) -> Vec<u8> {
    let line = Object::new().text("id", id).flag("ok", ok).text("data", data).text("error", error).finish();
    odd::bytes(&(line + "\n"))
}

/// Returns the text of an error: the tool's own message, or "Command failed: " and the exception's message.
pub(crate) fn words(fault: &Fault) -> String {
    match fault {
        Fault::Refused(text) => text.clone(),
        Fault::Internal(text) => format!("Command failed: {text}"),
        // The package has no such errors.
        Fault::Blocked(_) | Fault::Timeout { .. } | Fault::Cancelled => "Command failed: not supported".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> (Vec<String>, usize) {
        let mut buffer = BytesMut::from(bytes);
        let lines = std::iter::from_fn(|| take_line(&mut buffer)).collect();
        (lines, buffer.len())
    }

    #[test]
    fn a_line_ends_with_lf_or_cr_or_both() {
        assert_eq!(lines(b"a\nb\r\nc\rd\n\ne"), (["a", "b", "c", "d", ""].map(str::to_owned).to_vec(), 1));
        assert_eq!(lines(b"a\r"), (Vec::new(), 2), "whether an LF follows is not known yet");
    }

    #[test]
    fn what_is_no_text_is_absent() {
        let read = read_request("\u{feff}{\"id\":7,\"cmd\":null,\"params\":{}}");
        assert_eq!(read, Some(Request::default()));
        for line in ["[]", "7", "nope", ""] {
            assert_eq!(read_request(line), None, "{line}");
        }
        assert_eq!(read_invocation("{\"tool\":\"t\",\"arguments\":{}}"), Ok(("t".to_owned(), String::new())));
        assert_eq!(read_invocation("{"), Err(()));
    }
}
