//! Interprets the editor's answers, which say the opposite of what happened. The editor waits 100 ms for its main thread, and
//! mistakes the end of that work for a failed wait. So "A task was canceled" means that the work is done, and success means that
//! it is not done.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::rpc::{loggable, quoted};
use super::super::{AnswerBody, EditorAnswer, EditorError, Reply, WireId};
use super::wire::{self, EXECUTE, Heard, PING, START, STATE, STOP};
use crate::protocol::framing::http::{Request, Response};
use crate::protocol::ids::CallId;

/// Mono's error for a wait that ended because the work was done.
const DONE: &str = "A task was canceled";
/// Prefixes of the editor's answers. Only prefixes are compared: the rest may hold the caller's own text, and is then not valid
/// JSON.
const CODE_WAITING: &str = "{ \"success\": false, \"error\": \"\", \"code\": \"";
const CODE_FAILED: &str = "{ \"success\": false, \"error\": \"";
const CODE_WAIT_FAILED: &str = "{ \"success\": false, \"error\": \"Error executing code: ";
const STATE_WAIT_FAILED: &str = "{ \"success\": false, \"message\": \"Error getting game state: ";
/// The editor's answer if its main thread has not supplied the values yet: default values.
const STATE_UNASKED: &str = "{ \"isPlaying\": false, \"isPaused\": false, \"isCompiling\": false, \"currentScene\": \"SampleScene\", \
                             \"timeScale\": 1, \"frameCount\": 0, \"realtimeSinceStartup\": 0 }";
/// Commits between 6f42e8d and 09106e9 only pretend to start or stop; their result ends with this.
const SIMULATED: &str = " (simulated)\"";
/// The editor's answer to a path that it does not know. No code that is executed can make a whole answer like this one.
const UNKNOWN_PATH: &str = "{ \"success\": true, \"message\": \"Hello from Unity MCP!\" }";

const WAITS: &str = "Unity has queued it: its main thread was not free within 100 ms (busy, compiling, a modal dialog, or its window has \
                     no focus) and runs it when it is. Do not send it again. This package never tells when that was: look into \
                     Unity's console, or bring Unity's window to the front.";

const NO_CODE: &str = "Not executed: nothing was sent to execute. `code` (for query: `query`) must be a text.";

/// What happened to a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Went {
    /// The main thread ran the call.
    Ran,
    /// The main thread ran the call and reports a failure.
    Failed,
    /// The call is queued and will run.
    Queued,
    /// Nothing was executed, and nothing will be.
    Refused,
    /// It is not known whether the call ran.
    Unclear,
}

/// The envelope of the package's own server, with further facts.
#[derive(Serialize)]
struct Envelope {
    status: &'static str,
    log_id: String,
    result: Option<Box<RawValue>>,
    /// `null` if the call has not run yet, or if that is unknown; `message` says which.
    executed: Option<bool>,
    is_complete: bool,
    message: String,
}

/// What happened to a call, its result as the editor wrote it, and a sentence about both.
type Meaning = (Went, Option<Box<RawValue>>, String);

/// Reads the response to the message `id`. Only a call is about anything but `/ping`.
pub(super) fn read_response(id: WireId, request: &Request, response: &Response) -> Reply {
    let body = String::from_utf8_lossy(&response.body);
    let heard = Heard { path: &request.path, status: response.status, body };
    match (id.call, wire::ping(&heard)) {
        (Some(call), _) => reply(call, &heard),
        (None, Ok(())) => Reply::Result(RawValue::TRUE.to_owned()),
        (None, Err(why)) => {
            Reply::Error(EditorError { code: heard.status.into(), message: why.to_string(), refusal: None })
        }
    }
}

/// Reads the response to a call: its envelope is the reply, and an error if the tool failed or was refused.
fn reply(call: CallId, heard: &Heard<'_>) -> Reply {
    let (went, result, message) = meaning(heard);
    let (status, executed, is_complete) = match went {
        Went::Ran => ("success", Some(true), true),
        Went::Failed => ("error", Some(true), true),
        Went::Queued => ("timeout", None, false),
        Went::Refused => ("error", Some(false), true),
        Went::Unclear => ("error", None, true),
    };
    let envelope = Envelope { status, log_id: call.to_string(), result, executed, is_complete, message };
    let failed = |message| Reply::Error(EditorError { code: heard.status.into(), message, refusal: None });
    match serde_json::to_string(&envelope) {
        Ok(json) if status == "error" => failed(json),
        Ok(json) => RawValue::from_string(json).map_or_else(|bad| failed(bad.to_string()), Reply::Result),
        Err(_) => failed(envelope.message),
    }
}

/// Converts an editor's reply to a call into an answer.
pub(super) fn read(reply: Reply) -> EditorAnswer {
    let (is_error, body) = match reply {
        Reply::Result(envelope) => (false, AnswerBody::Json(envelope)),
        Reply::Error(error) => match RawValue::from_string(error.message.clone()) {
            Ok(envelope) => (true, AnswerBody::Json(envelope)),
            Err(_) => (true, AnswerBody::Text(error.message)),
        },
        Reply::Wreck(wreck) => return wreck.answer(None, Vec::new()),
    };
    EditorAnswer { is_error, body }
}

