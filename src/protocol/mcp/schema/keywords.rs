//! The keywords of JSON Schema 2020-12: the form of each keyword's value, and the types of value that the keyword
//! limits.
//!
//! Source: the specification's vocabularies core, applicator, unevaluated, validation, meta-data, format and content.

use serde_json::{Map, Value};

/// Why a schema that is nested too deep is refused.
pub(super) const TOO_DEEP: &str = "its input schema is nested too deep";
/// The keywords at the top of a schema that make some clients lose the tool.
pub(in crate::protocol::mcp) const ALTERNATIVES: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// The form of a keyword's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// One schema.
    Schema,
    /// A schema, or a boolean that says whether anything is allowed. The boolean is usual here, and every API takes it.
    SchemaOrFlag,
    /// A list of schemas.
    Schemas,
    /// An object of schemas.
    Named,
    /// An object of lists of names.
    NamedLists,
    Text,
    Flag,
    /// A whole number from 0.
    Count,
    Number,
    AboveZero,
    /// Any list. Its items are checked by the code that repairs the keyword.
    List,
    /// Anything: data, in which nothing is repaired.
    Data,
}

/// The keywords, their forms, and the types of value that they limit (empty: all types).
const KEYWORDS: [(&str, Form, &[&str]); 52] = [
    ("properties", Form::Named, OBJECT),
    ("patternProperties", Form::Named, OBJECT),
    ("additionalProperties", Form::SchemaOrFlag, OBJECT),
    ("unevaluatedProperties", Form::SchemaOrFlag, OBJECT),
    ("propertyNames", Form::Schema, OBJECT),
    ("required", Form::List, OBJECT),
    ("minProperties", Form::Count, OBJECT),
    ("maxProperties", Form::Count, OBJECT),
    ("dependentRequired", Form::NamedLists, OBJECT),
    ("dependentSchemas", Form::Named, OBJECT),
    ("items", Form::Schema, ARRAY),
    ("prefixItems", Form::Schemas, ARRAY),
    ("unevaluatedItems", Form::SchemaOrFlag, ARRAY),
    ("contains", Form::Schema, ARRAY),
    ("minContains", Form::Count, ARRAY),
    ("maxContains", Form::Count, ARRAY),
    ("minItems", Form::Count, ARRAY),
    ("maxItems", Form::Count, ARRAY),
    ("uniqueItems", Form::Flag, ARRAY),
    ("minLength", Form::Count, STRING),
    ("maxLength", Form::Count, STRING),
    ("pattern", Form::Text, STRING),
    ("format", Form::Text, &["string", "number", "integer"]),
    ("minimum", Form::Number, NUMBER),
    ("maximum", Form::Number, NUMBER),
    ("exclusiveMinimum", Form::Number, NUMBER),
    ("exclusiveMaximum", Form::Number, NUMBER),
    ("multipleOf", Form::AboveZero, NUMBER),
    ("allOf", Form::Schemas, &[]),
    ("anyOf", Form::Schemas, &[]),
    ("oneOf", Form::Schemas, &[]),
    ("not", Form::Schema, &[]),
    ("if", Form::Schema, &[]),
    ("then", Form::Schema, &[]),
    ("else", Form::Schema, &[]),
    ("$defs", Form::Named, &[]),
    ("definitions", Form::Named, &[]),
    ("$ref", Form::Text, &[]),
    ("$anchor", Form::Text, &[]),
    ("$schema", Form::Text, &[]),
    ("$comment", Form::Text, &[]),
    ("title", Form::Text, &[]),
    ("description", Form::Text, &[]),
    ("deprecated", Form::Flag, &[]),
    ("readOnly", Form::Flag, &[]),
    ("writeOnly", Form::Flag, &[]),
    ("contentEncoding", Form::Text, &[]),
    ("contentMediaType", Form::Text, &[]),
    ("contentSchema", Form::Schema, &[]),
    ("enum", Form::List, &[]),
    ("examples", Form::List, &[]),
    ("default", Form::Data, &[]),
];

const OBJECT: &[&str] = &["object"];
const ARRAY: &[&str] = &["array"];
const STRING: &[&str] = &["string"];
const NUMBER: &[&str] = &["number", "integer"];

/// The types of JSON Schema, except `null`.
pub(super) const TYPES: [&str; 6] = ["string", "number", "integer", "boolean", "object", "array"];

/// Keywords of older drafts, and keywords that identify a schema. Nobody needs them once every reference is resolved.
/// The Claude API takes nothing that is not 2020-12, and strict validators take no keyword that they do not know.
pub(super) const REMOVED: [&str; 10] = [
    "$id",
    "id",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$vocabulary",
    "additionalItems",
    "dependencies",
    "nullable",
    "$dynamicRef",
    "$recursiveRef",
];

/// Returns the form of this keyword's value. `None` if JSON Schema has no such keyword: then the value is data.
pub(super) fn form(keyword: &str) -> Option<Form> {
    KEYWORDS.iter().find(|(known, ..)| *known == keyword).map(|(_, form, _)| *form)
}

/// Returns the types of value that a keyword limits. Empty if it limits all types, or is not known.
pub(super) fn types_of(keyword: &str) -> &'static [&'static str] {
    KEYWORDS.iter().find(|(known, ..)| *known == keyword).map_or(&[], |(_, _, types)| *types)
}

impl Form {
    /// Whether a value has this form.
    pub(super) fn fits(self, value: &Value) -> bool {
        match self {
            // A value that is no schema is repaired in its place.
            Self::Schema | Self::SchemaOrFlag | Self::Data => true,
            Self::Schemas | Self::List => value.is_array(),
            Self::Named => value.is_object(),
            Self::NamedLists => value.as_object().is_some_and(|lists| lists.values().all(Value::is_array)),
            Self::Text => value.is_string(),
            Self::Flag => value.is_boolean(),
            Self::Count => value.is_u64() || value.as_f64().is_some_and(|count| count >= 0.0 && count.fract() == 0.0),
            Self::Number => value.is_number(),
            Self::AboveZero => value.as_f64().is_some_and(|number| number > 0.0),
        }
    }
}

/// Removes patterns of names: strict validators refuse a name that a pattern and a named property both describe. Rules
/// for all other names are removed too, because they would then hold for names that fit a pattern. Returns whether
/// there were any patterns.
pub(super) fn without_patterns(schema: &mut Map<String, Value>) -> bool {
    let has_patterns = schema.get("patternProperties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
    if has_patterns {
        let others = ["patternProperties", "additionalProperties", "unevaluatedProperties"];
        schema.retain(|keyword, _| !others.contains(&keyword.as_str()));
    }
    has_patterns
}

/// Whether a branch allows null and nothing else.
pub(super) fn is_null(branch: &Value) -> bool {
    let only = |value: &Value| value.is_null() || value == "null";
    let all = |value: &Value| match value {
        Value::Array(values) => !values.is_empty() && values.iter().all(only),
        value => only(value),
    };
    branch.as_object().is_some_and(|branch| {
        branch.get("type").is_some_and(all)
            || branch.get("const").is_some_and(Value::is_null)
            || matches!(branch.get("enum"), Some(Value::Array(values)) if !values.is_empty() && values.iter().all(Value::is_null))
    })
}

/// Whether each value of one type is of another one.
pub(super) fn is_whole(one: &str, other: &str) -> bool {
    one == other || (one, other) == ("integer", "number")
}
