//! A call on its connection: claimed, written, answered.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::WriteHalf;

use super::{After, Awaited, Line, News, NotWritten, Unclaimed};
use crate::core::calls::{ClaimRefused, HeldCall, Terms};
use crate::core::requests::Asked;
use crate::core::user_text;
use crate::fsm::bridge::Drop;
use crate::fsm::cause::Cause;
use crate::net::BoxStream;
use crate::protocol::dialect::{
    EncodeError, LeaveReason, Order as WireOrder, OwnTool, PreparedCall, Recovery, Refusal, Reply, Sending, Transport,
    WireId,
};
use crate::protocol::ids::CallId;
use crate::protocol::jsonrpc::RpcError;
use crate::protocol::policy::Grounds;
use crate::runtime::messages::session;
use crate::telemetry::metrics::labels::Stray;

impl Line {
    pub(super) async fn send_call(&self, socket: &mut WriteHalf<BoxStream>, held: HeldCall) -> Result<(), NotWritten> {
        let HeldCall { id, tool, arguments, nth, progress, trace, asker } = held;
        let catalogue = Arc::clone(&self.tools.published.borrow().catalogue);
        let Some(entry) = catalogue.find(&tool) else { return self.refuse(id, Cause::UnknownTool) };
        if let Some(grounds) = self.tools.refusal(entry, self.target.project.as_deref()) {
            return self.turn_down(id, Cause::Policy, grounds);
        }
        let dialect = self.target.dialect;
        let wire_name = &entry.tool.name;
        if let Some(own) = dialect.own_tool(wire_name) {
            self.answer_here(id, own);
            return Ok(());
        }
        let number = self.link.next_wire_number();
        let sending = Sending {
            call: id,
            nth,
            seq: number,
            journal: self.met.get().and_then(|met| met.journal.as_deref()),
            project_known: self.target.project.is_some(),
            package_version: self.target.package_version.as_deref(),
        };
        let prepared = dialect.prepare_call(&sending, wire_name, Some(&*entry.tool), &arguments);
        let prepared = PreparedCall { trace, ..prepared };
        let order =
            WireOrder::Call { tool: wire_name, call: &prepared, expected: self.target.expected.as_ref(), progress };
        let frame = match dialect.encode(WireId { number, call: Some(id) }, &order) {
            Ok(frame) => frame,
            Err(EncodeError::TooLarge { .. }) => return self.refuse(id, Cause::TooLarge),
            // No tool that this editor could be called with: the list that named it was another's.
            Err(EncodeError::NotSpoken | EncodeError::NoGreeting(_)) => return self.refuse(id, Cause::UnknownTool),
        };
        let (asker, project) = (asker.as_deref(), self.target.project.as_deref());
        if let Err(grounds) = self.calls.audit.sending(id, nth, &tool, &arguments, asker, project).await {
            return self.turn_down(id, Cause::Audit, grounds);
        }
        let after = After {
            in_file: matches!(prepared.recovery, Recovery::ResultFile { .. }),
            reload: prepared.reload_follows,
        };
        let terms = Terms {
            recovery: prepared.recovery,
            tool_timeout: prepared.timeout.unwrap_or(Duration::ZERO),
            repeatable: entry.tool.repeatable,
        };
        let unclaimed = Unclaimed { call: id, terms };
        self.awaiting().insert(number, Awaited::Call { id, after });
        if dialect.properties().transport == Transport::Http {
            // It only goes to the carrier here, which has yet to connect for it.
            self.unclaimed().insert(number, unclaimed);
            return self.write_frame(socket, &frame).await;
        }
        if !self.claim(number, unclaimed) {
            return Ok(());
        }
        let sent = self.write_frame(socket, &frame).await;
        if sent == Err(NotWritten::NoByte) {
            self.revoke_claim(id);
        }
        sent
    }

