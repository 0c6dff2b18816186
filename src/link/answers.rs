//! Answers to clients: shapes and delivers results, writes large ones to files, and keeps late ones.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::value::{RawValue, to_raw_value};
use tokio::time::{Instant, timeout};

use super::guests::{GuestAnswer, Guests};
use super::ledger::SharedLedger;
use super::state::Link;
use super::tools::Tools;
use crate::client::{Attached, Client};
use crate::core::call_records::{Origin, SentCall};
use crate::core::calls::{Answer, Keep};
use crate::core::last_compile::{LastCompile, SeenCompile};
use crate::core::logbook::{self, LogEntry, Logbook};
use crate::core::requests::Asked;
use crate::core::user_text;
use crate::fsm::call::Verdict;
use crate::fsm::cause::{Cause, Loss};
use crate::limits::hub::LEFT_CALLS_TOLD_MAX;
use crate::limits::{
    FINISHED_CALLS_MAX, LOGBOOK_BYTES_MAX, RESULT_BEHIND_MAX_BYTES, RESULT_INLINE_MAX_BYTES, STDOUT_SLOW,
};
use crate::protocol::dialect::EditorAnswer;
use crate::protocol::ids::{CallId, RequestKey, SessionId};
use crate::protocol::jsonrpc::compact;
use crate::protocol::mcp::{self, AnswerForm, ClientProfile, ProtocolVersion, ToolResult};
use crate::runtime::enter;
use crate::runtime::environment::Environment;
use crate::storage::call_files::CallFile;
use crate::storage::result_files::{self, ResultFiles};

/// See the module's documentation.
#[derive(Debug)]
pub struct Answers {
    env: Arc<Environment>,
    attached: Attached,
    ledger: Arc<SharedLedger>,
    link: Arc<Link>,
    tools: Arc<Tools>,
    pub(super) guests: Guests,
    logbook: Mutex<Logbook>,
    last_compile: Mutex<LastCompile>,
    /// The whole result for a client in this process ([`Config::whole_results`](crate::config::Config::whole_results)).
    whole: Mutex<Option<Box<RawValue>>>,
    /// Calls that earlier gateways did not answer, until their client is told.
    left: Mutex<Vec<LeftCall>>,
}

/// A call that an earlier gateway did not answer.
#[derive(Debug)]
struct LeftCall {
    client: String,
    tool: Arc<str>,
    call: CallId,
}

impl Answers {
    /// The answers of a link, before the first call.
    pub fn new(
        env: Arc<Environment>,
        attached: Attached,
        ledger: Arc<SharedLedger>,
        link: Arc<Link>,
        tools: Arc<Tools>,
    ) -> Self {
        let (guests, logbook, last_compile, whole, left) = Default::default();
        Self { env, attached, ledger, link, tools, guests, logbook, last_compile, whole, left }
    }

    /// Runs an operation on the logs.
    pub fn logbook<T>(&self, operation: impl FnOnce(&mut Logbook) -> T) -> T {
        operation(&mut enter(&self.logbook))
    }

