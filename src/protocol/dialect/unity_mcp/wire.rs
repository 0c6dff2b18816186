//! Encodes orders into HTTP requests, and reads the responses.

use std::borrow::Cow;

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::members::Members;
use super::super::rpc::loggable;
use super::super::{BadGreeting, EncodeError, Encoded, Greeted, Met, Order, Reply};
use super::names::{self, CODE, QUERY};
use crate::limits::UNITY_MCP_REQUEST_MAX_BYTES;
use crate::protocol::framing::http::Request;

pub(super) const PING: &str = "/ping";
pub(super) const EXECUTE: &str = "/api/CodeExecution/execute-code";
pub(super) const STATE: &str = "/api/CodeExecution/game-state";
pub(super) const START: &str = "/api/CodeExecution/start-game";
pub(super) const STOP: &str = "/api/CodeExecution/stop-game";

/// The editor's response to every path that it does not know.
pub(super) const HELLO: &str = "Hello from Unity MCP!";
/// The content type of code. The editor decodes the body with this charset.
const CODE_TYPE: &str = "text/plain; charset=utf-8";

/// Encodes this order as one request.
pub(super) fn encode(order: &Order<'_>) -> Result<Encoded, EncodeError> {
    let (method, path, body) = match order {
        // The package has neither a greeting nor a list. `/ping` serves for both: no other answer comes without the main thread.
        Order::Greeting { .. } | Order::ListTools { .. } | Order::Heartbeat => ("GET", PING, None),
        Order::Call { tool, call, .. } => match *tool {
            // The package's own server posted queries to a path that the editor does not know. Only this path executes them.
            names::EXECUTE_CODE | names::QUERY_TOOL => {
                match text(&call.arguments, if *tool == names::EXECUTE_CODE { CODE } else { QUERY }) {
                    Some(code) => ("POST", EXECUTE, Some(code)),
                    // There is nothing to execute, so a harmless ping is sent in its place. `answer::read_response` turns its answer into
                    // a refusal.
                    None => ("GET", PING, None),
                }
            }
            names::GET_STATE => ("GET", STATE, None),
            names::START_GAME => ("POST", START, None),
            names::STOP_GAME => ("POST", STOP, None),
            _ => return Err(EncodeError::NotSpoken),
        },
        Order::Outcomes(_) | Order::Cancel(_) => return Err(EncodeError::NotSpoken),
    };
    let headers: &[_] = if body.is_some() { &[("Content-Type", CODE_TYPE)] } else { &[] };
    let body = body.unwrap_or_default();
    if body.len() > UNITY_MCP_REQUEST_MAX_BYTES {
        return Err(EncodeError::TooLarge { bytes: body.len(), max: UNITY_MCP_REQUEST_MAX_BYTES });
    }
    Ok(Encoded::Request(Request { method, path: path.into(), headers, body: body.into() }))
}

/// Returns an argument that must be a text according to the schema; `None` if it is missing or not a text.
fn text(arguments: &RawValue, name: &str) -> Option<String> {
    let members: Option<Members<'_>> = serde_json::from_str(arguments.get()).ok();
    match members.and_then(|members| members.get(name)) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// What the editor's HTTP server answered.
pub(super) struct Heard<'a> {
    /// The path that was asked.
    pub(super) path: &'a str,
    pub(super) status: u16,
    /// The body, with U+FFFD in place of what is not UTF-8.
    pub(super) body: Cow<'a, str>,
}

/// Accepts the bare text `pong` as the answer to `/ping`: only this package gives that answer.
pub(super) fn check_greeting(said: &[Reply]) -> Result<Greeted, BadGreeting> {
    match said.last() {
        Some(Reply::Result(_)) => Ok(Greeted::Done(Met::default())),
        Some(Reply::Error(error)) => Err(BadGreeting::ForeignPeer(error.message.clone().into())),
        Some(Reply::Wreck(_)) | None => Err(BadGreeting::Silent),
    }
}

/// Checks that this is the package's answer to `/ping`.
///
/// # Errors
/// [`BadGreeting::ForeignPeer`], with what the peer seems to be.
pub(super) fn ping(heard: &Heard<'_>) -> Result<(), BadGreeting> {
    let body = heard.body.trim();
    let other: Cow<'static, str> = match heard.status {
        200 if body == "pong" => return Ok(()),
        200 if body == "\"pong\"" => {
            "it is the ASP.NET host of an early Unity-MCP, a program beside Unity that only pretends to execute: stop it, and use \
             the editor package (folder unity-client)"
                .into()
        }
        200 if body.contains(HELLO) => {
            "it is a Unity-MCP that does not know /ping: an older commit of the package; bring it to its newest one".into()
        }
        status => match refusal(heard) {
            Some(why) => why.into(),
            None => {
                format!("it is another HTTP server: it answered /ping with status {status} and `{}`", loggable(body)).into()
            }
        },
    };
    Err(BadGreeting::ForeignPeer(other))
}

/// Why the HTTP server itself refused the request before the package's code ran. `None` if that is not certain.
///
/// The package answers every request with status 200, whatever comes of it. Only Mono's listener answers with another status and
/// a page that is one heading. The status alone proves nothing: a program that is not this package may send it after its work.
pub(super) fn refusal(heard: &Heard<'_>) -> Option<String> {
    let page = heard.body.trim();
    if !(page.starts_with("<h1>") && page.ends_with("</h1>")) {
        return None;
    }
    let what = match heard.status {
        400 if heard.body.contains("Invalid host") => "it does not take 127.0.0.1 for its own name (400 Invalid host)",
        411 => "it did not see the length of the request (411 Length Required)",
        // Only statuses that a server sends before it passes a request to the program behind it.
        status @ (400 | 401 | 403 | 404 | 405 | 413 | 414 | 415 | 417 | 431) => {
            return Some(format!("its HTTP server refused the request with status {status}"));
        }
        _ => return None,
    };
    Some(what.to_owned())
}
