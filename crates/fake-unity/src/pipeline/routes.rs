//! The paths of the server, and what is checked before any of them.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::reply::{Failure, Reply};
use super::server::{Server, WAIT, dialog, is_busy, lock};
use super::versions::{V0_5, V0_6, V0_7, V0_8};
use super::{catalogue, commands, exec, jobs, reply, wire, work};
use crate::model::Editor;
use wire::Request;

/// Answers a request.
pub(super) async fn answer(server: &Arc<Server>, editor: &Arc<Editor>, connection: u64, request: Request) -> Reply {
    let domain = server.domain();
    // Before 0.5, one request is read and answered at a time, whatever it asks for.
    let _turn = if server.version < V0_5 { Some(domain.gate.lock().await) } else { None };
    if let Err(failure) = admitted(server, editor, &request) {
        return failure.reply(editor, server.version);
    }
    match route(server, editor, connection, &request).await {
        Ok(reply) => reply,
        Err(failure) => failure.reply(editor, server.version),
    }
}

fn admitted(server: &Server, editor: &Editor, request: &Request) -> Result<(), Failure> {
    if request.token != server.process().token {
        return Err(Failure::of(401, "Unauthorized", "The token is missing or is another one."));
    }
    let origin = request.origin.as_deref().filter(|origin| server.version >= V0_7 || !origin.is_empty());
    if origin.is_some() {
        return Err(Failure::of(403, "Forbidden", "A request with an origin comes from a browser."));
    }
    let (name, port) = request.host.split_once(':').unwrap_or((&request.host, ""));
    let is_own = port.is_empty() || port.parse().ok() == editor.state().port;
    if server.version >= V0_8 && !(name == "127.0.0.1" && is_own) {
        return Err(Failure::of(403, "Forbidden", "The request is addressed to another host."));
    }
    if request.host.starts_with('[') {
        return Err(Failure::of(400, "Bad Request", "Invalid host"));
    }
    Ok(())
}

async fn route(
    server: &Arc<Server>,
    editor: &Arc<Editor>,
    connection: u64,
    request: &Request,
) -> Result<Reply, Failure> {
    let version = server.version;
    let method = match request.path.as_str() {
        "/api/status" | "/api/editor_status" | "/api/commands" | "/api/test-status" => "GET",
        "/api/progress" | "/api/job" if version >= V0_5 => "GET",
        "/api/dialog" if version >= V0_6 => "GET",
        "/api/exec" => "POST",
        "/api/job/cancel" if version >= V0_5 => "POST",
        _ => return Ok(Reply::nothing()),
    };
    if request.method != method {
        let status = if version < V0_6 { 400 } else { 405 };
        return Err(Failure::of(status, "Method Not Allowed", format!("{} takes {method}", request.path)));
    }
    Ok(match request.path.as_str() {
        "/api/status" => status(server, editor),
        "/api/editor_status" => {
            let domain = server.domain();
            let _turn = if version < V0_5 { None } else { Some(domain.gate.lock().await) };
            let work = editor.submit({
                let server = Arc::clone(server);
                move |editor| commands::editor_status(&server, editor)
            });
            let object = exec::wait(work, Some(WAIT)).await?.result.map_err(exec::failure)?;
            Reply::indented(200, &object.finish())
        }
        "/api/commands" => listing(server, editor, request)?,
        "/api/test-status" => {
            let domain = server.domain();
            let _turn = if version < V0_5 { None } else { Some(domain.gate.lock().await) };
            Reply::indented(200, &work::test_status(server).to_string())
        }
        "/api/progress" => {
            let (omits, warning) = jobs::omits_nulls(version, request.asked("omit_nulls"));
            let is_active = server.domain().active.load(Ordering::Relaxed) > 0;
            let mut said = json!({"active": is_active});
            let bar = progress_bar(editor);
            if !(omits && bar.is_null()) {
                said["progress"] = bar;
            }
            if let Some(warning) = warning {
                said["warnings"] = json!([warning]);
            }
            Reply::of(version, said.to_string())
        }
        "/api/dialog" => {
            let dialogs: Vec<Value> = dialog(server, editor).into_iter().collect();
            Reply::indented(200, &json!({"active": !dialogs.is_empty(), "dialogs": dialogs}).to_string())
        }
        "/api/job" => {
            let id = job_id(request.asked("id"))?;
            let (omits, warning) = jobs::omits_nulls(version, request.asked("omit_nulls"));
            let said = lock(&server.domain().jobs).about(id, &progress_bar(editor), omits).ok_or_else(|| no_job(id))?;
            let said = match warning {
                Some(warning) => said.raw("warnings", &json!([warning]).to_string()),
                None => said,
            };
            Reply::of(version, said.finish())
        }
        "/api/job/cancel" => {
            if request.length > wire::CANCEL_MAX_BYTES {
                return Err(Failure::of(413, "Payload Too Large", "At most 4 KiB"));
            }
            let body: Value = serde_json::from_slice(&request.body)
                .map_err(|error| Failure::of(400, "Invalid JSON", error.to_string()))?;
            let id = job_id(body.get("id").and_then(Value::as_str))?;
            let said = lock(&server.domain().jobs).cancel(editor, id).ok_or_else(|| no_job(id))?;
            Reply::of(version, said)
        }
        _ => exec::answer(server, editor, connection, request).await?,
    })
}

