//! A call on its connection: finds the call's tool, encodes, audits and sends the call, and handles the answer.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::writing::Wire;
use super::{ConnectionTask, Outgoing};
use crate::core::calls::{HeldCall, Terms};
use crate::core::exchange::{After, Unsendable};
use crate::core::user_text;
use crate::fsm::bridge::Disconnect;
use crate::fsm::cause::{Cause, Loss};
use crate::link::Unsent;
use crate::protocol::dialect::{
    EditorAnswer, EncodeError, JournalKey, Order, PackageTool, PreparedCall, Recovery, Refusal, Refused, Reply,
    Sending, Shape, translated,
};
use crate::protocol::ids::CallId;
use crate::protocol::jsonrpc::RpcError;
use crate::protocol::policy::Grounds;
use crate::runtime::messages::{bridge, session};

impl ConnectionTask {
    pub(super) async fn send_held(&self, wire: &mut Wire, held: HeldCall) -> Result<(), Disconnect> {
        let for_record = self.with.env.call_records().is_some().then(|| held.clone());
        let HeldCall { id, request, profile: _, tool, arguments, nth, progress, trace, requester } = held;
        let refused = |cause| self.not_sent(id, Unsendable::Refused(cause));
        let catalogue = Arc::clone(&self.with.tools.published.borrow().catalogue);
        let Some(entry) = catalogue.find(&tool) else { return refused(Cause::UnknownTool) };
        let (dialect, project) = (self.target.dialect, self.target.project.as_deref());
        let call = (entry, &*arguments);
        if let Some(grounds) = self.with.tools.refusal_of_call(call, dialect, &catalogue, project, request.session) {
            return self.not_sent(id, Unsendable::TurnedDown(Cause::Policy, grounds));
        }
        let wire_name = &entry.tool.name;
        if let Some(own) = dialect.package_tool(wire_name) {
            self.answer_here(id, own);
            return Ok(());
        }
        let number = self.with.contact.next_wire_number();
        let journal = self.exchange().met().and_then(|met| met.journal.clone());
        let sending = Sending {
            call: id,
            nth,
            seq: self.with.env.call_numbers_from + number,
            journal: journal.as_deref(),
            project_known: self.target.project.is_some(),
        };
        let translated = translated(&entry.tool.other_names, &tool, &arguments);
        let taken = translated.as_deref().unwrap_or(&arguments);
        let named = entry.under_own_names(taken);
        let taken = named.as_deref().unwrap_or(taken);
        let prepared = dialect.prepare_call(&sending, wire_name, Some(entry.in_editor()), taken);
        let mut prepared = PreparedCall { trace, ..prepared };
        if let Recovery::StatusFile { path, .. } = prepared.recovery {
            if let Some((other, its)) = self.with.calls.ledger(|ledger, _| ledger.followed_in(path)) {
                let says = user_text::still_followed(&its, other);
                return self.not_sent(id, Unsendable::TurnedDown(Cause::Busy, Grounds { rule: None, says }));
            }
            prepared.recovery = self.before_work(prepared.recovery).await;
        }
        if let Some(says) = prepared.misread.clone() {
            return self.not_sent(id, Unsendable::TurnedDown(Cause::BadArguments, Grounds { rule: None, says }));
        }
        let order = Order::Call { tool: wire_name, call: &prepared, expected: self.target.expected.as_ref(), progress };
        let message = match self.encode_as(number, Some(id), &order) {
            Ok(message) => message,
            Err(EncodeError::TooLarge { .. }) => return refused(Cause::TooLarge),
            // The editor cannot be called with this tool: the tool list that named it came from another editor.
            Err(EncodeError::NotSpoken | EncodeError::NoGreeting(_)) => return refused(Cause::UnknownTool),
        };
        let requester = requester.as_deref();
        if let Err(grounds) =
            self.with.calls.audit.sending((id, request.session), nth, &tool, &arguments, requester, project).await
        {
            return self.not_sent(id, Unsendable::TurnedDown(Cause::Audit, grounds));
        }
        let after = After {
            tool: wire_name.as_str().into(),
            in_file: matches!(prepared.recovery, Recovery::ResultFile { .. }),
            is_kept: matches!(prepared.recovery, Recovery::Journal(_)),
            follows: Some(prepared.recovery.clone()).filter(|how| matches!(how, Recovery::StatusFile { .. })),
            reload: prepared.reload_follows,
            signs: self.signs_before(prepared.reload_signs).await,
        };
        let terms = Terms {
            // Without a reply nothing shows that the file is about this call.
            recovery: if after.follows.is_some() { Recovery::None } else { prepared.recovery },
            tool_timeout: prepared.timeout.unwrap_or(Duration::ZERO),
            repeatable: entry.tool.repeatable,
        };
        let record_of = |held| self.with.calls.record_of(held, &terms, self.target.project.as_deref());
        let record = for_record.as_ref().and_then(record_of);
        wire.send(self, number, message, Some(Outgoing { call: id, record, terms, after })).await
    }

