//! What the story asks of an editor, in the words of the package that it has.

use serde_json::{Value, json};

use crate::fake_unity::FakeDialect;
use crate::timeline::Verdict;

/// A tool and its arguments.
pub type Line = (&'static str, Value);

/// The words of one package.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// Counts under a key; held back: it is answered only when the story says so.
    pub count: fn(key: &str, hold: bool) -> Line,
    /// Changes nothing.
    pub echo: fn(text: &str) -> Line,
    /// What brings a compilation with a reload behind it.
    pub compile: fn() -> Line,
    /// What is told of it.
    pub compile_act: &'static str,
    /// How it must end.
    pub compiled: Verdict,
}

impl Part {
    /// The words for this package.
    pub fn of(dialect: FakeDialect) -> Self {
        let base = Self {
            count: |key, hold| {
                let arguments = if hold { json!({"key": key, "hold": true}) } else { json!({"key": key}) };
                ("count", arguments)
            },
            echo: |text| ("echo", json!({"text": text})),
            compile: || ("compile", json!({})),
            compile_act: "compile, which ends in a reload that cuts off its own answer",
            compiled: Verdict::Ok,
        };
        match dialect {
            FakeDialect::Uloop | FakeDialect::Umcp | FakeDialect::Holdfast => base,
            FakeDialect::Turbokettle => Self {
                compile: || ("execute_menu_item", json!({"path": "Assets/Refresh"})),
                compile_act: "A refresh, with a reload behind its answer",
                ..base
            },
        }
    }
}
