//! The result of one scenario, as one JSON object in a file: `real-<name>.json` for scenarios with real processes, another
//! name for others.
//!
//! The folder is the one that `CHAOS_REPORT` names, by default `target/chaos-report` of the workspace.

pub mod timeline;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use holdfast_timeline::Timeline;
use serde::{Deserialize, Serialize};

/// Name of the figure for the number of seeds that a simulation ran.
pub const SEEDS: &str = "seeds";
/// Name of the figure for the number of deliberate faults that the checks noticed.
pub const PLANTED: &str = "planted";

/// The result of one run of one scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// The scenario, in kebab case.
    pub name: String,
    /// What the scenario does, in one sentence.
    pub about: String,
    /// Ids of the fault catalogue that the scenario injects, such as `P01`.
    pub faults: Vec<String>,
    /// How often each fault was injected.
    pub injected: BTreeMap<String, u64>,
    /// How often each invariant was checked, by its id, such as `I1`.
    pub invariants: BTreeMap<String, u64>,
    /// How often each verdict was given, such as `ok`, `unknown`, `not_executed` or `refused`.
    pub verdicts: BTreeMap<String, u64>,
    /// Times of recovery in milliseconds: from the editor's event that it listens to the first successful answer.
    pub recoveries_ms: Vec<f64>,
    /// Other measurements, each under a name that contains its unit (`exit_p99_ms`, `memory_max_kib`).
    pub figures: BTreeMap<String, f64>,
    /// Remarks on the figures.
    pub notes: BTreeMap<String, String>,
    /// When the scenario began, in milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
    /// Duration in milliseconds.
    pub took_ms: u64,
    /// Whether every check succeeded. Stays `false` if the scenario panics.
    pub passed: bool,
    /// Descriptions of the broken promises.
    pub failures: Vec<String>,
    /// A picture of one session of the scenario.
    pub timeline: Option<Timeline>,
}

impl Record {
    /// Counts checks of an invariant.
    pub fn checked(&mut self, invariant: &str, times: u64) {
        *self.invariants.entry(invariant.to_owned()).or_default() += times;
    }

    /// Counts one injected fault.
    pub fn injected(&mut self, fault: &str) {
        *self.injected.entry(fault.to_owned()).or_default() += 1;
    }

    /// Counts one verdict.
    pub fn verdict(&mut self, verdict: &str) {
        *self.verdicts.entry(verdict.to_owned()).or_default() += 1;
    }

    /// Sets a measurement.
    pub fn figure(&mut self, name: &str, value: f64) {
        self.figures.insert(name.to_owned(), value);
    }

    /// Writes the record of a test that causes faults on purpose to prove that the checks can fail. `planted` is the number
    /// of these faults; all of them were noticed.
    ///
    /// # Errors
    /// If the folder or the file cannot be written.
    pub fn write_planted(name: &str, about: &str, planted: usize) -> std::io::Result<PathBuf> {
        let mut record = Self { name: name.to_owned(), about: about.to_owned(), passed: true, ..Self::default() };
        record.figure(PLANTED, planted as f64);
        record.write_as(name)
    }

    /// The folder of the reports.
    #[must_use]
    pub fn folder() -> PathBuf {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
        let given = std::env::var_os("CHAOS_REPORT").filter(|folder| !folder.is_empty());
        // Tests run in the folder of their package, but a relative path is meant from the workspace, where the suite was
        // started.
        given.map_or_else(|| workspace.join("target/chaos-report"), |folder| workspace.join(folder))
    }

    /// Writes the record of a scenario with real processes. Replaces the record of an earlier run.
    ///
    /// # Errors
    /// If the folder or the file cannot be written.
    pub fn write(&self) -> std::io::Result<PathBuf> {
        self.write_as(&format!("real-{}", self.name))
    }

    /// Writes the record under another name, given without `.json`.
    ///
    /// # Errors
    /// If the folder or the file cannot be written.
    pub fn write_as(&self, name: &str) -> std::io::Result<PathBuf> {
        let folder = Self::folder();
        std::fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{name}.json"));
        // The file is renamed when it is complete, because a report may be made while a scenario writes.
        let half = folder.join(format!("{name}.half"));
        let mut file = std::fs::File::create(&half)?;
        writeln!(file, "{}", serde_json::to_string(self)?)?;
        std::fs::rename(&half, &path)?;
        Ok(path)
    }
}

/// Returns the nearest-rank percentile of the values (`share` from 0 to 1); 0 if there are none.
#[must_use]
pub fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(0.0)
}

/// Returns the medians of the second and the last quarter of a series of samples; their difference is its drift. The first
/// quarter is left out, since resources that are acquired once at the beginning are not a drift. Medians keep single samples
/// from deciding, including the last one.
#[must_use]
pub fn quarters(samples: &[f64]) -> (f64, f64) {
    let quarter = samples.len().div_ceil(4);
    let second = samples.get(quarter..(2 * quarter).min(samples.len())).unwrap_or_default();
    let last = samples.get(samples.len().saturating_sub(quarter)..).unwrap_or_default();
    (percentile(second, 0.5), percentile(last, 0.5))
}

#[cfg(test)]
mod tests {
    use super::{Record, percentile, quarters};

    #[test]
    fn a_drift_is_no_matter_of_single_samples() {
        let level = [9.0, 9.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 77.0];
        assert_eq!(quarters(&level), (5.0, 5.0));
        let rising: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(quarters(&rising), (37.0, 87.0));
        assert_eq!(quarters(&[]), (0.0, 0.0));
    }

    #[test]
    fn a_record_survives_its_file() {
        let mut record = Record { name: "x".to_owned(), recoveries_ms: vec![1.5], ..Record::default() };
        record.checked("I1", 3);
        record.verdict("ok");
        record.figure("exit_p99_ms", 7.0);
        let text = serde_json::to_string(&record).expect("it is plain data");
        assert!(!text.contains('\n'));
        assert_eq!(serde_json::from_str::<Record>(&text).expect("it was written here"), record);
    }

    #[test]
    fn percentiles_are_values_that_were_seen() {
        let values = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!((percentile(&values, 0.5), percentile(&values, 0.99), percentile(&values, 0.0)), (3.0, 5.0, 1.0));
        assert_eq!(percentile(&[], 0.5), 0.0);
    }
}
