//! A tool's input schema, kept as text. A long list has megabytes of schemas, and parsed trees take ten times as much memory. A
//! caller parses a schema only when it needs its content.

use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::members::Members;
use crate::protocol::jsonrpc::compact;

/// JSON Schema of a tool's arguments: a JSON object as compact text on one line.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct InputSchema(Arc<RawValue>);

impl InputSchema {
    /// The schema as raw JSON text.
    pub fn raw(&self) -> &RawValue {
        &self.0
    }

    /// Parses the whole schema.
    pub fn parsed(&self) -> Map<String, Value> {
        serde_json::from_str(self.0.get()).unwrap_or_default()
    }

    /// Whether the schema has one of these keywords at the top level.
    pub fn has_any(&self, keywords: &[&str]) -> bool {
        Members::of(&self.0).is_some_and(|members| members.iter().any(|(key, _)| keywords.contains(&key)))
    }

    /// Returns the schema of one property; `None` if there is no such property.
    pub fn property(&self, name: &str) -> Option<Value> {
        let last =
            |object, name| Members::of(object)?.iter().filter(|(key, _)| *key == name).last().map(|(_, raw)| raw);
        serde_json::from_str(last(last(&self.0, "properties")?, name)?.get()).ok()
    }

    /// Whether the schema has only these keywords at the top level.
    pub fn has_only(&self, keywords: &[&str]) -> bool {
        Members::of(&self.0).is_some_and(|members| members.iter().all(|(key, _)| keywords.contains(&key)))
    }

    /// Whether the schema names a property whose name is this one, ignoring the case of ASCII letters.
    pub fn has_property_like(&self, name: &str) -> bool {
        let members = Members::of(&self.0);
        let properties = members.iter().flat_map(Members::iter).filter(|(key, _)| *key == PROPERTIES);
        properties
            .filter_map(|(_, raw)| Members::of(raw))
            .any(|known| known.iter().any(|(key, _)| key.eq_ignore_ascii_case(name)))
    }

    /// Returns the schema with one more property, which comes last. The rest keeps its text. `None` if the schema or its
    /// `properties` is not an object.
    pub fn with_property(&self, name: &str, schema: &Value) -> Option<Self> {
        let members = Members::of(&self.0)?;
        let known = members.iter().filter(|(key, _)| *key == PROPERTIES).last();
        let none = RawValue::from_string(String::from("{}")).ok()?;
        let properties = known.map_or(&*none, |(_, raw)| raw);
        let more = Members::of(properties)?.spliced(None, &[(name, schema.to_string())])?;
        members.spliced(Some(PROPERTIES), &[(PROPERTIES, more.get().to_owned())]).map(|whole| Self(whole.into()))
    }

    /// Builds a schema from its members and its properties. Each property is serialised at once, because a tree of thousands of
    /// properties takes ten times as much memory as their text. The properties replace the member `properties` of `rest`; without
    /// that member no property is written.
    ///
    /// # Errors
    /// The first error that `properties` yields.
    pub fn by_parts<'n, E, S: std::fmt::Display>(
        rest: &Map<String, Value>,
        properties: impl Iterator<Item = Result<(&'n str, S), E>>,
    ) -> Result<Self, E> {
        let mut properties = Some(properties);
        let mut text = String::from("{");
        for (key, value) in rest {
            if text.len() > 1 {
                text.push(',');
            }
            text += &format!("{}:", Value::from(key.as_str()));
            let here = if key == PROPERTIES { properties.take() } else { None };
            match here {
                None => text += &value.to_string(),
                Some(properties) => {
                    text.push('{');
                    for (nth, property) in properties.enumerate() {
                        let (name, schema) = property?;
                        let comma = if nth > 0 { "," } else { "" };
                        text += &format!("{comma}{}:{schema}", Value::from(name));
                    }
                    text.push('}');
                }
            }
        }
        text.push('}');
        // Frees the unused capacity: a growing string doubles its capacity.
        text.shrink_to_fit();
        let text = RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned());
        Ok(Self(text.into()))
    }

    /// Splits the schema into its members, with `properties` left empty, and the list of its properties, unparsed. `None` if the
    /// schema or its `properties` is not an object.
    pub fn parts(&self) -> Option<Parts<'_>> {
        let mut rest = Map::new();
        let mut properties = Vec::new();
        for (key, raw) in Members::of(&self.0)?.unique() {
            if key == PROPERTIES {
                let members = Members::of(raw)?;
                properties = members.unique().into_iter().map(|(name, raw)| (name.to_owned(), raw)).collect();
            }
            let text = if key == PROPERTIES { "{}" } else { raw.get() };
            rest.insert(key.to_owned(), serde_json::from_str(text).ok()?);
        }
        Some((rest, properties))
    }
}

