//! Encodes orders into frames, and decides about the greeting.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::super::rpc::{self, is_object, loggable, quoted};
use super::super::{BadGreeting, EncodeError, Greeted, Met, Order, PreparedCall, Reply};
use super::catalogue;
use super::framer::frame;
use super::within;
use crate::limits::COPLAY_REQUEST_MAX_BYTES;
use crate::protocol::jsonrpc;

/// What the editor answers off its main thread. It is no JSON.
const PING: &[u8] = b"ping";
/// Lists the tools and what the user has switched off, since 9.5.
pub(super) const LIST: &str = "get_tool_states";

/// The ping that the editor's main thread answers.
pub(super) fn main_thread_question() -> Bytes {
    frame(command("ping", "{}").as_bytes())
}

/// Encodes this order as a whole frame.
pub(super) fn encode(order: &Order<'_>) -> Result<Bytes, EncodeError> {
    let message = match order {
        Order::Greeting { .. } => return Ok(frame(PING)),
        Order::ListTools { .. } => command(LIST, "{}"),
        Order::Call { tool, call, .. } => {
            let (name, params) = command_of(tool, call).ok_or(EncodeError::NotSpoken)?;
            command(&name, &params)
        }
        Order::Outcomes(_) | Order::Cancel(_) | Order::Heartbeat => return Err(EncodeError::NotSpoken),
    };
    rpc::within(frame(message.as_bytes()), COPLAY_REQUEST_MAX_BYTES)
}

/// Returns the editor's command for a call, and its parameters.
pub(super) fn command_of<'a>(tool: &'a str, call: &'a PreparedCall) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
    let (name, given) = if tool == within::CUSTOM {
        let (name, given) = within::custom(&call.arguments)?;
        (name.into(), given)
    } else {
        (catalogue::command(tool).into(), Some(&*call.arguments))
    };
    let given = given.map(RawValue::get).filter(|given| is_object(given));
    Some((name, given.map_or("{}".into(), jsonrpc::compact)))
}

fn command(name: &str, params: &str) -> String {
    format!(r#"{{"type":{},"params":{params}}}"#, quoted(name))
}

/// Accepts the answer to the ping. It shows the package, not the project: that is known by the port's owner.
pub(super) fn check_greeting(said: &[Reply]) -> Result<Greeted, BadGreeting> {
    match said.last().ok_or(BadGreeting::Silent)? {
        Reply::Result(result) if result.get().contains("\"pong\"") => Ok(Greeted::Done(Met::default())),
        Reply::Error(error) => Err(BadGreeting::Refused { what: "ping", why: loggable(&error.message) }),
        Reply::Result(_) | Reply::Wreck(_) => Err(BadGreeting::ForeignPeer(
            "it greets as MCP for Unity does, but answers no ping as that package does".into(),
        )),
    }
}
