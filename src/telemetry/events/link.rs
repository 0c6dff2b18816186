//! The events between the gateway and the editor: dials, connections, frames, reloads and push messages.

use std::path::Path;
use std::sync::PoisonError;
use std::time::Duration;

use tokio::time::Instant;

use super::{Events, LinkStory, Suspicion};
use crate::fsm::bridge::ConnectFailure;
use crate::fsm::cause::{Availability, Cause, Loss, Return};
use crate::protocol::dialect::JournalOutcome;
use crate::protocol::ids::{CallId, Epoch};
use crate::protocol::text::clean;
use crate::telemetry::flight::seconds;
use crate::telemetry::metrics::Id;
use crate::telemetry::metrics::labels::{DialResult, ReloadResult};

impl Events {
    fn story(&self) -> std::sync::MutexGuard<'_, LinkStory> {
        self.1.story.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The editor sent a reply that matches no open request of its connection.
    pub fn reply_unmatched(&self, epoch: Epoch, what: &str) {
        if let Some(left_out) = self.0.strays.admit() {
            tracing::warn!(event = "reply_unmatched", link = self.link(), epoch = epoch.0, what = %clean(what), left_out);
        }
    }

    /// A survey found this project for the link. Before, it was another project or none.
    pub fn project_found(&self, project: &Path) {
        tracing::info!(event = "project_found", link = self.link(), project = %clean(&project.to_string_lossy()));
    }

    /// A dial succeeded: the editor accepted the connection at `accepted`, and has just answered the greeting.
    pub fn dial_succeeded(&self, dialled: Instant, accepted: Instant) {
        self.metrics().count(Id::ConnectAttempts, [DialResult::Ok.into()]);
        self.metrics().record(Id::ConnectDuration, [], dialled.elapsed().as_secs_f64());
        self.story().accepted = Some(accepted);
    }

    /// A connection to the editor is usable. `waited_for`: calls are held for it. `back`: what the greeting shows about
    /// the editor's absence.
    pub fn link_up(&self, epoch: Epoch, port: u16, source: &'static str, waited_for: bool, back: Return) {
        let editor: &'static str = back.into();
        tracing::info!(event = "link_up", link = self.link(), epoch = epoch.0, port, source, editor);
        let mut story = self.story();
        let lost = story.lost.take();
        story.back = story.accepted.take().filter(|_| lost.is_some() && waited_for);
        let told = std::mem::take(&mut story.reload);
        let Some(lost) = lost else { return };
        let result = match (back, told) {
            (Return::Reloaded, _) | (Return::Unknown, Suspicion::Told) => ReloadResult::Completed,
            (Return::Unknown, Suspicion::Presumed) => ReloadResult::Presumed,
            (Return::OtherProcess, Suspicion::Told) => ReloadResult::NotReturned,
            (Return::OtherProcess | Return::Unknown | Return::SameDomain, _) => return,
        };
        self.reload_ended(result);
        if result == ReloadResult::Completed {
            self.metrics().record(Id::ReloadDuration, [], lost.elapsed().as_secs_f64());
        }
    }

    /// Records the outage that has just ended as a domain reload with this result.
    fn reload_ended(&self, result: ReloadResult) {
        let label: &'static str = result.into();
        tracing::info!(event = "reload_ended", link = self.link(), result = label);
        self.metrics().count(Id::Reloads, [label]);
    }

    pub(super) fn first_call_after_return(&self) {
        if let Some(back) = self.story().back.take() {
            self.metrics().record(Id::RecoveryDuration, [], back.elapsed().as_secs_f64());
        }
    }

    /// A dial led to no usable connection.
    pub fn dial_failed(&self, port: u16, failure: ConnectFailure, detail: &str) {
        let reason: &'static str = failure.into();
        tracing::debug!(event = "dial_failed", link = self.link(), port, reason, detail = %clean(detail));
        self.metrics().count(Id::ConnectAttempts, [DialResult::from(failure).into()]);
    }

    /// A dial connected, but the connection ended before its greeting was answered.
    pub fn dial_unfinished(&self, port: u16) {
        tracing::debug!(event = "dial_unfinished", link = self.link(), port);
        self.metrics().count(Id::ConnectAttempts, [DialResult::Unfinished.into()]);
    }

