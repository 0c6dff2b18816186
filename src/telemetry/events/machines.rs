//! The events inside the gateway: machines, actors, supervisors, services and broken promises.

use std::time::Duration;

use super::Events;
use crate::core::ShutdownReason;
use crate::fsm::restart::EndReason;
use crate::fsm::{Machine, Reaction, event_name};
use crate::limits::FLIGHT_LINE_STEPS;
use crate::protocol::dialect::Companion;
use crate::protocol::text::clean;
use crate::telemetry::metrics::Id;
use crate::telemetry::metrics::labels::Invariant;

impl Events {
    /// A machine was started, for the first time or after its actor died.
    pub fn machine_started<M: Machine>(&self, _machine: &M, state: M::State) {
        self.1.flight.started(M::NAME, state.into(), self.now());
    }

    /// A machine handled an event in this state.
    pub fn stepped<M: Machine>(&self, out: &Reaction<M>, state: M::State, event: &M::Event) {
        self.tell_step(out, event);
        for (from, to) in &out.transitions {
            let (from, to): (&'static str, &'static str) = ((*from).into(), (*to).into());
            if from != to && !self.1.is_post {
                self.1.flight.moved(M::NAME, from, to, event_name(event), self.now());
            }
        }
        if out.unexpected {
            self.metrics().count(Id::FsmUnexpected, [M::NAME, state.into()]);
        }
    }

    /// Logs what a machine did with an event. Routing has only this log: its decisions show in the session and in the
    /// links.
    pub fn tell_step<M: Machine>(&self, out: &Reaction<M>, event: &M::Event) {
        for (from, to) in &out.transitions {
            let (from, to): (&'static str, &'static str) = ((*from).into(), (*to).into());
            if from != to && !self.1.is_post {
                tracing::debug!(
                    event = "state_changed",
                    link = self.link(),
                    session = self.session(),
                    machine = M::NAME,
                    from,
                    to
                );
            }
        }
        if out.unexpected {
            tracing::warn!(event = "unexpected_event", link = self.link(), session = self.session(), machine = M::NAME, what = %clean(&format!("{event:?}")));
        }
    }

    /// An actor was started, for the first time or again.
    pub fn actor_started(&self, actor: &'static str) {
        if self.1.is_post {
            return;
        }
        tracing::debug!(event = "actor_started", link = self.link(), session = self.session(), actor);
    }

    /// An actor ended and is restarted.
    pub fn actor_restarting(&self, actor: &'static str, reason: EndReason) {
        let reason: &'static str = reason.into();
        tracing::error!(event = "actor_restarting", link = self.link(), session = self.session(), actor, reason);
        self.metrics().count(Id::ActorRestarts, [actor, reason]);
    }

    /// A supervisor gave up because its actors failed too often. The last steps of every machine are logged.
    pub fn escalated(&self, supervisor: &'static str) {
        tracing::error!(event = "supervisor_escalated", link = self.link(), session = self.session(), supervisor);
        self.metrics().count(Id::Escalations, [supervisor]);
        self.dump();
    }

    /// The main task builds the tree of actors again.
    pub fn rebuilding(&self, nth: usize, after: Duration) {
        let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        tracing::error!(event = "tree_rebuilding", link = self.link(), session = self.session(), nth, after_ms);
    }

    /// A promise was broken. The last steps of every machine are logged.
    pub(super) fn violated(&self, invariant: Invariant, what: &str) {
        let name: &'static str = invariant.into();
        tracing::error!(event = "invariant_violated", invariant = name, what = %clean(what));
        self.metrics().count(Id::Invariants, [name]);
        self.dump();
    }

    /// Writes the last steps of every machine into the log.
    fn dump(&self) {
        for timeline in self.timelines(Duration::MAX, FLIGHT_LINE_STEPS) {
            tracing::error!(
                event = "flight_record",
                machine = &*timeline.machine,
                trace = timeline.line(FLIGHT_LINE_STEPS)
            );
        }
    }

    /// The exporter cannot work, for the reason `what`.
    pub fn exporter_trouble(&self, what: &str) {
        tracing::warn!(event = "exporter_trouble", what = %clean(what));
    }

    /// The exporter is listening.
    pub fn exporter_listening(&self, address: std::net::SocketAddr) {
        tracing::info!(event = "exporter_listening", address = %address);
    }

    /// A service outside the supervision tree is listening.
    pub fn companion_listening(&self, companion: Companion, address: std::net::SocketAddr) {
        let companion: &'static str = companion.into();
        tracing::info!(event = "companion_listening", companion, address = %address);
    }

    /// A service outside the supervision tree cannot work.
    pub fn companion_trouble(&self, companion: Companion, what: &str) {
        let companion: &'static str = companion.into();
        tracing::warn!(event = "companion_trouble", companion, what = %clean(what));
    }

    /// A service outside the supervision tree ended by a bug of ours and is restarted.
    pub fn companion_restarting(&self, companion: Companion) {
        let companion: &'static str = companion.into();
        tracing::error!(event = "companion_restarting", companion);
    }

    /// A service outside the supervision tree refused a request.
    pub fn companion_refused(&self, companion: Companion, why: &'static str) {
        let companion: &'static str = companion.into();
        tracing::debug!(event = "companion_refused", companion, why);
    }

    /// An entry of `bytes` bytes was posted to a log over HTTP.
    pub fn log_posted(&self, name: &str, bytes: usize) {
        tracing::debug!(event = "log_posted", name = %clean(name), bytes);
    }

    /// A timer of one second fired late by `lag`.
    pub fn lagged(&self, lag: Duration) {
        self.metrics().record(Id::RuntimeLag, [], lag.as_secs_f64());
    }

    /// The wall clock jumped by so many seconds. Ahead: the machine slept, or the clock was set. Back: the clock was
    /// set.
    pub fn clock_jumped(&self, seconds: f64) {
        tracing::info!(event = "clock_jumped", seconds);
    }

    /// The gateway has started; `command` is the subcommand.
    pub fn gateway_started(&self, command: &'static str) {
        let (version, pid) = (env!("CARGO_PKG_VERSION"), std::process::id());
        tracing::info!(event = "gateway_started", command, version, revision = crate::telemetry::REVISION, pid);
    }

    /// The gateway is ending.
    pub fn ending(&self, why: ShutdownReason) {
        let reason: &'static str = why.into();
        tracing::info!(event = "gateway_ending", reason);
    }
}
