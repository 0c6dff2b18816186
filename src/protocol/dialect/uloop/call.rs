//! One call: its arguments made ready, its answer read, its result file read.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::arguments::{Members, default_timeout, given_timeout, parameter};
use super::super::rpc::{is_object, object_text};
use super::super::{AnswerBody, EditorAnswer, EditorTool, OwnTool, PreparedCall, Recovery, Reply, Sending};
use crate::limits::{ULOOP_COMPILE_ID_MAX_BYTES, ULOOP_RESULT_QUIET};
use crate::protocol::ids::CallId;

/// The spellings of the parameter that callers use; the editor itself reads the first in any case.
const WAIT_SPELLINGS: [&str; 4] =
    ["WaitForDomainReload", "waitForDomainReload", "wait_for_domain_reload", "wait-for-domain-reload"];
const WAIT: &str = WAIT_SPELLINGS[0];
const REQUEST_ID: &str = "RequestId";
const RESULT_FOLDER: &str = "Temp/uLoopMCP/compile-results";
/// While one of these is there the editor has not finished what the compile began.
const BUSY_FILES: &[&str] = &["Temp/compiling.lock", "Temp/domainreload.lock"];

/// The tools that the package's own server answered. Its editor lists this one and does nothing when it is called.
pub(in crate::protocol::dialect) fn own_tool(name: &str) -> Option<OwnTool> {
    (name == "focus-window").then_some(OwnTool::FocusWindow)
}

/// Makes a call ready.
pub(in crate::protocol::dialect) fn prepare(
    sending: &Sending<'_>,
    name: &str,
    tool: Option<&EditorTool>,
    arguments: &RawValue,
) -> PreparedCall {
    let Sending { call, project_known, .. } = *sending;
    let members: Option<Members<'_>> = serde_json::from_str(arguments.get()).ok();
    let timeout = given_timeout(arguments).or_else(|| default_timeout(tool));
    let as_given = |recovery| PreparedCall { recovery, timeout, ..PreparedCall::as_given(arguments) };
    if name != "compile" {
        return as_given(Recovery::None);
    }
    let keeps_results = parameter(tool, WAIT).is_some();
    match members.filter(|_| keeps_results && project_known).and_then(|members| waiting_compile(call, &members)) {
        Some((arguments, request_id)) => PreparedCall {
            arguments: arguments.unwrap_or_else(|| as_given(Recovery::None).arguments),
            recovery: Recovery::ResultFile {
                path: format!("{RESULT_FOLDER}/{request_id}.json"),
                busy_files: BUSY_FILES,
                quiet: ULOOP_RESULT_QUIET,
            },
            timeout,
            ..as_given(Recovery::None)
        },
        None => as_given(Recovery::Inferred),
    }
}

/// The arguments of a compile that waits for the reload and leaves its result in a file, and the id that names the file;
/// `None` when the caller does not want that. No arguments: they are right as they are.
fn waiting_compile(call: CallId, members: &Members<'_>) -> Option<(Option<Box<RawValue>>, String)> {
    let wishes: Vec<Value> = WAIT_SPELLINGS.iter().filter_map(|spelling| members.get(spelling)).collect();
    if wishes.iter().any(|wish| !truthy(wish)) {
        return None;
    }
    let mut added = Vec::new();
    if members.get(WAIT).is_none() {
        added.push((WAIT, "true".to_owned()));
    }
    let own = members.get(REQUEST_ID).and_then(|id| id.as_str().map(str::to_owned)).filter(|id| is_file_id(id));
    let (id, without) = match own {
        Some(id) => (id, None),
        None => {
            let id = format!("compile_{}", call.to_string().replace('-', ""));
            added.push((REQUEST_ID, Value::from(id.as_str()).to_string()));
            (id, Some(REQUEST_ID))
        }
    };
    if added.is_empty() {
        return Some((None, id));
    }
    members.spliced(without, &added).map(|arguments| (Some(arguments), id))
}

fn truthy(wish: &Value) -> bool {
    wish.as_bool() == Some(true) || wish.as_str().is_some_and(|text| text.eq_ignore_ascii_case("true"))
}

/// The package accepts only these as an id; with them no id can name a file outside the folder.
fn is_file_id(id: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !id.is_empty() && id.len() <= ULOOP_COMPILE_ID_MAX_BYTES && id.bytes().all(allowed)
}

/// An editor's reply, ready for the client.
pub(in crate::protocol::dialect) fn read_answer(reply: Reply) -> EditorAnswer {
    match reply {
        Reply::Error(error) => EditorAnswer { is_error: true, body: AnswerBody::Text(error.message) },
        Reply::Result(result) => EditorAnswer { is_error: says_failure(&result), body: AnswerBody::Json(result) },
    }
}

/// The members of a result that tell failure from success.
#[derive(Deserialize)]
struct Verdict<'a> {
    #[serde(default, rename = "Success", borrow)]
    upper: Option<&'a RawValue>,
    #[serde(default, rename = "success", borrow)]
    lower: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

/// `Success: false`, or the package's stand-in for a result that it could not serialise. `Success: null` (a compile that
/// cannot be judged) is no failure.
fn says_failure(result: &RawValue) -> bool {
    if !is_object(result.get()) {
        return false;
    }
    let Ok(verdict) = serde_json::from_str::<Verdict<'_>>(result.get()) else { return false };
    let failed = [verdict.upper, verdict.lower].into_iter().flatten().any(|success| success.get() == "false");
    failed || verdict.error.is_some_and(|error| error.get().starts_with("\"Serialization failed"))
}

/// The reply in a compile's result file; `None` while the file is not one whole JSON object. Passed on as the editor wrote
/// it, like a direct reply.
pub(super) fn read_result_file(bytes: &[u8]) -> Option<Reply> {
    let text = object_text(bytes).ok()?.trim();
    if !is_object(text) {
        return None;
    }
    RawValue::from_string(text.to_owned()).ok().map(Reply::Result)
}
