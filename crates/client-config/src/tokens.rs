//! Tokens in clients' files: finds them, and hides them in texts that people may pass on.

use serde_json::Value;

use crate::clients::{Client, Http, TokenPlace};
use crate::edit::{self, Format};
use crate::entry;
use crate::limits::TOKEN_MIN_BYTES;

/// What is shown in place of a token.
const HIDDEN: &str = "TOKEN";
const SCHEME: &str = "bearer ";

/// Returns the token that our entry has itself, in a file's text; `None` if it has none, or names a variable.
pub(crate) fn token(client: &Client, text: &str) -> Option<String> {
    let Http::Takes(remote) = &client.http else { return None };
    let TokenPlace::Header { at, .. } = remote.token else { return None };
    let meaning = edit::meaning(client.format, text).ok()?;
    let headers = at.iter().try_fold(edit::entry(&meaning, entry::slot(client))?, |value, key| value.get(key))?;
    let value = headers.as_object()?.iter().find(|(name, _)| name.eq_ignore_ascii_case("Authorization"))?.1.as_str()?;
    let starts = value.get(..SCHEME.len()).is_some_and(|start| start.eq_ignore_ascii_case(SCHEME));
    let token = value.get(SCHEME.len()..).filter(|_| starts).unwrap_or(value).trim();
    (!token.is_empty() && !is_variable(token)).then(|| token.to_owned())
}

/// Returns a text with no token in it: neither after `Bearer`, nor one that our entry has in one of these texts of the file.
pub fn without_tokens(client: &Client, shown: &str, files: &[&str]) -> String {
    let tokens = files.iter().filter_map(|text| token(client, text)).filter(|token| token.len() >= TOKEN_MIN_BYTES);
    let mut spellings: Vec<String> = tokens.flat_map(|token| spellings(&token)).collect();
    // One may begin with another.
    spellings.sort_by_key(|spelling| std::cmp::Reverse(spelling.len()));
    let text = spellings.iter().fold(shown.to_owned(), |text, spelling| text.replace(spelling, HIDDEN));
    without_bearers(&text, client.format)
}

/// Returns a token as it may be written: as it is, and escaped as in strings of JSON and of YAML.
fn spellings(token: &str) -> [String; 3] {
    let json = Value::from(token).to_string();
    let json = json.get(1..json.len().saturating_sub(1)).unwrap_or_default().to_owned();
    [token.replace('\'', "''"), json, token.to_owned()]
}

fn without_bearers(text: &str, format: Format) -> String {
    // The same length as the text, byte for byte.
    let lower = text.to_ascii_lowercase();
    let (mut shown, mut done) = (String::with_capacity(text.len()), 0);
    while let Some((found, rest)) = lower.get(done..).and_then(|rest| rest.split_once(SCHEME)) {
        let opening = found.chars().next_back();
        let start = lower.len() - rest.trim_start_matches([' ', '\t']).len();
        let end = start + length(text.get(start..).unwrap_or_default(), opening, format);
        let value = text.get(start..end).unwrap_or_default();
        shown.push_str(text.get(done..start).unwrap_or_default());
        shown.push_str(if value.is_empty() || is_variable(value) { value } else { HIDDEN });
        done = end;
    }
    shown + text.get(done..).unwrap_or_default()
}

/// Returns the length of the value at the start of a text. `opening`: the quotation mark before it, or another character.
fn length(text: &str, opening: Option<char>, format: Format) -> usize {
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        if (character, opening) == ('\\', Some('"')) {
            // What is escaped does not end the string.
            let _ = characters.next_if(|(_, next)| *next != '\n');
            continue;
        }
        let ends = match (character, opening) {
            ('\n', _) => true,
            ('"', Some('"')) => true,
            ('\'', Some('\'')) => characters.next_if(|(_, next)| *next == '\'').is_none(),
            (_, Some('"' | '\'')) => false,
            ('"', _) => format != Format::Yaml,
            (other, _) => other.is_whitespace(),
        };
        if ends {
            return at;
        }
    }
    text.len()
}

/// Whether a text is the name of a variable, as clients write it, and not a token.
fn is_variable(value: &str) -> bool {
    let named = value.strip_prefix("${").or_else(|| value.strip_prefix('{').filter(|rest| rest.starts_with("env:")));
    let Some(named) = named.and_then(|rest| rest.strip_suffix('}')) else { return false };
    let is_name =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name(named.strip_prefix("env:").or_else(|| named.strip_prefix("input:")).unwrap_or(named))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::named;

    #[test]
    fn what_is_shown_has_no_token_and_keeps_the_names_of_variables() {
        for (client, shown, expected) in [
            (
                "zed",
                r#"-  "Authorization": "Bearer se\"cr\\et", "x": 1"#,
                r#"-  "Authorization": "Bearer TOKEN", "x": 1"#,
            ),
            ("zed", r#""BEARER   one'two" "bearer three""#, r#""BEARER   TOKEN" "bearer TOKEN""#),
            ("zed", r#"["Authorization: Bearer secret", 1]"#, r#"["Authorization: Bearer TOKEN", 1]"#),
            ("cursor", r#""Bearer ${env:NAME}" "Bearer ${NAME}""#, r#""Bearer ${env:NAME}" "Bearer ${NAME}""#),
            ("cursor", r#""Bearer ${NAME:-secret}""#, r#""Bearer TOKEN""#),
            ("opencode", r#""Bearer {env:NAME}" "Bearer {secret}""#, r#""Bearer {env:NAME}" "Bearer TOKEN""#),
            ("goose", "a: Bearer se\"cr\'et\nb: 'Bearer se''cret'\n", "a: Bearer TOKEN\nb: 'Bearer TOKEN'\n"),
            ("codex", "a = 'Bearer secret' \nb = \"Bearer ", "a = 'Bearer TOKEN' \nb = \"Bearer "),
            ("zed", "Ä \"Bearer ß\" \"Bearer se\\", "Ä \"Bearer TOKEN\" \"Bearer TOKEN"),
        ] {
            let client = named(client).expect("a client");
            assert_eq!(without_tokens(client, shown, &[]), expected);
        }
    }

    #[test]
    fn a_token_of_our_entry_is_hidden_however_it_is_written() {
        let zed = named("zed").expect("a client");
        let file = |value: &str| {
            format!(r#"{{"context_servers": {{"holdfast": {{"headers": {{"authorization": "{value}"}}}}}}}}"#)
        };
        let text = file(r#"se\"cret-secret-secret"#);
        assert_eq!(without_tokens(zed, &format!("-{text}\n{text}"), &[&text]), format!("-{0}\n{0}", file(HIDDEN)));
        assert_eq!(token(zed, &file("Bearer ${NAME}")), None);
        assert_eq!(token(zed, &file("Bearer a")).as_deref(), Some("a"));
        assert_eq!(without_tokens(zed, "a bear", &[&file("Bearer a")]), "a bear", "one letter is no token");
    }
}
