//! The arguments of a call, as they stand on the command line.

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::limits::CLIENT_LINE_MAX_BYTES;
use crate::platform::stdio::Stdin;
use crate::protocol::dialect::InputSchema;
use crate::protocol::jsonrpc::quote_into;

/// What is said of a mistake.
const EXAMPLE: &str = r#"give a JSON object such as '{"Name":"value"}', quoted for your shell, or @FILE, or - for stdin, or NAME=VALUE pairs"#;

/// The arguments as they were given.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli) enum Given {
    /// A JSON object, as it was written.
    Json(String),
    /// Names and values. What a text becomes follows from the tool's schema.
    Pairs(Vec<(String, Said)>),
}

impl Given {
    /// Returns the bytes of the names and values.
    pub(in crate::cli) fn bytes(&self) -> usize {
        let of_pair = |(name, said): &(String, Said)| {
            let (Said::Text(value) | Said::Content(value) | Said::Json(value)) = said;
            name.len() + value.len()
        };
        match self {
            Self::Json(json) => json.len(),
            Self::Pairs(pairs) => pairs.iter().map(of_pair).sum(),
        }
    }
}

/// The value of a pair.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli) enum Said {
    /// `NAME=VALUE`.
    Text(String),
    /// `NAME=@FILE`: what the file holds.
    Content(String),
    /// `NAME:=JSON`.
    Json(String),
}

/// Reads the arguments: a JSON object from the command line, a file or stdin, or pairs.
///
/// # Errors
/// The mistake, with the fix, as one sentence without its end.
pub(super) fn read(given: &[String]) -> Result<Given, String> {
    let (text, from) = match given {
        [] => return Ok(Given::Json("{}".to_owned())),
        [one] if one == "-" => (bounded(Stdin, "stdin")?, "stdin".to_owned()),
        [one] if one.starts_with('@') => (file(Path::new(&one[1..]))?, format!("the file {}", &one[1..])),
        [one] if !one.contains('=') || one.trim_start().starts_with(['{', '[', '"']) => {
            (one.clone(), "the argument".to_owned())
        }
        pairs => return pairs.iter().map(|pair| read_pair(pair)).collect::<Result<_, _>>().and_then(once_each),
    };
    let text = text.trim_start_matches('\u{feff}').trim();
    match serde_json::from_str::<&RawValue>(text) {
        Err(error) => Err(format!("{from} is not JSON ({error}); {EXAMPLE}")),
        Ok(raw) if !raw.get().starts_with('{') => Err(format!("{from} is JSON, but not an object; {EXAMPLE}")),
        Ok(raw) => Ok(Given::Json(raw.get().to_owned())),
    }
}

fn read_pair(pair: &str) -> Result<(String, Said), String> {
    let Some((name, value)) = pair.split_once('=') else {
        return Err(format!("`{pair}` is no NAME=VALUE; {EXAMPLE}"));
    };
    let (name, said) = match (name.strip_suffix(':'), value.strip_prefix('@')) {
        (Some(name), _) => match serde_json::from_str::<&RawValue>(value.trim()) {
            Ok(raw) => (name, Said::Json(raw.get().to_owned())),
            Err(error) => {
                return Err(format!("the value of `{name}` is not JSON ({error}); with {name}=VALUE it is a text"));
            }
        },
        (None, Some(path)) => (name, Said::Content(file(Path::new(path))?)),
        (None, None) => (name, Said::Text(value.to_owned())),
    };
    if name.is_empty() { Err(format!("`{pair}` names no argument; {EXAMPLE}")) } else { Ok((name.to_owned(), said)) }
}

fn once_each(pairs: Vec<(String, Said)>) -> Result<Given, String> {
    let mut seen = HashSet::new();
    match pairs.iter().find(|(name, _)| !seen.insert(name.as_str())) {
        Some((name, _)) => Err(format!("`{name}` is given twice; give several values as {name}:='[…]'")),
        None => Ok(Given::Pairs(pairs)),
    }
}

/// Makes the JSON object of pairs. A text stays one if the tool takes a text there, or if its schema is not known and the text is neither
/// a number nor true, false or null.
///
/// # Errors
/// As for [`read`].
pub(super) fn object(pairs: &[(String, Said)], schema: Option<&InputSchema>) -> Result<String, String> {
    let mut object = "{".to_owned();
    for (name, said) in pairs {
        if object.len() > 1 {
            object.push(',');
        }
        quote_into(&mut object, name);
        object.push(':');
        match said {
            Said::Json(json) => object.push_str(json),
            Said::Content(text) => quote_into(&mut object, text),
            Said::Text(text) => {
                let kinds = schema.and_then(|schema| schema.property(name)).map(|schema| kinds(&schema));
                match json_of(text, kinds.as_deref()) {
                    Ok(Some(json)) => object.push_str(json),
                    Ok(None) => quote_into(&mut object, text),
                    Err(kinds) => {
                        return Err(format!(
                            "`{name}` takes {kinds}, and \"{text}\" is none; {name}:=JSON gives any value"
                        ));
                    }
                }
            }
        }
    }
    object.push('}');
    Ok(object)
}

