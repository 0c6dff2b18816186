//! Our entry in a client's list of servers: what it starts, and how that is written for each client.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::clients::{Client, Given, Shape};
use super::edit::{self, Format, Slot};
use crate::config;

/// Our key. Never a name that Unity packages look for, and never with UNITY_TCP_PORT in the entry: uLoopMCP's editor side
/// rewrites entries that carry it.
pub const NAME: &str = "holdfast";

/// What a client is to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program, an absolute path: clients start servers with an almost empty PATH, and expand neither `~` nor variables.
    pub program: String,
    /// Its arguments. None means: those that are there, or none.
    pub args: Vec<String>,
}

/// Why this program cannot be named in a configuration.
#[derive(Debug, thiserror::Error)]
pub enum NoProgram {
    /// The system does not say.
    #[error("the system does not say where this program lies ({0}); start it by its full path")]
    Unknown(std::io::Error),
    /// Configurations are Unicode.
    #[error("the path of this program, {}, is not valid Unicode, and a configuration cannot name it; install it elsewhere", .0.display())]
    NotUnicode(PathBuf),
}

impl Launch {
    /// This program.
    ///
    /// # Errors
    /// [`NoProgram`].
    pub fn this_program() -> Result<Self, NoProgram> {
        let named = std::env::current_exe().map_err(NoProgram::Unknown)?;
        let path = config::canonical(&named).unwrap_or(named);
        let program = path.to_str().ok_or_else(|| NoProgram::NotUnicode(path.clone()))?.to_owned();
        Ok(Self { program, args: Vec::new() })
    }

    /// Why the program may not stay where it is.
    pub fn passing(&self) -> Option<Passing> {
        let path = Path::new(&self.program);
        let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
        let built = |pair: &[&str]| matches!(pair, ["target", "debug" | "release"]);
        let temporary = || config::canonical(&std::env::temp_dir()).is_some_and(|folder| path.starts_with(folder));
        if parts.windows(2).any(built) {
            return Some(Passing { lies: "in a build folder", mend: "Install it" });
        }
        let cached = RUN_ONCE.iter().find(|(start, _)| parts.iter().any(|part| part.starts_with(start)));
        cached
            .map(|(_, passing)| *passing)
            .or_else(|| temporary().then_some(Passing { lies: "in a folder for temporary files", mend: "Install it" }))
    }
}

/// A place that a program may vanish from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passing {
    /// Where it lies.
    pub lies: &'static str,
    /// What makes it stay.
    pub mend: &'static str,
}

/// How a folder begins that a package runner keeps programs in which it was told to run once, and may clear.
const RUN_ONCE: [(&str, Passing); 3] = [
    ("_npx", Passing { lies: "in the cache of npx", mend: "Install it (npm install --global holdfast-mcp)" }),
    ("dlx", Passing { lies: "in the cache of pnpm dlx", mend: "Install it (pnpm add --global holdfast-mcp)" }),
    ("archive-v", Passing { lies: "in the cache of uvx", mend: "Install it (uv tool install holdfast-mcp)" }),
];

/// Where our entry stands in a client's file.
pub fn slot(client: &Client) -> Slot<'static> {
    Slot { keys: client.keys, name: NAME }
}

/// The fields that our entry has to have: all of a new one; of one that is there only what is started, since the rest is the
/// user's by now (clients store there what was approved or switched off).
pub fn fields(shape: &Shape, launch: &Launch, there: Option<&Value>) -> Map<String, Value> {
    let mut fields = Map::new();
    if there.is_none() {
        fields.extend(given(shape.before));
    }
    match shape.args {
        Some(args) => {
            fields.insert(shape.command.to_owned(), json!(launch.program));
            if !launch.args.is_empty() || there.is_none_or(|there| there.get(args).is_none()) {
                fields.insert(args.to_owned(), json!(launch.args));
            }
        }
        None => {
            let kept = there.and_then(|there| there.get(shape.command)?.as_array()?.get(1..));
            let args: Vec<Value> = match kept {
                Some(kept) if launch.args.is_empty() => kept.to_vec(),
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

/// The program that an entry starts.
pub fn program<'v>(shape: &Shape, entry: &'v Value) -> Option<&'v str> {
    let command = entry.get(shape.command)?;
    command.as_str().or_else(|| command.as_array()?.first()?.as_str())
}

/// What a person pastes who has no such file yet, or one that is not edited here.
pub fn snippet(client: &Client, launch: &Launch) -> String {
    let fields = fields(&client.shape, launch, None);
    // An empty text takes any entry.
    edit::put(client.format, "", slot(client), &fields).unwrap_or_default()
}

/// The same for a client that is not known: what most of them read.
pub fn common_snippet(launch: &Launch) -> String {
    let fields =
        Map::from_iter([("command".to_owned(), json!(launch.program)), ("args".to_owned(), json!(launch.args))]);
    edit::put(Format::Json, "", Slot { keys: &["mcpServers"], name: NAME }, &fields).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_may_vanish_is_named_with_what_makes_it_stay() {
        let temporary = std::env::temp_dir().join("x/holdfast");
        for (program, lies, mend) in [
            ("/home/a/.npm/_npx/0a1b/node_modules/@holdfast-mcp/linux-x64/holdfast", "npx", "npm install --global"),
            ("/home/a/.cache/pnpm/dlx/0a1b/node_modules/@holdfast-mcp/linux-x64/holdfast", "pnpm dlx", "pnpm add"),
            ("/home/a/.cache/uv/archive-v0/0a1b/bin/holdfast-mcp", "uvx", "uv tool install"),
            ("/home/a/holdfast/target/release/holdfast", "build folder", "Install it"),
            (temporary.to_str().expect("Unicode"), "temporary", "Install it"),
        ] {
            let passing = Launch { program: program.to_owned(), args: Vec::new() }.passing().expect(program);
            assert!(passing.lies.contains(lies) && passing.mend.contains(mend), "{program}: {passing:?}");
        }
        for program in ["/home/a/.local/bin/holdfast", "/home/a/.local/share/uv/tools/holdfast-mcp/bin/holdfast"] {
            assert_eq!(Launch { program: program.to_owned(), args: Vec::new() }.passing(), None, "{program}");
        }
    }
}
