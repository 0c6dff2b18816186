//! A line of the log for people: the time, the level, the event, and its other members.

use serde_json::{Map, Value};

use crate::cli::output::{Tone, toned};

/// Returns a line as text. A line that is no JSON object is returned as it is, without control characters.
pub(super) fn line(line: &str) -> String {
    let Ok(mut members) = serde_json::from_str::<Map<String, Value>>(line) else {
        return line.escape_debug().to_string();
    };
    let mut take = |name: &str| match members.shift_remove(name) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    let (time, level, event, message) = (take("timestamp"), take("level"), take("event"), take("message"));
    let level = format!("{:5}", plain(&level));
    let level = match level.trim_end() {
        "ERROR" | "WARN" => toned(&level, Tone::Bad),
        _ => level,
    };
    let mut out = format!("{} {level} {}", moment(&time), plain(&event));
    if !message.is_empty() {
        out.push_str(&format!(" {}", plain(&message)));
    }
    for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        let value = match value {
            Value::String(text) => quoted(text),
            other => plain(&other.to_string()),
        };
        out.push_str(&format!(" {}={value}", plain(name)));
    }
    out
}

/// Returns the time of `2026-11-25T15:51:07.123456Z` as `11-25 15:51:07.123`.
fn moment(time: &str) -> String {
    match (time.get(5..10), time.get(11..23)) {
        (Some(day), Some(time)) => format!("{} {}", plain(day), plain(time)),
        _ => plain(time),
    }
}

/// Returns a text with escapes for characters that are not printable. Quotes and backslashes are printable.
fn plain(text: &str) -> String {
    const PRINTABLE: [char; 3] = ['"', '\'', '\\'];
    let mut out = String::with_capacity(text.len());
    for part in text.split_inclusive(PRINTABLE) {
        let rest = part.trim_end_matches(PRINTABLE);
        out.extend(rest.escape_debug());
        out.push_str(part.get(rest.len()..).unwrap_or_default());
    }
    out
}

/// Returns a value whose end can be seen. It is put in quotes if the end could not be seen otherwise.
fn quoted(text: &str) -> String {
    let is_word = !text.is_empty() && !text.contains([' ', '"', '=']);
    if is_word && plain(text) == text { text.to_owned() } else { format!("{text:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_for_people_and_cannot_steer_a_terminal() {
        let shown = line(
            r#"{"timestamp":"2026-11-25T15:51:07.123456Z","level":"INFO","event":"call_answered","link":null,"tool":"run-tests","cause":"","millis":12,"path":"C:\\a\\b","why":"a b"}"#,
        );
        assert_eq!(
            shown,
            r#"11-25 15:51:07.123 INFO  call_answered tool=run-tests cause="" millis=12 path=C:\a\b why="a b""#
        );
        let bad =
            line("{\"level\":\"WARN\\u001b\",\"event\":\"a\\u001b[2J\",\"x\\u0007\":\"b\\u001b\",\"y\":\"\u{202e}\"}");
        assert!(!bad.chars().any(|letter| letter.is_control() || letter == '\u{202e}'), "{bad}");
        let bidi = line(
            "{\"event\":\"a\u{202e}\",\"message\":\"it's \\\"C:\\\\a\\\" u\u{308} \u{9b}2J\u{2066}\",\"\u{202e}k\":1,\"deep\":[\"\u{202e}\"]}",
        );
        assert_eq!(
            bidi.trim(),
            "a\\u{202e} it's \"C:\\a\" u\u{308} \\u{9b}2J\\u{2066} \\u{202e}k=1 deep=[\"\\u{202e}\"]"
        );
        assert_eq!(line("{\"cut\u{1b}"), "{\\\"cut\\u{1b}");
    }
}
