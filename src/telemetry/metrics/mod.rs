//! The metrics. Every series of the [`table`] is registered, described and set to zero at the start, and rendered for a scrape.
//!
//! The recorder belongs to one gateway, not to the process, so that each gateway in a test has its own. An event finds its series
//! by a binary search over a few labels, without a lock, a hash or an allocation. Without `--metrics` nothing is recorded.

mod edges;
mod label_values;
pub mod labels;
pub mod table;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use metrics::{Key, Label, Level, Metadata, Recorder as _};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

use self::labels::Row;
pub use self::table::{Id, Kind, Metric, PREFIX, TABLE, Unit};
use crate::limits::{LATE_SERIES_MAX, METRIC_TOOLS_MAX};

static METADATA: Metadata<'static> = Metadata::new("holdfast", Level::INFO, None);

#[derive(Clone)]
enum Handle {
    Counter(metrics::Counter),
    Gauge(metrics::Gauge),
    Histogram(metrics::Histogram),
}

/// The metrics of one gateway. The default value records nothing.
#[derive(Default)]
pub struct Metrics(Option<Recording>);

struct Recording {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    /// The series of each metric, indexed by [`Id`] and sorted by their labels.
    families: Vec<Vec<(Row, Handle)>>,
    late: Mutex<BTreeMap<(usize, Row), Handle>>,
    /// The tools that have their own series. The last entry is [`labels::OTHER`].
    tools: Mutex<Vec<ToolSeries>>,
}

/// The counters of one tool, by verdict.
struct ToolSeries {
    tool: String,
    verdicts: Vec<(&'static str, metrics::Counter)>,
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Metrics").field(&self.0.is_some()).finish()
    }
}

impl Metrics {
    /// Returns metrics that are recorded. All of them are zero.
    pub fn recording() -> Self {
        let mut builder = PrometheusBuilder::new();
        for metric in TABLE {
            if let Kind::Histogram(bounds) = metric.kind {
                let named = Matcher::Full(metric.full_name());
                builder = builder
                    .set_buckets_for_metric(named, bounds)
                    .unwrap_or_else(|error| unreachable!("every histogram of the table has bounds: {error}"));
            }
        }
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        for metric in TABLE {
            let (name, help) = (metric.full_name().into(), metric.help.into());
            match metric.kind {
                Kind::Counter => recorder.describe_counter(name, None, help),
                Kind::Gauge => recorder.describe_gauge(name, None, help),
                Kind::Histogram(_) => recorder.describe_histogram(name, None, help),
            }
        }
        let family = |metric: &Metric| {
            let mut family: Vec<(Row, Handle)> = metric
                .labels
                .rows()
                .into_iter()
                .map(|row| (row, register(&recorder, metric, &row.map(str::to_owned))))
                .collect();
            family.sort_by_key(|(row, _)| *row);
            family
        };
        let families = TABLE.iter().map(family).collect();
        let tools = Mutex::new(vec![tool_series(&recorder, labels::OTHER)]);
        Self(Some(Recording { recorder, handle, families, late: Mutex::default(), tools }))
    }

