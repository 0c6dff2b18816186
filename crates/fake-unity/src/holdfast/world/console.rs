//! The console.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::scripts;
use crate::limits::{CONSOLE_MAX, CONSOLE_TEXT_MAX_BYTES};

/// An entry of the console.
pub(super) struct Entry {
    /// `Log`, `Warning` or `Error`.
    pub(super) kind: &'static str,
    pub(super) message: String,
    pub(super) file: String,
    pub(super) line: usize,
    /// Whether it is the compiler's, and stays until it is mended.
    compiler: bool,
}

/// The entries, oldest first.
#[derive(Default)]
pub(super) struct Console(VecDeque<Entry>);

impl Console {
    pub(super) fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.0.iter()
    }

    fn push(&mut self, mut entry: Entry) {
        if entry.message.len() > CONSOLE_TEXT_MAX_BYTES {
            let end =
                entry.message.char_indices().map(|(at, _)| at).take_while(|at| *at <= CONSOLE_TEXT_MAX_BYTES).last();
            entry.message.truncate(end.unwrap_or_default());
            entry.message.push_str("...");
        }
        self.0.push_back(entry);
        if self.0.len() > CONSOLE_MAX {
            self.0.pop_front();
        }
    }

    pub(super) fn log(&mut self, message: String) {
        self.push(Entry { kind: "Log", message, file: String::new(), line: 0, compiler: false });
    }

    /// Puts the errors of a compilation into the place of those of the last one.
    pub(super) fn compiled(&mut self, issues: &[scripts::Found]) {
        self.0.retain(|entry| !entry.compiler);
        for issue in issues {
            let message = issue.message();
            self.push(Entry { kind: "Error", message, file: issue.file.clone(), line: issue.line, compiler: true });
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.retain(|entry| entry.compiler);
    }

    /// Number of errors, of warnings and of messages.
    pub(super) fn counts(&self) -> [usize; 3] {
        ["Error", "Warning", "Log"].map(|kind| self.0.iter().filter(|entry| entry.kind == kind).count())
    }
}

/// Counts as tools answer them.
pub(super) fn counted([errors, warnings, logs]: [usize; 3]) -> Value {
    json!({"ErrorCount": errors, "WarningCount": warnings, "LogCount": logs})
}
