//! What is sent, while it is translated.

use serde_json::Value;
use serde_json::value::RawValue;

/// Why a value cannot be sent: the end of a sentence that begins with the name of its parameter.
pub(super) type Why = String;

/// The members of a JSON object that is written: names, and values as JSON.
#[derive(Default)]
pub(super) struct Sent(pub(super) Vec<(String, String)>);

impl Sent {
    /// Sets a member, at its old place if there is one.
    pub(super) fn set(&mut self, name: &str, value: String) {
        match self.0.iter_mut().find(|(key, _)| key == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// Adds a member that is surely not there yet.
    pub(super) fn push(&mut self, name: &str, value: &str) {
        self.0.push((name.to_owned(), value.to_owned()));
    }

    pub(super) fn set_text(&mut self, name: &str, text: &str) {
        self.set(name, Value::from(text).to_string());
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The text that a member is.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?).ok()
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.remove(at).1)
    }

    pub(super) fn json(&self) -> String {
        let members: Vec<String> =
            self.0.iter().map(|(key, value)| format!("{}:{value}", Value::from(key.as_str()))).collect();
        format!("{{{}}}", members.join(","))
    }

    pub(super) fn finish(self) -> Option<Box<RawValue>> {
        RawValue::from_string(self.json()).ok()
    }
}
