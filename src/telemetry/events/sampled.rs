//! Values that are read at each scrape instead of being counted by events: queues, states, timestamps, the process.

use std::sync::PoisonError;

use super::Events;
use super::sample::{LinkSample, Sample};
use crate::fsm::Machine as _;
use crate::fsm::bridge;
use crate::fsm::call::Call;
use crate::limits::{MAILBOX_MESSAGES_MAX, OPEN_REQUESTS_MAX, STDOUT_QUEUE_MAX_LINES};
use crate::protocol::mcp::ProtocolVersion;
use crate::telemetry::flight::seconds;
use crate::telemetry::metrics::labels::{self, Invariant, LogDrop};
use crate::telemetry::metrics::{Id, as_f64};
use crate::telemetry::process;

impl Events {
    /// Sets the values that never change.
    pub(super) fn announce(&self) {
        if !self.counted() {
            return;
        }
        let metrics = self.metrics();
        let revision = crate::telemetry::REVISION.unwrap_or("unknown");
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

    /// Renders all metrics in the text format of Prometheus. The sample is taken only if metrics are recorded. Only one scrape
    /// runs at a time.
    pub fn render(&self, sample: impl FnOnce() -> Sample) -> String {
        let _one_at_a_time = self.0.scraping.lock().unwrap_or_else(PoisonError::into_inner);
        if self.counted() {
            self.show(sample());
        }
        self.metrics().render()
    }

    /// Returns a link's part of a sample; these are the events of the link. `held`, `in_flight`: its calls. `epoch`: that of its
    /// open connection, 0 if there is none.
    pub fn sample_of_link(&self, held: usize, in_flight: usize, epoch: u64) -> LinkSample {
        let states = self.1.flight.states().into_iter();
        let bridge =
            states.filter(|(machine, ..)| *machine == bridge::Bridge::NAME).map(|(_, state, at)| (state, at)).next();
        let bridge = bridge.unwrap_or((bridge::Bridge::initial().into(), self.0.began));
        LinkSample { metrics: self.metrics().clone(), bridge, held, in_flight, epoch }
    }

    /// Sorts recorded values into their histogram buckets, as a scrape also does.
    pub fn tidy(&self) {
        self.metrics().tidy();
    }

    fn show(&self, sample: Sample) {
        let metrics = self.metrics();
        metrics.set(Id::McpInFlight, [], as_f64(sample.requests_open));
        metrics.set(Id::StdoutQueued, [], as_f64(sample.stdout_queued));
        metrics.total(Id::StdoutDropped, [], sample.stdout_dropped);
        metrics.total(Id::StdoutSurplus, [], sample.stdout_surplus);

        metrics.total(Id::Invariants, [Invariant::AnsweredTwice.into()], sample.answered_twice);
        for (state, count) in sample.calls_undecided {
            metrics.total(Id::FsmUnexpected, [Call::NAME, state], count);
        }

        for (part, messages) in sample.mailboxes {
            metrics.set(Id::MailboxDepth, [part.into()], as_f64(messages));
        }
        metrics.set(Id::PushDepth, [], as_f64(sample.pushes));

        for (state, count) in sample.instances {
            metrics.set(Id::Instances, [state.into()], as_f64(count));
        }
        if let Some(hub) = sample.hub {
            metrics.set(Id::HubSessions, [], as_f64(hub.sessions));
            metrics.total(Id::HubRecordsUnwritten, [], hub.records_unwritten);
            metrics.set(Id::HubRecordsFailing, [], f64::from(u8::from(hub.records_failing)));
        }
        for id in [Id::FsmState, Id::FsmEntered, Id::ToolCallsQueued, Id::ToolCallsInFlight, Id::ConnectionEpoch] {
            metrics.clear(id);
        }
        let mut waits = false;
        for link in sample.links {
            let of_link = link.metrics;
            // Links without a series of their own share one, which is their sum.
            of_link.raise(Id::ToolCallsQueued, [], as_f64(link.held));
            of_link.raise(Id::ToolCallsInFlight, [], as_f64(link.in_flight));
            of_link.raise(Id::ConnectionEpoch, [], as_f64(usize::try_from(link.epoch).unwrap_or(usize::MAX)));
            let (state, entered) = link.bridge;
            waits |= state == <&str>::from(bridge::State::BackingOff);
            if of_link.is_of_project() {
                of_link.raise(Id::FsmState, [bridge::Bridge::NAME, state], 1.0);
                of_link.set(Id::FsmEntered, [bridge::Bridge::NAME], seconds(entered));
            }
        }
        for (machine, state, entered) in self.1.flight.states() {
            metrics.set(Id::FsmState, [machine, state], 1.0);
            metrics.set(Id::FsmEntered, [machine], seconds(entered));
        }
        let delay = *self.0.dial_delay.lock().unwrap_or_else(PoisonError::into_inner);
        metrics.set(Id::BackoffDelay, [], if waits { delay.as_secs_f64() } else { 0.0 });

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
}
