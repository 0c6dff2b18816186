//! Calls that the editor runs as jobs. Its answer to such a call only names the job. The job is asked for until it has ended: on this
//! connection, or, if the editor still has it then, on the next one.
//!
//! If that first answer is lost, nobody knows the name of the job, which may run: the call is lost with the connection, like any
//! other.

use std::collections::BTreeMap;

use tokio::time::Instant;

use super::types::{After, Settled};
use crate::fsm::cause::Loss;
use crate::limits::{JOB_ASKED_MAX, JOB_ASKED_MIN, OUTCOMES_ASKED_EVERY};
use crate::protocol::dialect::{JobProgress, JournalOutcome};
use crate::protocol::ids::CallId;

/// A job is asked for again after this share of the time for which it has run.
const SHARE: u32 = 4;

/// The jobs of one connection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Jobs {
    jobs: BTreeMap<CallId, Job>,
    /// Whether a question for outcomes names one attempt only.
    pub are_asked_alone: bool,
    /// Whether a job of an earlier connection was still running when it was last asked for.
    pub(super) run_from_before: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Job {
    after: After,
    /// When the editor said that it runs it.
    since: Instant,
    /// What it last said of the job's progress, and when that was new. The progress is kept as a text, because it has fractions.
    moved: Option<(String, Instant)>,
}

/// What the editor says of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// It waits or runs.
    Runs,
    /// It has ended, and its answer is known.
    Ended,
    /// It is gone, or did not run. What is known of it is looked up as after this loss.
    Lost(Loss),
}

/// What follows from what the editor says of a job.
#[derive(Debug)]
pub enum JobStep {
    /// The job goes on.
    GoesOn,
    /// The call is to be given its answer ([`Exchange::answered`](super::Exchange::answered)).
    Ended(After),
    /// The call is looked for now, and what the editor says is to be applied to it ([`Learned::tell`](super::Learned::tell)).
    Lost(Settled),
}

impl From<&JournalOutcome> for JobState {
    fn from(told: &JournalOutcome) -> Self {
        match told {
            JournalOutcome::Running | JournalOutcome::NotYet => Self::Runs,
            JournalOutcome::Ended(_) | JournalOutcome::EndedUnkept(_) | JournalOutcome::Unreadable => Self::Ended,
            JournalOutcome::GivenUp => Self::Lost(Loss::GivenUp),
            JournalOutcome::Interrupted => Self::Lost(Loss::Interrupted),
            JournalOutcome::NotRun { .. } | JournalOutcome::Forgotten => Self::Lost(Loss::Forgotten),
        }
    }
}

impl Jobs {
    /// Whether none runs on this connection.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &CallId> {
        self.jobs.keys()
    }

    /// The editor runs this call as a job from now on.
    pub(super) fn begins(&mut self, call: CallId, after: After, now: Instant) {
        self.jobs.insert(call, Job { after, since: now, moved: None });
    }

    /// Notes that a job runs. Returns whether it is one of this connection.
    pub(super) fn runs(&mut self, call: CallId) -> bool {
        let is_here = self.jobs.contains_key(&call);
        self.run_from_before |= !is_here;
        is_here
    }

    /// Notes how far a job is. Returns whether that is new.
    pub(super) fn progressed(&mut self, call: CallId, progress: &JobProgress, now: Instant) -> bool {
        let Some(job) = self.jobs.get_mut(&call) else { return false };
        let said = format!("{progress:?}");
        let is_new = job.moved.as_ref().is_none_or(|(before, _)| *before != said);
        if is_new {
            job.moved = Some((said, now));
        }
        is_new
    }

    /// When a job was last seen to make progress; `None` if it never was.
    pub(super) fn moved(&self, call: CallId) -> Option<Instant> {
        Some(self.jobs.get(&call)?.moved.as_ref()?.1)
    }

    /// Removes a job that has ended or is lost; `None` if it is not one of this connection.
    pub(super) fn over(&mut self, call: CallId) -> Option<After> {
        self.jobs.remove(&call).map(|job| job.after)
    }

    /// When outcomes are to be asked for again, if they were asked for last at this time.
    pub fn asks_again(&self, asked: Instant) -> Instant {
        let again = |since: Instant| {
            let ran = asked.saturating_duration_since(since);
            since.max(asked) + (ran / SHARE).clamp(JOB_ASKED_MIN, JOB_ASKED_MAX)
        };
        let here = self.jobs.values().map(|job| again(job.since));
        let before = self.run_from_before.then(|| asked + JOB_ASKED_MAX);
        here.chain(before).min().unwrap_or(asked + OUTCOMES_ASKED_EVERY)
    }
}
