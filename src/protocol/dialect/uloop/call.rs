//! Prepares calls, and reads their answers and result files.

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::arguments::{default_timeout, given_timeout, parameter};
use super::super::members::Members;
use super::super::rpc::{is_object, object_text};
use super::super::unity::SCRIPT_ASSEMBLIES;
use super::super::wreck::{self, says_failure};
use super::super::{
    AnswerBody, EditorAnswer, EditorTool, PackageTool, PreparedCall, Recovery, ReloadSigns, Reply, Sending,
};
use crate::limits::ULOOP_RESULT_QUIET;

/// The spellings that callers use for the parameter that makes a compile wait for the domain reload. The editor itself reads the
/// first one, ignoring case.
const WAIT_SPELLINGS: [&str; 4] =
    ["WaitForDomainReload", "waitForDomainReload", "wait_for_domain_reload", "wait-for-domain-reload"];
const WAIT: &str = WAIT_SPELLINGS[0];
const REQUEST_ID: &str = "RequestId";
/// The parameter that compiles everything anew. The editor ignores its case.
const FORCE: &str = "ForceRecompile";
/// A member that the editor adds to a result file for its own server, which removes it again.
const ROOT: &str = "ProjectRoot";
const RESULT_FOLDER: &str = "Temp/uLoopMCP/compile-results";
/// While one of these files exists, the editor has not finished the compile and what follows from it.
const BUSY_FILES: &[&str] = &["Temp/compiling.lock", "Temp/domainreload.lock"];

/// `focus-window` is the one tool that the package's own server answered. The editor lists it, but does nothing when it is
/// called.
pub(in crate::protocol::dialect) fn package_tool(name: &str) -> Option<PackageTool> {
    (name == "focus-window").then_some(PackageTool::FocusWindow)
}

/// Prepares a call.
pub(in crate::protocol::dialect) fn prepare(
    sending: &Sending<'_>,
    name: &str,
    tool: Option<&EditorTool>,
    arguments: &RawValue,
) -> PreparedCall {
    let members: Option<Members<'_>> = serde_json::from_str(arguments.get()).ok();
    let timeout = given_timeout(arguments).or_else(|| default_timeout(tool));
    let as_given = |recovery| PreparedCall { recovery, timeout, ..PreparedCall::as_given(arguments) };
    if name != "compile" {
        return as_given(Recovery::None);
    }
    let wishes: Vec<Value> =
        members.iter().flat_map(|members| WAIT_SPELLINGS.iter().filter_map(|spelling| members.get(spelling))).collect();
    let refused = wishes.iter().any(|wish| !truthy(wish));
    // The editor answers, and reloads some frames later. A version that announces the reload does so only then, so a call sent
    // right after the answer would be lost in the reload. A forced compile writes every assembly, and does not say how it ended.
    let is_forced = |(name, value): (&str, &RawValue)| name.eq_ignore_ascii_case(FORCE) && value.get() != "false";
    let forced = members.iter().any(|members| members.iter().any(is_forced));
    let reload_signs = (!forced).then_some(ReloadSigns { assemblies: SCRIPT_ASSEMBLIES, busy_files: BUSY_FILES });
    let as_given = |recovery| PreparedCall { reload_follows: true, reload_signs, ..as_given(recovery) };
    let keeps_results = parameter(tool, WAIT).is_some() && sending.project_known && !refused;
    match members.filter(|_| keeps_results).and_then(|members| leaving_its_result(sending, &members)) {
        Some((arguments, request_id)) => PreparedCall {
            arguments,
            ..as_given(Recovery::ResultFile {
                path: format!("{RESULT_FOLDER}/{request_id}.json"),
                busy_files: BUSY_FILES,
                quiet: ULOOP_RESULT_QUIET,
            })
        },
        None => as_given(Recovery::Inferred),
    }
}

/// Returns the arguments of a compile that writes its result to a file, and the id that names the file. The id is new for each
/// attempt to send the call, because a file with the caller's id may belong to an earlier compile, or a later compile may write
/// to it.
fn leaving_its_result(sending: &Sending<'_>, members: &Members<'_>) -> Option<(Box<RawValue>, String)> {
    let id = format!("compile_{}_{}", sending.call.to_string().replace('-', ""), sending.nth);
    let waits = members.get(WAIT).is_none().then(|| (WAIT, "true".to_owned()));
    let named = (REQUEST_ID, Value::from(id.as_str()).to_string());
    let added: Vec<_> = waits.into_iter().chain([named]).collect();
    members.spliced(Some(REQUEST_ID), &added).map(|arguments| (arguments, id))
}

fn truthy(wish: &Value) -> bool {
    wish.as_bool() == Some(true) || wish.as_str().is_some_and(|text| text.eq_ignore_ascii_case("true"))
}

/// Converts an editor's reply to a call into an answer.
pub(in crate::protocol::dialect) fn read_answer(reply: Reply) -> EditorAnswer {
    match reply {
        Reply::Error(error) => EditorAnswer { is_error: true, body: AnswerBody::Text(error.message) },
        Reply::Result(result) => EditorAnswer { is_error: failed(&result), body: AnswerBody::Json(result) },
        Reply::Wreck(wreck) => {
            let failed = says_failure(&wreck.bytes, SUCCESS, false);
            wreck.answer(failed, Vec::new())
        }
    }
}

/// The members that report a failure when they are `false`.
const SUCCESS: &[&str] = &["Success", "success"];

/// Whether a result reports a failure: `success: false` (or `Success`), or the package's substitute for a result that it could
/// not serialise. `Success: null` (the outcome of a compile is unknown) is not a failure.
fn failed(result: &RawValue) -> bool {
    let result = result.get().as_bytes();
    let [error] = wreck::parts(result, ["error"]).values;
    says_failure(result, SUCCESS, false) == Some(true)
        || error.is_some_and(|error| error.starts_with(b"\"Serialization failed"))
}

/// Reads the reply in a compile's result file. `None` while the file is not one complete JSON object. The reply keeps the
/// editor's text, except for the member that is meant for the package's own server.
pub(super) fn read_result_file(bytes: &[u8]) -> Option<Reply> {
    let text = object_text(bytes).ok()?.trim();
    if !is_object(text) {
        return None;
    }
    let members: Option<Members<'_>> = serde_json::from_str(text).ok();
    let inner = members.filter(|members| members.iter().any(|(name, _)| name == ROOT));
    let without = inner.and_then(|members| members.spliced(Some(ROOT), &[]));
    without.or_else(|| RawValue::from_string(text.to_owned()).ok()).map(Reply::Result)
}
