//! Edits of scripts, by lines and columns or by the names of what they change.

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::super::members::Members;
use super::sent::{Sent, Why};
use super::values;
use crate::protocol::text::{cut_with_ellipsis, quote};

/// Bytes of an operation's name that a refusal shows.
const SHOWN_MAX_BYTES: usize = 64;

/// The four numbers of a span, as the editor calls them, and where a language server has them.
const SPAN: [(&str, &str, &str); 4] = [
    ("startLine", "start", "line"),
    ("startCol", "start", "character"),
    ("endLine", "end", "line"),
    ("endCol", "end", "character"),
];

/// The operations that the editor does itself. All others are spans of a text that would have to be read first.
const OPERATIONS: [&str; 8] = [
    "replace_class",
    "delete_class",
    "replace_method",
    "delete_method",
    "insert_method",
    "anchor_insert",
    "anchor_replace",
    "anchor_delete",
];
/// Where an edit may have its operation.
const OPERATION: [&str; 4] = ["op", "operation", "type", "mode"];
/// Other names of an edit's members.
const ALIASES: [(&str, &str); 15] = [
    ("class_name", "className"),
    ("class", "className"),
    ("method_name", "methodName"),
    ("target", "methodName"),
    ("method", "methodName"),
    ("new_content", "replacement"),
    ("newMethod", "replacement"),
    ("new_method", "replacement"),
    ("content", "replacement"),
    ("after", "afterMethodName"),
    ("after_method", "afterMethodName"),
    ("before", "beforeMethodName"),
    ("before_method", "beforeMethodName"),
    ("anchorText", "anchor"),
    ("newText", "text"),
];

fn must_be_edits() -> Why {
    "must be a list of objects".to_owned()
}

/// Translates each edit of a list.
fn each(raw: &RawValue, edit: impl Fn(&RawValue) -> Result<Sent, Why>) -> Result<String, Why> {
    let list = values::list(raw)?.ok_or_else(must_be_edits)?;
    let items: Vec<&RawValue> = serde_json::from_str(&list).map_err(|_| must_be_edits())?;
    let edits: Result<Vec<String>, Why> = items.into_iter().map(|item| edit(item).map(|edit| edit.json())).collect();
    Ok(format!("[{}]", edits?.join(",")))
}

/// Returns edits whose spans are given by lines and columns: from 1, or in a `range` from 0, as a language server has them.
pub(super) fn text_edits(raw: &RawValue, strict: bool) -> Result<String, Why> {
    each(raw, |edit| text_edit(edit, strict))
}

fn text_edit(raw: &RawValue, strict: bool) -> Result<Sent, Why> {
    let members = Members::of(raw).ok_or_else(must_be_edits)?;
    let find = |name: &str| values::member(&members, name);
    let is_text_new = find("newText").is_none();
    let mut sent = Sent::default();
    for (name, value) in members.unique() {
        if name != "range" && SPAN.iter().all(|span| span.0 != name) {
            sent.push(if name == "text" && is_text_new { "newText" } else { name }, value.get());
        }
    }
    for (name, end, part) in SPAN {
        let number = match (find(name), find("range")) {
            (Some(value), _) => from_one(value, strict)?,
            (None, Some(range)) => from_zero(range, end, part)?,
            (None, None) => {
                return Err(String::from("must have startLine, startCol, endLine, endCol and newText in each edit"));
            }
        };
        sent.push(name, &number.to_string());
    }
    Ok(sent)
}

fn whole(raw: &RawValue) -> Result<i64, Why> {
    let number = values::integer(raw).ok().flatten().and_then(|number| number.parse().ok());
    number.ok_or_else(|| "must have whole numbers for lines and columns".to_owned())
}

fn from_one(raw: &RawValue, strict: bool) -> Result<i64, Why> {
    let number = whole(raw)?;
    if strict && number < 1 {
        return Err("must count lines and columns from 1, and `strict` allows nothing less".to_owned());
    }
    Ok(number.max(1))
}

fn from_zero(range: &RawValue, end: &str, part: &str) -> Result<i64, Why> {
    let Some(range) = Members::of(range) else {
        return Err(
            "has a range of offsets, for which the file would have to be read first: give lines and columns".to_owned()
        );
    };
    let end = values::member(&range, end).and_then(Members::of);
    let number = end.and_then(|end| values::member(&end, part)).map_or(Ok(0), whole)?;
    Ok(number.max(0).saturating_add(1))
}

/// Returns edits of classes, methods and anchors. `script` is the class that they mean if they name none.
pub(super) fn script_edits(raw: &RawValue, script: &str) -> Result<String, Why> {
    each(raw, |edit| script_edit(edit, script))
}

fn script_edit(raw: &RawValue, script: &str) -> Result<Sent, Why> {
    let outer = Members::of(raw).ok_or_else(must_be_edits)?;
    // An edit may stand in an object that has the operation as its name.
    let named = |(name, raw)| if OPERATIONS.contains(&name) { Some((name, Members::of(raw)?)) } else { None };
    let wrapped = outer.iter().find_map(named);
    let members = wrapped.as_ref().map_or(&outer, |(_, inner)| inner);
    let mut sent = Sent::default();
    for (name, value) in members.unique() {
        sent.push(name, value.get());
    }
    let text = |sent: &Sent, name: &str| sent.text(name).filter(|text| !text.is_empty());
    let stated = OPERATION.iter().find_map(|name| text(&sent, name));
    let mut operation = match &wrapped {
        Some((operation, _)) => (*operation).to_owned(),
        None => stated.unwrap_or_default().trim().to_ascii_lowercase(),
    };
    for (from, to) in ALIASES {
        rename(&mut sent, from, to);
    }
    if let Some(method) = sent.remove("anchor_method") {
        let is_before = sent.text("position").is_some_and(|position| position.trim().eq_ignore_ascii_case("before"));
        let name = if is_before { "beforeMethodName" } else { "afterMethodName" };
        if !sent.has(name) {
            sent.push(name, &method);
        }
    }
    if operation.starts_with("anchor_") {
        rename(&mut sent, "pattern", "anchor");
    }
    let names_method = text(&sent, "afterMethodName").or_else(|| text(&sent, "beforeMethodName")).is_some();
    if operation == "anchor_insert" && text(&sent, "anchor").is_none() && names_method {
        "insert_method".clone_into(&mut operation);
        if let Some(new) = sent.get("text").filter(|_| !sent.has("replacement")).map(str::to_owned) {
            sent.push("replacement", &new);
        }
    }
    if !OPERATIONS.contains(&operation.as_str()) || sent.has("range") {
        let shown = quote(&cut_with_ellipsis(&operation, SHOWN_MAX_BYTES));
        return Err(format!(
            "has the operation {shown}, for which the file would have to be read first: use `apply_text_edits`, or one of {}",
            OPERATIONS.join(", ")
        ));
    }
    if !operation.starts_with("anchor_") && text(&sent, "className").is_none() {
        sent.set_text("className", script);
    }
    sent.set("op", Value::from(operation).to_string());
    Ok(sent)
}

/// Renames a member, unless there is one with its new name.
fn rename(sent: &mut Sent, from: &str, to: &str) {
    if !sent.has(to)
        && let Some(value) = sent.remove(from)
    {
        sent.push(to, &value);
    }
}
