//! What is not counted as it happens but read off when somebody asks: depths, states, timestamps, the process.

use std::sync::PoisonError;

use super::Events;
use super::calls::as_f64;
use crate::estate::Estate;
use crate::fsm::bridge;
use crate::fsm::call::Call;
use crate::fsm::{Machine as _, cause::Outlook};
use crate::limits::{MAILBOX_MESSAGES_MAX, OPEN_REQUESTS_MAX, STDOUT_QUEUE_MAX_LINES};
use crate::protocol::mcp::ProtocolVersion;
use crate::telemetry::flight::seconds;
use crate::telemetry::metrics::Id;
use crate::telemetry::metrics::labels::{self, Instance, Invariant, LogDrop, Part};
use crate::telemetry::process;

impl Events {
    /// What never changes.
    pub(super) fn announce(&self) {
        if !self.counted() {
            return;
        }
        let metrics = self.metrics();
        let revision = option_env!("HOLDFAST_REVISION").unwrap_or("unknown");
        metrics.set_build(env!("CARGO_PKG_VERSION"), revision, ProtocolVersion::LATEST.label());
        metrics.set(Id::ProcessStart, [], seconds(self.0.began));
        metrics.set(Id::StdoutCapacity, [], as_f64(STDOUT_QUEUE_MAX_LINES));
        metrics.set(Id::ToolCallCapacity, [], as_f64(OPEN_REQUESTS_MAX));
        metrics.set(Id::PushCapacity, [], as_f64(MAILBOX_MESSAGES_MAX));
        for (machine, states, _) in labels::machine_states() {
            for (code, state) in states.into_iter().enumerate() {
                metrics.set(Id::FsmCode, [machine, state], as_f64(code));
            }
        }
    }

    /// All numbers as they are now, as Prometheus reads them.
    pub fn render(&self, estate: &Estate) -> String {
        let _one_at_a_time = self.0.scraping.lock().unwrap_or_else(PoisonError::into_inner);
        if self.counted() {
            self.sample(estate);
        }
        self.metrics().render()
    }

    /// Sorts recorded sizes into their buckets, which a scrape does too.
    pub fn tidy(&self) {
        self.metrics().tidy();
    }

    fn sample(&self, estate: &Estate) {
        let metrics = self.metrics();
        let front = estate.outbox.counts();
        metrics.set(Id::McpInFlight, [], as_f64(front.open));
        metrics.set(Id::StdoutQueued, [], as_f64(front.queued));
        metrics.total(Id::StdoutDropped, [], front.dropped_notifications);
        metrics.total(Id::StdoutSurplus, [], front.surplus_answers);

        let ((held, flying), surprises) = estate.ledger(|ledger, _| (ledger.counts(), ledger.surprises().clone()));
        metrics.set(Id::ToolCallsQueued, [], as_f64(held));
        metrics.set(Id::ToolCallsInFlight, [], as_f64(flying));
        metrics.total(Id::Invariants, [Invariant::AnsweredTwice.into()], surprises.answered_twice);
        for (state, count) in surprises.undecided {
            metrics.total(Id::FsmUnexpected, [Call::NAME, state], count);
        }

        let edges = [
            (Part::Session, &estate.edges.session),
            (Part::Bridge, &estate.edges.bridge),
            (Part::Push, &estate.edges.push),
        ];
        for (part, edge) in edges {
            metrics.set(Id::MailboxDepth, [part.into()], as_f64(edge.used()));
        }
        metrics.set(Id::PushDepth, [], as_f64(estate.edges.push.used()));

        self.sample_link(estate);
        for (machine, states, _) in labels::machine_states() {
            for state in states {
                metrics.set(Id::FsmState, [machine, state], 0.0);
            }
        }
        let mut delay = 0.0;
        for (machine, state, entered) in self.0.flight.states() {
            metrics.set(Id::FsmState, [machine, state], 1.0);
            metrics.set(Id::FsmEntered, [machine], seconds(entered));
            if machine == bridge::Bridge::NAME && state == <&str>::from(bridge::State::BackingOff) {
                delay = self.0.link.lock().unwrap_or_else(PoisonError::into_inner).delay.as_secs_f64();
            }
        }
        metrics.set(Id::BackoffDelay, [], delay);

        if let Some(logs) = self.0.logs.get() {
            for (level, count) in logs.lines() {
                metrics.total(Id::LogEvents, [level], count);
            }
            metrics.total(Id::LogDropped, [LogDrop::QueueFull.into()], logs.queue_full());
            metrics.total(Id::LogDropped, [LogDrop::SinkError.into()], logs.sink_errors());
        }
        if let Some(usage) = process::usage() {
            metrics.total(Id::ProcessCpu, [], usage.cpu_seconds);
            metrics.set(Id::ProcessMemory, [], as_f64(usage.resident_bytes));
            metrics.set(Id::ProcessFds, [], as_f64(usage.open_fds));
            metrics.set(Id::ProcessFdsMax, [], as_f64(usage.max_fds));
        }
    }

    fn sample_link(&self, estate: &Estate) {
        let metrics = self.metrics();
        let (epoch, outlook) = {
            let link = estate.link.borrow();
            (link.epoch, link.outlook)
        };
        let epoch = epoch.filter(|_| outlook == Outlook::Open).map_or(0, |epoch| epoch.0);
        metrics.set(Id::ConnectionEpoch, [], as_f64(usize::try_from(epoch).unwrap_or(usize::MAX)));
        let survey = estate.survey.borrow().clone();
        let [mut callable, mut ambiguous, mut refused, mut stale] = [0; 4];
        if let Some(survey) = survey {
            (callable, ambiguous) = (survey.targets.len(), survey.ambiguous.len());
            refused = survey.listed.iter().filter(|listed| listed.owner.is_some()).count();
            stale = survey.listed.len() - refused;
        }
        let found = [
            (Instance::Callable, callable),
            (Instance::Ambiguous, ambiguous),
            (Instance::Refused, refused),
            (Instance::Stale, stale),
        ];
        for (state, count) in found {
            metrics.set(Id::Instances, [state.into()], as_f64(count));
        }
    }
}
