//! An answer, read as an AI reads it.

use serde_json::Value;

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// With a result.
    Ok,
    /// With an error that the tool tells.
    ToolError,
    /// It was not executed.
    NotExecuted,
    /// Whether it was executed is not known.
    Unknown,
    /// It runs on.
    StillRunning,
    /// With a JSON-RPC error.
    Refused,
}

/// One answer: the whole message.
#[derive(Debug, Clone)]
pub struct Answer(pub Value);

impl Answer {
    /// The text of the result.
    #[must_use]
    pub fn text(&self) -> String {
        let blocks = self.0["result"]["content"].as_array();
        let texts = blocks.into_iter().flatten().filter_map(|block| block["text"].as_str());
        texts.collect::<Vec<_>>().join("\n")
    }

    /// The editor's own result.
    #[must_use]
    pub fn body(&self) -> Value {
        serde_json::from_str(&self.text()).unwrap_or(Value::Null)
    }

    /// How the call ended.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if self.0.get("error").is_some() {
            return Verdict::Refused;
        }
        if self.0["result"]["isError"] != true {
            return Verdict::Ok;
        }
        let text = self.text();
        if text.starts_with("Not executed: ") {
            Verdict::NotExecuted
        } else if text.starts_with("Outcome unknown: ") {
            Verdict::Unknown
        } else if text.starts_with("Still running: ") {
            Verdict::StillRunning
        } else {
            Verdict::ToolError
        }
    }
}

/// The names in a tool list, which is the result of `tools/list`.
///
/// # Panics
/// If it is no tool list.
#[must_use]
pub fn names(list: &Value) -> Vec<String> {
    let tools = list["tools"].as_array().unwrap_or_else(|| panic!("no tools: {list}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap_or_else(|| panic!("no name: {tool}")).to_owned()).collect()
}
