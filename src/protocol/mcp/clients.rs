//! What is known of the clients: how long they wait for a call, whether they hear of a changed list, what names they take.
//!
//! A client is found by `clientInfo.name`, without regard to case: an exact name wins, else the longest prefix. What nobody has
//! seen is taken for the worst: 60 s of patience (the SDKs' default) and no ear for changes, which costs such a client at most
//! one short wait at its first `tools/list`.

use std::time::Duration;

use crate::limits::{PATIENCE_MAX, PATIENCE_UNKNOWN};

/// The habits of one client. All of it is a default that a user's setting may replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientTraits {
    /// Its label in logs and metrics; unique in the table.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// How long it waits for the answer to a call, if nobody configured it otherwise; at most [`PATIENCE_MAX`].
    pub patience: Duration,
    /// It fetches the list of tools again after `notifications/tools/list_changed`.
    pub list_changed: bool,
    /// Most bytes of a tool's name together with the prefix that it puts before it, if known.
    pub full_name_max: Option<usize>,
    /// Most tools it shows to the model at once, if known.
    pub tools_max: Option<usize>,
}

/// How a `clientInfo.name` is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    /// Exactly this.
    Exactly(&'static str),
    /// This and anything behind it.
    From(&'static str),
}

use Named::{Exactly, From};

const fn client(name: &'static str, title: &'static str) -> ClientTraits {
    ClientTraits { name, title, patience: PATIENCE_UNKNOWN, list_changed: false, full_name_max: None, tools_max: None }
}

/// What is assumed of a client that is not in the table.
pub static UNKNOWN_CLIENT: ClientTraits = client("unknown", "MCP client");

/// The table, as of November 2026.
static CLIENTS: &[(&[Named], ClientTraits)] = &[
    (
        // Its changelog and manual: a call may take hours, but 30 minutes without an answer or progress end it.
        &[Exactly("claude-code"), From("claude-code")],
        ClientTraits {
            patience: PATIENCE_MAX,
            list_changed: true,
            full_name_max: Some(128),
            ..client("claude_code", "Claude Code")
        },
    ),
    (
        // Observed: two processes a launch under these two names. Users report 60 s a call and no refresh of the list.
        &[Exactly("claude-ai"), From("claude-ai "), From("local-agent-mode-")],
        client("claude_desktop", "Claude Desktop"),
    ),
    (
        // uLoop's server counts it among those that honour changes. Its issues: server and tool name together at most 60.
        &[Exactly("cursor-vscode"), From("cursor")],
        ClientTraits { list_changed: true, full_name_max: Some(60), ..client("cursor", "Cursor") },
    ),
    (
        // Its source: no limit on a request at all; 128 tools a request. The name is the product's long name.
        &[Exactly("Visual Studio Code"), From("Visual Studio Code")],
        ClientTraits {
            patience: PATIENCE_MAX,
            list_changed: true,
            full_name_max: Some(64),
            tools_max: Some(128),
            ..client("vscode", "Visual Studio Code")
        },
    ),
    (
        // Its issues: the list is read once. 60, 120 or 300 s a call by version: the oldest counts.
        &[Exactly("codex-mcp-client"), From("codex")],
        ClientTraits { full_name_max: Some(64), ..client("codex", "Codex") },
    ),
    (
        // Its source: 600 000 ms by default, and changes are heard even from servers that do not declare them.
        &[Exactly("gemini-cli-mcp-client"), From("gemini-cli")],
        ClientTraits {
            patience: Duration::from_secs(600),
            list_changed: true,
            full_name_max: Some(63),
            ..client("gemini_cli", "Gemini CLI")
        },
    ),
    (
        // Its source: 60 s by default; longer full names are replaced by a hash.
        &[Exactly("Cline"), From("@cline/")],
        ClientTraits { list_changed: true, full_name_max: Some(64), ..client("cline", "Cline") },
    ),
    (
        // Only a community registry says that it hears changes.
        &[Exactly("windsurf"), From("windsurf")],
        client("windsurf", "Windsurf"),
    ),
    (
        // Its manual: 60 s for every request, and changes are heard.
        &[Exactly("Zed")],
        ClientTraits { list_changed: true, ..client("zed", "Zed") },
    ),
    (
        // Versions before December 2025 read the list once, and the name does not tell the version.
        &[Exactly("opencode")],
        client("opencode", "opencode"),
    ),
    (&[Exactly("amp-mcp-client")], client("amp", "Amp")),
    (&[Exactly("goose"), From("goose")], client("goose", "Goose")),
    (
        // The Copilot plugin, one name an IDE.
        &[From("JetBrains-")],
        ClientTraits { tools_max: Some(128), ..client("jetbrains", "JetBrains") },
    ),
    (
        // uLoop's server counts it among those that honour changes.
        &[From("mcp-inspector")],
        ClientTraits { list_changed: true, ..client("mcp_inspector", "MCP Inspector") },
    ),
];

/// The habits of the client with this `clientInfo.name`; [`UNKNOWN_CLIENT`] if it is not in the table.
pub fn traits_of(name: &str) -> &'static ClientTraits {
    let name = name.trim();
    CLIENTS
        .iter()
        .flat_map(|(names, traits)| names.iter().map(move |named| (named, traits)))
        .filter_map(|(named, traits)| strength(*named, name).map(|strength| (strength, traits)))
        .max_by_key(|(strength, _)| *strength)
        .map_or(&UNKNOWN_CLIENT, |(_, traits)| traits)
}

