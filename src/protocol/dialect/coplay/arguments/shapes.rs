//! Vectors, colours, and lists of objects.

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::super::members::Members;
use super::sent::{Sent, Why};
use super::values;

/// Returns three numbers.
pub(super) fn vector(raw: &RawValue) -> Result<String, Why> {
    let must = || "must be [x, y, z] or {x, y, z}".to_owned();
    let parts = parts(raw, &["x", "y", "z"]).filter(|parts| parts.len() == 3).ok_or_else(must)?;
    Ok(format!("[{}]", parts.join(",")))
}

/// Returns the numbers of a list, of an object's members of these names, or of a text that holds one of these or numbers between
/// commas. They keep their text.
fn parts(raw: &RawValue, names: &[&str]) -> Option<Vec<String>> {
    let number = |raw: &RawValue| values::number(raw).ok().flatten();
    match raw.get().as_bytes().first()? {
        b'[' => serde_json::from_str::<Vec<&RawValue>>(raw.get()).ok()?.into_iter().map(number).collect(),
        b'{' => {
            let members = Members::of(raw)?;
            let of = |name: &&str| values::member(&members, name).map(number);
            names.iter().filter_map(of).collect()
        }
        b'"' => {
            let text = values::text(raw)?;
            match values::read(&text).filter(|json| json.get().starts_with(['[', '{'])) {
                Some(json) => parts(&json, names),
                None => {
                    let text = text.trim().trim_matches(['(', ')', '[', ']']);
                    let split = |letter: char| letter == ',' || letter.is_whitespace();
                    let words = text.split(split).filter(|word| !word.is_empty());
                    words.map(|word| number(&RawValue::from_string(Value::from(word).to_string()).ok()?)).collect()
                }
            }
        }
        _ => None,
    }
}

/// Red, green, blue and alpha.
struct Color {
    parts: Vec<f64>,
    /// Whether the parts are surely of 255.
    is_hex: bool,
}

/// What a colour must be.
fn no_color() -> Why {
    "must be a colour: [r, g, b, a], {r, g, b, a} or #RRGGBB".to_owned()
}

fn read_color(raw: &RawValue) -> Result<Color, Why> {
    if let Some(hex) = values::text(raw).and_then(|text| text.trim().strip_prefix('#').map(str::to_owned)) {
        let digits: Option<Vec<u32>> = hex.chars().map(|digit| digit.to_digit(16)).collect();
        let mut parts: Vec<u32> = match digits.as_deref() {
            Some(short @ [_, _, _]) => short.iter().map(|digit| digit * 17).collect(),
            Some(long) if matches!(long.len(), 6 | 8) => {
                long.chunks_exact(2).map(|two| two.iter().fold(0, |sum, digit| sum * 16 + digit)).collect()
            }
            _ => return Err(no_color()),
        };
        parts.resize(4, 255);
        return Ok(Color { parts: parts.into_iter().map(f64::from).collect(), is_hex: true });
    }
    let parts = parts(raw, &["r", "g", "b", "a"]).filter(|parts| matches!(parts.len(), 3 | 4)).ok_or_else(no_color)?;
    let parts: Option<Vec<f64>> =
        parts.iter().map(|part| part.parse().ok().filter(|part: &f64| part.is_finite())).collect();
    Ok(Color { parts: parts.ok_or_else(no_color)?, is_hex: false })
}

/// Returns a colour of four numbers from 0 to 1. One with a larger number is of 255.
pub(super) fn color(raw: &RawValue) -> Result<String, Why> {
    let Color { mut parts, is_hex } = read_color(raw)?;
    if is_hex || parts.iter().any(|part| *part > 1.0) {
        parts.iter_mut().for_each(|part| *part /= 255.0);
    }
    parts.resize(4, 1.0);
    Ok(Value::from(parts).to_string())
}

