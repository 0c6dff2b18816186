//! Package tools: tools that the package's own server answered without the editor. They have the names and the form of answers
//! that the package gives them. They are not sent to the editor, and never wait for Unity's main thread.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::gateway_tools::{GatewayTools, of_value};
use crate::core::logbook::{self, LogDetails, LogEntries, NewestLogs};
use crate::core::requests::Asked;
use crate::fsm::cause::Availability;
use crate::limits::{OWN_WAIT_READY, RELOAD_GRACE};
use crate::protocol::dialect::PackageTool;
use crate::protocol::ids::CallId;
use crate::protocol::mcp::ToolResult;
use crate::runtime::supervisor::Tasks;

/// Answers a call of a package tool.
pub fn run(own: &GatewayTools, tasks: &Tasks, asked: Asked, tool: PackageTool, arguments: &RawValue) {
    let given: Map<String, Value> = match serde_json::from_str(arguments.get()) {
        Ok(given) => given,
        Err(error) => {
            let why = format!("Not executed: the arguments are no usable JSON object ({error}).");
            return own.answer(asked, ToolResult::error(why));
        }
    };
    let text = |names: &[&str]| names.iter().find_map(|name| given.get(*name)).and_then(Value::as_str);
    match tool {
        PackageTool::Help(help) => own.answer(asked, ToolResult::text(help)),
        PackageTool::Result => match text(&["logId", "log_id"]).and_then(CallId::parse) {
            Some(call) => own.result(asked, call),
            None => own.answer(asked, ToolResult::error(NO_LOG_ID)),
        },
        PackageTool::Logs => {
            let logs = own.link.logbook(|book| book.newest(limit(&given)));
            own.answer(asked, of_value(&NewestLogs::of(&logs)));
        }
        PackageTool::LogByName => match text(&["log_name", "name"]) {
            Some(name) => {
                let entries = own.link.logbook(|book| book.of(name, limit(&given)));
                own.answer(asked, of_value(&LogEntries::of(name, &entries)));
            }
            None => {
                own.answer(asked, ToolResult::error("Not executed: `log_name` must name a log; get_logs lists them."));
            }
        },
        PackageTool::LogDetails => details(own, asked, text(&["logId", "log_id"])),
        PackageTool::WaitReady => {
            let (own, wait) = (own.clone(), wait(&given));
            tasks.spawn(async move {
                let result = match wait {
                    Ok((timeout, for_reload)) => {
                        wait_ready(&own, timeout, for_reload, asked.profile.client.patience).await
                    }
                    Err(fix) => ToolResult::error(fix),
                };
                own.answer(asked, result);
            });
        }
        PackageTool::FocusWindow => {
            let own = own.clone();
            tasks.spawn(async move {
                let result = focus(&own).await;
                own.answer(asked, result);
            });
        }
    }
}

const NO_LOG_ID: &str = "Not executed: `logId` must be the GUID from an earlier answer (its log_id); holdfast_calls lists the \
                         recent calls with theirs.";

fn limit(given: &Map<String, Value>) -> usize {
    let asked = ["limit", "count"].iter().find_map(|name| given.get(*name)).and_then(Value::as_u64);
    logbook::shown(asked)
}

fn details(own: &GatewayTools, asked: Asked, log_id: Option<&str>) {
    let Some(log_id) = log_id else { return own.answer(asked, ToolResult::error(NO_LOG_ID)) };
    if let Some(entry) = own.link.logbook(|book| book.find(log_id)) {
        return own.answer(asked, of_value(&LogDetails::of(&entry)));
    }
    match CallId::parse(log_id) {
        Some(call) => own.result(asked, call),
        None => own.answer(asked, ToolResult::error(NO_LOG_ID)),
    }
}

fn wait(given: &Map<String, Value>) -> Result<(Duration, bool), &'static str> {
    let timeout = match given.get("timeout_seconds").filter(|value| !value.is_null()) {
        None => OWN_WAIT_READY,
        Some(value) => value
            .as_f64()
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .ok_or("Not executed: `timeout_seconds` must be a number of seconds.")?,
    };
    match given.get("wait_for_reload").filter(|value| !value.is_null()) {
        None => Ok((timeout, false)),
        Some(Value::Bool(for_reload)) => Ok((timeout, *for_reload)),
        Some(_) => Err("Not executed: `wait_for_reload` must be true or false."),
    }
}

/// Waits until the editor is ready. With `for_reload`, first waits up to [`RELOAD_GRACE`] for a domain reload to begin.
async fn wait_ready(own: &GatewayTools, timeout: Duration, for_reload: bool, patience: Duration) -> ToolResult {
    let began = Instant::now();
    if for_reload {
        own.link.want();
        let mut link = own.link.changes();
        let before = own.link.seen().connections;
        let is_gone = || {
            let seen = own.link.seen();
            seen.availability != Availability::Open || seen.connections != before
        };
        let gone = link.wait_for(|_| is_gone());
        let seen = tokio::time::timeout(timeout.min(RELOAD_GRACE), gone).await.is_ok();
        let ready = own.wait_ready(Some(timeout.saturating_sub(began.elapsed())), patience).await;
        return if seen { ready } else { ready.with_line("No domain reload was seen.") };
    }
    own.wait_ready(Some(timeout), patience).await
}

async fn focus(own: &GatewayTools) -> ToolResult {
    let pid = own.link.status().survey.and_then(|survey| survey.facts.editor_pid);
    let Some(pid) = pid else {
        return ToolResult::error(
            "Not executed: the process of this project's editor is not known, so its window cannot be found. Check whether \
             Unity is running with this project.",
        );
    };
    let host = Arc::clone(&own.env.host);
    match crate::platform::host::run(&*own.env.host, move || host.focus(pid)).await {
        Some(Ok(())) => ToolResult::text("Unity's window was brought to the front."),
        Some(Err(why)) => ToolResult::error(format!("Unity's window could not be brought to the front: {why}")),
        None => {
            ToolResult::error("holdfast failed while it looked for Unity's window (our fault). Nothing was changed.")
        }
    }
}
