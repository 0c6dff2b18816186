//! What the editors of all formats share: where an entry stands, why a text is not edited, and splices.

use std::ops::Range;

/// Where an entry stands: in the map that `keys` lead to, under `name`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot<'a> {
    /// The way to the map.
    pub(crate) keys: &'a [&'a str],
    /// The key in it.
    pub(crate) name: &'a str,
}

/// Why a text is not edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The text is not in the format of its file.
    #[error("line {line}, column {column}: {says}")]
    Broken {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// The parser's words.
        says: String,
    },
    /// The text is sound, and written in a way that is not edited here.
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

/// A piece of text in place of another.
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

/// The text with its splices, which stand in order and apart.
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

/// The line ending that the text uses.
pub(super) fn line_ending(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Where the line of `offset` begins.
pub(super) fn line_start(text: &str, offset: usize) -> usize {
    text[..offset].rfind('\n').map_or(0, |at| at + 1)
}

/// Where the line after that of `offset` begins, or the end of the text.
pub(super) fn next_line(text: &str, offset: usize) -> usize {
    text[offset..].find('\n').map_or(text.len(), |at| offset + at + 1)
}

/// The blanks at the beginning of the line of `offset`.
pub(super) fn indentation(text: &str, offset: usize) -> &str {
    let line = &text[line_start(text, offset)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}
