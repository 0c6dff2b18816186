//! Scripts and other files: where they are, and what is written to them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;

use super::sent::{Sent, Why};
use super::values;
use crate::protocol::text::percent_decoded;

/// Before the path in the package's own URIs.
const OWN_URI: &str = "mcpforunity://path/";
const FILE_URI: &str = "file://";

fn must_be_text() -> Why {
    "must be a text".to_owned()
}

/// Returns the path in a text that may be a URI, with `/` between its parts and without `.` and `..`, from the first part called
/// Assets on.
fn path_in(text: &str) -> Option<Vec<String>> {
    let path = match text.strip_prefix(OWN_URI) {
        Some(path) => path,
        // What stands before the path is the name of a machine.
        None => text
            .strip_prefix(FILE_URI)
            .map_or(text, |rest| rest.find('/').and_then(|at| rest.get(at..)).unwrap_or(rest)),
    };
    let decoded = percent_decoded(path)?.replace('\\', "/");
    let mut parts: Vec<String> = Vec::new();
    for part in decoded.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| last != "..") => {
                parts.pop();
            }
            ".." if decoded.starts_with('/') => {}
            part => parts.push(part.to_owned()),
        }
    }
    let assets = parts.iter().position(|part| is_assets(part)).unwrap_or(0);
    Some(parts.split_off(assets))
}

fn is_assets(part: &str) -> bool {
    part.eq_ignore_ascii_case("assets")
}

/// Sends a script's name and its folder.
fn send(sent: &mut Sent, mut parts: Vec<String>) {
    let file = parts.pop().unwrap_or_default();
    let name = file.rfind('.').filter(|dot| *dot > 0).and_then(|dot| file.get(..dot)).unwrap_or(&file);
    sent.set_text("name", name);
    sent.set_text("path", &parts.join("/"));
}

fn below_assets(parts: &[String]) -> Result<(), Why> {
    let is_below = parts.len() > 1 && parts.first().is_some_and(|first| is_assets(first));
    if is_below { Ok(()) } else { Err("must be a file below Assets".to_owned()) }
}

pub(super) fn uri(sent: &mut Sent, raw: &RawValue, in_assets: bool) -> Result<Option<String>, Why> {
    let text = values::text(raw).ok_or_else(must_be_text)?;
    let parts = path_in(&text).filter(|parts| !parts.is_empty()).ok_or_else(|| "names no file".to_owned())?;
    if in_assets {
        below_assets(&parts)?;
    }
    send(sent, parts);
    Ok(None)
}

/// The path of a file that may not exist yet, which must be written without `..` and end in one of these.
fn new_file(raw: &RawValue, ends: &[&str]) -> Result<Vec<String>, Why> {
    let text = values::text(raw).ok_or_else(must_be_text)?.replace('\\', "/");
    let parts: Vec<String> = text.split('/').filter(|part| !matches!(*part, "" | ".")).map(str::to_owned).collect();
    if text.starts_with('/') || parts.iter().any(|part| part == "..") {
        return Err("must begin with Assets and go nowhere else".to_owned());
    }
    below_assets(&parts)?;
    let file = parts.last().map(|file| file.to_ascii_lowercase()).unwrap_or_default();
    let is_one = ends.iter().any(|end| file.len() > end.len() && file.ends_with(end));
    if is_one { Ok(parts) } else { Err(format!("must end in {}", ends.join(" or "))) }
}

pub(super) fn script_path(sent: &mut Sent, raw: &RawValue) -> Result<Option<String>, Why> {
    send(sent, new_file(raw, &[".cs"])?);
    Ok(None)
}

pub(super) fn ui_path(sent: &Sent, raw: &RawValue) -> Result<Option<String>, Why> {
    let names_file =
        sent.text("action").is_some_and(|action| ["create", "read", "update", "delete"].contains(&&*action));
    if names_file {
        new_file(raw, &[".uxml", ".uss"])?;
    }
    Ok(Some(raw.get().to_owned()))
}

/// Finds a script by its name and its folder. Clients also write the whole path into one of them.
pub(super) fn script_name(sent: &mut Sent, name: &RawValue, path: Option<&RawValue>) -> Result<Option<String>, Why> {
    let name = values::text(name).ok_or_else(must_be_text)?;
    let path = path.and_then(values::text).unwrap_or_default();
    let (name, path) = (name.trim(), path.trim());
    let is_file = |text: &str| text.to_ascii_lowercase().ends_with(".cs");
    let whole = match (is_file(path), name.contains('/')) {
        (true, _) => path.to_owned(),
        (false, true) => name.to_owned(),
        (false, false) => {
            let folder = if path.is_empty() { "Assets" } else { path };
            format!("{}/{name}{}", folder.trim_end_matches('/'), if is_file(name) { "" } else { ".cs" })
        }
    };
    let mut parts = path_in(&whole).filter(|parts| !parts.is_empty()).ok_or_else(|| "names no script".to_owned())?;
    // A file's name that stands twice at the end is a slip.
    if matches!(&*parts, [.., folder, file] if folder == file) {
        parts.pop();
    }
    send(sent, parts);
    Ok(None)
}

/// Sends a text in base64 if the action writes it to a file, and as it is otherwise. An empty one is left to the editor.
pub(super) fn encoded(sent: &mut Sent, wire: &str, raw: &RawValue) -> Result<Option<String>, Why> {
    let text = values::text(raw).ok_or_else(must_be_text)?;
    let writes = sent.text("action").is_some_and(|action| ["create", "update"].contains(&&*action));
    if text.is_empty() {
        return Ok(None);
    }
    if writes {
        sent.set_text("encodedContents", &STANDARD.encode(text));
        sent.set("contentsEncoded", "true".to_owned());
    } else {
        sent.set(wire, raw.get().to_owned());
    }
    Ok(None)
}
