//! What becomes of a call's result: it is told to the session of the call, recorded, and kept if that session may ask for it later.

mod pictures;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::value::{RawValue, to_raw_value};
use tokio::time::{Instant, timeout};

use super::contact::Contact;
use super::guests::{GuestAnswer, Guests};
use super::ledger::SharedLedger;
use super::tools::Tools;
use crate::client::{Attached, Client, Delivery, fit};
use crate::core::call_records::{Origin, SentCall};
use crate::core::calls::{Answer, Keep};
use crate::core::last_compile::{LastCompile, SeenCompile};
use crate::core::logbook::{self, LogEntry, Logbook};
use crate::core::port::Settled;
use crate::core::requests::Asked;
use crate::core::user_text;
use crate::fsm::call::Verdict;
use crate::fsm::cause::{Cause, Loss};
use crate::limits::hub::LEFT_CALLS_TOLD_MAX;
use crate::limits::{FINISHED_CALLS_MAX, LOGBOOK_BYTES_MAX, RESULT_INLINE_MAX_BYTES, STDOUT_SLOW};
use crate::protocol::dialect::EditorAnswer;
use crate::protocol::ids::{CallId, SessionId};
use crate::protocol::jsonrpc::compact;
use crate::protocol::mcp::{self, AnswerForm, ClientProfile, ProtocolVersion, ToolResult};
use crate::runtime::enter;
use crate::runtime::environment::Environment;
use crate::storage::call_files::CallFile;

/// See the module's documentation.
#[derive(Debug)]
pub struct Answers {
    env: Arc<Environment>,
    attached: Attached,
    ledger: Arc<SharedLedger>,
    contact: Arc<Contact>,
    tools: Arc<Tools>,
    pub(super) guests: Guests,
    logbook: Mutex<Logbook>,
    last_compile: Mutex<LastCompile>,
    /// Calls that earlier gateways did not answer, until their client is told.
    left: Mutex<Vec<LeftCall>>,
}

