//! Prepares calls, reads the editor's replies, and makes answers.

use std::time::Duration;

use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::super::members::Members;
use super::super::rpc::{object_text, readable};
use super::super::unity::SCRIPT_ASSEMBLIES;
use super::super::wreck::{self, says_failure};
use super::super::{
    AnswerBody, EditorAnswer, EditorError, EditorState, EditorTool, Heartbeat, PreparedCall, Recovery, Refusal,
    Refused, RefusedCall, ReloadSigns, Reply, Wreck,
};
use super::{arguments, catalogue, within};

/// The tool after whose answer Unity may reload: it imports what has changed.
const REFRESH: &str = "refresh_unity";
const RELOAD_SIGNS: ReloadSigns = ReloadSigns { assemblies: SCRIPT_ASSEMBLIES, busy_files: &[] };
/// The tools that refuse while a test run goes on, and the code of that.
const REFUSED_BY_TESTS: &[&str] = &["run_tests", REFRESH];
const TESTS_RUNNING: &str = "tests_running";
/// The tool that refuses while Unity compiles, and the code of that.
const REFUSED_BY_COMPILE: &[&str] = &["manage_scriptable_object"];
const COMPILING: &str = "compiling_or_reloading";
/// What the data of such a refusal have.
const BUSY_DATA: [&str; 3] = ["reason", "retry_after_ms", "hint"];
/// The codes in our own [`EditorError::code`]: the package has none.
const TOLD: i64 = 0;
const TOO_LONG: i64 = 1;

/// Prepares a call. `tool`: what the list has under this name.
pub(super) fn prepare(name: &str, tool: Option<&EditorTool>, given: &RawValue) -> PreparedCall {
    let reloads = name == REFRESH;
    let compiles = reloads && Members::of(given).and_then(|given| given.get("compile")) == Some(json!("request"));
    let ready = PreparedCall {
        reload_follows: reloads,
        reload_signs: reloads.then_some(RELOAD_SIGNS),
        recovery: if compiles { Recovery::Inferred } else { Recovery::None },
        ..PreparedCall::as_given(given)
    };
    if name == within::CUSTOM && within::custom(given).is_none() {
        let says = "`tool_name` must be the name of the tool that is to be called, as a text.".to_owned();
        return PreparedCall { misread: Some(says), ..ready };
    }
    if tool.is_some_and(catalogue::is_of_project) {
        return ready;
    }
    match arguments::prepare(name, given) {
        Ok(arguments) => PreparedCall { arguments, ..ready },
        Err(says) => PreparedCall { misread: Some(says), ..ready },
    }
}

/// Reads a reply.
pub(super) fn read_reply(message: &[u8]) -> Reply {
    let Some(reply) = object_text(message).ok().and_then(|text| serde_json::from_str::<&RawValue>(text).ok()) else {
        return salvaged(message);
    };
    let Some(members) = Members::of(reply) else { return Reply::Wreck(Wreck::of_message(message)) };
    let text = |name: &str| member(&members, name).and_then(|value| wreck::text(value.get().as_bytes()));
    match (text("status").as_deref(), member(&members, "result"), text("error")) {
        (Some("success"), Some(result), _) => {
            busy(result).map_or_else(|| Reply::Result(result.to_owned()), Reply::Error)
        }
        (Some("error"), _, Some(error)) => Reply::Error(refused(error, &members)),
        _ => Reply::Wreck(Wreck::of_message(message)),
    }
}

/// The last member of exactly this name, as the package writes it.
fn member<'a>(members: &Members<'a>, name: &str) -> Option<&'a RawValue> {
    members.iter().filter(|(key, _)| *key == name).last().map(|(_, value)| value)
}

/// Reads what is left of a reply that is no JSON. Its result may be what is broken.
fn salvaged(message: &[u8]) -> Reply {
    let [result] = wreck::parts(message, ["result"]).values;
    Reply::Wreck(result.map_or_else(|| Wreck::of_message(message), Wreck::of_result))
}

/// Reads a failure that proves that nothing ran, because Unity was busy with something else. It says no more than that.
fn busy(result: &RawValue) -> Option<EditorError> {
    let members = Members::of(result)?;
    let has_only = |members: &Members<'_>, known: &[&str]| members.iter().all(|(name, _)| known.contains(&name));
    if member(&members, "success")?.get() != "false" || !has_only(&members, &["success", "code", "error", "data"]) {
        return None;
    }
    let data = member(&members, "data").filter(|data| data.get() != "null");
    if data.is_some_and(|data| !Members::of(data).is_some_and(|data| has_only(&data, &BUSY_DATA))) {
        return None;
    }
    let code = member(&members, "code").and_then(|code| wreck::text(code.get().as_bytes()))?;
    let (how, of, message) = match code.as_str() {
        TESTS_RUNNING => (
            Refusal::NotYet,
            REFUSED_BY_TESTS,
            "it runs tests, and takes neither `run_tests` nor `refresh_unity` meanwhile; `get_test_job` tells how far they are",
        ),
        COMPILING => (Refusal::Busy, REFUSED_BY_COMPILE, "it compiles scripts or reloads its domain"),
        _ => return None,
    };
    let refusal = Some(Refused { how, of: RefusedCall::OneOf(of) });
    Some(EditorError { code: TOLD, message: message.to_owned(), refusal })
}

