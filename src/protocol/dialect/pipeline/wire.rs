//! Encodes orders into HTTP requests, reads the responses, and decides about the greeting.

use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::rpc::{self, is_object, loggable, object_text, quoted};
use super::super::wreck::{self, Wreck};
use super::super::{
    BadGreeting, EditorError, EditorState, EncodeError, Encoded, Expected, Greeted, Heartbeat, Hello, JournalKey, Met,
    Order, Reply, Standing,
};
use super::{errors, jobs, project};
use crate::limits::PIPELINE_REQUEST_MAX_BYTES;
use crate::protocol::framing::http::{Request, Response};

/// The status, which the editor answers off its main thread. It says nothing about that thread.
pub(super) const STATUS: &str = "/api/status";
/// The state, as its main thread tells it. It waits behind a command that runs.
const EDITOR_STATUS: &str = "/api/editor_status";
/// The list of commands.
pub(super) const COMMANDS: &str = "/api/commands";
/// The same with one command only, from 0.6 on. Earlier versions know no such parameter, and list all.
pub(super) const ONE_COMMAND: &str = "/api/commands?limit=1";
/// The whole list, where the editor would list a page only.
pub(super) const ALL_COMMANDS: &str = "/api/commands?limit=2048";
/// Asks for a job that there never was: 404 with JSON shows that the package knows jobs (0.5 and later).
pub(super) const PROBE: &str = "/api/job?id=holdfast";
pub(super) const EXEC: &str = "/api/exec";
pub(super) const JOB: &str = "/api/job?id=";
/// Has the members written that have no value, which are left out otherwise from 0.6 on. Earlier versions know no such parameter.
const WITH_NULLS: &str = "&omit_nulls=false";
pub(super) const CANCEL: &str = "/api/job/cancel";

/// How long the editor may wait for its main thread before it answers a command that begins some work.
const WORK_BEGINS_MAX: Duration = Duration::from_secs(60);
const JSON: &[(&str, &str)] = &[("Content-Type", "application/json")];

fn get(path: String) -> Request {
    Request { method: "GET", path: path.into(), headers: &[], body: Bytes::new() }
}

/// The question that only the main thread answers.
pub(super) fn main_thread_question() -> Request {
    get(EDITOR_STATUS.to_owned())
}

