//! One call: its arguments made ready, its answer read, its result file read.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::{AnswerBody, EditorAnswer, EditorTool, PreparedCall, Recovery, Reply};
use super::wire::{is_object, object_text};
use crate::limits::{TOOL_TIMEOUT_MAX, ULOOP_COMPILE_ID_MAX_BYTES, ULOOP_RESULT_QUIET};
use crate::protocol::ids::CallId;

/// The spellings of the parameter that callers use; the editor itself reads the first in any case.
const WAIT_SPELLINGS: [&str; 4] =
    ["WaitForDomainReload", "waitForDomainReload", "wait_for_domain_reload", "wait-for-domain-reload"];
const WAIT: &str = WAIT_SPELLINGS[0];
const REQUEST_ID: &str = "RequestId";
const TIMEOUT: &str = "TimeoutSeconds";
const RESULT_FOLDER: &str = "Temp/uLoopMCP/compile-results";
/// While one of these is there the editor has not finished what the compile began.
const BUSY_FILES: &[&str] = &["Temp/compiling.lock", "Temp/domainreload.lock"];

/// Members of a JSON object in their order, values unparsed.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Vec<(String, &'de RawValue)>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        source.deserialize_map(Collect).map(Members)
    }
}

impl Members<'_> {
    fn get(&self, name: &str) -> Option<Value> {
        let (_, raw) = self.0.iter().rfind(|(key, _)| key.eq_ignore_ascii_case(name))?;
        serde_json::from_str(raw.get()).ok()
    }

    /// The object again, without the members of one name, and with new ones at the end. No value is re-formatted.
    fn spliced(&self, without: Option<&str>, added: &[(&str, String)]) -> Option<Box<RawValue>> {
        let kept = self.0.iter().filter(|(key, _)| without.is_none_or(|name| !key.eq_ignore_ascii_case(name)));
        let kept = kept.map(|(key, raw)| (key.as_str(), raw.get()));
        let added = added.iter().map(|(key, text)| (*key, text.as_str()));
        let members: Vec<String> =
            kept.chain(added).map(|(key, text)| format!("{}:{text}", Value::from(key))).collect();
        RawValue::from_string(format!("{{{}}}", members.join(","))).ok()
    }
}

/// Makes a call ready.
pub(super) fn prepare(
    call: CallId,
    name: &str,
    tool: Option<&EditorTool>,
    arguments: &RawValue,
    project_known: bool,
) -> PreparedCall {
    let members: Option<Members<'_>> = serde_json::from_str(arguments.get()).ok();
    let timeout = timeout(members.as_ref(), tool);
    let as_given = |recovery| PreparedCall { arguments: arguments.to_owned(), recovery, timeout };
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

fn parameter<'t>(tool: Option<&'t EditorTool>, name: &str) -> Option<&'t Value> {
    tool?.input_schema.get("properties")?.get(name)
}

/// The tool's own limit: the argument, else the default in its schema. What is not a positive finite number says nothing.
fn timeout(members: Option<&Members<'_>>, tool: Option<&EditorTool>) -> Option<Duration> {
    let usable = |value: &Value| {
        let seconds = value.as_f64().or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()))?;
        (seconds.is_finite() && seconds > 0.0)
            .then(|| Duration::try_from_secs_f64(seconds).map_or(TOOL_TIMEOUT_MAX, |limit| limit.min(TOOL_TIMEOUT_MAX)))
    };
    let argument = members.and_then(|members| members.get(TIMEOUT));
    let default = || parameter(tool, TIMEOUT)?.get("default").and_then(usable);
    argument.as_ref().and_then(usable).or_else(default)
}

/// An editor's reply, ready for the client.
pub(super) fn read_answer(reply: Reply) -> EditorAnswer {
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
