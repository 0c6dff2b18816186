//! Two linear passes over JSON text that need no parser.

use std::borrow::Cow;

use memchr::memchr2;

/// The index behind the closing quote of the string whose opening quote stands before `from`; the end if it is not closed.
fn string_end(json: &[u8], mut from: usize) -> usize {
    while let Some(rest) = json.get(from..) {
        match memchr2(b'"', b'\\', rest) {
            None => break,
            Some(at) if rest.get(at) == Some(&b'"') => return from + at + 1,
            Some(at) => from += at + 2,
        }
    }
    json.len()
}

/// True when no value is nested deeper than `max`: a scalar has depth 0, `[]` has 1.
///
/// Brackets inside strings do not count. Constant memory, so it can stand before every parser; of text that is not JSON it
/// says only that a parser which stops at the first error nests no deeper.
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

/// Valid JSON without its insignificant whitespace, and so without any line break. Every number and string stays as it was
/// written. Borrows when there is nothing to remove.
pub fn compact(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let mut out = String::new();
    // What stands before `kept` is in `out`.
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
