//! What is known of an editor's main thread, where its heartbeat does not tell.
//!
//! While the editor has no call, it is asked a question that only this thread answers. Its silence shows that the thread stands still.
//! A call that was sent then would wait in the editor behind the question, where nothing proves that it has not run. So none is sent
//! until the question is answered. While the editor has a call, it is not asked: the question would wait behind the call.

use std::time::Duration;

use tokio::time::Instant;

use super::Exchange;
use super::types::{Beside, Errand, MainThread, ReplyTo};
use crate::core::calls::Ledger;
use crate::fsm::cause::Cause;
use crate::limits::{BESIDE_AFTER, MAIN_THREAD_ASKED_EVERY, NO_PROGRESS_AFTER, SILENCE_NAMED_AFTER};
use crate::protocol::dialect::{EditorState, Heartbeat, JobProgress};
use crate::protocol::ids::CallId;

impl Exchange {
    /// While it has a call, the editor is heard of this often by itself; if `always`, also while it has none.
    pub fn is_heard_every(&mut self, every: Option<Duration>, always: bool) {
        (self.quiet.alive_every, self.quiet.alive_always) = (every, always);
    }

    /// Decides what is asked beside the other requests, and records it. Only an editor that runs calls as jobs takes requests at the
    /// same time.
    pub fn asks_beside(&mut self, ledger: &mut Ledger, now: Instant) -> Beside {
        if self.met.as_ref().is_none_or(|met| met.journal.is_none()) {
            return Beside::Nothing;
        }
        if self.awaits(|open| matches!(open, ReplyTo::Call(..))) && !self.quiet.beats {
            return Beside::Nothing;
        }
        if self.awaits(|open| matches!(open, ReplyTo::Call(..))) {
            self.errands.retain(|errand| *errand != Errand::Heartbeat);
            // A call that is being sent has two connections of its own for a moment.
            let is_asked = self.awaits(|open| matches!(open, ReplyTo::Heartbeat));
            return if is_asked || self.quiet.waited(now) < BESIDE_AFTER { Beside::Nothing } else { Beside::Heartbeat };
        }
        if !self.main_thread_is_due(ledger, now) {
            return Beside::Nothing;
        }
        self.main_thread.asked = Some(now);
        Beside::MainThread
    }

    /// Whether the editor has no call, and its main thread was not asked for a while.
    fn main_thread_is_due(&self, ledger: &Ledger, now: Instant) -> bool {
        let is_idle = self.proven && !self.closed && !self.blocked && self.out() == 0 && ledger.counts() == (0, 0);
        let is_due = |over: Instant| now.saturating_duration_since(over) >= MAIN_THREAD_ASKED_EVERY;
        is_idle && !self.main_thread.is_asked() && self.main_thread.over.is_none_or(is_due)
    }

    /// Orders the question to the main thread on this connection, because the editor serves no other one. A question that the editor
    /// gave up is asked again. Returns whether it is ordered now.
    pub fn asks_here(&mut self, ledger: &mut Ledger, now: Instant) -> bool {
        let is_silent = |asked: Instant| now.saturating_duration_since(asked) >= SILENCE_NAMED_AFTER;
        if self.main_thread.asked.is_some_and(is_silent) {
            ledger.hinder(self.epoch, Some(Cause::Stalled));
        }
        let is_given_up = self.main_thread.is_asked() && !self.asks_main_thread_here();
        if !is_given_up && !self.main_thread_is_due(ledger, now) {
            return false;
        }
        self.main_thread.asked.get_or_insert(now);
        self.order(Errand::MainThread);
        true
    }

    /// The editor waits no longer for a call that goes on, most likely on the main thread: nothing is sent behind it before that thread has
    /// answered.
    pub fn ask_main_thread_first(&mut self, now: Instant) {
        self.main_thread.asked = Some(now);
        self.order(Errand::MainThread);
    }

    /// Handles the end of the question that was asked on this connection.
    pub fn answered_here(&mut self, told: Option<Heartbeat>, ledger: &mut Ledger, now: Instant) {
        ledger.hinder(self.epoch, None);
        self.main_thread_answered(told, ledger, now);
    }

    /// Records that the question to the main thread is sent under this number.
    pub fn asks_main_thread(&mut self, number: u64) {
        self.open.insert(number, ReplyTo::MainThread);
    }

    /// Whether the question to the main thread is on its way here. An answer is recognized by being the next one, so nothing else is asked.
    pub(super) fn asks_main_thread_here(&self) -> bool {
        self.errands.contains(&Errand::MainThread) || self.awaits(|open| matches!(open, ReplyTo::MainThread))
    }

    /// Since when the question to the main thread is open.
    pub fn main_thread_asked(&self) -> Option<Instant> {
        self.main_thread.asked
    }

    /// Handles the end of the question to the main thread. `told`: its answer, if it tells anything. Calls may be sent again.
    pub fn main_thread_answered(&mut self, told: Option<Heartbeat>, ledger: &mut Ledger, now: Instant) {
        self.main_thread = MainThread { asked: None, over: Some(now), told };
        self.calls_wait = ledger.has_held();
        if self.blocked {
            // What kept it is over, most likely.
            self.order(Errand::Heartbeat);
        }
    }

    /// Notes what the editor says of the progress of a job. Returns whether it is another than before.
    pub fn job_progressed(&mut self, call: CallId, progress: &JobProgress, now: Instant) -> bool {
        self.jobs.progressed(call, progress, now)
    }

    /// Returns what can be inferred of the main thread; `None` if nothing can.
    pub fn main_thread(&mut self, ledger: &Ledger, now: Instant) -> Option<Heartbeat> {
        if let Some((call, _, sent)) = ledger.running() {
            self.main_thread.told = None;
            let since = self.jobs.moved(call).map_or(sent, |moved| moved.max(sent));
            let still = now.saturating_duration_since(since);
            let told = Heartbeat { running: 1, ..Heartbeat::inferred(EditorState::Unknown, still) };
            return Some(told).filter(|_| still >= NO_PROGRESS_AFTER);
        }
        if ledger.follows_work() {
            self.main_thread.told = None;
        }
        let told = self.main_thread.told;
        let Some(since) = self.main_thread.asked else { return told };
        let told = told.unwrap_or(Heartbeat::inferred(EditorState::Unknown, Duration::ZERO));
        Some(Heartbeat { frame_age: now.saturating_duration_since(since), ..told })
    }
}
