//! How news reach a call: they are fed to its machine, and what the machine orders is carried out.

use std::sync::Arc;

use tokio::time::Instant;

use super::Ledger;
use crate::core::calls::entries::EntryMut;
use crate::core::calls::entry::Entry;
use crate::core::calls::phase::{Attempt, Brought, News, Phase};
use crate::core::calls::types::{Answer, Known, Late, Record, Settlement};
use crate::core::user_text;
use crate::fsm::call::{Effect, Event, State, Verdict};
use crate::fsm::cause::{Availability, Cause};
use crate::protocol::dialect::{CallProgress, Recovery};
use crate::protocol::ids::{CallId, Epoch};

impl Ledger {
    pub(super) fn position(&self, call: CallId) -> Option<usize> {
        self.entries.position(call)
    }

    pub(super) fn position_in(&self, call: CallId, epoch: Epoch) -> Option<usize> {
        self.position(call).filter(|index| self.entries.get(*index).is_some_and(|entry| entry.epoch() == Some(epoch)))
    }

    pub(super) fn entry(&self, call: CallId) -> Option<&Entry> {
        self.position(call).and_then(|index| self.entries.get(index))
    }

    pub(super) fn entry_mut(&mut self, call: CallId) -> Option<EntryMut<'_>> {
        self.position(call).and_then(|index| self.entries.get_mut(index))
    }

    pub(super) fn feed_call(&mut self, call: CallId, news: impl Into<News>, now: Instant) -> Vec<Settlement> {
        let mut out = Vec::new();
        if let Some(index) = self.position(call) {
            self.feed(index, news, now, &mut out);
            self.refuse_held_at_the_end(now, &mut out);
            self.entries.remove_ended();
        }
        out
    }

    pub(super) fn feed_all(&mut self, now: Instant, event_for: impl Fn(&Entry) -> Option<Event>) -> Vec<Settlement> {
        let mut out = Vec::new();
        for index in 0..self.entries.len() {
            if let Some(event) = self.entries.get(index).and_then(&event_for) {
                self.feed(index, event, now, &mut out);
            }
        }
        self.entries.remove_ended();
        out
    }

    pub(super) fn feed(&mut self, index: usize, news: impl Into<News>, now: Instant, out: &mut Vec<Settlement>) {
        let Some(mut entry) = self.entries.get_mut(index) else { return };
        let mut is_owed = entry.is_awaited();
        let (stepped, mut brought) = entry.step(news.into(), now);
        drop(entry);
        self.moved = true;
        let Some(entry) = self.entries.get(index) else { return };
        if stepped.unexpected {
            *self.surprises.undecided.entry(entry.state().into()).or_default() += 1;
        }
        if stepped.transitions.contains(&(State::Recovering, State::Held)) {
            out.push(Settlement::HeldAgain);
        }
        let was_held = stepped.transitions.iter().any(|(from, _)| *from == State::Held);
        let mut late = false;
        for effect in stepped.effects {
            let ended = match effect {
                Effect::Answer(verdict) => {
                    self.surprises.answered_twice += u64::from(!is_owed);
                    is_owed = false;
                    out.push(Settlement::Answer(Box::new(self.answer(entry, verdict, &mut brought, was_held, now))));
                    verdict
                }
                Effect::Note(verdict) => {
                    is_owed = false;
                    let call = &entry.call;
                    out.push(Settlement::Noted {
                        call: call.id,
                        session: call.request.session,
                        tool: Arc::clone(&call.tool),
                        verdict,
                        requester: call.requester.clone(),
                        project: call.project.clone(),
                    });
                    verdict
                }
                Effect::KeepLate => {
                    late = brought.answer.is_some();
                    if let Some(answer) = brought.answer.take() {
                        let (call, project, profile) = (entry.call.id, entry.call.project.clone(), entry.call.profile);
                        out.push(Settlement::KeepLate { call, project, answer, profile });
                    }
                    continue;
                }
                Effect::Withdraw => {
                    let key = match entry.phase().attempt().map(|attempt| &attempt.recovery) {
                        Some(Recovery::Journal(key)) => Some(key.clone()),
                        _ => None,
                    };
                    out.push(Settlement::Withdraw { call: entry.call.id, key });
                    continue;
                }
                // The bridge starts the probes: it calls `recovering` when a connection has ended and when the bridge starts.
                Effect::Recover => continue,
            };
            let late = if late { Late::Rendering } else { Late::None };
            self.finished.remember(Record { verdict: Some(ended), ended: Some(now), late, ..entry.record() });
        }
    }

    /// Returns the answer to the client of a call that has this verdict.
    fn answer(&self, entry: &Entry, verdict: Verdict, brought: &mut Brought, was_held: bool, now: Instant) -> Answer {
        let (call, lost) = (&entry.call, entry.phase().lost());
        let sent_on = entry.phase().attempt().and_then(|attempt| attempt.epoch);
        let behind = self.running().filter(|_| was_held);
        Answer {
            request: call.request,
            call: call.id,
            tool: Arc::clone(&call.tool),
            verdict,
            // If the call may have run, the refusal of a later attempt proves nothing.
            body: brought.answer.take().filter(|_| !matches!(verdict, Verdict::OutcomeUnknown(_))),
            took: now.saturating_duration_since(call.accepted),
            behind: behind.map(|(id, tool, since)| (id, tool, now.saturating_duration_since(since))),
            came_back: lost
                // While the connection lasts, the editor was not seen to be away.
                .filter(|_| !sent_on.is_some_and(|epoch| self.open_epochs.contains_key(&epoch)))
                // While a connection ends, its epoch is closed before the availability changes.
                .filter(|_| self.availability == Some(Availability::Open) && !self.open_epochs.is_empty())
                .filter(|_| call.project.is_none() || self.wanted.is(call.project.as_deref()))
                .map(|lost| now.saturating_duration_since(lost)),
            reload_likely: lost.is_some_and(|lost| self.may_have_reloaded(lost)),
            // A sent call gets this verdict only if an editor said that it did not run. A loss leads to another verdict.
            unrun: entry.is_refused() || matches!(verdict, Verdict::NotExecuted(_)) && entry.machine().sendings > 0,
            refused: brought.refused.take(),
            known: (!matches!(verdict, Verdict::Ok | Verdict::ToolError)).then(|| {
                let known = self.known(now);
                let alone = entry.phase().rests().map(|rest| Arc::clone(&rest.says));
                Box::new(Known { obstacle: alone.or(known.obstacle), ..known })
            }),
            taken_over: call.taken_over,
            project: call.project.clone(),
            profile: call.profile,
            form: call.form.clone(),
            trace: call.trace.clone(),
            requester: call.requester.clone(),
        }
    }

    pub(super) fn report_progress(&mut self, index: usize, now: Instant, out: &mut Vec<Settlement>) {
        let told = |entry: &&Entry| entry.is_awaited() && entry.progress.is_some();
        let Some(entry) = self.entries.get(index).filter(told) else { return };
        let message = match entry.phase() {
            Phase::Sent { .. } => user_text::SENT.to_owned(),
            Phase::Withheld { .. } => "answered; waiting for the reload that may follow".to_owned(),
            Phase::Sought { attempt, .. } if matches!(attempt.recovery, Recovery::StatusFile { .. }) => {
                user_text::FOLLOWED.to_owned()
            }
            Phase::Sought { .. } => user_text::looked_for(entry.machine().known_loss(), self.known(now).gone),
            Phase::Held { .. } => {
                let cause = self.hold_cause(entry);
                let again = entry.machine().sendings > 0;
                let held = if again { "held, to be sent again" } else { "held, not sent yet" };
                let why = match self.running() {
                    Some((_, tool, since)) if cause == Cause::Busy => {
                        user_text::behind(&tool, now.saturating_duration_since(since))
                    }
                    _ => user_text::cause(cause),
                };
                format!("{held}: {why}")
            }
            Phase::Over(_) => return,
        };
        let leaves = self.is_about_to_leave(entry);
        // A call that the editor refused for now is sent again and again: that is no change.
        let is_new = |attempt: &Attempt| attempt.claim.is_none_or(|claim| claim.nth == 1 || claim.lost);
        let changed = matches!(entry.phase(), Phase::Sent { attempt, .. } if attempt.at == now && is_new(attempt));
        let alone = entry.phase().rests().map(|rest| rest.says.to_string());
        let hindered = alone.or_else(|| self.known_hindrance(now));
        let Some(mut entry) = self.entries.get_mut(index) else { return };
        let (version, request) = (entry.call.profile.version, entry.call.request);
        let Some(progress) = entry.progress.as_mut().filter(|progress| changed || now >= progress.next) else { return };
        if leaves {
            progress.put_off(now);
            return;
        }
        let news = progress.beat(message, hindered.as_deref(), now);
        out.push(Settlement::Progress { request, news, version });
    }

    /// Handles a report of a tool about its progress. Ignores it if the call is not running, or if its client wants no progress.
    pub fn progressed(&mut self, progress: CallProgress, now: Instant) -> Vec<Settlement> {
        let CallProgress { call, done, total, message } = progress;
        let runs = |entry: &EntryMut<'_>| entry.is_awaited() && !entry.is_held();
        let Some(mut entry) = self.entry_mut(call).filter(runs) else { return Vec::new() };
        let (version, request) = (entry.call.profile.version, entry.call.request);
        let told = entry.progress.as_mut().and_then(|progress| progress.measured(done, total, message, now));
        let told = told.map(|news| Settlement::Progress { request, news, version });
        told.into_iter().collect()
    }
}
