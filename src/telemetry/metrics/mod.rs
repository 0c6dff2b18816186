//! The metrics. Every series of the [`table`] is registered, described and set to zero at the start, and rendered for a
//! scrape.
//!
//! The recorder belongs to one gateway, not to the process, so that each gateway in a test has its own. An event finds
//! its series by a binary search over a few labels, without a lock, a hash or an allocation. Without `--metrics`
//! nothing is recorded.

pub mod labels;
pub mod table;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use metrics::{Key, Label, Level, Metadata, Recorder as _};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

use self::labels::Row;
pub use self::table::{BY_PROJECT, Id, Kind, Metric, PREFIX, PROJECT, TABLE, Unit};
use crate::limits::PROJECT_LABEL_MAX_BYTES;
use crate::limits::hub::METRIC_PROJECTS_MAX;

static METADATA: Metadata<'static> = Metadata::new("holdfast", Level::INFO, None);

#[derive(Clone)]
enum Handle {
    Counter(metrics::Counter),
    Gauge(metrics::Gauge),
    Histogram(metrics::Histogram),
}

/// The series of each metric, indexed by [`Id`] and sorted by their labels.
type Families = Vec<Vec<(Row, Handle)>>;

/// The metrics of one gateway, or of one project in it. Clones share their series. The default value records nothing.
#[derive(Default, Clone)]
pub struct Metrics {
    recording: Option<Arc<Recording>>,
    /// The series of a project, if this value is for a project. Metrics without such a series are counted for the whole
    /// gateway.
    own: Option<Arc<Families>>,
}

struct Recording {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    families: Families,
    projects: Mutex<Projects>,
}

