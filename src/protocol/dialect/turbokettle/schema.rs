//! The package's `parameterSchema`, a text that it puts together by hand, into JSON Schema.
//!
//! Numbers in it are printed as people write them in the editor's country (`0,5`), and most control characters stand unescaped.
//! An array has no `items`, and `object` is what every type is called that the package has no word for: an enum, which takes a
//! number, is one.

use serde_json::{Map, Value, json};

/// What a tool without a usable schema is offered with, and what its description says of it.
pub(super) struct Unreadable {
    pub(super) schema: Map<String, Value>,
    pub(super) remark: String,
}

/// Converts the text.
///
/// The result is closed (`additionalProperties: false`) as the package's own server makes it: Unity drops what it does not know
/// without a word, and a closed schema lets the AI see its mistake.
///
/// # Errors
/// [`Unreadable`]: it cannot be read, and any argument may be right.
pub(super) fn convert(text: Option<&str>) -> Result<Map<String, Value>, Unreadable> {
    let text = text.map(str::trim).filter(|text| !text.is_empty()).ok_or_else(|| unreadable("says nothing of them"))?;
    let read: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(_) => serde_json::from_str(&mended(text)).map_err(|_| unreadable("describes them in broken JSON"))?,
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

/// The text with its decimal commas as points and its control characters escaped. In an object a comma between two digits can
/// be nothing else: what follows a member begins with a quotation mark. In an array it separates.
fn mended(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let mut before = ' ';
    let (mut in_text, mut escaped) = (false, false);
    let mut in_array: Vec<bool> = Vec::new();
    while let Some(letter) = letters.next() {
        match letter {
            control if in_text && control < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(control))),
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