fn meaning(heard: &Heard<'_>) -> Meaning {
    let body = heard.body.trim();
    if let Some(why) = wire::refusal(heard) {
        let message = format!("The editor did not take the request: {why}. Nothing was executed.");
        return (Went::Refused, None, message);
    }
    if heard.status != 200 {
        return unclear(heard);
    }
    match heard.path {
        EXECUTE => code(body),
        START => play(body, "Error starting game: ", "Game started", "enter play mode"),
        STOP => play(body, "Error stopping game: ", "Game stopped", "leave play mode"),
        STATE => state(body),
        // `wire::encode` sends a ping in place of a call without a text to execute.
        PING => Some((Went::Refused, None, NO_CODE.to_owned())),
        _ => None,
    }
    .or_else(|| (body == UNKNOWN_PATH).then(unsupported))
    .unwrap_or_else(|| unclear(heard))
}

fn unsupported() -> Meaning {
    let message = "This version of the Unity package does not know the request and answered it with its greeting. Nothing was \
                   executed: bring the package to its newest commit.";
    (Went::Refused, None, message.to_owned())
}

fn unclear(heard: &Heard<'_>) -> Meaning {
    let message = format!(
        "The editor answered with something that this package never says (status {}, `{}`). It is not known whether it ran: look \
         into Unity's console before you send it again.",
        heard.status,
        loggable(heard.body.trim())
    );
    (Went::Unclear, None, message)
}

fn code(body: &str) -> Option<Meaning> {
    if body.starts_with(CODE_WAITING) {
        return Some((Went::Queued, None, WAITS.to_owned()));
    }
    if body.starts_with(CODE_WAIT_FAILED) && body.contains(DONE) {
        let message = "Unity's main thread ran it. This package keeps what came of it to itself, also whether a statement failed: \
                       look into Unity's console. Only find(\"Name\"), new GameObject(\"x\") and Debug.Log(\"m\") are executed; \
                       any other statement was only written there (see help).";
        return Some((Went::Ran, None, message.to_owned()));
    }
    if let Some((error, _)) = body
        .strip_prefix(CODE_FAILED)
        .filter(|_| !body.starts_with(CODE_WAIT_FAILED))
        .and_then(|rest| rest.split_once("\", \"code\": \""))
    {
        let message = format!("Unity's main thread ran it, and it failed: {error}");
        return Some((Went::Failed, None, message));
    }
    // A rare race: the work was done at the moment the editor stopped waiting. The body is then usually an empty object.
    let said: Said = serde_json::from_str(body).ok().filter(|_| body.starts_with('{'))?;
    (body == "{}" || said.success == Some(true) && said.result.is_some())
        .then(|| (Went::Ran, said.result, "Unity's main thread ran it.".to_owned()))
}

#[derive(Deserialize)]
struct Said {
    #[serde(default)]
    success: Option<bool>,
    #[serde(default)]
    result: Option<Box<RawValue>>,
}

fn play(body: &str, failed: &str, waiting: &str, what: &str) -> Option<Meaning> {
    let said: Option<Said> = serde_json::from_str(body).ok();
    if said.is_some_and(|said| {
        said.success == Some(true) && said.result.is_some_and(|text| text.get().ends_with(SIMULATED))
    }) {
        let message = format!(
            "This version of the Unity package only pretends to {what}. Nothing was executed: bring the package to its newest \
             commit."
        );
        return Some((Went::Refused, None, message));
    }
    if body.starts_with(&format!("{{ \"success\": false, \"message\": \"{failed}")) && body.contains(DONE) {
        let message = format!(
            "Unity's main thread was told to {what}. Whether Unity does (it does not enter play mode while scripts have errors) \
             this package cannot tell."
        );
        return Some((Went::Ran, None, message));
    }
    (body == format!("{{ \"success\": true, \"message\": \"{waiting}\" }}"))
        .then(|| (Went::Queued, None, WAITS.to_owned()))
}

fn state(body: &str) -> Option<Meaning> {
    if body.starts_with(STATE_WAIT_FAILED) && body.contains(DONE) {
        let message = "Unity's main thread answers. This package cannot pass on the game state itself.";
        return Some((Went::Ran, json("{\"responsive\":true}"), message.to_owned()));
    }
    if body == STATE_UNASKED {
        let message = "Unity's main thread did not answer within 100 ms: it is busy, compiling, in a modal dialog, or its window has \
                       no focus. What the package sent instead are defaults and no state; they are left out. Asking again later \
                       does no harm.";
        return Some((Went::Queued, json("{\"responsive\":false}"), message.to_owned()));
    }
    // The same race as for code: the work was done at the moment the editor stopped waiting. Numbers may have a decimal comma,
    // depending on Unity's language; then the body is not JSON, and is passed on as a text.
    if !body.starts_with("{ \"isPlaying\": ") {
        return None;
    }
    let state = json(body).or_else(|| json(&quoted(body)));
    Some((Went::Ran, state, "The game state, as Unity's main thread gave it.".to_owned()))
}

fn json(text: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(text.to_owned()).ok()
}
