//! The ledger of a link: the only record of every open call, of what was sent, and of late results. It outlives every actor.
//!
//! The ledger is not an actor. It is a bounded store with short synchronous operations, behind a lock that is never held across
//! an await. An operation that changes calls takes the current time, feeds [`fsm::call`](crate::fsm::call) and returns
//! [`Settlement`]s, which the caller carries out after it has released the lock. The ledger never calls the client's side itself.

mod clock;
mod grace;
mod hindered;
mod journal;
mod progress;
mod project;
mod reader;
mod recovered;
mod sessions;
#[cfg(test)]
mod tests;
mod waits;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::time::Instant;

use super::entries::Entries;
use super::entry::Entry;
use super::finished::Finished;
use super::progress::Progress;
use super::types::{Answer, ClaimRefused, HeldCall, Late, NewCall, Refused, Sending, Settlement, Surprises, Terms};
use super::wanted::Wanted;
use crate::core::requests::Asked;
use crate::core::user_text;
use crate::fsm::Driver;
use crate::fsm::call::{Call, Effect, Event, State, Verdict};
use crate::fsm::cause::{Availability, Cause, Loss};
use crate::limits::RUNNING_MAX;
use crate::protocol::dialect::{EditorAnswer, Heartbeat, Recovery};
use crate::protocol::ids::{CallId, Epoch, RequestKey, SessionId};
use crate::protocol::policy::Grounds;

/// The calls of one link; see the module's documentation.
#[derive(Clone, Default)]
pub struct Ledger {
    entries: Entries,
    finished: Finished,
    /// The connections on which calls may be claimed, and the project that each leads to.
    open_epochs: BTreeMap<Epoch, Option<PathBuf>>,
    /// Whether calls wait for the tool list of the open connection.
    awaits_list: bool,
    wanted: Wanted,
    /// Whether the wanted project has changed since `take_wanted_moved`.
    wanted_moved: bool,
    availability: Option<Availability>,
    /// The open connection on which nothing can be written for now, and why.
    hindered: Option<(Epoch, Cause)>,
    absent_since: Option<Instant>,
    /// When the editor was last known to be away for another cause than a domain reload.
    no_reload: Option<Instant>,
    draining: bool,
    armed: Option<Instant>,
    surprises: Surprises,
    /// The number of calls that an earlier gateway had sent.
    recovered: u64,
    /// The session whose call was reserved last. Every other session with a waiting call is served before its next call.
    served: Option<SessionId>,
    /// Whether a call or what it waits for has changed since `take_moved`.
    moved: bool,
    /// The last heartbeat, with its connection and its time.
    heartbeat: Option<(Epoch, Heartbeat, Instant)>,
}

impl Ledger {
    // ---- the session's side ----

    /// Accepts a call and holds it, or refuses it if the gateway is ending. The caller bounds the number of calls.
    pub fn accept(&mut self, call: NewCall, now: Instant) -> Vec<Settlement> {
        let id = call.id;
        self.hold(call, now);
        if self.draining { self.refuse(id, Cause::ShuttingDown, now) } else { Vec::new() }
    }

    /// Adds a call, and holds it.
    fn hold(&mut self, call: NewCall, now: Instant) {
        self.moved = true;
        let (mut machine, _) = Driver::start(Call::default());
        machine.feed(&Event::Queued);
        let progress = call.progress_token.map(|token| Progress::new(token.into(), now));
        let mut entry = Entry {
            id: call.id,
            request: call.request,
            tool: call.tool.into(),
            arguments: call.arguments,
            machine,
            reserved: None,
            epoch: None,
            recovery: Recovery::None,
            accepted: now.checked_sub(call.waited).unwrap_or(now),
            sent: None,
            lost: None,
            patience: call.patience,
            running_max: RUNNING_MAX,
            profile: call.profile,
            form: call.form,
            trace: call.trace,
            requester: call.requester,
            progress,
            waits_for: Cause::Connecting,
            sending: None,
            parallel: call.parallel,
            project: self.wanted.project().map(Into::into),
            withheld: None,
            refused: None,
            unrun: false,
            settled: false,
            unknown_arguments: false,
            taken_over: false,
            of_another_gateway: false,
        };
        entry.waits_for = self.hold_cause(&entry);
        self.entries.push(entry);
    }

