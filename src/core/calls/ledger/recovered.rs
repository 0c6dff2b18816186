//! Calls that an earlier gateway sent: their outcome is looked for, and their client may come back to ask for it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::Instant;

use super::Ledger;
use crate::core::calls::phase::{Attempt, News};
use crate::core::calls::types::{Keep, Late, NewCall, Record, RecoveredCall, Settlement};
use crate::fsm::call::{State, Verdict};
use crate::limits::RECOVERY_MAX;
use crate::protocol::ids::{CallId, RequestKey, SessionId};
use crate::protocol::mcp::{AnswerForm, ClientProfile};

impl Ledger {
    /// Adds a call that an earlier gateway sent. It counts as sent on a connection that was lost with that gateway. If the editor
    /// says that it did not run, it is held until its client comes back with the arguments.
    pub fn recover(&mut self, call: RecoveredCall, now: Instant) -> Vec<Settlement> {
        let RecoveredCall { id, tool, project, recovery, profile, requester, of_another_gateway } = call;
        if self.record(id).is_some() {
            return Vec::new();
        }
        self.recovered += 1;
        // No client waits yet. One that comes back gets the answer that is recorded then.
        let request = RequestKey::new(SessionId::RECOVERED, self.recovered);
        let new = NewCall {
            id,
            request,
            tool: (*tool).to_owned(),
            arguments: RawValue::NULL.to_owned().into(),
            progress_token: None,
            trace: None,
            requester: Some(requester),
            parallel: false,
            patience: RECOVERY_MAX * 2,
            waited: Duration::ZERO,
            profile,
            form: AnswerForm::ToolResult,
        };
        // The call is held even while the gateway ends. A new call would be refused then, but this one may have run.
        self.hold(new, now);
        if let Some(mut entry) = self.entry_mut(id) {
            (entry.call.project, entry.call.unknown_arguments) = (project, true);
        }
        let attempt = Some(Attempt { of_another_gateway, ..Attempt::new(recovery, now) });
        self.feed_call(id, News::SentBefore { attempt, repeatable: false }, now)
    }

    /// Accepts a call that an earlier gateway sent, and that may be sent again. If it is not sent again, its outcome is
    /// unknown.
    pub fn accept_again(&mut self, call: NewCall, now: Instant) -> Vec<Settlement> {
        let id = call.id;
        self.hold(call, now);
        let mut out = self.feed_call(id, News::SentBefore { attempt: None, repeatable: true }, now);
        self.refuse_held_at_the_end(now, &mut out);
        out
    }

    /// Keeps the result that an earlier gateway had of a call, unless the call is known here.
    pub fn keep_found(&mut self, (id, tool): (CallId, &Arc<str>), verdict: Verdict, result: Arc<str>, now: Instant) {
        if self.record(id).is_some() {
            return;
        }
        self.finished.remember(Record {
            id,
            tool: Arc::clone(tool),
            state: State::Answered.into(),
            verdict: Some(verdict),
            waits_for: None,
            accepted: now,
            sent: Some(now),
            ended: Some(now),
            unrun: false,
            late: Late::None,
        });
        self.finished.keep(id, result, Keep::Owed, now);
    }

    /// Gives an unanswered call to the client that came back for it. `waited`: how long the client has waited already.
    /// `None` if there is no such call.
    pub fn adopt(
        &mut self,
        call: CallId,
        (request, profile, waited): (RequestKey, ClientProfile, Duration),
        arguments: &Arc<RawValue>,
        now: Instant,
    ) -> Option<Vec<Settlement>> {
        let mut entry = self.entry_mut(call).filter(|entry| entry.is_awaited())?;
        let is_held = entry.is_held();
        let adopted = &mut entry.call;
        (adopted.request, adopted.profile) = (request, profile);
        adopted.accepted = now.checked_sub(waited).unwrap_or(now);
        (adopted.patience, adopted.unknown_arguments) = (profile.client.patience, false);
        adopted.taken_over = true;
        adopted.arguments = Arc::clone(arguments);
        drop(entry);
        self.moved = true;
        Some(if is_held { vec![Settlement::HeldAgain] } else { Vec::new() })
    }
}
