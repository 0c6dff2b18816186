//! Our entry in a client's list of servers: what it starts or connects to, and how it is written for each client.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::clients::{Client, Given, Http, Remote, Shape, TokenPlace};
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
    /// A flag that the entry gets beside its arguments, such as `--metrics` or `--metrics=127.0.0.1:9464`; it takes the place of the same flag
    /// with another value.
    pub flag: Option<String>,
}

impl Launch {
    /// Returns the entry's arguments. `there`: those that it has.
    fn arguments(&self, there: Option<&Vec<Value>>) -> Vec<Value> {
        let mut args = match there {
            Some(there) if self.args.is_empty() && !self.whole => there.clone(),
            _ => self.args.iter().map(|arg| json!(arg)).collect(),
        };
        if let Some(flag) = &self.flag {
            let name = flag.split('=').next().unwrap_or(flag);
            let same = |arg: &Value| arg.as_str().is_some_and(|arg| arg.split('=').next() == Some(name));
            args.retain(|arg| !same(arg));
            args.push(json!(flag));
        }
        args
    }
}

/// The service that a client is to connect to over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Its URL.
    pub url: String,
    /// The proof that the client may use it.
    pub token: Token,
}

/// What an entry has of a token.
#[derive(Clone, PartialEq, Eq)]
pub enum Token {
    /// The name of the environment variable that holds it.
    Variable(String),
    /// The token itself.
    Text(String),
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => f.debug_tuple("Variable").field(name).finish(),
            Self::Text(_) => f.write_str("Text(..)"),
        }
    }
}

/// What our entry is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim<'a> {
    /// The client starts this program.
    Start(&'a Launch),
    /// The client connects to this service.
    Connect(&'a Endpoint),
}

/// Returns the position of our entry in a client's file.
pub(crate) fn slot(client: &Client) -> Slot<'static> {
    Slot { keys: client.keys, name: ENTRY_NAME }
}

/// Returns the fields to write into our entry. A new entry gets all of them. An existing entry gets only the program and its
/// arguments, or the URL and the token: the other fields belong to the user (clients store there what was approved or switched
/// off). A client that takes no URL gets no fields for one.
pub(crate) fn fields(client: &Client, aim: Aim<'_>, there: Option<&Value>) -> Map<String, Value> {
    match (aim, &client.http) {
        (Aim::Start(launch), _) => starting(&client.shape, launch, there),
        (Aim::Connect(endpoint), Http::Takes(remote)) => connecting(remote, endpoint, there),
        (Aim::Connect(_), Http::Lacks(_)) => Map::new(),
    }
}

fn starting(shape: &Shape, launch: &Launch, there: Option<&Value>) -> Map<String, Value> {
    let mut fields = Map::new();
    if there.is_none() {
        fields.extend(given(shape.before));
    }
    match shape.args {
        Some(args) => {
            fields.insert(shape.command.to_owned(), json!(launch.program));
            let has = there.and_then(|there| there.get(args));
            // What is there and no list is the user's; a client would not start it, and says so.
            if launch.whole || launch.flag.is_some() || !launch.args.is_empty() || has.is_none() {
                fields.insert(args.to_owned(), Value::Array(launch.arguments(has.and_then(Value::as_array))));
            }
        }
        None => {
            let kept = there.and_then(|there| there.get(shape.command)?.as_array()?.get(1..)).map(<[Value]>::to_vec);
            let whole: Vec<Value> =
                std::iter::once(json!(launch.program)).chain(launch.arguments(kept.as_ref())).collect();
            fields.insert(shape.command.to_owned(), Value::Array(whole));
        }
    }
    if there.is_none() {
        fields.extend(given(shape.after));
    }
    fields
}

fn connecting(remote: &Remote, endpoint: &Endpoint, there: Option<&Value>) -> Map<String, Value> {
    let mut fields = Map::new();
    if there.is_none() {
        fields.extend(given(remote.before));
    }
    fields.insert(remote.url.to_owned(), json!(endpoint.url));
    match remote.token {
        TokenPlace::Variable(field) => {
            if let Token::Variable(name) = &endpoint.token {
                fields.insert(field.to_owned(), json!(name));
            }
        }
        TokenPlace::Header { at, variable } => {
            let (before, after) = variable.unwrap_or_default();
            let value = match &endpoint.token {
                Token::Variable(name) => format!("Bearer {before}{name}{after}"),
                Token::Text(token) => format!("Bearer {token}"),
            };
            let path: Vec<&str> = at.iter().copied().chain(["Authorization"]).collect();
            if let Some((first, rest)) = path.split_first() {
                fields.insert((*first).to_owned(), with_leaf(there.and_then(|there| there.get(first)), rest, value));
            }
        }
    }
    if there.is_none() {
        fields.extend(given(remote.after));
    }
    fields
}

/// Returns the map with this text at the end of the path. What else the map has is kept.
fn with_leaf(there: Option<&Value>, path: &[&str], text: String) -> Value {
    let Some((first, rest)) = path.split_first() else { return json!(text) };
    let mut map = there.and_then(Value::as_object).cloned().unwrap_or_default();
    let inner = with_leaf(map.get(*first), rest, text);
    map.insert((*first).to_owned(), inner);
    Value::Object(map)
}

/// Whether an entry is of the other kind: it connects, and is to start a program, or the reverse.
pub(crate) fn turns(client: &Client, aim: Aim<'_>, there: &Value) -> bool {
    match aim {
        Aim::Start(_) => program(&client.shape, there).is_none(),
        Aim::Connect(_) => url(client, there).is_none(),
    }
}

/// Returns the fields of an entry that stay when it becomes one of the other kind: those that say neither what it starts nor what
/// it connects to.
pub(crate) fn lasting(client: &Client, there: &Value) -> Map<String, Value> {
    let of_one_kind = ["type", "env", "envFile", "cwd", "url", "headers", client.shape.command];
    let remote = match &client.http {
        Http::Takes(remote) => Some(remote),
        Http::Lacks(_) => None,
    };
    let token = remote.and_then(|remote| match remote.token {
        TokenPlace::Header { at, .. } => at.first().copied(),
        TokenPlace::Variable(field) => Some(field),
    });
    let goes = |field: &str| {
        of_one_kind.contains(&field)
            || [client.shape.args, remote.map(|remote| remote.url), token].contains(&Some(field))
    };
    let fields = there.as_object().into_iter().flatten().filter(|(field, _)| !goes(field));
    fields.map(|(field, value)| (field.clone(), value.clone())).collect()
}

/// Returns the URL of a hub that an entry connects to; `None` if it has none, or the client takes none. A hub serves at `/mcp`.
pub(crate) fn url<'v>(client: &Client, entry: &'v Value) -> Option<&'v str> {
    match &client.http {
        Http::Takes(remote) => {
            entry.get(remote.url)?.as_str().filter(|url| url.split('/').skip(3).any(|part| part == "mcp"))
        }
        Http::Lacks(_) => None,
    }
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
pub fn snippet(client: &Client, aim: Aim<'_>) -> String {
    let fields = fields(client, aim, None);
    // Any entry can be put into an empty text.
    edit::put(client.format, "", slot(client), &fields).unwrap_or_default()
}

/// Like [`snippet`], for an unknown client: in the format that most clients read.
pub fn common_snippet(launch: &Launch) -> String {
    let fields =
        Map::from_iter([("command".to_owned(), json!(launch.program)), ("args".to_owned(), json!(launch.args))]);
    edit::put(Format::Json, "", Slot { keys: &["mcpServers"], name: ENTRY_NAME }, &fields).unwrap_or_default()
}
