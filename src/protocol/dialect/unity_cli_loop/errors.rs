//! Reads errors. Their code is always the same: `data.type` says what they are, and whether anything ran.

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::rpc::readable;
use super::super::{EditorError, Refusal, Refused, RefusedCall, Reply};
use crate::protocol::text::{clean, cut_with_ellipsis};

/// The codes in our own [`EditorError::code`]: the package has only one, so they stand for its types.
const INTERNAL: i64 = -32603;
const UPDATE_REQUIRED: i64 = -1;
/// What is added to a protocol number to stand for an editor that asks for it.
const NUMBER_BASE: i64 = 1_000_000;
const ELSE: i64 = 0;
/// More of the name of a running tool is not shown.
const NAME_MAX_BYTES: usize = 64;
/// A longer running time is a mistake, and is not shown: a day.
const TOLD_MAX_SECONDS: f64 = 86_400.0;

/// What an editor says that runs no tool but code of the user's, and only if its settings allow that.
const CODE_TOOL: &str = "execute-dynamic-code";

/// Reads an error object.
pub(super) fn read(error: &RawValue) -> EditorError {
    let error = readable(error);
    let data = error.get("data").unwrap_or(&Value::Null);
    let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    let (headline, detail, reason) = (text(&error, "message"), text(data, "message"), text(data, "reason"));
    // Above the words of a tool's exception there is only "Internal error"; the package's own words have nothing below them.
    let words = match (headline.as_str(), detail.as_str(), reason.as_str()) {
        (_, "", "") | ("", "", _) => format!("{headline}{reason}"),
        ("Internal error" | "", _, "") => detail,
        (_, "", _) => format!("{headline}: {reason}"),
        (_, _, "") if detail.contains(&headline) => detail,
        _ => format!("{headline}: {detail}"),
    };
    let message = if words.is_empty() { "the editor answered with an error and no text".to_owned() } else { words };
    let plain = |code| EditorError { code, message: message.clone(), refusal: None };
    match data.get("type").and_then(Value::as_str) {
        Some("server_busy") => EditorError { message: busy(data), refusal: refused_busy(data), code: INTERNAL },
        Some("cli_update_required") => {
            let number = data.get("requiredProtocolVersion").and_then(Value::as_u64);
            let number = number.and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0);
            let code = number.map_or(UPDATE_REQUIRED, |number| NUMBER_BASE + i64::from(number));
            // The package was changed under this connection. On the next one the number is asked for anew.
            let refusal = Some(Refused { how: Refusal::OtherSession, of: RefusedCall::Any });
            EditorError { refusal, ..plain(code) }
        }
        Some("security_blocked") => {
            let refusal = Some(Refused { how: Refusal::Final, of: RefusedCall::Tool(CODE_TOOL.to_owned()) });
            EditorError { refusal, ..plain(INTERNAL) }
        }
        // It can mean that nothing ran (an unknown or disabled tool, wrong parameters), but only its words say so, and a tool may use
        // the same.
        Some("internal_error") => plain(INTERNAL),
        _ => plain(ELSE),
    }
}

/// Reads an error without an id. The editor writes such a one only if it could not read the request.
pub(super) fn read_unread(error: &RawValue) -> EditorError {
    let read = read(error);
    let unread = Refused { how: Refusal::Final, of: RefusedCall::Any };
    EditorError { refusal: Some(unread).filter(|_| is_of_package(&read)), ..read }
}

/// Another tool, or the editor's own work, has the only place. A tool that runs another tool is refused in that one's name.
fn refused_busy(data: &Value) -> Option<Refused> {
    let tool = data.get("requestedToolName").and_then(Value::as_str)?;
    Some(Refused { how: Refusal::Busy, of: RefusedCall::Tool(tool.to_owned()) })
}

/// Says what keeps the editor from a call, as a phrase.
fn busy(data: &Value) -> String {
    let is = |name: &str| data.get(name) == Some(&Value::Bool(true));
    let running = data.get("runningToolName").and_then(Value::as_str).unwrap_or_default();
    let running = cut_with_ellipsis(&clean(running), NAME_MAX_BYTES);
    let so_far = data.get("runningToolElapsedSeconds").and_then(Value::as_f64);
    let so_far = so_far.filter(|seconds| (1.0..TOLD_MAX_SECONDS).contains(seconds));
    let so_far = so_far.map(|seconds| format!(", for {seconds:.0} s so far")).unwrap_or_default();
    match &*running {
        "unity-compile" => "Unity compiles scripts".to_owned(),
        "unity-asset-database-update" => "Unity imports assets".to_owned(),
        "" if is("isCompiling") => "Unity compiles scripts".to_owned(),
        "" if is("isUpdating") => "Unity imports assets".to_owned(),
        "" => "Unity runs a tool for another client".to_owned(),
        tool => format!("Unity runs `{tool}` for another client{so_far}"),
    }
}

/// Whether the error is one that only the package writes.
pub(super) fn is_of_package(error: &EditorError) -> bool {
    error.code != ELSE
}

/// Whether the editor asks for another version of its own command line.
pub(super) fn is_update_required(error: &EditorError) -> bool {
    error.code == UPDATE_REQUIRED || error.code >= NUMBER_BASE
}

/// Returns the protocol number that the editor asks for.
pub(super) fn required_number(reply: &Reply) -> Option<u32> {
    let Reply::Error(error) = reply else { return None };
    u32::try_from(error.code.checked_sub(NUMBER_BASE)?).ok()
}
