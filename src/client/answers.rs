//! Answers in the form that a session's client takes. What the client does not take is written to files, which the answer names.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::state::Client;
use crate::core::port::Settled;
use crate::core::requests::Asked;
use crate::core::user_text;
use crate::fsm::call::Verdict;
use crate::limits::{RESULT_BEHIND_MAX_BYTES, RESULT_INLINE_MAX_BYTES};
use crate::protocol::ids::{CallId, RequestKey};
use crate::protocol::mcp::{self, AnswerForm, ClientProfile, ToolResult};
use crate::runtime::enter;
use crate::runtime::environment::Environment;
use crate::storage::result_files;

/// What became of an answer that a session was told.
#[derive(Debug)]
pub enum Delivery {
    /// It stands in the queue to the client, or the client has it ([`Client::has_all`]).
    Queued,
    /// It is being written to a file. The receiver says when the answer is queued.
    Later(oneshot::Receiver<()>),
}

impl Client {
    /// Answers a request with how its call ended. `keeps`: keeps the answer for a client that is told to fetch it by the call's id. It is
    /// given if this session does not read and others wait for the same editor: its large results must not pile up, and must not hold
    /// up the others' answers.
    pub fn settled(
        self: &Arc<Self>,
        env: &Arc<Environment>,
        settled: Settled,
        keeps: Option<impl FnOnce() + Send + 'static>,
    ) -> Delivery {
        let Settled { asked: Asked { key, profile, form }, call, verdict, answer, project } = settled;
        let result = match answer {
            Ok(result) => result,
            Err(error) => {
                self.outbox.answer_error(key, &error);
                return Delivery::Queued;
            }
        };
        if let AnswerForm::ResourceText(uri) = form {
            let call = (verdict != Verdict::Ok).then_some((call, verdict));
            self.answer_text(env, key, (&uri, &profile), &result, call);
            return Delivery::Queued;
        }
        let size = mcp::result_size(&result, &profile);
        env.events.result_rendered(size);
        let most = if keeps.is_some() { RESULT_BEHIND_MAX_BYTES } else { RESULT_INLINE_MAX_BYTES };
        if size <= most && mcp::fits(&result, &profile) {
            self.write(env, (call, key), &result, &profile, size);
            return Delivery::Queued;
        }
        let (tell, later) = oneshot::channel();
        let (client, env) = (Arc::clone(self), Arc::clone(env));
        Arc::clone(&env).health.spawn("result", async move {
            let result = Arc::unwrap_or_clone(result);
            let mut result = client.fit_or_shelve(&env, call, project, result, profile, most).await;
            let mut size = mcp::result_size(&result, &profile);
            if let Some(keep) = keeps.filter(|_| size > most) {
                // Before the client is told to fetch it.
                keep();
                result = ToolResult::text(user_text::withheld(call));
                size = mcp::result_size(&result, &profile);
            }
            client.write(&env, (call, key), &result, &profile, size);
            let _ = tell.send(());
        });
        Delivery::Later(later)
    }

    /// Answers a request with a result of the gateway itself, or with one that was kept. It is made to fit the client like a result of
    /// an editor. `call`: names the files that this may need, which lie in the `project`.
    pub fn own(
        self: &Arc<Self>,
        env: &Arc<Environment>,
        asked: Asked,
        result: ToolResult,
        (call, project): (CallId, Option<PathBuf>),
    ) {
        let Asked { key, profile, form } = asked;
        if let AnswerForm::ResourceText(uri) = form {
            return self.answer_text(env, key, (&uri, &profile), &result, None);
        }
        let size = mcp::result_size(&result, &profile);
        if size <= RESULT_INLINE_MAX_BYTES && mcp::fits(&result, &profile) {
            self.outbox.answer(key, &mcp::tool_result(&result, &profile));
            return;
        }
        self.outbox.is_being_answered(key);
        let (client, env) = (Arc::clone(self), Arc::clone(env));
        Arc::clone(&env).health.spawn("own_result", async move {
            let result = client.fit_or_shelve(&env, call, project, result, profile, RESULT_INLINE_MAX_BYTES).await;
            client.outbox.answer(key, &mcp::tool_result(&result, &profile));
        });
    }

    /// The whole result of the answer that was just read, if it was put aside.
    pub fn take_whole(&self) -> Option<Box<RawValue>> {
        enter(&self.whole).take()
    }

    /// Whether the client has all that it was answered.
    pub fn has_all(&self) -> bool {
        self.outbox.is_flushed() && !self.outbox.is_broken()
    }

    /// Returns the result in a form that this client accepts. A client in this process gets an empty answer, and fetches the whole
    /// result with [`Self::take_whole`] when it sees that answer.
    async fn fit_or_shelve(
        &self,
        env: &Environment,
        call: CallId,
        project: Option<PathBuf>,
        result: ToolResult,
        profile: ClientProfile,
        most: usize,
    ) -> ToolResult {
        if !env.config.whole_results {
            return fit(env, call, project, result, profile, most).await;
        }
        *enter(&self.whole) = RawValue::from_string(mcp::whole_result(&result, &profile)).ok();
        ToolResult::text("")
    }

    /// Answers a client that read a resource: with the text of the result, or with an error if that is one. `call`: the call that
    /// did not end well, and how it ended.
    fn answer_text(
        &self,
        env: &Environment,
        request: RequestKey,
        (uri, profile): (&str, &ClientProfile),
        result: &ToolResult,
        call: Option<(CallId, Verdict)>,
    ) {
        let text = result.file_text();
        if result.is_error || call.is_some() {
            let call = call.map(|(call, verdict)| (call.to_string(), verdict.label()));
            self.outbox.answer_error(request, &mcp::read_error(uri, &text, call));
        } else {
            let json = mcp::read_result(uri, &text, profile);
            env.events.result_rendered(json.len());
            self.outbox.answer(request, &json);
        }
    }

    fn write(
        &self,
        env: &Environment,
        (call, request): (CallId, RequestKey),
        result: &ToolResult,
        profile: &ClientProfile,
        size: usize,
    ) {
        let write = |out: &mut String| mcp::write_tool_result(out, result, profile, size);
        let answered = self.outbox.answer_with(request, size, write);
        // During a shutdown the main function answers the open requests, so a result that was being written to a file may come too
        // late.
        if !answered && !self.outbox.was_cancelled(request) && !self.is_ending() && !env.is_draining() {
            env.events.answer_for_nobody(call);
        }
    }
}

/// Returns the result in a form that this client accepts. Parts that it does not accept or would cut off, or that exceed `most`
/// bytes, are written to private files in the call's project. The result names these files.
pub async fn fit(
    env: &Environment,
    call: CallId,
    project: Option<PathBuf>,
    result: ToolResult,
    profile: ClientProfile,
    most: usize,
) -> ToolResult {
    if !mcp::is_for_a_file(&result, &profile, most) && mcp::fits(&result, &profile) {
        return result;
    }
    let (state, host) = (env.config.state_dir.clone(), Arc::clone(&env.host));
    let fitted = crate::platform::host::run(&*env.host, move || {
        let folder = result_files::folder_of(project.as_deref(), state.as_deref());
        result_files::ResultFiles::new(&*host, folder, call).fit(result, &profile, most)
    });
    let Some((result, problem)) = fitted.await else { return ToolResult::error(user_text::NOT_SPILLED) };
    if let Some(error) = problem {
        env.events.trouble_with("result_file", &error.to_string());
    }
    result
}
