//! Encodes orders into messages, decodes messages, and decides about the greeting.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::super::super::rpc::{loggable, quoted, within};
use super::super::super::wreck::{self, Wreck};
use super::super::super::{
    BadGreeting, BadMessage, EditorEvent, EncodeError, Greeted, Inbound, LeaveReason, Met, Order, PreparedCall, Reply,
    WireId,
};
use super::super::answer;
use super::super::wire::{LIST, command_of};
use crate::limits::{EDITOR_MESSAGE_MAX_BYTES, TOOL_TIMEOUT_MAX};
use crate::protocol::framing::websocket;

/// How the ids begin that we give to commands. The number of the message follows.
const OWN: [u8; 8] = *b"holdfast";
/// The command that does nothing.
const PING: &str = "ping";
/// Encodes this order as whole messages.
pub(super) fn encode(id: WireId, order: &Order<'_>) -> Result<Bytes, EncodeError> {
    match order {
        // The answer to the command shows that the editor has registered and reads on. Its signs of life show less: they come also
        // while it does neither.
        Order::Greeting { hello, .. } => {
            let session = Uuid::parse_str(&hello.challenge).unwrap_or_else(|_| uuid(id.number));
            let registered = websocket::text(&format!(r#"{{"type":"registered","session_id":"{session}"}}"#));
            Ok([registered, execute(id, PING, "{}", TOOL_TIMEOUT_MAX.as_secs())?].concat().into())
        }
        Order::ListTools { .. } => execute(id, LIST, "{}", TOOL_TIMEOUT_MAX.as_secs()),
        Order::Call { tool, call, .. } => {
            let (name, params) = command_of(tool, call).ok_or(EncodeError::NotSpoken)?;
            execute(id, &name, &params, seconds(call))
        }
        Order::Outcomes(_) | Order::Cancel(_) | Order::Heartbeat => Err(EncodeError::NotSpoken),
    }
}

/// How long a command may take, in seconds. The deadline of a call is the gateway's: the editor would only stop waiting for a command
/// that runs on.
fn seconds(call: &PreparedCall) -> u64 {
    let own = [call.limit, call.timeout].into_iter().flatten().max().unwrap_or_default();
    own.max(TOOL_TIMEOUT_MAX).as_secs()
}

fn execute(id: WireId, name: &str, params: &str, timeout: u64) -> Result<Bytes, EncodeError> {
    let (id, name) = (uuid(id.number), quoted(name));
    let message = format!(r#"{{"type":"execute","id":"{id}","name":{name},"params":{params},"timeout":{timeout}}}"#);
    within(websocket::text(&message), EDITOR_MESSAGE_MAX_BYTES)
}

/// The command that the editor's main thread answers. It waits for that thread as long as it takes.
pub(super) fn main_thread_question(id: WireId) -> Option<Bytes> {
    execute(id, PING, "{}", TOOL_TIMEOUT_MAX.as_secs()).ok()
}

/// Returns the id of the message with this number. Its form is that of the ids of the package's own server.
fn uuid(number: u64) -> Uuid {
    Uuid::from_u64_pair(u64::from_be_bytes(OWN), number)
}

/// Returns the number in an id of ours.
fn own_number(id: &str) -> Option<u64> {
    let (own, number) = Uuid::parse_str(id).ok()?.as_u64_pair();
    (own.to_be_bytes() == OWN).then_some(number)
}

/// Decodes a message. An empty one is the close of the WebSocket: an editor closes it when it quits, and when its user ends the session.
pub(super) fn decode(message: &[u8]) -> Result<Inbound, BadMessage> {
    #[derive(Deserialize)]
    struct Said<'a> {
        #[serde(rename = "type")]
        kind: String,
        id: Option<String>,
        #[serde(borrow)]
        result: Option<&'a RawValue>,
    }
    if message.is_empty() {
        return Ok(Inbound::Event(EditorEvent::Leaving(LeaveReason::Unknown)));
    }
    let Ok(Said { kind, id, result }) = serde_json::from_slice(message) else { return broken(message) };
    Ok(match kind.as_str() {
        "command_result" => match id.as_deref().and_then(own_number) {
            Some(number) => {
                let wreck = || Reply::Wreck(Wreck::of_message(message));
                Inbound::Reply {
                    number,
                    reply: result.map_or_else(wreck, |result| answer::read_reply(result.get().as_bytes())),
                }
            }
            None => unmatched("a result without an id of ours"),
        },
        "register_tools" => Inbound::Event(EditorEvent::ToolsChanged),
        "pong" => Inbound::Alive(None),
        other => unmatched(other),
    })
}

fn unmatched(what: &str) -> Inbound {
    Inbound::Unmatched { what: loggable(what) }
}

/// Reads a message that is no JSON, or of which the members have other types.
fn broken(message: &[u8]) -> Result<Inbound, BadMessage> {
    let [kind, id, result] = wreck::parts(message, ["type", "id", "result"]).values;
    if kind.and_then(wreck::text).is_some_and(|kind| kind == "command_result")
        && let Some(number) = id.and_then(wreck::text).as_deref().and_then(own_number)
    {
        let wreck = result.map_or_else(|| Wreck::of_message(message), Wreck::of_result);
        return Ok(Inbound::Reply { number, reply: Reply::Wreck(wreck) });
    }
    Err(Wreck::of_message(message).fault())
}

/// Accepts any reply to the command of the greeting: it shows that the editor reads what it is sent.
pub(super) fn check_greeting(said: &[Reply]) -> Result<Greeted, BadGreeting> {
    match said.last().ok_or(BadGreeting::Silent)? {
        Reply::Result(_) | Reply::Error(_) => Ok(Greeted::Done(Met::default())),
        Reply::Wreck(_) => Err(BadGreeting::ForeignPeer("its answer to a ping cannot be read".into())),
    }
}

/// Whether the editor waits for a command no longer, which may still run.
pub(super) fn is_given_up(reply: &Reply) -> bool {
    let Reply::Error(error) = reply else { return false };
    error.message.starts_with("Command '") && error.message.contains("' timed out after ")
}
