use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use strum::VariantArray as _;

use super::labels::{self, Labels};
use super::*;
use crate::limits::SERIES_MAX;
use crate::limits::hub::PROJECT_SERIES_MAX;

/// Compares a generated file with the code. `UPDATE_METRICS=1` writes the file.
fn same_as_stored(path: &str, wanted: &str) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE_METRICS").is_some() {
        std::fs::write(&path, wanted).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(
        stored == wanted,
        "{} is not what the code says; look at the difference after `UPDATE_METRICS=1 cargo test --lib telemetry`",
        path.display()
    );
}

fn samples(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

#[test]
fn the_names_follow_prometheus_and_the_table_its_ids() {
    assert_eq!(TABLE.len(), Id::VARIANTS.len());
    let names: BTreeSet<String> = TABLE.iter().map(Metric::full_name).collect();
    assert_eq!(names.len(), TABLE.len(), "a name stands twice");
    for metric in TABLE {
        let name = metric.name;
        assert_eq!(name.ends_with("_total"), metric.kind == Kind::Counter, "{name}");
        let stem = name.trim_end_matches("_total");
        match metric.unit {
            Unit::Seconds => assert!(stem.ends_with("_seconds"), "{name}"),
            Unit::Bytes => assert!(stem.ends_with("_bytes"), "{name}"),
            Unit::Count => assert!(!stem.ends_with("_seconds") && !stem.ends_with("_bytes"), "{name}"),
        }
        assert!(!metric.help.is_empty() && !metric.help.ends_with('.'), "{name}");
        assert!(metric.labels.names().len() <= 3, "{name}");
        if let Kind::Histogram(bounds) = metric.kind {
            assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]), "{name}");
        }
    }
    // The thresholds of the service levels must be upper bounds of buckets.
    for (id, bound) in [(Id::RecoveryDuration, 1.0), (Id::ActorHandle, 0.005), (Id::FsmDwell, 120.0)] {
        let Kind::Histogram(bounds) = id.metric().kind else { panic!("{id:?} is no histogram") };
        assert!(bounds.contains(&bound), "{id:?} lacks {bound}");
    }
}

#[test]
fn every_series_is_there_and_zero_before_anything_happened() {
    let text = Metrics::recording(MetricsLevel::Full).render();
    for metric in TABLE {
        let name = metric.full_name();
        if !matches!(metric.labels, Labels::Open(_) | Labels::Late(_)) {
            assert!(text.contains(&format!("# HELP {name} {}\n", metric.help)), "{name}");
            let rows = metric.labels.rows().len();
            let ends: &[&str] = if matches!(metric.kind, Kind::Histogram(_)) { &["_count", "_sum"] } else { &[""] };
            for end in ends {
                let own = |line: &&str| {
                    let rest = line.strip_prefix(&format!("{name}{end}"));
                    rest.is_some_and(|rest| rest.starts_with('{') || rest.starts_with(' '))
                };
                assert_eq!(samples(&text).filter(own).count(), rows, "{name}{end}");
            }
        }
    }
    for line in samples(&text) {
        assert!(line.ends_with(" 0"), "{line}");
    }
    assert!(!text.contains("quantile="), "a histogram without buckets is a summary");
}

/// A team's Prometheus has this many series from each gateway, whatever its session does.
#[test]
fn the_basic_level_has_about_sixty_series_and_the_causes_of_every_verdict() {
    let metrics = Metrics::recording(MetricsLevel::Basic);
    metrics.set_build("0.1.0", "abc", "2026-07-28");
    metrics.set_late(Id::McpSession, ["handshake", "2025-06-18", "codex"], 1.0);
    metrics.tools_listed(["compile", "echo"].into_iter());
    metrics.count_tool("compile", "ok");
    metrics.count(Id::McpRequests, ["tools/call", "ok"]);
    metrics.count(Id::ToolCalls, ["not_executed", "reloading"]);
    metrics.count(Id::Invariants, ["broken_line"]);
    let text = metrics.render();
    let count = samples(&text).count();
    assert!((60..=75).contains(&count), "{count} series:\n{text}");
    for line in [
        "holdfast_tool_calls_total{verdict=\"not_executed\",cause=\"reloading\"} 1",
        "holdfast_invariant_violations_total{invariant=\"broken_line\"} 1",
        "holdfast_fsm_state{machine=\"bridge\",state=\"ready\"} 0",
    ] {
        assert!(samples(&text).any(|known| known == line), "{line}\n{text}");
    }
    let names: Vec<String> = BASIC.iter().map(|id| id.metric().full_name()).collect();
    let is_basic = |line: &str| names.iter().any(|name| line.split(['{', ' ']).next() == Some(name));
    assert!(samples(&text).all(is_basic), "{text}");
    let of_project = metrics.of_project(Path::new("/games/Castle"));
    of_project.set(Id::ToolCallsQueued, [], 2.0);
    of_project.count(Id::ToolCallsByProject, ["ok"]);
    let more = samples(&metrics.render()).count() - count;
    assert!((10..=20).contains(&more), "{more} series for each project of a hub");
    assert!(metrics.render().contains("holdfast_tool_calls_queued{project=\"Castle\"} 2"));
}

