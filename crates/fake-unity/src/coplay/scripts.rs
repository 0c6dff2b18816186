//! Scripts, kept in memory: what `manage_script` needs so that a text edit can be proved by the hash of what it changed.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::wire::{done, failed};
use crate::json::Object;
use crate::limits::{ASSETS_MAX, ASSETS_MAX_BYTES};
use crate::tools::Arguments;

/// From this number of characters on a script is read in base64 too (the package's own number).
const ENCODED_FROM: usize = 10_000;

/// The scripts of the project, by their paths.
#[derive(Default)]
pub(super) struct Scripts(BTreeMap<String, String>);

impl Scripts {
    fn has_room_for(&self, text: &str) -> bool {
        let bytes: usize = self.0.values().map(String::len).sum();
        self.0.len() < ASSETS_MAX && bytes + text.len() <= ASSETS_MAX_BYTES
    }
}

/// Runs `manage_script`.
pub(super) fn manage(scripts: &mut Scripts, arguments: &Arguments) -> Object {
    let folder = arguments.text("path").filter(|path| !path.is_empty()).unwrap_or_else(|| "Assets/Scripts".to_owned());
    let path = format!("{}/{}.cs", folder.trim_end_matches('/'), arguments.word("name"));
    let action = arguments.word("action");
    if arguments.word("name").is_empty() {
        return failed("name parameter is required.", None);
    }
    let Some(text) = scripts.0.get(&path) else {
        return match action {
            "create" => write(scripts, &path, arguments),
            _ => failed(&format!("Script not found at '{path}'."), None),
        };
    };
    match action {
        "create" => failed(&format!("Script already exists at '{path}'."), None),
        "read" => done("Read the script.", &read(&path, text)),
        "get_sha" => done("SHA computed.", &identity(&path, text)),
        "validate" => done("The script is valid.", &json!({"diagnostics": []})),
        "update" => write(scripts, &path, arguments),
        "apply_text_edits" => edit(scripts, &path, arguments),
        "delete" => {
            scripts.0.remove(&path);
            done("Deleted the script.", &json!({"deleted": true}))
        }
        // Changes by the names of classes and methods, which the model does not know.
        "edit" => done("Applied no edits.", &json!({"editsApplied": 0, "no_op": true})),
        _ => failed(&format!("Unknown action: '{action}'."), None),
    }
}

fn uri(path: &str) -> String {
    format!("mcpforunity://path/{path}")
}

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn identity(path: &str, text: &str) -> Value {
    json!({"uri": uri(path), "path": path, "sha256": sha256(text), "lengthBytes": text.len(),
        "lastModifiedUtc": "2025-07-22T21:34:56Z"})
}

fn read(path: &str, text: &str) -> Value {
    let is_long = text.chars().count() > ENCODED_FROM;
    let encoded = is_long.then(|| STANDARD.encode(text));
    json!({"uri": uri(path), "path": path, "contents": text, "encodedContents": encoded, "contentsEncoded": is_long})
}

fn write(scripts: &mut Scripts, path: &str, arguments: &Arguments) -> Object {
    let text = match arguments.flag("contentsEncoded") {
        true => STANDARD.decode(arguments.word("encodedContents")).ok().and_then(|bytes| String::from_utf8(bytes).ok()),
        false => Some(arguments.text("contents").unwrap_or_default()),
    };
    let Some(text) = text else { return failed("Failed to decode script contents.", None) };
    if !scripts.has_room_for(&text) {
        return failed("The simulated project is full.", None);
    }
    let told = identity(path, &text);
    scripts.0.insert(path.to_owned(), text);
    done("Wrote the script.", &told)
}

/// Replaces spans of a script, if its caller knows its text.
fn edit(scripts: &mut Scripts, path: &str, arguments: &Arguments) -> Object {
    let old = scripts.0.get(path).cloned().unwrap_or_default();
    let current = json!({"current_sha256": sha256(&old)});
    match arguments.word("precondition_sha256") {
        "" => return failed("precondition_required", Some(&current)),
        known if known != sha256(&old) => return failed("stale_file", Some(&current)),
        _ => {}
    }
    let edits = arguments.items("edits");
    let Some(mut spans) = edits.iter().map(|edit| span(&old, edit)).collect::<Option<Vec<_>>>() else {
        return failed("out_of_range", Some(&current));
    };
    spans.sort_by_key(|(from, _, _)| *from);
    if spans.windows(2).any(|two| matches!(two, [(_, to, _), (from, _, _)] if to > from)) {
        return failed("overlap", Some(&current));
    }
    let mut new = old.clone();
    for (from, to, text) in spans.iter().rev() {
        new.replace_range(from..to, text);
    }
    if new == old {
        return done("No changes.", &json!({"no_op": true, "editsApplied": 0, "sha256": sha256(&old)}));
    }
    if !scripts.has_room_for(&new) {
        return failed("The simulated project is full.", None);
    }
    let told = json!({"uri": uri(path), "path": path, "editsApplied": spans.len(), "sha256": sha256(&new), "scheduledRefresh": true});
    scripts.0.insert(path.to_owned(), new);
    done("Applied the edits.", &told)
}

/// Reads an edit: from where to where, and the new text.
fn span<'a>(text: &str, edit: &'a Value) -> Option<(usize, usize, &'a str)> {
    let number = |name: &str| edit.get(name).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok());
    let from = offset(text, number("startLine")?, number("startCol")?)?;
    let to = offset(text, number("endLine")?, number("endCol")?)?;
    let new = edit.get("newText").and_then(Value::as_str).unwrap_or_default();
    (from <= to).then_some((from, to, new))
}

/// Returns where a line and a column are in a text; both count from 1, columns in characters.
fn offset(text: &str, line: usize, column: usize) -> Option<usize> {
    let (line, column) = (line.checked_sub(1)?, column.checked_sub(1)?);
    let begins = text.split_inclusive('\n').take(line).map(str::len).sum::<usize>();
    let lines = text.split('\n').count();
    let rest = text.get(begins..).filter(|_| line < lines)?;
    let end = rest.find('\n').unwrap_or(rest.len());
    let within = rest.get(..end)?;
    let ends = std::iter::once(end);
    within.char_indices().map(|(at, _)| at).chain(ends).nth(column).map(|at| begins + at)
}