/// An answer that was told to its session, with the parts of it that may have to be recorded.
pub(super) struct Told {
    pub(super) call: CallId,
    pub(super) result: Arc<ToolResult>,
    pub(super) profile: ClientProfile,
    pub(super) project: Option<PathBuf>,
    pub(super) runs_on: bool,
    pub(super) unknown: bool,
    /// Whether the next process may still learn the outcome.
    pub(super) is_left: bool,
    pub(super) records: Arc<CallFile>,
    /// The request. `None` if nothing is to be recorded when the client has the answer.
    pub(super) origin: Option<Origin>,
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
        contact: Arc<Contact>,
        tools: Arc<Tools>,
    ) -> Self {
        let (guests, logbook, last_compile, left) = Default::default();
        Self { env, attached, ledger, contact, tools, guests, logbook, last_compile, left }
    }

    /// Runs an operation on the logs.
    pub fn logbook<T>(&self, operation: impl FnOnce(&mut Logbook) -> T) -> T {
        operation(&mut enter(&self.logbook))
    }

    /// Tells the session of a call how it ended. Pictures that the answer only names are read first.
    pub(super) fn answer(self: &Arc<Self>, answer: Answer) {
        let dialect = self.contact.dialect();
        let named = answer.body.as_ref().map(|body| dialect.picture_files(&answer.tool, body)).unwrap_or_default();
        let Some(project) = answer.project.clone().filter(|_| !named.is_empty()) else { return self.tell(answer) };
        let answers = Arc::clone(self);
        self.env.health.spawn("pictures", async move {
            let body = match answer.body {
                Some(body) => Some(pictures::added(&answers.env.host, project, named, body).await),
                None => None,
            };
            answers.tell(Answer { body, ..answer });
        });
    }

    /// Tells the session of a call how it ended. Keeps and records what may be needed after this process.
    fn tell(self: &Arc<Self>, mut answer: Answer) {
        self.env.events.call_answered(&answer);
        let ended = (answer.verdict, answer.body.as_ref());
        self.note_compile((answer.call, &answer.tool), answer.project.as_deref(), ended);
        let guest = self.guests.take(answer.request);
        let is_unknown = guest.is_none() && answer.verdict == Verdict::NotExecuted(Cause::UnknownTool);
        let mut result = match answer.body.take() {
            Some(body) => ToolResult::from_editor(body),
            None => ToolResult::error(self.told_verdict(&answer)),
        };
        // The text of this one verdict says it already.
        if answer.taken_over && answer.verdict != Verdict::OutcomeUnknown(Loss::HubEnded) {
            result = result.with_line(user_text::TAKEN_OVER);
        }
        if !is_unknown && let Some(says) = self.tell_left(&answer) {
            result = result.with_line(&says);
        }
        let Answer { request, call, tool, profile, form, verdict, project, unrun, .. } = answer;
        // A call that still runs is logged when it has ended.
        let logged = verdict != Verdict::StillRunning && self.log_result(call, &tool, &result);
        if let Some(guest) = guest {
            if logged {
                self.keep(call, &result.stored(), Keep::Owed);
            }
            // A guest that no longer waits can fetch the result by the call's id.
            let _ = guest.send(GuestAnswer { verdict, result });
            return;
        }
        let answer = match is_unknown {
            true => Err(self.tools.published.borrow().catalogue.unknown_tool(&tool, profile.audience)),
            false => Ok(Arc::new(result)),
        };
        let asked = Asked { key: request, profile, form };
        let settled = Settled { asked, call, verdict, answer, project, unrun };
        let kept = self.kept(&settled, logged);
        if !self.is_shelved_first(&settled, kept) {
            return self.hand_over(settled, kept);
        }
        if kept.is_some() {
            // A client that asks for the result meanwhile is told that it comes.
            self.ledger.with(|ledger, _| ledger.will_be_kept(call));
        }
        let answers = Arc::clone(self);
        self.env.health.spawn("result", async move {
            let Settled { asked, call, verdict, answer: Ok(result), project, unrun } = settled else { return };
            let result = answers.shelved(call, project.clone(), Arc::unwrap_or_clone(result), asked.profile).await;
            let settled = Settled { asked, call, verdict, answer: Ok(Arc::new(result)), project, unrun };
            let kept = answers.kept(&settled, logged);
            answers.hand_over(settled, kept);
        });
    }

    /// Returns why an answer is kept for a client that asks by the call's id. `None` if it is not kept.
    fn kept(&self, settled: &Settled, logged: bool) -> Option<Keep> {
        let Settled { asked: Asked { key, form, .. }, verdict, answer, .. } = settled;
        if *verdict == Verdict::StillRunning || answer.is_err() {
            return None;
        }
        let is_hub = self.env.records.is_some();
        if *form != AnswerForm::ToolResult {
            return is_hub.then_some(Keep::Written);
        }
        // A client over HTTP that did not get its answer asks for it. So does the client of a call of an earlier
        // gateway, if that client comes back. The client of a session that ends may be gone.
        let is_ending = || self.attached.get(key.session).is_none_or(|client| client.is_ending());
        match key.session {
            session if session.is_post() => Some(Keep::Written),
            session if logged || session == SessionId::RECOVERED || is_hub && is_ending() => Some(Keep::Owed),
            _ => None,
        }
    }

    /// Whether a result must be written to a file before it is told. That is so if the result is kept or recorded, and
    /// its client does not take all of it.
    fn is_shelved_first(&self, settled: &Settled, kept: Option<Keep>) -> bool {
        let (Ok(result), Asked { profile, form, .. }) = (&settled.answer, &settled.asked) else { return false };
        let is_recorded = || self.env.records.as_ref().is_some_and(|records| records.is_sent(settled.call));
        let is_stored = *form == AnswerForm::ToolResult && (kept.is_some() || is_recorded());
        is_stored
            && !profile.whole
            && (mcp::is_for_a_file(result, profile, RESULT_INLINE_MAX_BYTES) || !mcp::fits(result, profile))
    }

    /// Returns a result in the form in which it is kept and recorded: as its client takes it. Another client that
    /// fetches it gets it in its own form.
    async fn shelved(
        &self,
        call: CallId,
        project: Option<PathBuf>,
        result: ToolResult,
        profile: ClientProfile,
    ) -> ToolResult {
        fit(&self.env, call, project, result, profile, RESULT_INLINE_MAX_BYTES).await
    }

    /// Keeps and records an answer as far as it must be, and tells it to the session of its call.
    fn hand_over(self: &Arc<Self>, settled: Settled, kept: Option<Keep>) {
        let (call, key, is_text) = (settled.call, settled.asked.key, settled.asked.form != AnswerForm::ToolResult);
        let (runs_on, unknown) =
            (settled.verdict == Verdict::StillRunning, matches!(settled.verdict, Verdict::OutcomeUnknown(_)));
        let client = self.attached.get(key.session);
        let Ok(result) = &settled.answer else {
            client.inspect(|client| drop(client.settled(&self.env, settled, None::<fn()>)));
            return;
        };
        if let Some(why) = kept
            && (!is_text || mcp::result_size(result, &any_client()) <= RESULT_INLINE_MAX_BYTES)
        {
            self.keep(call, &result.stored(), why);
        }
        let mut records = self.env.call_records().filter(|records| records.is_sent(call));
        if let Some(records) = records.take_if(|_| is_text) {
            // A client that comes back reads the resource again. To read it twice does no harm.
            records.dropped(call);
        }
        // The session of a hub says itself when its client has the answer, and may ask for the answer again until then.
        // A client over stdin and stdout cannot say so: once the answer is written, its record has no use.
        let own = client.as_ref().filter(|_| self.env.records.is_none());
        let origin = own.and_then(|client| client.origin_of(key));
        // If the outcome is unknown at the end of this process, the next process may still learn it.
        let is_left = unknown && self.env.records.is_none() && self.env.is_draining();
        if let Some(records) = records.filter(|_| !is_left && (origin.is_none() || runs_on)) {
            records.answered(call, &result.stored(), (runs_on, unknown));
        }
        let Some(client) = client else { return };
        let is_behind = client.outbox.is_blocked() && self.attached.all().len() > 1;
        let keeps = is_behind.then(|| {
            let (answers, result) = (Arc::clone(self), Arc::clone(result));
            move || answers.keep(call, &result.stored(), Keep::Owed)
        });
        let told = records.map(|records| {
            let (records, result, project) = (Arc::clone(records), Arc::clone(result), settled.project.clone());
            let profile = settled.asked.profile;
            Told { call, result, profile, project, runs_on, unknown, is_left, records, origin }
        });
        let delivery = client.settled(&self.env, settled, keeps);
        if let Some(told) = told {
            self.follow(client, delivery, told);
        }
    }

    /// Follows an answer to its client.
    pub(super) fn follow(self: &Arc<Self>, client: Arc<Client>, delivery: Delivery, told: Told) {
        match delivery {
            Delivery::Queued => self.told(client, told),
            Delivery::Later(later) => {
                let answers = Arc::clone(self);
                self.env.health.spawn("told", async move {
                    if later.await.is_ok() {
                        answers.told(client, told);
                    }
                });
            }
        }
    }

    fn told(self: &Arc<Self>, client: Arc<Client>, told: Told) {
        let has_all = client.has_all();
        if told.is_left {
            if has_all {
                told.records.told(told.call);
            }
        } else if let Some(origin) = &told.origin {
            if has_all {
                return told.records.delivered(origin.clone());
            }
            self.env.health.spawn("delivered", Arc::clone(self).record_delivery(client, told));
        }
    }

    /// Records that a client over stdin and stdout has the answer, once it is written. An answer that has to wait is recorded
    /// itself: this process may end before its client reads.
    async fn record_delivery(self: Arc<Self>, client: Arc<Client>, told: Told) {
        let Told { call, result, profile, project, runs_on, unknown, records, origin: Some(origin), .. } = told else {
            return;
        };
        // If an answer cannot be written, no client has it.
        if client.outbox.is_broken()
            || timeout(STDOUT_SLOW, client.outbox.flushed()).await.is_err()
            || client.outbox.is_broken()
        {
            let result = self.shelved(call, project, Arc::unwrap_or_clone(result), profile).await;
            records.answered(call, &result.stored(), (runs_on, unknown));
            client.outbox.flushed().await;
        }
        if client.has_all() {
            records.delivered(origin);
        }
    }

    /// Remembers what a call of the compile tool says of the scripts; see [`LastCompile`].
    fn note_compile(
        &self,
        (call, tool): (CallId, &str),
        project: Option<&Path>,
        ended: (Verdict, Option<&EditorAnswer>),
    ) {
        let compile = self.contact.dialect().properties().roles.compile;
        let is_it = |entry: &mcp::Entry| compile.contains(&entry.tool.name.as_str());
        if !compile.is_empty() && self.tools.published.borrow().catalogue.find(tool).is_some_and(is_it) {
            enter(&self.last_compile).note(project, call, ended, Instant::now());
        }
    }

    /// Remembers that a call ended without an answer to its client.
    pub(super) fn noted(&self, call: (CallId, &str), project: Option<&Path>, verdict: Verdict) {
        // If the call was answered late, it was remembered when the answer came.
        if verdict == Verdict::Cancelled {
            self.note_compile(call, project, (verdict, None));
        }
    }

    /// Returns the last compile result that was seen of the wanted project; `None` if none was.
    pub fn last_compile(&self) -> Option<SeenCompile> {
        let wanted = self.contact.wanted();
        enter(&self.last_compile).of(wanted.project()).cloned()
    }

    /// Keeps an answer, so that it can be fetched by the call's id.
    pub fn keep(&self, call: CallId, json: &str, why: Keep) {
        // Copied before the lock is taken: the answer may have megabytes.
        let json: Arc<str> = json.into();
        self.ledger.with(|ledger, now| ledger.keep(call, json, why, now));
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

    /// Returns what the client of this call must be told about calls that earlier gateways did not answer. It is told
    /// once.
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
                answers.log_result(call, &tool, &result);
            }
            let json = answers.shelved(call, project, result, profile).await.stored();
            if let Some(records) = answers.env.call_records() {
                records.answered(call, &json, (false, false));
            }
            answers.keep(call, &json, Keep::Owed);
        });
    }

    /// Returns the text of a verdict. The text also says if another program was met in the editor's place, or if the
    /// project has a problem.
    fn told_verdict(&self, answer: &Answer) -> String {
        let Verdict::NotExecuted(cause) = answer.verdict else { return user_text::verdict(answer, None, None) };
        let survey = self.contact.survey_now();
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
        let view = self.contact.view_now();
        let met = view.foreign_peer.as_ref().filter(|_| met).map(|met| user_text::foreign_peer(met, Instant::now()));
        let broken = view.compile_error.as_deref().filter(|_| cause == Cause::BridgeDown).map(user_text::safe_mode);
        // A refusal with its own grounds says what to do itself.
        let explained = || survey.as_ref().filter(|_| answer.refused.is_none())?.explains(cause);
        let project = survey.as_ref().and_then(|survey| survey.project.as_deref());
        user_text::verdict(answer, broken.or(met).or_else(explained).as_deref(), project)
    }

    /// Logs the result, if the package has a log for each operation. True if the package has one and the result is small enough:
    /// then the answer is kept under the call's id, for the package's tool that fetches it.
    fn log_result(&self, call: CallId, tool: &str, result: &ToolResult) -> bool {
        let tool = self.tools.published.borrow().catalogue.find(tool).map(|entry| entry.tool.name.clone());
        let prefix = tool.and_then(|tool| self.contact.dialect().log_prefix(&tool));
        let Some(prefix) = prefix.filter(|_| mcp::result_size(result, &any_client()) <= LOGBOOK_BYTES_MAX) else {
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

/// Returns the profile in which results are kept and recorded. It belongs to no client in particular.
fn any_client() -> ClientProfile {
    ProtocolVersion::STATELESS.into()
}

#[cfg(test)]
mod tests;