    /// Whether an unanswered request is a call of this ledger.
    pub fn owns(&self, request: RequestKey) -> bool {
        self.entries.position_of_request(request).is_some()
    }

    /// Handles the client's cancellation of a request. Returns true if the request was a call whose answer was still awaited.
    pub fn cancel(&mut self, request: RequestKey, now: Instant) -> (bool, Vec<Settlement>) {
        let Some(index) = self.entries.position_of_request(request) else { return (false, Vec::new()) };
        let mut out = Vec::new();
        self.feed(index, &Event::CancelledByClient, None, now, &mut out);
        self.entries.remove_ended();
        (true, out)
    }

    /// Begins the end of the gateway: refuses every held call, now and from now on.
    pub fn drain(&mut self, now: Instant) -> Vec<Settlement> {
        self.draining = true;
        let mut out = Vec::new();
        self.tell_all_withheld(now, &mut out);
        self.refuse_held_at_the_end(now, &mut out);
        out
    }

    /// Refuses held calls once the gateway ends, since nothing is sent any more.
    fn refuse_held_at_the_end(&mut self, now: Instant, out: &mut Vec<Settlement>) {
        if self.draining {
            out.extend(self.refuse_held(Cause::ShuttingDown, now));
        }
    }

    // ---- the bridge's side ----

    /// Ends a connection. Its claimed calls may have run, its reserved calls are free again, and no later claim or answer on it
    /// is accepted. All this is one operation, which must finish before the next connection is opened.
    pub fn close_epoch(&mut self, epoch: Epoch, loss: Loss, now: Instant) -> Vec<Settlement> {
        self.open_epochs.remove(&epoch);
        self.entries.change_all(|entry| {
            if entry.reserved == Some(epoch) {
                entry.reserved = None;
            }
            if entry.epoch == Some(epoch) {
                entry.lost.get_or_insert(now);
            }
        });
        let mut out = self.feed_all(now, |entry| (entry.epoch == Some(epoch)).then_some(Event::EpochClosed(loss)));
        self.entries.change_all(|entry| {
            if entry.epoch == Some(epoch) && entry.state() != State::Sent {
                entry.epoch = None;
            }
        });
        out.extend(self.give_up_elsewhere(now));
        self.refuse_held_at_the_end(now, &mut out);
        self.entries.remove_ended();
        out
    }

    /// Closes every open epoch, because the part that owned them is gone.
    pub fn close_all_epochs(&mut self, loss: Loss, now: Instant) -> Vec<Settlement> {
        let open: Vec<Epoch> = self.open_epochs.keys().copied().collect();
        let mut out: Vec<Settlement> = open.into_iter().flat_map(|epoch| self.close_epoch(epoch, loss, now)).collect();
        if loss == Loss::Shutdown {
            out.extend(self.drain(now));
            // The search also ends for calls whose client was answered "still running", since nobody will look for their outcome.
            let open = |entry: &Entry| !entry.settled || entry.state() == State::Abandoned;
            out.extend(self.feed_all(now, |entry| open(entry).then_some(Event::EpochClosed(loss))));
        }
        out
    }

    /// Reserves the next call for this connection: a held call that is not reserved and may run next to those that have a place
    /// at the editor. Sessions take turns, and within a session the oldest call is first: a session waits for at most one call of
    /// each other session. `None` if there is no such call, or if the connection leads to another project's editor.
    pub fn reserve(&mut self, epoch: Epoch) -> Option<HeldCall> {
        if !self.is_wanted(epoch) {
            return None;
        }
        let index = self.entries.next_to_send(self.served)?;
        let mut entry = self.entries.get_mut(index)?;
        entry.reserved = Some(epoch);
        self.served = Some(entry.request.session.turn());
        Some(HeldCall {
            id: entry.id,
            request: entry.request,
            profile: entry.profile,
            tool: Arc::clone(&entry.tool),
            arguments: Arc::clone(&entry.arguments),
            nth: entry.machine.machine().sendings.saturating_add(1),
            progress: entry.progress.is_some(),
            trace: entry.trace.clone(),
            requester: entry.requester.clone(),
        })
    }

