//! Spans of time in texts.

use std::time::Duration;

/// Formats a span of time for people, in ms, s, or min and s.
pub fn seconds(span: Duration) -> String {
    match span.as_millis() {
        millis @ 0..=999 => format!("{millis} ms"),
        millis @ 1000..=119_999 => format!("{:.1} s", millis as f64 / 1000.0),
        _ => format!("{} min {} s", span.as_secs() / 60, span.as_secs() % 60),
    }
}
