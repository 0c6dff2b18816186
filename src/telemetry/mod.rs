//! What is said about what goes on: every event in one place ([`events`]), logs on stderr ([`logs`]), numbers ([`metrics`])
//! and the last steps of every machine ([`flight`], with what they mean: [`tone`]), served on request ([`exporter`]).

pub mod events;
pub mod exporter;
pub mod flight;
pub mod log_queue;
pub mod logs;
pub mod metrics;
mod process;
pub mod tone;

use std::fmt::Write as _;

use crate::limits::LOG_FIELD_MAX_BYTES;

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
