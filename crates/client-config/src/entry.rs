//! Our entry in a client's list of servers: what it starts, and how it is written for each client.

use serde_json::{Map, Value, json};

use crate::clients::{Client, Given, Shape};
use crate::edit::{self, Format, Slot};

/// The key of our entry. No Unity package looks for it. The entry never contains UNITY_TCP_PORT, because uLoopMCP's editor side
/// rewrites entries that contain it.
pub const ENTRY_NAME: &str = "holdfast";

/// The program that a client is to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program's absolute path: clients start servers with an almost empty PATH, and expand neither `~` nor variables. Only an
    /// entry that a team shares has a bare name.
    pub program: String,
    /// The arguments. If the list is empty, an existing entry keeps its arguments, unless `whole` is set.
    pub args: Vec<String>,
    /// Whether the arguments of an existing entry are replaced even by none.
    pub whole: bool,
}

/// Returns the position of our entry in a client's file.
pub(crate) fn slot(client: &Client) -> Slot<'static> {
    Slot { keys: client.keys, name: ENTRY_NAME }
}

/// Returns the fields to write into our entry. A new entry gets all of them. An existing entry gets only the program and its
/// arguments: the other fields belong to the user (clients store there what was approved or switched off).
pub(crate) fn fields(shape: &Shape, launch: &Launch, there: Option<&Value>) -> Map<String, Value> {
    let mut fields = Map::new();
    if there.is_none() {
        fields.extend(given(shape.before));
    }
    match shape.args {
        Some(args) => {
            fields.insert(shape.command.to_owned(), json!(launch.program));
            if launch.whole || !launch.args.is_empty() || there.is_none_or(|there| there.get(args).is_none()) {
                fields.insert(args.to_owned(), json!(launch.args));
            }
        }
        None => {
            let kept = there.and_then(|there| there.get(shape.command)?.as_array()?.get(1..));
            let args: Vec<Value> = match kept {
                Some(kept) if launch.args.is_empty() && !launch.whole => kept.to_vec(),
                _ => launch.args.iter().map(|arg| json!(arg)).collect(),
            };
            let whole: Vec<Value> = std::iter::once(json!(launch.program)).chain(args).collect();
            fields.insert(shape.command.to_owned(), Value::Array(whole));
        }
    }
    if there.is_none() {
        fields.extend(given(shape.after));
    }
    fields
}

fn given(fields: &'static [(&'static str, Given)]) -> impl Iterator<Item = (String, Value)> {
    fields.iter().map(|(name, value)| {
        let value = match value {
            Given::Text(text) => json!(text),
            Given::Switch(on) => json!(on),
            Given::Number(number) => json!(number),
            Given::List(text) => json!([text]),
        };
        ((*name).to_owned(), value)
    })
}

/// Returns the program that an entry starts; `None` if it starts none.
pub(crate) fn program<'v>(shape: &Shape, entry: &'v Value) -> Option<&'v str> {
    let command = entry.get(shape.command)?;
    command.as_str().or_else(|| command.as_array()?.first()?.as_str())
}

/// Returns the text that a user pastes who has no such file yet, or has one that this crate cannot edit.
pub fn snippet(client: &Client, launch: &Launch) -> String {
    let fields = fields(&client.shape, launch, None);
    // Any entry can be put into an empty text.
    edit::put(client.format, "", slot(client), &fields).unwrap_or_default()
}

/// Like [`snippet`], for an unknown client: in the format that most clients read.
pub fn common_snippet(launch: &Launch) -> String {
    let fields =
        Map::from_iter([("command".to_owned(), json!(launch.program)), ("args".to_owned(), json!(launch.args))]);
    edit::put(Format::Json, "", Slot { keys: &["mcpServers"], name: ENTRY_NAME }, &fields).unwrap_or_default()
}
