//! Converts Unity's `parameterSchema` into JSON Schema.
//!
//! The package knows four types (string, boolean, number, array) and calls every other type "string". It writes an enum as a
//! string with the names of its members, and the default of an enum as a *number*. The case of member names varies.

use std::collections::HashSet;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::super::InputSchema;
use super::super::members::Members;

/// Enums of the package whose values differ from their positions: the parameter, the exact list of names on the wire (.NET sorts
/// by unsigned value, so -1 is last), and the values from the package's code.
const KNOWN_ENUMS: &[(&str, &[&str], &[i64])] = &[
    ("LogType", &["Log", "Warning", "Error", "All", "None"], &[0, 1, 2, 3, -1]),
    ("SearchFlags", &["Default", "Synchronous", "WantsMore", "Packages", "Sorted"], &[0, 1, 2, 4, 8]),
    ("TestMode", &["EditMode", "PlayMode"], &[1, 2]),
];

/// Converts a `parameterSchema`.
///
/// The schema stays open (other arguments are valid), as in the package's own server, because Unity ignores unknown parameters
/// and the case of names.
///
/// # Errors
/// What is wrong with the schema.
pub(in crate::protocol::dialect) fn convert(parameters: Option<&RawValue>) -> Result<InputSchema, String> {
    let parameters = match parameters {
        Some(parameters) if parameters.get() != "null" => {
            Members::of(parameters).ok_or("its parameterSchema is not an object")?
        }
        None | Some(_) => return Ok(InputSchema::from(&open_object())),
    };
    let properties = match parameters.find("Properties") {
        Some(properties) if properties.get() != "null" => {
            Members::of(properties).ok_or("its parameterSchema has Properties that are not an object")?
        }
        None | Some(_) => Members::default(),
    };
    let properties = properties.unique();
    let mut required: Vec<Value> = Vec::new();
    let named = parameters.find("Required").and_then(|names| serde_json::from_str::<Vec<Value>>(names.get()).ok());
    if let Some(names) = named {
        let mut listed: HashSet<&str> = properties.iter().map(|(name, _)| *name).collect();
        required.extend(names.into_iter().filter(|name| name.as_str().is_some_and(|name| listed.remove(name))));
    }
    let mut schema = open_object();
    if !required.is_empty() {
        schema.insert("required".to_owned(), Value::Array(required));
    }
    let properties = properties.into_iter().map(|(name, described)| {
        let described = serde_json::from_str(described.get());
        described.map(|described| (name, property(name, &described))).map_err(|error| format!("`{name}`: {error}"))
    });
    InputSchema::by_parts(&schema, properties)
}

fn open_object() -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), json!("object")), ("properties".to_owned(), json!({}))])
}

/// Returns the member with the first of these names that exists, otherwise one whose name differs only in case.
pub(super) fn member<'a>(object: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    names.iter().find_map(|name| object.get(*name)).or_else(|| {
        object.iter().find(|(key, _)| names.iter().any(|name| key.eq_ignore_ascii_case(name))).map(|(_, value)| value)
    })
}

