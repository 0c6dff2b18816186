//! The values of components and assets: how they are shown, and set.

use serde_json::{Map, Value, json};

use super::kinds;
use super::node::{self, Component, Property};
use super::{Found, Stop, World};
use crate::holdfast::arguments::{near, plain};

/// Most values that one call sets, and longest value in characters that a refusal shows (the package's own numbers).
const VALUES_MAX: usize = 256;
const SHOWN_MAX: usize = 60;

fn refusal<T>(path: &str, what: &str, value: &Value) -> Result<T, Stop> {
    let given = value.to_string();
    let given = match given.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}...", given.get(..end).unwrap_or_default()),
        None => given,
    };
    Stop::wrong(format!("{path} {what}; given was {given} (Properties)"))
}

impl World {
    /// The values of a material or of another asset that has some.
    pub(super) fn values(&self, path: &str) -> Option<Component> {
        serde_json::from_slice(&self.files.read(path)?).ok()
    }

    /// Describes a component with the values of its properties.
    pub(super) fn described(&self, component: &Component) -> Value {
        let properties = component.properties.iter().map(|one| {
            let kind = one.kind.split(':').next().unwrap_or_default();
            json!({"name": one.name, "type": kind, "value": self.shown(one)})
        });
        json!({
            "type": component.short(), "fullTypeName": component.kind, "enabled": component.enabled,
            "properties": properties.collect::<Vec<_>>(),
        })
    }

    fn shown(&self, property: &Property) -> Value {
        if !property.kind.starts_with("PPtr<") {
            return property.value.clone();
        }
        if let Some(path) = property.value.get("asset").and_then(Value::as_str) {
            return self.reference(&Found::Asset(path.to_owned())).map_or(Value::Null, Value::from);
        }
        let Some(file) = property.value.get("object").and_then(Value::as_u64) else { return property.value.clone() };
        let spot = node::walk(self.roots()).into_iter().find(|spot| spot.node.file == file);
        let component = property.value.get("component").and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
        let found = spot.map(|spot| match component {
            Some(at) => Found::Component(spot.node.id, at),
            None => Found::Object(spot.node.id),
        });
        found.and_then(|found| self.reference(&found)).map_or(Value::Null, Value::from)
    }

    /// Returns a component with these values, all or none.
    pub(super) fn with_values(&self, component: &Component, values: &Map<String, Value>) -> Result<Component, Stop> {
        let mut changed = component.clone();
        if values.len() > VALUES_MAX {
            return Stop::wrong(format!("More than {VALUES_MAX} values at once (Properties)"));
        }
        for (path, value) in values {
            let (first, parts) =
                path.split_once('.').map_or((path.as_str(), None), |(first, parts)| (first, Some(parts)));
            if plain(first) == "enabled" && changed.enabled.is_some() && parts.is_none() {
                changed.enabled =
                    Some(value.as_bool().map_or_else(|| refusal(path, "takes true or false", value), Ok)?);
                continue;
            }
            let names: Vec<String> = changed.properties.iter().map(|one| one.name.clone()).collect();
            let exact = names.iter().find(|name| *name == first);
            let mut same = names.iter().filter(|name| plain(name) == plain(first));
            let alike = || same.next().filter(|_| same.next().is_none());
            let Some(name) = exact.or_else(alike) else {
                let near = near(first, names.iter().map(String::as_str));
                let but = if near.is_empty() { String::new() } else { format!(", but {}", near.join(", ")) };
                let short = component.short();
                return Stop::wrong(format!(
                    "{short} has no property {path}{but}; inspect shows the names, with IncludeHidden all of them (Properties)"
                ));
            };
            let Some(property) = changed.properties.iter_mut().find(|one| one.name == *name) else { continue };
            property.value = match parts {
                None => self.fitted(name, &property.kind, &property.value, value)?,
                Some(part) => {
                    let mut whole = property.value.clone();
                    match whole.get_mut(part) {
                        Some(one) => *one = number(path, value)?,
                        None => {
                            let short = component.short();
                            return Stop::wrong(format!(
                                "{short} has no property {path}; inspect shows the names, with IncludeHidden all of them (Properties)"
                            ));
                        }
                    }
                    whole
                }
            };
        }
        Ok(changed)
    }