/// All clients that are known.
pub fn known_clients() -> impl Iterator<Item = &'static ClientTraits> {
    CLIENTS.iter().map(|(_, traits)| traits)
}

/// How well a name matches: an exact one beats every prefix, a longer prefix a shorter one.
fn strength(named: Named, name: &str) -> Option<usize> {
    match named {
        Exactly(wanted) => name.eq_ignore_ascii_case(wanted).then_some(usize::MAX),
        From(prefix) => {
            name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix)).then_some(prefix.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::limits::PATIENCE_MARGIN;

    #[test]
    fn every_row_is_its_own_and_within_bounds() {
        let labels: HashSet<&str> = known_clients().map(|client| client.name).chain(["unknown"]).collect();
        assert_eq!(labels.len(), CLIENTS.len() + 1);
        let mut patterns = HashSet::new();
        for (names, traits) in CLIENTS {
            assert!(!names.is_empty(), "{}", traits.name);
            assert!(traits.patience > PATIENCE_MARGIN && traits.patience <= PATIENCE_MAX, "{}", traits.name);
            for named in *names {
                let (kind, text) = match named {
                    Exactly(text) => ("exactly", text),
                    From(text) => ("from", text),
                };
                assert!(patterns.insert((kind, text.to_ascii_lowercase())), "{text} stands twice");
                assert_eq!(traits_of(text), traits, "{text} is found as its own row");
            }
        }
    }

    #[test]
    fn names_seen_in_the_wild_find_their_client() {
        for (seen, label) in [
            ("claude-code", "claude_code"),
            ("claude-ai", "claude_desktop"),
            ("claude-ai (via mcp-remote 0.1.37)", "claude_desktop"),
            ("local-agent-mode-holdfast", "claude_desktop"),
            ("cursor-vscode", "cursor"),
            ("Visual Studio Code", "vscode"),
            ("Visual Studio Code - Insiders", "vscode"),
            ("codex-mcp-client", "codex"),
            ("gemini-cli-mcp-client", "gemini_cli"),
            ("Cline", "cline"),
            ("@cline/core", "cline"),
            ("Windsurf", "windsurf"),
            ("windsurf-client", "windsurf"),
            (" ZED ", "zed"),
            ("opencode", "opencode"),
            ("amp-mcp-client", "amp"),
            ("JetBrains-IU-copilot-intellij", "jetbrains"),
            ("mcp-inspector", "mcp_inspector"),
            ("", "unknown"),
            ("zedd", "unknown"),
            ("日本語", "unknown"),
            ("cursö", "unknown"),
        ] {
            assert_eq!(traits_of(seen).name, label, "{seen:?}");
        }
    }

    #[test]
    fn unknown_clients_are_taken_for_the_worst() {
        let unknown = traits_of("some new editor");
        assert_eq!((unknown.patience, unknown.list_changed), (PATIENCE_UNKNOWN, false));
        assert!(!traits_of("codex-mcp-client").list_changed, "Codex reads the list once");
        assert!(traits_of("claude-code").patience > PATIENCE_UNKNOWN);
    }

    #[test]
    fn an_exact_name_beats_a_prefix_and_a_long_prefix_a_short_one() {
        assert!(strength(Exactly("a"), "A") > strength(From("abcdefgh"), "ABCDEFGHI"));
        assert!(strength(From("abc"), "abcd") > strength(From("ab"), "abcd"));
        assert_eq!(strength(From("abc"), "ab"), None);
    }
}
