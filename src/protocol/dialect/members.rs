//! A JSON object as a list of members with unparsed values.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The members of a JSON object in their order, with unparsed values.
#[derive(Default)]
pub(super) struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Vec<(String, &'de RawValue)>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        source.deserialize_map(Collect).map(Members)
    }
}

impl<'a> Members<'a> {
    /// Reads the members of an object; `None` if the JSON is not an object.
    pub(super) fn of(json: &'a RawValue) -> Option<Self> {
        if json.get().starts_with('{') { serde_json::from_str(json.get()).ok() } else { None }
    }

    /// Names and unparsed values, in the order of the object.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(key, raw)| (key.as_str(), *raw))
    }

    /// Returns the last member with exactly this name, otherwise the first whose name differs only in case.
    pub(super) fn find(&self, name: &str) -> Option<&'a RawValue> {
        let exactly = self.iter().filter(|(key, _)| *key == name).last();
        exactly.or_else(|| self.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))).map(|(_, raw)| raw)
    }

    /// One member for each name, at the position of the first one with that name and with the value of the last.
    pub(super) fn unique(&self) -> Vec<(&str, &'a RawValue)> {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut unique: Vec<(&str, &'a RawValue)> = Vec::new();
        for (key, raw) in self.iter() {
            match places.entry(key) {
                Entry::Occupied(place) => {
                    if let Some(member) = unique.get_mut(*place.get()) {
                        member.1 = raw;
                    }
                }
                Entry::Vacant(place) => {
                    place.insert(unique.len());
                    unique.push((key, raw));
                }
            }
        }
        unique
    }

    /// Returns the last member with this name, ignoring case.
    pub(super) fn get(&self, name: &str) -> Option<Value> {
        let (_, raw) = self.0.iter().rfind(|(key, _)| key.eq_ignore_ascii_case(name))?;
        serde_json::from_str(raw.get()).ok()
    }

    /// Rebuilds the object without the members called `without` (ignoring case), and with the `added` members at the end. Kept
    /// values keep their text.
    pub(super) fn spliced(&self, without: Option<&str>, added: &[(&str, String)]) -> Option<Box<RawValue>> {
        let kept = self.0.iter().filter(|(key, _)| without.is_none_or(|name| !key.eq_ignore_ascii_case(name)));
        let kept = kept.map(|(key, raw)| (key.as_str(), raw.get()));
        let added = added.iter().map(|(key, text)| (*key, text.as_str()));
        let members: Vec<String> =
            kept.chain(added).map(|(key, text)| format!("{}:{text}", Value::from(key))).collect();
        RawValue::from_string(format!("{{{}}}", members.join(","))).ok()
    }
}