    /// Whether metrics are recorded.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Adds one to a counter.
    pub fn count<const N: usize>(&self, id: Id, row: [&'static str; N]) {
        self.add(id, row, 1);
    }

    /// Adds `by` to a counter.
    pub fn add<const N: usize>(&self, id: Id, row: [&'static str; N], by: u64) {
        if let Some(Handle::Counter(counter)) = self.find(id, labels::row(row)) {
            counter.increment(by);
        }
    }

    /// Sets a counter to a total that is counted elsewhere.
    pub fn total<const N: usize>(&self, id: Id, row: [&'static str; N], total: u64) {
        if let Some(Handle::Counter(counter)) = self.find(id, labels::row(row)) {
            counter.absolute(total);
        }
    }

    /// Sets a gauge.
    pub fn set<const N: usize>(&self, id: Id, row: [&'static str; N], value: f64) {
        if let Some(Handle::Gauge(gauge)) = self.find(id, labels::row(row)) {
            gauge.set(value);
        }
    }

    /// Records a value in a histogram.
    pub fn record<const N: usize>(&self, id: Id, row: [&'static str; N], value: f64) {
        if let Some(Handle::Histogram(histogram)) = self.find(id, labels::row(row)) {
            histogram.record(value);
        }
    }

    fn find(&self, id: Id, row: Row) -> Option<&Handle> {
        let family = self.0.as_ref()?.families.get(id as usize)?;
        let found = family.binary_search_by(|(known, _)| known.cmp(&row));
        debug_assert!(found.is_ok(), "{id:?} has no series {row:?}: its labels are closed, in the table");
        family.get(found.ok()?).map(|(_, handle)| handle)
    }

    /// Sets a gauge whose label combinations are added when they first occur. A metric gets at most [`LATE_SERIES_MAX`] of them;
    /// values for further ones are dropped.
    pub fn set_late(&self, id: Id, row: Row, value: f64) {
        let Some(recording) = &self.0 else { return };
        let mut late = recording.late.lock().unwrap_or_else(PoisonError::into_inner);
        let of_this = late.keys().filter(|(family, _)| *family == id as usize).count();
        let key = (id as usize, row);
        if !late.contains_key(&key) && of_this >= LATE_SERIES_MAX {
            return;
        }
        let made = || register(&recording.recorder, id.metric(), &row.map(str::to_owned));
        if let Handle::Gauge(gauge) = late.entry(key).or_insert_with(made) {
            gauge.set(value);
        }
    }

    /// Creates series, set to zero, for each listed tool, up to [`METRIC_TOOLS_MAX`] tools in total.
    pub fn tools_listed<'a>(&self, listed: impl Iterator<Item = &'a str>) {
        let Some(recording) = &self.0 else { return };
        let mut tools = recording.tools.lock().unwrap_or_else(PoisonError::into_inner);
        for tool in listed {
            if tools.len() > METRIC_TOOLS_MAX {
                break;
            }
            if !tools.iter().any(|known| known.tool == tool) {
                let at = tools.len().saturating_sub(1);
                tools.insert(at, tool_series(&recording.recorder, tool));
            }
        }
    }

    /// Counts a call of a tool. A tool without its own series is counted under [`labels::OTHER`].
    pub fn count_tool(&self, tool: &str, verdict: &'static str) {
        let Some(recording) = &self.0 else { return };
        let tools = recording.tools.lock().unwrap_or_else(PoisonError::into_inner);
        let found = tools.iter().find(|known| known.tool == tool).or_else(|| tools.last());
        let counter = found.and_then(|series| series.verdicts.iter().find(|(known, _)| *known == verdict));
        if let Some((_, counter)) = counter {
            counter.increment(1);
        }
    }

    /// Renders all series in the text format of Prometheus. Empty if nothing is recorded.
    pub fn render(&self) -> String {
        self.0.as_ref().map(|recording| recording.handle.render()).unwrap_or_default()
    }

    /// Sorts recorded values into their histogram buckets. Otherwise they would accumulate between two scrapes.
    pub fn tidy(&self) {
        if let Some(recording) = &self.0 {
            recording.handle.run_upkeep();
        }
    }

    /// Sets the labels of this build, which the table cannot know.
    pub fn set_build(&self, version: &str, revision: &str, protocol: &str) {
        let Some(recording) = &self.0 else { return };
        let row = [version, revision, protocol].map(str::to_owned);
        if let Handle::Gauge(gauge) = register(&recording.recorder, Id::BuildInfo.metric(), &row) {
            gauge.set(1.0);
        }
    }
}

fn tool_series(recorder: &PrometheusRecorder, tool: &str) -> ToolSeries {
    let counter = |verdict: &'static str| {
        let row = [tool.to_owned(), verdict.to_owned(), String::new()];
        match register(recorder, Id::ToolCallsByTool.metric(), &row) {
            Handle::Counter(counter) => Some((verdict, counter)),
            Handle::Gauge(_) | Handle::Histogram(_) => None,
        }
    };
    ToolSeries { tool: tool.to_owned(), verdicts: labels::verdicts().into_iter().filter_map(counter).collect() }
}

fn register(recorder: &PrometheusRecorder, metric: &Metric, row: &[String; 3]) -> Handle {
    let names = metric.labels.names();
    let labels: Vec<Label> = names.into_iter().zip(row).map(|(name, value)| Label::new(name, value.clone())).collect();
    let key = Key::from_parts(metric.full_name(), labels);
    match metric.kind {
        Kind::Counter => Handle::Counter(recorder.register_counter(&key, &METADATA)),
        Kind::Gauge => Handle::Gauge(recorder.register_gauge(&key, &METADATA)),
        Kind::Histogram(_) => Handle::Histogram(recorder.register_histogram(&key, &METADATA)),
    }
}

/// Converts a number for Prometheus. The result is exact up to 2^53.
#[expect(clippy::cast_precision_loss, reason = "counts and sizes stay far below 2^53")]
pub(in crate::telemetry) fn as_f64(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
