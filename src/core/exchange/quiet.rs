//! The silence of an editor: what it means, and when.

use std::time::Duration;

use tokio::time::Instant;

use crate::fsm::bridge::Event;
use crate::limits::{HEARTBEAT_MAX, SIGNS_MISSED_MAX, SILENCE_MAX, STALL_AFTER};

/// Since when the editor is silent, and how long it may be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Quiet {
    /// When something was heard last; `None` before the greeting.
    pub(super) heard: Option<Instant>,
    /// Since when an answer is waited for in vain: since something was heard, sent or answered.
    since: Option<Instant>,
    /// The longest time that any call that has a place may run before its client is answered "still running".
    pub(super) running_max: Duration,
    /// Whether the editor must be heard of even if no answer is owed.
    pub(super) beats: bool,
    /// How often the editor is heard of by itself while it has a call.
    pub(super) alive_every: Option<Duration>,
    /// Whether it is heard of so also while it has none.
    pub(super) alive_always: bool,
    /// Whether the bridge was told of a stall.
    stalled: bool,
    /// Whether the bridge was told that the editor counts as lost.
    over: bool,
}

impl Quiet {
    /// Handles a sign of life from the editor. Returns what must be told of it.
    pub(super) fn heard(&mut self, now: Instant) -> Option<Event> {
        self.heard = Some(now);
        self.watched(now);
        self.waits_for_nothing()
    }

    /// No answer is owed, or one has come. Returns what must be told of it.
    pub(super) fn waits_for_nothing(&mut self) -> Option<Event> {
        std::mem::take(&mut self.stalled).then_some(Event::StallEnded)
    }

    /// When silence means something new. `owes`: whether the editor owes an answer. `asked`: whether it is asked for its heartbeat.
    pub(super) fn deadline(&self, owes: bool, asked: bool) -> Option<Instant> {
        let owed = self.since.filter(|_| owes);
        let owed = owed.map(|since| since + if self.stalled { self.silence_max() } else { self.stall_after() });
        owed.into_iter().chain(self.beat_by().filter(|_| asked)).min().filter(|_| !self.over)
    }

    /// Returns what the silence means now, once.
    pub(super) fn overdue(&mut self, owes: bool, asked: bool, now: Instant) -> Option<Event> {
        if self.over {
            return None;
        }
        let owed = self.since.filter(|_| owes).map(|since| now.saturating_duration_since(since));
        let is_silent = owed.is_some_and(|waited| waited >= self.silence_max());
        if is_silent || asked && self.beat_by().is_some_and(|by| now >= by) {
            self.over = true;
            return Some(Event::Silent);
        }
        let begins = owed.is_some_and(|waited| waited >= self.stall_after()) && !self.stalled;
        self.stalled |= begins;
        begins.then_some(Event::StallBegan)
    }

    /// The time for silence begins anew.
    pub(super) fn watched(&mut self, now: Instant) {
        self.since = Some(now);
    }

    /// How long something is waited for in vain.
    pub(super) fn waited(&self, now: Instant) -> Duration {
        self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }

    /// Where the editor is heard of at intervals, one that is late by more than one of them is silent.
    fn stall_after(&self) -> Duration {
        self.alive_every.map_or(STALL_AFTER, |every| STALL_AFTER.max(every * 5 / 2))
    }

    /// The connection is given up only after the longest running time of its calls, since a tool may be given an hour.
    fn silence_max(&self) -> Duration {
        self.running_max + SILENCE_MAX
    }

    fn beat_by(&self) -> Option<Instant> {
        let signs = self.alive_every.filter(|_| self.alive_always).map(|every| every * SIGNS_MISSED_MAX);
        let longest = if self.beats { Some(HEARTBEAT_MAX) } else { signs };
        self.heard.zip(longest).map(|(heard, longest)| heard + longest)
    }
}