/// The members of a schema, and the name and unparsed schema of each of its `properties`.
pub type Parts<'s> = (Map<String, Value>, Vec<(String, &'s RawValue)>);

/// The keyword that holds a schema for each argument.
const PROPERTIES: &str = "properties";

impl From<&Map<String, Value>> for InputSchema {
    fn from(schema: &Map<String, Value>) -> Self {
        // Serialising a JSON tree cannot fail.
        let text = to_raw_value(schema).unwrap_or_else(|_| RawValue::NULL.to_owned());
        Self(text.into())
    }
}

impl Default for InputSchema {
    fn default() -> Self {
        Self::from(&Map::new())
    }
}

/// Schemas are equal if their parsed trees are equal: the order of an object's members means nothing.
impl PartialEq for InputSchema {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get() || self.parsed() == other.parsed()
    }
}

impl Eq for InputSchema {}

impl<'de> Deserialize<'de> for InputSchema {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(source)?;
        if !text.get().starts_with('{') {
            return Err(D::Error::custom("an input schema is an object"));
        }
        let text = RawValue::from_string(compact(text.get()).into_owned()).map_err(D::Error::custom)?;
        Ok(Self(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(text: &str) -> InputSchema {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn it_is_one_line_and_looked_into_where_asked() {
        let text = "{ \"type\" : \"object\",\r\n \"properties\" : { \"a b\" : {\"default\": 1.50} }, \"anyOf\": [] }";
        let schema = schema(text);
        let kept = r#"{"type":"object","properties":{"a b":{"default":1.50}},"anyOf":[]}"#;
        assert_eq!(serde_json::to_string(&schema).unwrap(), kept);
        assert_eq!(schema.property("a b").unwrap()["default"], 1.5);
        assert_eq!((schema.property("a"), schema.property("type")), (None, None));
        assert!(schema.has_any(&["allOf", "anyOf"]) && !schema.has_any(&["default", "oneOf"]));
        assert_eq!(InputSchema::from(&schema.parsed()), schema);
    }

    #[test]
    fn the_order_of_members_makes_no_other_schema() {
        assert_eq!(schema(r#"{"a":1,"b":{"c":2,"d":3}}"#), schema(r#"{"b":{"d":3,"c":2},"a":1}"#));
        assert_ne!(schema(r#"{"a":[1,2]}"#), schema(r#"{"a":[2,1]}"#));
    }

    #[test]
    fn taken_apart_and_put_together_it_is_the_same() {
        let whole = schema(r#"{"type":"object","properties":{"b":{"x":1},"a":{},"b":{"x":2}},"required":["a"]}"#);
        let (rest, properties) = whole.parts().unwrap();
        let again = properties
            .iter()
            .map(|(name, raw)| serde_json::from_str(raw.get()).map(|value: Value| (name.as_str(), value)));
        let again = InputSchema::by_parts(&rest, again).unwrap();
        assert_eq!(again.0.get(), r#"{"type":"object","properties":{"b":{"x":2},"a":{}},"required":["a"]}"#);
        assert_eq!(again, whole);
        assert!(schema(r#"{"properties":[]}"#).parts().is_none());
        assert_eq!(schema("{}").parts().map(|(rest, parts)| (rest.len(), parts.len())), Some((0, 0)));
    }

    #[test]
    fn a_property_is_added_at_the_end_and_found_in_any_case() {
        let with = |text: &str| schema(text).with_property("new", &serde_json::json!({"x": 1}));
        let text = |text: &str| with(text).map(|schema| schema.0.get().to_owned());
        let added = r#"{"type":"object","properties":{"new":{"x":1}}}"#;
        assert_eq!(text(r#"{"type":"object"}"#).as_deref(), Some(added));
        let kept = r#"{"required":["a"],"properties":{"a":{"default":1.50},"new":{"x":1}}}"#;
        assert_eq!(text(r#"{"properties":{"a":{"default":1.50}},"required":["a"]}"#).as_deref(), Some(kept));
        assert!(with(r#"{"properties":[]}"#).is_none());
        let known = schema(r#"{"type":"object","properties":{"NeW":true}}"#);
        assert!(known.has_property_like("new") && !known.has_property_like("type"));
        assert!(known.has_only(&["type", "properties", "required"]) && !known.has_only(&["type"]));
    }

    #[test]
    fn only_an_object_is_one() {
        for text in ["[]", "1", "\"{\"", "null", "{\"a\":}"] {
            assert!(serde_json::from_str::<InputSchema>(text).is_err(), "{text}");
        }
    }
}
