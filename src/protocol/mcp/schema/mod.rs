//! Makes input schemas acceptable to clients and to the APIs of models.
//!
//! Some clients and APIs refuse the whole list, or every request, because of one schema. [`fitted`] loosens such
//! schemas, for all clients and on every level, because the editor checks its arguments itself. A schema that cannot be
//! repaired is refused. `oneOf`, `anyOf` and `allOf` at the top are valid JSON Schema and are passed through, except
//! for the clients that are known to lose the tool because of them ([`flattened`]).

mod keywords;
mod references;
mod types;
mod walk;

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value};

use self::references::Root;
use self::walk::{At, Known, Walk, said};
use super::parameter_names::{self, Listed};
use crate::limits::JSON_DEPTH_MAX;
use crate::protocol::dialect::{InputSchema, OwnName};
use crate::protocol::jsonrpc;
pub(super) use keywords::ALTERNATIVES;
use keywords::{TOO_DEEP, without_patterns};

/// A schema as it is listed.
pub(super) struct Fitted {
    pub(super) schema: InputSchema,
    /// The parameters that are listed under another name than the editor's.
    pub(super) names: Vec<OwnName>,
    /// The changes, in words.
    pub(super) changes: Vec<String>,
}

/// Repairs a schema. Its properties are repaired one at a time, because a tree of values takes ten times the memory of
/// its text.
///
/// # Errors
/// Why the schema cannot describe an arguments object.
pub(super) fn fitted(schema: &InputSchema) -> Result<Fitted, &'static str> {
    let (schema, opened) = opened(schema);
    let (rest, properties) = schema.parts().ok_or(NO_PROPERTIES)?;
    let mut walk = Walk::new(Root::new(&rest, &properties));
    opened.into_iter().for_each(|change| walk.tell(change));
    let mut top = rest.clone();
    let kind = object(&mut top)?;
    kind.into_iter().for_each(|change| walk.tell(change));
    let required = top.shift_remove("required");
    if top.get("properties").is_none() {
        walk.tell(said::PROPERTIES);
        top.insert("properties".to_owned(), Map::new().into());
    }
    let names =
        properties.iter().filter(|(_, raw)| raw.get().trim() != "false").map(|(name, _)| name.clone()).collect();
    let known = Known { names, around: None };
    walk.top(&mut top, &known)?;
    let mut all = known.names.clone();
    parameter_names::of_branches(&top, &mut all);
    let names = parameter_names::assigned(all.iter().map(String::as_str));
    let listed: Listed<'_> = names.iter().map(|name| (name.own.as_str(), name.listed.as_str())).collect();
    let mut optional = HashSet::new();
    let mut mended: Vec<(&str, String)> = Vec::new();
    for (name, raw) in &properties {
        let value: Value = serde_json::from_str(raw.get()).map_err(|_| TOO_DEEP)?;
        if walk.root.takes_null(&value) {
            optional.insert(name.clone());
        }
        let under = listed.get(name.as_str()).copied();
        if let Some(mut value) = walk.mended(value, At::PROPERTY)? {
            if under.is_some() {
                parameter_names::describe(&mut value, name);
            }
            mended.push((under.unwrap_or(name), value.to_string()));
        }
    }
    match required {
        Some(names @ Value::Array(_)) => {
            top.insert("required".to_owned(), names);
            walk.required(&mut top, Some(&known), &optional);
        }
        None | Some(Value::Null) => {}
        Some(_) => walk.tell(said::FORM),
    }
    if !names.is_empty() {
        parameter_names::put(&mut top, &listed);
    }
    let schema = InputSchema::by_parts(&top, mended.iter().map(|(name, text)| Ok::<_, &str>((*name, text))))?;
    // The list around the schema has some levels of its own.
    if !jsonrpc::depth_ok(schema.raw().get().as_bytes(), JSON_DEPTH_MAX - LIST_DEPTH) {
        return Err(TOO_DEEP);
    }
    let changes =
        walk.changes.iter().map(|change| String::from(*change)).chain(parameter_names::told(&names)).collect();
    Ok(Fitted { schema, names, changes })
}

const NO_PROPERTIES: &str = "the `properties` of its input schema are not an object";
/// Levels of JSON around a schema in the answer that lists it.
const LIST_DEPTH: usize = 5;

/// Replaces a reference at the top by its target, and removes `properties: null`. Returns the change in words.
fn opened(schema: &InputSchema) -> (Cow<'_, InputSchema>, Option<&'static str>) {
    if !schema.has_any(&["$ref"]) && schema.parts().is_some() {
        return (Cow::Borrowed(schema), None);
    }
    let mut whole = schema.parsed();
    whole.retain(|_, value| !value.is_null());
    let mut change = None;
    // There is more than one round only if one reference leads to another.
    for _ in 0..ALTERNATIVES.len() {
        let Some(reference) = whole.shift_remove("$ref") else { break };
        let known = InputSchema::from(&whole);
        let (rest, properties) = known.parts().unwrap_or_default();
        let target = reference
            .as_str()
            .and_then(|reference| Root::new(&rest, &properties).target(reference).map(Cow::into_owned));
        let Some(Value::Object(target)) = target else {
            change = Some(said::REFERENCE);
            break;
        };
        change = Some(said::INLINED);
        for (keyword, value) in target {
            match (whole.get_mut(&keyword), value) {
                (Some(Value::Object(own)), Value::Object(theirs)) => {
                    for (name, value) in theirs {
                        own.entry(name).or_insert(value);
                    }
                }
                (Some(_), _) => {}
                (None, value) => {
                    whole.insert(keyword, value);
                }
            }
        }
    }
    (Cow::Owned(InputSchema::from(&whole)), change)
}

/// Makes a schema describe an object. Returns the change in words.
fn object(schema: &mut Map<String, Value>) -> Result<Option<&'static str>, &'static str> {
    let change = match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => return Ok(None),
        None | Some(Value::Null) => "`type` was missing and is now `object`",
        Some(Value::Array(kinds)) if kinds.iter().any(|kind| kind == "object") => {
            "`type` listed several types and is now `object`"
        }
        Some(_) => return Err("its input schema is not of `type: object`, and MCP arguments are always an object"),
    };
    schema.insert(String::from("type"), Value::from("object"));
    Ok(Some(change))
}

/// The change that [`flattened`] makes, in words.
pub(super) const FLATTENED: &str = "`oneOf`, `anyOf` or `allOf` at the top is taken away, its properties are kept";

/// Removes the alternatives at the top and keeps their properties. A property that a branch of `allOf` requires stays
/// required.
pub(super) fn flattened(whole: &Map<String, Value>) -> Map<String, Value> {
    let mut schema = whole.clone();
    for keyword in ALTERNATIVES {
        let Some(branches) = schema.remove(keyword) else { continue };
        for branch in branches.as_array().into_iter().flatten().filter_map(Value::as_object) {
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
    if schema.get("properties").and_then(Value::as_object).is_some_and(|own| !own.is_empty()) {
        without_patterns(&mut schema);
    }
    schema
}
