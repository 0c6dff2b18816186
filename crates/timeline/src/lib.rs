//! A session as a picture: lanes, moments, bars. Values only; [`text`] draws them on a terminal and [`svg`] on a page.
//!
//! * A [`Lane`] is one who takes part (client, gateway, Unity), with the [`Phase`]s of its life.
//! * A [`Moment`] is something seen at one time: within one lane, or passing from one to another.
//! * A [`Call`] is a bar: when it was held, when it ran, and how it ended.

pub mod svg;
pub mod text;

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Everything there is to draw. Times count from the start of the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// Who takes part, from left to right (or from top to bottom).
    pub lanes: Vec<Lane>,
    /// What was seen, in the order of time.
    pub moments: Vec<Moment>,
    /// The calls, in the order in which they were made.
    pub calls: Vec<Call>,
}

/// One who takes part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// Its name, at most ten characters or so.
    pub name: String,
    /// Since when it is in which phase, in the order of time; before the first one it does not exist.
    pub phases: Vec<(Duration, Phase)>,
}

/// What a lane does for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// There is no such process.
    Gone,
    /// It works.
    Up,
    /// It lives, and is not reachable: a domain reload.
    Reloading,
    /// It accepts connections and does not answer.
    Frozen,
}

/// Something seen at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// When.
    pub at: Duration,
    /// Index of the lane where it begins.
    pub from: usize,
    /// Index of the lane where it ends; the same for what happens within a lane.
    pub to: usize,
    /// What it means for whoever waits.
    pub tone: Tone,
    /// In words.
    pub text: String,
    /// A time that was measured, if it is worth a column of its own.
    pub measured: Option<Duration>,
}

/// What a moment means; the worse, the greater.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// It happened.
    #[default]
    Plain,
    /// As one hopes.
    Good,
    /// Somebody waits.
    Waiting,
    /// Nobody can know.
    Unsure,
    /// Trouble from outside.
    Trouble,
    /// A broken promise.
    Broken,
}

/// One call as a bar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// What it is called in the picture.
    pub name: String,
    /// When it was made.
    pub asked: Duration,
    /// When it was sent on; `None`: never.
    pub sent: Option<Duration>,
    /// When and how it ended; `None`: not yet.
    pub end: Option<(Duration, Verdict)>,
}

/// How a call ended, in the words of the gateway's answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The editor's own answer.
    Ok,
    /// The editor's own answer: the tool failed.
    ToolError,
    /// Nothing of it left the gateway.
    NotExecuted,
    /// It may have run; no answer can come.
    OutcomeUnknown,
    /// Sent, and the client's patience ended before the editor.
    StillRunning,
    /// By the client; there is no answer.
    Cancelled,
    /// A bug of the gateway.
    Internal,
}

impl Verdict {
    /// The word for it.
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

    /// What it means for whoever asked.
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
    /// A lane that does not exist yet.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), phases: Vec::new() }
    }

    /// It is in this phase from now on.
    pub fn enters(&mut self, at: Duration, phase: Phase) {
        self.phases.push((at, phase));
    }

    /// Its phase at a time.
    pub fn phase(&self, at: Duration) -> Phase {
        self.phases.iter().rev().find(|(since, _)| *since <= at).map_or(Phase::Gone, |(_, phase)| *phase)
    }

    /// Its last phase.
    pub fn last_phase(&self) -> Phase {
        self.phases.last().map_or(Phase::Gone, |(_, phase)| *phase)
    }
}

impl Timeline {
    /// A picture of these lanes in which nothing has happened.
    pub fn new<'n>(lanes: impl IntoIterator<Item = &'n str>) -> Self {
        Self { lanes: lanes.into_iter().map(Lane::new).collect(), ..Self::default() }
    }

    /// A lane enters a phase; a lane that is not there is ignored.
    pub fn enters(&mut self, lane: usize, at: Duration, phase: Phase) {
        if let Some(lane) = self.lanes.get_mut(lane) {
            lane.enters(at, phase);
        }
    }

    /// The time of the last thing in it.
    pub fn end(&self) -> Duration {
        let moments = self.moments.iter().map(|moment| moment.at);
        let calls = self.calls.iter().map(|call| call.end.map_or(call.sent.unwrap_or(call.asked), |(at, _)| at));
        let phases = self.lanes.iter().flat_map(|lane| lane.phases.iter().map(|(at, _)| *at));
        moments.chain(calls).chain(phases).max().unwrap_or_default()
    }
}
