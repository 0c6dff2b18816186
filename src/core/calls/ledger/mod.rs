//! The ledger of a link: the only record of every open call, of what was sent, and of late results. It outlives every actor.
//!
//! The ledger is not an actor. It is a bounded store with short synchronous operations, behind a lock that is never held across
//! an await. An operation that changes calls takes the current time, feeds [`fsm::call`](crate::fsm::call) and returns
//! [`Settlement`]s, which the caller carries out after it has released the lock. The ledger never calls the client's side itself.

mod clock;
mod grace;
mod hindered;
mod journal;
mod project;
mod reader;
mod recovered;
mod sessions;
mod steps;
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
use super::phase::{Attempt, News};
use super::types::{Claim, ClaimRefused, HeldCall, NewCall, Refused, Settlement, Surprises, Terms, Wanted};
use crate::core::requests::Asked;
use crate::fsm::call::Event;
use crate::fsm::cause::{Availability, Cause, Loss};
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
    /// What the editor on this connection last said that keeps it from taking calls.
    obstacle: Option<(Epoch, Arc<str>)>,
}

impl Ledger {
    // ---- the session's side ----

    /// Accepts a call and holds it, or refuses it if the gateway is ending. The caller bounds the number of calls.
    pub fn accept(&mut self, call: NewCall, now: Instant) -> Vec<Settlement> {
        let id = call.id;
        self.hold(call, now);
        if self.draining { self.refuse(id, Cause::ShuttingDown, now) } else { Vec::new() }
    }

