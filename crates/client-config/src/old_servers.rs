//! The servers of the packages that holdfast supports. The packages' own windows and documents write entries for them into the
//! clients' configurations. With such an entry in addition to ours, the AI sees every tool twice.

use serde_json::Value;

use crate::clients::Client;
use crate::edit::{self, EditError, Slot};
use crate::entry::ENTRY_NAME;

/// An entry that starts one of these servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldServer {
    /// The key of the entry.
    pub key: String,
    /// The package that the server belongs to.
    pub of: &'static str,
    /// The command line that the entry starts.
    pub starts: String,
}

/// A server that a package brings for AI clients, and how an entry that starts it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownServer {
    /// The package, for users.
    pub of: &'static str,
    /// Packages of npm that are the server.
    pub npm: &'static [&'static str],
    /// Ends of the paths that start it, in lower case and with `/`.
    pub files: &'static [&'static str],
    /// Parts of which one stands in such a path; empty: any path.
    pub within: &'static [&'static str],
    /// The word that must follow, in lower case; `None`: any, or none.
    pub then: Option<&'static str>,
}

impl KnownServer {
    /// Whether this word of a command line starts it, before this one. The words must be in lower case, with `/` in place of `\`.
    fn is(&self, word: &str, next: Option<&str>) -> bool {
        let file = |name: &&str| word == *name || word.ends_with(&format!("/{name}"));
        let package =
            |name: &&str| word.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('@'));
        let is_within = || self.within.is_empty() || self.within.iter().any(|part| word.contains(part));
        if self.then.is_some() && self.then != next {
            return false;
        }
        self.npm.iter().any(package) || self.files.iter().any(file) && is_within()
    }
}

/// Returns the entries of a configuration that start such a server. Our own entry is not included.
pub(crate) fn find(known: &[KnownServer], client: &Client, meaning: &Value) -> Vec<OldServer> {
    let Some(Value::Object(entries)) = client.keys.iter().try_fold(meaning, |value, key| value.get(key)) else {
        return Vec::new();
    };
    let old = |(key, entry): (&String, &Value)| {
        let words = words(client, entry);
        let plain: Vec<String> = words.iter().map(|word| word.replace('\\', "/").to_lowercase()).collect();
        let of = plain.iter().enumerate().find_map(|(nth, word)| {
            let next = plain.get(nth + 1).map(String::as_str);
            known.iter().find(|server| server.is(word, next)).map(|server| server.of)
        })?;
        Some(OldServer { key: key.clone(), of, starts: words.join(" ") })
    };
    entries.iter().filter(|(key, _)| *key != ENTRY_NAME).filter_map(old).collect()
}

/// Returns the command line of an entry.
pub(crate) fn words(client: &Client, entry: &Value) -> Vec<String> {
    let fields = [Some(client.shape.command), client.shape.args];
    let parts = fields.into_iter().flatten().filter_map(|field| entry.get(field));
    parts
        .flat_map(|part| match part {
            Value::Array(words) => words.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            word => word.as_str().map(str::to_owned).into_iter().collect::<Vec<_>>(),
        })
        .collect()
}

/// Returns a configuration without these entries.
///
/// # Errors
/// Returns [`EditError`].
pub(crate) fn taken_out(client: &Client, text: String, old: &[OldServer]) -> Result<String, EditError> {
    old.iter()
        .try_fold(text, |text, server| edit::take(client.format, &text, Slot { keys: client.keys, name: &server.key }))
}
