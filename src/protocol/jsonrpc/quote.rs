//! Writes texts as JSON strings. Built for texts of megabytes: eight bytes at a time are looked at for one that needs an escape, by
//! arithmetic on a word, which is fast at every level of optimisation.
//!
//! The output equals that of serde_json, which checks every byte separately. A result of 4 MiB passes through here four times.

/// Number of bytes that are checked together.
const WORD_BYTES: usize = 8;
/// A word with this byte eight times.
const fn eight(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; WORD_BYTES])
}

/// Returns the parts of a text in which a byte may need an escape, each with its place.
fn escaping(text: &str) -> impl Iterator<Item = (usize, &[u8])> {
    let (words, rest) = text.as_bytes().as_chunks::<WORD_BYTES>();
    let words = words.iter().map(|word| (any_escape(u64::from_ne_bytes(*word)), word.as_slice()));
    let parts = words.chain([(!rest.is_empty(), rest)]);
    parts.enumerate().filter(|(_, (any, _))| *any).map(|(nth, (_, part))| (nth * WORD_BYTES, part))
}

/// Whether a byte of the word is below 0x20, a quote or a backslash. The highest bit of each byte tells, after a subtraction: it is set
/// if the byte was smaller, and it was not set before. A byte may be told wrongly only above one that is told rightly.
fn any_escape(word: u64) -> bool {
    let below = |word: u64, least: u64| word.wrapping_sub(least) & !word;
    let is = |byte: u8| below(word ^ eight(byte), eight(1));
    (below(word, eight(0x20)) | is(b'"') | is(b'\\')) & eight(0x80) != 0
}

/// Returns the length in bytes of a text as a JSON string, quotes included, without writing it.
pub fn quoted_len(text: &str) -> usize {
    let more = |part: &[u8]| part.iter().map(|byte| usize::from(one_more(*byte) + four_more(*byte))).sum::<usize>();
    escaping(text).map(|(_, part)| more(part)).sum::<usize>() + text.len() + 2
}

/// Appends a text as a JSON string.
pub fn quote_into(out: &mut String, text: &str) {
    out.push('"');
    // Everything before `kept` is already in `out`.
    let mut kept = 0;
    for (start, part) in escaping(text) {
        for (within, byte) in part.iter().enumerate().filter(|(_, byte)| one_more(**byte) != 0) {
            let at = start + within;
            out.push_str(text.get(kept..at).unwrap_or_default());
            kept = at + 1;
            match byte {
                b'"' => out.push_str("\\\""),
                b'\\' => out.push_str("\\\\"),
                b'\n' => out.push_str("\\n"),
                b'\r' => out.push_str("\\r"),
                b'\t' => out.push_str("\\t"),
                0x08 => out.push_str("\\b"),
                0x0c => out.push_str("\\f"),
                _ => {
                    out.push_str("\\u00");
                    out.push(if byte >> 4 == 0 { '0' } else { '1' });
                    out.push(char::from_digit(u32::from(byte & 0xf), 16).unwrap_or('0'));
                }
            }
        }
    }
    out.push_str(text.get(kept..).unwrap_or_default());
    out.push('"');
}

/// Returns 1 for a byte that needs an escape, otherwise 0: the backslash is one more byte.
fn one_more(byte: u8) -> u8 {
    u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\')
}

/// Returns 4 for a byte that is written as `\u00xx` (a control character without a short escape), otherwise 0.
fn four_more(byte: u8) -> u8 {
    let short = u8::from(byte == 0x08) | u8::from(byte == b'\t') | u8::from(byte == b'\n');
    let short = short | u8::from(byte == 0x0c) | u8::from(byte == b'\r');
    (u8::from(byte < 0x20) & !short) << 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_quoted_as_serde_json_quotes_it_wherever_the_escapes_stand() {
        let mut texts: Vec<String> = (0..=0x80u8).map(|byte| char::from(byte).to_string()).collect();
        let escapes: String = (0..=0x21u8).map(char::from).chain("\"\\\u{7f}é漢🙂".chars()).collect();
        for before in 0..8 * WORD_BYTES {
            texts.push(format!("{}{escapes}{}", "x".repeat(before), "y".repeat(before)));
        }
        texts.push("\u{1}".repeat(40 * WORD_BYTES));
        for text in texts {
            let mut quoted = String::new();
            quote_into(&mut quoted, &text);
            assert_eq!(quoted, serde_json::to_string(&text).unwrap());
            assert_eq!(quoted_len(&text), quoted.len(), "{quoted}");
        }
    }
}
