//! Calls that the editor runs as jobs. Its answer to such a call only names the job. The job is asked for until it has ended: on this
//! connection, or, if the editor still has it then, on the next one.
//!
//! If that first answer is lost, nobody knows the name of the job, which may run: the call is lost with the connection, like any
//! other.

use std::collections::BTreeMap;

use tokio::time::Instant;

use super::{After, Exchange, Settled};
use crate::core::calls::{Ledger, Settlement};
use crate::fsm::cause::Loss;
use crate::limits::{JOB_ASKED_MAX, JOB_ASKED_MIN, OUTCOMES_ASKED_EVERY};
use crate::protocol::dialect::{JournalKey, JournalOutcome};
use crate::protocol::ids::CallId;

/// A job is asked for again after this share of the time for which it has run.
const SHARE: u32 = 4;

/// The jobs of one connection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Jobs {
    jobs: BTreeMap<CallId, Job>,
    /// Whether a question for outcomes names one attempt only.
    pub(super) are_asked_alone: bool,
    /// Whether a job of an earlier connection was still running when it was last asked for.
    pub(super) run_from_before: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Job {
    after: After,
    /// When the editor said that it runs it.
    since: Instant,
}

/// What the editor says of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// It waits or runs.
    Runs,
    /// It has ended, and its answer is known.
    Ended,
    /// It is gone, or did not run.
    Lost,
}

/// What follows from what the editor says of a job.
#[derive(Debug)]
pub enum JobStep {
    /// The job goes on.
    GoesOn,
    /// The call is to be given its answer ([`Exchange::answered`]).
    Ended(After),
    /// The call is looked for now, and what the editor says is to be applied to it ([`outcome`](super::outcome)).
    Lost(Settled),
}

impl From<&JournalOutcome> for JobState {
    fn from(told: &JournalOutcome) -> Self {
        match told {
            JournalOutcome::Running => Self::Runs,
            JournalOutcome::Ended(_) | JournalOutcome::EndedUnkept(_) | JournalOutcome::Unreadable => Self::Ended,
            JournalOutcome::NotRun { .. } | JournalOutcome::Interrupted | JournalOutcome::Forgotten => Self::Lost,
        }
    }
}

impl Jobs {
    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &CallId> {
        self.jobs.keys()
    }
}

impl Exchange {
    /// The editor runs calls as jobs, and is asked for one at a time.
    pub fn asks_for_jobs(&mut self) {
        self.jobs.are_asked_alone = true;
    }

    /// Whether the editor runs a call as a job on this connection.
    pub fn has_jobs(&self) -> bool {
        self.jobs.len() > 0
    }

    /// Handles the reply that the editor runs a call as a job, which has this key.
    pub fn submitted(
        &mut self,
        (call, after): (CallId, After),
        key: JournalKey,
        ledger: &mut Ledger,
        now: Instant,
    ) -> Vec<Settlement> {
        self.jobs.jobs.insert(call, Job { after, since: now });
        ledger.submitted(call, self.epoch, key, now)
    }

    /// Handles what the editor says of a call. `None` if it is no job of this connection.
    pub fn job_is(&mut self, call: CallId, state: JobState, ledger: &mut Ledger, now: Instant) -> Option<JobStep> {
        if state == JobState::Runs {
            let is_here = self.jobs.jobs.contains_key(&call);
            self.jobs.run_from_before |= !is_here;
            return is_here.then_some(JobStep::GoesOn);
        }
        let Job { after, .. } = self.jobs.jobs.remove(&call)?;
        if state == JobState::Ended {
            return Some(JobStep::Ended(after));
        }
        // What keeps the jobs of an editor is lost with its domain.
        let settlements = ledger.lose(call, self.epoch, Loss::Reload, now);
        Some(JobStep::Lost(Settled { settlements, events: self.freed() }))
    }

    /// When outcomes are to be asked for again, if they were asked for last at this time.
    pub fn asks_again(&self, asked: Instant) -> Instant {
        let again = |since: Instant| {
            let ran = asked.saturating_duration_since(since);
            since.max(asked) + (ran / SHARE).clamp(JOB_ASKED_MIN, JOB_ASKED_MAX)
        };
        let here = self.jobs.jobs.values().map(|job| again(job.since));
        let before = self.jobs.run_from_before.then(|| asked + JOB_ASKED_MAX);
        here.chain(before).min().unwrap_or(asked + OUTCOMES_ASKED_EVERY)
    }
}
