//! Reads configurations with parsers that this crate does not use.
//! `tests/it/setup/reading.rs` of holdfast includes this file too.

use serde_json::Value;

/// Parses the content of a file; its extension gives the format.
pub fn read(name: &str, bytes: &[u8]) -> Value {
    let text = std::str::from_utf8(bytes).expect("UTF-8");
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let read = match name.rsplit('.').next() {
        Some("toml") => basic_toml::from_str(text).map_err(|error| error.to_string()),
        Some("yaml") => serde_yaml_ng::from_str(text).map_err(|error| error.to_string()),
        _ => json(text),
    };
    let value: Value = read.unwrap_or_else(|error| panic!("{error} in\n{text}"));
    if value.is_null() { Value::Object(serde_json::Map::new()) } else { value }
}

/// Reads JSON with comments and trailing commas. An empty text is null.
pub fn json(text: &str) -> Result<Value, String> {
    let plain = plain(text);
    if plain.trim().is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_str(&plain).map_err(|error| format!("{error} in {plain}"))
}

/// Returns the text without comments and trailing commas. Strings stay unchanged.
pub fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.char_indices().peekable();
    while let Some((at, character)) = rest.next() {
        match character {
            '"' => {
                out.push('"');
                while let Some((_, inner)) = rest.next() {
                    out.push(inner);
                    match inner {
                        '\\' => out.extend(rest.next().map(|(_, escaped)| escaped)),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '/' if text[at..].starts_with("//") => while rest.next_if(|(_, next)| *next != '\n').is_some() {},
            '/' if text[at..].starts_with("/*") => {
                let end = at + 2 + text[at + 2..].find("*/").expect("a closed comment") + 2;
                while rest.next_if(|(next, _)| *next < end).is_some() {}
            }
            '}' | ']' => {
                let kept = out.trim_end();
                if let Some(kept) = kept.strip_suffix(',') {
                    out.truncate(kept.len());
                }
                out.push(character);
            }
            other => out.push(other),
        }
    }
    out
}
