//! TOML, located by `toml_edit` and edited by splices. (The printer of `toml_edit` would turn every CRLF into LF.)

use std::ops::Range;

use serde_json::{Map, Value, json};
use toml_edit::{ImDocument, Item, Table};

use super::text::{EditError, Slot, Splice, indentation, line_ending, line_start, next_line, spliced};

fn parse(text: &str) -> Result<ImDocument<&str>, EditError> {
    ImDocument::parse(text).map_err(|error| {
        let says = error.message().lines().collect::<Vec<_>>().join("; ");
        EditError::at(text, error.span().map_or(0, |span| span.start), says)
    })
}

pub(super) fn meaning(text: &str) -> Result<Value, EditError> {
    Ok(of_item(parse(text)?.as_item()))
}

fn of_item(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => of_value(value),
        Item::Table(table) => of_table(table),
        Item::ArrayOfTables(tables) => tables.iter().map(of_table).collect(),
    }
}

fn of_table(table: &Table) -> Value {
    Value::Object(table.iter().map(|(key, item)| (key.to_owned(), of_item(item))).collect())
}

fn of_value(value: &toml_edit::Value) -> Value {
    use toml_edit::Value as Toml;
    match value {
        Toml::String(text) => json!(text.value()),
        Toml::Integer(number) => json!(number.value()),
        Toml::Float(number) => json!(format!("float {}", number.value())),
        Toml::Boolean(switch) => json!(switch.value()),
        Toml::Datetime(time) => json!(format!("time {}", time.value())),
        Toml::Array(values) => values.iter().map(of_value).collect(),
        Toml::InlineTable(table) => {
            Value::Object(table.iter().map(|(key, value)| (key.to_owned(), of_value(value))).collect())
        }
    }
}

/// Formats a value on one line. Basic strings of TOML equal those of JSON, except that TOML requires DEL to be escaped.
fn render(value: &Value) -> String {
    match value {
        Value::Array(values) => format!("[{}]", values.iter().map(render).collect::<Vec<_>>().join(", ")),
        other => other.to_string().replace('\u{7f}', "\\u007F"),
    }
}

/// Appends our entry as a table at the end: anywhere else it could divide another table.
pub(super) fn insert(text: &str, slot: Slot<'_>, fields: &Map<String, Value>) -> String {
    let eol = line_ending(text);
    let header = slot.path();
    let lines: Vec<String> = fields.iter().map(|(field, value)| format!("{field} = {}", render(value))).collect();
    let table = format!("[{header}]{eol}{}", lines.join(eol));
    if text.is_empty() {
        return format!("{table}{eol}");
    }
    // A file without a final line ending stays without one.
    if text.ends_with('\n') { format!("{text}{eol}{table}{eol}") } else { format!("{text}{eol}{eol}{table}") }
}

/// Returns our entry. Fails if it is not a table with its own header.
fn find<'d>(document: &'d ImDocument<&str>, slot: Slot<'_>) -> Result<&'d Table, EditError> {
    let path = slot.keys.iter().copied().chain([slot.name]);
    let found = path.into_iter().try_fold(document.as_item(), |item, key| item.get(key));
    match found {
        Some(Item::Table(table)) if !table.is_implicit() && !table.is_dotted() => Ok(table),
        _ => Err(EditError::Unusual(format!(
            "\"{}\" is not written as a table of its own, [{}]",
            slot.name,
            slot.path()
        ))),
    }
}

pub(super) fn set(text: &str, slot: Slot<'_>, field: &str, value: &Value) -> Result<String, EditError> {
    let document = parse(text)?;
    let table = find(&document, slot)?;
    let splice = match table.get(field).map(Item::span) {
        Some(Some(span)) => Splice { range: span, text: render(value) },
        Some(None) => return Err(EditError::Unusual(format!("\"{field}\" is spread over several lines"))),
        None => {
            let header = header(table)?;
            let line = format!("{}{field} = {}", indentation(text, header.start), render(value));
            let (after, eol) = (next_line(text, header.end), line_ending(text));
            if text[..after].ends_with('\n') {
                Splice::insert(after, format!("{line}{eol}"))
            } else {
                Splice::insert(after, format!("{eol}{line}"))
            }
        }
    };
    Ok(spliced(text, &[splice]))
}

fn header(table: &Table) -> Result<Range<usize>, EditError> {
    table.span().ok_or_else(|| EditError::Unusual("the place of a table is not known".to_owned()))
}

pub(super) fn take(text: &str, slot: Slot<'_>) -> Result<String, EditError> {
    let document = parse(text)?;
    let mut pieces = Vec::new();
    pieces_of(text, find(&document, slot)?, &mut pieces)?;
    pieces.sort_by_key(|piece| piece.start);
    // Tables that follow each other form one piece, together with the blank line between them.
    let mut joined: Vec<Range<usize>> = Vec::new();
    for piece in pieces {
        match joined.last_mut() {
            Some(last) if text[last.end.min(piece.start)..piece.start].trim().is_empty() => last.end = piece.end,
            _ => joined.push(piece),
        }
    }
    let splices: Vec<Splice> = joined.into_iter().map(|piece| Splice::remove(with_gap(text, piece))).collect();
    Ok(spliced(text, &splices))
}

/// Collects the lines of a table and of its inner tables.
fn pieces_of(text: &str, table: &Table, pieces: &mut Vec<Range<usize>>) -> Result<(), EditError> {
    let header = header(table)?;
    let mut end = header.end;
    for (_, item) in table {
        match item {
            Item::Table(inner) if !inner.is_dotted() && !inner.is_implicit() => pieces_of(text, inner, pieces)?,
            Item::Value(value) => end = end.max(value.span().map_or(0, |span| span.end)),
            // This case is rare, and a user can easily see and remove what belongs to the entry.
            _ => return Err(EditError::Unusual("the entry holds more than plain tables and values".to_owned())),
        }
    }
    pieces.push(line_start(text, header.start)..next_line(text, end));
    Ok(())
}

/// Extends a piece by the blank line before it, or by the line ending that would be left over at the end of the text.
fn with_gap(text: &str, piece: Range<usize>) -> Range<usize> {
    let one_up = |at: usize| -> Option<usize> {
        let before = text[..at].strip_suffix('\n')?;
        Some(before.strip_suffix('\r').unwrap_or(before).len())
    };
    let mut start = piece.start;
    let blank = one_up(start).filter(|at| *at == 0 || text[..*at].ends_with('\n'));
    if let Some(at) = blank {
        start = at;
    }
    if piece.end == text.len() && !text.ends_with('\n') {
        start = one_up(start).unwrap_or(start);
    }
    start..piece.end
}
