//! Answers to the client: shaped, delivered, put into a file when they are too large, kept when they come late.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::value::{RawValue, to_raw_value};

use super::Estate;
use super::guests::GuestAnswer;
use crate::fsm::call::Verdict;
use crate::fsm::cause::Cause;
use crate::host::Host;
use crate::ledger::Answer;
use crate::limits::{LOGBOOK_BYTES_MAX, RESULT_FILE_MAX_AGE, RESULT_FILES_MAX, RESULT_INLINE_MAX_BYTES};
use crate::logbook::{self, LogEntry};
use crate::protocol::dialect::EditorAnswer;
use crate::protocol::ids::CallId;
use crate::protocol::jsonrpc::{RequestId, compact};
use crate::protocol::mcp::{self, Audience, ToolResult};
use crate::wording;

impl Estate {
    pub(super) fn answer(self: &Arc<Self>, mut answer: Answer) {
        self.events.call_answered(&answer);
        let guest = self.take_guest(&answer.request);
        if guest.is_none() && answer.verdict == Verdict::NotExecuted(Cause::UnknownTool) {
            self.front.answer_error(&answer.request, &mcp::unknown_tool(&answer.tool));
            return;
        }
        let result = match answer.body.take() {
            Some(body) => ToolResult::from_editor(body),
            None => ToolResult::error(self.told_verdict(&answer)),
        };
        // What still runs has its place in the log when it has ended.
        if answer.verdict != Verdict::StillRunning {
            let json = self.log_result(answer.call, &answer.tool, &result, &answer.audience);
            if let Some(json) = json {
                self.ledger(|ledger, now| ledger.keep_late(answer.call, &json, now));
            }
        }
        if let Some(guest) = guest {
            // Who waits no longer fetches it under its id.
            let _ = guest.send(GuestAnswer { verdict: answer.verdict, result });
            return;
        }
        let Answer { request, call, audience, .. } = answer;
        let size = mcp::result_size(&result, &audience);
        self.events.result_rendered(size);
        if size <= RESULT_INLINE_MAX_BYTES {
            self.deliver(call, &request, &mcp::tool_result(&result, &audience));
            return;
        }
        let estate = Arc::clone(self);
        tokio::spawn(async move {
            let result = estate.spill(call, result).await;
            estate.deliver(call, &request, &mcp::tool_result(&result, &audience));
        });
    }

    fn deliver(&self, call: CallId, request: &RequestId, result: &str) {
        // At the end main itself answers what is still open, and a result from a file comes behind it.
        let answered = self.front.answer(request, result);
        if !answered && !self.front.was_cancelled(request) && !self.is_draining() {
            self.events.answer_for_nobody(call);
        }
    }

    pub(super) fn keep_late(self: &Arc<Self>, call: CallId, answer: EditorAnswer) {
        let estate = Arc::clone(self);
        tokio::spawn(async move {
            let audience = estate.client().audience;
            let mut result = ToolResult::from_editor(answer);
            if mcp::result_size(&result, &audience) > RESULT_INLINE_MAX_BYTES {
                result = estate.spill(call, result).await;
            }
            let tool =
                estate.ledger(|ledger, _| ledger.records().find(|record| record.id == call).map(|record| record.tool));
            if let Some(tool) = tool {
                estate.log_result(call, &tool, &result, &audience);
            }
            let json = mcp::tool_result(&result, &audience);
            estate.ledger(|ledger, now| ledger.keep_late(call, &json, now));
        });
    }

    /// Puts a result that is too large for a message into a private file and gives the result that names it.
    async fn spill(&self, call: CallId, result: ToolResult) -> ToolResult {
        let project = self.survey.borrow().as_ref().and_then(|survey| survey.project.clone());
        let state = self.config.state_dir.clone();
        let host = Arc::clone(&self.host);
        let written = crate::host::run(&*self.host, move || {
            let Some(folder) = results_folder(project.as_deref(), state.as_deref()) else { return (result, None) };
            forget_old_results(&*host, &folder);
            let path = folder.join(format!("{call}.json"));
            let done = host.write(&path, result.file_text().as_bytes());
            (result, Some(done.map(|()| path)))
        });
        match written.await {
            Some((result, Some(Ok(path)))) => result.spilled(&path.display().to_string()),
            Some((result, Some(Err(error)))) => {
                self.events.catalogue_trouble("result_file", &error.to_string());
                result
            }
            Some((result, None)) => result,
            None => ToolResult::error(wording::NOT_SPILLED),
        }
    }