/// Encodes this order as one request.
pub(super) fn encode(order: &Order<'_>) -> Result<Encoded, EncodeError> {
    let post = |path: &'static str, body: String| {
        let body = rpc::within(body.into(), PIPELINE_REQUEST_MAX_BYTES)?;
        Ok::<_, EncodeError>(Request { method: "POST", path: path.into(), headers: JSON, body })
    };
    let request = match order {
        Order::Greeting { said, .. } => get(greeting(said).to_owned()),
        Order::ListTools { step, .. } => get(if *step == 0 { ALL_COMMANDS } else { COMMANDS }.to_owned()),
        Order::Call { tool, call, .. } => {
            let (command, parameters) = (quoted(tool), &call.arguments);
            // Where a file tells how it ends, it is no job, because a domain forgets the name of a job. The editor waits for the
            // answer as long as the command may take.
            let limit = call.timeout.unwrap_or_default().saturating_add(WORK_BEGINS_MAX);
            let how =
                if call.as_job { r#""job":true"#.to_owned() } else { format!(r#""timeout":{}"#, limit.as_millis()) };
            post(EXEC, format!(r#"{{"command":{command},"parameters":{parameters},{how}}}"#))?
        }
        Order::Outcomes([JournalKey { id, .. }]) => get(format!("{JOB}{}{WITH_NULLS}", query(id))),
        Order::Cancel(JournalKey { id, .. }) => post(CANCEL, format!(r#"{{"id":{}}}"#, quoted(id)))?,
        Order::Heartbeat => get(STATUS.to_owned()),
        Order::Outcomes(_) => return Err(EncodeError::NotSpoken),
    };
    Ok(Encoded::Request(request))
}

/// Percent-encodes a text of the editor for a query.
fn query(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// Returns the path of the greeting's next request: whether there are jobs, whether calls are taken, and when the domain began. The
/// domain comes last, because a reload may come between them, and the newest answer is the one that is compared with later ones.
fn greeting(said: &[Reply]) -> &'static str {
    match said {
        [] => PROBE,
        [_] => STATUS,
        [_, _] => ONE_COMMAND,
        _ => COMMANDS,
    }
}

/// Reads the response to the request with this path.
pub(super) fn read_response(path: &str, response: &Response) -> Reply {
    let json = object_text(&response.body).ok().and_then(|text| RawValue::from_string(text.trim().to_owned()).ok());
    let json = json.filter(|json| is_object(json.get()));
    let has_jobs = |has: bool| Reply::Result(if has { RawValue::TRUE } else { RawValue::FALSE }.to_owned());
    match (response.status, json) {
        (404, json) if path == PROBE => has_jobs(json.is_some()),
        (200, Some(json)) if path == EXEC && jobs::is_unreadable(&json) => {
            Reply::Wreck(Wreck::of_message(&response.body))
        }
        (200, Some(json)) if !(path == EXEC && errors::is_failure(&json)) => Reply::Result(json),
        (200, None) => {
            let [result] = wreck::parts(&response.body, ["result"]).values;
            Reply::Wreck(result.map_or_else(|| Wreck::of_message(&response.body), Wreck::of_result))
        }
        (status, Some(json)) => Reply::Error(errors::read(status, &json)),
        (status, None) => Reply::Error(errors::bare(status)),
    }
}

/// What of a list of commands shows the domain.
#[derive(Deserialize)]
struct Server {
    /// When the domain's server began. It is new in every domain, and nothing else shows a reload.
    #[serde(rename = "startTime")]
    start_time: Option<String>,
}

fn began(list: &[u8]) -> Option<String> {
    let [server] = wreck::parts(list, ["server"]).values;
    let Server { start_time } = serde_json::from_slice(server?).ok()?;
    Some(start_time.unwrap_or_default())
}

/// Whether two responses to the greeting's last request are from one domain.
pub(super) fn greets_alike(first: &Response, now: &Response) -> bool {
    first.status == now.status && began(&first.body) == began(&now.body)
}

/// Decides about the greeting: the editor takes our token, has a list of commands, and knows jobs or does not.
pub(super) fn check_greeting(hello: &Hello, said: &[Reply]) -> Result<Greeted, BadGreeting> {
    let foreign = |what: &str| BadGreeting::ForeignPeer(format!("it did not answer {what} as the package does").into());
    // It answers as this program does, and its list was read with our token or has not been refused.
    let unwell =
        |what: &str, why: &str| BadGreeting::Starting(format!("it does not answer {what} as the package does: {why}"));
    let (first, last) = said.first().zip(said.last()).ok_or(BadGreeting::Silent)?;
    let refused = |error: &EditorError| error.code == errors::UNAUTHORIZED;
    let list = match last {
        Reply::Error(error) if refused(error) => {
            return Err(BadGreeting::TokenRefused(
                format!(
                    "it refuses the token in {} ({}). Unity writes a new one at its start; if this stays, restart Unity",
                    project::DESCRIPTOR,
                    loggable(&error.message)
                )
                .into(),
            ));
        }
        _ if said.len() <= 2 => return Ok(Greeted::NotYet),
        Reply::Error(_) if said.len() == 3 => return Ok(Greeted::NotYet),
        Reply::Error(error) if error.code == errors::GAVE_UP => {
            return Err(unwell(COMMANDS, &loggable(&error.message)));
        }
        Reply::Error(error) => return Err(BadGreeting::Refused { what: COMMANDS, why: loggable(&error.message) }),
        Reply::Result(list) => list,
        Reply::Wreck(_) => return Err(foreign(COMMANDS)),
    };
    let began = began(list.get().as_bytes()).ok_or_else(|| foreign(COMMANDS))?;
    let jobs = match first {
        Reply::Result(has) if has.get() == "true" => true,
        Reply::Result(has) if has.get() == "false" => false,
        Reply::Error(error) => return Err(unwell(PROBE, &loggable(&error.message))),
        Reply::Result(_) | Reply::Wreck(_) => return Err(unwell(PROBE, "its answer cannot be read")),
    };
    let told = hello.expected.as_ref().and_then(|expected| match expected {
        Expected::Told { server_session_id, .. } => Some(server_session_id.clone()),
        Expected::Proven(_) => None,
    });
    let began = Some(began).filter(|began| !began.is_empty()).or(told).unwrap_or_default();
    Ok(Greeted::Done(Met {
        domain: Some(number_of(&began)),
        // The jobs of a domain end with it.
        journal: jobs.then_some(began),
        standing: said.get(1).and_then(read_standing),
        ..Met::default()
    }))
}

/// Makes a number of a text: another text has another one (FNV-1a).
fn number_of(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Reads from a reply to the question for the status whether the editor takes calls.
pub(super) fn read_standing(reply: &Reply) -> Option<Standing> {
    let Reply::Result(said) = reply else { return None };
    let said: Value = serde_json::from_str(said.get()).ok()?;
    let dialog = said.get("dialog").and_then(errors::dialog);
    Some(match (said.get("status").and_then(Value::as_str)?, dialog) {
        (_, Some(dialog)) => Standing::Blocked(format!("{dialog} is open in Unity's window").into()),
        ("blocked_by_dialog", None) => Standing::Blocked("a dialog is open in Unity's window".into()),
        ("settling", None) => Standing::Blocked("Unity has not settled since its start, and takes no calls yet".into()),
        _ => Standing::TakesCalls,
    })
}

/// Reads what the main thread says of the editor. "reloading" only means that assets are refreshed, as in an import.
pub(super) fn read_main_thread(reply: &Reply) -> Option<Heartbeat> {
    let Reply::Result(said) = reply else { return None };
    let said: Value = serde_json::from_str(said.get()).ok()?;
    let play_mode = said.get("playMode").and_then(Value::as_str)?;
    let is = |name: &str| said.get(name) == Some(&Value::Bool(true));
    let state = match play_mode {
        _ if is("compiling") => EditorState::Compiling,
        "playing" | "paused" => EditorState::Playing,
        _ => EditorState::Ready,
    };
    Some(Heartbeat { importing: is("domainReloadInProgress"), ..Heartbeat::inferred(state, Duration::ZERO) })
}
