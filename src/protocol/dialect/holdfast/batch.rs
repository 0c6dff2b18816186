//! Which tools a batch calls (`unity/Core/Tools/BuiltIn/BatchTool.cs`). The editor calls them by itself, so the rules on tools must
//! find them in the arguments.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The tool that makes several calls.
pub(super) const TOOL: &str = "batch";
/// The member of a call that names its tool, and the one that holds its arguments.
const NAME: &str = "Tool";
const ARGUMENTS: &str = "Arguments";

/// Arguments in which the tools cannot be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreadableCalls;

/// Returns every name in a place where a batch may have the name of a tool, in any form that the editor might accept:
/// in members given twice, in any case of letters, in lists or not.
pub(super) fn tools(arguments: &RawValue) -> Result<Vec<String>, UnreadableCalls> {
    let Within(names) = serde_json::from_str(arguments.get()).map_err(|_| UnreadableCalls)?;
    Ok(names)
}

#[derive(Default)]
struct Within(Vec<String>);

impl<'de> Deserialize<'de> for Within {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Walk;
        impl<'de> Visitor<'de> for Walk {
            type Value = Within;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Within, A::Error> {
                let mut found = Within::default();
                while let Some(key) = map.next_key::<String>()? {
                    if key.eq_ignore_ascii_case(ARGUMENTS) {
                        map.next_value::<IgnoredAny>()?;
                    } else if key.eq_ignore_ascii_case(NAME) {
                        let value: Box<RawValue> = map.next_value()?;
                        // The editor may read a number as a text.
                        let name = serde_json::from_str(value.get()).unwrap_or_else(|_| value.get().to_owned());
                        found.0.push(name);
                    } else {
                        found.0.extend(map.next_value::<Within>()?.0);
                    }
                }
                Ok(found)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Within, A::Error> {
                let mut found = Within::default();
                while let Some(Within(names)) = seq.next_element()? {
                    found.0.extend(names);
                }
                Ok(found)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Within, E> {
                Ok(Within::default())
            }

            fn visit_i64<E>(self, _: i64) -> Result<Within, E> {
                Ok(Within::default())
            }

            fn visit_u64<E>(self, _: u64) -> Result<Within, E> {
                Ok(Within::default())
            }

            fn visit_f64<E>(self, _: f64) -> Result<Within, E> {
                Ok(Within::default())
            }

            fn visit_str<E>(self, _: &str) -> Result<Within, E> {
                Ok(Within::default())
            }

            fn visit_unit<E>(self) -> Result<Within, E> {
                Ok(Within::default())
            }
        }
        deserializer.deserialize_any(Walk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_of_a_batch_is_found_in_whatever_form() {
        for (arguments, names) in [
            (r#"{"Calls":[{"Tool":"a"},{"Tool":"b","Arguments":{"Tool":"x"}}]}"#, &["a", "b"][..]),
            (
                r#"{"calls":[{"tOOL":"a","Tool":"b","Tool":"c"}],"Calls":{"$values":[{"Tool":"d"}]}}"#,
                &["a", "b", "c", "d"],
            ),
            (r#"{"Calls":[{"Tool":"\u0065x","arguments":[{"Tool":"x"}]},{"Tool":5}]}"#, &["ex", "5"]),
            (r#"{"TimeoutSeconds":1.5,"Calls":[null,true,"Tool",-1]}"#, &[]),
        ] {
            let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
            assert_eq!(tools(&arguments).unwrap(), names, "{arguments}");
        }
        let deep = format!("{{\"Calls\":{}{}}}", "[".repeat(200), "]".repeat(200));
        assert_eq!(tools(&RawValue::from_string(deep).unwrap()), Err(UnreadableCalls));
    }
}
