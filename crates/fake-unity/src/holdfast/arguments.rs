//! Checks the arguments of the package's own tools, as its C# does (`ToolParameters.cs`, `UnknownArguments.cs`, `NearNames.cs`).

use serde_json::{Map, Value};

use super::package::Packaged;
use crate::tools::Arguments;
use crate::work::Fault;

/// Longest value, and longest name, that a refusal shows whole, in characters.
const SHOWN_MAX: usize = 60;
/// Most names that a refusal shows.
const NAMES_MAX: usize = 5;
/// A shorter name is like many, so none is proposed for it.
const NEAR_MIN: usize = 3;
/// Arguments that clients add by themselves, each with the tool to whose calls it is added; empty: to all.
const ADDED: [(&str, &str); 5] = [
    ("TimeoutSeconds", ""),
    ("RequestId", "compile"),
    ("WaitForDomainReload", "compile"),
    ("toolCallId", ""),
    ("random_string", ""),
];

/// Reads the arguments of a call: each under the name that the schema has, with the defaults of those that are missing.
///
/// # Errors
/// [`Fault::Refused`] if the arguments are no object, one is not known, a value has another type, or a required one is missing.
pub(crate) fn read(tool: &Packaged, given: Option<&str>) -> Result<Arguments, Fault> {
    let name = tool.spec.name;
    let given = match given.map(serde_json::from_str::<Value>) {
        None | Some(Ok(Value::Null)) => Map::new(),
        Some(Ok(Value::Object(given))) => given,
        Some(other) => {
            let shown = shortened(&other.unwrap_or_default().to_string());
            return Err(Fault::Refused(format!("The arguments of {name} must be an object, not {shown}")));
        }
    };
    names(tool, "", &given, tool.schema())?;
    let required: Vec<&str> = texts(tool.schema().get("required")).collect();
    let mut read = Map::new();
    let mut missing = Vec::new();
    for (param, schema) in properties(tool.schema()) {
        // The last one counts, as in C#, if several differ in case only.
        let value = given.iter().rev().find(|(key, value)| key.eq_ignore_ascii_case(param) && !value.is_null());
        match (value, schema.get("default")) {
            (Some((_, value)), _) => {
                read.insert(param.clone(), fitted(name, param, value, schema)?);
            }
            (None, Some(default)) => drop(read.insert(param.clone(), default.clone())),
            (None, None) if required.contains(&param.as_str()) => missing.push(need(param, schema)),
            (None, None) => {}
        }
    }
    if missing.is_empty() {
        Ok(Arguments::of(read))
    } else {
        Err(Fault::Refused(format!("{name} needs {}", missing.join(" and "))))
    }
}

/// Checks that the tool knows all names, also in what is nested. A batch does this with the calls in it.
///
/// # Errors
/// [`Fault::Refused`] with the names that are not known.
pub(crate) fn check_names(tool: &Packaged, given: &Map<String, Value>) -> Result<(), Fault> {
    names(tool, "", given, tool.schema())
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

fn texts(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn names(tool: &Packaged, at: &str, given: &Map<String, Value>, schema: &Value) -> Result<(), Fault> {
    // Any other object takes arguments of any name.
    if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
        return Ok(());
    }
    let known: Vec<&str> = properties(schema).map(|(name, _)| name.as_str()).collect();
    let is_known = |name: &String| known.iter().any(|one| one.eq_ignore_ascii_case(name));
    let added = |name: &String| {
        let of = |(one, tools): &(&str, &str)| {
            one.eq_ignore_ascii_case(name) && (tools.is_empty() || *tools == tool.spec.name)
        };
        at.is_empty() && ADDED.iter().any(of)
    };
    let unknown: Vec<&String> = given.keys().filter(|name| !is_known(name) && !added(name)).collect();
    if !unknown.is_empty() {
        return Err(Fault::Refused(unknown_names(tool, at, &unknown, &known)));
    }
    for (name, value) in given {
        let Some((name, schema)) = properties(schema).find(|(one, _)| one.eq_ignore_ascii_case(name)) else { continue };
        nested(tool, &format!("{at}{name}"), value, schema)?;
    }
    Ok(())
}

fn nested(tool: &Packaged, at: &str, value: &Value, schema: &Value) -> Result<(), Fault> {
    match value {
        Value::Array(items) => {
            let Some(item) = schema.get("items") else { return Ok(()) };
            items.iter().enumerate().try_for_each(|(index, one)| nested(tool, &format!("{at}[{index}]"), one, item))
        }
        Value::Object(members) => names(tool, &format!("{at}."), members, schema),
        _ => Ok(()),
    }
}

fn unknown_names(tool: &Packaged, at: &str, unknown: &[&String], known: &[&str]) -> String {
    let shown: Vec<String> = unknown.iter().take(NAMES_MAX).map(|name| shortened(&format!("{at}{name}"))).collect();
    let proposal = |name: &&String| {
        let other = tool.other_argument(name).filter(|to| at.is_empty() && known.contains(to));
        let length = name.chars().count();
        let near =
            || near(name, known.iter().copied()).first().copied().filter(|_| (NEAR_MIN..=SHOWN_MAX).contains(&length));
        other.or_else(near)
    };
    let mend = match unknown.iter().map(proposal).collect::<Option<Vec<&str>>>() {
        Some(mut all) => {
            all.truncate(NAMES_MAX);
            let mut seen = std::collections::BTreeSet::new();
            all.retain(|name| seen.insert(*name));
            format!("did you mean {}?", all.join(" and "))
        }
        None if known.is_empty() => "it takes none".to_owned(),
        None => {
            let own: Vec<&str> = known.iter().copied().filter(|name| *name != "TimeoutSeconds").collect();
            format!("it has {}", own.join(", "))
        }
    };
    format!("{} has no argument {}; {mend}", tool.spec.name, shown.join(" and "))
}

/// Returns the names that may be meant, nearest first.
pub(crate) fn near<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = plain(wanted);
    let far = (wanted.chars().count() / 3).max(1);
    let mut found: Vec<(usize, &str)> = names
        .map(|name| {
            let own = plain(name);
            (if contains(&own, &wanted) { 0 } else { strsim::osa_distance(&own, &wanted) }, name)
        })
        .filter(|(steps, _)| *steps <= far)
        .collect();
    found.sort_by_key(|(steps, _)| *steps);
    found.into_iter().take(NAMES_MAX).map(|(_, name)| name).collect()
}

