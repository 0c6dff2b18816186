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

/// What is known of whether a call ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ran {
    /// It ran.
    Yes,
    /// It did not.
    No,
    /// It may have run.
    Unknown,
}

impl Ran {
    /// Whether the editor's own count of its runs bears it out. Nothing runs twice.
    #[must_use]
    pub fn is_true(self, runs: u64) -> bool {
        match self {
            Self::Yes => runs == 1,
            Self::No => runs == 0,
            Self::Unknown => runs <= 1,
        }
    }
}

impl Verdict {
    /// How a response says that the request ended: by the words that the AI reads.
    #[must_use]
    pub fn of(message: &Value) -> Self {
        let Some(result) = message.get("result") else { return Self::Refused };
        let text = texts(message).next().unwrap_or_default();
        let said = [
            ("Not executed:", Self::NotExecuted),
            ("Outcome unknown:", Self::Unknown),
            ("Still running:", Self::StillRunning),
        ];
        let said = said.into_iter().find(|(start, _)| text.starts_with(start)).map(|(_, verdict)| verdict);
        match result.get("isError") == Some(&Value::Bool(true)) {
            true => said.unwrap_or(Self::ToolError),
            // Still running is no error to the client, and says so.
            false => said.filter(|said| *said == Self::StillRunning).unwrap_or(Self::Ok),
        }
    }

    /// What it says of whether the call ran.
    #[must_use]
    pub fn ran(self) -> Ran {
        match self {
            Self::Ok | Self::ToolError => Ran::Yes,
            Self::NotExecuted | Self::Refused => Ran::No,
            Self::Unknown | Self::StillRunning => Ran::Unknown,
        }
    }
}

fn texts(message: &Value) -> impl Iterator<Item = &str> {
    let blocks = message.pointer("/result/content").and_then(Value::as_array);
    blocks.into_iter().flatten().filter_map(|block| block.get("text")?.as_str())
}

/// One answer: the whole message.
#[derive(Debug, Clone)]
pub struct Answer(pub Value);

impl Answer {
    /// The text of the result.
    #[must_use]
    pub fn text(&self) -> String {
        texts(&self.0).collect::<Vec<_>>().join("\n")
    }

    /// The editor's own result.
    #[must_use]
    pub fn body(&self) -> Value {
        serde_json::from_str(&self.text()).unwrap_or(Value::Null)
    }

    /// How the call ended.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        Verdict::of(&self.0)
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
