//! Makes input schemas acceptable to clients.
//!
//! Some clients refuse the whole list because of one schema. The TypeScript SDK demands `type: "object"`, object-valued
//! `properties` and a `required` of strings. [`repair`] loosens schemas that break this, for all clients: the editor checks its
//! arguments itself. A schema that cannot be repaired is refused. `oneOf`, `anyOf` and `allOf` at the top are valid JSON Schema
//! and are passed through, except for the clients that are known to lose the tool because of them ([`flattened`]).

use serde_json::{Map, Value};

use crate::limits::{JSON_DEPTH_MAX, SCHEMA_WHOLE_MAX_BYTES};
use crate::protocol::dialect::InputSchema;

/// Returns a repaired schema, and the changes in words. A long schema is repaired one property at a time, to save memory.
///
/// # Errors
/// Why the schema cannot describe an arguments object.
pub(super) fn fitted(schema: &InputSchema) -> Result<(InputSchema, Vec<&'static str>), &'static str> {
    let long = schema.raw().get().len() > SCHEMA_WHOLE_MAX_BYTES;
    let Some((mut rest, properties)) = schema.parts().filter(|_| long) else {
        let mut whole = schema.parsed();
        let changes = repair(&mut whole)?;
        return Ok((InputSchema::from(&whole), changes));
    };
    let mut changes = repair(&mut rest)?;
    let properties = properties.iter().map(|(name, raw)| {
        // Each property is repaired as the only property of a minimal schema.
        let value = serde_json::from_str::<Value>(raw.get()).map_err(|_| TOO_DEEP)?;
        let one = Map::from_iter([(name.clone(), value)]);
        let mut one = Map::from_iter([("type".to_owned(), "object".into()), ("properties".to_owned(), one.into())]);
        for change in repair(&mut one)? {
            if !changes.contains(&change) {
                changes.push(change);
            }
        }
        let value = one.get_mut("properties").and_then(|properties| properties.get_mut(name)).map(Value::take);
        Ok::<_, &'static str>((name.as_str(), value.unwrap_or_default()))
    });
    let fitted = InputSchema::by_parts(&rest, properties)?;
    Ok((fitted, changes))
}

/// Repairs a schema in place. Returns the changes in words.
///
/// # Errors
/// Why the schema cannot describe an arguments object.
fn repair(schema: &mut Map<String, Value>) -> Result<Vec<&'static str>, &'static str> {
    let mut changes = Vec::new();
    schema.retain(|_, value| !value.is_null());
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        None => {
            schema.insert(String::from("type"), Value::from("object"));
            changes.push("`type` was missing and is now `object`");
        }
        Some(Value::Array(kinds)) if kinds.iter().any(|kind| kind == "object") => {
            schema.insert(String::from("type"), Value::from("object"));
            changes.push("`type` listed several types and is now `object`");
        }
        Some(_) => return Err("its input schema is not of `type: object`, and MCP arguments are always an object"),
    }
    match schema.get_mut("properties") {
        None => {}
        Some(Value::Object(properties)) => {
            for value in properties.values_mut().filter(|value| !value.is_object()) {
                *value = Value::Object(Map::new());
                changes.push("a property without a schema object takes anything now");
            }
        }
        Some(_) => return Err("the `properties` of its input schema are not an object"),
    }
    if let Some(required) = schema.get_mut("required") {
        match required {
            Value::Array(names) if names.iter().all(Value::is_string) => {}
            Value::Array(names) => {
                names.retain(Value::is_string);
                changes.push("`required` held what is not a name");
            }
            _ => {
                schema.remove("required");
                changes.push("`required` was not a list of names");
            }
        }
    }
    let mut removed = false;
    unlink(schema, 0, &mut removed)?;
    if removed {
        changes.push("a reference to another document was taken away");
    }
    changes.dedup();
    Ok(changes)
}

/// The change that [`flattened`] makes, in words.
pub(super) const FLATTENED: &str = "`oneOf`, `anyOf` or `allOf` at the top is taken away, its properties are kept";

/// The keywords at the top of a schema that make some clients lose the tool.
pub(super) const ALTERNATIVES: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Removes the alternatives at the top and keeps their properties. What a branch of `allOf` requires stays required.
pub(super) fn flattened(whole: &Map<String, Value>) -> Map<String, Value> {
    let mut schema = whole.clone();
    for keyword in ALTERNATIVES {
        let Some(branches) = schema.remove(keyword) else { continue };
        for branch in branches.as_array().into_iter().flatten().filter_map(Value::as_object) {
            let branch = named(whole, branch);
            if let Some(Value::Object(theirs)) = branch.get("properties")
                && let Value::Object(ours) = schema.entry("properties").or_insert_with(|| Value::Object(Map::new()))
            {
                for (name, property) in theirs {
                    ours.entry(name).or_insert_with(|| property.clone());
                }
            }
            if keyword == "allOf"
                && let Some(Value::Array(theirs)) = branch.get("required")
                && let Value::Array(ours) = schema.entry("required").or_insert_with(|| Value::Array(Vec::new()))
            {
                for name in theirs {
                    if !ours.contains(name) {
                        ours.push(name.clone());
                    }
                }
            }
        }
    }
    schema
}

/// Returns the definition in the same schema (`$defs` or `definitions`) that a branch refers to. Any other branch is returned
/// unchanged.
fn named<'a>(schema: &'a Map<String, Value>, branch: &'a Map<String, Value>) -> &'a Map<String, Value> {
    let target = branch.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix("#/"));
    let place = target.and_then(|target| target.split_once('/'));
    let place = place.filter(|(folder, _)| matches!(*folder, "$defs" | "definitions"));
    place.and_then(|(folder, name)| schema.get(folder)?.get(name)?.as_object()).unwrap_or(branch)
}

const TOO_DEEP: &str = "its input schema is nested too deep";

/// Removes references to other documents: clients must not fetch them, and some refuse the list because of them.
fn unlink(schema: &mut Map<String, Value>, depth: usize, removed: &mut bool) -> Result<(), &'static str> {
    if depth > JSON_DEPTH_MAX {
        return Err(TOO_DEEP);
    }
    for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
        let inside = |target: &Value| target.as_str().is_some_and(|target| target.starts_with('#'));
        if schema.get(keyword).is_some_and(|target| !inside(target)) {
            schema.remove(keyword);
            *removed = true;
        }
    }
    for (keyword, value) in schema.iter_mut() {
        match keyword.as_str() {
            // These keywords hold data, not schemas: a `$ref` inside is ordinary data and stays.
            "const" | "enum" | "default" | "examples" => {}
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                if let Value::Object(schemas) = value {
                    for schema in schemas.values_mut() {
                        unlink_in(schema, depth + 2, removed)?;
                    }
                }
            }
            _ => unlink_in(value, depth + 1, removed)?,
        }
    }
    Ok(())
}

fn unlink_in(value: &mut Value, depth: usize, removed: &mut bool) -> Result<(), &'static str> {
    match value {
        Value::Object(schema) => unlink(schema, depth, removed),
        Value::Array(_) if depth > JSON_DEPTH_MAX => Err(TOO_DEEP),
        Value::Array(values) => values.iter_mut().try_for_each(|value| unlink_in(value, depth + 1, removed)),
        _ => Ok(()),
    }
}
