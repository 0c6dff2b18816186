//! Prepares calls, asks for the results that the editor keeps, and makes answers.

use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::arguments::{default_timeout, given_timeout, parameter};
use super::super::members::Members;
use super::super::rpc::readable;
use super::super::unity::SCRIPT_ASSEMBLIES;
use super::super::wreck::says_failure;
use super::super::{
    AnswerBody, BadOutcomes, EditorAnswer, EditorTool, JournalKey, JournalOutcome, PreparedCall, Recovery, ReloadSigns,
    Reply, Sending,
};
use crate::limits::TOOL_TIMEOUT_MAX;

const COMPILE: &str = "compile";
const TESTS: &str = "run-tests";
/// What keeps the results of compiles and tests under their ids. It lives as long as the editor's process, which has no name on the wire.
pub(super) const JOURNAL: &str = "session-state";
/// How the ids begin that the package takes for a compile and for tests. Another id it replaces by one that nobody knows.
const COMPILE_ID: &str = "compile_";
const TESTS_ID: &str = "run_tests_";
const REQUEST_ID: &str = "RequestId";
const WAIT: &str = "WaitForDomainReload";
/// What shows that a compile changed nothing, so that no reload follows its answer.
const RELOAD_SIGNS: ReloadSigns = ReloadSigns { assemblies: SCRIPT_ASSEMBLIES, busy_files: &[] };
/// The name of the compile's time limit before 3.1.
const OLD_TIMEOUT: &str = "CompileWaitTimeoutSeconds";
/// The members of an answer that say that the tool failed.
const SUCCESS: &[&str] = &["Success", "success"];
/// A result with this code says that the editor lost the compile's result, which is usual after a forced one.
const RESULT_UNKNOWN: &str = "COMPILE_RESULT_UNKNOWN";
/// With these it says that the compile did not happen.
const NOT_COMPILED: [&str; 2] = ["COMPILE_ALREADY_IN_PROGRESS", "COMPILE_EDITOR_UPDATING"];

/// Prepares a call.
pub(super) fn prepare(
    sending: &Sending<'_>,
    name: &str,
    tool: Option<&EditorTool>,
    arguments: &RawValue,
) -> PreparedCall {
    let members = Members::of(arguments).unwrap_or_default();
    let is = |name: &str| members.get(name) == Some(Value::Bool(true));
    let kept = match name {
        COMPILE if members.get(WAIT).is_none() || is(WAIT) => Some(COMPILE_ID),
        // Every other run of tests is cancelled with its connection, and its result is nowhere else.
        TESTS if is_play_mode(&members) && is("RespectEnterPlayModeSettings") => Some(TESTS_ID),
        _ => None,
    };
    // The id is new for each attempt: a result under the caller's own id may be that of an earlier call.
    let kept = kept.and_then(|begin| {
        let id = format!("{begin}{}_{}", sending.seq, sending.call.to_string().replace('-', "").get(..8)?);
        let named = members.spliced(Some(REQUEST_ID), &[(REQUEST_ID, Value::from(id.as_str()).to_string())])?;
        Some((named, JournalKey { journal: JOURNAL.to_owned(), id, seq: sending.seq }))
    });
    let compiles = name == COMPILE;
    let prepared = PreparedCall {
        timeout: timeout(&members, arguments, tool),
        reload_follows: compiles,
        reload_signs: compiles.then_some(RELOAD_SIGNS),
        recovery: if compiles { Recovery::Inferred } else { Recovery::None },
        ..PreparedCall::as_given(arguments)
    };
    match kept {
        Some((arguments, key)) => PreparedCall { arguments, recovery: Recovery::Journal(key), ..prepared },
        None => prepared,
    }
}

/// Whether tests are to run in play mode. The editor reads the name in any case.
fn is_play_mode(members: &Members<'_>) -> bool {
    members.get("TestMode").as_ref().and_then(Value::as_str).is_some_and(|mode| mode.eq_ignore_ascii_case("PlayMode"))
}

fn timeout(members: &Members<'_>, arguments: &RawValue, tool: Option<&EditorTool>) -> Option<Duration> {
    let old = || {
        let given = members.get(OLD_TIMEOUT);
        let given = given.or_else(|| parameter(tool, OLD_TIMEOUT)?.get("default").cloned())?;
        given.as_f64().and_then(seconds).map(|limit| limit.min(TOOL_TIMEOUT_MAX))
    };
    given_timeout(arguments).or_else(old).or_else(|| default_timeout(tool))
}

