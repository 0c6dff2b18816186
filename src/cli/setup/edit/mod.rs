//! Editing a client's configuration in place: text in, text out.
//!
//! A parser says where things stand, and what has to change is spliced into the text; nothing is written anew from a parsed
//! form. So comments, order, indentation and line endings outside our entry stay byte for byte, and every edit is proven by
//! parsing its result before anybody writes it: our entry is as wanted, and all else means what it meant.

mod json;
mod toml;
mod yaml;

use std::ops::Range;

use serde_json::{Map, Value};

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON; comments and trailing commas are understood and kept.
    Json,
    /// TOML.
    Toml,
    /// YAML, in the block style that Goose writes.
    Yaml,
}

/// Where our entry stands: in the map that `keys` lead to, under `name`.
#[derive(Debug, Clone, Copy)]
pub struct Slot<'a> {
    /// The way to the map.
    pub keys: &'a [&'a str],
    /// The key in it.
    pub name: &'a str,
}

/// Why a text is not edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// It is not what its name says.
    #[error("line {line}, column {column}: {says}")]
    Broken {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// The parser's words.
        says: String,
    },
    /// It is sound, and written in a way that is not edited here.
    #[error("{0}")]
    Unusual(String),
}

impl Trouble {
    fn at(text: &str, offset: usize, says: impl Into<String>) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        Self::Broken { line: before.matches('\n').count() + 1, column, says: says.into() }
    }
}

/// A piece of text in place of another.
#[derive(Debug)]
struct Splice {
    range: Range<usize>,
    text: String,
}

impl Splice {
    fn insert(at: usize, text: impl Into<String>) -> Self {
        Self { range: at..at, text: text.into() }
    }

    fn remove(range: Range<usize>) -> Self {
        Self { range, text: String::new() }
    }
}

/// The text with its splices, which stand in order and apart.
fn spliced(text: &str, splices: &[Splice]) -> String {
    let mut result = String::with_capacity(text.len() + splices.iter().map(|splice| splice.text.len()).sum::<usize>());
    let mut done = 0;
    for splice in splices {
        result.push_str(&text[done..splice.range.start]);
        result.push_str(&splice.text);
        done = splice.range.end;
    }
    result.push_str(&text[done..]);
    result
}

/// What the text means. An empty one is an empty map.
///
/// # Errors
/// [`Trouble::Broken`].
pub fn meaning(format: Format, text: &str) -> Result<Value, Trouble> {
    match format {
        Format::Json => json::meaning(text),
        Format::Toml => toml::meaning(text),
        Format::Yaml => yaml::meaning(text),
    }
}

/// Our entry, in what a text means.
pub fn entry<'v>(meaning: &'v Value, slot: Slot<'_>) -> Option<&'v Value> {
    slot.keys.iter().try_fold(meaning, |value, key| value.get(key))?.get(slot.name)
}

/// The text with these fields in our entry. Other fields of an entry that is there already are kept. The same text if there is
/// nothing to change.
///
/// # Errors
/// [`Trouble`].
pub fn put(format: Format, text: &str, slot: Slot<'_>, fields: &Map<String, Value>) -> Result<String, Trouble> {
    let before = meaning(format, text)?;
    let edited = match entry(&before, slot) {
        None => match format {
            Format::Json => json::insert(text, slot, fields)?,
            Format::Toml => toml::insert(text, slot, fields),
            Format::Yaml => yaml::insert(text, slot, fields)?,
        },
        Some(Value::Object(there)) => {
            let mut edited = text.to_owned();
            for (field, value) in fields.iter().filter(|(field, value)| there.get(*field) != Some(*value)) {
                edited = match format {
                    Format::Json => json::set(&edited, slot, field, value)?,
                    Format::Toml => toml::set(&edited, slot, field, value)?,
                    Format::Yaml => yaml::set(&edited, slot, field, value)?,
                };
            }
            edited
        }
        Some(_) => return Err(Trouble::Unusual(format!("\"{}\" is there and is not a map of settings", slot.name))),
    };
    prove(format, &before, &edited, slot, Some(fields))?;
    Ok(edited)
}

/// The text without our entry. The same text if it has none.
///
/// # Errors
/// [`Trouble`].
pub fn take(format: Format, text: &str, slot: Slot<'_>) -> Result<String, Trouble> {
    let before = meaning(format, text)?;
    if entry(&before, slot).is_none() {
        return Ok(text.to_owned());
    }
    let edited = match format {
        Format::Json => json::take(text, slot)?,
        Format::Toml => toml::take(text, slot)?,
        Format::Yaml => yaml::take(text, slot)?,
    };
    prove(format, &before, &edited, slot, None)?;
    Ok(edited)
}

/// Whether an edit did what it was for, and nothing else.
fn prove(
    format: Format,
    before: &Value,
    edited: &str,
    slot: Slot<'_>,
    fields: Option<&Map<String, Value>>,
) -> Result<(), Trouble> {
    let unusual = || {
        Trouble::Unusual(format!(
            "the way \"{}\" is written there is not one that can be edited without touching the rest",
            slot.keys.join(".")
        ))
    };
    let after = meaning(format, edited).map_err(|_| unusual())?;
    let ours = entry(&after, slot);
    let as_wanted = match fields {
        None => ours.is_none(),
        Some(fields) => fields.iter().all(|(field, value)| ours.and_then(|ours| ours.get(field)) == Some(value)),
    };
    if as_wanted && rest(before, slot) == rest(&after, slot) { Ok(()) } else { Err(unusual()) }
}

/// What a text means apart from our entry. A map that holds nothing else counts as absent: who made it is not known.
fn rest(meaning: &Value, slot: Slot<'_>) -> Value {
    fn without(value: &mut Value, keys: &[&str], name: &str) {
        let Some(map) = value.as_object_mut() else { return };
        let Some((first, others)) = keys.split_first() else {
            map.shift_remove(name);
            return;
        };
        if let Some(inner) = map.get_mut(*first) {
            without(inner, others, name);
            if inner.is_null() || inner.as_object().is_some_and(Map::is_empty) {
                map.shift_remove(*first);
            }
        }
    }
    let mut rest = meaning.clone();
    without(&mut rest, slot.keys, slot.name);
    rest
}

/// The line ending that the text uses.
fn line_ending(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Where the line of `offset` begins.
fn line_start(text: &str, offset: usize) -> usize {
    text[..offset].rfind('\n').map_or(0, |at| at + 1)
}

/// Where the line after that of `offset` begins, or the end of the text.
fn next_line(text: &str, offset: usize) -> usize {
    text[offset..].find('\n').map_or(text.len(), |at| offset + at + 1)
}

/// The blanks at the beginning of the line of `offset`.
fn indentation(text: &str, offset: usize) -> &str {
    let line = &text[line_start(text, offset)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}
