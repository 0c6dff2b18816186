//! Replies that no JSON parser reads: the parts that can be used, and the words for a client.

use bytes::Bytes;
use serde_json::value::RawValue;

use super::{AnswerBody, BadMessage, EditorAnswer, Left};
use crate::protocol::jsonrpc::spans::{Found, find, is_named, members};

/// A reply that is not JSON, or not UTF-8. Its frame was whole, so only this reply is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wreck {
    /// Which part of the reply the bytes are.
    pub part: WreckPart,
    /// The bytes, as the editor sent them.
    pub bytes: Bytes,
}

/// The part of a reply that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WreckPart {
    /// The result: the call has run.
    Result,
    /// The error object: the call may have run.
    Error,
    /// All of it.
    Message,
}

impl Wreck {
    /// Makes the wreck of a whole message.
    pub fn of_message(frame: &[u8]) -> Self {
        Self { part: WreckPart::Message, bytes: Bytes::copy_from_slice(frame) }
    }

    /// What is wrong with the reply, in the terms of counts and logs.
    pub fn fault(&self) -> BadMessage {
        match std::str::from_utf8(&self.bytes) {
            Err(_) => BadMessage::NotUtf8,
            Ok(_) if json(&self.bytes).is_some() => BadMessage::NotAMessage("of another form"),
            Ok(_) => BadMessage::NotJson,
        }
    }

    /// Makes the wreck of a result.
    pub(super) fn of_result(bytes: &[u8]) -> Self {
        Self { part: WreckPart::Result, bytes: Bytes::copy_from_slice(bytes) }
    }

    /// Makes the wreck of an error object.
    pub(super) fn of_error(bytes: &[u8]) -> Self {
        Self { part: WreckPart::Error, bytes: Bytes::copy_from_slice(bytes) }
    }

    /// Makes the answer to a call from its wreck. `failed`: whether the editor says that the tool failed; `None` if that cannot be
    /// read. `blocks`: the content blocks that could be read.
    pub(super) fn answer(self, failed: Option<bool>, blocks: Vec<Box<RawValue>>) -> EditorAnswer {
        let failed = failed.filter(|_| self.part == WreckPart::Result);
        let fault = self.fault();
        let is_text = fault != BadMessage::NotUtf8;
        let fault = match fault {
            BadMessage::NotUtf8 => "has bytes that are not UTF-8",
            BadMessage::NotAMessage(_) => "is not of the form that this package's results have",
            BadMessage::NotJson => "is not valid JSON",
        };
        let told = match (self.part, failed) {
            (WreckPart::Result, Some(false)) => format!("Executed, and the tool succeeded, but its result {fault}"),
            (WreckPart::Result, Some(true)) => format!("Executed, and the tool failed, but its result {fault}"),
            (WreckPart::Result, None) => format!(
                "Executed, but the result {fault}, and whether the tool succeeded cannot be read from it: look at what it did \
                 before you call it again"
            ),
            (WreckPart::Error, _) => format!(
                "Unity answered with an error that {fault}: the tool failed or was refused, and whether it ran cannot be read from \
                 it"
            ),
            (WreckPart::Message, _) => format!(
                "Unity answered, but its answer {fault}: whether the tool ran and succeeded cannot be read from \
                 it; look at what it did before you call it again"
            ),
        };
        let follows = if is_text { " (its text follows as Unity sent it)" } else { "" };
        let says = format!("{told}{follows}. The fix is in the tool: it must return what JSON can hold.");
        EditorAnswer {
            is_error: failed != Some(false),
            body: AnswerBody::Wreck(Box::new(Left { says, content: self.bytes, blocks })),
        }
    }
}

/// Whether a result reports a failure by a member of one of these names that is `false`. `None` if the result is an
/// object whose end is not found, because such a member may be in the rest. `any_case`: the case of the names does not
/// matter.
pub(super) fn says_failure(result: &[u8], names: &[&str], any_case: bool) -> Option<bool> {
    let Some(mut members) = members(result) else { return Some(false) };
    let is_it = |written: &[u8]| {
        names.iter().any(|name| is_named(written, name) || any_case && written.eq_ignore_ascii_case(name.as_bytes()))
    };
    let failed = members.any(|(written, value)| is_it(written) && value == b"false");
    if failed || members.by_ref().last().is_none() && members.is_whole() { Some(failed) } else { None }
}

/// Reads a value that should be JSON; `None` if it is not.
pub(super) fn json(bytes: &[u8]) -> Option<&RawValue> {
    serde_json::from_slice(bytes).ok()
}

/// Reads a value that should be a text; `None` if it is not.
pub(super) fn text(bytes: &[u8]) -> Option<String> {
    serde_json::from_slice(bytes).ok()
}

/// Finds the members with these names; none of them if the text is not an object.
pub(super) fn parts<'a, const N: usize>(text: &'a [u8], names: [&str; N]) -> Found<'a, N> {
    find(text, names).unwrap_or(Found { values: [None; N], is_whole: false })
}
