//! Builds a tool list from its entries.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::{EditorTool, ToolListing};
use crate::limits::TOOLS_MAX;

/// An unusable entry: its name, if it has one, and the reason.
pub(super) type Bad = (Option<String>, String);

/// Collects the usable tools of a list. Each entry is parsed separately, so that a broken one does not affect the others. If
/// several entries have the same name, the first one is kept. At most [`TOOLS_MAX`] tools are kept. The rest is listed in
/// `dropped`.
pub(super) fn collect(entries: &[&RawValue], tool: impl Fn(&RawValue) -> Result<EditorTool, Bad>) -> ToolListing {
    let mut listing = ToolListing::default();
    let mut names = BTreeSet::new();
    for (position, entry) in entries.iter().enumerate() {
        if listing.tools.len() == TOOLS_MAX {
            let left = entries.len() - position;
            listing.dropped.push((format!("{left} more"), format!("only {TOOLS_MAX} tools of one editor are kept")));
            break;
        }
        match tool(entry) {
            Ok(tool) if names.insert(tool.name.clone()) => listing.tools.push(Arc::new(tool)),
            Ok(tool) => listing.dropped.push((tool.name, "listed twice; the first one counts".to_owned())),
            Err((name, reason)) => listing.dropped.push((name.unwrap_or_else(|| format!("#{position}")), reason)),
        }
    }
    listing
}

/// The description of a tool whose package gives none.
pub(super) fn undescribed(name: &str) -> String {
    format!("Runs `{name}` in the Unity Editor; its package does not describe it.")
}

/// Makes a display name: `get-logs` becomes `Get logs`.
pub(super) fn title(name: &str) -> String {
    let words: Vec<&str> = name.split(['-', '_', ' ']).filter(|word| !word.is_empty()).collect();
    let spaced = words.join(" ");
    let mut letters = spaced.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => name.to_owned(),
    }
}
