//! The editor's tools, in one form for all dialects.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{InputSchema, OtherName};

/// A tool of the editor, in one form for all dialects. The catalogue on disk uses the same form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditorTool {
    /// The tool's own name in the editor.
    pub name: String,
    /// What the tool does, in the editor's words.
    pub description: String,
    /// JSON Schema of the tool's arguments: `type: object`.
    pub input_schema: InputSchema,
    /// MCP annotations; all four hints are always set.
    pub annotations: Annotations,
    /// Whether the tool is hidden unless development tools are asked for.
    #[serde(default)]
    pub development_only: bool,
    /// Whether a call that may have run may be sent again, because the tool is declared read-only or idempotent.
    #[serde(default)]
    pub repeatable: bool,
    /// Whether the tool may run while other calls run.
    #[serde(default)]
    pub parallel: bool,
    /// Whether the tool's work continues after a domain reload interrupts it.
    #[serde(default)]
    pub resumable: bool,
    /// The seconds after which the editor stops a call that names no limit, if its list says so beside the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u32>,
    /// The group that the editor's package puts the tool in, if it has groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The names that tools like this one have in other packages. They can be called and are not listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_names: Vec<OtherName>,
}

/// MCP tool annotations (hints). All of them are required here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// A display name for people.
    pub title: String,
    /// The tool changes nothing.
    pub read_only_hint: bool,
    /// The tool may destroy something.
    pub destructive_hint: bool,
    /// A repeated call changes nothing more.
    pub idempotent_hint: bool,
    /// The tool reaches beyond the editor.
    pub open_world_hint: bool,
}

/// A tool list as read from the editor's reply.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolListing {
    /// The usable tools, in the editor's order. A schema may have hundreds of kilobytes, so all users share one copy.
    pub tools: Vec<Arc<EditorTool>>,
    /// The editor's revision of the list, if it gives one: the same text as long as the tools are the same.
    pub revision: Option<String>,
    /// The unusable entries: name (or position) and reason. One bad tool does not invalidate the list.
    pub dropped: Vec<(String, String)>,
}

/// The meaning of a reply to [`Order::ListTools`](super::Order::ListTools).
#[derive(Debug)]
pub enum ListStep {
    /// The list.
    Tools(ToolListing),
    /// The editor does not know the list method. The gateway tries the next one.
    TryNext,
    /// The list cannot be read; the text is the reason.
    Failed(String),
}
