//! The targets of the references in a schema.

use std::borrow::Cow;
use std::cell::Cell;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::keywords::{ALTERNATIVES, is_null};
use crate::limits::{JSON_DEPTH_MAX, SCHEMA_CHAIN_MAX, SCHEMA_LOOKS_MAX, SCHEMA_NULL_LOOKS_MAX};

/// The schema that references lead into: its members, with `properties` left empty, and its properties, unparsed.
pub(super) struct Root<'s> {
    pub(super) rest: &'s Map<String, Value>,
    pub(super) properties: &'s [(String, &'s RawValue)],
    /// How many more references to a property or an anchor may be followed: each needs a look at much of the schema.
    looks: Cell<usize>,
}

impl<'s> Root<'s> {
    pub(super) fn new(rest: &'s Map<String, Value>, properties: &'s [(String, &'s RawValue)]) -> Self {
        Self { rest, properties, looks: Cell::new(SCHEMA_LOOKS_MAX) }
    }

    fn look(&self) -> Option<()> {
        self.looks.set(self.looks.get().checked_sub(1)?);
        Some(())
    }

    /// Returns the schema that a reference leads to; `None` if it leads nowhere, or out of this schema.
    pub(super) fn target(&self, reference: &str) -> Option<Cow<'s, Value>> {
        let name = self.rest.get("$id").and_then(Value::as_str).filter(|name| !name.is_empty());
        let reference = name.and_then(|name| reference.strip_prefix(name)).unwrap_or(reference);
        let inside = reference.strip_prefix('#')?;
        let Some(pointer) = inside.strip_prefix('/') else { return self.anchored(inside) };
        let mut steps = pointer.split('/').map(decoded);
        let first = steps.next()?;
        let target = if first == "properties" {
            self.look()?;
            let name = steps.next()?;
            let (_, raw) = self.properties.iter().find(|(known, _)| *known == name)?;
            let property: Value = serde_json::from_str(raw.get()).ok()?;
            Cow::Owned(below(&property, steps)?.clone())
        } else {
            Cow::Borrowed(below(self.rest.get(&*first)?, steps)?)
        };
        Some(target).filter(|target| target.is_object() || target.is_boolean())
    }

    fn anchored(&self, anchor: &str) -> Option<Cow<'s, Value>> {
        self.look()?;
        let definitions = ["$defs", "definitions"].into_iter().filter_map(|folder| self.rest.get(folder));
        definitions.filter(|_| !anchor.is_empty()).find_map(|folder| anchored_in(folder, anchor, 0)).map(Cow::Borrowed)
    }

    /// Whether a reference may stay. It may if it leads to a definition of this schema, by a name that every reader of
    /// references can read, and from there on to a schema. `#` is the whole schema.
    pub(super) fn is_plain(&self, reference: &str) -> bool {
        let mut reference = Cow::Borrowed(reference);
        for _ in 0..SCHEMA_CHAIN_MAX {
            if reference == "#" {
                return true;
            }
            let name = ["#/$defs/", "#/definitions/"].iter().find_map(|folder| reference.strip_prefix(folder));
            if !name.is_some_and(is_plain_name) {
                return false;
            }
            match self.target(&reference).as_deref() {
                Some(Value::Object(target)) => match onward(target) {
                    Some(next) => reference = Cow::Owned(next.to_owned()),
                    None => return true,
                },
                _ => return false,
            }
        }
        false
    }

    /// Whether a schema says that it allows null. A schema that allows anything does not say so.
    pub(super) fn takes_null(&self, schema: &Value) -> bool {
        self.says_null(schema, &mut { SCHEMA_NULL_LOOKS_MAX })
    }

    fn says_null(&self, schema: &Value, looks: &mut usize) -> bool {
        let Value::Object(schema) = schema else { return false };
        let Some(left) = looks.checked_sub(1) else { return false };
        *looks = left;
        let has_null = |keyword: &str, null: Value| match schema.get(keyword) {
            Some(Value::Array(values)) => values.contains(&null),
            Some(value) => *value == null,
            None => false,
        };
        let said = has_null("type", "null".into())
            || has_null("nullable", true.into())
            || has_null("const", Value::Null)
            || matches!(schema.get("enum"), Some(Value::Array(values)) if values.contains(&Value::Null));
        let branches = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_array());
        let target = || self.target(schema.get("$ref")?.as_str()?);
        said || branches.flatten().any(|branch| self.says_null(branch, looks))
            || target().is_some_and(|target| self.says_null(&target, looks))
    }
}

/// Returns the reference that a schema consists of. Branches that allow only null are left out of account.
fn onward(schema: &Map<String, Value>) -> Option<&str> {
    if let Some(Value::String(next)) = schema.get("$ref") {
        return Some(next);
    }
    ALTERNATIVES.into_iter().filter_map(|keyword| schema.get(keyword)?.as_array()).find_map(|branches| {
        let mut rest = branches.iter().filter(|branch| !is_null(branch));
        let (only, more) = (rest.next()?, rest.next());
        only.get("$ref")?.as_str().filter(|_| more.is_none() && branches.len() > 1)
    })
}

fn below<'v, 'n>(value: &'v Value, mut steps: impl Iterator<Item = Cow<'n, str>>) -> Option<&'v Value> {
    steps.try_fold(value, |at, step| match at {
        Value::Object(members) => members.get(&*step),
        Value::Array(members) => members.get(step.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Whether the name of a definition can stand in a reference without an escape.
pub(super) fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b))
}

fn anchored_in<'v>(value: &'v Value, anchor: &str, depth: usize) -> Option<&'v Value> {
    if depth > JSON_DEPTH_MAX {
        return None;
    }
    match value {
        Value::Object(members) => {
            let is_it = |keyword: &str| members.get(keyword).and_then(Value::as_str) == Some(anchor);
            let old = || members.get("$id").and_then(Value::as_str).and_then(|id| id.strip_prefix('#')) == Some(anchor);
            if is_it("$anchor") || is_it("$dynamicAnchor") || old() {
                return Some(value);
            }
            members.values().find_map(|value| anchored_in(value, anchor, depth + 1))
        }
        Value::Array(values) => values.iter().find_map(|value| anchored_in(value, anchor, depth + 1)),
        _ => None,
    }
}

/// Decodes one step of a JSON Pointer in a URI.
fn decoded(step: &str) -> Cow<'_, str> {
    if !step.contains(['%', '~']) {
        return Cow::Borrowed(step);
    }
    let mut bytes = Vec::with_capacity(step.len());
    let mut rest = step.as_bytes();
    while let [first, behind @ ..] = rest {
        let hex = behind.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let coded = hex.filter(|_| *first == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(coded.unwrap_or(*first));
        rest = if coded.is_some() { behind.get(2..).unwrap_or_default() } else { behind };
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).replace("~1", "/").replace("~0", "~"))
}
