//! The flight recorder keeps the last steps of each machine in memory. The log after a broken promise or a supervisor's
//! escalation, the status page and `status --watch` all read this record.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::Instant;

use super::metrics::labels;
use super::tone::Tone;
use crate::limits::{FLIGHT_RECORD_MAX, PICTURE_WINDOW};

/// The last transitions of the machines.
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
    /// The seconds in which the state changed, with the tones in each. The oldest one may be before the window.
    turns: VecDeque<Turn>,
}

/// A second in which a machine changed its state.
#[derive(Debug, Clone, Copy)]
struct Turn {
    /// The number of the second since the recorder began.
    second: u64,
    /// The worst tone in this second; the tone at its start counts too.
    worst: Tone,
    /// The tone at the end of this second.
    last: Tone,
}

impl Track {
    fn tone(&self) -> Tone {
        tone(self.machine, self.state).unwrap_or_default()
    }

    /// Records that the machine entered its current state in this second.
    fn turned(&mut self, second: u64) {
        let last = self.tone();
        let oldest = second.saturating_sub(PICTURE_WINDOW.as_secs());
        // The last change before the window is kept, because it gives the tone at the window's start.
        while self.turns.get(1).is_some_and(|next| next.second <= oldest) {
            self.turns.pop_front();
        }
        let before = self.turns.back().map(|turn| turn.last);
        match self.turns.back_mut().filter(|turn| turn.second >= second) {
            Some(turn) => (turn.worst, turn.last) = (turn.worst.max(last), last),
            None => self.turns.push_back(Turn { second, worst: before.unwrap_or(last).max(last), last }),
        }
    }

    /// Returns the text for [`Timeline::sparkline`]. `present`: the number of the current second.
    fn sparkline(&self, present: u64) -> String {
        let seconds = (0..PICTURE_WINDOW.as_secs()).rev().map(|back| present.checked_sub(back));
        seconds.map(|second| second.and_then(|second| self.during(second)).map_or(' ', Tone::letter)).collect()
    }

    /// Returns the worst tone during a second; `None` before the machine existed.
    fn during(&self, second: u64) -> Option<Tone> {
        let begun = self.turns.partition_point(|turn| turn.second <= second);
        let turn = self.turns.get(begun.checked_sub(1)?)?;
        Some(if turn.second == second { turn.worst } else { turn.last })
    }
}

/// One transition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Step {
    /// The time, in seconds since the Unix epoch.
    pub at: f64,
    /// The state that was left.
    pub from: Cow<'static, str>,
    /// The state that was entered.
    pub to: Cow<'static, str>,
    /// The name of the event, without its data.
    pub event: String,
    /// How long the machine had been in the state that was left, in seconds.
    pub after: f64,
}

/// The recent history of one machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Timeline {
    /// The name of the machine.
    pub machine: Cow<'static, str>,
    /// The current state.
    pub state: Cow<'static, str>,
    /// When the machine entered this state, in seconds since the Unix epoch.
    pub since: f64,
    /// The last transitions, oldest first; at most [`FLIGHT_RECORD_MAX`].
    pub steps: Vec<Step>,
    /// The meaning of the current state for a person who waits.
    pub tone: Tone,
    /// The worst tone during each second of the window as [`Tone::letter`], the current second last; a space where the
    /// machine did not exist yet. The sparkline always covers the whole window, however often a machine changes its
    /// state (in a dial loop, twenty times a second).
    #[serde(rename = "strip")]
    pub sparkline: String,
}

/// Returns the meaning of a machine's state for a person who waits; `None` for an unknown machine or state. It decides
/// the colour wherever the state is drawn.
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
    /// Returns the last `count` transitions in one line: `idle -Wanted-> seeking (12ms) -TargetsOffered-> dialing`. The
    /// time in parentheses is how long the state lasted.
    pub fn line(&self, count: usize) -> String {
        let last = self.steps.get(self.steps.len().saturating_sub(count)..).unwrap_or_default();
        let mut line = last.first().map_or(&self.state, |step| &step.from).to_string();
        for (index, step) in last.iter().enumerate() {
            if index > 0 {
                let _ = write!(line, " ({:.0?})", Duration::from_secs_f64(step.after.max(0.0)));
            }
            let _ = write!(line, " -{}-> {}", step.event, step.to);
        }
        line
    }
}

