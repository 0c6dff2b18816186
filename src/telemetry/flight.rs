//! The flight recorder: what each machine did last, in memory, for whoever asks. The log after a broken promise, the status page
//! and `status --watch` read the same record in the same form.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tokio::time::Instant;

use super::metrics::labels;
use crate::limits::FLIGHT_RECORD_MAX;

/// The machines' last transitions.
#[derive(Debug)]
pub struct FlightRecorder {
    tracks: Vec<Mutex<Track>>,
}

#[derive(Debug)]
struct Track {
    machine: &'static str,
    state: &'static str,
    since: Instant,
    entered: SystemTime,
    steps: VecDeque<Step>,
}

/// One transition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// When, in seconds since the epoch.
    pub at: f64,
    /// The state that was left.
    pub from: &'static str,
    /// The state that was entered.
    pub to: &'static str,
    /// The event, without what it carried.
    pub event: String,
    /// How long the state had lasted, in seconds.
    pub after: f64,
}

/// What one machine did last.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timeline {
    /// Whose.
    pub machine: &'static str,
    /// The state it is in.
    pub state: &'static str,
    /// Since when, in seconds since the epoch.
    pub since: f64,
    /// Its last transitions, oldest first; at most [`FLIGHT_RECORD_MAX`].
    pub steps: Vec<Step>,
}

impl Timeline {
    /// The last `count` transitions in one line: `idle -Wanted-> seeking (12ms) -TargetsOffered-> dialing`, where the time is
    /// how long a state lasted.
    pub fn line(&self, count: usize) -> String {
        let last = self.steps.get(self.steps.len().saturating_sub(count)..).unwrap_or_default();
        let mut line = last.first().map_or(self.state, |step| step.from).to_owned();
        for (index, step) in last.iter().enumerate() {
            if index > 0 {
                let _ = write!(line, " ({:.0?})", Duration::from_secs_f64(step.after.max(0.0)));
            }
            let _ = write!(line, " -{}-> {}", step.event, step.to);
        }
        line
    }
}

/// Seconds since the epoch.
pub fn seconds(at: SystemTime) -> f64 {
    at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

impl FlightRecorder {
    /// Every machine in its first state, since `now`.
    pub fn new(now: SystemTime) -> Self {
        let track = |(machine, _, state)| {
            Mutex::new(Track { machine, state, since: Instant::now(), entered: now, steps: VecDeque::new() })
        };
        Self { tracks: labels::machine_states().into_iter().map(track).collect() }
    }

    fn track(&self, machine: &str) -> Option<MutexGuard<'_, Track>> {
        self.tracks
            .iter()
            .map(|track| track.lock().unwrap_or_else(PoisonError::into_inner))
            .find(|track| track.machine == machine)
    }

    /// A new incarnation of a machine starts in this state: not one of its transitions.
    pub fn started(&self, machine: &str, state: &'static str, now: SystemTime) {
        if let Some(mut track) = self.track(machine) {
            (track.state, track.since, track.entered) = (state, Instant::now(), now);
        }
    }

    /// A transition. Gives how long the state that was left had lasted; `None` for a machine of which there are many.
    pub fn moved(
        &self,
        machine: &str,
        from: &'static str,
        to: &'static str,
        event: String,
        now: SystemTime,
    ) -> Option<Duration> {
        let mut track = self.track(machine)?;
        let after = track.since.elapsed();
        if track.steps.len() >= FLIGHT_RECORD_MAX {
            track.steps.pop_front();
        }
        track.steps.push_back(Step { at: seconds(now), from, to, event, after: after.as_secs_f64() });
        (track.state, track.since, track.entered) = (to, Instant::now(), now);
        Some(after)
    }

    /// Every machine's state, and since when.
    pub fn states(&self) -> Vec<(&'static str, &'static str, SystemTime)> {
        let lock = |track: &Mutex<Track>| {
            let track = track.lock().unwrap_or_else(PoisonError::into_inner);
            (track.machine, track.state, track.entered)
        };
        self.tracks.iter().map(lock).collect()
    }

    /// What every machine did last.
    pub fn timelines(&self) -> Vec<Timeline> {
        let copy = |track: &Mutex<Track>| {
            let track = track.lock().unwrap_or_else(PoisonError::into_inner);
            let steps = track.steps.iter().cloned().collect();
            Timeline { machine: track.machine, state: track.state, since: seconds(track.entered), steps }
        };
        self.tracks.iter().map(copy).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_keeps_the_last_transitions_and_how_long_each_state_lasted() {
        let start = SystemTime::UNIX_EPOCH;
        let flight = FlightRecorder::new(start);
        for turn in 0..FLIGHT_RECORD_MAX {
            tokio::time::advance(Duration::from_secs(2)).await;
            let now = start + Duration::from_secs(turn as u64);
            let (from, to) = if turn % 2 == 0 { ("idle", "seeking") } else { ("seeking", "idle") };
            let lasted = flight.moved("bridge", from, to, "Wanted".into(), now);
            assert_eq!(lasted, Some(Duration::from_secs(2)));
        }
        assert_eq!(flight.moved("call", "held", "sent", "Claimed".into(), start), None);
        flight.moved("bridge", "idle", "stopped", "StopRequested".into(), start);
        let timeline = flight.timelines().into_iter().find(|timeline| timeline.machine == "bridge").unwrap();
        assert_eq!((timeline.steps.len(), timeline.state), (FLIGHT_RECORD_MAX, "stopped"));
        assert_eq!(timeline.line(2), "seeking -Wanted-> idle (0ns) -StopRequested-> stopped");
    }

    #[test]
    fn a_machine_that_did_nothing_says_its_state() {
        let timelines = FlightRecorder::new(SystemTime::UNIX_EPOCH).timelines();
        assert_eq!(timelines.len(), labels::machine_states().len());
        assert!(timelines.iter().all(|timeline| timeline.line(9) == timeline.state));
    }
}
