//! Work that goes on after the answer to the command that began it, often through a domain reload: compilations, tests, changes of
//! packages, builds. Each kind has one status file in `Temp`, for all clients and without an id, which the editor does not write in one
//! step. An editor that starts empties the folder.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::super::rpc::object_text;
use super::super::{Recovery, Reply, WorkStatus};

const RECOMPILE: &str = "Temp/pipeline_recompile_status.json";
const TESTS: &str = "Temp/pipeline_test_status.json";
/// It is there while tests run. The status file is not: the start of the tests deletes it.
const TESTS_RUN: &str = "Temp/pipeline_test_request.json";
const PACKAGES: &str = "Temp/pipeline_package_status.json";
const BUILD: &str = "Temp/pipeline_build_status.json";

/// Statuses with which work has ended. With any other it goes on, as far as is known.
const ENDED: [&str; 9] =
    ["completed", "up_to_date", "succeeded", "success", "done", "error", "failed", "canceled", "cancelled"];
/// Those of them that say that it failed.
const FAILED: [&str; 4] = ["error", "failed", "canceled", "cancelled"];

/// Returns where the end of the work that a command begins is told; `None` if its answer is all there is.
pub(super) fn recovery(command: &str) -> Option<Recovery> {
    let (path, running) = match command {
        "recompile" => (RECOMPILE, None),
        "run_tests" => (TESTS, Some(TESTS_RUN)),
        "package_add" | "package_remove" | "package_resolve" => (PACKAGES, None),
        "build" => (BUILD, None),
        _ => return None,
    };
    Some(Recovery::StatusFile { path, running, before: 0 })
}

/// Whether a reply says no more than that the work has begun.
pub(super) fn begins(reply: &Reply) -> bool {
    let Reply::Result(said) = reply else { return false };
    let said: Value = serde_json::from_str(said.get()).unwrap_or_default();
    let inner = said.get("result").and_then(Value::as_str).and_then(|text| serde_json::from_str(text).ok());
    let Some(result) = inner.as_ref().or(said.get("result")).and_then(Value::as_object) else { return false };
    let status = result.get("status").and_then(Value::as_str);
    let is_running = status.is_some_and(|status| status != "idle" && !ENDED.contains(&status));
    !has_failed(result) && (is_running || status.is_none() && result.contains_key("buildId"))
}

/// Reads a status file; `None` while it is not whole, or says nothing of work.
pub(super) fn read(path: &str, bytes: &[u8]) -> Option<WorkStatus> {
    let status: Value = serde_json::from_str(object_text(bytes).ok()?).ok()?;
    let members = status.as_object()?;
    let word = members.get("status").and_then(Value::as_str)?;
    if word == "idle" {
        return None;
    }
    if !ENDED.contains(&word) {
        return Some(WorkStatus::Runs);
    }
    let failed = has_failed(members) || FAILED.contains(&word);
    // A compilation is "completed" before its reload. What changes packages is followed by a compilation.
    let reload_follows = !failed && word != "up_to_date" && (path == RECOMPILE || path == PACKAGES);
    let result = if path == RECOMPILE { compiled(members) } else { status };
    let reply = json!({"success": !failed, "result": result}).to_string();
    let reply = Reply::Result(RawValue::from_string(reply).ok()?);
    Some(WorkStatus::Ended { reply, reload_follows })
}

fn has_failed(status: &Map<String, Value>) -> bool {
    let is = |name: &str, value: bool| status.get(name) == Some(&Value::Bool(value));
    let tests = status.get("summary").and_then(|summary| summary.get("failed")).and_then(Value::as_u64);
    is("failed", true)
        || is("compilationFailed", true)
        || is("success", false)
        || tests.is_some_and(|failed| failed > 0)
}

/// Adds to the status of a compilation what other packages say of one: the number of errors, and each with its place.
fn compiled(status: &Map<String, Value>) -> Value {
    let errors = status.get("errors").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut told = status.clone();
    told.insert("Success".to_owned(), (!has_failed(status)).into());
    told.insert("ErrorCount".to_owned(), errors.len().max(usize::from(has_failed(status))).into());
    told.insert("Errors".to_owned(), errors.iter().filter_map(Value::as_str).map(issue).collect());
    told.remove("errors");
    told.into()
}

/// Reads `Assets/A.cs(3,7): error CS0246: words`.
fn issue(text: &str) -> Value {
    let parts = text.split_once("): ").and_then(|(place, message)| {
        let (file, at) = place.rsplit_once('(')?;
        let (line, column) = at.split_once(',').unwrap_or((at, "0"));
        Some((message, file, line.parse::<u64>().ok()?, column.parse::<u64>().unwrap_or_default()))
    });
    match parts {
        Some((message, file, line, column)) => {
            let message = message.strip_prefix("error ").unwrap_or(message);
            json!({"Message": message, "File": file, "Line": line, "Column": column})
        }
        None => json!({"Message": text, "File": "", "Line": 0}),
    }
}