fn contains(name: &str, wanted: &str) -> bool {
    wanted.len() > 2 && (name.contains(wanted) || (wanted.contains(name) && 3 * name.len() >= 2 * wanted.len()))
}

/// A name as people write it: `mass` is `m_Mass`, `search-query` is `SearchQuery`.
pub(crate) fn plain(name: &str) -> String {
    let bare = name.strip_prefix("m_").unwrap_or(name);
    bare.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

fn need(name: &str, schema: &Value) -> String {
    let words: Vec<&str> = texts(schema.get("enum")).collect();
    if words.is_empty() { name.to_owned() } else { format!("{name}: {}", words.join(" or ")) }
}

/// Returns the value as the schema has it: the word of an enumeration, a whole number without a fraction.
fn fitted(tool: &str, at: &str, value: &Value, schema: &Value) -> Result<Value, Fault> {
    let mismatch = |wanted: &str| {
        Err(Fault::Refused(format!("{at} of {tool} must be {wanted}, not {}", shortened(&value.to_string()))))
    };
    let words: Vec<&str> = texts(schema.get("enum")).collect();
    if !words.is_empty() {
        let word = match value {
            Value::String(text) => words.iter().find(|word| word.eq_ignore_ascii_case(text.trim())),
            _ => value.as_u64().and_then(|number| words.get(usize::try_from(number).ok()?)),
        };
        return word.map_or_else(|| mismatch(&format!("one of {}", words.join(", "))), |word| Ok(Value::from(*word)));
    }
    match (schema.get("type").and_then(Value::as_str), value) {
        (Some("integer"), Value::Number(number)) => {
            // Whole numbers of this size are exact in a double.
            let whole = number.as_i64().or_else(|| number.as_f64().filter(|n| n.fract() == 0.0).map(|n| n as i64));
            match whole {
                None => mismatch("a whole number"),
                Some(whole) if i32::try_from(whole).is_err() => {
                    mismatch(&format!("a whole number from {} to {}", i32::MIN, i32::MAX))
                }
                Some(whole) => Ok(Value::from(whole)),
            }
        }
        (Some("integer"), _) => mismatch("a whole number"),
        (Some("number"), Value::Number(_)) | (Some("boolean"), Value::Bool(_)) | (Some("string"), Value::String(_)) => {
            Ok(value.clone())
        }
        (Some("number"), _) => mismatch("a number"),
        (Some("boolean"), _) => mismatch("true or false"),
        (Some("string"), _) => mismatch("a text"),
        (Some("array"), Value::Array(items)) => {
            let item = schema.get("items").unwrap_or(&Value::Null);
            // A nested structure is read as a whole, so its list is what does not fit.
            if item.get("type").is_some_and(|kind| kind == "object") {
                let fits = items.iter().all(|one| one.is_object() || one.is_null());
                return if fits { Ok(value.clone()) } else { mismatch("a list") };
            }
            let fit = |(index, one): (usize, &Value)| match one {
                Value::Null => Ok(Value::Null),
                one => fitted(tool, &format!("{at}[{index}]"), one, item),
            };
            items.iter().enumerate().map(fit).collect::<Result<Vec<Value>, Fault>>().map(Value::from)
        }
        (Some("array"), _) => mismatch("a list"),
        (Some("object"), Value::Object(_)) | (None, _) => Ok(value.clone()),
        _ => mismatch("an object"),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