    fn hold(&mut self, call: NewCall, now: Instant) {
        self.moved = true;
        let mut entry = Entry::new(call, self.wanted.project().map(Into::into), now);
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
        self.feed(index, Event::CancelledByClient, now, &mut out);
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
            entry.unreserve(epoch);
            if entry.phase().rests().is_some_and(|rest| rest.epoch == epoch) {
                entry.rest(None);
            }
        });
        let mut out = self.feed_all(now, |entry| (entry.epoch() == Some(epoch)).then_some(Event::EpochClosed(loss)));
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
            out.extend(self.feed_all(now, |entry| entry.sought().map(|_| Event::EpochClosed(loss))));
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
        entry.reserve(Some(epoch));
        let call = &entry.call;
        self.served = Some(call.request.session.turn());
        Some(HeldCall {
            id: call.id,
            request: call.request,
            profile: call.profile,
            tool: Arc::clone(&call.tool),
            arguments: Arc::clone(&call.arguments),
            nth: entry.machine().sendings.saturating_add(1),
            progress: entry.progress.is_some(),
            trace: call.trace.clone(),
            requester: call.requester.clone(),
        })
    }

    /// Frees a call that this connection reserved and does not send, so that the next connection may reserve it.
    pub fn unreserve(&mut self, call: CallId, epoch: Epoch) {
        if let Some(mut entry) = self.entry_mut(call) {
            entry.unreserve(epoch);
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
        let Some(mut entry) = self.entries.get_mut(index).filter(|entry| entry.is_held()) else {
            return Err(ClaimRefused::NotHeld);
        };
        if now >= entry.hold_limit() {
            return Err(ClaimRefused::LimitPassed);
        }
        if entry.call.project.is_some() && !self.wanted.may_be(entry.call.project.as_deref()) {
            return Err(ClaimRefused::OtherProject);
        }
        if !wanted {
            // The call waits for a connection to the wanted project's editor.
            entry.reserve(None);
            return Err(ClaimRefused::NotWanted);
        }
        let before = entry.machine();
        let claim = Claim {
            waited: now.saturating_duration_since(entry.phase().lost().unwrap_or(entry.call.accepted)),
            waited_for: entry.waits_for,
            nth: before.sendings.saturating_add(1),
            lost: before.loss.is_some(),
            repeatable: before.repeatable,
        };
        drop(entry);
        let attempt = Attempt {
            epoch: Some(epoch),
            running_max: terms.running_max(),
            claim: Some(claim),
            ..Attempt::new(terms.recovery, now)
        };
        let mut out = Vec::new();
        self.feed(index, News::Claimed { epoch, attempt, repeatable: terms.repeatable }, now, &mut out);
        self.report_progress(index, now, &mut out);
        Ok(out)
    }

    /// Takes a claim back, because it is certain that no byte of the call was written. The call is held again.
    pub fn revoke_claim(&mut self, call: CallId, epoch: Epoch, now: Instant) -> Vec<Settlement> {
        let mut out = Vec::new();
        if let Some(index) = self.position_in(call, epoch) {
            self.feed(index, Event::ClaimRevoked, now, &mut out);
            self.refuse_held_at_the_end(now, &mut out);
            self.entries.remove_ended();
        }
        out
    }

    /// Removes a held call without a trace, because its request is answered elsewhere. Returns the call's request and arguments;
    /// `None` if the call is not held.
    pub fn give_back(&mut self, call: CallId) -> Option<(Asked, Arc<RawValue>)> {
        let index = self.position(call)?;
        let call = &self.entries.get(index).filter(|entry| entry.is_held())?.call;
        let asked = Asked { key: call.request, profile: call.profile, form: call.form.clone() };
        let given = (asked, Arc::clone(&call.arguments));
        self.entries.remove(index);
        self.moved = true;
        Some(given)
    }

    /// Refuses a held call that can never be sent.
    pub fn refuse(&mut self, call: CallId, cause: Cause, now: Instant) -> Vec<Settlement> {
        self.feed_call(call, Event::Refused(cause), now)
    }

    /// Like [`refuse`](Self::refuse), with grounds in addition to the cause.
    pub fn turn_down(&mut self, call: CallId, cause: Cause, grounds: Grounds, now: Instant) -> Vec<Settlement> {
        let Some(entry) = self.entry(call) else { return Vec::new() };
        let refused = Box::new(Refused { grounds, arguments: Arc::clone(&entry.call.arguments) });
        self.feed_call(call, News::TurnedDown(cause, refused), now)
    }

    /// Handles the editor's reply to a call. Returns false if no answer to the call is expected on that connection.
    pub fn reply(&mut self, call: CallId, epoch: Epoch, answer: EditorAnswer, now: Instant) -> (bool, Vec<Settlement>) {
        self.hear(call, epoch, News::Replied(answer), now)
    }

    /// Handles the editor's reply that the call was meant for another editor and did not run. The call is held again, a bounded
    /// number of times; after that it was not executed for this cause, unless it may have run when it was sent before. Returns false
    /// if no answer to the call is expected on that connection.
    pub fn turned_away(&mut self, call: CallId, epoch: Epoch, cause: Cause, now: Instant) -> (bool, Vec<Settlement>) {
        let mut heard = self.hear(call, epoch, News::TurnedAway(cause), now);
        if heard.0 {
            self.refuse_held_at_the_end(now, &mut heard.1);
        }
        heard
    }

    /// Handles what the editor replies to a call. Returns false if no answer to the call is expected on that connection.
    fn hear(&mut self, call: CallId, epoch: Epoch, news: impl Into<News>, now: Instant) -> (bool, Vec<Settlement>) {
        let is_open = self.open_epochs.contains_key(&epoch);
        let Some(index) = self.position_in(call, epoch).filter(|_| is_open) else { return (false, Vec::new()) };
        let mut out = Vec::new();
        self.feed(index, news, now, &mut out);
        self.entries.remove_ended();
        (true, out)
    }

    /// Returns the calls whose outcome is being looked for, and where it may be found.
    pub fn recovering(&self) -> Vec<(CallId, Recovery)> {
        let sought = |entry: &Entry| Some((entry.call.id, entry.sought()?.recovery.clone()));
        self.entries.iter().filter_map(sought).collect()
    }

    /// Handles an outcome that was found after the loss of a connection: in a result file or in the editor's journal.
    pub fn learn(&mut self, call: CallId, answer: EditorAnswer, now: Instant) -> Vec<Settlement> {
        self.feed_call(call, News::Learned(answer), now)
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
            let is_inferred = entry.sought().is_some_and(|attempt| attempt.recovery == Recovery::Inferred);
            (is_inferred && entry.call.project == project).then_some(Event::OutcomeLost)
        });
        out.extend(back);
        self.refuse_held_at_the_end(now, &mut out);
        out
    }
}
