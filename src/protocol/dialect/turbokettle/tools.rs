//! The tool list: its entries, facts about the package's own tools, and the one tool that the package's server answered itself.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::listing::{self, Bad};
use super::super::wreck;
use super::super::{Annotations, EditorTool, InputSchema, ListStep, Reply};
use super::schema::{self, Unreadable};
use super::wire::{self, NO_REGISTRY};
use crate::limits::{TOOLS_MAX, WAIT_READY_MAX};

/// A tool that the package's own server had before version 1.0.0. Clients learned to use it, so the gateway answers it.
pub(super) const WAIT_READY: &str = "wait_for_editor_ready";

/// The package's tools that only read. One of them still needs Unity's main thread.
const READ_ONLY: [&str; 2] = ["get_project_info", "read_console_logs"];

/// Reads the reply to `list_tools`. The `version` of the list is always 1, so it is not read.
pub(super) fn read(reply: &Reply) -> ListStep {
    let result = match reply {
        Reply::Error(error) if error.message == NO_REGISTRY => {
            return ListStep::Failed(format!("the editor is still starting its bridge: {}", error.message));
        }
        Reply::Error(error) => return ListStep::Failed(format!("the editor refused its tool list: {}", error.message)),
        Reply::Result(result) => result,
        Reply::Wreck(_) => return ListStep::Failed("the editor's tool list cannot be read".to_owned()),
    };
    let Some(text) = wire::data(result) else {
        return ListStep::Failed("the editor's tool list is no text".to_owned());
    };
    let [tools] = wreck::parts(text.as_bytes(), ["tools"]).values;
    let Some(mut listing) = tools.and_then(|tools| listing::collect(tools, tool)) else {
        return ListStep::Failed("the editor's tool list cannot be read".to_owned());
    };
    if listing.tools.len() < TOOLS_MAX {
        listing.tools.push(Arc::new(wait_ready()));
    }
    ListStep::Tools(listing)
}

fn tool(entry: &RawValue) -> Result<EditorTool, Bad> {
    let entry: Value =
        serde_json::from_str(entry.get()).map_err(|error| (None, format!("it cannot be read as JSON: {error}")))?;
    let text = |name: &str| entry.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let Some(name) = text("name") else {
        return Err((None, "it has no name".to_owned()));
    };
    if name == WAIT_READY {
        return Err((Some(name.to_owned()), "holdfast answers a tool of this name by itself".to_owned()));
    }
    let mut description = text("description").map_or_else(|| listing::undescribed(name), str::to_owned);
    let input_schema = match schema::convert(text("parameterSchema")) {
        Ok(schema) => schema,
        Err(Unreadable { schema, remark }) => {
            description = format!("{description} {remark}");
            schema
        }
    };
    let looks_only = READ_ONLY.contains(&name);
    Ok(EditorTool {
        annotations: annotations(name, looks_only),
        description,
        input_schema: InputSchema::from(&input_schema),
        development_only: false,
        repeatable: looks_only,
        parallel: entry.get("requiresMainThread").and_then(Value::as_bool) == Some(false),
        resumable: false,
        timeout_seconds: None,
        name: name.to_owned(),
        group: None,
        other_names: Vec::new(),
    })
}

/// Assumes the worst of an unknown tool: a menu entry, or a tool of the project, may do anything.
fn annotations(name: &str, looks_only: bool) -> Annotations {
    Annotations {
        title: listing::title(name),
        read_only_hint: looks_only,
        destructive_hint: !looks_only,
        idempotent_hint: looks_only,
        open_world_hint: !looks_only,
    }
}

fn wait_ready() -> EditorTool {
    let schema = json!({
        "type": "object",
        "properties": {
            "timeout_seconds": {
                "type": "integer",
                "description": "How long to wait, in seconds; no longer than this client waits for an answer.",
                "default": 60,
                "minimum": 0,
                "maximum": WAIT_READY_MAX.as_secs()
            },
            "wait_for_reload": {
                "type": "boolean",
                "description": "Say true after something that makes Unity reload its scripts: what is ready now does not count then.",
                "default": false
            }
        },
        "additionalProperties": false
    });
    EditorTool {
        name: WAIT_READY.to_owned(),
        description:
            "Waits until the Unity Editor is connected and answers. Calls wait for that by themselves; this is for \
                      when nothing is to be done before."
                .to_owned(),
        input_schema: schema.as_object().map(InputSchema::from).unwrap_or_default(),
        annotations: annotations(WAIT_READY, true),
        development_only: false,
        repeatable: true,
        parallel: true,
        resumable: false,
        timeout_seconds: None,
        group: None,
        other_names: Vec::new(),
    }
}