    /// Frees a call that this connection reserved and does not send, so that the next connection may reserve it.
    pub fn unreserve(&mut self, call: CallId, epoch: Epoch) {
        let entry = self.position(call).and_then(|index| self.entries.get_mut(index));
        if let Some(mut entry) = entry.filter(|entry| entry.reserved == Some(epoch)) {
            entry.reserved = None;
        }
    }

    /// Whether a held call could be reserved now.
    pub fn has_held(&self) -> bool {
        self.entries.next_to_send(self.served).is_some()
    }

    /// Claims a call: the last step before its first byte. From here on the call may have run.
    ///
    /// # Errors
    /// Returns [`ClaimRefused`] if no byte may be written.
    pub fn claim(
        &mut self,
        call: CallId,
        epoch: Epoch,
        terms: Terms,
        now: Instant,
    ) -> Result<Vec<Settlement>, ClaimRefused> {
        if !self.open_epochs.contains_key(&epoch) {
            return Err(ClaimRefused::EpochClosed);
        }
        let wanted = self.is_wanted(epoch);
        let index = self.position(call).ok_or(ClaimRefused::NotHeld)?;
        let Some(mut entry) = self.entries.get_mut(index).filter(|entry| entry.state() == State::Held) else {
            return Err(ClaimRefused::NotHeld);
        };
        if now >= entry.hold_limit() {
            return Err(ClaimRefused::LimitPassed);
        }
        if entry.project.is_some() && !self.wanted.may_be(entry.project.as_deref()) {
            return Err(ClaimRefused::OtherProject);
        }
        if !wanted {
            // The call waits for a connection to the wanted project's editor.
            entry.reserved = None;
            return Err(ClaimRefused::NotWanted);
        }
        let (recoverable, repeatable) = (terms.recovery != Recovery::None, terms.repeatable);
        let before = entry.machine.machine();
        entry.sending = Some(Sending {
            waited: now.saturating_duration_since(entry.lost.unwrap_or(entry.accepted)),
            waited_for: entry.waits_for,
            nth: before.sendings.saturating_add(1),
            lost: before.loss.is_some(),
            repeatable: before.repeatable,
        });
        entry.running_max = terms.running_max();
        (entry.recovery, entry.of_another_gateway) = (terms.recovery, false);
        entry.epoch = Some(epoch);
        entry.reserved = None;
        entry.sent = Some(now);
        // The loss of an earlier connection must not end the wait for the answer on this connection.
        entry.lost = None;
        drop(entry);
        let mut out = Vec::new();
        self.feed(index, &Event::Claimed { recoverable, repeatable }, None, now, &mut out);
        self.report_progress(index, now, &mut out);
        Ok(out)
    }

    /// Takes a claim back, because it is certain that no byte of the call was written. The call is held again.
    pub fn revoke_claim(&mut self, call: CallId, epoch: Epoch, now: Instant) -> Vec<Settlement> {
        let mut out = Vec::new();
        if let Some(index) = self.position_in(call, epoch) {
            self.feed(index, &Event::ClaimRevoked, None, now, &mut out);
            if let Some(mut entry) = self.entries.get_mut(index).filter(|entry| entry.state() == State::Held) {
                entry.epoch = None;
                entry.sent = None;
            }
            self.refuse_held_at_the_end(now, &mut out);
            self.entries.remove_ended();
        }
        out
    }

