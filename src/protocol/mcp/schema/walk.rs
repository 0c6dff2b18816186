//! The one walk over a schema. On every level it repairs what clients and the APIs of models refuse. It only loosens,
//! because the editor checks its arguments itself. `tests/it/schemas/refused.json` lists what each API refuses, with
//! the source.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::keywords::{ALTERNATIVES, Form, REMOVED, TOO_DEEP, form, is_null, is_whole, types_of, without_patterns};
use super::references::{Root, is_plain_name};
use crate::limits::{JSON_DEPTH_MAX, SCHEMA_INLINED_NODES_MAX};

/// The version of JSON Schema that is listed. A schema may name it.
const SCHEMA_2020_12: &str = "https://json-schema.org/draft/2020-12/schema";
/// Keywords that only describe. If two schemas become one, the keywords of the outer one are kept.
const NOTES: [&str; 6] = ["title", "description", "default", "examples", "deprecated", "$comment"];

/// Keywords that hold schemas for the same value.
const BRANCHES: [&str; 8] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"];

/// Changes, in words.
pub(super) mod said {
    pub(in super::super) const REFERENCE: &str = "a reference that leads nowhere was taken away";
    pub(in super::super) const OUTSIDE: &str = "a reference to another document was taken away";
    pub(in super::super) const INLINED: &str = "a reference was replaced by what it leads to";
    pub(in super::super) const NO_SCHEMA: &str = "a property without a schema object takes anything now";
    pub(in super::super) const FORM: &str =
        "a keyword that JSON Schema 2020-12 does not know in this form was taken away";
    pub(in super::super) const NULL: &str = "`null` was taken from the types and values; what took it may be left out";
    pub(in super::super) const TYPES: &str = "a list of types became alternatives";
    pub(in super::super) const TYPE: &str =
        "a type was added that its keywords imply, or one that does not exist taken away";
    pub(in super::super) const IDLE: &str = "a keyword that has no effect beside the others was taken away";
    pub(in super::super) const ENUM: &str = "an `enum` lost what is empty or stood twice";
    pub(in super::super) const TUPLE: &str = "a list with a schema for each place has one for all now";
    pub(in super::super) const ITEMS: &str = "an array without `items` takes any now";
    pub(in super::super) const PROPERTIES: &str = "an object without `properties` has an empty list of them";
    pub(in super::super) const PATTERNS: &str = "patterns of names beside named properties were taken away";
    pub(in super::super) const REQUIRED: &str = "`required` named what is not described, or may be left out";
}

/// The walk over the parts of one schema, and what it changed.
pub(super) struct Walk<'s> {
    pub(super) root: Root<'s>,
    /// The changes in words, each once.
    pub(super) changes: Vec<&'static str>,
    /// The references that are being replaced. A reference that leads into itself ends there.
    trail: Vec<String>,
    anchors: HashSet<String>,
    /// How many more values may be put in the place of references.
    room: usize,
}

/// Where a schema stands.
#[derive(Clone, Copy)]
pub(super) struct At<'k> {
    depth: usize,
    /// The type of the schema around this one, if both describe the same value.
    pub(super) kind: Option<&'static str>,
    /// The properties that a branch at the top of the whole schema may require, besides its own.
    known: Option<&'k Known<'k>>,
}

/// The properties of a schema, and of those around it that describe the same value.
pub(super) struct Known<'k> {
    pub(super) names: HashSet<String>,
    pub(super) around: Option<&'k Known<'k>>,
}

impl Known<'_> {
    fn has(&self, name: &str) -> bool {
        self.names.contains(name) || self.around.is_some_and(|around| around.has(name))
    }
}

impl At<'_> {
    /// A property at the top of a tool's schema, or a definition.
    pub(super) const PROPERTY: At<'static> = At { depth: 2, kind: None, known: None };

    fn below(self) -> At<'static> {
        At { depth: self.depth + 2, ..At::PROPERTY }
    }
}

impl<'s> Walk<'s> {
    pub(super) fn new(root: Root<'s>) -> Self {
        let (changes, trail, anchors) = Default::default();
        Self { root, changes, trail, anchors, room: SCHEMA_INLINED_NODES_MAX }
    }

    pub(super) fn tell(&mut self, change: &'static str) {
        if !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }

    /// Repairs the value in the place of a schema. `None`: the schema allows no value at all, so it is left out.
    pub(super) fn mended(&mut self, value: Value, at: At<'_>) -> Result<Option<Value>, &'static str> {
        let mut schema = match value {
            Value::Object(schema) => schema,
            Value::Bool(false) => {
                self.tell(said::NO_SCHEMA);
                return Ok(None);
            }
            _ => {
                self.tell(said::NO_SCHEMA);
                Map::new()
            }
        };
        Ok(self.schema(&mut schema, at)?.then_some(Value::Object(schema)))
    }

    /// Repairs a schema. Returns false if no value of the expected type fits it.
    fn schema(&mut self, schema: &mut Map<String, Value>, at: At<'_>) -> Result<bool, &'static str> {
        if at.depth > JSON_DEPTH_MAX {
            return Err(TOO_DEEP);
        }
        let trail = self.trail.len();
        self.clear(schema, at);
        let mut types = self.types(schema, at);
        if let Some(kind) = at.kind {
            let is_any = types.is_empty();
            types.retain(|own| is_whole(own, kind) || is_whole(kind, own));
            if types.is_empty() && !is_any {
                self.tell(said::IDLE);
                self.trail.truncate(trail);
                return Ok(false);
            }
            if is_any {
                self.idle(schema, kind);
            }
            // If the schema around this one demands a whole number, "number" means the same here.
            types.iter_mut().filter(|own| **own == "number").for_each(|own| *own = kind);
        }
        match types.as_slice() {
            [one] => self.idle(schema, one),
            // Branches have types of their own, and several types beside them say little.
            [_, _, ..] if schema.keys().any(|keyword| BRANCHES.contains(&keyword.as_str())) => {
                schema.retain(|keyword, _| types_of(keyword).is_empty() && keyword != "type");
                types.clear();
            }
            _ => {}
        }
        let is_named = schema.get("properties").and_then(Value::as_object).is_some_and(|own| !own.is_empty());
        self.patterns(schema, is_named);
        self.parts(schema, at, types.first().copied().or(at.kind))?;
        self.branches(schema);
        self.trail.truncate(trail);
        self.values(schema);
        match types.as_slice() {
            [] => {
                schema.shift_remove("type");
            }
            [one] => {
                schema.insert("type".to_owned(), (*one).into());
                self.complete(schema, one);
            }
            several => self.split(schema, several),
        }
        Ok(true)
    }

    /// Repairs the members of the whole schema, except its type, `properties` and `required`.
    pub(super) fn top(&mut self, schema: &mut Map<String, Value>, known: &Known<'_>) -> Result<(), &'static str> {
        let at = At { depth: 1, kind: Some("object"), known: Some(known) };
        self.clear(schema, at);
        self.patterns(schema, !self.root.properties.is_empty());
        self.parts(schema, at, at.kind)?;
        self.branches(schema);
        self.values(schema);
        schema.insert("type".to_owned(), "object".into());
        self.idle(schema, "object");
        Ok(())
    }

    // ---- members ----

    /// Removes members without meaning: nulls, keywords in a wrong form or of another draft, and references that lead
    /// nowhere.
    fn clear(&mut self, schema: &mut Map<String, Value>, at: At<'_>) {
        schema.retain(|_, value| !value.is_null());
        while self.without_null(schema) || self.resolve(schema, at) {}
        // In draft 4, a boolean says whether the bound itself is excluded.
        for (bound, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
            if schema.get(exclusive) == Some(&Value::Bool(true))
                && let Some(number) = schema.shift_remove(bound)
            {
                schema.insert(exclusive.to_owned(), number);
                self.tell(said::FORM);
            }
        }
        self.tuple(schema);
        let is_kept = |keyword: &str, value: &Value| match keyword {
            "$schema" => value == SCHEMA_2020_12,
            keyword => !REMOVED.contains(&keyword) && form(keyword).is_none_or(|form| form.fits(value)),
        };
        let before = schema.len();
        schema.retain(|keyword, value| is_kept(keyword, value));
        if schema.len() < before {
            self.tell(said::FORM);
        }
        if let Some(Value::String(anchor)) = schema.get("$anchor") {
            let begins = anchor.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            let fits = begins && anchor.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
            if !fits || !self.trail.is_empty() || !self.anchors.insert(anchor.clone()) {
                schema.shift_remove("$anchor");
            }
        }
    }

    /// Replaces a reference that not every reader can follow by its target. A reference that leads nowhere is removed.
    /// Returns whether there was one.
    fn resolve(&mut self, schema: &mut Map<String, Value>, at: At<'_>) -> bool {
        let keywords = ["$ref", "$dynamicRef", "$recursiveRef"];
        let Some(keyword) = keywords.into_iter().find(|keyword| schema.contains_key(*keyword)) else { return false };
        let reference = schema.get(keyword).and_then(Value::as_str).unwrap_or_default().to_owned();
        // Clients flatten the top and read the names there, so a reference at the top is always replaced.
        if keyword == "$ref" && at.known.is_none() && self.root.is_plain(&reference) {
            return false;
        }
        schema.shift_remove(keyword);
        let target = if self.trail.contains(&reference) { None } else { self.root.target(&reference) };
        self.room = self.room.saturating_sub(target.as_ref().map_or(0, |target| count(target, self.room)));
        let target = target.filter(|_| self.room > 0).map(Cow::into_owned);
        self.tell(match (&target, reference.starts_with('#')) {
            (Some(_), _) => said::INLINED,
            (None, true) => said::REFERENCE,
            (None, false) => said::OUTSIDE,
        });
        self.trail.push(reference);
        if let Some(Value::Object(target)) = target {
            for (keyword, value) in target {
                if !value.is_null() {
                    schema.entry(keyword).or_insert(value);
                }
            }
        }
        true
    }

    /// Removes the branches that allow only null: the value may be left out instead. If one branch is left, it is
    /// joined to the schema. Returns whether one was joined.
    fn without_null(&mut self, schema: &mut Map<String, Value>) -> bool {
        for keyword in ALTERNATIVES {
            let Some(Value::Array(branches)) = schema.get_mut(keyword) else { continue };
            let before = branches.len();
            branches.retain(|branch| !is_null(branch));
            if branches.len() == before {
                continue;
            }
            let only = if let [Value::Object(only)] = branches.as_slice() { Some(only.clone()) } else { None };
            self.tell(said::NULL);
            let is_free = |(keyword, value): (&String, &Value)| {
                NOTES.contains(&keyword.as_str()) || schema.get(keyword).is_none_or(|own| own == value)
            };
            let Some(only) = only.filter(|only| only.iter().all(is_free)) else { continue };
            schema.shift_remove(keyword);
            for (keyword, value) in only.into_iter().filter(|(_, value)| !value.is_null()) {
                schema.entry(keyword).or_insert(value);
            }
            return true;
        }
        false
    }

    /// Repairs the schemas inside a schema.
    fn parts(
        &mut self,
        schema: &mut Map<String, Value>,
        at: At<'_>,
        kind: Option<&'static str>,
    ) -> Result<(), &'static str> {
        let own = schema.get("properties").and_then(Value::as_object);
        let names =
            || own.into_iter().flatten().filter(|(_, value)| is_listed(value)).map(|(name, _)| name.clone()).collect();
        let known = at.known.map(|around| Known { names: names(), around: Some(around) });
        let branch = At { depth: at.depth + 2, kind, known: known.as_ref() };
        let describes =
            |value: &Value| value.as_object().is_some_and(|schema| self.root.takes_null(value) && !schema.is_empty());
        let optional: HashSet<String> =
            own.into_iter().flatten().filter(|(_, value)| describes(value)).map(|(name, _)| name.clone()).collect();
        let keywords: Vec<String> = schema.keys().cloned().collect();
        for keyword in keywords {
            let Some(form) = form(&keyword) else { continue };
            let below = match keyword.as_str() {
                keyword if BRANCHES.contains(&keyword) => branch,
                "propertyNames" => At { kind: Some("string"), ..at.below() },
                _ => at.below(),
            };
            let Some(value) = schema.get_mut(&keyword).map(Value::take) else { continue };
            let mended = match (form, value) {
                (Form::Schema, value) => self.mended(value, below)?,
                (Form::SchemaOrFlag, value @ Value::Bool(_)) => Some(value),
                (Form::SchemaOrFlag, value) => self.mended(value, below)?,
                (Form::Schemas, Value::Array(schemas)) => {
                    let mut all = Vec::new();
                    for value in schemas {
                        all.extend(self.mended(value, below)?);
                    }
                    Some(all.into())
                }
                (Form::Named, Value::Object(schemas)) => {
                    let mut all = Map::new();
                    let is_folder = matches!(keyword.as_str(), "$defs" | "definitions");
                    for (name, value) in schemas {
                        // Every reference to such a name was replaced.
                        if is_folder && !is_plain_name(&name) {
                            continue;
                        }
                        if let Some(value) = self.mended(value, below)? {
                            all.insert(name, value);
                        }
                    }
                    Some(Value::Object(all))
                }
                (_, value) => Some(value),
            };
            match mended {
                Some(mended) => schema.insert(keyword, mended),
                None => schema.shift_remove(&keyword),
            };
        }
        self.required(schema, known.as_ref(), &optional);
        Ok(())
    }

    /// Keeps in `required` each name that is described, once. Names of properties that allow null are dropped.
    pub(super) fn required(
        &mut self,
        schema: &mut Map<String, Value>,
        known: Option<&Known<'_>>,
        optional: &HashSet<String>,
    ) {
        let Some(Value::Array(names)) = schema.get("required") else { return };
        let own = schema.get("properties").and_then(Value::as_object);
        let mut seen = HashSet::new();
        let is_kept = |name: &str| {
            let described = own.is_some_and(|own| own.contains_key(name)) || known.is_some_and(|known| known.has(name));
            described && !optional.contains(name)
        };
        let kept: Vec<Value> = names
            .iter()
            .filter(|name| name.as_str().is_some_and(|name| is_kept(name) && seen.insert(name)))
            .cloned()
            .collect();
        if kept.len() < names.len() {
            self.tell(said::REQUIRED);
        }
        if kept.is_empty() {
            schema.shift_remove("required");
        } else {
            schema.insert("required".to_owned(), kept.into());
        }
    }

    fn patterns(&mut self, schema: &mut Map<String, Value>, is_named: bool) {
        if is_named && without_patterns(schema) {
            self.tell(said::PATTERNS);
        }
    }

    /// Replaces a list that has one schema for each place by a single schema: APIs and strict validators refuse such
    /// lists.
    fn tuple(&mut self, schema: &mut Map<String, Value>) {
        let behind = if matches!(schema.get("items"), Some(Value::Array(_))) { "additionalItems" } else { "items" };
        let mut places = match schema.get(if behind == "items" { "prefixItems" } else { "items" }) {
            Some(Value::Array(places)) => places.clone(),
            _ => Vec::new(),
        };
        let rest = schema.get(behind).cloned();
        if rest == Some(Value::Bool(false)) {
            let most = schema.get("maxItems").and_then(Value::as_u64).unwrap_or(u64::MAX).min(places.len() as u64);
            schema.insert("maxItems".to_owned(), most.into());
        } else if behind == "items" && !schema.contains_key("prefixItems") {
            return;
        }
        self.tell(said::TUPLE);
        places.extend(rest);
        places.retain(Value::is_object);
        let mut seen = HashSet::new();
        places.retain(|place| seen.insert(place.to_string()));
        let all = if places.len() > 1 { json!({ "anyOf": places }) } else { places.pop().unwrap_or_else(|| json!({})) };
        schema.shift_remove("prefixItems");
        schema.shift_remove("additionalItems");
        schema.insert("items".to_owned(), all);
    }

    /// Removes empty lists of branches, and keywords that have no effect without another keyword.
    fn branches(&mut self, schema: &mut Map<String, Value>) {
        schema.retain(|keyword, value| {
            !ALTERNATIVES.contains(&keyword.as_str()) || value.as_array().is_none_or(|branches| !branches.is_empty())
        });
        let before = schema.len();
        for (idle, without) in
            [("minContains", "contains"), ("maxContains", "contains"), ("then", "if"), ("else", "if")]
        {
            if !schema.contains_key(without) {
                schema.shift_remove(idle);
            }
        }
        if !schema.contains_key("then") && !schema.contains_key("else") {
            schema.shift_remove("if");
        }
        if schema.len() < before {
            self.tell(said::IDLE);
        }
    }

    /// Keeps each value of `enum` once. Gemini takes no empty text in it.
    fn values(&mut self, schema: &mut Map<String, Value>) {
        let Some(Value::Array(values)) = schema.get("enum") else { return };
        let (mut kept, mut seen): (Vec<Value>, HashSet<String>) = Default::default();
        for value in values {
            if !value.is_null() && value != "" && seen.insert(value.to_string()) {
                kept.push(value.clone());
            }
        }
        let (change, had_null) = (kept.len() < values.len(), values.contains(&Value::Null));
        if !change && !kept.is_empty() {
            return;
        }
        self.tell(if had_null { said::NULL } else { said::ENUM });
        if kept.is_empty() {
            schema.shift_remove("enum");
        } else {
            schema.insert("enum".to_owned(), kept.into());
        }
    }
}

/// Whether a property is listed. A property that may never be present is left out, so that nothing may require it.
pub(super) fn is_listed(property: &Value) -> bool {
    *property != Value::Bool(false)
}

/// Counts the values inside a value, itself included, up to this many. A long text counts as several.
fn count(value: &Value, most: usize) -> usize {
    let mut sum = 1;
    let mut add = |name: &str, value: &Value| {
        if sum <= most {
            sum += name.len() / TEXT_OF_A_VALUE + count(value, most - sum);
        }
    };
    match value {
        Value::Array(values) => values.iter().for_each(|value| add("", value)),
        Value::Object(members) => members.iter().for_each(|(name, value)| add(name, value)),
        Value::String(text) => sum += text.len() / TEXT_OF_A_VALUE,
        _ => {}
    }
    sum
}

/// So many bytes of text count as one more value.
const TEXT_OF_A_VALUE: usize = 64;
