//! The HTTP API that Unity-MCP's documents describe (docs/03 to 06 and 12 at a7c083e), on top of this gateway's calls.
//!
//! No code of that project ever used this API. Paths and fields are those of the documents. Where the documents define
//! nothing, one rule holds: a call that may have run is never answered with a status that makes a program send it
//! again.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use tokio::time::{Instant, timeout};

use super::documented::{Answer, Call, Documented, ok, reply};
use crate::core::calls::Lookup;
use crate::core::logbook::{self, ShownEntry};
use crate::core::user_text;
use crate::fsm::call::Verdict;
use crate::fsm::cause::Cause;
use crate::limits::{DOCUMENTED_WAIT, PATIENCE_MARGIN, PATIENCE_UNKNOWN, RUNNING_MAX};
use crate::protocol::ids::CallId;
use crate::protocol::mcp::{Content, ToolResult};
use crate::services::http::{Reply, Request, StatusCode};

pub(super) async fn reply_to(gateway: &Arc<impl Documented>, request: &Request, path: &[&str]) -> Reply {
    match (request.method.as_str(), path) {
        ("POST", ["api", "execute"]) => call(gateway, "execute_code", "code", &request.body).await,
        ("POST", ["api", "query"]) => call(gateway, "query", "query", &request.body).await,
        ("GET", ["api", "result", id]) => result(&**gateway, id),
        ("GET", ["api", "logs"]) => logs(&**gateway, request),
        ("GET", ["api", "log", id]) => match gateway.logbook(|book| book.find(id)) {
            Some(entry) => ok(&OneLog { log: ShownEntry::of(&entry) }),
            None => failed(StatusCode::NOT_FOUND, "Log not found"),
        },
        _ => failed(
            StatusCode::NOT_FOUND,
            "POST /api/execute and /api/query, GET /api/result/{logId}, /api/logs and /api/log/{logId} are served. The WebSocket \
             of the documents is not: Unity is reached through the HTTP server that its package has",
        ),
    }
}

/// Returns an error in the form of this API.
fn failed(status: StatusCode, error: &str) -> Reply {
    reply(status, &json!({"success": false, "error": error}))
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    success: bool,
    result: Option<&'a RawValue>,
    log_id: String,
    complete: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl Told<'_> {
    fn reply(&self, status: StatusCode) -> Reply {
        reply(status, self)
    }
}

fn open(id: CallId, message: &str) -> Reply {
    let log_id = id.to_string();
    Told { success: true, result: None, log_id, complete: false, message: Some(message), error: None }
        .reply(StatusCode::OK)
}

/// Returns the reply for a call that ended without the editor's own answer.
fn ended(id: CallId, status: StatusCode, success: bool, what: &str) -> Reply {
    let (message, error) = if success { (Some(what), None) } else { (None, Some(what)) };
    Told { success, result: None, log_id: id.to_string(), complete: true, message, error }.reply(status)
}

/// The object in which this dialect's editor wraps its answers.
#[derive(Debug, Deserialize)]
struct Envelope {
    #[serde(default)]
    result: Option<Box<RawValue>>,
    is_complete: bool,
    message: String,
}

fn answered(id: CallId, text: &str, is_error: bool) -> Reply {
    let Ok(envelope) = serde_json::from_str::<Envelope>(text) else {
        return ended(id, StatusCode::OK, !is_error, text);
    };
    let (message, error) = if is_error { (None, Some(&*envelope.message)) } else { (Some(&*envelope.message), None) };
    let (result, log_id) = (envelope.result.as_deref(), id.to_string());
    Told { success: !is_error, result, log_id, complete: envelope.is_complete, message, error }.reply(StatusCode::OK)
}

#[derive(Debug, Deserialize)]
struct Asked {
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    query: Option<String>,
    #[serde(default)]
    timeout: Option<f64>,
}

