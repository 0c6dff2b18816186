//! Values that are read at each scrape instead of being counted by events: queues, states, the process.

use std::sync::PoisonError;

use super::{Events, LinkSample, Sample};
use crate::fsm::Machine as _;
use crate::fsm::bridge;
use crate::fsm::call::Call;
use crate::protocol::mcp::ProtocolVersion;
use crate::telemetry::flight::seconds;
use crate::telemetry::metrics::labels::Invariant;
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
    }

    /// Renders all metrics in the text format of Prometheus. The sample is taken only if metrics are recorded. Only one
    /// scrape runs at a time.
    pub fn render(&self, sample: impl FnOnce() -> Sample) -> String {
        let _one_at_a_time = self.0.scraping.lock().unwrap_or_else(PoisonError::into_inner);
        if self.counted() {
            self.show(sample());
        }
        self.metrics().render()
    }

    /// Returns the sample of one link. Call this on the events of that link. `held`, `in_flight`: the numbers of its
    /// calls.
    pub fn sample_of_link(&self, held: usize, in_flight: usize) -> LinkSample {
        let states = self.1.flight.states().into_iter();
        let bridge = states.filter(|(machine, _)| *machine == bridge::Bridge::NAME).map(|(_, state)| state).next();
        let bridge = bridge.unwrap_or(bridge::Bridge::initial().into());
        LinkSample { metrics: self.metrics().clone(), bridge, held, in_flight }
    }

    /// Sorts recorded values into their histogram buckets, as a scrape also does.
    pub fn tidy(&self) {
        self.metrics().tidy();
    }

    fn show(&self, sample: Sample) {
        let metrics = self.metrics();
        metrics.set(Id::McpInFlight, [], as_f64(sample.requests_open));
        metrics.set(Id::StdoutQueued, [], as_f64(sample.stdout_queued));

        metrics.total(Id::Invariants, [Invariant::AnsweredTwice.into()], sample.answered_twice);
        for (state, count) in sample.calls_undecided {
            metrics.total(Id::FsmUnexpected, [Call::NAME, state], count);
        }

        if let Some(hub) = sample.hub {
            metrics.set(Id::HubSessions, [], as_f64(hub.sessions));
            metrics.total(Id::HubRecordsUnwritten, [], hub.records_unwritten);
            metrics.set(Id::HubRecordsFailing, [], f64::from(u8::from(hub.records_failing)));
        }
        for id in [Id::McpSessions, Id::FsmState, Id::ToolCallsQueued, Id::ToolCallsInFlight] {
            metrics.clear(id);
        }
        for client in sample.sessions {
            metrics.raise(Id::McpSessions, [client], 1.0);
        }
        for link in sample.links {
            // Links without a series of their own share one, with the sum of their values.
            let of_link = link.metrics;
            of_link.raise(Id::ToolCallsQueued, [], as_f64(link.held));
            of_link.raise(Id::ToolCallsInFlight, [], as_f64(link.in_flight));
            if of_link.is_of_project() {
                of_link.raise(Id::FsmState, [bridge::Bridge::NAME, link.bridge], 1.0);
            }
        }
        for (machine, state) in self.1.flight.states() {
            metrics.set(Id::FsmState, [machine, state], 1.0);
        }

        if let Some(usage) = process::usage() {
            metrics.total(Id::ProcessCpu, [], usage.cpu_seconds);
            metrics.set(Id::ProcessMemory, [], as_f64(usage.resident_bytes));
            metrics.set(Id::ProcessFds, [], as_f64(usage.open_fds));
            metrics.set(Id::ProcessFdsMax, [], as_f64(usage.max_fds));
        }
    }
}