    /// Records and claims a call: the last steps before its first byte. Returns false if no byte of it may be sent; its place is
    /// then free.
    pub(super) fn claim(&self, number: u64, outgoing: Outgoing) -> bool {
        let Outgoing { call, record, terms, after } = outgoing;
        if let Err(unsent) = self.with.calls.record_sending(record) {
            let why = match unsent {
                Unsent::Unrecorded(grounds) => Unsendable::TurnedDown(Cause::Unrecorded, grounds),
                Unsent::MakesWay(client) if client.is_of_another_process() => {
                    self.give_back(call);
                    return false;
                }
                Unsent::MakesWay(_) | Unsent::Gone => Unsendable::Refused(Cause::ShuttingDown),
            };
            self.settle(self.decide(|exchange, ledger, now| exchange.unsendable(call, why, ledger, now)));
            return false;
        }
        match self.decide(|exchange, ledger, now| exchange.claim(number, call, (terms, after), ledger, now)) {
            Ok((claim, settlements)) => {
                self.with.calls.settle(settlements);
                self.with.env.events.call_sent(call, self.epoch, number, claim);
                true
            }
            Err(settled) => {
                self.with.calls.record_dropped(call);
                self.settle(settled);
                false
            }
        }
    }

    /// Gives a call back to its session, which takes it to another hub.
    fn give_back(&self, call: CallId) {
        let (given, settled) = self.decide(|exchange, ledger, _| (ledger.give_back(call), exchange.gave_back()));
        if let Some((asked, _)) = given
            && let Some(client) = self.with.attached.get(asked.key.session)
        {
            client.give_back(asked.key);
        }
        self.settle(settled);
    }

    /// Tells the ledger that no byte of a claimed call was written.
    pub(super) fn not_written(&self, call: CallId) {
        self.with.calls.record_dropped(call);
        let settlements = self.decide(|exchange, ledger, now| exchange.not_written(call, ledger, now));
        self.with.calls.settle(settlements);
    }

    #[expect(clippy::unnecessary_wraps, reason = "the last word of a step of sending")]
    fn not_sent(&self, call: CallId, why: Unsendable) -> Result<(), Disconnect> {
        self.settle(self.decide(|exchange, ledger, now| exchange.unsendable(call, why, ledger, now)));
        Ok(())
    }

    /// Gives a held call back to its session, which answers it as a package tool. The call was held because the tool
    /// list was not known.
    fn answer_here(&self, call: CallId, tool: PackageTool) {
        let (given, settled) = self.decide(|exchange, ledger, _| (ledger.give_back(call), exchange.gave_back()));
        if let Some((asked, arguments)) = given {
            let key = asked.key;
            // If the session has ended, all its requests have been answered.
            if let Some(client) = self.with.attached.get(key.session) {
                client.outbox.given_back(key);
                let told = session::Message::PackageToolCalled(self.with.attached.link(), asked, tool, arguments);
                if !client.actor.cast(told) {
                    client.outbox.answer_error(key, &RpcError::internal(user_text::INTERNAL));
                }
            }
        }
        self.settle(settled);
    }

