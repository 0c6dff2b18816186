//! A session as a picture of lanes, moments and bars. This module has only the values; [`text`] draws them on a terminal and
//! [`svg`] on a page.
//!
//! * A [`Lane`] is a participant (client, gateway, Unity) with the [`Phase`]s of its life.
//! * A [`Moment`] is an event at one time: within one lane, or from one lane to another.
//! * A [`Call`] is a bar: when the call was held, when it ran, and how it ended.

pub mod svg;
pub mod text;

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Everything that is drawn. Times count from the start of the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// The participants, from left to right (or from top to bottom).
    pub lanes: Vec<Lane>,
    /// The events, in the order of time.
    pub moments: Vec<Moment>,
    /// The calls, in the order in which they were made.
    pub calls: Vec<Call>,
}

/// One participant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// The participant's name, up to about ten characters.
    pub name: String,
    /// The start of each phase, in the order of time. Before the first one the participant does not exist.
    pub phases: Vec<(Duration, Phase)>,
}

/// The state of a lane for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The process does not exist.
    Gone,
    /// The process works.
    Up,
    /// The process lives but is not reachable: a domain reload.
    Reloading,
    /// The process accepts connections but does not answer.
    Frozen,
}

/// An event at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The time of the event.
    pub at: Duration,
    /// The index of the lane where the event begins.
    pub from: usize,
    /// The index of the lane where the event ends; equal to `from` for an event within a lane.
    pub to: usize,
    /// What the event means for the waiting user.
    pub tone: Tone,
    /// The event in words.
    pub text: String,
    /// A measured time, if the picture should show one in a separate column.
    pub measured: Option<Duration>,
}

/// What a moment means, from harmless to worst.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// Neutral.
    #[default]
    Plain,
    /// As desired.
    Good,
    /// Someone has to wait.
    Waiting,
    /// The outcome cannot be known.
    Unsure,
    /// A problem that the gateway did not cause.
    Trouble,
    /// A broken promise.
    Broken,
}

/// One call as a bar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The call's name in the picture.
    pub name: String,
    /// When the call was made.
    pub asked: Duration,
    /// When the call was sent to the editor; `None` if it was not sent.
    pub sent: Option<Duration>,
    /// When and how the call ended; `None` if it has not ended.
    pub end: Option<(Duration, Verdict)>,
}

/// How a call ended; the same verdicts as in the gateway's answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The editor's own answer.
    Ok,
    /// The editor's own answer, which says that the tool failed.
    ToolError,
    /// The call did not run.
    NotExecuted,
    /// The call may have run, and no answer can come.
    OutcomeUnknown,
    /// The call was sent, and the client's patience ended before the editor answered.
    StillRunning,
    /// The client cancelled the call. There is no answer.
    Cancelled,
    /// A bug of the gateway.
    Internal,
}

impl Verdict {
    /// Returns the verdict's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ToolError => "tool error",
            Self::NotExecuted => "not executed",
            Self::OutcomeUnknown => "outcome unknown",
            Self::StillRunning => "still running",
            Self::Cancelled => "cancelled",
            Self::Internal => "internal",
        }
    }

    /// Returns what the verdict means for the caller.
    pub fn tone(self) -> Tone {
        match self {
            Self::Ok => Tone::Good,
            Self::ToolError | Self::NotExecuted => Tone::Trouble,
            Self::OutcomeUnknown => Tone::Unsure,
            Self::StillRunning => Tone::Waiting,
            Self::Cancelled => Tone::Plain,
            Self::Internal => Tone::Broken,
        }
    }
}

impl Lane {
    /// Creates a lane whose process does not exist yet.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), phases: Vec::new() }
    }

    /// Adds a phase that begins at `at`.
    pub fn enters(&mut self, at: Duration, phase: Phase) {
        self.phases.push((at, phase));
    }

    /// Returns the lane's phase at a time.
    pub fn phase(&self, at: Duration) -> Phase {
        self.phases.iter().rev().find(|(since, _)| *since <= at).map_or(Phase::Gone, |(_, phase)| *phase)
    }

    /// Returns the lane's last phase.
    pub fn last_phase(&self) -> Phase {
        self.phases.last().map_or(Phase::Gone, |(_, phase)| *phase)
    }
}

impl Timeline {
    /// Creates a timeline with these lanes and no events.
    pub fn new<'n>(lanes: impl IntoIterator<Item = &'n str>) -> Self {
        Self { lanes: lanes.into_iter().map(Lane::new).collect(), ..Self::default() }
    }

    /// Adds a phase to a lane; an unknown lane is ignored.
    pub fn enters(&mut self, lane: usize, at: Duration, phase: Phase) {
        if let Some(lane) = self.lanes.get_mut(lane) {
            lane.enters(at, phase);
        }
    }

    /// Returns the time of the last event, call or phase.
    pub fn end(&self) -> Duration {
        let moments = self.moments.iter().map(|moment| moment.at);
        let calls = self.calls.iter().map(|call| call.end.map_or(call.sent.unwrap_or(call.asked), |(at, _)| at));
        let phases = self.lanes.iter().flat_map(|lane| lane.phases.iter().map(|(at, _)| *at));
        moments.chain(calls).chain(phases).max().unwrap_or_default()
    }
}
