//! The HTTP mode as a package of its own: what a checker expects of an editor that connects, and how an observer reads its WebSocket.

use serde_json::Value;

use super::package::{FACTS, NO_CALLS, answered, call, is_unrun, listed};
use crate::observer::{self, Asked, NoFrame, Wire};
use crate::package::{COMPILE_ACT, Facts, Package, Port, Shape};

/// The message with the result of a command.
const RESULT: &str = "command_result";

/// MCP for Unity by CoplayDev in its HTTP mode, in which the editor connects.
pub static HTTP: Package = Package {
    name: "coplay-http",
    title: "MCP for Unity 8.0 to 10.3, in its HTTP mode",
    compile_act: COMPILE_ACT,
    facts: Facts {
        // The port is a preference of the user that no file of a project has.
        port: Port::Told,
        default_ports: &[8080],
        dials: true,
        // Each command has an id, which does not name its call.
        shape: Shape::Stream { names_calls: false, names_all: true },
        greeting: ("\"type\":", &["welcome", "registered", "ping"]),
        ..FACTS
    },
    wire: Wire {
        length,
        asked: |_, message| {
            let kind = observer::text(message.get("type"));
            if kind != "execute" {
                return Asked { method: kind, ..Asked::default() };
            }
            let method = observer::text(message.get("name"));
            let is_call = !NO_CALLS.contains(&method.as_str());
            Asked { method, id: observer::id_of(message), is_call, ..Asked::default() }
        },
        says: |message| {
            let kind = observer::text(message.get("type"));
            if kind == RESULT { None } else { Some(kind) }
        },
        answered: |message| answered(reply(message)?),
        listed,
        is_unrun: |message| reply(message).is_some_and(is_unrun),
        ..Wire::FRAMES
    },
    call,
};

/// Returns the reply to a command.
fn reply(message: &Value) -> Option<&Value> {
    message.get("result").filter(|_| message.get("type").is_some_and(|kind| kind == RESULT))
}

/// The length of a frame of the WebSocket, or of the request for it or the answer, with which it begins.
fn length(bytes: &[u8]) -> Result<Option<usize>, NoFrame> {
    match bytes {
        [b'G' | b'H', ..] => observer::http(bytes),
        _ => observer::websocket(bytes),
    }
}