    /// Answers a call in the shape that its client takes.
    pub(super) fn answer(self: &Arc<Self>, mut answer: Answer) {
        self.env.events.call_answered(&answer);
        let ended = (answer.verdict, answer.body.as_ref());
        self.note_compile((answer.call, &answer.tool), answer.project.as_deref(), ended);
        let guest = self.guests.take(answer.request);
        if guest.is_none() && answer.verdict == Verdict::NotExecuted(Cause::UnknownTool) {
            if let Some(client) = self.attached.get(answer.request.session) {
                let error = self.tools.published.borrow().catalogue.unknown_tool(&answer.tool, answer.profile.audience);
                client.outbox.answer_error(answer.request, &error);
            }
            return;
        }
        let mut result = match answer.body.take() {
            Some(body) => ToolResult::from_editor(body),
            None => ToolResult::error(self.told_verdict(&answer)),
        };
        // One verdict says it itself.
        if answer.taken_over && answer.verdict != Verdict::OutcomeUnknown(Loss::HubEnded) {
            result = result.with_line(user_text::TAKEN_OVER);
        }
        if let Some(says) = self.tell_left(&answer) {
            result = result.with_line(&says);
        }
        let Answer { request, call, tool, profile, form, verdict, project, .. } = answer;
        // A call that still runs is logged when it has ended.
        let runs_on = verdict == Verdict::StillRunning;
        let logged = !runs_on && self.log_result(call, &tool, &result, &profile);
        // The client of a call of an earlier gateway asks for the result, if it comes back at all, and so does one over HTTP that did
        // not get its answer.
        let kept = match request.session {
            session if session.is_post() => (!runs_on).then_some(Keep::Written),
            session => (logged || session == SessionId::RECOVERED).then_some(Keep::Owed),
        };
        if let Some(guest) = guest {
            if logged {
                self.keep(call, &mcp::tool_result(&result, &profile), Keep::Owed);
            }
            // A guest that no longer waits can fetch the result by the call's id.
            let _ = guest.send(GuestAnswer { verdict, result });
            return;
        }
        if let AnswerForm::ResourceText(uri) = form {
            if let Some(records) = self.env.call_records().filter(|records| records.is_sent(call)) {
                // A client that comes back reads the resource again, which runs nothing twice that counts.
                records.dropped(call);
            }
            if self.env.records.is_some() && !runs_on && mcp::result_size(&result, &profile) <= RESULT_INLINE_MAX_BYTES
            {
                self.keep(call, &mcp::tool_result(&result, &with_handshake(profile)), Keep::Written);
            }
            if let Some(client) = self.attached.get(request.session) {
                let call = (verdict != Verdict::Ok).then_some((call, verdict));
                self.deliver_text(&client, request, (&uri, &profile), &result, call);
            }
            return;
        }
        let size = mcp::result_size(&result, &profile);
        self.env.events.result_rendered(size);
        let deliver = move |answers: &Self, result: &ToolResult, size: usize, is_whole: bool| {
            // The client of a session that ends may be gone.
            let is_ending = || answers.attached.get(request.session).is_none_or(|client| client.is_ending());
            let owed = || (!runs_on && answers.env.records.is_some() && is_ending()).then_some(Keep::Owed);
            if let Some(why) = kept.or_else(owed).filter(|_| is_whole) {
                answers.keep(call, &mcp::tool_result(result, &with_handshake(profile)), why);
            }
            answers.deliver((call, verdict), request, size, |out| mcp::write_tool_result(out, result, &profile, size));
        };
        let most = self.inline_max(request);
        if size <= most && mcp::fits(&result, &profile) {
            deliver(self, &result, size, true);
            return;
        }
        let answers = Arc::clone(self);
        self.env.health.spawn("result", async move {
            let mut result = answers.fit_or_shelve(call, project, result, profile, most).await;
            let mut size = mcp::result_size(&result, &profile);
            let is_whole = most >= RESULT_INLINE_MAX_BYTES || size <= most;
            if !is_whole {
                answers.keep(call, &mcp::tool_result(&result, &profile), Keep::Owed);
                result = ToolResult::text(user_text::withheld(call));
                size = mcp::result_size(&result, &profile);
            }
            deliver(&answers, &result, size, is_whole);
        });
    }

    /// The size of the largest result that is sent to the client inline. It is smaller while this session does not read and
    /// shares its link with others: its large results must not pile up here, and must not hold up the others' answers.
    fn inline_max(&self, request: RequestKey) -> usize {
        let blocked = |client: Arc<Client>| client.outbox.is_blocked() && self.attached.all().len() > 1;
        let behind = self.attached.get(request.session).is_some_and(blocked);
        if behind { RESULT_BEHIND_MAX_BYTES } else { RESULT_INLINE_MAX_BYTES }
    }

    /// Returns the result in a form that this client accepts. A client in this process gets an empty answer, and fetches the
    /// whole result with [`Self::take_whole`] when it sees that answer.
    async fn fit_or_shelve(
        &self,
        call: CallId,
        project: Option<PathBuf>,
        result: ToolResult,
        profile: ClientProfile,
        most: usize,
    ) -> ToolResult {
        if !self.env.config.whole_results {
            return self.fit(call, project, result, profile, most).await;
        }
        *enter(&self.whole) = RawValue::from_string(mcp::whole_result(&result, &profile)).ok();
        ToolResult::text("")
    }

