//! Encodes orders into frames, and decides about the greeting.

use bytes::Bytes;

use super::super::rpc::{self, is_object, loggable, quoted};
use super::super::{BadGreeting, EncodeError, Greeted, Met, Order, Reply};
use super::catalogue;
use super::framer::frame;
use super::within;
use crate::limits::COPLAY_REQUEST_MAX_BYTES;
use crate::protocol::jsonrpc;

/// What the editor answers off its main thread. It is no JSON.
const PING: &[u8] = b"ping";
/// Lists the tools and what the user has switched off, since 9.5.
pub(super) const LIST: &str = "get_tool_states";

/// Encodes this order as a whole frame.
pub(super) fn encode(order: &Order<'_>) -> Result<Bytes, EncodeError> {
    let message = match order {
        Order::Greeting { .. } => return Ok(frame(PING)),
        Order::ListTools { .. } => command(LIST, "{}"),
        Order::Call { tool: within::CUSTOM, call, .. } => {
            let (name, given) = within::custom(&call.arguments).ok_or(EncodeError::NotSpoken)?;
            command(&name, &given.map_or("{}".into(), |given| jsonrpc::compact(given.get())))
        }
        Order::Call { tool, call, .. } => {
            let given = jsonrpc::compact(call.arguments.get());
            command(catalogue::command(tool), if is_object(&given) { &given } else { "{}" })
        }
        Order::Outcomes(_) | Order::Cancel(_) | Order::Heartbeat => return Err(EncodeError::NotSpoken),
    };
    rpc::within(frame(message.as_bytes()), COPLAY_REQUEST_MAX_BYTES)
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