#[test]
fn counts_land_in_their_series_and_nothing_is_counted_when_off() {
    let metrics = Metrics::recording(MetricsLevel::Full);
    metrics.count(Id::McpRequests, ["tools/call", "ok"]);
    metrics.count(Id::McpRequests, ["tools/call", "ok"]);
    metrics.record(Id::ReloadDuration, [], 4.0);
    metrics.set(Id::ActorUp, ["bridge"], 1.0);
    metrics.total(Id::LogEvents, ["warn"], 9);
    let text = metrics.render();
    for line in [
        "holdfast_mcp_requests_total{method=\"tools/call\",outcome=\"ok\"} 2",
        "holdfast_unity_reload_duration_seconds_bucket{le=\"3\"} 0",
        "holdfast_unity_reload_duration_seconds_bucket{le=\"5\"} 1",
        "holdfast_unity_reload_duration_seconds_sum 4",
        "holdfast_actor_up{actor=\"bridge\"} 1",
        "holdfast_log_events_total{level=\"warn\"} 9",
    ] {
        assert!(text.lines().any(|known| known == line), "{line} in\n{text}");
    }
    let off = Metrics::default();
    off.count(Id::McpRequests, ["no", "such"]);
    assert_eq!(off.render(), "");
}

#[test]
#[should_panic(expected = "its labels are closed")]
fn a_label_outside_the_table_is_noticed_in_tests() {
    Metrics::recording(MetricsLevel::Full).count(Id::McpRequests, ["tools/call", "fine"]);
}

#[test]
fn a_hostile_session_stays_within_the_budget_and_puts_no_word_of_its_own_on_a_series() {
    let metrics = Metrics::recording(MetricsLevel::Full);
    metrics.set_build("1.2.3", "abc", "2025-11-25");
    let names: Vec<String> = (0..10_000).map(|number| format!("HOSTILE\"}} {number}\n{{le=\"1\"}}")).collect();
    // The editor lists arbitrary tools, and a client calls arbitrary tools under arbitrary client names.
    metrics.tools_listed((0..10_000).map(|_| "listed").chain(std::iter::once("other")));
    let listed: Vec<String> = (0..10_000).map(|number| format!("tool_{number}")).collect();
    metrics.tools_listed(listed.iter().map(String::as_str));
    for (number, name) in names.iter().enumerate() {
        let verdicts = labels::verdicts();
        metrics.count_tool(name, verdicts[number % verdicts.len()]);
        metrics.count_tool(&listed[number], "ok");
        for protocol in labels::protocols() {
            let client = crate::protocol::mcp::traits_of(name).name;
            let known = labels::clients()[number % labels::clients().len()];
            metrics.set_late(Id::McpSession, labels::row(["handshake", protocol, client]), 1.0);
            metrics.set_late(Id::McpSession, labels::row(["handshake", protocol, known]), 1.0);
        }
        metrics.count(Id::McpRequests, [crate::protocol::mcp::Method::from_name(name).into(), "error"]);
    }
    let text = metrics.render();
    let count = samples(&text).count();
    assert!(!text.contains("HOSTILE"), "a peer's word became a label");
    assert!(count <= SERIES_MAX, "{count} series");
    // The limit is tight enough to reveal a change.
    assert!(count > SERIES_MAX / 2, "{count} series");
    let tools =
        text.lines().filter(|line| line.starts_with("holdfast_tool_calls_by_tool_total") && line.contains("\"ok\""));
    assert_eq!(tools.count(), METRIC_TOOLS_MAX + 1);
    assert!(text.contains("holdfast_tool_calls_by_tool_total{tool=\"other\",verdict=\"ok\"} "), "{text}");
}

