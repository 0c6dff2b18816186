use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, advance};

use super::{Events, HubSample, Sample};
use crate::core::calls::Claim;
use crate::fsm::cause::{Availability, Cause, Loss, Return};
use crate::platform::host::RealHost;
use crate::protocol::hub::Reason;
use crate::protocol::ids::{CallId, Epoch};
use crate::telemetry::metrics::labels::Wait;

fn events() -> Events {
    Events::new(Arc::new(RealHost), true)
}

fn has(events: &Events, line: &str) -> bool {
    events.metrics().render().lines().any(|known| known == line)
}

#[track_caller]
fn counted(events: &Events, lines: &[&str]) {
    for line in lines {
        assert!(has(events, line), "{line} in\n{}", events.metrics().render());
    }
}

fn up(events: &Events) {
    let now = Instant::now();
    events.dial_succeeded(now, now);
    events.link_up(Epoch(1), 8700, "flag", false, Return::Unknown);
}

#[tokio::test(start_paused = true)]
async fn a_reload_is_one_that_was_announced_or_was_seen_while_the_editor_was_away() {
    let events = events();
    up(&events);
    events.link_down(Epoch(1), Loss::Reload);
    advance(Duration::from_secs(4)).await;
    up(&events);
    // The connection ends without a reason, and the lock file then shows that it was a reload.
    events.link_down(Epoch(2), Loss::Disconnect);
    events.availability_changed(Availability::Coming(Cause::Reloading));
    advance(Duration::from_secs(4)).await;
    up(&events);
    // The connection ends without a reason, and no reason is found later.
    events.link_down(Epoch(3), Loss::Disconnect);
    events.availability_changed(Availability::Coming(Cause::Lost));
    up(&events);
    // The editor is gone after the reload. That is recorded only once.
    events.link_down(Epoch(4), Loss::Reload);
    events.availability_changed(Availability::Absent(Cause::Crashed));
    events.availability_changed(Availability::Absent(Cause::Closed));
    up(&events);
    counted(
        &events,
        &[
            "holdfast_unity_reloads_total{result=\"completed\"} 2",
            "holdfast_unity_reloads_total{result=\"not_returned\"} 1",
            "holdfast_unity_reload_duration_seconds_sum 8",
            "holdfast_unity_disconnects_total{reason=\"disconnect\"} 2",
        ],
    );
}

#[test]
fn a_call_sent_again_says_why_and_an_unsafe_one_breaks_a_promise() {
    let events = events();
    let call = CallId::from_random([7; 16]);
    let first = Claim { waited: Duration::ZERO, waited_for: Cause::Busy, nth: 1, lost: false, repeatable: false };
    for claim in [
        first,
        Claim { nth: 2, lost: true, repeatable: true, waited_for: Cause::Reloading, ..first },
        Claim { nth: 2, lost: true, repeatable: true, waited_for: Cause::Lost, ..first },
        Claim { nth: 2, ..first },
    ] {
        events.call_sent(call, Epoch(1), 1, Some(claim));
    }
    counted(
        &events,
        &[
            "holdfast_tool_call_resends_total{cause=\"reload\"} 1",
            "holdfast_tool_call_resends_total{cause=\"reconnect\"} 1",
            "holdfast_tool_call_resends_total{cause=\"turned_away\"} 1",
            "holdfast_invariant_violations_total{invariant=\"unsafe_resend\"} 0",
        ],
    );
    events.call_sent(call, Epoch(1), 1, Some(Claim { nth: 2, lost: true, ..first }));
    counted(&events, &["holdfast_invariant_violations_total{invariant=\"unsafe_resend\"} 1"]);
}

#[test]
fn a_line_that_is_two_breaks_a_promise() {
    let events = events();
    events.check_line("{\"a\":\"\\n\"}");
    counted(&events, &["holdfast_invariant_violations_total{invariant=\"broken_line\"} 0"]);
    events.check_line("{\"a\":\n1}");
    counted(&events, &["holdfast_invariant_violations_total{invariant=\"broken_line\"} 1"]);
}

/// Counts the lines of broken promises in the log.
struct Broken(Arc<AtomicU64>);

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Broken {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        let names_invariant = event.fields().any(|field| field.name() == "invariant");
        self.0.fetch_add(names_invariant.into(), Ordering::Relaxed);
    }
}

#[test]
fn a_line_that_is_two_is_logged_also_if_nothing_is_counted() {
    use tracing::Dispatch;
    use tracing::subscriber::NoSubscriber;
    use tracing_subscriber::layer::SubscriberExt as _;
    // `tracing` remembers for each place whether anybody listens there. With a single log in the process, a thread without
    // one could make it remember that nobody does.
    let _others = [(); 2].map(|()| Dispatch::new(NoSubscriber::new()));
    let broken = Arc::<AtomicU64>::default();
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(Broken(Arc::clone(&broken))));
    let events = Events::new(Arc::new(RealHost), false);
    events.check_line("{\"a\":1}");
    assert_eq!(broken.load(Ordering::Relaxed), 0);
    events.check_line("{\"a\":\n1}");
    assert_eq!(broken.load(Ordering::Relaxed), 1);
}

#[test]
fn every_cause_of_holding_is_a_wait_for_something() {
    use strum::VariantArray as _;
    for wait in Wait::VARIANTS {
        assert!(Cause::VARIANTS.iter().any(|cause| Wait::of(*cause) == *wait), "{wait:?}");
    }
}

#[test]
fn a_hub_shows_its_sessions_and_its_records() {
    let events = events();
    counted(&events, &["holdfast_hub_starts 0", "holdfast_hub_records_failing 0"]);
    events.hub_serving("a", "/socket", 3);
    events.hub_session_refused(None, "silence");
    for reason in [Reason::Full, Reason::Full, Reason::Ending] {
        events.hub_session_refused(Some(reason), "no");
    }
    counted(
        &events,
        &[
            "holdfast_hub_starts 3",
            "holdfast_hub_sessions_refused_total{reason=\"no_hello\"} 1",
            "holdfast_hub_sessions_refused_total{reason=\"full\"} 2",
            "holdfast_hub_sessions_refused_total{reason=\"ending\"} 1",
            "holdfast_hub_sessions_refused_total{reason=\"protocol\"} 0",
        ],
    );
    let shown = |hub| {
        events.render(|| Sample { hub, ..Sample::default() });
    };
    shown(Some(HubSample { sessions: 4, records_unwritten: 6, records_failing: true }));
    counted(
        &events,
        &["holdfast_hub_sessions 4", "holdfast_hub_records_unwritten_total 6", "holdfast_hub_records_failing 1"],
    );
    shown(Some(HubSample { sessions: 3, records_unwritten: 6, records_failing: false }));
    counted(
        &events,
        &["holdfast_hub_sessions 3", "holdfast_hub_records_unwritten_total 6", "holdfast_hub_records_failing 0"],
    );
}