    /// Returns the value as a property of this kind, whose value is `now`, stores it.
    fn fitted(&self, path: &str, kind: &str, now: &Value, value: &Value) -> Result<Value, Stop> {
        if let Some(wanted) = kind.strip_prefix("PPtr<$").and_then(|rest| rest.strip_suffix('>')) {
            return self.pointed(path, wanted, value);
        }
        if let Some(words) = kind.strip_prefix("Enum:") {
            let words: Vec<&str> = words.split(',').collect();
            let word = value.as_str().and_then(|word| words.iter().find(|one| **one == word));
            let word = word.or_else(|| words.get(usize::try_from(value.as_u64()?).ok()?));
            let list = || refusal(path, &format!("takes one of {}, or a number", words.join(", ")), value);
            return word.map_or_else(list, |word| Ok(json!(word)));
        }
        match (kind, now) {
            ("bool", _) if value.is_boolean() => Ok(value.clone()),
            ("bool", _) => refusal(path, "takes true or false", value),
            ("string", _) if value.is_string() => Ok(value.clone()),
            ("string", _) => refusal(path, "takes a text", value),
            ("int" | "uint" | "long", _) => {
                let range = match kind {
                    "int" => (i64::from(i32::MIN), i64::from(i32::MAX)),
                    "uint" => (0, i64::from(u32::MAX)),
                    _ => (i64::MIN, i64::MAX),
                };
                let fits = value.as_i64().filter(|number| (range.0..=range.1).contains(number));
                let what = format!("takes a whole number from {} to {}", range.0, range.1);
                fits.map_or_else(|| refusal(path, &what, value), |number| Ok(json!(number)))
            }
            (_, Value::Object(parts)) => {
                let names: Vec<&str> = parts.keys().map(String::as_str).collect();
                let list = names.join(", ");
                let mut whole = parts.clone();
                match value {
                    Value::Array(items) if items.len() != names.len() => {
                        return refusal(path, &format!("has {} parts: {list}", names.len()), value);
                    }
                    Value::Array(items) => {
                        for (name, one) in names.iter().zip(items) {
                            whole.insert((*name).to_owned(), number(&format!("{path}.{name}"), one)?);
                        }
                    }
                    Value::Object(given) => {
                        for (name, one) in given {
                            if !parts.contains_key(name) {
                                return refusal(path, &format!("has no part {name}, but {list}"), value);
                            }
                            whole.insert(name.clone(), number(&format!("{path}.{name}"), one)?);
                        }
                    }
                    _ => return refusal(path, &format!("takes an object or a list with {list}"), value),
                }
                Ok(Value::from(whole))
            }
            _ => number(path, value),
        }
    }

    fn pointed(&self, path: &str, wanted: &str, value: &Value) -> Result<Value, Stop> {
        if value.is_null() {
            return Ok(Value::Null);
        }
        let Some(name) = value.as_str() else { return refusal(path, "takes a text", value) };
        if wanted == "Shader" && kinds::SHADERS.contains(&name) {
            return Ok(json!(name));
        }
        let misfit = || refusal(path, &format!("takes a {wanted}, which the object neither is nor has"), value);
        match self.find(name, "Properties")? {
            Found::Asset(asset) => match self.type_of(&asset) {
                Some(kind) if wanted == "Object" || kinds::is_a(&kind, wanted) => Ok(json!({"asset": asset})),
                _ => misfit(),
            },
            Found::Object(id) | Found::Component(id, _) => {
                let Some(spot) = self.spot(id) else { return misfit() };
                if wanted == "GameObject" {
                    return Ok(json!({"object": spot.node.file}));
                }
                let at = spot.node.components.iter().position(|one| kinds::is_a(&one.kind, wanted));
                at.map_or_else(misfit, |at| Ok(json!({"object": spot.node.file, "component": at})))
            }
        }
    }
}

fn number(path: &str, value: &Value) -> Result<Value, Stop> {
    value.as_f64().map_or_else(|| refusal(path, "takes a number", value), |number| Ok(json!(number)))
}
