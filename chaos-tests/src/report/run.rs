//! One run of the suite: the records of its scenarios, and what is summed up over them.

use std::fs;
use std::io;
use std::path::Path;

use serde::Serialize;

use crate::record::Record;

/// The promised median of the recovery times, in milliseconds, for an editor that is likely to return. Counted from the
/// moment the editor listens again.
pub const RECOVERY_P50_MS: f64 = 50.0;
/// The promised 99th percentile of the same recovery times, in milliseconds.
pub const RECOVERY_P99_MS: f64 = 250.0;

/// The name of the report's own JSON file, which is not a record.
pub(super) const OWN: &str = "report.json";

/// One run of the suite.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// The commit that was tested; empty if it is not known.
    pub commit: String,
    /// The records of the scenarios, sorted by the names of their files.
    pub records: Vec<Record>,
}

/// Returns the nearest-rank percentile of sorted values (`share` from 0 to 1); `None` if there are none.
pub fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (sorted.len() as f64 * share).ceil();
    // A rank is small and not negative, and the cast saturates.
    sorted.get((rank as usize).max(1) - 1).copied()
}

impl Report {
    /// Reads all records of a folder. A record that cannot be read becomes a failed scenario, because leaving it out would
    /// look like success.
    pub fn read(folder: &Path, commit: &str) -> io::Result<Self> {
        let mut paths: Vec<_> = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        let mut records = Vec::new();
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !name.ends_with(".json") || name == OWN {
                continue;
            }
            let record = fs::read(&path).map_err(|error| error.to_string()).and_then(|bytes| {
                let mut record: Record = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
                record.recoveries_ms.sort_by(f64::total_cmp);
                Ok(record)
            });
            records.push(record.unwrap_or_else(|error| Record {
                about: "This record could not be read.".to_owned(),
                failures: vec![format!("{name}: {error}")],
                name,
                ..Record::default()
            }));
        }
        Ok(Self { commit: commit.to_owned(), records })
    }

    /// Whether there is at least one record, and every scenario passed.
    pub fn passed(&self) -> bool {
        !self.records.is_empty() && self.records.iter().all(|record| record.passed)
    }

    /// The sum of a figure over all scenarios.
    pub fn sum(&self, figure: &str) -> f64 {
        self.records.iter().filter_map(|record| record.figures.get(figure)).sum()
    }

    /// The number of checks of all invariants.
    pub fn checks(&self) -> u64 {
        self.records.iter().flat_map(|record| record.invariants.values()).sum()
    }
}
