//! The silence of an editor: what it means, and when.

use std::time::Duration;

use tokio::time::Instant;

use super::Exchange;
use crate::fsm::bridge::Event;
use crate::limits::{HEARTBEAT_MAX, SILENCE_MAX, STALL_AFTER};

/// Since when the editor is silent, and how long it may be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Quiet {
    /// When something was heard last; `None` before the greeting.
    pub(super) heard: Option<Instant>,
    /// Since when an answer is waited for in vain: since something was heard, sent or answered.
    pub(super) since: Option<Instant>,
    /// The longest time that any call that has a place may run before its client is answered "still running".
    pub(super) running_max: Duration,
    /// Whether the editor must be heard of even if no answer is owed.
    pub(super) beats: bool,
    /// Whether the bridge was told of a stall.
    pub(super) stalled: bool,
    /// Whether the bridge was told that the editor counts as lost.
    pub(super) over: bool,
}

impl Quiet {
    pub(super) fn watched(&mut self, now: Instant) {
        self.since = Some(now);
    }

    /// The connection is given up only after the longest running time of its calls, since a tool may be given an hour.
    fn silence_max(&self) -> Duration {
        self.running_max + SILENCE_MAX
    }

    fn beat_by(&self) -> Option<Instant> {
        self.heard.filter(|_| self.beats).map(|heard| heard + HEARTBEAT_MAX)
    }
}

impl Exchange {
    /// Handles a sign of life from the editor.
    pub fn heard(&mut self, now: Instant) -> Option<Event> {
        self.quiet.heard = Some(now);
        self.quiet.watched(now);
        std::mem::take(&mut self.quiet.stalled).then_some(Event::StallEnded)
    }

    /// When the silence of the editor means something new, if nothing is heard until then.
    pub fn deadline(&self) -> Option<Instant> {
        let owed = self.quiet.since.filter(|_| self.out() > 0);
        let owed = owed.map(|since| since + if self.quiet.stalled { self.quiet.silence_max() } else { STALL_AFTER });
        let beat = self.quiet.beat_by();
        owed.into_iter().chain(beat).min().filter(|_| !self.quiet.over)
    }

    /// Returns what the editor's silence means now, once.
    pub fn overdue(&mut self, now: Instant) -> Option<Event> {
        if self.quiet.over {
            return None;
        }
        let owed = self.quiet.since.filter(|_| self.out() > 0).map(|since| now.saturating_duration_since(since));
        let is_silent = owed.is_some_and(|waited| waited >= self.quiet.silence_max());
        if is_silent || self.quiet.beat_by().is_some_and(|by| now >= by) {
            self.quiet.over = true;
            return Some(Event::Silent);
        }
        let begins = owed.is_some_and(|waited| waited >= STALL_AFTER) && !self.quiet.stalled;
        begins.then(|| {
            self.quiet.stalled = true;
            Event::StallBegan
        })
    }
}
