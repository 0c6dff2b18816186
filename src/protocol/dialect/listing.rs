//! Builds a tool list from its entries.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::{EditorTool, ToolListing, wreck};
use crate::limits::TOOLS_MAX;
use crate::protocol::jsonrpc::spans;

/// An unusable entry: its name, if it has one, and the reason.
pub(super) type Bad = (Option<String>, String);

/// Collects the usable tools of a list, which need not be JSON as a whole: an entry that cannot be read does not affect the others.
/// If several entries have the same name, the first one is kept. At most [`TOOLS_MAX`] tools are kept. The rest is listed in
/// `dropped`. `None` if it is not a list, or if its end is not found.
pub(super) fn collect(list: &[u8], tool: impl Fn(&RawValue) -> Result<EditorTool, Bad>) -> Option<ToolListing> {
    let mut entries = spans::items(list)?;
    let mut listing = ToolListing::default();
    let mut names = BTreeSet::new();
    for (position, entry) in (&mut entries).enumerate() {
        if listing.tools.len() == TOOLS_MAX {
            let left = 1 + entries.by_ref().count();
            listing.dropped.push((format!("{left} more"), format!("only {TOOLS_MAX} tools of one editor are kept")));
            break;
        }
        let name = || wreck::parts(entry, ["name"]).values[0].and_then(wreck::text);
        let read = wreck::json(entry).ok_or_else(|| (name(), "its entry in the list is not valid JSON".to_owned()));
        match read.and_then(&tool) {
            Ok(tool) if names.insert(tool.name.clone()) => listing.tools.push(Arc::new(tool)),
            Ok(tool) => listing.dropped.push((tool.name, "listed twice; the first one counts".to_owned())),
            Err((name, reason)) => listing.dropped.push((name.unwrap_or_else(|| format!("#{position}")), reason)),
        }
    }
    entries.is_whole().then_some(listing)
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
