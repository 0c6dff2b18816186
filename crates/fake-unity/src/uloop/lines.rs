//! Reads lines with the faults that the package has before v0.27. Source: `McpBridgeServer.cs` of hatayama/uMCP.
//!
//! The package reads a piece, decodes it as text, and cuts it at line ends. From v0.8 it collects text that does not parse, until
//! it parses. But its test for a complete message is a tokenizer that reports no error at the end of the text. So if a message is
//! cut outside of a string or a word, its first part is treated as complete and fails to parse, and the rest is put in front of
//! the next message.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Number of bytes that the package reads at once.
pub(super) const PIECE_BYTES: usize = 4096;

/// The line reader of one connection.
#[derive(Debug)]
pub(super) struct Lines {
    joins: bool,
    /// Text that does not parse so far.
    begun: String,
    whole: VecDeque<Bytes>,
}

impl Lines {
    /// `joins`: whether messages that arrive in pieces are joined.
    pub(super) fn new(joins: bool) -> Self {
        Self { joins, begun: String::new(), whole: VecDeque::new() }
    }

    /// Removes the next message from the received bytes, or what the package treats as one. `None` if more bytes are needed.
    pub(super) fn take(&mut self, buffer: &mut BytesMut) -> Option<Bytes> {
        while self.whole.is_empty() && !buffer.is_empty() {
            let piece = buffer.split_to(PIECE_BYTES.min(buffer.len()));
            let text = String::from_utf8_lossy(&piece);
            if self.joins { self.join(&text) } else { self.cut(&text) }
        }
        self.whole.pop_front()
    }

    fn cut(&mut self, text: &str) {
        let lines = text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
        self.whole.extend(lines.map(|line| Bytes::from(line.to_owned())));
    }

    fn join(&mut self, text: &str) {
        let text = std::mem::take(&mut self.begun) + text;
        for line in text.split('\n').map(str::trim).filter(|line| !line.is_empty()) {
            self.begun.push_str(line);
            if runs_out_quietly(&self.begun) {
                self.whole.push_back(std::mem::take(&mut self.begun).into());
            } else {
                self.begun.push('\n');
            }
        }
        self.begun.truncate(self.begun.trim_end().len());
    }
}

/// Whether a tokenizer reaches the end of the text without an error.
fn runs_out_quietly(text: &str) -> bool {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => true,
        Err(error) => error.is_eof() && !ends_inside_a_token(text),
    }
}

fn ends_inside_a_token(text: &str) -> bool {
    let (mut quoted, mut escaped) = (false, false);
    for letter in text.chars() {
        (quoted, escaped) = match letter {
            _ if escaped => (quoted, false),
            '\\' => (quoted, quoted),
            '"' => (!quoted, false),
            _ => (quoted, false),
        };
    }
    quoted || text.ends_with(|letter: char| letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(lines: &mut Lines, pieces: &[&[u8]]) -> Vec<String> {
        let mut found = Vec::new();
        for piece in pieces {
            let mut buffer = BytesMut::from(*piece);
            while let Some(message) = lines.take(&mut buffer) {
                found.push(String::from_utf8(message.to_vec()).unwrap());
            }
        }
        found
    }

    #[test]
    fn a_message_that_is_cut_inside_a_string_is_put_together_but_for_the_letter_and_the_space_at_the_cut() {
        let whole = "{\"a\":\"ä b\"}\n".as_bytes();
        assert_eq!(taken(&mut Lines::new(true), &[whole, whole]), ["{\"a\":\"ä b\"}"; 2]);
        assert_eq!(taken(&mut Lines::new(true), &[&whole[..7], &whole[7..]]), ["{\"a\":\"\u{fffd}\u{fffd} b\"}"]);
        assert_eq!(taken(&mut Lines::new(true), &[&whole[..9], &whole[9..]]), ["{\"a\":\"äb\"}"]);
    }

    #[test]
    fn a_cut_between_tokens_ruins_the_connection() {
        let mut lines = Lines::new(true);
        assert_eq!(taken(&mut lines, &[b"{\"a\":1,", b"\"b\":2}\n"]), ["{\"a\":1,"]);
        assert_eq!(taken(&mut lines, &[b"{\"id\":1}\n"]), [""; 0]);
    }

    #[test]
    fn the_first_versions_take_every_piece_for_whole() {
        assert_eq!(taken(&mut Lines::new(false), &[b"{\"a\":\"x", b"y\"}\r\n{}\n"]), ["{\"a\":\"x", "y\"}", "{}"]);
    }

    #[test]
    fn a_long_line_comes_in_pieces() {
        let line = format!("{{\"id\":1,\"a\":\"{}\"}}\n", "x".repeat(2 * PIECE_BYTES));
        assert_eq!(taken(&mut Lines::new(true), &[line.as_bytes()]), [line.trim_end()]);
        assert_eq!(taken(&mut Lines::new(false), &[line.as_bytes()]).len(), 3);
    }
}
