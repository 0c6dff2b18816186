//! The push branch's messages: one JSON object a line, from the editor to our listener, never answered.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::rpc::{object_text, parse_object};
use super::super::{BadMessage, PushEvent};

/// Unity's JsonUtility writes lower-case names, the documents' C# writes upper-case ones; a JSON-RPC wrapper exists in the
/// package's code and puts either into `params`. `payload` and `timestamp` add nothing that a hint needs.
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

/// What a line says.
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

/// A type that is a number is not guessed at: nothing vouches for the order of the editor's enum.
fn event(kind: &RawValue) -> PushEvent {
    PushEvent::named(&serde_json::from_str::<String>(kind.get()).unwrap_or_default())
}
