//! An open call in the ledger.

use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::Instant;

use super::progress::Progress;
use super::types::{Late, Record, Refused, Sending};
use super::withheld::Withheld;
use crate::fsm::Driver;
use crate::fsm::call::{Call, State};
use crate::fsm::cause::Cause;
use crate::limits::{HOLD_MAX, HOLD_WITHOUT_EVIDENCE, PATIENCE_MARGIN, RECOVERY_MAX, RELOAD_GRACE};
use crate::protocol::dialect::Recovery;
use crate::protocol::ids::{CallId, Epoch, RequestKey};
use crate::protocol::mcp::{AnswerForm, ClientInfo, ClientProfile};
use crate::protocol::trace::TraceContext;

/// One open call and all that is known of it.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) id: CallId,
    pub(super) request: RequestKey,
    pub(super) tool: Arc<str>,
    pub(super) arguments: Arc<RawValue>,
    pub(super) machine: Driver<Call>,
    pub(super) reserved: Option<Epoch>,
    pub(super) epoch: Option<Epoch>,
    pub(super) recovery: Recovery,
    pub(super) accepted: Instant,
    pub(super) sent: Option<Instant>,
    pub(super) lost: Option<Instant>,
    pub(super) patience: Duration,
    pub(super) running_max: Duration,
    pub(super) profile: ClientProfile,
    pub(super) form: AnswerForm,
    pub(super) trace: Option<Arc<TraceContext>>,
    pub(super) requester: Option<Arc<ClientInfo>>,
    pub(super) progress: Option<Progress>,
    /// The cause that the call waits for, or last waited for.
    pub(super) waits_for: Cause,
    pub(super) sending: Option<Sending>,
    /// Whether the call may run in parallel with others.
    pub(super) parallel: bool,
    /// The project that was wanted when the call arrived. If none was chosen yet: the first one chosen while the call was held.
    pub(super) project: Option<PathBuf>,
    /// The editor's answer, while the call waits for a reload that may follow it.
    pub(super) withheld: Option<Withheld>,
    /// Why the call was refused.
    pub(super) refused: Option<Box<Refused>>,
    /// Whether the editor's answer says that the call did not run.
    pub(super) unrun: bool,
    /// Whether the client was answered, or wants no answer.
    pub(super) settled: bool,
    /// Whether the arguments are not known, because an earlier gateway had the call: it cannot be sent.
    pub(super) unknown_arguments: bool,
    /// Whether an earlier gateway sent the call, and its client came back for it.
    pub(super) taken_over: bool,
    /// Whether the call was sent under the name of another gateway.
    pub(super) of_another_gateway: bool,
}

/// As for the [`Ledger`](super::Ledger).
impl Hash for Entry {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Self {
            id,
            request,
            // Nothing is decided by it.
            tool: _,
            // In the model they follow from the id. Whether they are known is `unknown_arguments`, whether they are dropped `settled`.
            arguments: _,
            machine,
            reserved,
            epoch,
            recovery,
            accepted,
            sent,
            lost,
            patience,
            running_max,
            // They are for the answer.
            profile: _,
            form: _,
            trace: _,
            requester: _,
            // Its times rise without an end. The model's calls have none.
            progress: _,
            // For words, the log and metrics.
            waits_for: _,
            sending: _,
            parallel,
            project,
            withheld,
            // They choose words.
            refused: _,
            unrun: _,
            settled,
            unknown_arguments,
            // It chooses words.
            taken_over: _,
            of_another_gateway,
        } = self;
        (id, request, machine, reserved, epoch, recovery, project, withheld).hash(hasher);
        (accepted, sent, lost, patience, running_max).hash(hasher);
        (parallel, settled, unknown_arguments, of_another_gateway).hash(hasher);
    }
}

impl Entry {
    pub(super) fn state(&self) -> State {
        self.machine.state()
    }

    /// Whether the call takes up one of the places for calls that the editor works on at the same time: it was claimed on a
    /// connection, or its answer is withheld.
    pub(super) fn has_place(&self) -> bool {
        self.epoch.is_some() || self.withheld.is_some()
    }

    /// Whether the call's outcome is being looked for because its connection ended.
    pub(super) fn is_looked_for(&self) -> bool {
        let known = self.withheld.is_some();
        !known
            && self.lost.is_some()
            && matches!(self.state(), State::Recovering | State::Abandoned)
            && self.epoch.is_none()
    }

    pub(super) fn hold_limit(&self) -> Instant {
        self.accepted + self.patience.saturating_sub(PATIENCE_MARGIN).min(HOLD_MAX)
    }

    pub(super) fn answer_by(&self) -> Instant {
        let patience = self.accepted + self.patience.saturating_sub(PATIENCE_MARGIN);
        match self.sent {
            Some(sent) => patience.min(sent + self.running_max),
            None => patience,
        }
    }

    /// Until when the call is held at most. `absent_since`: since when the editor has shown no sign of life.
    pub(super) fn held_until(&self, absent_since: Option<Instant>) -> Instant {
        let limit = self.hold_limit();
        absent_since.map_or(limit, |since| limit.min(since.max(self.accepted) + HOLD_WITHOUT_EVIDENCE))
    }

    /// When a withheld answer is sent at the latest. A client waits no longer for it than for any other answer. If the client was
    /// already answered, that limit does not shorten the wait for a reload to begin. Once one has begun, it counts in any case.
    pub(super) fn grace_end(&self) -> Option<Instant> {
        let withheld = self.withheld.as_ref()?;
        Some(match (withheld.reloading, self.settled) {
            (true, _) => self.answer_by().min(self.recovery_end()),
            (false, false) => self.answer_by().min(withheld.since + RELOAD_GRACE),
            (false, true) => withheld.since + RELOAD_GRACE,
        })
    }

    /// When the ledger must next act for this call.
    pub(super) fn deadline(&self, absent_since: Option<Instant>) -> Option<Instant> {
        let own = match self.state() {
            _ if self.withheld.is_some() => self.grace_end(),
            State::Accepted | State::Held => Some(self.held_until(absent_since)),
            State::Sent => Some(self.answer_by()),
            State::Recovering => Some(self.answer_by().min(self.recovery_end())),
            State::Abandoned => self.lost.map(|_| self.recovery_end()),
            State::Answered | State::Uncertain | State::Cancelled => None,
        };
        let progress = self.progress.as_ref().filter(|_| !self.settled).map(|progress| progress.next);
        own.into_iter().chain(progress).min()
    }

    /// When the search for the call's outcome ends.
    pub(super) fn recovery_end(&self) -> Instant {
        self.lost.unwrap_or(self.accepted) + RECOVERY_MAX
    }

    /// Returns the record that is shown of the call.
    pub(super) fn record(&self) -> Record {
        Record {
            id: self.id,
            tool: Arc::clone(&self.tool),
            state: self.state().into(),
            verdict: None,
            waits_for: None,
            accepted: self.accepted,
            sent: self.sent,
            ended: None,
            unrun: self.unrun,
            late: Late::None,
        }
    }
}
