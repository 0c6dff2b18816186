//! Plain values: flags, numbers, words, lists. Clients often write them as texts.

use serde_json::value::RawValue;
use serde_json::{Number, Value};

use super::super::super::members::Members;
use super::sent::Why;
use crate::limits::JSON_DEPTH_MAX;
use crate::protocol::jsonrpc::depth_ok;

/// Texts that stand for no value.
const BLANK: [&str; 4] = ["", "null", "none", "undefined"];
const TRUE: [&str; 4] = ["true", "1", "yes", "on"];
const FALSE: [&str; 4] = ["false", "0", "no", "off"];

/// The text that a value is.
pub(super) fn text(raw: &RawValue) -> Option<String> {
    if raw.get().starts_with('"') { serde_json::from_str(raw.get()).ok() } else { None }
}

/// The last member of exactly this name.
pub(super) fn member<'a>(members: &Members<'a>, name: &str) -> Option<&'a RawValue> {
    members.iter().filter(|(key, _)| *key == name).last().map(|(_, raw)| raw)
}

/// Whether a text stands for no value.
pub(super) fn is_blank(text: &str) -> bool {
    BLANK.iter().any(|blank| text.trim().eq_ignore_ascii_case(blank))
}

/// Reads JSON in a text; `None` if it is none, has a number that is too large for a double, or is nested so deep that the message
/// around it could not be read.
pub(super) fn read(text: &str) -> Option<Box<RawValue>> {
    let text = text.trim();
    let is_readable = depth_ok(text.as_bytes(), JSON_DEPTH_MAX / 2) && serde_json::from_str::<Value>(text).is_ok();
    if is_readable { RawValue::from_string(text.to_owned()).ok() } else { None }
}

pub(super) fn flag(raw: &RawValue) -> Result<Option<bool>, Why> {
    let word = text(raw).unwrap_or_else(|| raw.get().to_owned()).trim().to_ascii_lowercase();
    match word.as_str() {
        word if TRUE.contains(&word) => Ok(Some(true)),
        word if FALSE.contains(&word) => Ok(Some(false)),
        word if is_blank(word) => Ok(None),
        _ => Err("must be true or false".to_owned()),
    }
}

pub(super) fn integer(raw: &RawValue) -> Result<Option<String>, Why> {
    let given = text(raw);
    let digits = given.as_deref().unwrap_or(raw.get()).trim();
    if given.is_some() && is_blank(digits) {
        return Ok(None);
    }
    let whole = digits.parse::<i64>().ok().or_else(|| truncated(digits.parse().ok()?));
    whole.map(|whole| Some(whole.to_string())).ok_or_else(|| "must be a whole number".to_owned())
}

/// The whole part of a number, if a double has it exactly.
fn truncated(number: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = number.trunc();
    if whole.abs() <= EXACT { format!("{whole:.0}").parse().ok() } else { None }
}

pub(super) fn number(raw: &RawValue) -> Result<Option<String>, Why> {
    let given = text(raw);
    let digits = given.as_deref().unwrap_or(raw.get()).trim();
    if given.is_some() && is_blank(digits) {
        return Ok(None);
    }
    if serde_json::from_str::<Number>(digits).is_ok() {
        return Ok(Some(digits.to_owned()));
    }
    let number = digits.parse::<f64>().ok().filter(|number| number.is_finite());
    number.map(|number| Some(Value::from(number).to_string())).ok_or_else(|| "must be a number".to_owned())
}

/// Spells a value as the parameter does. The editor decides about one that is not among them: it may be newer.
pub(super) fn word(raw: &RawValue, of: &[String]) -> String {
    let given = text(raw);
    let known = given.and_then(|given| of.iter().find(|known| known.eq_ignore_ascii_case(given.trim())));
    known.map_or_else(|| raw.get().to_owned(), |known| Value::from(known.as_str()).to_string())
}

/// Returns the JSON of a value that begins with this bracket, or of a text that holds one; `None` if it is something else.
fn bracketed(raw: &RawValue, bracket: char) -> Option<String> {
    let read = text(raw).and_then(|text| read(&text));
    let json = read.as_deref().unwrap_or(raw).get();
    json.starts_with(bracket).then(|| json.to_owned())
}

fn is_blank_text(raw: &RawValue) -> bool {
    text(raw).is_some_and(|text| is_blank(&text))
}

pub(super) fn object(raw: &RawValue) -> Result<Option<String>, Why> {
    match bracketed(raw, '{') {
        None if is_blank_text(raw) => Ok(None),
        None => Err("must be an object".to_owned()),
        object => Ok(object),
    }
}

pub(super) fn list(raw: &RawValue) -> Result<Option<String>, Why> {
    match bracketed(raw, '[') {
        None if is_blank_text(raw) => Ok(None),
        None => Err("must be a list".to_owned()),
        list => Ok(list),
    }
}

pub(super) fn json(raw: &RawValue) -> Option<String> {
    let Some(text) = text(raw) else { return Some(raw.get().to_owned()) };
    match read(&text).filter(|json| !json.get().starts_with('"')) {
        Some(json) if json.get() == "null" => None,
        Some(json) => Some(json.get().to_owned()),
        None => Some(raw.get().to_owned()),
    }
}

/// Returns a list of texts. An empty one is no value: an editor may take it for a filter that nothing passes.
pub(super) fn texts(raw: &RawValue, commas: bool) -> Result<Option<String>, Why> {
    let must = || "must be a list of texts".to_owned();
    let whole = match text(raw) {
        Some(text) if is_blank(&text) => return Ok(None),
        Some(text) if !text.trim_start().starts_with('[') => {
            let parts: Vec<&str> = if commas { text.split(',').map(str::trim).collect() } else { vec![&text] };
            parts.into_iter().filter(|part| !part.is_empty()).map(str::to_owned).collect()
        }
        _ => serde_json::from_str::<Vec<String>>(&bracketed(raw, '[').ok_or_else(must)?).map_err(|_| must())?,
    };
    Ok(Some(Value::from(whole)).filter(|whole| *whole != Value::Array(Vec::new())).map(|whole| whole.to_string()))
}

pub(super) fn words(raw: &RawValue) -> Result<Option<String>, Why> {
    // JSON writes its escapes in lower case already.
    texts(raw, false).map(|list| list.map(|list| list.to_ascii_lowercase()))
}

pub(super) fn count(raw: &RawValue) -> Result<Option<String>, Why> {
    let is_all = text(raw).is_some_and(|text| ["all", "*"].iter().any(|all| text.trim().eq_ignore_ascii_case(all)));
    if is_all { Ok(Some("null".to_owned())) } else { integer(raw) }
}
