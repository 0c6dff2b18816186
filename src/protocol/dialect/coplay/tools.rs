//! The tool list: what the editor says of its tools since 9.5, otherwise what the package is known to have.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::super::{Annotations, EditorTool, InputSchema, ListStep, Reply, ToolListing, Turn};
use super::within::CUSTOM;
use super::{answer, catalogue};

/// The group that the package switches on by itself.
const CORE: &str = "core";

/// Reads the reply to the list command.
pub(super) fn read(reply: &Reply) -> ListStep {
    let listing = match reply {
        Reply::Result(result) => catalogue::read_states(result),
        Reply::Error(error) if answer::is_unknown(error) => Some(unlisted()),
        Reply::Error(error) => return ListStep::Failed(format!("the editor refused its tool list: {}", error.message)),
        Reply::Wreck(_) => None,
    };
    listing.map_or_else(|| ListStep::Failed("the editor's tool list cannot be read".to_owned()), ListStep::Tools)
}

/// The package's own tools.
pub(super) fn stated() -> ToolListing {
    ToolListing { tools: catalogue::all().to_vec(), ..ToolListing::default() }
}

/// The tools of an editor that lists none. The project's own are called through one more.
fn unlisted() -> ToolListing {
    let mut listing = stated();
    listing.tools.push(Arc::new(custom()));
    listing
}

fn custom() -> EditorTool {
    let schema = json!({
        "type": "object",
        "properties": {
            "tool_name": {"type": "string", "description": "Its name, as the project's code gives it"},
            "parameters": {"type": "object", "description": "Its arguments"},
        },
        "required": ["tool_name"],
        "additionalProperties": false,
    });
    EditorTool {
        name: CUSTOM.to_owned(),
        description: "Calls a tool that this project has of its own. The package lists those only from 9.5 on."
            .to_owned(),
        input_schema: InputSchema::from(schema.as_object().unwrap_or(&Map::<String, Value>::new())),
        annotations: Annotations {
            title: "Execute Custom Tool".to_owned(),
            read_only_hint: false,
            destructive_hint: true,
            idempotent_hint: false,
            open_world_hint: true,
        },
        development_only: false,
        repeatable: false,
        parallel: false,
        resumable: false,
        timeout_seconds: None,
        group: Some(CORE.to_owned()),
        other_names: Vec::new(),
    }
}

/// The group of the package that is on by itself comes first, then the project's own tools. The rest is found by words.
pub(super) fn turn(tool: &EditorTool) -> Turn {
    match tool.group.as_deref() {
        Some(CORE) => Turn::First,
        None => Turn::Usual,
        Some(group) if catalogue::all().iter().any(|own| own.group.as_deref() == Some(group)) => Turn::Apart,
        Some(_) => Turn::Usual,
    }
}
