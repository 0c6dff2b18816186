//! Edits a client's configuration in place: text in, text out.
//!
//! A parser locates the parts, and changes are spliced into the text; nothing is written from a parsed form. So comments, order,
//! indentation and line endings outside our entry stay byte for byte. Before an edit is written, its result is parsed to check
//! that our entry is as wanted, and that everything else has the same meaning as before.

mod json;
#[cfg(test)]
mod tests;
mod text;
mod toml;
mod yaml;

use serde_json::{Map, Value};

pub use text::EditError;
pub(crate) use text::Slot;

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON; comments and trailing commas are accepted and kept.
    Json,
    /// TOML.
    Toml,
    /// YAML in the block style that Goose writes.
    Yaml,
}

/// Returns the parsed text. An empty text gives an empty map.
///
/// # Errors
/// Returns [`EditError::Broken`] if the text is not in the format.
pub(crate) fn meaning(format: Format, text: &str) -> Result<Value, EditError> {
    match format {
        Format::Json => json::meaning(text),
        Format::Toml => toml::meaning(text),
        Format::Yaml => yaml::meaning(text),
    }
}

/// Returns our entry in a parsed text; `None` if it has none.
pub(crate) fn entry<'v>(meaning: &'v Value, slot: Slot<'_>) -> Option<&'v Value> {
    slot.keys.iter().try_fold(meaning, |value, key| value.get(key))?.get(slot.name)
}

/// Returns the text with these fields in our entry. Other fields of an existing entry are kept. If nothing has to change, the
/// text is unchanged.
///
/// # Errors
/// Returns [`EditError`].
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

/// Returns the text without our entry. A text without such an entry is returned unchanged.
///
/// # Errors
/// Returns [`EditError`].
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

/// Checks that an edit changed our entry as wanted, and nothing else.
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
            if slot.keys.is_empty() { slot.name.to_owned() } else { slot.keys.join(".") }
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

/// Returns the parsed content of a file without our entry. A map that is then empty is left out too, because it is unknown who
/// created it.
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
