//! Stand-in: the tools of the package.

use serde_json::value::RawValue;

use super::super::wreck;
use super::super::{Annotations, EditorTool, InputSchema, ToolListing, listing};

/// All tools that the package is known to have.
pub(super) fn all() -> ToolListing {
    ToolListing::default()
}

/// The command with which the package runs a tool.
pub(super) fn command(tool: &str) -> &str {
    tool
}

/// Reads the result of `get_tool_states`.
pub(super) fn read_states(result: &RawValue) -> Option<ToolListing> {
    let data = wreck::parts(result.get().as_bytes(), ["data"]).values[0]?;
    listing::collect(wreck::parts(data, ["tools"]).values[0]?, |entry| {
        let [name] = wreck::parts(entry.get().as_bytes(), ["name"]).values;
        let name = name.and_then(wreck::text).ok_or((None, "it has no name".to_owned()))?;
        Ok(EditorTool {
            description: listing::undescribed(&name),
            input_schema: InputSchema::from(&serde_json::Map::new()),
            annotations: Annotations {
                title: listing::title(&name),
                read_only_hint: false,
                destructive_hint: true,
                idempotent_hint: false,
                open_world_hint: true,
            },
            development_only: false,
            repeatable: false,
            parallel: false,
            resumable: false,
            group: None,
            other_names: Vec::new(),
            name,
        })
    })
}