/// Returns a colour of four numbers from 0 to 255. One with no number above 1 is of 1.
pub(super) fn color_bytes(raw: &RawValue) -> Result<String, Why> {
    let Color { mut parts, is_hex } = read_color(raw)?;
    if !is_hex && parts.iter().all(|part| (0.0..=1.0).contains(part)) {
        parts.iter_mut().for_each(|part| *part = (*part * 255.0).round_ties_even());
    }
    parts.resize(4, 255.0);
    let parts: Vec<String> = parts.iter().map(|part| format!("{:.0}", part.trunc().clamp(0.0, 255.0))).collect();
    Ok(format!("[{}]", parts.join(",")))
}

/// Returns components to add, each as its name or as an object with `typeName`.
pub(super) fn components(raw: &RawValue) -> Result<Option<String>, Why> {
    let must = || "must have the name of a type, or an object with `typeName`, for each component".to_owned();
    let text = values::text(raw);
    if let Some(text) = &text {
        if values::is_blank(text) {
            return Ok(None);
        }
        if !text.trim_start().starts_with(['[', '{']) {
            return Ok(Some(format!("[{}]", raw.get())));
        }
    }
    let read = text.map(|text| values::read(&text).ok_or_else(must)).transpose()?;
    let items = items(read.as_deref().unwrap_or(raw)).ok_or_else(must)?;
    let component = |raw: &&RawValue| {
        let Some(members) = Members::of(raw) else { return values::text(raw).map(|_| raw.get().to_owned()) };
        let mut sent = Sent::default();
        for (name, value) in members.unique() {
            sent.push(if name == "type_name" { "typeName" } else { name }, value.get());
        }
        sent.text("typeName").map(|_| sent.json())
    };
    let whole: Option<Vec<String>> = items.iter().map(component).collect();
    Ok(Some(format!("[{}]", whole.ok_or_else(must)?.join(","))))
}

/// The items of a list, or an object alone.
fn items(raw: &RawValue) -> Option<Vec<&RawValue>> {
    match raw.get().as_bytes().first()? {
        b'[' => serde_json::from_str(raw.get()).ok(),
        b'{' => Some(vec![raw]),
        _ => None,
    }
}

/// Returns an object to add, or a list of such, with its place as vectors.
pub(super) fn children(raw: &RawValue) -> Result<String, Why> {
    let must = || "must be an object or a list of objects".to_owned();
    let mut whole = Vec::new();
    for item in items(raw).ok_or_else(must)? {
        let mut sent = Sent::default();
        for (name, value) in Members::of(item).ok_or_else(must)?.unique() {
            let is_vector = ["position", "rotation", "scale"].contains(&name) && value.get() != "null";
            let value = if is_vector {
                vector(value).map_err(|why| format!("has a {name} that {why}"))?
            } else {
                value.get().to_owned()
            };
            sent.push(name, &value);
        }
        whole.push(sent.json());
    }
    let whole = whole.join(",");
    Ok(if raw.get().starts_with('[') { format!("[{whole}]") } else { whole })
}

/// Returns the commands of a batch, each with its name and its parameters.
pub(super) fn commands(raw: &RawValue) -> Result<String, Why> {
    let must = || "must be a list of commands, each with `tool` and `params`".to_owned();
    let list = values::list(raw)?.ok_or_else(must)?;
    let items: Vec<&RawValue> = serde_json::from_str(&list).map_err(|_| must())?;
    let command = |raw: &RawValue| {
        let members = Members::of(raw)?;
        let of = |name: &str| values::member(&members, name);
        let tool = of("tool").filter(|tool| values::text(tool).is_some_and(|text| !text.is_empty()))?;
        let params = of("params").map(RawValue::get).filter(|params| *params != "null").unwrap_or("{}");
        params.starts_with('{').then(|| format!("{{\"tool\":{},\"params\":{params}}}", tool.get()))
    };
    let whole: Option<Vec<String>> = items.into_iter().map(command).collect();
    let whole = whole.filter(|whole| !whole.is_empty()).ok_or_else(must)?;
    Ok(format!("[{}]", whole.join(",")))
}