    /// The text of a verdict; where somebody else was met in the editor's place he is named, and so is what is wrong with the
    /// project if that is why nobody is called.
    fn told_verdict(&self, answer: &Answer) -> String {
        let text = wording::verdict(answer);
        let Verdict::NotExecuted(cause) = answer.verdict else { return text };
        let met = matches!(
            cause,
            Cause::WrongPeer
                | Cause::WrongProject
                | Cause::Unproven
                | Cause::Stalled
                | Cause::BridgeDown
                | Cause::Connecting
        );
        let met = self.link.borrow().stranger.as_ref().filter(|_| met).map(wording::stranger);
        let problem = || {
            let survey = self.survey.borrow().clone().filter(|_| matches!(cause, Cause::Ambiguous | Cause::Unproven));
            survey.and_then(|survey| survey.facts.problems.first().cloned())
        };
        match met.or_else(problem) {
            Some(beside) => format!("{text} {beside}"),
            None => text,
        }
    }

    /// Where the package has a log for each operation, the result goes there. Gives it as it is to be kept under the call's id,
    /// for the package's tool that asks for it.
    fn log_result(&self, call: CallId, tool: &str, result: &ToolResult, audience: &Audience) -> Option<String> {
        let tool = self.published.borrow().catalogue.find(tool).map(|entry| entry.tool.name.clone())?;
        let prefix = self.dialect().log_prefix(&tool)?;
        let json = mcp::tool_result(result, audience);
        if json.len() > LOGBOOK_BYTES_MAX {
            return None;
        }
        let at = self.host.now();
        let text = result.file_text();
        let data = match serde_json::from_str::<&RawValue>(&text) {
            Ok(json) => RawValue::from_string(compact(json.get()).into_owned()),
            Err(_) => to_raw_value(&text),
        };
        if let Ok(data) = data {
            let (id, name) = (call.to_string(), logbook::log_of_call(prefix, at));
            self.logbook(|book| book.write(LogEntry { id, name, data, at }));
        }
        Some(json)
    }
}

/// `Logs/holdfast/results` of the project, else a folder below the state folder. A project comes from anywhere: if one of these
/// folders is a link in it, what lies behind is somebody else's, and nothing is written or removed there.
fn results_folder(project: Option<&Path>, state: Option<&Path>) -> Option<PathBuf> {
    let below = |project: &Path| {
        let logs = project.join("Logs");
        let ours = logs.join("holdfast");
        let results = ours.join("results");
        let linked = |folder: &Path| folder.symlink_metadata().is_ok_and(|meta| meta.file_type().is_symlink());
        (!linked(&logs) && !linked(&ours) && !linked(&results)).then_some(results)
    };
    project.and_then(below).or_else(|| state.map(|state| state.join("results")))
}

/// Keeps the results folder within its bounds of count and age. Only what we write is counted and removed. Trouble here is not
/// worth a word: the write that follows tells.
fn forget_old_results(host: &dyn Host, folder: &Path) {
    let Ok(mut files) = host.list(folder) else { return };
    files.retain(|(path, _)| {
        let named_by_call = path.file_stem().and_then(|stem| stem.to_str()).and_then(CallId::parse).is_some();
        named_by_call && path.extension().is_some_and(|extension| extension == "json")
    });
    files.sort_by_key(|(_, changed)| std::cmp::Reverse(*changed));
    let now = host.now();
    for (index, (path, changed)) in files.iter().enumerate() {
        let old = now.duration_since(*changed).is_ok_and(|age| age > RESULT_FILE_MAX_AGE);
        if old || index + 1 >= RESULT_FILES_MAX {
            let _ = host.remove(path);
        }
    }
}

#[cfg(test)]
mod tests;
