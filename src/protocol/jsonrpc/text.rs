//! Linear passes over JSON text that need no parser.

use std::borrow::Cow;

use memchr::memchr2;

use crate::limits::JSON_DEPTH_MAX;

/// How many levels an answer may put around a value of the editor: the response, its result, and a list of blocks.
const ANSWER_DEPTH: usize = 4;

/// Returns the index after the closing quote of the string whose opening quote is before `from`, or the end of the text if the
/// string is not closed.
pub(super) fn string_end(json: &[u8], mut from: usize) -> usize {
    while let Some(rest) = json.get(from..) {
        match memchr2(b'"', b'\\', rest) {
            None => break,
            Some(at) if rest.get(at) == Some(&b'"') => return from + at + 1,
            Some(at) => from += at + 2,
        }
    }
    json.len()
}

/// Whether no value is nested deeper than `max`. A scalar has depth 0, `[]` has depth 1.
///
/// Brackets inside strings are ignored. The check needs constant memory, so it can run before any parser. For text that
/// is not JSON, the result only says that a parser that stops at the first error does not nest deeper.
pub fn depth_ok(json: &[u8], max: usize) -> bool {
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        at += 1;
        match byte {
            b'"' => at = string_end(json, at),
            b'{' | b'[' => {
                depth += 1;
                if depth > max {
                    return false;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    true
}

/// Makes valid JSON acceptable to every parser, also as a part of an answer: half a surrogate pair becomes U+FFFD. `None` if the
/// JSON has a number that a 64-bit float cannot hold, or is nested too deep; the caller then shows it as text.
pub fn strict(json: &str) -> Option<Cow<'_, str>> {
    let bytes = json.as_bytes();
    if !depth_ok(bytes, JSON_DEPTH_MAX - ANSWER_DEPTH) {
        return None;
    }
    let mut out: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let end = string_end(bytes, at + 1);
                for half in half_pairs(bytes.get(at..end).unwrap_or_default()) {
                    let out = out.get_or_insert_with(|| bytes.to_vec());
                    // The replacement has the same length.
                    if let Some(escape) = out.get_mut(at + half..at + half + 6) {
                        escape.copy_from_slice(b"\\ufffd");
                    }
                }
                at = end;
            }
            b'-' | b'0'..=b'9' => {
                let part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
                let rest = bytes.get(at..).unwrap_or_default();
                let length = rest.iter().position(|byte| !part(byte)).unwrap_or(rest.len());
                if !is_float(json.get(at..at + length).unwrap_or_default()) {
                    return None;
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    match out {
        None => Some(Cow::Borrowed(json)),
        Some(out) => String::from_utf8(out).ok().map(Cow::Owned),
    }
}

/// Whether a 64-bit float can hold the number. False for the largest floats too, because some readers round them up to infinity.
fn is_float(number: &str) -> bool {
    let plain = number.len() < 300 && !number.contains(['e', 'E']);
    plain || number.parse::<f64>().is_ok_and(|value| value.abs() < 1e308)
}

/// The positions of escapes that are half a surrogate pair. `string` includes its quotes.
fn half_pairs(string: &[u8]) -> Vec<usize> {
    let unit = |at: usize| {
        let escape = string.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(str::from_utf8(escape).ok()?, 16).ok()
    };
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = string.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += next;
        at += match unit(at) {
            Some(0xd800..=0xdbff) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => {
                found.push(at);
                6
            }
            _ => 2,
        };
    }
    found
}

/// Removes insignificant white space, and with it every line break, from valid JSON. Numbers and strings keep their text. Borrows
/// if there is nothing to remove.
pub fn compact(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let mut out = String::new();
    // Everything before `kept` is already in `out`.
    let mut kept = 0;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at + 1),
            b' ' | b'\t' | b'\r' | b'\n' => {
                if out.capacity() == 0 {
                    out.reserve(json.len());
                }
                out.push_str(json.get(kept..at).unwrap_or_default());
                at += 1;
                while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
                    at += 1;
                }
                kept = at;
            }
            _ => at += 1,
        }
    }
    if kept == 0 {
        return Cow::Borrowed(json);
    }
    out.push_str(json.get(kept..).unwrap_or_default());
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_json_is_what_a_strict_parser_takes_and_nothing_else_changes() {
        let same = [r#"{"a":"\\ud83d","b":["\ud83d\ude00",-1.5e300,18446744073709551616,0]}"#, "\"\"", "[]", "1e-999"];
        for json in same {
            assert!(matches!(strict(json), Some(Cow::Borrowed(_))), "{json}");
        }
        let halves = [
            (r#"{"cut \ud83d":1}"#, r#"{"cut \ufffd":1}"#),
            (r#"["\ude00","\ud83dx","\ud83d\ud83d\ude00"]"#, r#"["\ufffd","\ufffdx","\ufffd\ud83d\ude00"]"#),
            (r#""\\\uDBFF\"""#, r#""\\\ufffd\"""#),
        ];
        for (json, wanted) in halves {
            let strict = strict(json).unwrap();
            assert_eq!(strict, wanted);
            serde_json::from_str::<serde_json::Value>(&strict).unwrap();
        }
        let long = format!("[{}]", "9".repeat(400));
        let deep = "[".repeat(JSON_DEPTH_MAX - 2) + &"]".repeat(JSON_DEPTH_MAX - 2);
        for json in ["1e999", r#"{"a":[-1E+400]}"#, &long, &deep] {
            assert_eq!(strict(json), None, "{json}");
        }
    }
}
