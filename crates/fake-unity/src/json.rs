//! Writes JSON whose members keep their order, as the editor's serializers do. Tests that compare messages with the documented
//! bytes need that order.

use std::fmt::Write;

/// Returns a string as JSON, with quotes. Non-ASCII characters stay as they are.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns a JSON array of items that are JSON already.
pub(crate) fn array<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> String {
    let mut text = String::from("[");
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(item.as_ref());
    }
    text.push(']');
    text
}

/// A JSON object under construction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object {
    members: String,
    instead: Option<String>,
}

impl Object {
    /// An object without members.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Makes an object that is written as the given JSON. Members that are added to it are ignored. Early packages answer some
    /// methods with JSON that is not an object.
    pub(crate) fn instead(json: String) -> Self {
        Self { instead: Some(json), ..Self::default() }
    }

    /// Adds a member whose value is JSON already.
    pub(crate) fn raw(mut self, key: &str, json: &str) -> Self {
        if !self.members.is_empty() {
            self.members.push(',');
        }
        self.members.push_str(&quoted(key));
        self.members.push(':');
        self.members.push_str(json);
        self
    }

    /// Adds a string.
    pub(crate) fn text(self, key: &str, value: &str) -> Self {
        self.raw(key, &quoted(value))
    }

    /// Adds an integer.
    pub(crate) fn number(self, key: &str, value: impl Into<i128>) -> Self {
        self.raw(key, &value.into().to_string())
    }

    /// Adds a boolean.
    pub(crate) fn flag(self, key: &str, value: bool) -> Self {
        self.raw(key, if value { "true" } else { "false" })
    }

    /// The text of the object.
    pub(crate) fn finish(self) -> String {
        if let Some(json) = self.instead {
            return json;
        }
        let mut text = String::with_capacity(self.members.len() + 2);
        // Writing to a string cannot fail.
        let _ = write!(text, "{{{}}}", self.members);
        text
    }
}
