//! An open call in the ledger.

use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::Instant;

use super::phase::{Attempt, Brought, News, Phase, Rest};
use super::progress::Progress;
use super::types::{Late, NewCall, Record};
use crate::fsm::call::{Call, Event, State};
use crate::fsm::cause::Cause;
use crate::fsm::{Driver, Reaction};
use crate::limits::{HOLD_MAX, HOLD_WITHOUT_EVIDENCE, PATIENCE_MARGIN, RECOVERY_MAX, RELOAD_GRACE};
use crate::protocol::ids::{CallId, Epoch, RequestKey};
use crate::protocol::mcp::{AnswerForm, ClientInfo, ClientProfile};
use crate::protocol::trace::TraceContext;

/// One open call: what it is, where it is, and what its client is told meanwhile.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) call: Details,
    machine: Driver<Call>,
    phase: Phase,
    pub(super) progress: Option<Progress>,
    /// The cause that the call waits for, or last waited for.
    pub(super) waits_for: Cause,
}

/// What a call is, wherever it is.
#[derive(Clone)]
pub(super) struct Details {
    pub(super) id: CallId,
    pub(super) request: RequestKey,
    pub(super) tool: Arc<str>,
    pub(super) arguments: Arc<RawValue>,
    /// Whether the arguments are unknown, because an earlier gateway had the call. Such a call cannot be sent.
    pub(super) unknown_arguments: bool,
    /// Whether the call may run in parallel with others.
    pub(super) parallel: bool,
    /// The project that was wanted when the call arrived. If none was chosen yet: the first one chosen while the call was held.
    pub(super) project: Option<PathBuf>,
    pub(super) accepted: Instant,
    pub(super) patience: Duration,
    pub(super) profile: ClientProfile,
    pub(super) form: AnswerForm,
    pub(super) trace: Option<Arc<TraceContext>>,
    pub(super) requester: Option<Arc<ClientInfo>>,
    /// Whether an earlier gateway sent the call, and its client came back for it.
    pub(super) taken_over: bool,
}

/// As for the [`Ledger`](super::Ledger).
impl Hash for Entry {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Self {
            call,
            machine,
            phase,
            // The times of progress rise without an end. The model's calls report none.
            progress: _,
            // Only words, the log and metrics use it.
            waits_for: _,
        } = self;
        (call, machine, phase).hash(hasher);
    }
}

/// As for the [`Ledger`](super::Ledger).
impl Hash for Details {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Self {
            id,
            request,
            // Nothing is decided by it.
            tool: _,
            // In the model they follow from the id. Whether they are known is `unknown_arguments`, whether they are dropped follows
            // from the machine's state.
            arguments: _,
            unknown_arguments,
            parallel,
            project,
            accepted,
            patience,
            // Only the answer needs these.
            profile: _,
            form: _,
            trace: _,
            requester: _,
            // It chooses words.
            taken_over: _,
        } = self;
        (id, request, unknown_arguments, parallel, project, accepted, patience).hash(hasher);
    }
}

impl Entry {
    /// Returns a call that is held from now on.
    pub(super) fn new(call: NewCall, project: Option<PathBuf>, now: Instant) -> Self {
        let (mut machine, _) = Driver::start(Call::default());
        machine.feed(&Event::Queued);
        let details = Details {
            id: call.id,
            request: call.request,
            tool: call.tool.into(),
            arguments: call.arguments,
            unknown_arguments: false,
            parallel: call.parallel,
            project,
            accepted: now.checked_sub(call.waited).unwrap_or(now),
            patience: call.patience,
            profile: call.profile,
            form: call.form,
            trace: call.trace,
            requester: call.requester,
            taken_over: false,
        };
        let progress = call.progress_token.map(|token| Progress::new(token.into(), now));
        Self { call: details, machine, phase: Phase::NEW, progress, waits_for: Cause::Connecting }
    }

    /// Passes news to the machine, and moves the call to the phase that follows. Returns what the machine orders, and what came
    /// with the news. Nothing else changes the machine's state or the phase.
    pub(super) fn step(&mut self, news: News, now: Instant) -> (Reaction<Call>, Brought) {
        if let Some(before) = news.event_before() {
            self.machine.feed(&before);
        }
        let stepped = self.machine.feed(&news.event());
        let (phase, brought) = std::mem::replace(&mut self.phase, Phase::NEW).after(news, self.state(), now);
        self.phase = phase;
        if !self.is_awaited() {
            // The call is never sent again, so its memory is free for others.
            self.call.arguments = RawValue::NULL.to_owned().into();
        }
        (stepped, brought)
    }

    // ---- where the call is ----

    pub(super) fn state(&self) -> State {
        self.machine.state()
    }

    pub(super) fn machine(&self) -> &Call {
        self.machine.machine()
    }

    pub(super) fn phase(&self) -> &Phase {
        &self.phase
    }

    pub(super) fn is_held(&self) -> bool {
        matches!(self.phase, Phase::Held { .. })
    }

    /// Whether the client still waits for the answer.
    pub(super) fn is_awaited(&self) -> bool {
        matches!(self.state(), State::Accepted | State::Held | State::Sent | State::Recovering)
    }

    /// Whether the call takes up one of the places for calls that the editor works on at the same time: it was claimed on a
    /// connection, or its answer is withheld.
    pub(super) fn has_place(&self) -> bool {
        matches!(self.phase, Phase::Sent { .. } | Phase::Withheld { .. })
    }

    /// Returns the attempt whose outcome is being looked for because its connection ended.
    pub(super) fn sought(&self) -> Option<&Attempt> {
        match &self.phase {
            Phase::Sought { attempt, .. } => Some(attempt),
            _ => None,
        }
    }

