//! The three forms of a command: an object in every version; from 0.6 on also a list of words and a line.

use serde_json::{Map, Value, json};

use super::catalogue;
use super::reply::Failure;
use super::versions::V0_6;
use crate::package_version::PackageVersion;
use crate::spec::{Kind, Param, Tool, ToolSpec};

/// A command as it was given.
pub(super) struct Form {
    pub(super) command: String,
    /// An object of values by their names, or the words behind the command.
    pub(super) parameters: Value,
    /// Whether it was given as words. Only these are checked strictly.
    pub(super) is_raw: bool,
}

/// Reads a body.
///
/// # Errors
/// It has no command, or more than one form of it.
pub(super) fn read(version: PackageVersion, body: &Value) -> Result<Form, Failure> {
    let invalid = |why: &str| Failure::of(400, "Invalid Request", why);
    let raw = ["argv", "commandLine"].into_iter().filter_map(|name| body.get(name)).filter(|_| version >= V0_6);
    let raw: Vec<&Value> = raw.collect();
    let command = body.get("command").and_then(Value::as_str).filter(|command| !command.is_empty());
    match (raw.as_slice(), command) {
        ([], Some(command)) => Ok(Form {
            command: command.to_owned(),
            parameters: body.get("parameters").cloned().unwrap_or_default(),
            is_raw: false,
        }),
        ([one], None) if body.get("parameters").is_none() => {
            let words = match one {
                Value::Array(words) => words.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
                other => split(other.as_str().unwrap_or_default()),
            };
            let (command, rest) = words.split_first().ok_or_else(|| invalid("There is no command"))?;
            Ok(Form { command: command.clone(), parameters: json!(rest), is_raw: true })
        }
        ([], None) => Err(invalid("There is no command")),
        _ => Err(invalid("A command is given in one form")),
    }
}

/// Splits a line at its blanks. Quotes hold words together.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            blank if blank.is_whitespace() && !is_quoted => words.extend(take(&mut word)),
            other => word.push(other),
        }
    }
    words.extend(take(&mut word));
    words
}

fn take(word: &mut String) -> Option<String> {
    Some(std::mem::take(word)).filter(|word| !word.is_empty())
}

/// Binds words to parameters: `--name value`, `--name=value`, or by their place.
///
/// # Errors
/// A word fits no parameter.
pub(super) fn bind(spec: &'static ToolSpec, words: &Value) -> Result<Map<String, Value>, Failure> {
    let mut bound = Map::new();
    let mut words = words.as_array().into_iter().flatten().filter_map(Value::as_str).peekable();
    while let Some(word) = words.next() {
        let named = word.strip_prefix("--").map(|rest| rest.split_once('=').unwrap_or((rest, "")));
        let param = match named {
            Some(("", _)) => return Err(refused(spec, "emptyName", word, &[])),
            Some((name, _)) => {
                let known = spec.params.iter().position(|param| param.name == name);
                known.ok_or_else(|| refused(spec, "unknownName", name, &[]))?
            }
            None if word.starts_with('-') && word.parse::<f64>().is_err() => {
                return Err(refused(spec, "singleDash", word, &[]));
            }
            None => {
                let free = spec.params.iter().position(|param| !bound.contains_key(param.name));
                free.ok_or_else(|| refused(spec, "excessPositional", word, &[]))?
            }
        };
        let (declared, (dotnet, _)) = (&spec.params[param], catalogue::type_of(spec, param));
        let text = match named {
            None => word,
            Some((_, value)) if word.contains('=') => value,
            // A flag may stand alone.
            Some(_) if declared.kind == Kind::Flag && words.peek().is_none_or(|next| next.starts_with("--")) => "true",
            Some((name, _)) => words.next().ok_or_else(|| refused(spec, "emptyValue", name, &[]))?,
        };
        let value = match declared.kind {
            Kind::Flag => text.parse::<bool>().ok().map(Value::from),
            Kind::Number => text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<f64>().map(Value::from)).ok(),
            Kind::Array => serde_json::from_str(text).ok().filter(Value::is_array),
            _ => Some(text.into()),
        };
        let expected = [("expectedType", dotnet)];
        let value = value.ok_or_else(|| refused(spec, "typeMismatch", declared.name, &expected))?;
        if bound.insert(declared.name.to_owned(), value).is_some() {
            return Err(refused(spec, "duplicate", declared.name, &[]));
        }
    }
    Ok(bound)
}

fn refused(spec: &'static ToolSpec, kind: &str, name: &str, more: &[(&str, &str)]) -> Failure {
    let mut problem = json!({"kind": kind, "name": name});
    for (member, value) in more {
        problem[*member] = (*value).into();
    }
    let nearest = spec.params.iter().max_by(|a, b| {
        let likeness = |param: &Param| strsim::jaro(param.name, name);
        likeness(a).total_cmp(&likeness(b))
    });
    if let Some(nearest) = nearest.filter(|_| kind == "unknownName") {
        problem["suggestion"] = nearest.name.into();
    }
    let schema = catalogue::schema(&Tool::from(spec));
    let failure = Failure::of(400, "Invalid Command Arguments", format!("{kind}: {name}"));
    let failure = failure.with("errorCode", "INVALID_COMMAND_ARGS".into()).with("argProblems", json!([problem]));
    failure.with("commandSchema", schema)
}
