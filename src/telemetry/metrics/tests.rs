use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use strum::VariantArray as _;

use super::labels::{self, Labels};
use super::*;
use crate::limits::SERIES_MAX;
use crate::limits::hub::PROJECT_SERIES_MAX;

fn stored(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(path).unwrap_or_default().replace("\r\n", "\n")
}

/// Compares a generated file with the code. `UPDATE_METRICS=1` writes the file.
fn same_as_stored(path: &str, wanted: &str) {
    if std::env::var_os("UPDATE_METRICS").is_some() {
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(path), wanted).unwrap();
    }
    assert!(
        stored(path) == wanted,
        "{path} is not what the code says; look at the difference after `UPDATE_METRICS=1 cargo test --lib telemetry`"
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
        if let Kind::Histogram(bounds) = metric.kind {
            assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]), "{name}");
        }
    }
    // The threshold of the service level must be the upper bound of a bucket.
    let Kind::Histogram(bounds) = Id::RecoveryDuration.metric().kind else { panic!("it is no histogram") };
    assert!(bounds.contains(&1.0), "{bounds:?}");
}

#[test]
fn every_series_is_there_and_zero_before_anything_happened() {
    let text = Metrics::recording().render();
    for metric in TABLE {
        let name = metric.full_name();
        if !matches!(metric.labels, Labels::Build(_)) {
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

#[test]
fn counts_land_in_their_series_and_nothing_is_counted_when_off() {
    let metrics = Metrics::recording();
    metrics.count(Id::McpRequests, ["tools/call", "ok"]);
    metrics.count(Id::McpRequests, ["tools/call", "ok"]);
    metrics.record(Id::ReloadDuration, [], 4.0);
    metrics.set(Id::FsmState, ["bridge", "ready"], 1.0);
    metrics.total(Id::HubRecordsUnwritten, [], 9);
    let text = metrics.render();
    for line in [
        "holdfast_mcp_requests_total{method=\"tools/call\",outcome=\"ok\"} 2",
        "holdfast_unity_reload_duration_seconds_bucket{le=\"3\"} 0",
        "holdfast_unity_reload_duration_seconds_bucket{le=\"5\"} 1",
        "holdfast_unity_reload_duration_seconds_sum 4",
        "holdfast_fsm_state{machine=\"bridge\",state=\"ready\"} 1",
        "holdfast_hub_records_unwritten_total 9",
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
    Metrics::recording().count(Id::McpRequests, ["tools/call", "fine"]);
}

#[test]
fn a_hostile_session_stays_within_the_budget_and_puts_no_word_of_its_own_on_a_series() {
    let metrics = Metrics::recording();
    metrics.set_build("1.2.3", "abc", "2025-11-25");
    // A client names itself and its methods as it likes.
    for number in 0..10_000 {
        let name = format!("HOSTILE\"}} {number}\n{{le=\"1\"}}");
        metrics.raise(Id::McpSessions, [crate::protocol::mcp::traits_of(&name).name], 1.0);
        metrics.count(Id::McpRequests, [crate::protocol::mcp::Method::from_name(&name).into(), "error"]);
    }
    let text = metrics.render();
    let count = samples(&text).count();
    assert!(!text.contains("HOSTILE"), "a peer's word became a label");
    assert!(count <= SERIES_MAX, "{count} series");
    // The limit is tight enough to reveal a change.
    assert!(count > SERIES_MAX / 2, "{count} series");
}

#[test]
fn each_project_of_a_hub_has_its_own_series_and_those_after_the_last_share_theirs() {
    let metrics = Metrics::recording();
    let before = samples(&metrics.render()).count();
    let paths: Vec<PathBuf> = (0..1000).map(|number| PathBuf::from(format!("/games/{number}/Castle"))).collect();
    let all: Vec<Metrics> = paths.iter().map(|path| metrics.of_project(path)).collect();
    for (number, project) in all.iter().enumerate() {
        project.count(Id::ToolCalls, ["ok"]);
        project.raise(Id::ToolCallsQueued, [], 1.0);
        project.set(Id::LastTick, [], number as f64);
    }
    // A link that is opened again continues its counts.
    metrics.of_project(&paths[1]).count(Id::ToolCalls, ["ok"]);
    metrics.count(Id::ToolCalls, ["cancelled"]);
    let text = metrics.render();
    let others = (paths.len() - METRIC_PROJECTS_MAX) as f64;
    for line in [
        "holdfast_tool_calls_total{verdict=\"ok\",cause=\"\",project=\"Castle\"} 1".to_owned(),
        "holdfast_tool_calls_total{verdict=\"ok\",cause=\"\",project=\"1/Castle\"} 2".to_owned(),
        "holdfast_tool_calls_total{verdict=\"cancelled\",cause=\"\",project=\"1/Castle\"} 0".to_owned(),
        "holdfast_tool_calls_total{verdict=\"cancelled\",cause=\"\"} 1".to_owned(),
        format!("holdfast_tool_calls_total{{verdict=\"ok\",cause=\"\",project=\"other\"}} {others}"),
        format!("holdfast_tool_calls_queued{{project=\"other\"}} {others}"),
        // A metric without series for each project counts for the whole gateway.
        "holdfast_unity_last_editor_tick_timestamp_seconds 999".to_owned(),
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

/// Returns the possible values of each label, including the label for projects.
fn values(metric: &Metric) -> Vec<(&'static str, Vec<&'static str>)> {
    let is_by_project = BY_PROJECT.iter().any(|id| id.metric().name == metric.name);
    let project = is_by_project.then(|| (PROJECT, vec!["*", labels::OTHER]));
    metric.labels.values().into_iter().chain(project).collect()
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
            json!({"name": metric.full_name(), "type": kind(metric), "unit": unit, "help": metric.help, "labels": labels})
        })
        .collect();
    let mut text = serde_json::to_string_pretty(&json!({"metrics": metrics})).unwrap();
    text.push('\n');
    same_as_stored("dashboards/metrics.json", &text);
}

#[test]
fn the_list_for_people_is_the_table() {
    let mut text = "# Metrics

The table is generated from `src/telemetry/metrics/table.rs` by `UPDATE_METRICS=1 cargo test --lib telemetry`; do not
edit it.

Served by `holdfast --metrics` under `/metrics`. Every series stands at zero from the start. `*` stands for a value that
no enum knows: this build's, or a project.

The label `project` names the project's editor. A session over stdin and stdout does not write it for its one editor:
Prometheus has it from the gateway's record, for all series. It does for further editors at the same time. A hub serves
several editors, so it writes the label onto the series of the metrics that list it here, for each of the first 16
projects (all others are `other`, as sums). Their series without the label are of sessions for which no editor is found.
The folder's name is the value, with the folders above if another project has that name. All other metrics are of the
whole hub. In a hub, the machines of `holdfast_fsm_state` without the label mean nothing.

| name | type | labels | meaning |
| --- | --- | --- | --- |
"
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
        let bounds = match metric.kind {
            Kind::Histogram(bounds) => {
                format!(". Buckets: {}", bounds.iter().map(f64::to_string).collect::<Vec<_>>().join(", "))
            }
            Kind::Counter | Kind::Gauge => String::new(),
        };
        let name = metric.full_name();
        writeln!(text, "| `{name}` | {} | {} | {}{bounds} |", kind(metric), labels.join("<br>"), metric.help).unwrap();
    }
    // The rest of the file is written by hand.
    let stored = stored("docs/metrics.md");
    let gone = stored.find("\n## Metrics of earlier versions\n").map_or("", |from| &stored[from..]);
    text.push_str(gone);
    same_as_stored("docs/metrics.md", &text);

    // The row of each former metric names an existing metric, or another source for the same information.
    let known = |name: &str| TABLE.iter().any(|metric| metric.full_name() == name);
    let mut rows = 0;
    for row in gone.lines().filter(|line| line.starts_with("| `holdfast_")) {
        let [_, former, instead, _] = row.split('|').collect::<Vec<_>>()[..] else { panic!("{row}") };
        let named = |cell: &str| -> Vec<String> {
            let quoted = cell.split('`').skip(1).step_by(2).map(|word| word.split('{').next().unwrap().to_owned());
            let is_other = |word: &String| {
                ["holdfast_calls", "holdfast_status"].contains(&word.as_str())
                    || word.starts_with("holdfast_last_exit_")
            };
            quoted.filter(|word| word.starts_with("holdfast_") && !is_other(word)).collect()
        };
        let (former, instead) = (named(former), named(instead));
        assert!(!former.is_empty() && instead.iter().all(|name| known(name)), "{row}");
        rows += former.len();
    }
    assert!(rows > 40, "{rows} metrics of earlier versions");
}