/// Returns a time that somebody said in seconds; `None` if it is none.
pub(super) fn seconds(said: f64) -> Option<Duration> {
    Some(said).filter(|said| *said >= 0.0).and_then(|said| Duration::try_from_secs_f64(said).ok())
}

/// Returns the command that tells what became of the call with this id.
pub(super) fn status_command(id: &str) -> &'static str {
    if id.starts_with(TESTS_ID) { "get-run-tests-status" } else { "get-compile-status" }
}

/// Reads what the editor says of the call that was asked for.
pub(super) fn read_outcomes(reply: Reply, asked: &[JournalKey]) -> Result<Vec<JournalOutcome>, BadOutcomes> {
    let [asked] = asked else { return Err(BadOutcomes::OtherCalls) };
    let said = match reply {
        Reply::Result(said) => said,
        Reply::Error(error) => return Err(BadOutcomes::Refused(error.message)),
        Reply::Wreck(_) => return Ok(vec![JournalOutcome::Unreadable]),
    };
    let Some(members) = Members::of(&said) else { return Err(BadOutcomes::Malformed("it is no object".to_owned())) };
    let is = |name: &str| members.get(name).and_then(|value| value.as_bool());
    let (Some(ready), Some(has_result)) = (is("Ready"), is("HasResult")) else {
        return Err(BadOutcomes::Malformed("it has neither Ready nor HasResult".to_owned()));
    };
    let result = members.find("Result").filter(|result| has_result && result.get() != "null");
    // Ready speaks of the editor, which must have come to rest after a compile. It is also true before the compile has begun.
    let is_over = ready || asked.id.starts_with(TESTS_ID);
    Ok(vec![match result {
        Some(result) if is_over => JournalOutcome::Ended(Reply::Result(result.to_owned())),
        _ if ready => JournalOutcome::NotYet,
        _ => JournalOutcome::Running,
    }])
}

/// Whether a result has nothing in it. The package's own command line takes such a one, of a compile, for a lost connection.
pub(super) fn is_empty(result: &RawValue) -> bool {
    result.get() == "null" || Members::of(result).is_some_and(|members| members.iter().next().is_none())
}

/// Converts an editor's reply to a call into an answer.
pub(super) fn read_answer(reply: Reply) -> EditorAnswer {
    match reply {
        Reply::Error(error) => EditorAnswer { is_error: true, body: AnswerBody::Text(error.message) },
        Reply::Wreck(wreck) => {
            let failed = says_failure(&wreck.bytes, SUCCESS, false);
            wreck.answer(failed, Vec::new())
        }
        Reply::Result(result) => {
            let code = Members::of(&result).and_then(|members| members.get("ErrorCode"));
            let code = code.as_ref().and_then(Value::as_str).unwrap_or_default();
            let failed = says_failure(result.get().as_bytes(), SUCCESS, false) == Some(true);
            let answer = EditorAnswer { is_error: failed && code != RESULT_UNKNOWN, body: AnswerBody::Json(result) };
            match code {
                RESULT_UNKNOWN => answer.with_note(
                    "Unity compiled, but does not know with what result, as is usual after ForceRecompile. Call `compile` without \
                     ForceRecompile to learn of errors.",
                ),
                code if NOT_COMPILED.contains(&code) => {
                    answer.with_note("This call compiled nothing: Unity was compiling or importing already. Call it again.")
                }
                _ => answer,
            }
        }
    }
}

/// Returns the pictures that a screenshot's answer names: every text in it that is the path of a picture.
pub(super) fn picture_files(tool: &str, answer: &EditorAnswer) -> Vec<String> {
    let (AnswerBody::Json(result), "screenshot") = (&answer.body, tool) else { return Vec::new() };
    let mut files = Vec::new();
    collect(&readable(result), &mut files);
    files
}

fn collect(value: &Value, files: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let is_picture = |end: &&str| text.to_ascii_lowercase().ends_with(*end);
            if [".png", ".jpg", ".jpeg"].iter().any(is_picture) && !files.contains(text) {
                files.push(text.clone());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, files)),
        Value::Object(members) => members.values().for_each(|member| collect(member, files)),
        _ => {}
    }
}
