//! Reads errors, and tells from them whether the command ran. Nearly every failure has the status 400, so the words decide: the member
//! `error` has the words of the package's server, and what a command throws stands in `errorDetails`.

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::rpc::readable;
use super::super::{EditorError, Refusal, Refused, RefusedCall, Reply};

/// The status of a request without the right token.
pub(super) const UNAUTHORIZED: i64 = 401;
/// The code of a response that is not JSON: its status says nothing certain about the package.
pub(super) const NOT_JSON: i64 = -1;
/// The code of a failure after which the command may still wait, run, or have run.
pub(super) const GAVE_UP: i64 = -2;
/// The status that a failed job would have had.
pub(super) const FAILED_JOB: u16 = 400;
/// The server's words for a command that threw.
pub(super) const THREW: &str = "Command Execution Failed";
/// The server's words for an argument that does not fit. A command that throws an error of that kind has the same words.
pub(super) const UNFIT: &str = "Parameter Validation Failed";
/// The server's words for what went wrong in itself, also that it waited too long for the main thread.
const SERVER_FAILED: &str = "Internal Server Error";

/// The server's words with the status 400 that prove that nothing ran.
const UNRUN: [&str; 5] =
    ["Bad Request", "Invalid JSON", "Invalid Request", "Invalid Command Arguments", "Command Not Found"];

/// Whether a response with the status 200 says that the request failed.
pub(super) fn is_failure(json: &RawValue) -> bool {
    let said = readable(json);
    said.get("success") == Some(&Value::Bool(false)) && said.get("error").is_some_and(Value::is_string)
}

/// Reads an error.
pub(super) fn read(status: u16, json: &RawValue) -> EditorError {
    let said = readable(json);
    let text = |name: &str| said.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let error = text("error").unwrap_or_default();
    let refusal = refusal(status, error).map(|how| Refused { how, of: RefusedCall::Any });
    let mut parts: Vec<String> = Vec::new();
    let details = said.get("errorDetails").map(|details| match details {
        Value::String(text) => text.trim().to_owned(),
        Value::Null => String::new(),
        other => other.to_string(),
    });
    for part in [Some(error.to_owned()), details, text("message").map(str::to_owned)].into_iter().flatten() {
        if !part.is_empty() && !parts.iter().any(|known| known.contains(&part)) {
            parts.push(part);
        }
    }
    parts.extend(text("busyReason").map(|reason| format!("the editor is busy ({reason})")));
    parts.extend(dialogs(said.get("dialogs")));
    let problems = said.get("argProblems").and_then(Value::as_array).into_iter().flatten();
    parts.extend(problems.take(PROBLEMS_MAX).map(Value::to_string));
    if parts.is_empty() {
        parts.push(format!("the editor answered with status {status} and no text"));
    }
    let is_open = refusal.is_none() && (error.starts_with(SERVER_FAILED) || status >= 500);
    EditorError { code: if is_open { GAVE_UP } else { status.into() }, message: parts.join(": "), refusal }
}

/// Problems of arguments in one text.
const PROBLEMS_MAX: usize = 5;

/// Makes the error of a response that is not JSON. Only Unity's own routing answers like that, before anything runs.
pub(super) fn bare(status: u16) -> EditorError {
    let refusal = matches!(status, 401 | 403 | 404 | 405 | 413)
        .then(|| refusal(status, "").map(|how| Refused { how, of: RefusedCall::Any }))
        .flatten();
    let code = match refusal {
        _ if i64::from(status) == UNAUTHORIZED => UNAUTHORIZED,
        Some(_) => NOT_JSON,
        None => GAVE_UP,
    };
    EditorError { code, message: format!("the editor answered with status {status} and no JSON"), refusal }
}

/// Makes the error of a job that was cancelled before it began.
pub(super) fn cancelled_before() -> EditorError {
    let message = "The job was cancelled in Unity before it began, so nothing of it ran".to_owned();
    EditorError { code: FAILED_JOB.into(), message, refusal: None }
}

/// What a failure means for a call; `None` if nothing proves that it did not run.
fn refusal(status: u16, error: &str) -> Option<Refusal> {
    match status {
        401 => Some(Refusal::OtherSession),
        403 | 404 | 405 | 413 => Some(Refusal::Final),
        // It is decided before the queue, and for a while only.
        429 => Some(Refusal::Busy),
        503 if error == "Server Busy" => Some(Refusal::Busy),
        400 if UNRUN.contains(&error) => Some(Refusal::Final),
        _ => None,
    }
}

/// Whether the server gave the call up, which runs all the same when the main thread is free, or may have run.
pub(super) fn gives_up(reply: &Reply) -> bool {
    matches!(reply, Reply::Error(error) if error.code == GAVE_UP)
}

/// Names open dialogs, with their buttons.
pub(super) fn dialogs(dialogs: Option<&Value>) -> Vec<String> {
    let dialogs = dialogs.and_then(Value::as_array).into_iter().flatten();
    dialogs.filter_map(dialog).take(PROBLEMS_MAX).collect()
}

/// Names one dialog: its title, else its message, and its buttons.
pub(super) fn dialog(dialog: &Value) -> Option<String> {
    let text = |name: &str| dialog.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let title = text("title").or_else(|| text("message"))?;
    let buttons = dialog.get("buttons").and_then(Value::as_array).into_iter().flatten();
    let buttons: Vec<&str> = buttons
        .filter_map(|button| button.as_str().or_else(|| button.get("text").and_then(Value::as_str)))
        .take(PROBLEMS_MAX)
        .collect();
    let buttons = if buttons.is_empty() { String::new() } else { format!(" (buttons: {})", buttons.join(", ")) };
    Some(format!("the dialog \"{title}\"{buttons}"))
}
