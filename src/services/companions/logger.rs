//! The logger of Unity-MCP: named logs, which are written and read over HTTP.
//!
//! The original service belongs to another project and was not available. Paths and answers are those that both sides of
//! TSavo/Unity-MCP use at a7c083e. The editor posts its actions to the logger while the editor starts.

use serde_json::json;
use serde_json::value::RawValue;

use super::documented::{Documented, error, ok};
use crate::core::logbook::{self, LogEntries, LogEntry, NewestLogs};
use crate::limits::{JSON_DEPTH_MAX, LOG_NAME_MAX_BYTES};
use crate::protocol::jsonrpc::{compact, depth_ok};
use crate::services::http::{Reply, Request, StatusCode};

pub(super) fn reply_to(gateway: &impl Documented, request: &Request, path: &[&str]) -> Reply {
    let limit = logbook::shown(request.number("limit"));
    match (request.method.as_str(), path) {
        ("GET", ["logs"]) => ok(&NewestLogs::of(&gateway.logbook(|book| book.newest(limit)))),
        (method @ ("POST" | "GET" | "DELETE"), ["logs", name]) => {
            if !is_name(name) {
                let why = format!("a log's name has 1 to {LOG_NAME_MAX_BYTES} bytes and no control characters");
                return error(StatusCode::BAD_REQUEST, &why);
            }
            match method {
                "GET" => ok(&LogEntries::of(name, &gateway.logbook(|book| book.of(name, limit)))),
                "DELETE" => {
                    let cleared = gateway.logbook(|book| book.clear(name));
                    ok(&json!({"status": "success", "cleared": cleared}))
                }
                _ => write(gateway, name, &request.body),
            }
        }
        _ => error(StatusCode::NOT_FOUND, "POST, GET and DELETE /logs/{name} and GET /logs are served"),
    }
}

/// Whether a name that another program chose may be shown to people and models: it is not empty, not too long, and has
/// no control characters.
fn is_name(name: &str) -> bool {
    (1..=LOG_NAME_MAX_BYTES).contains(&name.len()) && !name.chars().any(char::is_control)
}

fn write(gateway: &impl Documented, name: &str, body: &[u8]) -> Reply {
    let json = std::str::from_utf8(body).ok().filter(|text| depth_ok(text.as_bytes(), JSON_DEPTH_MAX));
    // The entry is put on one line, because it may later be written to the client's stdout.
    let data = json
        .and_then(|text| serde_json::from_str::<&RawValue>(text).ok())
        .and_then(|json| RawValue::from_string(compact(json.get()).into_owned()).ok());
    let Some(data) = data else {
        return error(StatusCode::BAD_REQUEST, "the body is no JSON, or is nested too deep; nothing was kept");
    };
    let id = gateway.new_id().to_string();
    gateway.events().log_posted(name, data.get().len());
    let entry = LogEntry { id: id.clone(), name: name.to_owned(), data, at: gateway.host().now() };
    gateway.logbook(|book| book.write(entry));
    ok(&json!({"status": "success", "logId": id}))
}
