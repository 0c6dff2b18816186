//! Reads the list of commands as tools. The package states nothing but names and parameters, so what a tool does to the project is
//! derived from these.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::super::{Annotations, EditorTool, InputSchema, ListStep, Reply, ToolListing, listing, wreck};

/// The commands that the package itself has, in the form of its list: those of 0.4 without what is known to be gone.
pub(super) const COMMANDS: &str = include_str!("commands.json");

/// Names of commands that only read: whole names, and how names begin or end.
const READERS: [&str; 3] = ["search", "read_text_file", "screenshot"];
const READERS_BEGIN: [&str; 5] = ["get_", "list_", "find_", "console", "capture_"];
const READERS_END: &str = "_status";
/// Parameters that name a file which the command writes: pictures, which are read-only all the same.
const WRITTEN: [&str; 2] = ["save_path", "output"];
/// The parameter of commands that do nothing without it, beyond saying what they would do.
const CONFIRM: &str = "confirm";
/// How the names of commands begin that take something away and have no such parameter.
const DESTROYERS_BEGIN: [&str; 3] = ["delete_", "remove_", "clear_"];

/// An entry of the list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Command {
    name: String,
    description: Option<String>,
    #[serde(default)]
    parameters: Vec<Parameter>,
    schema: Option<Map<String, Value>>,
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Parameter {
    name: String,
    description: Option<String>,
    /// The name of the .NET type.
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    default_value: Value,
}

/// Reads the reply to a list method. Versions that list by pages may refuse the first one, which asks for a long page.
pub(super) fn read(reply: &Reply, step: usize) -> ListStep {
    let list = match reply {
        Reply::Result(list) => list,
        Reply::Error(_) if step == 0 => return ListStep::TryNext,
        Reply::Error(error) => return ListStep::Failed(format!("the editor refused its tool list: {}", error.message)),
        Reply::Wreck(_) => return ListStep::Failed("the editor's tool list cannot be read".to_owned()),
    };
    let [commands, total] = wreck::parts(list.get().as_bytes(), ["commands", "total"]).values;
    let Some(commands) = commands else {
        return ListStep::Failed("the editor's list has no commands".to_owned());
    };
    let Some(mut listing) = listing::collect(commands, tool) else {
        return ListStep::Failed("the editor's list of commands cannot be read".to_owned());
    };
    let total: Option<usize> = total.and_then(|total| serde_json::from_slice(total).ok());
    let left = total.unwrap_or_default().saturating_sub(listing.tools.len() + listing.dropped.len());
    listing.dropped.retain(|(_, why)| why != FOR_PLAYERS);
    if left > 0 {
        listing.dropped.push((format!("{left} more"), "the editor listed one page of its commands only".to_owned()));
    }
    ListStep::Tools(listing)
}

/// Returns the package's own commands of 0.4, for a client that starts before any editor was met.
pub(super) fn stated() -> Option<ToolListing> {
    let mut listing = listing::collect(COMMANDS.as_bytes(), tool)?;
    for tool in &mut listing.tools {
        let tool = Arc::make_mut(tool);
        tool.description.push_str(" (As of 0.4: the editor's own list takes its place.)");
    }
    Some(listing)
}

/// Why a command that an editor cannot run is left out, which nobody needs to be told.
const FOR_PLAYERS: &str = "it is for players";

fn tool(entry: &RawValue) -> Result<EditorTool, listing::Bad> {
    let [name, for_players] = wreck::parts(entry.get().as_bytes(), ["name", "runtimeOnly"]).values;
    let named = || name.and_then(wreck::text);
    if for_players == Some(b"true".as_slice()) {
        return Err((named(), FOR_PLAYERS.to_owned()));
    }
    let command: Command = serde_json::from_str(entry.get()).map_err(|error| (named(), error.to_string()))?;
    let Command { name, description, parameters, schema, tags } = command;
    if name.is_empty() {
        return Err((None, "it has no name".to_owned()));
    }
    let input_schema = InputSchema::from(&schema.filter(is_of_object).unwrap_or_else(|| schema_of(parameters)));
    let reads = only_reads(&name);
    let writes = WRITTEN.iter().any(|file| input_schema.property(file).is_some());
    let confirms = input_schema.property(CONFIRM).is_some();
    let destroys = confirms || DESTROYERS_BEGIN.iter().any(|begin| name.starts_with(begin));
    let description = description.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    Ok(EditorTool {
        annotations: Annotations {
            title: listing::title(&name),
            read_only_hint: reads,
            destructive_hint: destroys && !reads,
            idempotent_hint: reads,
            open_world_hint: false,
        },
        description: description.unwrap_or_else(|| listing::undescribed(&name)),
        input_schema,
        development_only: false,
        // A project's own command may have any name, so its name is no reason to run it twice.
        repeatable: reads && OWN.contains(name.as_str()) && !writes,
        parallel: false,
        resumable: false,
        timeout_seconds: None,
        group: tags.into_iter().find(|tag| !tag.trim().is_empty()),
        other_names: Vec::new(),
        name,
    })
}

/// The names of the package's own commands, as far as they are known.
static OWN: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let list: Vec<Command> = serde_json::from_str(COMMANDS).unwrap_or_default();
    let later = LATER.iter().map(|name| (*name).to_owned());
    list.into_iter().map(|command| command.name).chain(later).collect()
});

/// Commands that came after 0.4 and only read.
const LATER: [&str; 2] = ["console_status", "codereload_status"];

/// Whether a command of this name only reads.
fn only_reads(name: &str) -> bool {
    READERS.contains(&name) || READERS_BEGIN.iter().any(|begin| name.starts_with(begin)) || name.ends_with(READERS_END)
}

fn is_of_object(schema: &Map<String, Value>) -> bool {
    schema.get("type").is_some_and(|kind| kind == "object")
}

/// Makes the schema of a command that is listed without one.
fn schema_of(parameters: Vec<Parameter>) -> Map<String, Value> {
    let required: Vec<String> =
        parameters.iter().filter(|parameter| parameter.required).map(|parameter| parameter.name.clone()).collect();
    let properties: Map<String, Value> = parameters.into_iter().map(property).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema
}

fn property(Parameter { name, description, kind, required, default_value }: Parameter) -> (String, Value) {
    let mut schema = match kind.as_deref().unwrap_or_default() {
        "String" | "string" => json!({"type": "string"}),
        "Int32" | "Int64" | "integer" => json!({"type": "integer"}),
        "Single" | "Double" | "number" => json!({"type": "number"}),
        "Boolean" | "boolean" => json!({"type": "boolean"}),
        "JObject" | "object" => json!({"type": "object"}),
        "JArray" | "array" => json!({"type": "array", "items": {}}),
        kind if kind.ends_with("[]") => json!({"type": "array", "items": {}}),
        "ObjectRef" => json!({
            "description": "An asset path, a hierarchy path or a guid; or an object with one of globalId, path, guid, fileId, \
                            instanceId, hierarchyPath.",
        }),
        _ => json!({}),
    };
    if let Some(members) = schema.as_object_mut() {
        let description = description.filter(|text| !text.trim().is_empty());
        members.extend(description.map(|text| ("description".to_owned(), text.into())));
        let default = Some(default_value).filter(|default| !default.is_null() && !required);
        members.extend(default.map(|default| ("default".to_owned(), default)));
    }
    (name, schema)
}