    /// Removes a held call without a trace, because its request is answered elsewhere. Returns the call's request and arguments;
    /// `None` if the call is not held.
    pub fn give_back(&mut self, call: CallId) -> Option<(Asked, Arc<RawValue>)> {
        let index = self.position(call)?;
        let entry = self.entries.get(index).filter(|entry| entry.state() == State::Held && !entry.settled)?;
        let asked = Asked { key: entry.request, profile: entry.profile, form: entry.form.clone() };
        let given = (asked, Arc::clone(&entry.arguments));
        self.entries.remove(index);
        self.moved = true;
        Some(given)
    }

    /// Refuses a held call that can never be sent.
    pub fn refuse(&mut self, call: CallId, cause: Cause, now: Instant) -> Vec<Settlement> {
        self.feed_call(call, &Event::Refused(cause), None, now)
    }

    /// Like [`refuse`](Self::refuse), with grounds in addition to the cause.
    pub fn turn_down(&mut self, call: CallId, cause: Cause, grounds: Grounds, now: Instant) -> Vec<Settlement> {
        let entry = self.position(call).and_then(|index| self.entries.get_mut(index));
        if let Some(mut entry) = entry.filter(|entry| entry.state() == State::Held) {
            entry.refused = Some(Box::new(Refused { grounds, arguments: Arc::clone(&entry.arguments) }));
        }
        self.refuse(call, cause, now)
    }

    /// Handles the editor's reply to a call. Returns false if no answer to the call is expected on that connection.
    pub fn reply(&mut self, call: CallId, epoch: Epoch, answer: EditorAnswer, now: Instant) -> (bool, Vec<Settlement>) {
        let Some(index) = self.position_in(call, epoch) else { return (false, Vec::new()) };
        if !self.open_epochs.contains_key(&epoch) {
            return (false, Vec::new());
        }
        let mut out = Vec::new();
        let event = Event::ReplyArrived { error: answer.is_error };
        self.feed(index, &event, Some(answer), now, &mut out);
        if let Some(mut entry) = self.entries.get_mut(index) {
            entry.epoch = None;
        }
        self.entries.remove_ended();
        (true, out)
    }

    /// Handles the editor's reply that the call was meant for another editor and did not run. The call is held again, a bounded
    /// number of times; after that this reply is its answer, unless the call may have run when it was sent before. Returns false
    /// if no answer to the call is expected on that connection.
    pub fn turned_away(
        &mut self,
        call: CallId,
        epoch: Epoch,
        answer: EditorAnswer,
        now: Instant,
    ) -> (bool, Vec<Settlement>) {
        let open = self.open_epochs.contains_key(&epoch);
        let Some(index) = self.position_in(call, epoch).filter(|_| open) else { return (false, Vec::new()) };
        let mut out = Vec::new();
        self.feed(index, &Event::TurnedAway, Some(answer), now, &mut out);
        if let Some(mut entry) = self.entries.get_mut(index) {
            entry.epoch = None;
            if entry.state() == State::Held {
                entry.sent = None;
            }
        }
        self.refuse_held_at_the_end(now, &mut out);
        self.entries.remove_ended();
        (true, out)
    }

    /// Returns the calls whose outcome is being looked for, and where it may be found.
    pub fn recovering(&self) -> Vec<(CallId, Recovery)> {
        self.entries
            .iter()
            .filter(|entry| entry.is_looked_for())
            .map(|entry| (entry.id, entry.recovery.clone()))
            .collect()
    }

    /// Handles an outcome that was found after the loss of a connection: in a result file or in the editor's journal.
    pub fn learn(&mut self, call: CallId, answer: EditorAnswer, now: Instant) -> Vec<Settlement> {
        let event = Event::OutcomeLearned { error: answer.is_error };
        self.feed_call(call, &event, Some(answer), now)
    }