/// Reads an error. In those of the package itself the command is "Unknown"; an exception of a tool says more there.
fn refused(error: String, members: &Members<'_>) -> EditorError {
    let command = member(members, "command").map(|command| wreck::text(command.get().as_bytes()).unwrap_or_default());
    let is_none = |name: &str| member(members, name).is_none_or(|value| value.get() == "null");
    let is_disabled = (error.starts_with("Tool '") || error.starts_with("Resource '"))
        && error.ends_with("' is disabled in the Unity Editor.");
    let is_unknown = error.starts_with("Unknown or unsupported command type: ");
    let how = match command.as_deref() {
        Some("Unknown") if error == "Command evicted: stuck too long in queue" => Some(Refusal::Busy),
        Some("Unknown") if is_disabled || is_unknown => Some(Refusal::Final),
        Some("Unknown") if error == "Command type cannot be empty" || error == "Empty command received" => {
            Some(Refusal::Final)
        }
        None if error == "Invalid JSON format" && member(members, "receivedText").is_some() => Some(Refusal::Final),
        _ => None,
    };
    let is_limit = error.starts_with("Command processing timed out after ") && error.ends_with(" ms");
    let code = if is_limit && is_none("stackTrace") && how.is_none() { TOO_LONG } else { TOLD };
    let message = match how {
        Some(Refusal::Busy) => "its main thread has taken no command for a minute".to_owned(),
        _ => error,
    };
    EditorError { code, message, refusal: how.map(|how| Refused { how, of: RefusedCall::Any }) }
}

/// Reads the main thread's answer: that there is one is all that it tells.
pub(super) fn read_main_thread(reply: &Reply) -> Option<Heartbeat> {
    matches!(reply, Reply::Result(_)).then(|| Heartbeat::inferred(EditorState::Ready, Duration::ZERO))
}

/// Whether the editor waits no longer for a command that goes on.
pub(super) fn gives_up(reply: &Reply) -> bool {
    matches!(reply, Reply::Error(error) if error.code == TOO_LONG)
}

/// Whether the editor does not know the command.
pub(super) fn is_unknown(error: &EditorError) -> bool {
    error.refusal.is_some() && error.message.starts_with("Unknown or unsupported command type: ")
}

/// Makes the answer to a call.
pub(super) fn read_answer(reply: Reply) -> EditorAnswer {
    let result = match reply {
        Reply::Error(error) => return EditorAnswer { is_error: true, body: AnswerBody::Text(error.message) },
        Reply::Wreck(wreck) => {
            let failed = says_failure(&wreck.bytes, &["success"], false);
            return wreck.answer(failed, Vec::new());
        }
        Reply::Result(result) => result,
    };
    let is_error = says_failure(result.get().as_bytes(), &["success"], false) == Some(true);
    let goes_on = Members::of(&result)
        .is_some_and(|members| member(&members, "_mcp_status").is_some_and(|status| status.get() == "\"pending\""));
    let answer = match without_picture(&result) {
        Some((rest, block)) => EditorAnswer { is_error, body: AnswerBody::Json(rest) }.with_block(block),
        None => EditorAnswer { is_error, body: AnswerBody::Json(result) },
    };
    if goes_on {
        answer.with_note("It goes on in Unity. Call the same tool with its action for the status to learn how it ends.")
    } else {
        answer
    }
}

/// Takes the picture out of a result's data, as a block of its own.
fn without_picture(result: &RawValue) -> Option<(Box<RawValue>, Box<RawValue>)> {
    const PICTURE: &str = "imageBase64";
    let members = Members::of(result)?;
    let data = members.find("data")?;
    let in_data = Members::of(data)?;
    let picture = in_data.find(PICTURE).map(readable)?;
    let picture = picture.as_str().filter(|picture| !picture.is_empty())?;
    let block = to_raw_value(&json!({"type": "image", "data": picture, "mimeType": "image/png"})).ok()?;
    let rest = in_data.spliced(Some(PICTURE), &[])?;
    let result = members.spliced(Some("data"), &[("data", rest.get().to_owned())])?;
    Some((result, block))
}
