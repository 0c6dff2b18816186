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
    /// Ends of the addresses at which it serves, if it serves HTTP. Other programs may use the same, so only an entry whose name has
    /// "unity" in it counts.
    pub urls: &'static [&'static str],
}

impl KnownServer {
    /// Whether this word of a command line starts it, before these ones. The words must be in lower case, with `/` in place of `\`.
    fn is(&self, word: &str, rest: &[&str]) -> bool {
        let file = |name: &&str| word == *name || word.ends_with(&format!("/{name}"));
        let package =
            |name: &&str| word.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('@'));
        let is_within = || self.within.is_empty() || self.within.iter().any(|part| word.contains(part));
        if self.then.is_some_and(|then| !orders(rest, then)) {
            return false;
        }
        self.npm.iter().any(package) || self.files.iter().any(file) && is_within()
    }

    /// Whether it serves at this address.
    fn serves(&self, url: &str) -> bool {
        let url = url.trim_end_matches('/').to_lowercase();
        self.urls.iter().any(|end| url.ends_with(&format!("//{end}")))
    }
}

/// The members in which clients have the address of a server.
const URL_FIELDS: [&str; 4] = ["url", "serverUrl", "httpUrl", "uri"];

fn is_unitys(key: &str) -> bool {
    key.to_lowercase().contains("unity")
}

/// Whether this is the first of these words that is no flag, nor what may be the value of one.
fn orders(words: &[&str], order: &str) -> bool {
    let mut after_flag = false;
    for word in words {
        let is_flag = word.starts_with('-');
        if *word == order || !(is_flag || after_flag) {
            return *word == order;
        }
        after_flag = is_flag;
    }
    false
}

/// Returns the package whose server this command line starts.
fn started(known: &[KnownServer], words: &[&str]) -> Option<&'static str> {
    words.iter().enumerate().find_map(|(nth, word)| {
        known.iter().find(|server| server.is(word, words.get(nth + 1..).unwrap_or_default())).map(|server| server.of)
    })
}

/// Returns the entries of a configuration that start such a server. Our own entry is not included.
pub(crate) fn find(known: &[KnownServer], client: &Client, meaning: &Value) -> Vec<OldServer> {
    let Some(Value::Object(entries)) = client.keys.iter().try_fold(meaning, |value, key| value.get(key)) else {
        return Vec::new();
    };
    let old = |(key, entry): (&String, &Value)| {
        let words = words(client, entry);
        let plain: Vec<String> = words.iter().map(|word| word.replace('\\', "/").to_lowercase()).collect();
        let whole: Vec<&str> = plain.iter().map(String::as_str).collect();
        // A shell gets the whole command line as one word, and some people write it so.
        let split: Vec<&str> = plain.iter().flat_map(|word| word.split_whitespace()).collect();
        let url = URL_FIELDS.iter().find_map(|field| entry.get(field)?.as_str()).unwrap_or_default();
        let served = || known.iter().find(|server| is_unitys(key) && server.serves(url)).map(|server| server.of);
        let of = started(known, &whole).or_else(|| started(known, &split)).or_else(served)?;
        let starts = if words.is_empty() { url.to_owned() } else { words.join(" ") };
        Some(OldServer { key: key.clone(), of, starts })
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

#[cfg(test)]
mod tests {
    use super::*;

    const UNITY: KnownServer = KnownServer {
        of: "it",
        npm: &[],
        files: &["unity", "unity.exe"],
        within: &[],
        then: Some("mcp"),
        urls: &["127.0.0.1:8080/mcp"],
    };

    #[test]
    fn a_program_that_is_more_than_a_server_is_known_by_its_order() {
        for (line, is) in [
            (&["unity", "mcp"][..], true),
            (&["/opt/unity/unity", "mcp", "--project", "."], true),
            (&["unity", "--quiet", "mcp"], true),
            (&["unity", "--log", "file", "mcp"], true),
            (&["unity mcp"], true),
            (&["bash", "-lc", "exec unity mcp --quiet"], true),
            (&["c:/program files/unity/unity.exe", "mcp"], true),
            (&["unity"], false),
            (&["unity", "install", "mcp"], false),
            (&["unity", "hub"], false),
            (&["my-unity", "mcp"], false),
            (&["mcp", "unity"], false),
        ] {
            let split: Vec<&str> = line.iter().flat_map(|word| word.split_whitespace()).collect();
            let found = started(&[UNITY], line).or_else(|| started(&[UNITY], &split));
            assert_eq!(found.is_some(), is, "{line:?}");
        }
    }

    #[test]
    fn an_address_counts_only_under_a_name_of_unity() {
        for (key, url, is) in [
            ("unityMCP", "http://127.0.0.1:8080/mcp", true),
            ("UnityMCP", "HTTP://127.0.0.1:8080/mcp/", true),
            ("unityMCP", "http://10.127.0.0.1:8080/mcp", false),
            ("unityMCP", "http://127.0.0.1:8081/mcp", false),
            ("mine", "http://127.0.0.1:8080/mcp", false),
        ] {
            assert_eq!(is_unitys(key) && UNITY.serves(url), is, "{key} {url}");
        }
    }
}