    /// Sets what callers may expect of the link from now on. May send withheld answers and end searches for outcomes.
    pub fn set_availability(&mut self, availability: Availability, now: Instant) -> Vec<Settlement> {
        self.availability = Some(availability);
        if let Some(cause) = availability.cause() {
            self.now_wait_for(cause);
        }
        if availability.cause().is_some_and(|cause| cause.is_gone() || cause == Cause::Stalled) {
            self.no_reload = Some(now);
        }
        self.absent_since = match availability {
            Availability::Absent(_) => self.absent_since.or(Some(now)),
            Availability::Open | Availability::Coming(_) => None,
        };
        self.mind_absence();
        let mut out = Vec::new();
        self.see_reload(availability, now, &mut out);
        if availability != Availability::Open {
            return out;
        }
        let project = self.wanted.project().map(std::path::Path::to_path_buf);
        // The editor is back. If a call's outcome could only be inferred from that, nothing more will be learned about it.
        let back = self.feed_all(now, |entry| {
            let unanswered = entry.withheld.is_none() && entry.lost.is_some();
            let inferred =
                entry.recovery == Recovery::Inferred && unanswered && entry.project.as_deref() == project.as_deref();
            (inferred && matches!(entry.state(), State::Recovering | State::Abandoned)).then_some(Event::OutcomeLost)
        });
        out.extend(back);
        self.refuse_held_at_the_end(now, &mut out);
        out
    }

    // ---- inside ----

    fn position(&self, call: CallId) -> Option<usize> {
        self.entries.position(call)
    }

    fn position_in(&self, call: CallId, epoch: Epoch) -> Option<usize> {
        self.position(call).filter(|index| self.entries.get(*index).is_some_and(|entry| entry.epoch == Some(epoch)))
    }

    fn entry(&self, call: CallId) -> Option<&Entry> {
        self.position(call).and_then(|index| self.entries.get(index))
    }

    fn feed_call(&mut self, call: CallId, event: &Event, body: Option<EditorAnswer>, now: Instant) -> Vec<Settlement> {
        let mut out = Vec::new();
        if let Some(index) = self.position(call) {
            self.feed(index, event, body, now, &mut out);
            self.entries.remove_ended();
        }
        out
    }

    fn feed_all(&mut self, now: Instant, event_for: impl Fn(&Entry) -> Option<Event>) -> Vec<Settlement> {
        let mut out = Vec::new();
        for index in 0..self.entries.len() {
            if let Some(event) = self.entries.get(index).and_then(&event_for) {
                self.feed(index, &event, None, now, &mut out);
            }
        }
        self.entries.remove_ended();
        out
    }

