//! Writes a gateway's last counts for the textfile collector of a node exporter, so that a session shorter than a
//! scrape interval leaves at least these. All of them are gauges, since the next process counts from zero.

use std::fmt::Write as _;

use super::pages::{Shown, render};
use super::target;
use crate::core::ShutdownReason;
use crate::storage::instance_record::LAST_EXIT;
use crate::telemetry::flight::seconds;
use crate::telemetry::metrics::{Id, PREFIX};

/// The counters whose last value is written.
const KEPT: [Id; 8] = [
    Id::McpRequests,
    Id::ToolCalls,
    Id::ToolCallResends,
    Id::Disconnects,
    Id::Reloads,
    Id::ActorRestarts,
    Id::Escalations,
    Id::Invariants,
];

/// Writes the file. If that fails, the failure is logged and does not delay the exit.
pub(super) fn write(shown: &impl Shown, why: ShutdownReason) {
    let (private, public) = (target::folder(shown), shown.metrics_records());
    if private.is_none() && public.is_none() {
        return;
    }
    let (host, lived) = (shown.host(), shown.began().elapsed().as_secs_f64());
    let text = words(&render(shown), why, seconds(host.now()), lived);
    let private = private.map(|folder| host.write(&folder.join(LAST_EXIT), text.as_bytes()));
    let public = public.map(|folder| host.publish(&folder.join(LAST_EXIT), text.as_bytes()));
    for error in private.into_iter().chain(public).filter_map(Result::err) {
        shown.events().exporter_trouble(&format!("the last words could not be written: {error}"));
    }
}

/// Converts the text of a scrape into the text of the file, which has gauges only.
fn words(scrape: &str, why: ShutdownReason, now: f64, lived: f64) -> String {
    let mut text = String::new();
    let mut gauge = |name: &str, help: &str, samples: &[(String, String)]| {
        let name = format!("{PREFIX}last_exit_{name}");
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n");
        for (labels, value) in samples {
            let _ = writeln!(text, "{name}{labels} {value}");
        }
    };
    let reason: &'static str = why.into();
    let info = format!("{{reason=\"{reason}\",version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    gauge("info", "Always 1; why the gateway that ended last did so", &[(info, "1".to_owned())]);
    gauge("timestamp_seconds", "When it ended", &[(String::new(), now.to_string())]);
    gauge("lifetime_seconds", "How long it lived", &[(String::new(), lived.to_string())]);
    for id in KEPT {
        let metric = id.metric();
        let full = metric.full_name();
        let samples: Vec<(String, String)> = scrape
            .lines()
            .filter_map(|line| line.strip_prefix(&full))
            .filter_map(|rest| rest.rsplit_once(' '))
            .filter(|(_, value)| *value != "0" || id == Id::Invariants)
            .map(|(labels, value)| (labels.to_owned(), value.to_owned()))
            .collect();
        gauge(metric.name.trim_end_matches("_total"), metric.help, &samples);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::metrics::Metrics;

    #[test]
    fn they_are_gauges_of_what_was_counted() {
        let metrics = Metrics::recording();
        metrics.add(Id::ToolCalls, ["ok", ""], 7);
        let text = words(&metrics.render(), ShutdownReason::Signal, 1.5, 2.0);
        for line in [
            "holdfast_last_exit_info{reason=\"signal\",version=\"0.1.0\"} 1",
            "holdfast_last_exit_timestamp_seconds 1.5",
            "holdfast_last_exit_lifetime_seconds 2",
            "holdfast_last_exit_tool_calls{verdict=\"ok\",cause=\"\"} 7",
            "holdfast_last_exit_invariant_violations{invariant=\"answered_twice\"} 0",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} in\n{text}");
        }
        assert!(!text.contains("counter") && !text.contains("_total"), "{text}");
    }
}