    /// The whole result of the answer that was just read, if it was put aside.
    pub fn take_whole(&self) -> Option<Box<RawValue>> {
        enter(&self.whole).take()
    }

    /// Answers with a result of the gateway itself. It is made to fit the client like a result of an editor.
    pub fn own(self: &Arc<Self>, asked: Asked, result: ToolResult) {
        let Asked { key: request, profile, form } = asked;
        let Some(client) = self.attached.get(request.session) else { return };
        if let AnswerForm::ResourceText(uri) = form {
            return self.deliver_text(&client, request, (&uri, &profile), &result, None);
        }
        let size = mcp::result_size(&result, &profile);
        if size <= RESULT_INLINE_MAX_BYTES && mcp::fits(&result, &profile) {
            client.outbox.answer(request, &mcp::tool_result(&result, &profile));
            return;
        }
        let answers = Arc::clone(self);
        self.env.health.spawn("own_result", async move {
            // The result belongs to no call, but its file's name needs a call id.
            let project = answers.link.wanted().project().map(Path::to_path_buf);
            let call = answers.env.next_call_id();
            let result = answers.fit_or_shelve(call, project, result, profile, RESULT_INLINE_MAX_BYTES).await;
            client.outbox.answer(request, &mcp::tool_result(&result, &profile));
        });
    }

    /// Answers a client that read a resource: with the text of the result, or with an error if that is one. `call`: the call that
    /// did not end well, and how it ended.
    fn deliver_text(
        &self,
        client: &Client,
        request: RequestKey,
        (uri, profile): (&str, &ClientProfile),
        result: &ToolResult,
        call: Option<(CallId, Verdict)>,
    ) {
        let text = result.file_text();
        if result.is_error || call.is_some() {
            let call = call.map(|(call, verdict)| (call.to_string(), verdict.label()));
            client.outbox.answer_error(request, &mcp::read_error(uri, &text, call));
        } else {
            let json = mcp::read_result(uri, &text, profile);
            self.env.events.result_rendered(json.len());
            client.outbox.answer(request, &json);
        }
    }

    /// Remembers what a call of the compile tool says of the scripts; see [`LastCompile`].
    fn note_compile(
        &self,
        (call, tool): (CallId, &str),
        project: Option<&Path>,
        ended: (Verdict, Option<&EditorAnswer>),
    ) {
        let compile = self.link.dialect().properties().roles.compile;
        let is_it = |entry: &mcp::Entry| compile.contains(&entry.tool.name.as_str());
        if !compile.is_empty() && self.tools.published.borrow().catalogue.find(tool).is_some_and(is_it) {
            enter(&self.last_compile).note(project, call, ended, Instant::now());
        }
    }

    /// Remembers that a call ended without an answer to its client.
    pub(super) fn noted(&self, call: (CallId, &str), project: Option<&Path>, verdict: Verdict) {
        // What a call answered late was remembered when the answer came.
        if verdict == Verdict::Cancelled {
            self.note_compile(call, project, (verdict, None));
        }
    }

    /// Returns the last compile result that was seen of the wanted project; `None` if none was.
    pub fn last_compile(&self) -> Option<SeenCompile> {
        let wanted = self.link.wanted();
        enter(&self.last_compile).of(wanted.project()).cloned()
    }

    /// Keeps an answer, so that it can be fetched by the call's id.
    pub fn keep(&self, call: CallId, json: &str, why: Keep) {
        // Copied before the lock is taken: the answer may have megabytes.
        let json: Arc<str> = json.into();
        self.ledger.with(|ledger, now| ledger.keep(call, json, why, now));
    }