/// The projects that have their own series.
#[derive(Default)]
struct Projects {
    /// The projects, each with its label.
    named: Vec<(PathBuf, String, Arc<Families>)>,
    /// The series of all further projects, if there are any.
    others: Option<Arc<Families>>,
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Metrics").field(&self.is_on()).finish()
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
        let families = families(&recorder, |id| id.metric().labels.rows(), None);
        let recording = Recording { recorder, handle, families, projects: Mutex::default() };
        Self { recording: Some(Arc::new(recording)), own: None }
    }

    /// Whether metrics are recorded.
    pub fn is_on(&self) -> bool {
        self.recording.is_some()
    }

    /// Returns the metrics of a project in this gateway: its series have the label [`PROJECT`]. At most
    /// [`METRIC_PROJECTS_MAX`] projects have series of their own. All others share the series of [`labels::OTHER`].
    #[must_use]
    pub fn of_project(&self, project: &Path) -> Self {
        let Some(recording) = &self.recording else { return Self::default() };
        let mut projects = recording.projects.lock().unwrap_or_else(PoisonError::into_inner);
        let known = projects.named.iter().find(|(known, ..)| known == project).map(|(.., own)| Arc::clone(own));
        let own = match known {
            Some(own) => own,
            None if projects.named.len() < METRIC_PROJECTS_MAX => {
                let label = projects.label_of(project);
                let own = recording.of_project(&label);
                projects.named.push((project.to_path_buf(), label, Arc::clone(&own)));
                own
            }
            None => Arc::clone(projects.others.get_or_insert_with(|| recording.of_project(labels::OTHER))),
        };
        Self { recording: self.recording.clone(), own: Some(own) }
    }

    /// Whether this value is for a project.
    pub fn is_of_project(&self) -> bool {
        self.own.is_some()
    }

    /// Sets a gauge to zero, for the gateway and for each project.
    pub fn clear(&self, id: Id) {
        let Some(recording) = &self.recording else { return };
        let projects = recording.projects.lock().unwrap_or_else(PoisonError::into_inner);
        let all = projects.named.iter().map(|(.., own)| own).chain(&projects.others).map(|own| &**own);
        for (_, handle) in all.chain([&recording.families]).filter_map(|families| families.get(id as usize)).flatten() {
            if let Handle::Gauge(gauge) = handle {
                gauge.set(0.0);
            }
        }
    }

    /// Raises a gauge.
    pub fn raise<const N: usize>(&self, id: Id, row: [&'static str; N], by: f64) {
        if let Some(Handle::Gauge(gauge)) = self.find(id, row) {
            gauge.increment(by);
        }
    }

    /// Adds one to a counter.
    pub fn count<const N: usize>(&self, id: Id, row: [&'static str; N]) {
        self.add(id, row, 1);
    }

    /// Adds `by` to a counter.
    pub fn add<const N: usize>(&self, id: Id, row: [&'static str; N], by: u64) {
        if let Some(Handle::Counter(counter)) = self.find(id, row) {
            counter.increment(by);
        }
    }

    /// Sets a counter to a total that is counted elsewhere.
    pub fn total<const N: usize>(&self, id: Id, row: [&'static str; N], total: u64) {
        if let Some(Handle::Counter(counter)) = self.find(id, row) {
            counter.absolute(total);
        }
    }

    /// Sets a gauge.
    pub fn set<const N: usize>(&self, id: Id, row: [&'static str; N], value: f64) {
        if let Some(Handle::Gauge(gauge)) = self.find(id, row) {
            gauge.set(value);
        }
    }

    /// Records a value in a histogram.
    pub fn record<const N: usize>(&self, id: Id, row: [&'static str; N], value: f64) {
        if let Some(Handle::Histogram(histogram)) = self.find(id, row) {
            histogram.record(value);
        }
    }

    fn find<const N: usize>(&self, id: Id, values: [&'static str; N]) -> Option<&Handle> {
        let mut row = Row::default();
        for (place, value) in row.iter_mut().zip(values) {
            *place = value;
        }
        let own = self.own.as_ref().and_then(|own| find(own, id, &row));
        let found = own.or_else(|| find(&self.recording.as_ref()?.families, id, &row));
        debug_assert!(
            found.is_some() || !self.is_on(),
            "{id:?} has no series {row:?}: its labels are closed, in the table"
        );
        found
    }

    /// Renders all series in the text format of Prometheus. Empty if nothing is recorded.
    pub fn render(&self) -> String {
        self.recording.as_ref().map(|recording| recording.handle.render()).unwrap_or_default()
    }

    /// Sorts recorded values into their histogram buckets. Otherwise they would accumulate between two scrapes.
    pub fn tidy(&self) {
        if let Some(recording) = &self.recording {
            recording.handle.run_upkeep();
        }
    }

    /// Sets the labels of this build, which the table cannot know.
    pub fn set_build(&self, version: &str, revision: &str, protocol: &str) {
        let Some(recording) = &self.recording else { return };
        if let Handle::Gauge(gauge) = register(&recording.recorder, Id::BuildInfo, &[version, revision, protocol], None)
        {
            gauge.set(1.0);
        }
    }
}

fn find<'a>(families: &'a Families, id: Id, row: &Row) -> Option<&'a Handle> {
    let family = families.get(id as usize)?;
    let at = family.binary_search_by(|(known, _)| known.cmp(row)).ok()?;
    family.get(at).map(|(_, handle)| handle)
}

/// Registers the series of each metric that `rows` names, for a project if one is given.
fn families(recorder: &PrometheusRecorder, rows: fn(Id) -> Vec<Row>, project: Option<&str>) -> Families {
    let family = |id: &Id| {
        let made = |row: Row| (row, register(recorder, *id, &row, project));
        let mut family: Vec<(Row, Handle)> = rows(*id).into_iter().map(made).collect();
        family.sort_by_key(|(row, _)| *row);
        family
    };
    <Id as strum::VariantArray>::VARIANTS.iter().map(family).collect()
}

impl Recording {
    fn of_project(&self, label: &str) -> Arc<Families> {
        Arc::new(families(&self.recorder, Id::rows_of_project, Some(label)))
    }
}

impl Projects {
    /// Returns a label for a further project: the name of its folder. If another project has that label, the folders
    /// above are added, as long as the label does not become too long.
    fn label_of(&self, project: &Path) -> String {
        let parts: Vec<String> = project.iter().map(|part| project_label(&part.to_string_lossy())).collect();
        let is_free = |label: &String| {
            let fits = label != labels::OTHER && label.len() <= 2 * PROJECT_LABEL_MAX_BYTES;
            fits && self.named.iter().all(|(_, taken, _)| taken != label)
        };
        let longer = (0..parts.len()).rev().map(|from| parts.get(from..).unwrap_or_default().join("/"));
        longer.clone().find(is_free).unwrap_or_else(|| labels::OTHER.to_owned())
    }
}

/// Makes a label from a folder's name: shortened, and without characters that dashboards may misread.
pub fn project_label(name: &str) -> String {
    let mut label = String::new();
    for character in name.chars() {
        if label.len() + character.len_utf8() > PROJECT_LABEL_MAX_BYTES {
            break;
        }
        let fits = character.is_alphanumeric() || "._- ".contains(character);
        label.push(if fits { character } else { '_' });
    }
    label
}

fn register(recorder: &PrometheusRecorder, id: Id, row: &[&str], project: Option<&str>) -> Handle {
    let metric = id.metric();
    let own = metric.labels.names().into_iter().zip(row.iter().copied());
    let labels: Vec<Label> = own
        .chain(project.map(|project| (PROJECT, project)))
        .map(|(name, value)| Label::new(name, value.to_owned()))
        .collect();
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
