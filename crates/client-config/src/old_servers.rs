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

/// Returns the package whose server this word of a command line starts; `None` if it starts none. The word must be in lower case,
/// with `/` in place of `\`.
///
/// Sources: McpConstants.cs and ServerBundleCopier.cs of uLoopMCP v0.5.0 to v2.1.1 (`TypeScriptServer~/dist/server.bundle.js`,
/// `Library/uLoopMCP/server.bundle.js`); the README and `Server~/package.json` of turbokettle/unity-mcp; `package.json` and
/// the README of TSavo/Unity-MCP.
fn owner(word: &str) -> Option<&'static str> {
    let file = |name: &str| word == name || word.ends_with(&format!("/{name}"));
    if file("server.bundle.js") && ["typescriptserver", "uloopmcp", "umcp"].iter().any(|part| word.contains(part)) {
        return Some("uLoopMCP (Unity CLI Loop) or uMCP");
    }
    let package =
        word.strip_prefix("@turbokettle/unity-mcp").is_some_and(|rest| rest.is_empty() || rest.starts_with('@'));
    if package || file("server~/dist/index.js") || ["unity-mcp", "unity-mcp.cmd"].into_iter().any(file) {
        return Some("turbokettle/unity-mcp");
    }
    let client = ["dist/mcp-stdio-client.js", "dist/mcp-stdio-client/index.js"];
    client.into_iter().any(file).then_some("TSavo/Unity-MCP")
}

/// Returns the entries of a configuration that start such a server. Our own entry is not included.
pub(crate) fn find(client: &Client, meaning: &Value) -> Vec<OldServer> {
    let Some(Value::Object(entries)) = client.keys.iter().try_fold(meaning, |value, key| value.get(key)) else {
        return Vec::new();
    };
    let old = |(key, entry): (&String, &Value)| {
        let words = words(client, entry);
        let of = words.iter().find_map(|word| owner(&word.replace('\\', "/").to_lowercase()))?;
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
