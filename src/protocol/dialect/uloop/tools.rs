//! The tool list: its methods, its entries, and facts about the package's own tools.

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::listing::{self, Bad};
use super::super::members::Members;
use super::super::wreck;
use super::super::{Annotations, EditorTool, ListStep, Reply};
use super::errors::unknown_method;
use super::schema;
use super::wire::LIST_METHODS;

/// The package's tools that change neither the project nor the editor. Some write a large result into an output file, which is
/// their answer. The names without hyphens are from v0.19 and before.
const READ_ONLY: &[&str] = &[
    "find-game-objects",
    "findgameobjects",
    "get-command-details",
    "get-hierarchy",
    "get-logs",
    "get-menu-items",
    "get-provider-details",
    "get-tool-details",
    "get-version",
    "getCommandDetails",
    "gethierarchy",
    "getlogs",
    "getmenuitems",
    "getproviderdetails",
    "ping",
    "unity-search",
    "unitysearch",
];

/// Reads the reply to the `step`-th list method.
pub(in crate::protocol::dialect) fn read(reply: &Reply, step: usize) -> ListStep {
    let result = match reply {
        Reply::Error(error) if unknown_method(error) && step + 1 < LIST_METHODS.len() => return ListStep::TryNext,
        Reply::Error(error) => return ListStep::Failed(format!("the editor refused its tool list: {}", error.message)),
        Reply::Result(result) => result.get().as_bytes(),
        Reply::Wreck(wreck) => &wreck.bytes,
    };
    let named = wreck::parts(result, ["Tools", "Commands", "tools", "commands"]).values;
    match listing::collect(named.into_iter().flatten().next().unwrap_or(result), tool) {
        Some(listing) => ListStep::Tools(listing),
        None => ListStep::Failed(
            "the editor's tool list has neither Tools nor Commands; read the editor's console for the reason"
                .to_owned(),
        ),
    }
}

fn tool(entry: &RawValue) -> Result<EditorTool, Bad> {
    let Some(entry) = Members::of(entry) else {
        return Err((None, "it is not an object".to_owned()));
    };
    let value = |name: &str| entry.find(name).and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    let text = |name: &str| value(name).and_then(|value| value.as_str().map(str::to_owned));
    let name = match text("name") {
        Some(name) if !name.trim().is_empty() => name,
        _ => return Err((None, "it has no name".to_owned())),
    };
    let input_schema = match schema::convert(entry.find("parameterSchema")) {
        Ok(schema) => schema,
        Err(reason) => return Err((Some(name), reason)),
    };
    let description = match text("description").as_deref().map(str::trim) {
        Some(text) if !text.is_empty() => text.to_owned(),
        _ => listing::undescribed(&name),
    };
    let looks_only = READ_ONLY.contains(&name.as_str());
    Ok(EditorTool {
        description,
        input_schema,
        annotations: annotations(&name, looks_only),
        development_only: value("displayDevelopmentOnly").and_then(|value| value.as_bool()).unwrap_or(false),
        repeatable: looks_only,
        parallel: false,
        resumable: false,
        timeout_seconds: None,
        name,
        group: None,
        other_names: Vec::new(),
    })
}

/// Assumes the worst of an unknown tool: a tool of the project may do anything.
fn annotations(name: &str, looks_only: bool) -> Annotations {
    Annotations {
        title: listing::title(name),
        read_only_hint: looks_only,
        destructive_hint: !looks_only,
        idempotent_hint: looks_only,
        open_world_hint: !looks_only,
    }
}
