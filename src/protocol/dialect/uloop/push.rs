//! Messages of the push branch: one JSON object a line, from the editor to our listener. None is answered.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::rpc::{object_text, parse_object};
use super::super::{BadMessage, PushEvent};

/// The members of a push message. Unity's JsonUtility writes them with lower-case names, the C# code in the documents with
/// upper-case ones. The package's code also has a JSON-RPC wrapper, which puts the message into `params`. `payload` and
/// `timestamp` are not read: a hint does not need them.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(default, rename = "type", borrow)]
    lower: Option<&'a RawValue>,
    #[serde(default, rename = "Type", borrow)]
    upper: Option<&'a RawValue>,
    #[serde(default, borrow)]
    method: Option<&'a RawValue>,
    #[serde(default, borrow)]
    params: Option<&'a RawValue>,
}

/// Decodes a line.
pub(super) fn decode(line: &[u8]) -> Result<PushEvent, BadMessage> {
    let outer: Message<'_> = parse_object(object_text(line)?)?;
    if let Some(kind) = outer.lower.or(outer.upper) {
        return Ok(event(kind));
    }
    let method: String = match outer.method.map(|method| serde_json::from_str(method.get())) {
        Some(Ok(method)) => method,
        Some(Err(_)) => return Err(BadMessage::NotAMessage("the method is not a text")),
        None => return Err(BadMessage::NotAMessage("no type")),
    };
    match outer.params {
        Some(params) if method == "notifications/push" => {
            let inner: Message<'_> = parse_object(params.get())?;
            inner.lower.or(inner.upper).map(event).ok_or(BadMessage::NotAMessage("no type"))
        }
        _ => Ok(PushEvent::Unknown),
    }
}

/// Maps a type to its event. A numeric type is [`PushEvent::Unknown`], because the order of the editor's enum is not certain.
fn event(kind: &RawValue) -> PushEvent {
    PushEvent::named(&serde_json::from_str::<String>(kind.get()).unwrap_or_default())
}