/// Converts a time into seconds since the Unix epoch.
pub fn seconds(at: SystemTime) -> f64 {
    at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

impl FlightRecorder {
    /// Returns a recorder in which every machine is in its first state since `now`.
    pub fn new(now: SystemTime) -> Self {
        Self::of(now, watch::Sender::default())
    }

    /// Returns a recorder like [`new`](Self::new), whose transitions are also notified to this recorder's receivers.
    #[must_use]
    pub fn another(&self, now: SystemTime) -> Self {
        Self::of(now, self.moves.clone())
    }

    fn of(now: SystemTime, moves: watch::Sender<()>) -> Self {
        let began = Instant::now();
        let track = |(machine, _, state)| {
            let (steps, turns) = (VecDeque::new(), VecDeque::new());
            let mut track = Track { machine, state, since: began, entered: now, steps, turns };
            track.turned(0);
            Mutex::new(track)
        };
        Self { tracks: labels::machine_states().into_iter().map(track).collect(), moves, began }
    }

    fn track(&self, machine: &str) -> Option<MutexGuard<'_, Track>> {
        self.tracks
            .iter()
            .map(|track| track.lock().unwrap_or_else(PoisonError::into_inner))
            .find(|track| track.machine == machine)
    }

    /// Records that a new instance of a machine started in this state. That is not a transition.
    pub fn started(&self, machine: &str, state: &'static str, now: SystemTime) {
        if let Some(mut track) = self.track(machine) {
            (track.state, track.since, track.entered) = (state, Instant::now(), now);
            track.turned(self.began.elapsed().as_secs());
        }
    }

    /// Records a transition. Transitions of calls and supervisors are not kept.
    pub fn moved(&self, machine: &str, from: &'static str, to: &'static str, event: String, now: SystemTime) {
        let Some(mut track) = self.track(machine) else { return };
        let after = track.since.elapsed();
        if track.steps.len() >= FLIGHT_RECORD_MAX {
            track.steps.pop_front();
        }
        track.steps.push_back(Step {
            at: seconds(now),
            from: from.into(),
            to: to.into(),
            event,
            after: after.as_secs_f64(),
        });
        (track.state, track.since, track.entered) = (to, Instant::now(), now);
        track.turned(self.began.elapsed().as_secs());
        drop(track);
        self.moves.send_modify(|_| ());
    }

    /// Returns a receiver that is notified of every transition.
    pub fn subscribe(&self) -> watch::Receiver<()> {
        self.moves.subscribe()
    }

    /// Returns each machine's name and its state.
    pub fn states(&self) -> Vec<(&'static str, &'static str)> {
        let lock = |track: &Mutex<Track>| {
            let track = track.lock().unwrap_or_else(PoisonError::into_inner);
            (track.machine, track.state)
        };
        self.tracks.iter().map(lock).collect()
    }

    /// Returns what every machine did within the last `window` before `now`, with at most the `most` newest transitions
    /// of each.
    pub fn timelines(&self, window: Duration, most: usize, now: SystemTime) -> Vec<Timeline> {
        let from = seconds(now) - window.as_secs_f64();
        let second = self.began.elapsed().as_secs();
        let copy = |track: &Mutex<Track>| {
            let track = track.lock().unwrap_or_else(PoisonError::into_inner);
            let left_out = track.steps.len().saturating_sub(most);
            let steps = track.steps.iter().skip(left_out).filter(|step| step.at >= from).cloned().collect();
            let sparkline = track.sparkline(second);
            Timeline {
                machine: track.machine.into(),
                state: track.state.into(),
                tone: track.tone(),
                since: seconds(track.entered),
                steps,
                sparkline,
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
            flight.moved("bridge", from, to, "Wanted".into(), now);
        }
        flight.moved("call", "held", "sent", "Claimed".into(), start);
        flight.moved("bridge", "idle", "stopped", "StopRequested".into(), start);
        let all = |window| flight.timelines(window, FLIGHT_RECORD_MAX, start + Duration::from_secs(300));
        assert!(all(Duration::MAX).iter().all(|timeline| timeline.machine != "call"));
        let timeline = all(Duration::MAX).into_iter().find(|timeline| timeline.machine == "bridge").unwrap();
        assert!(timeline.steps.iter().rev().skip(1).all(|step| step.after == 2.0), "{timeline:?}");
        assert_eq!((timeline.steps.len(), &*timeline.state), (FLIGHT_RECORD_MAX, "stopped"));
        // The last transitions began at 250 s or later. The very last one has a timestamp at the Unix epoch, which is outside the
        // window.
        let recent = all(Duration::from_secs(50)).remove(0);
        assert_eq!(recent.steps.len(), FLIGHT_RECORD_MAX - 250);
        let few = flight.timelines(Duration::MAX, 3, start).remove(0);
        assert_eq!(few.steps, timeline.steps[FLIGHT_RECORD_MAX - 3..]);
        assert_eq!(timeline.line(2), "seeking -Wanted-> idle (0ns) -StopRequested-> stopped");
    }

    #[tokio::test(start_paused = true)]
    async fn a_sparkline_tells_of_each_second_however_often_a_machine_turns() {
        let start = SystemTime::UNIX_EPOCH;
        let flight = FlightRecorder::new(start);
        let sparkline = || flight.timelines(PICTURE_WINDOW, 1, start).remove(0).sparkline;
        let turn = |from, to| {
            flight.moved("bridge", from, to, "E".into(), start);
        };
        let pass = |millis| tokio::time::advance(Duration::from_millis(millis));
        assert_eq!(sparkline(), format!("{:>120}", "-"));
        pass(2500).await;
        turn("idle", "dialing");
        turn("dialing", "ready");
        pass(2000).await;
        assert_eq!(sparkline().trim_start(), "--WGG");
        // There are far more transitions than the record keeps.
        for _ in 0..600 {
            turn("ready", "stalled");
            pass(5).await;
            turn("stalled", "ready");
            pass(5).await;
        }
        pass(2500).await;
        assert_eq!(sparkline().trim_start(), "--WGTTTTTTTGGG");
        pass(110_000).await;
        assert_eq!(sparkline(), format!("TTTTTTT{}", "G".repeat(113)), "what lies before the window is forgotten");
        pass(200_000).await;
        turn("ready", "stalled");
        assert_eq!(sparkline(), format!("{}T", "G".repeat(119)));
        assert!(flight.track("bridge").unwrap().turns.len() <= 2, "and not kept");
        assert!(sparkline().chars().all(|letter| Tone::of_letter(letter).is_some()));
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
