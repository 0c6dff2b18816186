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

/// Reads a name. `None`: the call names no editor. Models write null or an empty text for a value that they leave out.
///
/// # Errors
/// The value is neither a text nor null.
pub fn editor_name(value: &RawValue) -> Result<Option<String>, NotText> {
    let name: Option<String> = serde_json::from_str(value.get()).map_err(|_| NotText)?;
    Ok(name.filter(|name| !name.is_empty()))
}

/// The argument that names the editor, and what is left without it.
#[derive(Debug)]
pub struct Taken {
    /// The values as they were written. There are several if the argument was written several times.
    values: Vec<Box<RawValue>>,
    /// The arguments for the editor.
    pub rest: Box<RawValue>,
}

impl Taken {
    /// Reads the names.
    ///
    /// # Errors
    /// A value is neither a text nor null.
    pub fn names(&self) -> Result<Vec<String>, NotText> {
        let names = self.values.iter().map(|value| editor_name(value)).collect::<Result<Vec<_>, _>>()?;
        Ok(names.into_iter().flatten().collect())
    }
}

/// Takes the argument out of a call's arguments, in any case of its letters. `None` if it is not there.
pub fn take_editor(arguments: &RawValue) -> Option<Taken> {
    let text = arguments.get().as_bytes();
    // Most calls do not have the argument, and are not parsed for it.
    if !text.windows(EDITOR_ARGUMENT.len()).any(|part| part.eq_ignore_ascii_case(EDITOR_ARGUMENT.as_bytes())) {
        return None;
    }
    let (values, rest) = taken_out(arguments, EDITOR_ARGUMENT)?;
    Some(Taken { values, rest })
}

/// Whether a tool itself has an argument of this name. Then a call can name its editor only in `_meta`.
pub fn is_taken(schema: &InputSchema) -> bool {
    schema.has_property_like(EDITOR_ARGUMENT)
}

/// Returns a tool's schema with the argument. `None` if the tool cannot have the argument: the tool itself has one of
/// this name, its schema is not a plain object, or the schema would be too long.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    fn taken(json: &str) -> Option<(Result<Vec<String>, NotText>, String)> {
        take_editor(&raw(json)).map(|taken| (taken.names(), taken.rest.get().to_owned()))
    }

    #[test]
    fn only_the_argument_is_taken_and_the_rest_keeps_its_text() {
        let names = |names: &[&str]| Ok(names.iter().map(|name| String::from(*name)).collect());
        let rows = [
            (
                r#"{"a":1.50,"holdfast_editor":"x","b":{"holdfast_editor":2}}"#,
                names(&["x"]),
                r#"{"a":1.50,"b":{"holdfast_editor":2}}"#,
            ),
            (r#"{"Holdfast_Editor":"x"}"#, names(&["x"]), "{}"),
            (r#"{"holdfast_editor":null}"#, names(&[]), "{}"),
            (r#"{"holdfast_editor":"","a":"\u00e9"}"#, names(&[]), r#"{"a":"\u00e9"}"#),
            (r#"{"holdfast_editor":"x","holdfast_editor":"y"}"#, names(&["x", "y"]), "{}"),
            (r#"{"holdfast_editor":7,"a":1}"#, Err(NotText), r#"{"a":1}"#),
            (r#"{"holdfast_editor":["x"]}"#, Err(NotText), "{}"),
        ];
        for (given, names, rest) in rows {
            assert_eq!(taken(given), Some((names, rest.to_owned())), "{given}");
        }
        for given in ["{}", r#"{"a":"holdfast_editor"}"#, r#"{"a":{"holdfast_editor":"x"}}"#, r#"["holdfast_editor"]"#]
        {
            assert_eq!(taken(given), None, "{given}");
        }
    }

    #[test]
    fn a_schema_takes_the_argument_only_if_nothing_in_it_can_contradict() {
        let schema = |json: &str| serde_json::from_str::<InputSchema>(json).unwrap();
        let editors = ["Castle".to_owned(), "Forest".to_owned()];
        let plain = schema(
            r#"{"type":"object","properties":{"a":{"type":"number"}},"required":["a"],"additionalProperties":false}"#,
        );
        let with = with_editor(&plain, &editors).unwrap();
        let argument = with.property(EDITOR_ARGUMENT).unwrap();
        assert_eq!(argument["description"], "The Unity Editor that runs this: `Castle` or `Forest`.");
        assert_eq!(
            (with.property("a"), with.parsed().get("required").cloned()),
            (plain.property("a"), Some(json!(["a"])))
        );
        assert!(with_editor(&schema(r#"{"type":"object"}"#), &editors).is_some());
        for (keyword, value) in [
            ("oneOf", "[]"),
            ("anyOf", "[]"),
            ("allOf", "[]"),
            ("not", "{}"),
            ("if", "{}"),
            ("$ref", r##""#/$defs/x""##),
            ("patternProperties", "{}"),
            ("propertyNames", "{}"),
            ("maxProperties", "1"),
            ("dependentRequired", "{}"),
            ("unevaluatedProperties", "false"),
        ] {
            let schema = schema(&format!(r#"{{"type":"object","{keyword}":{value}}}"#));
            assert!(with_editor(&schema, &editors).is_none(), "{keyword}");
        }
        let has_it = schema(r#"{"type":"object","properties":{"Holdfast_Editor":{}}}"#);
        assert!(is_taken(&has_it) && with_editor(&has_it, &editors).is_none());
        let long = format!(r#"{{"type":"object","description":"{}"}}"#, "x".repeat(TOOL_SCHEMA_MAX_BYTES - 40));
        assert!(with_editor(&schema(&long), &editors).is_none());
    }
}
