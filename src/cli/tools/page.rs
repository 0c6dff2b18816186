//! One tool as it is read in a terminal, in few words: what it does, its arguments, and a call that can be changed and run.

use std::fmt::Write as _;

use serde_json::Value;

use crate::protocol::dialect::InputSchema;
use crate::protocol::text::{clean, first_sentence};

/// The choices of an argument that are shown. Some tools have hundreds.
const CHOICES_MAX: usize = 20;

/// Returns the page of a tool.
pub(super) fn of(name: &str, description: &str, schema: &InputSchema) -> String {
    let schema = Value::Object(schema.parsed());
    let words: Vec<&str> = description.split_whitespace().collect();
    let mut page = format!("{name}: {}\n", clean(&words.join(" ")));
    let required = required(&schema);
    for (argument, of) in properties(&schema) {
        let must = if required.contains(&argument) { ", required" } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(page, "  {} ({}{must})", clean(argument), kind(of));
        if let Some(says) = of.get("description").and_then(Value::as_str) {
            let says = first_sentence(says);
            let end = if says.ends_with(['.', '!', '?']) { "" } else { "." };
            let _ = write!(page, " {says}{end}");
        }
        if let Some(default) = of.get("default").filter(|default| !default.is_null()) {
            let _ = write!(page, " Default: {default}.");
        }
        page.push('\n');
    }
    let _ = write!(page, "Example: {}", example(name, &schema));
    page
}

fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(name, of)| (name.as_str(), of))
}

fn required(schema: &Value) -> Vec<&str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// What an argument takes: its choices, or its types.
fn kind(of: &Value) -> String {
    if let Some(choices) = of.get("enum").and_then(Value::as_array) {
        let more = if choices.len() > CHOICES_MAX { ", …" } else { "" };
        let shown = choices.iter().take(CHOICES_MAX).map(|choice| match choice {
            Value::String(text) => clean(text),
            other => other.to_string(),
        });
        return format!("{}{more}", shown.collect::<Vec<_>>().join("|"));
    }
    match of.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("|"),
        _ => "any".to_owned(),
    }
}

/// Returns a command line that has all required arguments.
fn example(name: &str, schema: &Value) -> String {
    let required = required(schema);
    let mut line = format!("holdfast call {name}");
    for (argument, of) in properties(schema).filter(|(argument, _)| required.contains(argument)) {
        let first = of.get("enum").and_then(Value::as_array).and_then(|choices| choices.first());
        let value = match (of.get("default").filter(|default| !default.is_null()).or(first), of.get("type")) {
            (Some(Value::String(text)), _) => format!("={text}"),
            (Some(other @ (Value::Number(_) | Value::Bool(_))), _) => format!("={other}"),
            (Some(other), _) => format!(":={other}"),
            (None, Some(Value::String(kind))) => match kind.as_str() {
                "integer" | "number" => "=1".to_owned(),
                "boolean" => "=true".to_owned(),
                "array" => ":=[]".to_owned(),
                "object" => ":={}".to_owned(),
                _ => "=TEXT".to_owned(),
            },
            (None, _) => "=TEXT".to_owned(),
        };
        let word = format!("{argument}{value}");
        let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "_-=:./@".contains(c));
        let _ = if is_plain { write!(line, " {word}") } else { write!(line, " '{}'", word.replace('\'', "'\\''")) };
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_has_each_argument_and_a_call_with_the_required_ones() {
        let schema = json!({
            "type": "object",
            "properties": {
                "Action": {"type": "string", "enum": ["play now", "stop"], "description": "What to do. Or not."},
                "Count": {"type": "integer", "default": 5},
                "Names": {"type": "array"},
                "On": {"type": ["boolean", "null"]},
            },
            "required": ["Action", "Names"],
        });
        let schema = InputSchema::from(schema.as_object().unwrap());
        assert_eq!(
            of("play-mode", "Starts\nand stops.", &schema),
            "play-mode: Starts and stops.\n  Action (play now|stop, required) What to do.\n  Count (integer) Default: 5.\n  \
             Names (array, required)\n  On (boolean|null)\nExample: holdfast call play-mode 'Action=play now' 'Names:=[]'"
        );
        assert_eq!(
            of("compile", "Compiles.", &InputSchema::default()),
            "compile: Compiles.\nExample: holdfast call compile"
        );
    }
}