#[test]
fn each_project_of_a_hub_has_its_own_series_and_those_after_the_last_share_theirs() {
    let metrics = Metrics::recording(MetricsLevel::Full);
    let before = samples(&metrics.render()).count();
    let paths: Vec<PathBuf> = (0..1000).map(|number| PathBuf::from(format!("/games/{number}/Castle"))).collect();
    let all: Vec<Metrics> = paths.iter().map(|path| metrics.of_project(path)).collect();
    for (number, project) in all.iter().enumerate() {
        project.count(Id::ToolCallsByProject, ["ok"]);
        project.raise(Id::ToolCallsQueued, [], 1.0);
        project.set(Id::ActorUp, ["bridge"], number as f64);
    }
    // A link that is opened again counts on.
    metrics.of_project(&paths[1]).count(Id::ToolCallsByProject, ["ok"]);
    metrics.count(Id::ToolCallsByProject, ["cancelled"]);
    let text = metrics.render();
    let others = (paths.len() - METRIC_PROJECTS_MAX) as f64;
    for line in [
        "holdfast_tool_calls_by_project_total{verdict=\"ok\",project=\"Castle\"} 1".to_owned(),
        "holdfast_tool_calls_by_project_total{verdict=\"ok\",project=\"1/Castle\"} 2".to_owned(),
        "holdfast_tool_calls_by_project_total{verdict=\"cancelled\",project=\"1/Castle\"} 0".to_owned(),
        "holdfast_tool_calls_by_project_total{verdict=\"cancelled\"} 1".to_owned(),
        format!("holdfast_tool_calls_by_project_total{{verdict=\"ok\",project=\"other\"}} {others}"),
        format!("holdfast_tool_calls_queued{{project=\"other\"}} {others}"),
        // What has no series for each project is counted for the gateway.
        "holdfast_actor_up{actor=\"bridge\"} 999".to_owned(),
    ] {
        assert!(text.lines().any(|known| known == line), "{line} in\n{text}");
    }
    let more = samples(&text).count() - before;
    assert_eq!(more % (METRIC_PROJECTS_MAX + 1), 0, "{more}");
    let each = more / (METRIC_PROJECTS_MAX + 1);
    assert!(each <= PROJECT_SERIES_MAX && each > PROJECT_SERIES_MAX / 2, "{each} series");
    assert!(before + more <= SERIES_MAX + (METRIC_PROJECTS_MAX + 1) * PROJECT_SERIES_MAX, "{before} and {more} series");
    metrics.clear(Id::ToolCallsQueued);
    let text = metrics.render();
    let queued = samples(&text).filter(|line| line.starts_with("holdfast_tool_calls_queued"));
    assert_eq!(queued.filter(|line| line.ends_with(" 0")).count(), METRIC_PROJECTS_MAX + 2);
    assert_eq!(Metrics::default().of_project(&paths[0]).render(), "");
}

#[test]
fn the_edges_are_those_of_the_charts() {
    let mut text = "//! The edges of the machines, as their charts draw them (`src/fsm/charts/`).\n//!\n\
                    //! Generated by `UPDATE_METRICS=1 cargo test --lib telemetry`; do not edit.\n\n\
                    /// Machine, from, to.\n#[rustfmt::skip]\npub const EDGES: &[(&str, &str, &str)] = &[\n"
        .to_owned();
    for (machine, states, _) in labels::machine_states() {
        let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/fsm/charts/{machine}.md"));
        let chart = std::fs::read_to_string(chart).unwrap();
        let mut edges = 0;
        for line in chart.lines() {
            let arrow =
                line.trim().split_once(" --> ").and_then(|(from, rest)| Some((from, rest.split_once(" : ")?.0)));
            let Some((from, to)) = arrow.filter(|(from, to)| from != to) else { continue };
            assert!(states.contains(&from) && states.contains(&to), "{machine}: {line}");
            writeln!(text, "    (\"{machine}\", \"{from}\", \"{to}\"),").unwrap();
            edges += 1;
        }
        assert!(edges >= states.len() - 1, "{machine} has {edges} edges");
    }
    text.push_str("];\n");
    same_as_stored("src/telemetry/metrics/edges.rs", &text);
}

