//! Answers in the form that a session's client takes. What the client does not take is written to files, which the answer names.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::state::Client;
use crate::core::calls::ProgressNews;
use crate::core::port::{Settled, messages};
use crate::core::requests::Asked;
use crate::core::user_text;
use crate::fsm::call::Verdict;
use crate::limits::hub::HUB_PIECE_BYTES;
use crate::limits::{RESULT_BEHIND_MAX_BYTES, RESULT_INLINE_MAX_BYTES};
use crate::protocol::ids::{CallId, RequestKey};
use crate::protocol::jsonrpc;
use crate::protocol::mcp::{self, AnswerForm, ClientProfile, ProtocolVersion, ToolResult};
use crate::runtime::enter;
use crate::runtime::environment::Environment;
use crate::storage::result_files;

/// What happened to an answer after the session was told.
#[derive(Debug)]
pub enum Delivery {
    /// It stands in the queue to the client, or the client has it ([`Client::has_all`]).
    Queued,
    /// It is being written to a file. The receiver says when the answer is queued.
    Later(oneshot::Receiver<()>),
}

impl Client {
    /// Answers a request with how its call ended. `keeps`: keeps the answer for a client that is told to fetch it by
    /// the call's id. `keeps` is given if this session does not read and others wait for the same editor: large results
    /// must not pile up, and must not hold up the answers of the others.
    pub fn settled(
        self: &Arc<Self>,
        env: &Arc<Environment>,
        settled: Settled,
        keeps: Option<impl FnOnce() + Send + 'static>,
    ) -> Delivery {
        let Settled { asked: Asked { key, profile, form }, call, verdict, answer, project, unrun } = settled;
        let result = match answer {
            Ok(result) => result,
            Err(error) => {
                self.outbox.answer_error(key, &error);
                return Delivery::Queued;
            }
        };
        if !self.speaks_port {
            *enter(&self.last_call) = Some((verdict, unrun));
        }
        if self.speaks_port {
            let mut stored = result.stored();
            if let Some(keep) = keeps.filter(|_| stored.len() > RESULT_BEHIND_MAX_BYTES) {
                // The answer is kept before the session is told to fetch it.
                keep();
                stored = ToolResult::text(user_text::withheld(call)).stored();
            }
            self.tell_settled(
                env,
                key,
                stored,
                messages::Settled { verdict: Some(verdict), project, unrun, ..of(call) },
            );
            return Delivery::Queued;
        }
        if let AnswerForm::ResourceText(uri) = form {
            let call = (verdict != Verdict::Ok).then_some((call, verdict));
            self.answer_text(key, (&uri, &profile), &result, call);
            return Delivery::Queued;
        }
        let size = mcp::result_size(&result, &profile);
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
                // The answer is kept before the client is told to fetch it.
                keep();
                result = ToolResult::text(user_text::withheld(call));
                size = mcp::result_size(&result, &profile);
            }
            client.write(&env, (call, key), &result, &profile, size);
            let _ = tell.send(());
        });
        Delivery::Later(later)
    }

    /// Answers a request with a result of the gateway itself, or with one that was kept. The result is made to fit the
    /// client like a result of an editor. `call`: names the files that may be needed for that. They lie in the
    /// `project`.
    pub fn own(
        self: &Arc<Self>,
        env: &Arc<Environment>,
        asked: Asked,
        result: ToolResult,
        (call, project): (CallId, Option<PathBuf>),
    ) {
        let Asked { key, profile, form } = asked;
        if self.speaks_port {
            return self.tell_settled(env, key, result.stored(), messages::Settled { project, ..of(call) });
        }
        if let AnswerForm::ResourceText(uri) = form {
            return self.answer_text(key, (&uri, &profile), &result, None);
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

    /// Tells the client how its call goes on. `version`: the MCP version of the message.
    pub fn goes_on(&self, key: RequestKey, news: &ProgressNews, version: ProtocolVersion) {
        let ProgressNews { token, progress, total, message } = news;
        let line = match self.outbox.number_of(key).filter(|_| self.speaks_port) {
            Some(request) => {
                let (progress, total, message) = (*progress, *total, message.clone());
                let news = messages::Progress { request, progress, total, message };
                jsonrpc::notification(messages::PROGRESS, Some(&as_json(&news)))
            }
            None => mcp::progress(token, *progress, *total, Some(message), version),
        };
        self.outbox.progress(key, *progress, line);
    }

    /// Tells the session of another process how its call ended, with the stored result.
    fn tell_settled(
        self: &Arc<Self>,
        env: &Arc<Environment>,
        key: RequestKey,
        stored: String,
        settled: messages::Settled,
    ) {
        if stored.len() > HUB_PIECE_BYTES {
            let head = move |pieces| messages::Settled { pieces, ..settled };
            return self.tell_in_pieces(env, key, stored, move |pieces| as_json(&head(pieces)));
        }
        let settled = messages::Settled { answer: RawValue::from_string(stored).ok(), ..settled };
        self.outbox.answer_as_is(key, &as_json(&settled));
    }

    /// Answers a question of the session of another process.
    pub fn tell(self: &Arc<Self>, env: &Arc<Environment>, key: RequestKey, answer: &impl Serialize) {
        let json = as_json(answer);
        if json.len() > HUB_PIECE_BYTES {
            self.tell_in_pieces(env, key, json, |pieces| format!(r#"{{"pieces":{pieces}}}"#));
        } else {
            self.outbox.answer_as_is(key, &json);
        }
    }

    /// Writes a long answer in pieces, so that no other message waits behind all of it. `head` makes the answer itself
    /// from the number of pieces.
    fn tell_in_pieces(
        self: &Arc<Self>,
        env: &Arc<Environment>,
        key: RequestKey,
        json: String,
        head: impl FnOnce(usize) -> String + Send + 'static,
    ) {
        self.outbox.is_being_answered(key);
        let Some(request) = self.outbox.number_of(key) else { return };
        let client = Arc::clone(self);
        env.health.spawn("pieces", async move {
            let mut nth = 0;
            for text in pieces_of(&json) {
                let piece = messages::Piece { request, nth, text: text.to_owned() };
                let line = jsonrpc::notification(messages::PIECE, Some(&as_json(&piece)));
                loop {
                    client.outbox.flushed().await;
                    // Nobody waits for the rest of a cancelled answer.
                    if !client.outbox.is_open(key) || client.outbox.is_broken() {
                        return;
                    }
                    // A piece that had to wait may find the queue filled by others. Then it waits again.
                    if client.outbox.notify(messages::PIECE, line.clone(), false) {
                        break;
                    }
                }
                nth += 1;
            }
            client.outbox.answer_as_is(key, &head(nth));
        });
    }

    /// The whole result of the answer that was just read, if it was put aside.
    pub fn take_whole(&self) -> Option<Box<RawValue>> {
        enter(&self.whole).take()
    }

    /// How the last call ended, and whether an editor refused it before it ran: for a client that makes only one.
    pub fn take_last_call(&self) -> Option<(Verdict, bool)> {
        enter(&self.last_call).take()
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
        if !profile.whole {
            return fit(env, call, project, result, profile, most).await;
        }
        *enter(&self.whole) = RawValue::from_string(mcp::whole_result(&result, &profile)).ok();
        ToolResult::text("")
    }

    /// Answers a client that read a resource, with the text of the result. If the result is an error, the answer is an
    /// error. `call`: the call if it did not end well, and how it ended.
    fn answer_text(
        &self,
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

/// Returns the message for this call without a result.
fn of(call: CallId) -> messages::Settled {
    messages::Settled { call, verdict: None, answer: None, pieces: 0, project: None, unrun: false }
}

fn as_json(value: &impl Serialize) -> String {
    // Such a value can always be written. If it could not, the session would find no answer in the line, and report
    // that.
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// Returns a text in pieces of at most [`HUB_PIECE_BYTES`].
fn pieces_of(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut end = rest.len().min(HUB_PIECE_BYTES);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (piece, more) = rest.split_at_checked(end)?;
        rest = more;
        (!piece.is_empty()).then_some(piece)
    })
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