/// Returns the text as JSON if it is meant so; `None` if it is meant as a text.
///
/// # Errors
/// What the tool takes, if it is neither.
fn json_of<'t>(text: &'t str, kinds: Option<&[String]>) -> Result<Option<&'t str>, String> {
    let trimmed = text.trim();
    let value = serde_json::from_str::<Value>(trimmed).ok();
    match kinds {
        Some(kinds) if kinds.iter().any(|kind| kind == "string") => Ok(None),
        Some(kinds) if !kinds.is_empty() => {
            let is_taken = value.is_some_and(|value| kinds.iter().any(|kind| is_of(&value, kind)));
            if is_taken { Ok(Some(trimmed)) } else { Err(kinds.join(" or ")) }
        }
        Some(_) | None => {
            let is_plain = value.is_some_and(|value| value.is_number() || value.is_boolean() || value.is_null());
            Ok(is_plain.then_some(trimmed))
        }
    }
}

/// The types that a schema names. Empty: it names none.
fn kinds(schema: &Value) -> Vec<String> {
    let named = |schema: &Value| match schema.get("type") {
        Some(Value::String(kind)) => vec![kind.clone()],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(|kind| Some(kind.as_str()?.to_owned())).collect(),
        _ => Vec::new(),
    };
    let choices = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
    named(schema).into_iter().chain(choices.flat_map(named)).collect()
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

/// Returns what a file holds; of `-`, what stdin gives.
///
/// # Errors
/// As for [`read`].
pub(in crate::cli) fn file_or_stdin(path: &Path) -> Result<String, String> {
    if path == Path::new("-") { bounded(Stdin, "stdin") } else { file(path) }
}

fn file(path: &Path) -> Result<String, String> {
    let name = path.display().to_string();
    let file = std::fs::File::open(path)
        .map_err(|error| format!("the file {name} cannot be read ({error}); name a file that is there"))?;
    bounded(file, &name)
}

fn bounded(from: impl Read, name: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    from.take(CLIENT_LINE_MAX_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("{name} cannot be read ({error})"))?;
    if bytes.len() > CLIENT_LINE_MAX_BYTES {
        return Err(format!(
            "{name} holds more than {CLIENT_LINE_MAX_BYTES} bytes, the most that is taken; send less at once"
        ));
    }
    String::from_utf8(bytes).map_err(|_| format!("{name} is not UTF-8; save it as UTF-8"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn given(words: &[&str]) -> Result<Given, String> {
        read(&words.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    fn made(words: &[&str], schema: Option<Value>) -> Result<String, String> {
        let schema = schema.as_ref().and_then(Value::as_object).map(InputSchema::from);
        match given(words)? {
            Given::Json(json) => Ok(json),
            Given::Pairs(pairs) => object(&pairs, schema.as_ref()),
        }
    }

    #[test]
    fn an_object_is_kept_as_it_was_written_and_a_mistake_has_a_fix() {
        assert_eq!(made(&[], None).as_deref(), Ok("{}"));
        assert_eq!(made(&[" {\"n\": 1.50, \"t\":\"a=b\"} "], None).as_deref(), Ok("{\"n\": 1.50, \"t\":\"a=b\"}"));
        for bad in ["", "{", "[1]", "1", "{}x", "[\"a=b\"]", "word"] {
            let fix = given(&[bad]).unwrap_err();
            assert!(fix.contains("JSON object"), "{bad}: {fix}");
        }
        assert!(given(&["@/no/such/file"]).unwrap_err().contains("cannot be read"));
    }

    #[test]
    fn a_pair_becomes_what_the_tool_takes() {
        let schema = json!({"properties": {
            "Text": {"type": "string"}, "Count": {"type": "integer"}, "On": {"type": ["boolean", "null"]},
            "Any": {}, "Either": {"anyOf": [{"type": "number"}, {"type": "string"}]}, "List": {"type": "array"},
        }});
        for (words, object) in [
            (vec!["Text=20", "Count=20"], r#"{"Text":"20","Count":20}"#),
            (vec!["On=true"], r#"{"On":true}"#),
            (vec!["Either=1"], r#"{"Either":"1"}"#),
            (vec!["Any=1", "Other=true"], r#"{"Any":1,"Other":true}"#),
            (vec!["Any=a b=c"], r#"{"Any":"a b=c"}"#),
            (vec!["Text="], r#"{"Text":""}"#),
            (vec!["List=[1, 2]"], r#"{"List":[1, 2]}"#),
            (vec!["Text:=null", "Any:=\"1\""], r#"{"Text":null,"Any":"1"}"#),
        ] {
            assert_eq!(made(&words, Some(schema.clone())).as_deref(), Ok(object), "{words:?}");
        }
        assert_eq!(made(&["Count=20", "Name=x"], None).as_deref(), Ok(r#"{"Count":20,"Name":"x"}"#));
        for (words, says) in [
            (vec!["Count=many"], "takes integer"),
            (vec!["Count=1.5"], "takes integer"),
            (vec!["On=yes"], "takes boolean or null"),
            (vec!["List=a"], "takes array"),
            (vec!["Text:=x"], "not JSON"),
            (vec!["=x"], "names no argument"),
            (vec!["Text=a", "Text=b"], "twice"),
            (vec!["Text=a", "b"], "no NAME=VALUE"),
            (vec!["Text=@/no/such/file"], "cannot be read"),
        ] {
            let fix = made(&words, Some(schema.clone())).unwrap_err();
            assert!(fix.contains(says), "{words:?}: {fix}");
        }
    }

    #[test]
    fn a_file_is_the_value_of_a_pair() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("code.cs");
        std::fs::write(&path, "return \"1\";\n").unwrap();
        let pair = format!("Code=@{}", path.display());
        assert_eq!(made(&[&pair], None).as_deref(), Ok("{\"Code\":\"return \\\"1\\\";\\n\"}"));
    }
}
