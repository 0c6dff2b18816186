//! Work that goes on after the answer to the command that began it, often through a domain reload: compilations, tests, changes of
//! packages, builds. Each kind has one status file in `Temp`, for all clients, which the editor does not write in one step. Only a build has
//! an id. An editor that starts empties the folder.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::super::members::Members;
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

/// Members that tell one work from another: the id of a build, and the package that is added or removed.
const BUILD_ID: &str = "buildId";
const IDENTIFIER: &str = "identifier";

/// Returns where the end of the work that a command begins is told; `None` if its answer is all there is.
pub(super) fn recovery(command: &str, arguments: &RawValue) -> Option<Recovery> {
    let (path, running) = match command {
        "recompile" => (RECOMPILE, None),
        "run_tests" => (TESTS, Some(TESTS_RUN)),
        "package_add" | "package_remove" | "package_resolve" => (PACKAGES, None),
        "build" => (BUILD, None),
        _ => return None,
    };
    let package = Members::of(arguments).filter(|_| path == PACKAGES).and_then(|members| members.get(IDENTIFIER));
    let package = package.as_ref().and_then(Value::as_str);
    let of = package.map(|package| (IDENTIFIER, package.trim().to_owned())).into_iter().collect();
    Some(Recovery::StatusFile { path, running, before: 0, of })
}

/// Whether a file that names the package `said` may tell of the one that was asked for as `asked`.
fn may_be_package(said: &str, asked: &str) -> bool {
    let is_place = |text: &str| text.contains(['/', ':']);
    let parts = |text: &str| {
        let (name, version) = text.split_once('@').map_or((text, None), |(name, version)| (name, Some(version)));
        (name.trim().to_owned(), version.map(|version| version.trim().to_owned()))
    };
    if said == asked {
        return true;
    }
    let ((name, version), (asked_name, asked_version)) = (parts(said), parts(asked));
    match (is_place(said), is_place(asked)) {
        // A folder or a repository may be named by what was found there, and with what was found.
        (false, true) => true,
        (true, false) => name == asked_name,
        (true, true) => false,
        (false, false) => name == asked_name && version.zip(asked_version).is_none_or(|(one, other)| one == other),
    }
}

/// If a reply says no more than that the work has begun, returns where its end is told. `asked`: what was known before the reply.
pub(super) fn begins(reply: &Reply, asked: &Recovery) -> Option<Recovery> {
    let Reply::Result(said) = reply else { return None };
    let mut follows = asked.clone();
    let Recovery::StatusFile { of, .. } = &mut follows else { return None };
    let said: Value = serde_json::from_str(said.get()).unwrap_or_default();
    let inner = said.get("result").and_then(Value::as_str).and_then(|text| serde_json::from_str(text).ok());
    let result = inner.as_ref().or(said.get("result")).and_then(Value::as_object)?;
    let status = member(result, "status").and_then(Value::as_str);
    let is_running = status.is_some_and(|status| status != "idle" && !ENDED.contains(&status));
    let build = member(result, BUILD_ID).and_then(Value::as_str);
    of.extend(build.map(|id| (BUILD_ID, id.to_owned())));
    (!has_failed(result) && (is_running || status.is_none() && build.is_some())).then_some(follows)
}

/// Returns a member. The answer to tests that ran at once has the names with a capital, and the file has them without.
fn member<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let capital = || {
        let mut chars = name.chars();
        members.get(&chars.next().map(|first| format!("{}{}", first.to_uppercase(), chars.as_str()))?)
    };
    members.get(name).or_else(capital)
}

/// Reads a status file; `None` while it is not whole, says nothing of work, or tells of another client's.
pub(super) fn read(recovery: &Recovery, bytes: &[u8]) -> Option<WorkStatus> {
    let Recovery::StatusFile { path, of, .. } = recovery else { return None };
    let status: Value = serde_json::from_str(object_text(bytes).ok()?).ok()?;
    let members = status.as_object()?;
    let is_ours = |(name, value): &(&str, String)| {
        let said = member(members, name).and_then(Value::as_str);
        said.is_none_or(|said| said == value || *name == IDENTIFIER && may_be_package(said, value))
    };
    if !of.iter().all(is_ours) {
        return None;
    }
    let word = member(members, "status").and_then(Value::as_str)?;
    if word == "idle" {
        return None;
    }
    if !ENDED.contains(&word) {
        // A compilation that a reload ended is not gone on with. One that waits for play mode to end has not begun.
        return Some(WorkStatus::Runs { over_reload: *path != RECOMPILE || word == "triggered" });
    }
    let failed = has_failed(members) || FAILED.contains(&word);
    // A compilation is "completed" before its reload. What changes packages is followed by a compilation.
    let reload_follows = !failed && word != "up_to_date" && (*path == RECOMPILE || *path == PACKAGES);
    let result = if *path == RECOMPILE { compiled(members) } else { status };
    let reply = json!({"success": !failed, "result": result}).to_string();
    let reply = Reply::Result(RawValue::from_string(reply).ok()?);
    Some(WorkStatus::Ended { reply, reload_follows })
}

fn has_failed(status: &Map<String, Value>) -> bool {
    let is = |name: &str, value: bool| member(status, name) == Some(&Value::Bool(value));
    is("failed", true) || is("compilationFailed", true) || is("success", false) || tests_failed(status)
}

fn tests_failed(status: &Map<String, Value>) -> bool {
    let summary = member(status, "summary").and_then(Value::as_object);
    summary.and_then(|summary| member(summary, "failed")).and_then(Value::as_u64).is_some_and(|failed| failed > 0)
}

/// Whether the answer to tests that ran at once says that some failed: nothing else in it is a sign of failure.
pub(super) fn tells_of_failed_tests(result: &RawValue) -> bool {
    result.get().contains("ummary\"")
        && serde_json::from_str::<Value>(result.get()).is_ok_and(|result| result.as_object().is_some_and(tests_failed))
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