    fn deliver(
        &self,
        (call, verdict): (CallId, Verdict),
        request: RequestKey,
        size: usize,
        write: impl FnOnce(&mut String),
    ) {
        let Some(records) = self.env.call_records().filter(|records| records.is_sent(call)) else {
            return self.deliver_with(call, request, size, write);
        };
        let client = self.attached.get(request.session);
        // The session of a hub says itself when its client has the answer, and until then may ask for it again. A client over
        // stdin and stdout cannot: once the answer is written, its record has no use.
        let own = client.as_ref().filter(|_| self.env.records.is_none());
        let origin = own.and_then(|client| client.origin_of(request));
        let (runs_on, unknown) = (verdict == Verdict::StillRunning, matches!(verdict, Verdict::OutcomeUnknown(_)));
        if unknown && self.env.records.is_none() && self.env.is_draining() {
            // What is not known at the end of this process can still be learned by the next one.
            self.deliver_with(call, request, size, write);
            if client.is_some_and(|client| client.outbox.is_flushed() && !client.outbox.is_broken()) {
                records.told(call);
            }
            return;
        }
        let mut result = String::with_capacity(size);
        write(&mut result);
        if origin.is_none() || runs_on {
            records.answered(call, &result, (runs_on, unknown));
        }
        self.deliver_with(call, request, size, |out| out.push_str(&result));
        if let (Some(client), Some(origin)) = (client, origin) {
            self.record_delivery(client, Arc::clone(records), origin, move |records| {
                records.answered(call, &result, (runs_on, unknown));
            });
        }
    }

    /// Records that a client over stdin and stdout has the answer, once it is written. An answer that has to wait is recorded
    /// itself: this process may end before its client reads.
    pub(super) fn record_delivery(
        &self,
        client: Arc<Client>,
        records: Arc<CallFile>,
        origin: Origin,
        answered: impl FnOnce(&CallFile) + Send + 'static,
    ) {
        // An answer that cannot be written reaches nobody.
        let is_written = |client: &Client| client.outbox.is_flushed() && !client.outbox.is_broken();
        if is_written(&client) {
            return records.delivered(origin);
        }
        if client.outbox.is_broken() {
            return answered(&records);
        }
        self.env.health.spawn("delivered", async move {
            if timeout(STDOUT_SLOW, client.outbox.flushed()).await.is_err() || client.outbox.is_broken() {
                answered(&records);
                client.outbox.flushed().await;
            }
            if is_written(&client) {
                records.delivered(origin);
            }
        });
    }

