//! Texts of peers, made fit to be shown.

use std::fmt::Write as _;

use crate::limits::{LOG_FIELD_MAX_BYTES, LOG_NAME_MAX_BYTES};

/// A text from a peer, fit for one field of one log line: control characters, line separators and bidirectional overrides are
/// escaped, and what is longer than [`LOG_FIELD_MAX_BYTES`] is cut.
pub fn clean(text: &str) -> String {
    let mut clean = String::new();
    for character in text.chars() {
        if clean.len() >= LOG_FIELD_MAX_BYTES {
            clean.push('…');
            break;
        }
        let hidden = character.is_control()
            || matches!(character, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        if hidden {
            let _ = write!(clean, "\\u{{{:x}}}", u32::from(character));
        } else {
            clean.push(character);
        }
    }
    clean
}

/// The name among `known` that is most like `word`, if one is like it; a word above [`LOG_NAME_MAX_BYTES`] is like none. Letter
/// case does not count.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LOG_NAME_MAX_BYTES {
        return None;
    }
    let word = word.to_lowercase();
    let scored = known.into_iter().map(|name| (strsim::jaro_winkler(&word, &name.to_lowercase()), name));
    scored.filter(|(score, _)| *score > ALIKE).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

/// From which Jaro-Winkler similarity a name is proposed, 1 being equal: as clap proposes flags.
const ALIKE: f64 = 0.7;

/// A JSON string. Writing a string cannot fail, so the other arm is never taken.
pub(in crate::protocol) fn quote(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| String::from("\"\""))
}

/// The longest prefix of at most `max` bytes that ends between two characters.
pub(in crate::protocol) fn cut(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let end = (0..=max).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

/// As [`cut`], and what was cut shows as an ellipsis (which counts).
pub(in crate::protocol) fn cut_with_ellipsis(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    format!("{}…", cut(text, max.saturating_sub('…'.len_utf8())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peers_text_stays_on_one_line_and_within_its_bound() {
        assert_eq!(clean("a\nb\x1b[31mc\u{202e}d"), "a\\u{a}b\\u{1b}[31mc\\u{202e}d");
        let long = clean(&"é".repeat(10_000));
        assert!(long.len() <= LOG_FIELD_MAX_BYTES + 8 && long.ends_with('…'));
    }
}
