//! The editor's tools, in one shape for every dialect.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::InputSchema;

/// A tool of the editor, normalised: the same shape for every dialect, and the shape of the catalogue on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditorTool {
    /// The tool's own name in the editor.
    pub name: String,
    /// What it does, in the editor's words.
    pub description: String,
    /// JSON Schema of its arguments: `type: object`.
    pub input_schema: InputSchema,
    /// MCP annotations; all four are always known.
    pub annotations: Annotations,
    /// Hidden unless development tools are asked for.
    #[serde(default)]
    pub development_only: bool,
    /// A call that may have run may be sent again: declared read-only or idempotent.
    #[serde(default)]
    pub repeatable: bool,
    /// It may run while other calls run.
    #[serde(default)]
    pub parallel: bool,
    /// Its work goes on after a domain reload that cuts it.
    #[serde(default)]
    pub resumable: bool,
}

/// MCP tool annotations (hints), all stated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// A name for people.
    pub title: String,
    /// It changes nothing.
    pub read_only_hint: bool,
    /// It may destroy something.
    pub destructive_hint: bool,
    /// Calling it again changes nothing more.
    pub idempotent_hint: bool,
    /// It reaches beyond the editor.
    pub open_world_hint: bool,
}

/// A tool list as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolListing {
    /// The usable tools, in the editor's order. A schema may have hundreds of kilobytes and is kept once, whoever lists it.
    pub tools: Vec<Arc<EditorTool>>,
    /// What of it is the same as long as the tools are, if the editor says so.
    pub revision: Option<String>,
    /// The unusable ones: name (or position) and reason. One bad tool never takes the list with it.
    pub dropped: Vec<(String, String)>,
}

/// What a reply to [`Order::ListTools`](super::Order::ListTools) means.
#[derive(Debug)]
pub enum ListStep {
    /// The list.
    Tools(ToolListing),
    /// This editor does not know that method: ask again with the next step.
    TryNext,
    /// No list can be had; the reason in words.
    Failed(String),
}
