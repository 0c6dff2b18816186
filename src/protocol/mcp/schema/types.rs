//! The types of a schema. Keywords may imply a type. A schema of one type gets the members that clients expect, and a
//! schema of several types gets a branch for each.

use serde_json::{Map, Value, json};

use super::keywords::{TYPES, types_of};
use super::walk::{At, Walk, said};

impl Walk<'_> {
    /// Removes the type from a schema and returns it. If there is none, returns the types that the keywords imply.
    /// There may be several.
    pub(super) fn types(&mut self, schema: &mut Map<String, Value>, at: At<'_>) -> Vec<&'static str> {
        let said = schema.get("type").cloned();
        let names: Vec<&str> = match &said {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(name)) => vec![name],
            _ => Vec::new(),
        };
        let mut types: Vec<&'static str> = TYPES.into_iter().filter(|known| names.contains(known)).collect();
        if types.contains(&"number") {
            types.retain(|known| *known != "integer");
        }
        match &said {
            Some(_) if names.contains(&"null") => self.tell(said::NULL),
            Some(Value::String(_)) if !types.is_empty() => {}
            Some(Value::Array(_)) if types.len() > 1 => self.tell(said::TYPES),
            Some(_) => self.tell(said::TYPE),
            None => {}
        }
        if types.is_empty() && at.kind.is_none() {
            let meant = |known: &&'static str| schema.keys().any(|keyword| types_of(keyword).first() == Some(known));
            types = TYPES.into_iter().filter(meant).collect();
            if !types.is_empty() {
                self.tell(said::TYPE);
            }
        }
        // A schema that allows anything needs no type.
        if types.len() == TYPES.len() - 1 && !schema.keys().any(|keyword| !types_of(keyword).is_empty()) {
            types.clear();
        }
        types
    }

    /// Gives a schema of one type the members that clients expect.
    pub(super) fn complete(&mut self, schema: &mut Map<String, Value>, kind: &str) {
        self.idle(schema, kind);
        let (needed, empty, change) = match kind {
            "array" => ("items", json!({}), said::ITEMS),
            "object" => ("properties", json!({}), said::PROPERTIES),
            _ => return,
        };
        // A branch adds to the properties of the schema around it, so it needs none of its own.
        if !schema.contains_key(needed) {
            schema.insert(needed.to_owned(), empty);
            self.tell(change);
        }
    }

    /// Removes the keywords that limit only other types.
    pub(super) fn idle(&mut self, schema: &mut Map<String, Value>, kind: &str) {
        let before = schema.len();
        schema.retain(|keyword, _| {
            let types = types_of(keyword);
            types.is_empty() || types.contains(&kind)
        });
        if schema.len() < before {
            self.tell(said::IDLE);
        }
    }

    /// Makes a branch for each type, with the keywords that limit this type.
    pub(super) fn split(&mut self, schema: &mut Map<String, Value>, types: &[&'static str]) {
        let mut own = schema.clone();
        own.retain(|keyword, _| !types_of(keyword).is_empty());
        schema.retain(|keyword, _| types_of(keyword).is_empty() && keyword != "type");
        let branches = types.iter().map(|kind| {
            let mut branch = Map::from_iter([("type".to_owned(), Value::from(*kind))]);
            let speaks = |keyword: &str| types_of(keyword).contains(kind);
            branch.extend(
                own.iter()
                    .filter(|(keyword, _)| speaks(keyword))
                    .map(|(keyword, value)| (keyword.clone(), value.clone())),
            );
            self.complete(&mut branch, kind);
            Value::Object(branch)
        });
        let branches: Vec<Value> = branches.collect();
        schema.insert("anyOf".to_owned(), branches.into());
    }
}
