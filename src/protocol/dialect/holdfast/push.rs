//! Push messages: one JSON object a line, from the editor to our listener. Each has the token from the greeting; none is
//! answered.

use serde::Deserialize;

use super::super::rpc::{object_text, parse_object};
use super::super::{BadMessage, PushEvent, Secret};

#[derive(Deserialize)]
struct Message {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    token: Option<String>,
}

#[derive(Deserialize)]
struct Numbered {
    sequence: u64,
}

/// Returns the sequence number of a line; `None` if it cannot be read.
pub(super) fn sequence(line: &[u8]) -> Option<u64> {
    parse_object::<Numbered>(object_text(line).ok()?).ok().map(|line| line.sequence)
}

/// Decodes a line. A line without our token is from a foreign peer.
pub(super) fn decode(line: &[u8], token: &Secret) -> Result<PushEvent, BadMessage> {
    let message: Message = parse_object(object_text(line)?)?;
    if message.token.as_deref() != Some(token.reveal()) {
        return Err(BadMessage::NotAMessage("it does not bear the token that the editor was given"));
    }
    Ok(PushEvent::named(&message.kind))
}
