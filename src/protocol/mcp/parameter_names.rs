//! The names of a tool's parameters. An API takes `[A-Za-z0-9_.-]{1,64}` and refuses every request with another name,
//! but a property in C# may have any letter. Such a parameter is listed under a safe name, and the editor gets its own
//! name.
//!
//! Source: the error text of Anthropic's API in freee/freee-mcp#15, decocms/studio#6874 and
//! aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws#709 (the same through Bedrock; only
//! the top level is checked). Older texts (apify/tester-mcp-client#69) have no dot, so no dot is put into a name.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::editor_argument::EDITOR_ARGUMENT;
use crate::limits::{LOG_FIELD_MAX_BYTES, PARAMETER_NAME_MAX_BYTES, PARAMETER_NAMES_TOLD_MAX};
use crate::protocol::dialect::OwnName;
use crate::protocol::text::{cut, cut_with_ellipsis};

/// Whether every API takes a name.
pub(super) fn is_fit(name: &str) -> bool {
    (1..=PARAMETER_NAME_MAX_BYTES).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b))
}

/// Returns the listed name of each of these names that is not fit. A name that is taken, in any case of its letters, gets a number.
/// The order of the names means nothing.
pub(super) fn assigned<'n>(names: impl Iterator<Item = &'n str>) -> Vec<OwnName> {
    let (fit, mut odd): (Vec<&str>, Vec<&str>) = names.partition(|name| is_fit(name));
    odd.sort_unstable();
    odd.dedup();
    let mut taken: HashSet<String> = fit.into_iter().chain([EDITOR_ARGUMENT]).map(str::to_ascii_lowercase).collect();
    // The next number for names that are changed to the same name.
    let mut counts: HashMap<String, usize> = HashMap::new();
    let assigned = odd.into_iter().map(|own| {
        let safe = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
        let wish: String = own.chars().take(PARAMETER_NAME_MAX_BYTES).map(safe).collect();
        let wish = if wish.is_empty() { "parameter".to_owned() } else { wish };
        let count = counts.entry(wish.to_ascii_lowercase()).or_insert(1);
        loop {
            let number = if *count > 1 { format!("_{count}") } else { String::new() };
            let listed = format!("{}{number}", cut(&wish, PARAMETER_NAME_MAX_BYTES - number.len()));
            *count += 1;
            if taken.insert(listed.to_ascii_lowercase()) {
                return OwnName { listed, own: own.to_owned() };
            }
        }
    });
    assigned.collect()
}

/// The listed name of each name that is not fit.
pub(super) type Listed<'n> = HashMap<&'n str, &'n str>;

/// Puts the listed names into a schema, and into the branches that describe the same object.
pub(super) fn put(schema: &mut Map<String, Value>, names: &Listed<'_>) {
    for keyword in ["properties", "dependentRequired", "dependentSchemas"] {
        if let Some(Value::Object(members)) = schema.get_mut(keyword) {
            let renamed =
                std::mem::take(members).into_iter().map(|(name, value)| (listed(&name, names).to_owned(), value));
            members.extend(renamed);
        }
    }
    let lists = schema.iter_mut().filter_map(|(keyword, value)| match (keyword.as_str(), value) {
        ("required", Value::Array(list)) => Some(vec![list]),
        ("dependentRequired", Value::Object(lists)) => {
            Some(lists.values_mut().filter_map(Value::as_array_mut).collect())
        }
        _ => None,
    });
    for name in lists.flatten().flatten() {
        if let Some(safe) = name.as_str().map(|name| listed(name, names).to_owned()) {
            *name = safe.into();
        }
    }
    for branch in branches_mut(schema) {
        put(branch, names);
    }
}

/// Adds the names of the properties that the branches of a schema describe of the same object.
pub(super) fn of_branches(schema: &Map<String, Value>, names: &mut HashSet<String>) {
    for (keyword, value) in schema {
        let branches: Vec<&Value> = match (keyword.as_str(), value) {
            ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => branches.iter().collect(),
            ("not" | "if" | "then" | "else", branch) => vec![branch],
            ("dependentSchemas", Value::Object(branches)) => {
                names.extend(branches.keys().cloned());
                branches.values().collect()
            }
            ("dependentRequired", Value::Object(lists)) => {
                names.extend(lists.keys().cloned());
                continue;
            }
            _ => continue,
        };
        for branch in branches.into_iter().filter_map(Value::as_object) {
            let own = branch.get("properties").and_then(Value::as_object);
            names.extend(own.into_iter().flat_map(Map::keys).cloned());
            of_branches(branch, names);
        }
    }
}

fn branches_mut(schema: &mut Map<String, Value>) -> Vec<&mut Map<String, Value>> {
    let branches = schema.iter_mut().filter_map(|(keyword, value)| match (keyword.as_str(), value) {
        ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => Some(branches.iter_mut().collect::<Vec<_>>()),
        ("not" | "if" | "then" | "else", branch) => Some(vec![branch]),
        ("dependentSchemas", Value::Object(branches)) => Some(branches.values_mut().collect()),
        _ => None,
    });
    branches.flatten().filter_map(Value::as_object_mut).collect()
}

fn listed<'n>(name: &'n str, names: &Listed<'n>) -> &'n str {
    names.get(name).copied().unwrap_or(name)
}

/// Adds the editor's own name to a property's description.
pub(super) fn describe(schema: &mut Value, own: &str) {
    let Some(schema) = schema.as_object_mut() else { return };
    let says = format!("Its own name in Unity: `{}`.", cut_with_ellipsis(own, LOG_FIELD_MAX_BYTES));
    let said = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let text = if said.is_empty() { says } else { format!("{said} ({says})") };
    schema.insert("description".to_owned(), text.into());
}

/// The changes of these names in words.
pub(super) fn told(names: &[OwnName]) -> Vec<String> {
    let shown = |name: &str| cut_with_ellipsis(name, LOG_FIELD_MAX_BYTES);
    names
        .iter()
        .take(PARAMETER_NAMES_TOLD_MAX)
        .map(|name| format!("the parameter `{}` is listed as `{}`", shown(&name.own), name.listed))
        .chain(
            (names.len() > PARAMETER_NAMES_TOLD_MAX)
                .then(|| format!("{} more parameters have another name", names.len() - PARAMETER_NAMES_TOLD_MAX)),
        )
        .collect()
}