    /// The last step before the first byte of a call. False: not a byte of it may leave, and its place is free.
    pub(super) fn claim(&self, number: u64, unclaimed: Unclaimed) -> bool {
        let Unclaimed { call, terms } = unclaimed;
        let running_max = terms.running_max();
        let (claim, sending) = self.calls.ledger(|ledger, now| {
            let claim = ledger.claim(call, self.epoch, terms, now);
            (claim, ledger.sending(call))
        });
        match claim {
            Ok(settlements) => self.calls.settle(settlements),
            Err(refused) => {
                self.awaiting().remove(&number);
                if refused == ClaimRefused::OtherProject {
                    self.calls.decide(|ledger, now| ledger.refuse(call, Cause::ProjectChanged, now));
                }
                // Else it was cancelled, has timed out, or the epoch is closed.
                self.free_place();
                return false;
            }
        }
        self.tell(News::CallSent { running_max });
        self.env.events.call_sent(call, self.epoch, number, sending);
        true
    }

    /// Not a byte of a claimed call was written.
    pub(super) fn revoke_claim(&self, call: CallId) {
        self.calls.decide(|ledger, now| ledger.revoke_claim(call, self.epoch, now));
    }

    /// It was held before anybody knew that its tool is none of the editor's.
    fn answer_here(&self, call: CallId, tool: OwnTool) {
        if let Some((key, audience, arguments)) = self.calls.ledger(|ledger, _| ledger.give_back(call)) {
            // A session that is over has had all its answers.
            if let Some(client) = self.attached.get(key.session) {
                client.outbox.delivered(key);
                let told = session::Message::OwnToolCalled(Asked { key, audience }, tool, arguments);
                if !client.actor.cast(told) {
                    client.outbox.answer_error(key, &RpcError::internal(user_text::INTERNAL));
                }
            }
        }
        self.free_place();
    }

    fn refuse(&self, call: CallId, cause: Cause) -> Result<(), NotWritten> {
        self.calls.decide(|ledger, now| ledger.refuse(call, cause, now));
        self.free_place();
        Ok(())
    }

    fn turn_down(&self, call: CallId, cause: Cause, grounds: Grounds) -> Result<(), NotWritten> {
        self.calls.decide(|ledger, now| ledger.turn_down(call, cause, grounds, now));
        self.free_place();
        Ok(())
    }

    pub(super) fn free_place(&self) {
        let more = self.calls.ledger(|ledger, _| ledger.has_held());
        // A reservation may have been given back, of which the ledger tells nothing.
        self.calls.settle(Vec::new());
        self.tell(News::WorkFinished { more });
    }

    pub(super) async fn answered(&self, id: CallId, after: After, reply: Reply) -> Result<(), Drop> {
        let dialect = self.target.dialect;
        // Said only of a request that names whom it is for, and before anything of it runs.
        let named = self.target.expected.is_some();
        let refusal = match &reply {
            Reply::Error(error) => error.refusal,
            Reply::Result(_) => None,
        };
        if refusal == Some(Refusal::Leaving) {
            let (known, settlements) = self.calls.ledger(|ledger, now| ledger.postponed(id, self.epoch, now));
            self.calls.settle(settlements);
            if known {
                // Before the place is free: nothing more goes to an editor that leaves.
                // It does not say why.
                self.tell_unasked(News::Leaving(LeaveReason::Unknown)).await;
                self.free_place();
            }
            return Ok(());
        }
        let turned_away = named && refusal == Some(Refusal::WrongEditor);
        // The editor answers with what it writes into the file.
        let reply = match reply {
            Reply::Result(result) if after.in_file => {
                dialect.read_result_file(result.get().as_bytes()).unwrap_or(Reply::Result(result))
            }
            Reply::Result(_) | Reply::Error(_) => reply,
        };
        let answer = dialect.read_answer(reply);
        let (known, settlements) = self.calls.ledger(|ledger, now| {
            if refusal == Some(Refusal::Final) {
                ledger.says_unrun(id);
            }
            if turned_away {
                ledger.turned_away(id, self.epoch, answer, now)
            } else if after.reload && !answer.is_error {
                ledger.withhold(id, self.epoch, answer, now)
            } else {
                ledger.reply(id, self.epoch, answer, now)
            }
        });
        if !known {
            let what = format!("call {id} owes nothing to this connection");
            self.env.events.reply_unmatched(self.epoch, Stray::Late, &what);
        }
        self.calls.settle(settlements);
        if turned_away {
            // It is another editor than its files said: look again. The place falls with the connection.
            return Err(Drop::Eof);
        }
        self.free_place();
        Ok(())
    }
}