/// Returns the progress bar that the editor shows; null if it shows none. It has one while it imports.
fn progress_bar(editor: &Editor) -> Value {
    let Some(tenths) = editor.gate.borrow().tenths_imported() else { return Value::Null };
    json!({"title": "Importing assets", "info": "Assets", "current": tenths, "total": 10, "pct": f64::from(tenths) / 10.0})
}

fn job_id(asked: Option<&str>) -> Result<&str, Failure> {
    asked.filter(|id| !id.is_empty()).ok_or_else(|| Failure::of(400, "Bad Request", "A job is named by its id"))
}

fn no_job(id: &str) -> Failure {
    Failure::of(404, "Job Not Found", format!("There is no job {id}"))
}

fn status(server: &Server, editor: &Editor) -> Reply {
    let dialog = dialog(server, editor);
    let word = is_busy(server, editor).unwrap_or("ready");
    let mut said = json!({"status": word, "lastHeartbeat": reply::now(editor)});
    if server.version >= V0_6 {
        said["capabilities"] = server.capabilities();
        if let Some(dialog) = dialog {
            said["dialog"] = dialog;
        }
    }
    server.heartbeat(editor, false);
    Reply::indented(200, &said.to_string())
}

/// Answers with the catalogue, or with the part of it that the query asks for.
fn listing(server: &Server, editor: &Editor, request: &Request) -> Result<Reply, Failure> {
    let is_late = server.version >= V0_6;
    let mut state = editor.state();
    state.list_requests += 1;
    let port = state.port;
    let tools = state.tools.clone();
    drop(state);
    let (mut total, mut offset, mut limit) = (tools.len(), 0, tools.len());
    let mut chosen: Option<Vec<Value>> = None;
    if is_late {
        let wrong = |name: &str, good: &str| Failure::of(400, "Bad Request", format!("{name} is one of: {good}"));
        let word = |name: &str, good: &[&str]| match request.asked(name) {
            Some(said) if !good.contains(&said) => Err(wrong(name, &good.join(", "))),
            said => Ok(said),
        };
        let number = |name: &str, usual: usize| match request.asked(name).map(str::parse) {
            None => Ok(usual),
            Some(Ok(number)) => Ok(number),
            Some(Err(_)) => Err(wrong(name, "0, 1, 2 and so on")),
        };
        let details: &[&str] = if server.version >= V0_8 { &["full", "compact", "tags"] } else { &["full", "compact"] };
        let is_short = word("detail", details)?.is_some_and(|detail| detail != "full");
        let by_package = word("sort", &["name", "package"])? == Some("package");
        word("group_by", &["flat"])?;
        let falls = word("order", &["asc", "desc"])? == Some("desc");
        (offset, limit) = (number("offset", 0)?, number("limit", total)?);
        let query = request.asked("query").map(str::to_lowercase);
        if is_short || by_package || falls || query.is_some() {
            let mut commands: Vec<Value> = tools.iter().map(|tool| catalogue::entry(tool, true)).collect();
            commands
                .retain(|entry| query.as_ref().is_none_or(|words| entry.to_string().to_lowercase().contains(words)));
            total = commands.len();
            if by_package {
                commands.sort_by_key(|entry| entry["package"].as_str().map(str::to_owned));
            }
            if falls {
                commands.reverse();
            }
            for entry in commands.iter_mut().filter(|_| is_short) {
                *entry = json!({"name": entry["name"], "description": entry["description"], "tags": entry["tags"]});
            }
            chosen = Some(commands);
        }
    }
    // Gateways ask for the list all the time, so it is put together of texts that are ready.
    let shown: Vec<Cow<'_, str>> = match &chosen {
        Some(chosen) => chosen.iter().skip(offset).take(limit).map(|entry| catalogue::item(entry).into()).collect(),
        None => tools.iter().skip(offset).take(limit).map(|tool| catalogue::text(tool, is_late)).collect(),
    };
    let about = json!({"version": "0.0.1", "port": port, "startTime": server.domain().started_at});
    let page = if is_late {
        format!(",\n  \"total\": {total},\n  \"offset\": {offset},\n  \"limit\": {limit}")
    } else {
        String::new()
    };
    let (count, shown) = (shown.len(), shown.join(",\n    "));
    Ok(Reply::compact(
        200,
        format!("{{\n  \"count\": {count},\n  \"commands\": [\n    {shown}\n  ],\n  \"server\": {about}{page}\n}}"),
    ))
}