async fn call(gateway: &Arc<impl Documented>, tool: &str, member: &str, body: &[u8]) -> Reply {
    let Ok(Asked { code, query, timeout: wait }) = serde_json::from_slice(body) else {
        let why = format!(
            "The body must be a JSON object with the text `{member}` and, if anything, a number `timeout`. Not executed"
        );
        return failed(StatusCode::BAD_REQUEST, &why);
    };
    let Some(text) = (if member == "code" { code } else { query }) else {
        return failed(StatusCode::BAD_REQUEST, &format!("The body has no text `{member}`. Not executed"));
    };
    let wait = match wait {
        None => DOCUMENTED_WAIT,
        // `try_from_secs_f64` fails for a negative number, a number that is too large, and NaN.
        Some(ms) => Duration::try_from_secs_f64(ms / 1000.0).unwrap_or(DOCUMENTED_WAIT).min(RUNNING_MAX),
    };
    let Ok(arguments) = to_raw_value(&json!({member: text})) else {
        return failed(StatusCode::BAD_REQUEST, "The body could not be read. Not executed");
    };
    let began = Instant::now();
    // While the editor is absent, a call is held as long as a call of an unknown client, and at least as long as the caller
    // waits.
    let patience = PATIENCE_UNKNOWN.max(wait + PATIENCE_MARGIN);
    let Some(Call { id, answer }) = gateway.call(tool, arguments, patience).await else {
        return failed(
            StatusCode::SERVICE_UNAVAILABLE,
            "Too many calls are open. Not executed; send it again when one of them has ended",
        );
    };
    match timeout(wait, answer).await {
        Err(_) => open(id, &still_open(&**gateway, id, tool, began)),
        Ok(None) => ended(
            id,
            StatusCode::OK,
            false,
            "holdfast lost the answer (our fault). It may have run: check before you repeat it.",
        ),
        Ok(Some(Answer { verdict, result })) => match verdict {
            Verdict::Ok | Verdict::ToolError => answered(id, &text_of(&result), result.is_error),
            Verdict::NotExecuted(Cause::TooLarge) => ended(id, StatusCode::PAYLOAD_TOO_LARGE, false, &text_of(&result)),
            Verdict::NotExecuted(Cause::Policy) => ended(id, StatusCode::FORBIDDEN, false, &text_of(&result)),
            Verdict::NotExecuted(_) => ended(id, StatusCode::SERVICE_UNAVAILABLE, false, &text_of(&result)),
            Verdict::StillRunning => open(id, &still_open(&**gateway, id, tool, began)),
            // The status is not 5xx, because some programs retry after such a status by themselves.
            Verdict::OutcomeUnknown(_) | Verdict::Cancelled => ended(id, StatusCode::OK, false, &text_of(&result)),
        },
    }
}

fn text_of(result: &ToolResult) -> String {
    match result.content.as_slice() {
        // The first text is the editor's wrapped answer. Further content is a note for people about a reload.
        [Content::Text(text), ..] => text.clone(),
        _ => result.file_text().into_owned(),
    }
}

/// Returns a text that says whether the call is held or runs in Unity, and how to fetch its result.
fn still_open(gateway: &impl Documented, id: CallId, tool: &str, began: Instant) -> String {
    let what = if gateway.is_held(id) {
        "has not been sent to Unity yet, and is when Unity is ready"
    } else {
        "was sent to Unity, which has not answered yet; do not send it again"
    };
    format!("{tool} {what} (after {}). Ask GET /api/result/{id} for its result.", user_text::seconds(began.elapsed()))
}

/// A late result in the form in which the ledger keeps it: the result of an MCP call.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kept {
    content: Vec<Block>,
    #[serde(default)]
    is_error: bool,
}

#[derive(Debug, Deserialize)]
struct Block {
    #[serde(default)]
    text: String,
}

fn result(gateway: &impl Documented, id: &str) -> Reply {
    let found = CallId::parse(id).map(|id| (id, gateway.look_up(id)));
    match found {
        None | Some((_, Lookup::Unknown)) => failed(StatusCode::NOT_FOUND, "Result not found"),
        Some((id, Lookup::Open(record))) => open(id, &still_open(gateway, id, &record.tool, record.accepted)),
        Some((id, Lookup::Kept(json))) => match serde_json::from_str::<Kept>(&json) {
            Ok(kept) => answered(id, kept.content.first().map_or("", |block| &block.text), kept.is_error),
            Err(_) => {
                ended(id, StatusCode::OK, false, "Its result could not be read (our fault). It ran: check its effect.")
            }
        },
        Some((id, Lookup::Ended(record))) => {
            let success = record.verdict == Some(Verdict::Ok);
            ended(id, StatusCode::OK, success, &user_text::ended(id, &record.tool, record.verdict))
        }
        Some((id, Lookup::Expired(_))) => ended(id, StatusCode::OK, false, user_text::DROPPED),
    }
}

fn logs(gateway: &impl Documented, request: &Request) -> Reply {
    let count = logbook::shown(request.number("count"));
    let offset = request.number("offset").and_then(|offset| usize::try_from(offset).ok()).unwrap_or(0);
    let (logs, total) = gateway.logbook(|book| (book.page(offset, count), book.count()));
    let shown: Vec<ShownEntry<'_>> = logs.iter().map(ShownEntry::of).collect();
    ok(&Page { logs: shown, total })
}

#[derive(Debug, Serialize)]
struct OneLog<'a> {
    log: ShownEntry<'a>,
}

#[derive(Debug, Serialize)]
struct Page<'a> {
    logs: Vec<ShownEntry<'a>>,
    total: usize,
}
