//! The table of what APIs refuse, and one check for each of its rows. The checks share nothing with the code that mends.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::{Map, Value};

/// A row of the table.
#[derive(Debug, Deserialize)]
pub struct Row {
    pub rule: String,
    pub says: String,
    pub refused_by: Vec<String>,
    pub sources: Vec<String>,
    pub examples: Vec<Value>,
}

/// A place in a schema that an API refuses.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    pub rule: &'static str,
    pub at: String,
}

pub fn table() -> Vec<Row> {
    serde_json::from_str(include_str!("refused.json")).expect("the table can be read")
}

/// Returns what some API refuses in a tool's input schema.
pub fn faults(schema: &Value) -> Vec<Fault> {
    let mut check = Check { root: schema, faults: Vec::new() };
    check.schema(schema, "#", &HashSet::new(), true);
    let names = schema["properties"].as_object().into_iter().flat_map(Map::keys);
    for name in names.filter(|name| !is_name(name)) {
        check.fault("parameter-names", name);
    }
    check.faults
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b))
}

struct Check<'s> {
    root: &'s Value,
    faults: Vec<Fault>,
}

impl Check<'_> {
    fn fault(&mut self, rule: &'static str, at: &str) {
        self.faults.push(Fault { rule, at: at.to_owned() });
    }

    /// `around`: the properties of the schemas around this one that describe the same value, at the top of the whole.
    fn schema(&mut self, schema: &Value, at: &str, around: &HashSet<&str>, is_top: bool) {
        let Some(members) = schema.as_object() else { return self.fault("schema-object", at) };
        let kind = members.get("type");
        if !kind.is_none_or(Value::is_string) {
            self.fault("one-type", at);
        }
        if kind.and_then(Value::as_str) == Some("null")
            || kind.is_some_and(|kind| kind.as_array().is_some_and(|kinds| kinds.contains(&"null".into())))
        {
            self.fault("no-null", at);
        }
        if kind == Some(&"array".into()) && !members.contains_key("items") {
            self.fault("array-items", at);
        }
        if kind == Some(&"object".into()) && !members.contains_key("properties") {
            self.fault("object-properties", at);
        }
        if kind.is_some_and(|kind| kind != "array") && members.contains_key("items") {
            self.fault("idle-items", at);
        }
        if members.iter().any(|(keyword, value)| value.is_null() && keyword != "const") {
            self.fault("no-null", at);
        }
        self.required(members, at, around);
        self.values(members, at);
        self.forms(members, at);
        if let Some(reference) = members.get("$ref")
            && !self.leads(reference)
        {
            self.fault("references", at);
        }
        let mut known = around.clone();
        if is_top {
            known.extend(
                members
                    .get("properties")
                    .and_then(Value::as_object)
                    .into_iter()
                    .flat_map(Map::keys)
                    .map(String::as_str),
            );
        }
        for (keyword, value) in members {
            let at = format!("{at}/{keyword}");
            match (keyword.as_str(), value) {
                ("additionalProperties" | "unevaluatedProperties" | "unevaluatedItems", Value::Bool(_)) => {}
                (
                    "items"
                    | "contains"
                    | "propertyNames"
                    | "contentSchema"
                    | "additionalProperties"
                    | "unevaluatedProperties"
                    | "unevaluatedItems",
                    value,
                ) => {
                    self.schema(value, &at, &HashSet::new(), false);
                }
                ("not" | "if" | "then" | "else", value) => self.schema(value, &at, &known, is_top),
                ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(schemas)) => {
                    if keyword != "prefixItems" && schemas.is_empty() {
                        self.fault("draft-2020-12", &at);
                    }
                    let is_branch = keyword != "prefixItems";
                    let none = HashSet::new();
                    for (nth, schema) in schemas.iter().enumerate() {
                        self.schema(
                            schema,
                            &format!("{at}/{nth}"),
                            if is_branch { &known } else { &none },
                            is_top && is_branch,
                        );
                    }
                }
                (
                    "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                    Value::Object(schemas),
                ) => {
                    let is_branch = keyword == "dependentSchemas";
                    let none = HashSet::new();
                    for (name, schema) in schemas {
                        self.schema(
                            schema,
                            &format!("{at}/{name}"),
                            if is_branch { &known } else { &none },
                            is_top && is_branch,
                        );
                    }
                }
                _ => {}
            }
        }
    }

    fn required(&mut self, members: &Map<String, Value>, at: &str, around: &HashSet<&str>) {
        let Some(required) = members.get("required") else { return };
        let Some(names) = required.as_array() else { return self.fault("draft-2020-12", at) };
        let own = members.get("properties").and_then(Value::as_object);
        let mut seen = HashSet::new();
        let is_right = |name: &Value| {
            let name = name.as_str()?;
            (seen.insert(name.to_owned()) && (around.contains(name) || own?.contains_key(name))).then_some(())
        };
        if names.is_empty() || names.iter().map(is_right).any(|right| right.is_none()) {
            self.fault("required-described", at);
        }
    }

    fn values(&mut self, members: &Map<String, Value>, at: &str) {
        let Some(values) = members.get("enum") else { return };
        let Some(values) = values.as_array() else { return self.fault("draft-2020-12", at) };
        if values.contains(&Value::Null) {
            self.fault("no-null", at);
        }
        let twice = values.iter().enumerate().any(|(nth, value)| values[..nth].contains(value));
        if values.is_empty() || values.contains(&"".into()) || twice {
            self.fault("enum-values", at);
        }
    }

    fn forms(&mut self, members: &Map<String, Value>, at: &str) {
        const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];
        let fits = |(keyword, value): (&String, &Value)| match keyword.as_str() {
            "type" => value
                .as_array()
                .map_or(std::slice::from_ref(value), Vec::as_slice)
                .iter()
                .all(|kind| kind.as_str().is_some_and(|kind| TYPES.contains(&kind))),
            "title" | "description" | "$ref" | "$schema" | "$anchor" | "pattern" | "format" | "$comment" => {
                value.is_string()
            }
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" | "minContains"
            | "maxContains" => value.as_f64().is_some_and(|count| count >= 0.0),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
            "multipleOf" => value.as_f64().is_some_and(|number| number > 0.0),
            "uniqueItems" | "readOnly" | "writeOnly" | "deprecated" => value.is_boolean(),
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => value.is_object(),
            "dependentRequired" => value.as_object().is_some_and(|lists| {
                lists.values().all(|list| list.as_array().is_some_and(|names| names.iter().all(Value::is_string)))
            }),
            "allOf" | "anyOf" | "oneOf" | "prefixItems" | "examples" => value.is_array(),
            "items" | "not" | "if" => !value.is_array(),
            _ => true,
        };
        if !members.iter().all(fits) {
            self.fault("draft-2020-12", at);
        }
    }

    /// Whether a reference leads to a definition of the whole schema.
    fn leads(&self, reference: &Value) -> bool {
        let Some(reference) = reference.as_str() else { return false };
        if reference == "#" {
            return true;
        }
        let name = ["#/$defs/", "#/definitions/"]
            .iter()
            .find_map(|folder| Some((folder[2..folder.len() - 1].to_owned(), reference.strip_prefix(folder)?)));
        let Some((folder, name)) = name.filter(|(_, name)| is_name(name)) else { return false };
        // A definition that is nothing but itself leads nowhere.
        let mut at = &self.root[&folder][name];
        for _ in 0..8 {
            match at["$ref"].as_str().and_then(|next| next.strip_prefix("#/$defs/")) {
                Some(next) => at = &self.root["$defs"][next],
                None => return at.is_object(),
            }
        }
        false
    }
}
