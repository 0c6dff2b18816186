//! Makes answers of replies: the result of a command, whether it failed, its images, and what the server adds.

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::super::members::Members;
use super::super::wreck::{self, says_failure};
use super::super::{AnswerBody, EditorAnswer, Reply};
use super::errors::{self, THREW, UNFIT};
use super::followed;

/// The members that report a failure of the command itself when they are `false`. The synchronous tests have capitals.
const SUCCESS: &[&str] = &["success", "Success"];
/// How the base64 of images begins: PNG and JPEG.
const IMAGES: [(&str, &str); 2] = [("iVBORw0KGgo", "image/png"), ("/9j/", "image/jpeg")];
/// No image that a person would look at has fewer bytes of base64.
const IMAGE_MIN_BYTES: usize = 64;

/// Converts the reply to a call, or what is said of its job that has ended, into an answer.
pub(super) fn read(reply: Reply) -> EditorAnswer {
    match reply {
        Reply::Error(error) => {
            let hint = match error.message.as_str() {
                message if message.starts_with(THREW) => " It may have run in part.",
                message if message.starts_with(UNFIT) => " Most likely nothing of it ran, but that is not certain.",
                _ if error.refusal.is_some() => " Nothing of the call ran.",
                _ => "",
            };
            let stop = if error.message.ends_with(['.', '!', '?']) { "" } else { "." };
            EditorAnswer { is_error: true, body: AnswerBody::Text(format!("{}{stop}{hint}", error.message)) }
        }
        Reply::Wreck(wreck) => {
            let failed = says_failure(&wreck.bytes, SUCCESS, false);
            wreck.answer(failed, Vec::new())
        }
        Reply::Result(said) => of_result(&said),
    }
}

fn of_result(said: &RawValue) -> EditorAnswer {
    let none = Members::default();
    let members = Members::of(said).unwrap_or(none);
    let text = |name: &str| members.find(name).and_then(|raw| wreck::text(raw.get().as_bytes()));
    if text("state").as_deref() == Some("canceled") {
        let says = "Unity cancelled it after it had begun: it may have run, in part or to its end.";
        return EditorAnswer { is_error: true, body: AnswerBody::Text(says.to_owned()) };
    }
    let result = members.find("result").filter(|result| result.get() != "null");
    let is_status = text("command").is_some_and(|command| command.ends_with("_status"));
    let result = result.map(|result| if is_status { unwrapped(result) } else { result.to_owned() });
    let outer = says_failure(said.get().as_bytes(), SUCCESS, false) == Some(true);
    let inner =
        result.as_ref().is_some_and(|result| says_failure(result.get().as_bytes(), SUCCESS, false) == Some(true));
    let tests = result.as_ref().is_some_and(|result| followed::tells_of_failed_tests(result));
    let is_error = outer || inner || tests;
    let mut blocks = Vec::new();
    let body = match result {
        None => AnswerBody::Text(
            if outer { "The command failed." } else { "Executed; the command returned nothing." }.to_owned(),
        ),
        Some(result) => {
            let result = without_images(&result, &mut blocks).unwrap_or(result);
            match wreck::text(result.get().as_bytes()) {
                Some(text) if blocks.is_empty() => AnswerBody::Text(text),
                _ if blocks.is_empty() => AnswerBody::Json(result),
                _ => AnswerBody::JsonAndBlocks(result, blocks),
            }
        }
    };
    let answer = EditorAnswer { is_error, body };
    notes(&members).into_iter().fold(answer, |answer, note| answer.with_note(&note))
}

/// What the server adds to a result: warnings, and dialogs that were open while the command ran.
fn notes(members: &Members<'_>) -> Vec<String> {
    let list = |name: &str| -> Option<Value> { serde_json::from_str(members.find(name)?.get()).ok() };
    let warnings = list("warnings").as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
    let warnings = warnings
        .iter()
        .map(|warning| format!("Warning: {}", warning.as_str().map_or_else(|| warning.to_string(), str::to_owned)));
    let dialogs = errors::dialogs(list("dialogsDuringExecution").as_ref());
    warnings.chain(dialogs.into_iter().map(|dialog| format!("While it ran, {dialog} was open in Unity."))).collect()
}

/// The status commands say JSON in a text before 0.8, and an object from then on.
fn unwrapped(result: &RawValue) -> Box<RawValue> {
    let text = wreck::text(result.get().as_bytes());
    let inner =
        text.filter(|text| text.trim_start().starts_with('{')).and_then(|text| RawValue::from_string(text).ok());
    inner.unwrap_or_else(|| result.to_owned())
}

/// Takes images out of a result, which are base64 in it: each becomes a block. `None` if there is none.
fn without_images(result: &RawValue, blocks: &mut Vec<Box<RawValue>>) -> Option<Box<RawValue>> {
    if !IMAGES.iter().any(|(begin, _)| result.get().contains(begin)) {
        return None;
    }
    let mut value: Value = serde_json::from_str(result.get()).ok()?;
    take_images(&mut value, blocks);
    if blocks.is_empty() { None } else { to_raw_value(&value).ok() }
}

fn take_images(value: &mut Value, blocks: &mut Vec<Box<RawValue>>) {
    match value {
        Value::String(text) => {
            let data = text.split_once(";base64,").filter(|(head, _)| head.starts_with("data:image/"));
            let data = data.map_or(text.as_str(), |(_, data)| data);
            let kind = IMAGES.iter().find(|(begin, _)| data.starts_with(begin));
            if let Some((_, mime)) = kind.filter(|_| data.len() >= IMAGE_MIN_BYTES) {
                let block = json!({"type": "image", "data": data, "mimeType": mime});
                blocks.extend(to_raw_value(&block));
                *text = "(the image follows)".to_owned();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| take_images(item, blocks)),
        Value::Object(members) => members.values_mut().for_each(|member| take_images(member, blocks)),
        _ => {}
    }
}
