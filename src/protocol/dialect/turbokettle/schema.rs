//! Converts the package's `parameterSchema`, a text that the package builds by hand, into JSON Schema.
//!
//! Numbers in the text have the decimal separator of the editor's locale (`0,5`), and most control characters are not escaped. An
//! array has no `items`. The type `object` also stands for every type that the package has no name for, such as an enum, which
//! takes a number.

use serde_json::{Map, Value, json};

/// The schema to offer for a tool whose own schema is unusable, and a remark for the tool's description.
pub(super) struct Unreadable {
    pub(super) schema: Map<String, Value>,
    pub(super) remark: String,
}

/// Converts the text of a `parameterSchema`.
///
/// Unless the text says otherwise, the result is closed (`additionalProperties: false`), as the package's own server makes it.
/// Unity silently drops unknown arguments, and a closed schema shows the AI its mistake.
///
/// # Errors
/// [`Unreadable`]: the text cannot be read, so any argument may be valid.
pub(super) fn convert(text: Option<&str>) -> Result<Map<String, Value>, Unreadable> {
    let text = text.map(str::trim).filter(|text| !text.is_empty()).ok_or_else(|| unreadable("says nothing of them"))?;
    let read: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(_) => serde_json::from_str(&repaired(text)).map_err(|_| unreadable("describes them in broken JSON"))?,
    };
    let Value::Object(mut schema) = read else { return Err(unreadable("describes them as no object")) };
    if schema.get("type").is_some_and(|kind| kind != "object") {
        return Err(unreadable("describes them as no object"));
    }
    schema.insert("type".to_owned(), json!("object"));
    match schema.entry("properties").or_insert_with(|| json!({})) {
        Value::Object(properties) => {
            for described in properties.values_mut().filter_map(Value::as_object_mut) {
                property(described);
            }
        }
        _ => return Err(unreadable("describes them as no object")),
    }
    schema.entry("additionalProperties").or_insert(Value::Bool(false));
    Ok(schema)
}

fn unreadable(why: &str) -> Unreadable {
    let schema = Map::from_iter([("type".to_owned(), json!("object"))]);
    Unreadable { schema, remark: format!("(Its parameters are not known here: its package {why}. Any are passed on.)") }
}

fn property(described: &mut Map<String, Value>) {
    match described.get("type").and_then(Value::as_str) {
        Some("object") => {
            described.shift_remove("type");
        }
        Some("array") => {
            described.entry("items").or_insert_with(|| json!({}));
        }
        _ => {}
    }
}

/// Replaces decimal commas with points and escapes control characters. In an object a comma between two digits must be a decimal
/// comma, because the next member begins with a quotation mark. In an array such a comma separates items and is kept.
fn repaired(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let mut before = ' ';
    let (mut in_text, mut escaped) = (false, false);
    let mut in_array: Vec<bool> = Vec::new();
    while let Some(letter) = letters.next() {
        match letter {
            control if in_text && control < ' ' => push_escaped(&mut out, control),
            ',' if !in_text
                && in_array.last() != Some(&true)
                && before.is_ascii_digit()
                && letters.peek().is_some_and(char::is_ascii_digit) =>
            {
                out.push('.');
            }
            _ => out.push(letter),
        }
        match letter {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            '{' | '[' if !in_text => in_array.push(letter == '['),
            '}' | ']' if !in_text => {
                in_array.pop();
            }
            _ => {}
        }
        before = letter;
    }
    out
}

/// Escapes the control characters of a JSON string.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter < ' ' { push_escaped(&mut out, letter) } else { out.push(letter) }
    }
    out
}

fn push_escaped(out: &mut String, control: char) {
    out.push_str(&format!("\\u{:04x}", u32::from(control)));
}
