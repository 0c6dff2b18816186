//! Encodes orders into frames, decodes frames, and decides about the greeting.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::members::Members;
use super::super::rpc::{self, loggable, quoted};
use super::super::wreck::{self, Wreck};
use super::super::{
    BadGreeting, BadMessage, EditorState, EncodeError, Greeted, Heartbeat, Inbound, Met, Order, Reply, WireId,
};
use super::call::{self, JOURNAL, seconds};
use super::errors;
use crate::limits::{TOOL_TIMEOUT_MAX, ULOOP_REQUEST_MAX_BYTES};
use crate::protocol::framing::content_length;

/// The newest protocol number that is known. An editor that wants another one refuses it, says which, and has run nothing.
pub(super) const NEWEST: u32 = 5;
/// Betas before 3.0.45 compare this version of their own command line with the least that they take, instead of a number. Later ones
/// only log it.
const RUNNER: &str = "3.2.0";
/// How often the editor says by itself that it works on a request.
pub(super) const ALIVE_EVERY: Duration = Duration::from_secs(10);
/// How often another number is tried in one greeting.
const NUMBERS_TRIED: usize = 3;
/// What the editor answers off its main thread. Versions that do not know it say so, in an error that only the package writes.
const STATUS: &str = "get-editor-status";
/// What only the main thread answers, in every version.
const MAIN_THREAD: &str = "get-version";
const LIST: &str = "get-tool-details";

/// Encodes this order as a whole frame.
pub(super) fn encode(id: WireId, order: &Order<'_>) -> Result<Bytes, EncodeError> {
    match order {
        Order::Greeting { said, .. } => request(WireId { agreed: Some(number_for(said)), ..id }, STATUS, "{}"),
        Order::ListTools { .. } => request(id, LIST, "{}"),
        Order::Call { tool, call, .. } => request(id, tool, call.arguments.get()),
        Order::Outcomes([key]) => {
            let params = format!(r#"{{"RequestId":{}}}"#, quoted(&key.id));
            request(id, call::status_command(&key.id), &params)
        }
        Order::Outcomes(_) | Order::Cancel(_) | Order::Heartbeat => Err(EncodeError::NotSpoken),
    }
}

/// The question that only the main thread answers.
pub(super) fn main_thread_question(id: WireId) -> Result<Bytes, EncodeError> {
    request(id, MAIN_THREAD, "{}")
}

fn request(id: WireId, method: &str, params: &str) -> Result<Bytes, EncodeError> {
    let number = id.agreed.unwrap_or(NEWEST);
    let own = format!(
        r#"{{"projectRunnerVersion":"{RUNNER}","cliVersion":"{RUNNER}","protocolVersion":{number},"acceptsDispatchAck":true,"acceptsHeartbeat":true}}"#
    );
    let trailer = format!(r#","uloop":{own},"id":{}"#, id.number);
    let body = rpc::body("", method, params, &trailer);
    rpc::within(content_length::encode(body.as_bytes()), ULOOP_REQUEST_MAX_BYTES)
}

/// Returns the number for the next message of the greeting: the one that the editor asked for last.
fn number_for(said: &[Reply]) -> u32 {
    said.iter().rev().find_map(errors::required_number).unwrap_or(NEWEST)
}

/// Decodes the body of a frame.
pub(super) fn decode(frame: &[u8]) -> Result<Inbound, BadMessage> {
    let own = member(frame, "uloop");
    let of_own = |name: &str| own.and_then(|own| member(own, name));
    match of_own("phase").and_then(wreck::text).as_deref() {
        Some("heartbeat") => {
            let stall = of_own("mainThreadStallSeconds").and_then(|stall| serde_json::from_slice(stall).ok());
            let stall = stall.and_then(seconds).filter(|stall| *stall <= TOOL_TIMEOUT_MAX);
            Ok(Inbound::Alive(stall.map(|stall| Heartbeat {
                running: 1,
                inferred: false,
                every: ALIVE_EVERY,
                ..Heartbeat::inferred(EditorState::Unknown, stall)
            })))
        }
        // Only the last frame of a request has none. "accepted" is said before the editor looks at the request.
        Some(_) => Ok(Inbound::Alive(None)),
        None => match rpc::decode_with(frame, own_number, errors::read, |_, _| None) {
            // With a result beside it, an error is no proof of anything.
            Ok(Inbound::Reply { number, reply: Reply::Error(_) }) if has_result(frame) => {
                Ok(Inbound::Reply { number, reply: Reply::Wreck(Wreck::of_message(frame)) })
            }
            decoded => decoded,
        },
    }
}

/// Returns the last member of this name, also of an object in which another value cannot be read.
fn member<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let Some(members) = wreck::json(object).and_then(Members::of) else {
        return wreck::parts(object, [name]).values[0];
    };
    members.iter().filter(|(key, _)| *key == name).last().map(|(_, raw)| raw.get().as_bytes())
}

fn has_result(frame: &[u8]) -> bool {
    member(frame, "result").is_some_and(|result| result != b"null")
}

fn own_number(id: &RawValue) -> Option<u64> {
    serde_json::from_str(id.get()).ok()
}

/// Accepts the editor's status, and the package's own error of a version that has none.
pub(super) fn check_greeting(said: &[Reply]) -> Result<Greeted, BadGreeting> {
    let refused = |why: &str| BadGreeting::Refused { what: "greeting", why: loggable(why) };
    let met = || {
        let met = Met { journal: Some(JOURNAL.to_owned()), agreed: Some(number_for(said)), ..Met::default() };
        Ok(Greeted::Done(met))
    };
    match said.last().ok_or(BadGreeting::Silent)? {
        Reply::Result(status) if is_status(status) => met(),
        reply @ Reply::Error(error) if errors::required_number(reply).is_some() => {
            // An editor that asks for another number each time would be asked for ever.
            if said.len() < NUMBERS_TRIED { Ok(Greeted::NotYet) } else { Err(refused(&error.message)) }
        }
        Reply::Error(error) if errors::is_update_required(error) => Err(refused(&format!(
            "{}. The editor names no protocol number, as before 3.0.45, which holdfast does not speak: update the package",
            error.message.trim_end_matches('.')
        ))),
        Reply::Error(error) if errors::is_of_package(error) => met(),
        Reply::Error(error) => Err(refused(&error.message)),
        Reply::Result(_) | Reply::Wreck(_) => {
            Err(BadGreeting::ForeignPeer("it answered the question for its status with something else".into()))
        }
    }
}

fn is_status(status: &RawValue) -> bool {
    rpc::readable(status).get("IsBusy").is_some_and(Value::is_boolean)
}

/// Reads the main thread's answer: that there is one is all that it tells.
pub(super) fn read_main_thread(reply: &Reply) -> Option<Heartbeat> {
    matches!(reply, Reply::Result(_)).then(|| Heartbeat::inferred(EditorState::Ready, Duration::ZERO))
}