    fn feed(
        &mut self,
        index: usize,
        event: &Event,
        mut body: Option<EditorAnswer>,
        now: Instant,
        out: &mut Vec<Settlement>,
    ) {
        let behind = self.running().map(|(id, tool, since)| (id, tool, now.saturating_duration_since(since)));
        let known = self.known(now);
        let lost = self.entries.get(index).and_then(|entry| entry.lost);
        let reload_likely = lost.is_some_and(|lost| self.may_have_reloaded(lost));
        let Some(mut entry) = self.entries.get_mut(index) else { return };
        self.moved = true;
        let was_held = entry.state() == State::Held;
        let mut late = false;
        let state = entry.state();
        let stepped = entry.machine.feed(event);
        if state == State::Recovering && entry.machine.state() == State::Held {
            entry.sent = None;
            out.push(Settlement::HeldAgain);
        }
        if stepped.unexpected {
            *self.surprises.undecided.entry(state.into()).or_default() += 1;
        }
        for effect in stepped.effects {
            match effect {
                Effect::Answer(verdict) => {
                    self.surprises.answered_twice += u64::from(entry.settled);
                    entry.settled = true;
                    out.push(Settlement::Answer(Box::new(Answer {
                        request: entry.request,
                        call: entry.id,
                        tool: Arc::clone(&entry.tool),
                        verdict,
                        // Of a call that may have run, the refusal of a later sending says nothing.
                        body: body.take().filter(|_| !matches!(verdict, Verdict::OutcomeUnknown(_))),
                        took: now.saturating_duration_since(entry.accepted),
                        behind: behind.clone().filter(|(id, ..)| was_held && *id != entry.id),
                        came_back: entry
                            .lost
                            // While a connection ends, the availability is still the old one.
                            .filter(|_| self.availability == Some(Availability::Open) && !self.open_epochs.is_empty())
                            .filter(|_| entry.project.is_none() || self.wanted.is(entry.project.as_deref()))
                            .map(|lost| now.saturating_duration_since(lost)),
                        reload_likely,
                        // A sent call gets this verdict only if an editor said that it did not run. A loss leads to another
                        // verdict.
                        unrun: matches!(verdict, Verdict::NotExecuted(_)) && entry.machine.machine().sendings > 0,
                        refused: entry.refused.take(),
                        known: (!matches!(verdict, Verdict::Ok | Verdict::ToolError)).then(|| Box::new(known)),
                        taken_over: entry.taken_over,
                        project: entry.project.clone(),
                        profile: entry.profile,
                        form: entry.form.clone(),
                        trace: entry.trace.clone(),
                        requester: entry.requester.clone(),
                    })));
                    let mut record = entry.record();
                    record.verdict = Some(verdict);
                    record.ended = Some(now);
                    self.finished.remember(record);
                }
                Effect::KeepLate => {
                    if let Some(answer) = body.take() {
                        late = true;
                        let (call, project, profile) = (entry.id, entry.project.clone(), entry.profile);
                        out.push(Settlement::KeepLate { call, project, answer, profile });
                    }
                }
                Effect::Note(verdict) => {
                    entry.settled = true;
                    out.push(Settlement::Noted {
                        call: entry.id,
                        session: entry.request.session,
                        tool: Arc::clone(&entry.tool),
                        verdict,
                        requester: entry.requester.clone(),
                        project: entry.project.clone(),
                    });
                    let mut record = entry.record();
                    record.verdict = Some(verdict);
                    record.ended = Some(now);
                    if late {
                        record.late = Late::Rendering;
                    }
                    self.finished.remember(record);
                }
                Effect::Withdraw => {
                    if let Recovery::Journal(key) = &entry.recovery {
                        out.push(Settlement::Withdraw { key: key.clone() });
                    }
                }
                // The bridge starts the probes: it calls `recovering` when a connection has ended and when the bridge starts.
                Effect::Recover => {}
            }
        }
        if entry.settled {
            // The call is never sent again, so its memory is free for others.
            entry.arguments = RawValue::NULL.to_owned().into();
        }
    }

    fn report_progress(&mut self, index: usize, now: Instant, out: &mut Vec<Settlement>) {
        let cause = self.entries.get(index).map(|entry| self.hold_cause(entry));
        let leaves = self.entries.get(index).is_some_and(|entry| self.is_about_to_leave(entry));
        let hindered = self.known_hindrance(now);
        let behind = self.running().filter(|(id, ..)| self.entries.get(index).is_some_and(|entry| entry.id != *id));
        let gone = self.known(now).gone;
        let Some(mut entry) = self.entries.get_mut(index).filter(|entry| !entry.settled) else { return };
        let message = match (entry.state(), cause) {
            (State::Sent, _) => user_text::SENT.to_owned(),
            _ if entry.withheld.is_some() => "answered; waiting for the reload that may follow".to_owned(),
            (State::Recovering, _) => user_text::looked_for(entry.machine.machine().known_loss(), gone),
            (_, Some(cause)) => {
                let again = entry.machine.machine().sendings > 0;
                let held = if again { "held, to be sent again" } else { "held, not sent yet" };
                let why = match behind {
                    Some((_, tool, since)) if cause == Cause::Busy => {
                        user_text::behind(&tool, now.saturating_duration_since(since))
                    }
                    _ => user_text::cause(cause),
                };
                format!("{held}: {why}")
            }
            (_, None) => return,
        };
        let changed = entry.state() == State::Sent && entry.sent == Some(now);
        let (version, request) = (entry.profile.version, entry.request);
        let Some(progress) = entry.progress.as_mut().filter(|progress| changed || now >= progress.next) else { return };
        if leaves {
            progress.put_off(now);
            return;
        }
        let news = progress.beat(message, hindered.as_deref(), now);
        out.push(Settlement::Progress { request, news, version });
    }
}