    /// Remembers that earlier gateways ended before these calls were answered. The client that made them is told with its next
    /// answer.
    pub(super) fn left_by_others<'s>(&self, calls: impl Iterator<Item = &'s SentCall>) {
        let told =
            calls.map(|sent| LeftCall { client: sent.client.0.clone(), tool: Arc::clone(&sent.tool), call: sent.call });
        let mut left = enter(&self.left);
        left.extend(told);
        left.truncate(FINISHED_CALLS_MAX);
    }

    /// Returns what the client of this call is told of calls that earlier gateways did not answer, once.
    fn tell_left(&self, answer: &Answer) -> Option<String> {
        let mut left = enter(&self.left);
        if left.is_empty() || answer.form != AnswerForm::ToolResult {
            return None;
        }
        let client = self.attached.get(answer.request.session)?.handshake().name;
        let told: Vec<LeftCall> = left.extract_if(.., |left| left.client == client).collect();
        drop(left);
        for LeftCall { call, .. } in &told {
            self.env.call_records()?.told(*call);
        }
        let named: Vec<(&str, CallId)> =
            told.iter().take(LEFT_CALLS_TOLD_MAX).map(|left| (&*left.tool, left.call)).collect();
        (!named.is_empty()).then(|| user_text::left_by_others(&named, told.len() - named.len()))
    }

    fn deliver_with(&self, call: CallId, request: RequestKey, size: usize, write: impl FnOnce(&mut String)) {
        // If the session has ended, all its requests have been answered. During a shutdown the main function answers the open
        // requests, so a result that was being written to a file may come too late.
        let Some(client) = self.attached.get(request.session) else { return };
        let answered = client.outbox.answer_with(request, size, write);
        if !answered && !client.outbox.was_cancelled(request) && !client.is_ending() && !self.env.is_draining() {
            self.env.events.answer_for_nobody(call);
        }
    }

    pub(super) fn keep_late(
        self: &Arc<Self>,
        call: CallId,
        project: Option<PathBuf>,
        answer: EditorAnswer,
        profile: ClientProfile,
    ) {
        let tool = self.ledger.with(|ledger, _| ledger.record(call).map(|record| Arc::clone(&record.tool)));
        if let Some(tool) = &tool {
            let verdict = if answer.is_error { Verdict::ToolError } else { Verdict::Ok };
            self.note_compile((call, tool), project.as_deref(), (verdict, Some(&answer)));
        }
        let answers = Arc::clone(self);
        self.env.health.spawn("late_result", async move {
            let result = ToolResult::from_editor(answer);
            if let Some(tool) = tool {
                answers.log_result(call, &tool, &result, &profile);
            }
            let result = answers.fit(call, project, result, profile, RESULT_INLINE_MAX_BYTES).await;
            let json = mcp::tool_result(&result, &with_handshake(profile));
            if let Some(records) = answers.env.call_records() {
                records.answered(call, &json, (false, false));
            }
            answers.keep(call, &json, Keep::Owed);
        });
    }

    /// Returns the result in a form that this client accepts. Parts that it does not accept or would cut off, or that exceed
    /// `most` bytes, are written to private files in the call's project. The result names these files.
    async fn fit(
        &self,
        call: CallId,
        project: Option<PathBuf>,
        result: ToolResult,
        profile: ClientProfile,
        most: usize,
    ) -> ToolResult {
        if !mcp::is_for_a_file(&result, &profile, most) && mcp::fits(&result, &profile) {
            return result;
        }
        let state = self.env.config.state_dir.clone();
        let host = Arc::clone(&self.env.host);
        let fitted = crate::platform::host::run(&*self.env.host, move || {
            let folder = result_files::folder_of(project.as_deref(), state.as_deref());
            ResultFiles::new(&*host, folder, call).fit(result, &profile, most)
        });
        let Some((result, problem)) = fitted.await else { return ToolResult::error(user_text::NOT_SPILLED) };
        if let Some(error) = problem {
            self.env.events.trouble_with("result_file", &error.to_string());
        }
        result
    }

    /// Returns the text of a verdict. If no editor was called because another program was met in its place, or because of a
    /// problem with the project, the text says that too.
    fn told_verdict(&self, answer: &Answer) -> String {
        let Verdict::NotExecuted(cause) = answer.verdict else { return user_text::verdict(answer, None, None) };
        let survey = self.link.survey_now();
        let met = matches!(
            cause,
            Cause::WrongPeer
                | Cause::WrongProject
                | Cause::Unproven
                | Cause::Stalled
                | Cause::BridgeDown
                | Cause::NoPackage
                | Cause::Connecting
        );
        let met = self
            .link
            .view_now()
            .foreign_peer
            .as_ref()
            .filter(|_| met)
            .map(|met| user_text::foreign_peer(met, Instant::now()));
        // A refusal with its own grounds says what to do itself.
        let explained = || survey.as_ref().filter(|_| answer.refused.is_none())?.explains(cause);
        let project = survey.as_ref().and_then(|survey| survey.project.as_deref());
        user_text::verdict(answer, met.or_else(explained).as_deref(), project)
    }

    /// Logs the result, if the package has a log for each operation. True if the package has one and the result is small enough:
    /// then the answer is kept under the call's id, for the package's tool that fetches it.
    fn log_result(&self, call: CallId, tool: &str, result: &ToolResult, profile: &ClientProfile) -> bool {
        let tool = self.tools.published.borrow().catalogue.find(tool).map(|entry| entry.tool.name.clone());
        let prefix = tool.and_then(|tool| self.link.dialect().log_prefix(&tool));
        let Some(prefix) = prefix.filter(|_| mcp::result_size(result, profile) <= LOGBOOK_BYTES_MAX) else {
            return false;
        };
        let at = self.env.host.now();
        let text = result.file_text();
        let data = match serde_json::from_str::<&RawValue>(&text) {
            Ok(json) => RawValue::from_string(compact(json.get()).into_owned()),
            Err(_) => to_raw_value(&text),
        };
        if let Ok(data) = data {
            let (id, name) = (call.to_string(), logbook::log_of_call(prefix, at));
            self.logbook(|book| book.write(LogEntry { id, name, data, at }));
        }
        true
    }
}

/// Returns the profile in which a result is kept. The client that fetches it may use a version with a handshake, where a result may
/// contain less.
fn with_handshake(profile: ClientProfile) -> ClientProfile {
    ClientProfile { version: profile.version.min(ProtocolVersion::LATEST), ..profile }
}

#[cfg(test)]
mod tests;