    /// Returns the connection that has reserved the held call.
    pub(super) fn reserved(&self) -> Option<Epoch> {
        match self.phase {
            Phase::Held { reserved, .. } => reserved,
            _ => None,
        }
    }

    /// Returns the connection on which the call was sent and that has not ended.
    pub(super) fn epoch(&self) -> Option<Epoch> {
        match self.phase {
            Phase::Sent { epoch, .. } => Some(epoch),
            _ => None,
        }
    }

    // ---- what changes within a phase ----

    /// Reserves the held call for a connection; `None`: for none.
    pub(super) fn reserve(&mut self, by: Option<Epoch>) {
        if let Phase::Held { reserved, .. } = &mut self.phase {
            *reserved = by;
        }
    }

    /// Frees the held call if this connection has reserved it.
    pub(super) fn unreserve(&mut self, epoch: Epoch) {
        if self.reserved() == Some(epoch) {
            self.reserve(None);
        }
    }

    /// Keeps the held call from being sent; `None`: no longer.
    pub(super) fn rest(&mut self, rest: Option<Rest>) {
        if let Phase::Held { rests, .. } = &mut self.phase {
            *rests = rest;
        }
    }

    /// Records whether the editor's answer says that the sent call did not run.
    pub(super) fn says_unrun(&mut self) {
        // An earlier attempt that was lost may have run.
        let is_all = self.machine().loss.is_none();
        if let Phase::Sent { attempt, .. } = &mut self.phase {
            attempt.unrun = is_all;
        }
    }

    /// Whether the editor's answer says that the call did not run.
    pub(super) fn is_refused(&self) -> bool {
        self.phase.attempt().is_some_and(|attempt| attempt.unrun)
    }

    /// Restarts the time limit of the search for the outcome.
    pub(super) fn seek_anew(&mut self, now: Instant) {
        if let Phase::Sought { lost, .. } = &mut self.phase {
            *lost = now;
        }
    }

    /// Records that the reload that a withheld answer waits for is visible.
    pub(super) fn sees_reload(&mut self) {
        if let Phase::Withheld { reloading, .. } = &mut self.phase {
            *reloading = true;
        }
    }

    // ---- until when ----

    pub(super) fn hold_limit(&self) -> Instant {
        self.call.accepted + self.call.patience.saturating_sub(PATIENCE_MARGIN).min(HOLD_MAX)
    }

    /// Until when the call is held at most. `absent_since`: since when the editor has shown no sign of life.
    pub(super) fn held_until(&self, absent_since: Option<Instant>) -> Instant {
        let limit = self.hold_limit();
        absent_since.map_or(limit, |since| limit.min(since.max(self.call.accepted) + HOLD_WITHOUT_EVIDENCE))
    }

    /// When the client of a sent call is answered at the latest.
    pub(super) fn answer_by(&self, attempt: &Attempt) -> Instant {
        let patience = self.call.accepted + self.call.patience.saturating_sub(PATIENCE_MARGIN);
        patience.min(attempt.at + attempt.running_max)
    }

    /// When the ledger must next act for this call.
    pub(super) fn deadline(&self, absent_since: Option<Instant>) -> Option<Instant> {
        let own = match &self.phase {
            Phase::Held { .. } => Some(self.held_until(absent_since)),
            Phase::Sent { attempt, .. } => self.is_awaited().then(|| self.answer_by(attempt)),
            Phase::Sought { attempt, lost } if self.is_awaited() => {
                Some(self.answer_by(attempt).min(*lost + RECOVERY_MAX))
            }
            Phase::Sought { lost, .. } => Some(*lost + RECOVERY_MAX),
            Phase::Withheld { .. } => self.grace_end(),
            Phase::Over(_) => None,
        };
        let progress = self.progress.as_ref().filter(|_| self.is_awaited()).map(|progress| progress.next);
        own.into_iter().chain(progress).min()
    }

    /// When a withheld answer is sent at the latest. A client waits for it no longer than for any other answer. If the
    /// client was already answered and no reload is visible, only [`RELOAD_GRACE`] limits the wait.
    pub(super) fn grace_end(&self) -> Option<Instant> {
        let Phase::Withheld { attempt, since, reloading, .. } = &self.phase else { return None };
        Some(match (reloading, self.is_awaited()) {
            (true, _) => self.answer_by(attempt).min(*since + RECOVERY_MAX),
            (false, true) => self.answer_by(attempt).min(*since + RELOAD_GRACE),
            (false, false) => *since + RELOAD_GRACE,
        })
    }

    /// Returns the event of a time limit that has passed. The limit of a withheld answer has no event, because the
    /// answer is there.
    pub(super) fn due(&self, absent_since: Option<Instant>, cause: impl Fn() -> Cause, now: Instant) -> Option<Event> {
        match &self.phase {
            Phase::Held { .. } => (now >= self.held_until(absent_since)).then(|| Event::HoldEnded(cause())),
            Phase::Sought { lost, .. } if now >= *lost + RECOVERY_MAX => Some(Event::OutcomeLost),
            Phase::Sent { attempt, .. } | Phase::Sought { attempt, .. } => {
                (self.is_awaited() && now >= self.answer_by(attempt)).then_some(Event::PatienceEnded)
            }
            Phase::Withheld { .. } | Phase::Over(_) => None,
        }
    }

    /// Returns the record that is shown of the call.
    pub(super) fn record(&self) -> Record {
        Record {
            id: self.call.id,
            tool: Arc::clone(&self.call.tool),
            state: self.state().into(),
            verdict: None,
            waits_for: None,
            accepted: self.call.accepted,
            sent: self.phase.sent(),
            ended: None,
            unrun: self.is_refused(),
            late: Late::None,
        }
    }
}
