//! How a call names the editor that it is for, in a session that may use several: by an argument that is taken out before the call
//! is sent, or by a member of `_meta`.

use serde_json::json;
use serde_json::value::RawValue;

use crate::limits::TOOL_SCHEMA_MAX_BYTES;
use crate::protocol::dialect::{InputSchema, taken_out};

/// The argument that names the editor.
pub const EDITOR_ARGUMENT: &str = "holdfast_editor";
/// The member of a request's `_meta` that names the editor.
pub const EDITOR_META: &str = "dev.holdfast/editor";

/// The keywords at the top of a schema that an additional property cannot contradict.
const PLAIN: [&str; 13] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "title",
    "description",
    "$schema",
    "$id",
    "$defs",
    "definitions",
    "$comment",
    "examples",
    "default",
];

/// A call names its editor with something that is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotText;

/// Reads a name. `None`: the call names none. Models write null or an empty text for what they leave out.
///
/// # Errors
/// The value is neither a text nor null.
pub fn editor_name(value: &RawValue) -> Result<Option<String>, NotText> {
    let name: Option<String> = serde_json::from_str(value.get()).map_err(|_| NotText)?;
    Ok(name.filter(|name| !name.is_empty()))
}

/// Takes the argument out of a call's arguments. Returns the names in it and the arguments for the editor; `None` if the argument
/// is not there.
///
/// # Errors
/// The argument's value is neither a text nor null.
pub fn take_editor(arguments: &RawValue) -> Result<Option<(Vec<String>, Box<RawValue>)>, NotText> {
    // Most calls do not have it: they are not parsed for this.
    if !arguments.get().to_ascii_lowercase().contains(EDITOR_ARGUMENT) {
        return Ok(None);
    }
    let Some((values, rest)) = taken_out(arguments, EDITOR_ARGUMENT) else { return Ok(None) };
    let names = values.iter().map(|value| editor_name(value)).collect::<Result<Vec<_>, _>>()?;
    Ok(Some((names.into_iter().flatten().collect(), rest)))
}

/// Whether a tool has an argument of this name itself. Then a call names its editor in `_meta` only.
pub fn is_taken(schema: &InputSchema) -> bool {
    schema.has_property_like(EDITOR_ARGUMENT)
}

/// Returns a tool's schema with the argument. `None` if the tool cannot have it: it has one of this name itself, its schema is not
/// a plain object, or the schema would be too long.
pub(super) fn with_editor(schema: &InputSchema, editors: &[String]) -> Option<InputSchema> {
    if is_taken(schema) || !schema.has_only(&PLAIN) {
        return None;
    }
    let description = format!("The Unity Editor that runs this: {}.", alternatives(editors));
    let with = schema.with_property(EDITOR_ARGUMENT, &json!({"type": "string", "description": description}))?;
    Some(with).filter(|with| with.raw().get().len() <= TOOL_SCHEMA_MAX_BYTES)
}

/// Joins names for a sentence.
pub fn alternatives(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
}