    /// Handles the reply to a call: the answer, or the name of the job that the editor runs it as.
    pub(super) fn call_replied(&self, id: CallId, after: After, reply: Reply) -> Result<(), Disconnect> {
        if self.guarded("reply", || self.target.dialect.gives_up(&reply)) == Some(true) {
            if self.target.dialect.asks_main_thread_here() {
                self.exchange().ask_main_thread_first(Instant::now());
            }
            return self.left_open(id, Loss::GivenUp, None);
        }
        if after.is_kept && self.guarded("reply", || self.target.dialect.is_empty_reply(&reply)) == Some(true) {
            self.want_outcomes();
            return self.left_open(id, Loss::Disconnect, None);
        }
        let begins = |asked| self.guarded("work", || self.target.dialect.begins_work(&reply, asked)).flatten();
        if let Some(file) = after.follows.as_ref().and_then(begins) {
            return self.left_open(id, Loss::GivenUp, Some(file));
        }
        let is_for_job = self.target.dialect.answers_with_jobs() && self.jobs_of().is_some();
        if is_for_job && matches!(reply, Reply::Wreck(_)) && after.follows.is_none() {
            // At the most it said that the editor would run the call.
            return self.left_open(id, Loss::Protocol, None);
        }
        let Some(key) = self.submitted(&reply) else { return self.answered(id, after, reply) };
        self.with.calls.record_job(id, &key);
        let settlements = self.decide(|exchange, ledger, now| exchange.submitted((id, after), key, ledger, now));
        self.with.calls.settle(settlements);
        Ok(())
    }

    /// Handles a reply after which only a file can tell how the call ends, if anything can.
    #[expect(clippy::unnecessary_wraps, reason = "the last word on a reply")]
    fn left_open(&self, id: CallId, loss: Loss, file: Option<Recovery>) -> Result<(), Disconnect> {
        let follows = file.is_some();
        self.settle(self.decide(|exchange, ledger, now| exchange.left_open(id, (loss, file), ledger, now)));
        if follows {
            let _ = self.bridge.cast(bridge::Message::OutcomeOpen);
        }
        self.shared.wake();
        Ok(())
    }

    fn submitted(&self, reply: &Reply) -> Option<JournalKey> {
        let journal = self.jobs_of()?;
        self.guarded("job", || self.target.dialect.submitted(reply, &journal)).flatten()
    }

    /// Returns the name of what keeps the editor's jobs, if it runs calls as jobs.
    fn jobs_of(&self) -> Option<String> {
        let runs_jobs = self.target.dialect.properties().shape == Shape::Jobs;
        self.exchange().met().and_then(|met| met.journal.clone()).filter(|_| runs_jobs)
    }

    pub(super) fn answered(&self, id: CallId, after: After, reply: Reply) -> Result<(), Disconnect> {
        let dialect = self.target.dialect;
        let refusal = refused(&reply).and_then(|refused| refused.for_call(&after.tool, self.target.expected.is_some()));
        // The reply of such a call has the same content as its result file.
        let reply = match reply {
            Reply::Result(result) if after.in_file => {
                let read = self.guarded("result", || dialect.read_result_file(result.get().as_bytes()));
                read.flatten().unwrap_or(Reply::Result(result))
            }
            Reply::Result(_) | Reply::Error(_) | Reply::Wreck(_) => reply,
        };
        self.give(id, after, refusal, self.read_answer(reply))
    }

    pub(super) fn read_answer(&self, reply: Reply) -> EditorAnswer {
        self.guarded("answer", || self.target.dialect.read_answer(reply)).unwrap_or_else(user_text::misread)
    }

    /// Gives an answer to the call that it is for.
    pub(super) fn give(
        &self,
        id: CallId,
        after: After,
        refusal: Option<Refusal>,
        answer: EditorAnswer,
    ) -> Result<(), Disconnect> {
        let signs = after.signs;
        let (answered, more) = self.decide(|exchange, ledger, now| {
            (exchange.answered((id, after), refusal, answer, ledger, now), ledger.has_held())
        });
        if !answered.known {
            let what = format!("call {id} owes nothing to this connection");
            self.with.env.events.reply_unmatched(self.epoch, &what);
        }
        self.look_for_reload(id, signs);
        self.shared.wake();
        if answered.hang_up {
            self.settle(answered.settled);
            // This is not the editor that the files named: hang up and look again.
            return Err(Disconnect::Eof);
        }
        self.settle_reply(answered.settled, more);
        Ok(())
    }
}

/// Returns the refusal in a reply; `None` if it has none.
pub(super) fn refused(reply: &Reply) -> Option<&Refused> {
    match reply {
        Reply::Error(error) => error.refusal.as_ref(),
        Reply::Result(_) | Reply::Wreck(_) => None,
    }
}
