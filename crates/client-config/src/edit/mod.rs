//! Editing a client's configuration in place: text in, text out.
//!
//! A parser says where things stand, and what has to change is spliced into the text; nothing is written anew from a parsed
//! form. So comments, order, indentation and line endings outside our entry stay byte for byte, and every edit is proven by
//! parsing its result before anybody writes it: our entry is as wanted, and all else means what it meant.

mod json;
#[cfg(test)]
mod tests;
mod text;
mod toml;
mod yaml;

use serde_json::{Map, Value};

pub use text::EditError;
pub(crate) use text::Slot;

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

/// What the text means. An empty one is an empty map.
///
/// # Errors
/// [`EditError::Broken`].
pub(crate) fn meaning(format: Format, text: &str) -> Result<Value, EditError> {
    match format {
        Format::Json => json::meaning(text),
        Format::Toml => toml::meaning(text),
        Format::Yaml => yaml::meaning(text),
    }
}

/// Our entry, in what a text means.
pub(crate) fn entry<'v>(meaning: &'v Value, slot: Slot<'_>) -> Option<&'v Value> {
    slot.keys.iter().try_fold(meaning, |value, key| value.get(key))?.get(slot.name)
}

/// The text with these fields in our entry. Other fields of an entry that is there already are kept. The same text if there is
/// nothing to change.
///
/// # Errors
/// [`EditError`].
pub(crate) fn put(
    format: Format,
    text: &str,
    slot: Slot<'_>,
    fields: &Map<String, Value>,
) -> Result<String, EditError> {
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
        Some(_) => return Err(EditError::Unusual(format!("\"{}\" is there and is not a map of settings", slot.name))),
    };
    prove(format, &before, &edited, slot, Some(fields))?;
    Ok(edited)
}

/// The text without our entry. The same text if it has none.
///
/// # Errors
/// [`EditError`].
pub(crate) fn take(format: Format, text: &str, slot: Slot<'_>) -> Result<String, EditError> {
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
) -> Result<(), EditError> {
    let unusual = || {
        EditError::Unusual(format!(
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
