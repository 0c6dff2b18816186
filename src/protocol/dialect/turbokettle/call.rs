//! Prepares calls and reads their answers.

use std::collections::HashSet;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::super::members::Members;
use super::super::wreck::{self, Wreck, says_failure};
use super::super::{AnswerBody, EditorAnswer, EditorTool, PreparedCall, Reply};
use super::{schema, wire};
use crate::limits::JSON_DEPTH_MAX;
use crate::protocol::jsonrpc;

/// The tool that can cause a domain reload, and the argument that decides whether it does.
const MENU: (&str, &str) = ("execute_menu_item", "path");
/// Menu entries that cause a domain reload if there is something to compile. Case is ignored.
const RELOADING_ENTRIES: [&str; 2] = ["Assets/Refresh", "Assets/Reimport All"];
/// Prefix of the package's error text after a tool threw an exception.
const THREW: &str = "Command failed: ";

/// Prepares a call. Adds the defaults that the package's own server sends. Also repeats each argument under its camel-case name.
///
/// The package lists a parameter `myParam` as `my_param`, but accepts it only as `myParam` and ignores unknown names.
pub(super) fn prepare(name: &str, tool: Option<&EditorTool>, arguments: &RawValue) -> PreparedCall {
    let ready = PreparedCall::as_given(arguments);
    let Ok(members) = serde_json::from_str::<Members<'_>>(arguments.get()) else { return ready };
    let names: HashSet<&str> = members.iter().map(|(key, _)| key).collect();
    let given = |name: &str| names.contains(name);
    let none = Map::new();
    let schema = tool.map(|tool| tool.input_schema.parsed()).unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required = |name: &str| {
        let names = schema.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|required| required == name))
    };
    let defaults = properties.iter().filter_map(|(name, described)| {
        let default = described.get("default")?;
        let wanted = !required(name) && !given(name) && !camel(name).is_some_and(|other| given(&other));
        wanted.then(|| (name.clone(), default.to_string()))
    });
    let mut added: Vec<(String, String)> = defaults.collect();
    let all: Vec<(String, String)> =
        members.iter().map(|(key, raw)| (key.to_owned(), raw.get().to_owned())).chain(added.iter().cloned()).collect();
    // If several members have the same name, Unity uses the last one.
    let mut spelled: HashSet<String> = added.iter().map(|(name, _)| name.clone()).collect();
    for (key, text) in all.iter().rev() {
        let Some(other) = camel(key) else { continue };
        if !properties.contains_key(&other) && !given(&other) && spelled.insert(other.clone()) {
            added.push((other, text.clone()));
        }
    }
    let added: Vec<(&str, String)> = added.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    let spliced = if added.is_empty() { None } else { members.spliced(None, &added) };
    PreparedCall {
        arguments: spliced.unwrap_or_else(|| arguments.to_owned()),
        reload_follows: name == MENU.0 && reloads(&members),
        ..ready
    }
}

fn reloads(members: &Members<'_>) -> bool {
    let path = members.iter().filter(|(key, _)| *key == MENU.1).last();
    let path = path.and_then(|(_, raw)| serde_json::from_str::<String>(raw.get()).ok());
    path.is_some_and(|path| RELOADING_ENTRIES.iter().any(|entry| path.eq_ignore_ascii_case(entry)))
}

/// Turns `my_param` into `myParam`; `None` if that changes nothing. It reverses the package's spelling, which replaces each
/// capital letter except the first letter of the name with `_` and the small letter.
fn camel(name: &str) -> Option<String> {
    let mut out = String::with_capacity(name.len());
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        match letters.next_if(|next| letter == '_' && !out.is_empty() && next.is_lowercase()) {
            Some(next) => out.extend(next.to_uppercase()),
            None => out.push(letter),
        }
    }
    (out != name).then_some(out)
}

/// Converts an editor's reply to a call into an answer.
pub(super) fn read_answer(reply: Reply) -> EditorAnswer {
    let result = match reply {
        Reply::Error(error) => {
            let threw = error.message.starts_with(THREW);
            return said(
                true,
                if threw { sentence(error.message) + " It may have run in part." } else { error.message },
            );
        }
        Reply::Result(result) => result,
        Reply::Wreck(wreck) => {
            let failed = wreck::text(schema::escaped(&String::from_utf8_lossy(&wreck.bytes)).as_bytes())
                .and_then(|text| says_failure(text.as_bytes(), &["success"], true));
            return wreck.answer(failed, Vec::new());
        }
    };
    let Some(text) = wire::data(&result) else {
        return Wreck::of_result(result.get().as_bytes()).answer(None, Vec::new());
    };
    if text.trim().is_empty() {
        return said(false, "Executed; the tool returned nothing.".to_owned());
    }
    let structured = text.trim_start().starts_with(['{', '[']) && jsonrpc::depth_ok(text.as_bytes(), JSON_DEPTH_MAX);
    let Some(raw) = serde_json::from_str::<&RawValue>(&text).ok().filter(|_| structured) else {
        // A text that is not JSON is a result like any other, unless it is an object that reports a failure.
        let failed = says_failure(text.as_bytes(), &["success"], true);
        return said(failed == Some(true), text);
    };
    let members = serde_json::from_str::<Members<'_>>(raw.get()).ok();
    match members.as_ref().map(failure) {
        Some(Failure::Said(message)) => said(true, message),
        failure => {
            let is_error = matches!(failure, Some(Failure::Told));
            EditorAnswer { is_error, body: AnswerBody::Json(raw.to_owned()) }
        }
    }
}

/// Whether a result reports that its tool failed.
enum Failure {
    No,
    /// The tool failed, and the result is more than one message: it has other members, or no message.
    Told,
    /// The tool failed, and this message is the whole result.
    Said(String),
}

fn failure(members: &Members<'_>) -> Failure {
    let is = |key: &str, name: &str| key.eq_ignore_ascii_case(name);
    if !members.iter().any(|(key, raw)| is(key, "success") && raw.get() == "false") {
        return Failure::No;
    }
    let bare = members.iter().all(|(key, _)| is(key, "success") || is(key, "message"));
    let message = members.iter().find(|(key, _)| bare && is(key, "message"));
    let message = message.and_then(|(_, raw)| serde_json::from_str::<String>(raw.get()).ok());
    message.filter(|text| !text.trim().is_empty()).map_or(Failure::Told, Failure::Said)
}

fn said(is_error: bool, text: String) -> EditorAnswer {
    EditorAnswer { is_error, body: AnswerBody::Text(text) }
}

fn sentence(text: String) -> String {
    if text.ends_with(['.', '!', '?']) { text } else { text + "." }
}
