//! The flight recorder: what each machine did last, in memory, for whoever asks. The log after a broken promise, the status page
//! and `status --watch` read the same record in the same form.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tokio::sync::watch;
use tokio::time::Instant;

use super::metrics::labels;
use super::tone::Tone;
use crate::limits::{FLIGHT_RECORD_MAX, PICTURE_WINDOW};

/// The machines' last transitions.
#[derive(Debug)]
pub struct FlightRecorder {
    tracks: Vec<Mutex<Track>>,
    moves: watch::Sender<()>,
    began: Instant,
}

#[derive(Debug)]
struct Track {
    machine: &'static str,
    state: &'static str,
    since: Instant,
    entered: SystemTime,
    steps: VecDeque<Step>,
    /// The seconds in which something happened, and what it ended in; the oldest may lie before the window.
    turns: VecDeque<Turn>,
}

/// A second in which a machine changed its state.
#[derive(Debug, Clone, Copy)]
struct Turn {
    /// Which one, since the recorder began.
    second: u64,
    /// The worst in it.
    worst: Tone,
    /// What it ended in.
    last: Tone,
}

impl Track {
    fn tone(&self) -> Tone {
        tone(self.machine, self.state).unwrap_or_default()
    }

    /// It entered its present state in this second.
    fn turned(&mut self, second: u64) {
        let last = self.tone();
        let oldest = second.saturating_sub(PICTURE_WINDOW.as_secs());
        // The one before the window says in what the window begins.
        while self.turns.get(1).is_some_and(|next| next.second <= oldest) {
            self.turns.pop_front();
        }
        let before = self.turns.back().map(|turn| turn.last);
        match self.turns.back_mut().filter(|turn| turn.second >= second) {
            Some(turn) => (turn.worst, turn.last) = (turn.worst.max(last), last),
            None => self.turns.push_back(Turn { second, worst: before.unwrap_or(last).max(last), last }),
        }
    }

    /// See [`Timeline::strip`].
    fn strip(&self, present: u64) -> String {
        let seconds = (0..PICTURE_WINDOW.as_secs()).rev().map(|back| present.checked_sub(back));
        seconds.map(|second| second.and_then(|second| self.during(second)).map_or(' ', Tone::letter)).collect()
    }

    /// The worst that it was in during a second.
    fn during(&self, second: u64) -> Option<Tone> {
        let begun = self.turns.partition_point(|turn| turn.second <= second);
        let turn = self.turns.get(begun.checked_sub(1)?)?;
        Some(if turn.second == second { turn.worst } else { turn.last })
    }
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
    /// What its state means for whoever waits.
    pub tone: Tone,
    /// The worst that it was in during each second of the window, the present one last, as [`Tone::letter`]; a space where it
    /// did not exist yet. However often a machine turns (a dial loop does so twenty times a second), this tells of all of it.
    pub strip: String,
}

