//! Prepares text from peers for display.

use std::fmt::Write as _;

use crate::limits::{LOG_FIELD_MAX_BYTES, LOG_NAME_MAX_BYTES};

/// Whether a character is not seen as it stands: control characters, line separators, bidirectional overrides, the byte order mark.
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Makes a text from a peer fit for one field of one log line. Escapes control characters, line separators and bidirectional
/// overrides. Cuts the text after about [`LOG_FIELD_MAX_BYTES`] (the last escape and the ellipsis may exceed the bound).
pub fn clean(text: &str) -> String {
    let mut clean = String::new();
    for character in text.chars() {
        if clean.len() >= LOG_FIELD_MAX_BYTES {
            clean.push('…');
            break;
        }
        if is_hidden(character) {
            let _ = write!(clean, "\\u{{{:x}}}", u32::from(character));
        } else {
            clean.push(character);
        }
    }
    clean
}

/// Returns the name in `known` that is most similar to `word`, ignoring letter case; `None` if no name is similar enough, or if
/// `word` is longer than [`LOG_NAME_MAX_BYTES`].
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LOG_NAME_MAX_BYTES {
        return None;
    }
    let word = word.to_lowercase();
    let scored = known.into_iter().map(|name| (strsim::jaro_winkler(&word, &name.to_lowercase()), name));
    scored.filter(|(score, _)| *score > ALIKE).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

/// The Jaro-Winkler similarity above which a name is proposed; 1 means equal. The same threshold as clap's for misspelt flags.
const ALIKE: f64 = 0.7;

/// Returns the text as a JSON string literal. Serialising a string cannot fail, so the fallback is never used.
pub(in crate::protocol) fn quote(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| String::from("\"\""))
}

/// Returns the longest prefix of at most `max` bytes that ends at a character boundary.
pub(in crate::protocol) fn cut(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let end = (0..=max).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

/// Like [`cut`], but ends a shortened text with an ellipsis. The ellipsis counts towards `max`.
pub fn cut_with_ellipsis(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    format!("{}…", cut(text, max.saturating_sub('…'.len_utf8())))
}

/// Returns the first sentence, on one line, so that a list can be skimmed.
pub fn first_sentence(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let end = line.find(". ").map_or(line.len(), |dot| dot + 1);
    clean(line.get(..end).unwrap_or(line))
}

/// Percent-decodes a text; `None` if the bytes are not UTF-8. A `%` that begins no valid escape is kept.
pub fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let escaped = match (first, tail) {
            (b'%', [high, low, ..]) => {
                let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                digit(*high).zip(digit(*low)).map(|(high, low)| high * 16 + low)
            }
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    String::from_utf8(bytes).ok()
}

/// Percent-encodes a text as a value in the query of a URI (RFC 3986): everything except unreserved characters and `/`.
pub fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
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

    #[test]
    fn what_is_percent_encoded_is_decoded_to_the_same_text() {
        for text in ["", "Castle", "games/Castle 2", "é&=?#%", "100%25"] {
            let encoded = percent_encoded(text);
            assert!(encoded.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~/%".contains(&byte)), "{encoded}");
            assert_eq!(percent_decoded(&encoded).as_deref(), Some(text));
        }
        assert_eq!(percent_decoded("%ff"), None);
        assert_eq!(percent_decoded("100%").as_deref(), Some("100%"));
    }
}