fn property(name: &str, described: &Value) -> Value {
    let Some(described) = described.as_object() else {
        return json!({ "description": format!("Unity describes no type for `{name}`.") });
    };
    let default = member(described, &["DefaultValue", "Default"]).filter(|value| !value.is_null());
    let said = member(described, &["Type"]).and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
    let kind = json_type(&said, default);
    let mut out = Map::new();
    out.insert("type".to_owned(), json!(kind));
    if kind == "array" {
        let items = member(described, &["Items"]).and_then(Value::as_object);
        let items = items.and_then(|items| member(items, &["Type"])).and_then(Value::as_str);
        let items = items.map_or("string", |said| json_type(&said.to_ascii_lowercase(), None));
        out.insert("items".to_owned(), json!({ "type": items }));
    }
    let mut names: Vec<&str> = Vec::new();
    if let Some(Value::Array(listed)) = member(described, &["Enum"])
        && kind == "string"
    {
        let mut seen = HashSet::new();
        names.extend(listed.iter().filter_map(Value::as_str).filter(|name| seen.insert(*name)));
    }
    let (default, remark) = match default {
        None => (None, None),
        Some(value) if names.is_empty() => plain_default(kind, value),
        Some(value) => enum_default(name, &names, value),
    };
    let mut description = member(described, &["Description"]).and_then(Value::as_str).unwrap_or_default().to_owned();
    if let Some(remark) = remark {
        if !description.is_empty() {
            description.push(' ');
        }
        description.push_str(&remark);
    }
    if !description.is_empty() {
        out.insert("description".to_owned(), Value::String(description));
    }
    if !names.is_empty() {
        out.insert("enum".to_owned(), json!(names));
    }
    if let Some(default) = default {
        out.insert("default".to_owned(), default);
    }
    Value::Object(out)
}

/// Returns the JSON type. Unity also says "string" for a type that it has no name for; a default that is an object or an array
/// shows the real type of such a parameter. The type is "integer" only if both the stated type and the default are whole numbers.
fn json_type(said: &str, default: Option<&Value>) -> &'static str {
    match said {
        "boolean" | "bool" => "boolean",
        "int" | "integer" | "long" if default.is_some_and(|value| value.is_i64() || value.is_u64()) => "integer",
        "number" | "int" | "integer" | "long" | "float" | "double" | "decimal" => "number",
        "array" => "array",
        "object" => "object",
        _ => match default {
            Some(Value::Object(_)) => "object",
            Some(Value::Array(_)) => "array",
            _ => "string",
        },
    }
}

/// Sets a default only if it fits the type; otherwise the default becomes a remark for the description.
fn plain_default(kind: &str, value: &Value) -> (Option<Value>, Option<String>) {
    let fits = match kind {
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => value.is_string(),
    };
    if fits { (Some(value.clone()), None) } else { (None, Some(format!("Default in Unity: {value}."))) }
}

/// The name of an enum's default, if it is certain, or a remark for the description.
///
/// A position is not a value: `run-tests` lists `EditMode, PlayMode` for the values 1 and 2, and a flags enum lists powers of
/// two. So numbers are turned into names only for the package's own enums. In other enums only 0 is turned into the first name,
/// because an unsigned sort puts 0 first. If the parameter's name ends in "flags", 0 is not turned into a name either, because
/// such an enum may have no name for it.
fn enum_default(name: &str, names: &[&str], value: &Value) -> (Option<Value>, Option<String>) {
    if let Some(text) = value.as_str() {
        let known =
            names.iter().find(|name| **name == text).or_else(|| names.iter().find(|n| n.eq_ignore_ascii_case(text)));
        return match known {
            Some(known) => (Some(json!(known)), None),
            None => (None, Some(format!("Default in Unity: {value}."))),
        };
    }
    let Some(number) = value.as_i64() else {
        return (None, Some(format!("Default in Unity: {value}.")));
    };
    if let Some((_, _, values)) = KNOWN_ENUMS.iter().find(|known| known.0 == name && known.1 == names) {
        let position = values.iter().position(|value| *value == number);
        return match position.and_then(|position| names.get(position)) {
            Some(name) => (Some(json!(name)), None),
            None => (None, Some(format!("Default in Unity: the value {number}, which is no single name."))),
        };
    }
    let flags = name.to_ascii_lowercase().ends_with("flags");
    let counted = usize::try_from(number).ok().and_then(|position| names.get(position));
    match counted {
        Some(first) if number == 0 && !flags => (Some(json!(first)), None),
        Some(counted) if !flags => {
            (None, Some(format!("Default in Unity: the value {number} (`{counted}` if its values count up from 0).")))
        }
        _ => (None, Some(format!("Default in Unity: the value {number} of the enum."))),
    }
}