/// What a machine's state means for whoever waits: one colour per meaning, wherever it is drawn.
fn tone(machine: &str, state: &str) -> Option<Tone> {
    Some(match (machine, state) {
        ("bridge", "ready")
        | ("discovery", "offering")
        | ("push", "listening" | "attached")
        | ("registry", "live")
        | ("session", "serving") => Tone::Good,
        ("bridge", "seeking" | "dialing" | "greeting" | "backing_off" | "leaving" | "parting" | "draining")
        | ("discovery", "scanning" | "watching")
        | ("push", "binding")
        | ("registry", "cached" | "refreshing" | "stale")
        | ("session", "waiting_for_tools" | "draining") => Tone::Waiting,
        ("bridge", "stalled") | ("discovery", "stuck") => Tone::Trouble,
        ("bridge", "idle" | "stopped")
        | ("discovery", "idle" | "stopped")
        | ("push", "closed" | "stopped")
        | ("registry", "empty")
        | ("session", "awaiting_open" | "closed") => Tone::Plain,
        _ => return None,
    })
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
        let began = Instant::now();
        let track = |(machine, _, state)| {
            let (steps, turns) = (VecDeque::new(), VecDeque::new());
            let mut track = Track { machine, state, since: began, entered: now, steps, turns };
            track.turned(0);
            Mutex::new(track)
        };
        Self {
            tracks: labels::machine_states().into_iter().map(track).collect(),
            moves: watch::Sender::default(),
            began,
        }
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
            track.turned(self.began.elapsed().as_secs());
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
        track.turned(self.began.elapsed().as_secs());
        drop(track);
        self.moves.send_modify(|_| ());
        Some(after)
    }

    /// Hears of every transition.
    pub fn subscribe(&self) -> watch::Receiver<()> {
        self.moves.subscribe()
    }

    /// Every machine's state, and since when.
    pub fn states(&self) -> Vec<(&'static str, &'static str, SystemTime)> {
        let lock = |track: &Mutex<Track>| {
            let track = track.lock().unwrap_or_else(PoisonError::into_inner);
            (track.machine, track.state, track.entered)
        };
        self.tracks.iter().map(lock).collect()
    }

    /// What every machine did within the last `window` before `now`; at most `most` transitions of each, the newest.
    pub fn timelines(&self, window: Duration, most: usize, now: SystemTime) -> Vec<Timeline> {
        let from = seconds(now) - window.as_secs_f64();
        let second = self.began.elapsed().as_secs();
        let copy = |track: &Mutex<Track>| {
            let track = track.lock().unwrap_or_else(PoisonError::into_inner);
            let left_out = track.steps.len().saturating_sub(most);
            let steps = track.steps.iter().skip(left_out).filter(|step| step.at >= from).cloned().collect();
            let strip = track.strip(second);
            Timeline {
                machine: track.machine,
                state: track.state,
                tone: track.tone(),
                since: seconds(track.entered),
                steps,
                strip,
            }
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
        let all = |window| flight.timelines(window, FLIGHT_RECORD_MAX, start + Duration::from_secs(300));
        let timeline = all(Duration::MAX).into_iter().find(|timeline| timeline.machine == "bridge").unwrap();
        assert_eq!((timeline.steps.len(), timeline.state), (FLIGHT_RECORD_MAX, "stopped"));
        // The last turns, at 250 s and later; the step at the start of all time is long over.
        let recent = all(Duration::from_secs(50)).remove(0);
        assert_eq!(recent.steps.len(), FLIGHT_RECORD_MAX - 250);
        let few = flight.timelines(Duration::MAX, 3, start).remove(0);
        assert_eq!(few.steps, timeline.steps[FLIGHT_RECORD_MAX - 3..]);
        assert_eq!(timeline.line(2), "seeking -Wanted-> idle (0ns) -StopRequested-> stopped");
    }

    #[tokio::test(start_paused = true)]
    async fn a_strip_tells_of_each_second_however_often_a_machine_turns() {
        let start = SystemTime::UNIX_EPOCH;
        let flight = FlightRecorder::new(start);
        let strip = || flight.timelines(PICTURE_WINDOW, 1, start).remove(0).strip;
        let turn = |from, to| {
            flight.moved("bridge", from, to, "E".into(), start);
        };
        let pass = |millis| tokio::time::advance(Duration::from_millis(millis));
        assert_eq!(strip(), format!("{:>120}", "-"));
        pass(2500).await;
        turn("idle", "dialing");
        turn("dialing", "ready");
        pass(2000).await;
        assert_eq!(strip().trim_start(), "--WGG");
        // Far more turns than are kept of them.
        for _ in 0..600 {
            turn("ready", "stalled");
            pass(5).await;
            turn("stalled", "ready");
            pass(5).await;
        }
        pass(2500).await;
        assert_eq!(strip().trim_start(), "--WGTTTTTTTGGG");
        pass(110_000).await;
        assert_eq!(strip(), format!("TTTTTTT{}", "G".repeat(113)), "what lies before the window is forgotten");
        pass(200_000).await;
        turn("ready", "stalled");
        assert_eq!(strip(), format!("{}T", "G".repeat(119)));
        assert!(flight.track("bridge").unwrap().turns.len() <= 2, "and not kept");
        assert!(strip().chars().all(|letter| Tone::of_letter(letter).is_some()));
    }

    #[test]
    fn every_state_of_every_machine_has_a_meaning() {
        for (machine, states, _) in labels::machine_states() {
            for state in states {
                assert!(tone(machine, state).is_some(), "{machine} {state}");
            }
        }
    }

    #[test]
    fn a_machine_that_did_nothing_says_its_state() {
        let start = SystemTime::UNIX_EPOCH;
        let timelines = FlightRecorder::new(start).timelines(Duration::MAX, FLIGHT_RECORD_MAX, start);
        assert_eq!(timelines.len(), labels::machine_states().len());
        assert!(timelines.iter().all(|timeline| timeline.line(9) == timeline.state));
    }
}
