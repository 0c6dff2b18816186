//! Reads error objects, and tells the package's refusals from what a tool threw.
//!
//! The package puts the text of whatever a tool throws into `data.message` (before v0.24 into `data`), below a fixed `message`. Its
//! own `Unknown tool: X` stands there as well, so that text proves nothing. Only exceptions of the package's own types fill other
//! places. Source: `JsonRpcProcessor.cs` and `ImprovedErrorHandler.cs` from v0.5.0 to v2.1.1.

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::rpc::readable;
use super::super::{EditorError, Refusal, Refused, RefusedCall};

/// The only error code that the package uses.
const INTERNAL_ERROR: i64 = -32603;
/// JSON-RPC's code for an unknown method. The package never uses it; other servers do.
const METHOD_NOT_FOUND: i64 = -32601;

/// A place in an error object where no text of a tool's own exception ever stands.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    /// `message`, above an empty `data.message`: what the package found wrong with the request (v0.32 and later).
    Headline,
    /// `message`, above this fixed explanation in `data.message` (v0.70 and later).
    Explained(&'static str),
    BlockedCommand,
}

/// What must stand in a place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Words {
    /// Exactly this text, in the answer to a call that named its editor. Before v2.0, and without `x-uloop`, the
    /// package does not write this text.
    OfEditor(&'static str),
    /// The name of the called tool between these two texts. If a tool asks the package to run another tool, the refusal
    /// names that other tool.
    OfTool(&'static str, &'static str),
}

/// Everything that proves that nothing of a call ran.
pub(super) const REFUSALS: [(Place, Words, Refusal); 6] = [
    (Place::BlockedCommand, Words::OfTool("", ""), Refusal::Final),
    (
        Place::Explained("This tool has been disabled in project settings."),
        Words::OfTool("Tool '", "' is disabled. To enable it, go to "),
        Refusal::Final,
    ),
    (Place::Headline, Words::OfTool("Parameter type mismatch for tool '", "': "), Refusal::Final),
    (
        Place::Headline,
        Words::OfEditor("Fast project validation is unavailable. Restart Unity CLI Loop and retry."),
        Refusal::Final,
    ),
    (
        Place::Headline,
        Words::OfEditor("Connected Unity instance belongs to a different project."),
        Refusal::OtherProject,
    ),
    (
        Place::Headline,
        Words::OfEditor("Unity CLI Loop server session changed. Retry the command."),
        Refusal::OtherSession,
    ),
];

/// How versions of the package say that they do not know a method. A tool can throw the same.
const UNKNOWN: [&str; 3] = ["Unknown tool: ", "Unknown command: ", "Command not registered: "];

impl Place {
    /// Returns the text in this place; `None` if the error has no such place.
    fn text(self, error: &Value) -> Option<&str> {
        let data = error.get("data")?;
        let kind = data.get("type").and_then(Value::as_str)?;
        let explains =
            |text: &str| kind == "internal_error" && data.get("message").and_then(Value::as_str) == Some(text);
        let headline = error.get("message").and_then(Value::as_str);
        match self {
            Self::Headline => headline.filter(|_| explains("")),
            Self::Explained(explanation) => headline.filter(|_| explains(explanation)),
            Self::BlockedCommand => data.get("command").and_then(Value::as_str).filter(|_| kind == "security_blocked"),
        }
    }
}

impl Words {
    /// Returns the calls for which this text is proof; `None` if it says something else.
    fn of(self, text: &str) -> Option<RefusedCall> {
        match self {
            Self::OfEditor(exact) => (text == exact).then_some(RefusedCall::NamesEditor),
            Self::OfTool(before, after) => {
                let rest = text.strip_prefix(before)?;
                let tool = if after.is_empty() { rest } else { rest.split_once(after)?.0 };
                Some(RefusedCall::Tool(tool.to_owned()))
            }
        }
    }
}

/// Reads an error object of uLoopMCP. Members are read by name, because their order in `data` varies.
pub(super) fn read(error: &RawValue) -> EditorError {
    read_with(error, &REFUSALS)
}

/// Reads an error object of uMCP, whose `message` never says what is wrong with a request. Before v0.24 `data` is a text.
pub(in crate::protocol::dialect) fn read_old(error: &RawValue) -> EditorError {
    read_with(error, &REFUSALS[..1])
}

fn read_with(error: &RawValue, refusals: &[(Place, Words, Refusal)]) -> EditorError {
    let error = readable(error);
    let code = error.get("code").and_then(Value::as_i64).unwrap_or(INTERNAL_ERROR);
    let data = error.get("data").unwrap_or(&Value::Null);
    let field = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    let data_text = data.as_str().map_or_else(|| field(data, "message"), |text| text.trim().to_owned());
    let parts = [field(&error, "message"), data_text, field(data, "reason")];
    let refusal = refusals.iter().find_map(|(place, words, how)| {
        place.text(&error).and_then(|text| words.of(text)).map(|of| Refused { how: *how, of })
    });
    let mut message = String::new();
    for part in &parts {
        if part.is_empty() || message.contains(part.as_str()) {
            continue;
        }
        if !message.is_empty() {
            message.push_str(": ");
        }
        message.push_str(part);
    }
    if message.is_empty() {
        message = format!("the editor answered with error {code} and no text");
    }
    EditorError { code, message, refusal }
}

/// Whether the error says that the editor does not know the method. Only for methods of the package itself, which no tool answers.
pub(in crate::protocol::dialect) fn unknown_method(error: &EditorError) -> bool {
    error.code == METHOD_NOT_FOUND || UNKNOWN.iter().any(|words| error.message.contains(words))
}

/// Whether the error is the package's own report that this method timed out.
pub(in crate::protocol::dialect) fn timed_out(error: &EditorError, method: &str) -> bool {
    error.code == INTERNAL_ERROR && error.message.contains(&format!("{method} timed out"))
}