    /// An established connection ended. Called once for each [`link_up`](Self::link_up), whichever part noticed the
    /// end.
    pub fn link_down(&self, epoch: Epoch, loss: Loss) {
        let reason: &'static str = loss.into();
        tracing::info!(event = "link_down", link = self.link(), epoch = epoch.0, reason);
        self.metrics().count(Id::Disconnects, [reason]);
        let mut story = self.story();
        story.lost = Some(Instant::now());
        story.reload = if loss == Loss::Reload { Suspicion::Told } else { Suspicion::None };
        story.back = None;
    }

    /// The availability of the link changed.
    pub fn availability_changed(&self, availability: Availability) {
        let mut story = self.story();
        if story.lost.is_none() {
            return;
        }
        match availability {
            Availability::Coming(Cause::Reloading) => story.reload = Suspicion::Told,
            Availability::Coming(Cause::BridgeStopped) => story.reload = story.reload.max(Suspicion::Presumed),
            Availability::Open => {}
            Availability::Coming(cause) if !cause.is_gone() => {}
            Availability::Coming(_) | Availability::Absent(_) => {
                if matches!(availability, Availability::Absent(_)) {
                    story.lost = None;
                }
                if std::mem::take(&mut story.reload) == Suspicion::Told {
                    self.reload_ended(ReloadResult::NotReturned);
                }
            }
        }
    }

    /// The program that listens on the port is not a bridge of this dialect.
    pub fn wrong_peer(&self, port: u16, said: &str) {
        if let Some(left_out) = self.0.wrong_peers.admit() {
            tracing::warn!(event = "wrong_peer", link = self.link(), port, said = %clean(said), left_out);
        }
        self.metrics().count(Id::ConnectAttempts, [DialResult::WrongPeer.into()]);
    }

    /// A connection to a port of ours is closed, because it is not that of an expected editor.
    pub fn arrival_refused(&self, port: u16, why: &str) {
        if let Some(left_out) = self.0.wrong_peers.admit() {
            tracing::warn!(event = "arrival_refused", link = self.link(), port, why = %clean(why), left_out);
        }
    }

    /// A request over HTTP, where each request has its own connection, could not be sent. No byte of it was written.
    pub fn request_unsent(&self, port: u16, why: &str) {
        tracing::debug!(event = "request_unsent", link = self.link(), port, why = %clean(why));
    }

    /// A rule on tools matches none of the editor's tools.
    pub fn rule_matches_nothing(&self, says: &str) {
        tracing::warn!(event = "rule_matches_nothing", link = self.link(), says = %clean(says));
    }

    /// The editor sent bytes that violate its protocol.
    pub fn frame_error(&self, epoch: Epoch, fault: &'static str, what: &str) {
        if let Some(left_out) = self.0.bad_frames.admit() {
            tracing::warn!(event = "frame_error", link = self.link(), epoch = epoch.0, fault, what = %clean(what), left_out);
        }
    }

    /// The editor's journal reported the outcome of a call.
    pub fn outcome_told(&self, call: CallId, outcome: &JournalOutcome) {
        let outcome: &'static str = outcome.into();
        tracing::info!(event = "outcome_told", link = self.link(), %call, outcome);
    }

    /// The editor sent a heartbeat. `frame_age`: the age of its last frame.
    pub fn heartbeat_felt(&self, frame_age: Duration) {
        if self.counted() {
            self.metrics().set(Id::LastTick, [], seconds(self.now()) - frame_age.as_secs_f64());
        }
    }

    /// A push message is ignored: it is unknown, no message at all, or beyond a limit.
    pub fn push_ignored(&self, why: &str) {
        tracing::debug!(event = "push_ignored", link = self.link(), why = %clean(why));
    }

    /// Push messages are known to be missing.
    pub fn push_missed(&self, count: u64) {
        tracing::debug!(event = "push_missed", link = self.link(), count);
    }

    /// The push listener could not be bound.
    pub fn push_not_bound(&self, why: &str) {
        tracing::warn!(event = "push_not_bound", link = self.link(), why = %clean(why));
    }
}
