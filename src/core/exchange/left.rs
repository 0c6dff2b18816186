//! Calls whose reply is not their answer: the editor runs them as jobs, gave them up, or began some work that goes on.

use tokio::time::Instant;

use super::{After, Exchange, JobState, JobStep, Settled};
use crate::core::calls::{Ledger, Settlement};
use crate::fsm::cause::Loss;
use crate::fsm::retry::Used;
use crate::protocol::dialect::{JournalKey, Recovery};
use crate::protocol::ids::CallId;

impl Exchange {
    /// Handles the reply that the editor runs a call as a job, which has this key.
    pub fn submitted(
        &mut self,
        (call, after): (CallId, After),
        key: JournalKey,
        ledger: &mut Ledger,
        now: Instant,
    ) -> Vec<Settlement> {
        self.jobs.begins(call, after, now);
        ledger.submitted(call, self.epoch, key, now)
    }

    /// Handles a reply that leaves open how a call ends: the editor's own server waits for it no longer, or some work has begun whose
    /// end stands in this file. The call's place is free. `loss`: why the outcome is unknown if nothing tells it.
    pub fn left_open(
        &mut self,
        call: CallId,
        (loss, file): (Loss, Option<Recovery>),
        ledger: &mut Ledger,
        now: Instant,
    ) -> Settled {
        self.used = Used::Answered;
        self.quiet.watched(now);
        let mut followed = file.map(|file| ledger.follow(call, self.epoch, file, now)).unwrap_or_default();
        let mut settled = self.lost(call, loss, ledger, now);
        followed.append(&mut settled.settlements);
        Settled { settlements: followed, ..settled }
    }

    /// The connection goes on without this call, which may have run.
    fn lost(&mut self, call: CallId, loss: Loss, ledger: &mut Ledger, now: Instant) -> Settled {
        let settlements = ledger.lose(call, self.epoch, loss, now);
        // A call that runs alone may have waited for this one.
        self.calls_wait = ledger.has_held();
        Settled { settlements, events: self.freed() }
    }

    /// Handles what the editor says of a call. `None` if it is no job of this connection.
    pub fn job_is(&mut self, call: CallId, state: JobState, ledger: &mut Ledger, now: Instant) -> Option<JobStep> {
        match state {
            JobState::Runs => self.jobs.runs(call).then_some(JobStep::GoesOn),
            JobState::Ended => self.jobs.over(call).map(JobStep::Ended),
            JobState::Lost(loss) => {
                self.jobs.over(call)?;
                Some(JobStep::Lost(self.lost(call, loss, ledger, now)))
            }
        }
    }
}
