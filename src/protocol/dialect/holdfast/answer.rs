//! Decodes frames into replies and events, and replies into answers.

use std::str::FromStr as _;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::rpc::{self, loggable, readable};
use super::super::wreck::{self, Wreck};
use super::super::{
    AnswerBody, BadMessage, CallProgress, EditorAnswer, EditorError, EditorEvent, EditorState, Heartbeat, Inbound,
    LeaveReason, Refusal, Refused, RefusedCall, Reply,
};
use crate::protocol::ids::CallId;
use crate::protocol::jsonrpc::{RpcError, spans};

/// Decodes the body of a frame.
pub(super) fn decode(frame: &[u8]) -> Result<Inbound, BadMessage> {
    rpc::decode(frame, read_error, |method, params| {
        let params: Value = params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or_default();
        Some(match method {
            "notifications/tools/list_changed" => Inbound::Event(EditorEvent::ToolsChanged),
            "notifications/server/shutdown" => Inbound::Event(EditorEvent::Leaving(leave_reason(&params))),
            "holdfast/state" => Inbound::Event(EditorEvent::State(state(&params))),
            "holdfast/settled" => Inbound::Event(EditorEvent::Settled),
            "holdfast/progress" => Inbound::Progress(progress(&params)?),
            _ => return None,
        })
    })
}

/// Reads the refusal of a message that the editor could not read. The editor then does not know the message's id. Only
/// the part of the package that reads messages writes such a refusal, before there is a call
/// (`unity/Documentation~/protocol.md` section 10, `parse_error`).
pub(super) fn read_unnamed(frame: &[u8]) -> Option<Reply> {
    let is_final = |error: &EditorError| error.refusal.as_ref().is_some_and(|refused| refused.how == Refusal::Final);
    let unread = |error: &EditorError| error.code == RpcError::PARSE_ERROR && is_final(error);
    rpc::unnamed_error(frame, read_error).filter(|reply| matches!(reply, Reply::Error(error) if unread(error)))
}

fn leave_reason(params: &Value) -> LeaveReason {
    match params.get("reason").and_then(Value::as_str) {
        Some("DomainReload") => LeaveReason::Reload,
        Some("EditorQuit") => LeaveReason::Quit,
        Some("UserStopped") => LeaveReason::Stopped,
        _ => LeaveReason::Unknown,
    }
}

fn state(of: &Value) -> EditorState {
    let name = of.get("state").and_then(Value::as_str).unwrap_or_default();
    EditorState::from_str(name).unwrap_or(EditorState::Unknown)
}

/// Reads a progress report. `callId` is the call's id; from the second attempt to send the call on, `.N` is appended. `None` if a
/// member is missing or unusable.
fn progress(params: &Value) -> Option<CallProgress> {
    let id = params.get("callId")?.as_str()?;
    let call = CallId::parse(id.split('.').next().unwrap_or(id))?;
    let number = |name: &str| params.get(name).and_then(Value::as_f64).filter(|number| *number >= 0.0);
    let message = params.get("message").and_then(Value::as_str).map(loggable);
    Some(CallProgress { call, done: number("progress")?, total: number("total"), message })
}

/// Reads an error object. The package writes all of `data`: a tool's exception gives its text and its type's name, never `ran`.
pub(super) fn read_error(error: &RawValue) -> EditorError {
    let error = readable(error);
    let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
    let data = error.get("data").unwrap_or(&Value::Null);
    let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    let kind = text(data, "type");
    let not_run = data.get("ran").and_then(Value::as_bool) == Some(false);
    let how = match kind.as_str() {
        "leaving" => Refusal::Leaving,
        "duplicate_call" => Refusal::Double,
        _ => Refusal::Final,
    };
    let refusal = not_run.then_some(Refused { how, of: RefusedCall::Any });
    let mut message = text(&error, "message");
    for more in [text(data, "message"), text(data, "reason")] {
        if !more.is_empty() && !message.contains(&more) {
            message = if message.is_empty() { more } else { format!("{message}: {more}") };
        }
    }
    if message.is_empty() {
        message = format!("the editor answered with error {code} and no text");
    }
    EditorError { code, message, refusal }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallResult<'a> {
    #[serde(default)]
    is_error: bool,
    #[serde(default, borrow)]
    value: Option<&'a RawValue>,
    #[serde(default, borrow)]
    content: Vec<&'a RawValue>,
}

/// Converts an editor's reply to a call into an answer.
pub(super) fn read(reply: Reply) -> EditorAnswer {
    let result = match reply {
        Reply::Error(error) => {
            let unrun = error.refusal.is_some_and(|refused| refused.how != Refusal::Double);
            let ran = if unrun { " Nothing of the call ran." } else { "" };
            return EditorAnswer {
                is_error: true,
                body: AnswerBody::Text(format!("{}{ran}", sentence(error.message))),
            };
        }
        Reply::Result(result) => result,
        Reply::Wreck(wreck) => return read_wreck(wreck),
    };
    let Ok(said) = serde_json::from_str::<CallResult<'_>>(result.get()) else {
        return read_wreck(Wreck::of_result(result.get().as_bytes()));
    };
    let value = said.value.unwrap_or(RawValue::NULL).to_owned();
    let body = if said.content.is_empty() {
        AnswerBody::Json(value)
    } else {
        let blocks = said.content.into_iter().map(RawValue::to_owned).collect();
        AnswerBody::JsonAndBlocks(value, blocks)
    };
    EditorAnswer { is_error: said.is_error, body }
}

/// Makes an answer of a result that is not the JSON of one. The tool succeeded only if the editor says so in `isError`.
fn read_wreck(wreck: Wreck) -> EditorAnswer {
    let [is_error, value, content] = wreck::parts(&wreck.bytes, ["isError", "value", "content"]).values;
    let failed = match is_error {
        Some(b"true") => Some(true),
        Some(b"false") => Some(false),
        _ => None,
    };
    let blocks = content.and_then(spans::items).into_iter().flatten().filter_map(wreck::json);
    let blocks = blocks.map(RawValue::to_owned).collect();
    match (failed, value) {
        (Some(is_error), Some(value)) => match wreck::json(value) {
            Some(value) => EditorAnswer { is_error, body: AnswerBody::JsonAndBlocks(value.to_owned(), blocks) },
            None => Wreck::of_result(value).answer(failed, blocks),
        },
        _ => wreck.answer(None, Vec::new()),
    }
}

fn sentence(text: String) -> String {
    if text.ends_with(['.', '!', '?']) { text } else { text + "." }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    frame_age_ms: u64,
    #[serde(default)]
    focused: bool,
    #[serde(default)]
    importing: bool,
    #[serde(default)]
    compile_errors: bool,
    #[serde(default)]
    queued: u32,
    #[serde(default)]
    running: Vec<Value>,
}

/// Reads the reply to `holdfast/status`. `None` if it is an error or malformed.
pub(super) fn read_heartbeat(reply: &Reply) -> Option<Heartbeat> {
    let Reply::Result(result) = reply else { return None };
    let status: Status = serde_json::from_str(result.get()).ok()?;
    let whole: Value = serde_json::from_str(result.get()).ok()?;
    Some(Heartbeat {
        state: state(&whole),
        frame_age: Duration::from_millis(status.frame_age_ms),
        focused: status.focused,
        inferred: false,
        every: Duration::ZERO,
        importing: status.importing,
        compile_errors: status.compile_errors,
        queued: status.queued,
        running: u32::try_from(status.running.len()).unwrap_or(u32::MAX),
    })
}
