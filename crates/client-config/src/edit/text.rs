//! What the editors of all formats share: the position of an entry, the reasons for a refusal, and splices.

use std::ops::Range;

/// The position of an entry: under `name`, in the map that `keys` lead to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot<'a> {
    /// The path of keys to the map.
    pub(crate) keys: &'a [&'a str],
    /// The key in the map.
    pub(crate) name: &'a str,
}

impl Slot<'_> {
    /// Returns the path of keys to the entry, with dots between them.
    pub(super) fn path(self) -> String {
        self.keys.iter().copied().chain([self.name]).collect::<Vec<_>>().join(".")
    }
}

/// Why a text is not edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The text is not valid in the format of its file.
    #[error("line {line}, column {column}: {says}")]
    Broken {
        /// Line number, from 1.
        line: usize,
        /// Column number, from 1, in characters.
        column: usize,
        /// The parser's message.
        says: String,
    },
    /// The text is valid, but written in a way that this crate does not edit.
    #[error("{0}")]
    Unusual(String),
}

impl EditError {
    pub(super) fn at(text: &str, offset: usize, says: impl Into<String>) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        Self::Broken { line: before.matches('\n').count() + 1, column, says: says.into() }
    }
}

/// A replacement of a range of the text.
#[derive(Debug)]
pub(super) struct Splice {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

impl Splice {
    pub(super) fn insert(at: usize, text: impl Into<String>) -> Self {
        Self { range: at..at, text: text.into() }
    }

    pub(super) fn remove(range: Range<usize>) -> Self {
        Self { range, text: String::new() }
    }
}

/// Applies the splices, which must be in order and must not overlap.
pub(super) fn spliced(text: &str, splices: &[Splice]) -> String {
    let mut result = String::with_capacity(text.len() + splices.iter().map(|splice| splice.text.len()).sum::<usize>());
    let mut done = 0;
    for splice in splices {
        result.push_str(&text[done..splice.range.start]);
        result.push_str(&splice.text);
        done = splice.range.end;
    }
    result.push_str(&text[done..]);
    result
}

/// Returns CRLF if the text contains one, otherwise LF.
pub(super) fn line_ending(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Returns the start of the line that contains `offset`.
pub(super) fn line_start(text: &str, offset: usize) -> usize {
    text[..offset].rfind('\n').map_or(0, |at| at + 1)
}

/// Returns the start of the line after the one that contains `offset`, or the end of the text.
pub(super) fn next_line(text: &str, offset: usize) -> usize {
    text[offset..].find('\n').map_or(text.len(), |at| offset + at + 1)
}

/// Returns the blanks at the start of the line that contains `offset`.
pub(super) fn indentation(text: &str, offset: usize) -> &str {
    let line = &text[line_start(text, offset)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}
