//! Reads an answer as an AI reads it.

use serde_json::Value;

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A result.
    Ok,
    /// An error that the tool reported.
    ToolError,
    /// The call was not executed.
    NotExecuted,
    /// It is unknown whether the call was executed.
    Unknown,
    /// The call is still running.
    StillRunning,
    /// A JSON-RPC error.
    Refused,
}

/// Whether a call ran, as far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ran {
    /// The call ran.
    Yes,
    /// The call did not run.
    No,
    /// The call may have run.
    Unknown,
}

impl Ran {
    /// Whether this agrees with the number of runs that the editor counted. More than one run never agrees.
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
    /// Returns how the request ended, from the response's text, which is what the AI reads.
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
            // "Still running" is a result, not an error; its text says so.
            false => said.filter(|said| *said == Self::StillRunning).unwrap_or(Self::Ok),
        }
    }

    /// Returns what the verdict says about whether the call ran.
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

/// One answer, as the whole message.
#[derive(Debug, Clone)]
pub struct Answer(pub Value);

impl Answer {
    /// Returns the texts of the result, joined by line ends.
    #[must_use]
    pub fn text(&self) -> String {
        texts(&self.0).collect::<Vec<_>>().join("\n")
    }

    /// Returns the editor's own result: the first text parsed as JSON, or null if it is not JSON. What holdfast itself has to say comes
    /// in texts behind it.
    #[must_use]
    pub fn body(&self) -> Value {
        texts(&self.0).next().and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null)
    }

    /// Returns how the call ended.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        Verdict::of(&self.0)
    }
}

/// Returns the names in a tool list, which is the result of `tools/list`.
///
/// # Panics
/// Panics if `list` is not a tool list.
#[must_use]
pub fn names(list: &Value) -> Vec<String> {
    let tools = list["tools"].as_array().unwrap_or_else(|| panic!("no tools: {list}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap_or_else(|| panic!("no name: {tool}")).to_owned()).collect()
}
