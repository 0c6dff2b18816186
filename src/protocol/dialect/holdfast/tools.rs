//! The tool list.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::limits::OTHER_NAMES_MAX;

use crate::protocol::text::clean;

use super::super::listing::{self, Bad};
use super::super::wreck;
use super::super::{Annotations, EditorTool, InputSchema, ListStep, OtherName, Reply, ToolListing};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    name: String,
    #[serde(default)]
    description: String,
    input_schema: InputSchema,
    annotations: Annotations,
    #[serde(default)]
    parallel: bool,
    #[serde(default)]
    resumable: bool,
    #[serde(default)]
    timeout_seconds: Option<u32>,
    #[serde(default)]
    development_only: bool,
    #[serde(default)]
    group: Option<String>,
    #[serde(default)]
    other_names: Vec<OtherName>,
    #[serde(default)]
    blocked: Option<String>,
}

/// Reads the reply to `holdfast/tools`.
pub(super) fn read(reply: &Reply) -> ListStep {
    let result = match reply {
        Reply::Error(error) => return ListStep::Failed(format!("the editor refused its tool list: {}", error.message)),
        Reply::Result(result) => result.get().as_bytes(),
        Reply::Wreck(wreck) => &wreck.bytes,
    };
    let [revision, tools] = wreck::parts(result, ["revision", "tools"]).values;
    match tools.and_then(|tools| listing::collect(tools, tool)) {
        Some(listing) => ListStep::Tools(ToolListing { revision: revision.and_then(wreck::text), ..listing }),
        None => ListStep::Failed("the editor's tool list cannot be read".to_owned()),
    }
}

fn tool(entry: &RawValue) -> Result<EditorTool, Bad> {
    let mut tool: Tool = serde_json::from_str(entry.get()).map_err(|error| (name_of(entry), error.to_string()))?;
    if tool.name.trim().is_empty() {
        return Err((None, "it has no name".to_owned()));
    }
    let Some((mut rest, properties)) = tool.input_schema.parts() else {
        return Err((Some(tool.name), "its input schema is not that of an object".to_owned()));
    };
    let untyped = !rest.contains_key("type");
    if *rest.entry("type").or_insert_with(|| "object".into()) != "object" {
        return Err((Some(tool.name), "its input schema is not that of an object".to_owned()));
    }
    if untyped {
        let properties = properties.iter().map(|(name, raw)| Ok::<_, Bad>((name.as_str(), raw.get())));
        tool.input_schema = InputSchema::by_parts(&rest, properties)?;
    }
    if tool.description.trim().is_empty() {
        tool.description = listing::undescribed(&tool.name);
    }
    if tool.annotations.title.trim().is_empty() {
        tool.annotations.title = listing::title(&tool.name);
    }
    tool.other_names.truncate(OTHER_NAMES_MAX);
    let description = match tool.blocked.as_deref().map(str::trim).filter(|reason| !reason.is_empty()) {
        // A blocked tool stays listed, so that the AI can tell its user which setting to change.
        Some(reason) => format!("(May not run in this project: {reason}) {}", tool.description),
        None => tool.description,
    };
    Ok(EditorTool {
        repeatable: tool.annotations.read_only_hint || tool.annotations.idempotent_hint,
        name: tool.name,
        description,
        input_schema: tool.input_schema,
        annotations: tool.annotations,
        development_only: tool.development_only,
        parallel: tool.parallel,
        resumable: tool.resumable,
        timeout_seconds: tool.timeout_seconds,
        group: tool.group.map(|group| clean(&group)).filter(|group| !group.is_empty()),
        other_names: tool.other_names,
    })
}

fn name_of(entry: &RawValue) -> Option<String> {
    let entry: Value = serde_json::from_str(entry.get()).ok()?;
    entry.get("name")?.as_str().map(str::to_owned)
}
