use std::collections::HashSet;

use super::table::CLIENTS;
use std::time::Duration;

use super::lookup::strength;
use super::*;
use crate::limits::{
    DESCRIPTION_MAX_BYTES, PATIENCE_MARGIN, RESULT_INLINE_MAX_BYTES, RESULT_TEXT_MIN_BYTES, TOOL_NAME_MAX_BYTES,
};
use crate::limits::{PATIENCE_MAX, PATIENCE_UNKNOWN};

#[test]
fn every_row_is_its_own_and_within_bounds() {
    let labels: HashSet<&str> = known_clients().iter().map(|client| client.label).chain(["unknown"]).collect();
    assert_eq!(labels.len(), CLIENTS.len() + 1);
    let titles: HashSet<&str> = known_clients().iter().map(|client| client.title).collect();
    assert_eq!(titles.len(), CLIENTS.len());
    let mut patterns = HashSet::new();
    for client in CLIENTS {
        let label = client.label;
        assert!(label.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{label}");
        assert!(!client.sources.is_empty(), "{label}: a row without a source is a guess");
        let traits = client.traits();
        assert!(traits.patience > PATIENCE_MARGIN && traits.patience <= PATIENCE_MAX, "{label}");
        if let Some(most) = traits.result_text_max {
            assert!((RESULT_TEXT_MIN_BYTES..=RESULT_INLINE_MAX_BYTES).contains(&most), "{label}");
        }
        assert!(client.notes.iter().all(|note| note.ends_with('.')), "{label}: a note is a sentence");
        for named in client.names {
            let (kind, text) = match named {
                Named::Exactly(text) => ("exactly", text),
                Named::From(text) => ("from", text),
            };
            assert!(patterns.insert((kind, text.to_ascii_lowercase())), "{text} stands twice");
            assert_eq!(client_of(text).map(|client| client.label), Some(label), "{text} is found as its own row");
        }
    }
}

#[test]
fn our_names_and_descriptions_fit_every_client_that_tells_its_limits() {
    let longest_prefix = CLIENTS.iter().filter_map(|client| client.prefix.value()).map(str::len).max().unwrap_or(0);
    let mut checked = 0;
    for client in CLIENTS {
        if let Some(most) = client.full_name_max.value() {
            // For a client of unknown prefix, assume the longest one.
            let prefix = client.prefix.value().map_or(longest_prefix, str::len);
            assert!(
                prefix + TOOL_NAME_MAX_BYTES <= most,
                "{}: {prefix} + {TOOL_NAME_MAX_BYTES} > {most}",
                client.label
            );
            checked += 1;
        }
        if let Some(most) = client.description_max.value() {
            assert!(DESCRIPTION_MAX_BYTES <= most, "{}", client.label);
            checked += 1;
        }
    }
    assert!(checked >= 7, "{checked}");
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
        ("gemini-cli-mcp-client", "gemini"),
        ("Cline", "cline"),
        ("@cline/core", "cline"),
        ("Windsurf", "windsurf"),
        ("windsurf-client", "windsurf"),
        (" ZED ", "zed"),
        ("opencode", "opencode"),
        ("amp-mcp-client", "amp"),
        ("JetBrains-IU-copilot-intellij", "rider"),
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
fn people_find_a_client_by_its_word_in_any_spelling() {
    for word in ["claude_code", "claude-code", "Claude Code", " CLAUDE-CODE "] {
        assert_eq!(labelled(word).map(|client| client.label), Some("claude_code"), "{word}");
    }
    assert!(labelled("unknown").is_none() && labelled("").is_none());
}

#[test]
fn unknown_clients_wait_as_the_sdks_do_and_get_everything_as_it_is() {
    let unknown = traits_of("some new editor");
    assert_eq!((unknown.patience, unknown.list_changed), (PATIENCE_UNKNOWN, false));
    assert!(unknown.images && unknown.audio && !unknown.flatten_schemas && !unknown.structured_alone);
    assert_eq!((unknown.result_text_max, unknown.tools_max), (None, None));
    assert!(!traits_of("codex-mcp-client").list_changed, "Codex reads the list once");
    assert!(traits_of("claude-code").patience > PATIENCE_UNKNOWN);
}

#[test]
fn a_registrys_word_alone_decides_nothing_and_who_keeps_long_text_gets_it_whole() {
    let windsurf = labelled("windsurf").unwrap();
    assert_eq!(windsurf.list_changed, Fact::Known(true, Evidence::Registry));
    assert!(!windsurf.traits().list_changed);
    let claude = labelled("claude_code").unwrap();
    assert!(claude.text_max.value().is_some() && claude.traits().result_text_max.is_none());
    assert!(labelled("codex").unwrap().traits().result_text_max.is_some());
}

#[test]
fn an_exact_name_beats_a_prefix_and_a_long_prefix_a_short_one() {
    assert!(strength(Named::Exactly("a"), "A") > strength(Named::From("abcdefgh"), "ABCDEFGHI"));
    assert!(strength(Named::From("abc"), "abcd") > strength(Named::From("ab"), "abcd"));
    assert_eq!(strength(Named::From("abc"), "ab"), None);
}

fn settings(json: &str) -> ClientSettings {
    serde_json::from_str(json).unwrap()
}

fn overrides(said: &[(&str, &str)]) -> Result<ClientOverrides, Vec<String>> {
    ClientOverrides::new(said.iter().map(|(name, json)| ((*name).to_owned(), settings(json))))
}

#[test]
fn a_users_settings_replace_the_table_and_nothing_else() {
    let nothing = ClientOverrides::default();
    for name in ["codex-mcp-client", "claude-code", "", "my-agent"] {
        assert_eq!(nothing.traits_of(name), traits_of(name));
    }
    let said = overrides(&[
        ("codex", r#"{"patience": 300, "result_text_max": 200000, "audio": false}"#),
        ("my-agent*", r#"{"list_changed": true, "images": false, "tools_max": 40, "flatten_schemas": true}"#),
        ("my-agent-2", r#"{"images": true, "tools_max": 0}"#),
    ])
    .unwrap();
    let codex = said.traits_of("codex-mcp-client");
    let table = traits_of("codex-mcp-client");
    assert_eq!(
        codex,
        ClientTraits { patience: Duration::from_secs(300), result_text_max: Some(200_000), audio: false, ..table }
    );
    assert_eq!(said.traits_of_client(labelled("codex").unwrap()), codex);
    let mine = said.traits_of("My-Agent 1.0");
    assert_eq!((mine.name, mine.list_changed, mine.images, mine.tools_max), ("unknown", true, false, Some(40)));
    assert!(mine.flatten_schemas && mine.audio && mine.patience == PATIENCE_UNKNOWN);
    let closer = said.traits_of("my-agent-2");
    assert_eq!((closer.images, closer.tools_max, closer.list_changed), (true, None, true), "the exact name wins");
    assert_eq!(said.traits_of("claude-code"), traits_of("claude-code"));
    let no_limit = overrides(&[("codex", r#"{"result_text_max": 0}"#)]).unwrap();
    assert_eq!(no_limit.traits_of("codex-mcp-client").result_text_max, None);
}

#[test]
fn a_setting_that_cannot_be_is_named_with_its_key_and_the_fix() {
    for (said, key, fix) in [
        (("codex", r#"{"patience": 5}"#), "clients.codex.patience", "from 6 to 1800"),
        (("codex", r#"{"patience": 1801}"#), "clients.codex.patience", "from 6 to 1800"),
        (("zed", r#"{"result_text_max": 4095}"#), "clients.zed.result_text_max", "or 0 for no limit"),
        (("zed", r#"{"result_text_max": 7000000}"#), "clients.zed.result_text_max", "from 4096 to"),
        (("", r"{}"), "clients.", "doctor --clients"),
        (("*", r"{}"), "clients.*", "doctor --clients"),
        (("kiro", r"{}"), "clients.kiro: how Kiro calls itself", "holdfast_status"),
    ] {
        let faults = overrides(&[said]).unwrap_err();
        assert!(faults.len() == 1 && faults[0].starts_with(key) && faults[0].contains(fix), "{faults:?}");
    }
    let twice = overrides(&[("claude-code", "{}"), ("claude_code", "{}"), ("zed", r#"{"patience": 1}"#)]).unwrap_err();
    assert!(twice.len() == 2 && twice[0].contains("twice"), "all faults at once: {twice:?}");
    let unknown_key = serde_json::from_str::<ClientSettings>(r#"{"patiense": 5}"#).unwrap_err().to_string();
    assert!(unknown_key.contains("patiense") && unknown_key.contains("patience"), "{unknown_key}");
}
