//! Encodes orders into lines, and decodes lines into replies and events.

use std::fmt::Write as _;

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::rpc::{self, loggable, quoted};
use super::super::uloop::errors::{read_old as read_error, timed_out, unknown_method};
use super::super::uloop::tools;
use super::super::uloop::wire::{LIST_METHODS, NO_GREETING, is_greeting, notified};
use super::super::{
    BadGreeting, BadMessage, EditorEvent, EncodeError, Greeted, Hello, Inbound, ListStep, Met, Order, Reply, WireId,
};
use crate::limits::UMCP_REQUEST_MAX_BYTES;
use crate::protocol::jsonrpc;

/// Greeting methods, newest first: v0.20 and later, v0.10 to v0.19, before v0.10. An answer to `ping` shows only that the package
/// is there.
const GREETINGS: [&str; 3] = ["set-client-name", "setClientName", "ping"];

/// Prefix of every version's answer to `ping`.
const PONG: &str = "Unity MCP Bridge received: ";

/// The tools of v0.1 to v0.3, which have no tool list, in the format of the later lists. Source: `UnityCommandRegistry.cs` of
/// those versions; for the parameters `CompileCommand.cs` and `GetLogsCommand.cs`.
const FIRST_TOOLS: &str = r#"[
{"name":"compile","description":"Compiles the project's scripts.","parameterSchema":{"Properties":{
  "forceRecompile":{"Type":"boolean","Description":"Compile everything anew","DefaultValue":false}}}},
{"name":"getlogs","description":"Reads the console.","parameterSchema":{"Properties":{
  "logType":{"Type":"string","Description":"Kind of entries: Log, Warning, Error or All","DefaultValue":"All"},
  "maxCount":{"Type":"number","Description":"Most entries","DefaultValue":100}}}},
{"name":"ping","description":"Answers with the message.","parameterSchema":{"Properties":{
  "message":{"Type":"string","Description":"What to say"}}},"displayDevelopmentOnly":true}]"#;

/// Encodes this order as a whole line, with its line end.
pub(super) fn encode(id: WireId, order: &Order<'_>) -> Result<Bytes, EncodeError> {
    let (method, params) = match order {
        Order::Greeting { hello, said } => greeting(hello, said.len()),
        Order::ListTools { step, development } => {
            let method = LIST_METHODS.get(*step).copied().unwrap_or(LIST_METHODS[LIST_METHODS.len() - 1]);
            (method, format!(r#"{{"IncludeDevelopmentOnly":{development}}}"#))
        }
        // Line breaks in the arguments are removed, because the reader ends a message at each one.
        Order::Call { tool, call, .. } => (*tool, jsonrpc::compact(call.arguments.get()).into_owned()),
        Order::Outcomes(_) | Order::Cancel(_) | Order::Heartbeat => return Err(EncodeError::NotSpoken),
    };
    let mut line = ascii(&rpc::body(&format!(r#""id":{},"#, id.number), method, &params, ""));
    line.push('\n');
    rpc::within(line.into(), UMCP_REQUEST_MAX_BYTES)
}

fn greeting(hello: &Hello, step: usize) -> (&'static str, String) {
    let method = GREETINGS.get(step).copied().unwrap_or(GREETINGS[GREETINGS.len() - 1]);
    // Before v0.4 the editor compares the case of parameter names, and `ping` expects `message`.
    let parameter = if method == "ping" { "message" } else { "ClientName" };
    (method, format!(r#"{{"{parameter}":{}}}"#, quoted(&hello.client_name)))
}

/// Escapes all characters outside ASCII. They occur only inside JSON strings, where an escape means the same.
fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for letter in json.chars() {
        if letter.is_ascii() {
            out.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

/// Decodes a line. v0.4 to v0.9 send `commandsChanged` in addition to today's notification, or instead of it.
pub(super) fn decode(line: &[u8]) -> Result<Inbound, BadMessage> {
    rpc::decode_with(line, own_number, read_error, |method, params| match method {
        "commandsChanged" => Some(Inbound::Event(EditorEvent::ToolsChanged)),
        _ => notified(method, params),
    })
}

/// Returns the number in an id of ours, which editors return as the integer that was sent. `None` for any other id.
fn own_number(id: &RawValue) -> Option<u64> {
    let digits = id.get();
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// Reads an error with the id `null`: every error before v0.18, and in all versions the error for a message that could not be
/// parsed.
pub(super) fn read_unnamed(line: &[u8]) -> Option<Reply> {
    rpc::unnamed_error(line, read_error)
}

/// Checks the replies to the greeting. If an editor does not know a method, the next one is tried. If the package reports that
/// its greeting timed out, the peer is accepted too: only uMCP and uLoopMCP use these words, and the client's name is only shown
/// to people.
pub(super) fn check_greeting(said: &[Reply]) -> Result<Greeted, BadGreeting> {
    let met = || Ok(Greeted::Done(Met::default()));
    match said.last().ok_or(BadGreeting::Silent)? {
        Reply::Result(result) if is_greeting(result) || is_pong(result) => met(),
        Reply::Result(_) | Reply::Wreck(_) => Err(BadGreeting::ForeignPeer(NO_GREETING.into())),
        Reply::Error(error) if unknown_method(error) && said.len() < GREETINGS.len() => Ok(Greeted::NotYet),
        Reply::Error(error) if GREETINGS.iter().any(|method| timed_out(error, method)) => met(),
        Reply::Error(error) => Err(BadGreeting::Refused { what: "greeting", why: loggable(&error.message) }),
    }
}

/// Whether the result is an answer to `ping`, as versions before v0.4 give it: a plain text.
fn is_pong(result: &RawValue) -> bool {
    serde_json::from_str::<Value>(result.get())
        .is_ok_and(|said| said.as_str().is_some_and(|text| text.starts_with(PONG)))
}

/// Reads the reply to the `step`-th list method. An editor that knows none of the methods is a version without a list, with fixed
/// tools.
pub(super) fn read_tools(reply: &Reply, step: usize) -> ListStep {
    match reply {
        Reply::Error(error) if unknown_method(error) && step + 1 >= LIST_METHODS.len() => {
            match RawValue::from_string(FIRST_TOOLS.to_owned()) {
                Ok(first) => tools::read(&Reply::Result(first), step),
                Err(error) => ListStep::Failed(format!("holdfast's own list of tools is broken: {error}")),
            }
        }
        Reply::Error(_) | Reply::Result(_) | Reply::Wreck(_) => tools::read(reply, step),
    }
}