/// Returns the possible values of each label, that of projects included.
fn values(metric: &Metric) -> Vec<(&'static str, Vec<&'static str>)> {
    let is_by_project = BY_PROJECT.iter().any(|id| id.metric().name == metric.name);
    let project = is_by_project.then(|| (PROJECT, vec!["*", labels::OTHER]));
    metric.labels.values().into_iter().chain(project).collect()
}

fn is_basic(metric: &Metric) -> bool {
    BASIC.iter().any(|id| id.metric().name == metric.name)
}

fn kind(metric: &Metric) -> &'static str {
    match metric.kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram(_) => "histogram",
    }
}

#[test]
fn the_list_for_the_dashboards_is_the_table() {
    let metrics: Vec<Value> = TABLE
        .iter()
        .map(|metric| {
            let labels: serde_json::Map<String, Value> =
                values(metric).into_iter().map(|(name, values)| (name.to_owned(), json!(values))).collect();
            let unit: &'static str = metric.unit.into();
            json!({"name": metric.full_name(), "type": kind(metric), "unit": unit, "help": metric.help, "labels": labels, "basic": is_basic(metric)})
        })
        .collect();
    let mut text = serde_json::to_string_pretty(&json!({"metrics": metrics})).unwrap();
    text.push('\n');
    same_as_stored("dashboards/metrics.json", &text);
}

#[test]
fn the_list_for_people_is_the_table() {
    let mut text = "# Metrics\n\nGenerated from `src/telemetry/metrics/table.rs` by `UPDATE_METRICS=1 cargo test --lib telemetry`; \
                    do not edit.\n\nServed by `holdfast --metrics` under `/metrics`. Every series stands at zero from the start, \
                    unless marked *late*; `*` stands for a value that\nno enum knows: this build's, the name of a tool that an \
                    editor listed (24 of them, then `other`), or a project.\n\n\
                    `--metrics=basic` serves only the metrics that are marked **basic**: about 60 series of a gateway in place of \
                    more than a thousand, for a\nPrometheus that collects the gateways of many people. Of the machines it has only \
                    `bridge`, the connection to the editor. What then is missing on the\ndashboards and from the \
                    alerts is in [collecting-metrics.md](collecting-metrics.md).\n\n\
                    The label `project` names the project's editor. A session over stdin and stdout does not write it for \
                    its one editor: Prometheus has it\nfrom the gateway's record, for all series. It does for further editors at the same \
                    time. A hub serves several editors, so it writes the \
                    label onto the series of the metrics that list it here, for each of the\nfirst 16 projects (all others are \
                    `other`, as sums, so that `other` has no meaningful time of a state). Their series without the label are of \
                    sessions for which\nno editor is found. The folder's name is the value, with the folders above if another \
                    project has that name. All other metrics are of the whole hub. In a hub,\nthe machines of \
                    `holdfast_fsm_state` without the label mean nothing.\n\n| name | type | labels | meaning |\n| --- | --- | --- | --- |\n"
        .to_owned();
    for metric in TABLE {
        let labels: Vec<String> = values(metric)
            .into_iter()
            .map(|(name, values)| {
                let values: Vec<String> = values
                    .into_iter()
                    .map(|value| if value.is_empty() { "(none)".to_owned() } else { format!("`{value}`") })
                    .collect();
                format!("**{name}**: {}", values.join(" "))
            })
            .collect();
        let late = if matches!(metric.labels, Labels::Late(_)) { " *late*" } else { "" };
        let basic = if is_basic(metric) { " **basic**" } else { "" };
        let bounds = match metric.kind {
            Kind::Histogram(bounds) => {
                format!(". Buckets: {}", bounds.iter().map(f64::to_string).collect::<Vec<_>>().join(", "))
            }
            Kind::Counter | Kind::Gauge => String::new(),
        };
        let name = metric.full_name();
        writeln!(
            text,
            "| `{name}` | {}{late}{basic} | {} | {}{bounds} |",
            kind(metric),
            labels.join("<br>"),
            metric.help
        )
        .unwrap();
    }
    same_as_stored("docs/metrics.md", &text);
}
