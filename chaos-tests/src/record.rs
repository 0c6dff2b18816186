//! What one part of the suite found, as a JSON file that the report reads: one file a scenario, written when it ends.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use holdfast::timeline::Timeline;
use serde::{Deserialize, Serialize};

/// One scenario of one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// Its name, like `sim` or `real-kill-restart`: also the file's.
    pub name: String,
    /// What it does, in one sentence.
    pub about: String,
    /// Ids of the catalogue whose faults it causes.
    pub faults: Vec<String>,
    /// What was injected, and how often.
    pub injected: BTreeMap<String, u64>,
    /// Invariants, and how often each was checked.
    pub invariants: BTreeMap<String, u64>,
    /// How calls ended, and how often.
    pub verdicts: BTreeMap<String, u64>,
    /// From the listener's return to the first good answer, in milliseconds.
    pub recoveries_ms: Vec<f64>,
    /// Other figures worth a line: name, value with its unit.
    pub figures: BTreeMap<String, String>,
    /// Seconds of real time.
    pub took_s: f64,
    /// Whether every promise was kept.
    pub passed: bool,
    /// What was broken, in full.
    pub failures: Vec<String>,
    /// A picture of one session of it.
    pub timeline: Option<Timeline>,
}

/// The folder of the report: `CHAOS_REPORT`, or `target/chaos-report` of the workspace.
pub fn folder() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    match std::env::var_os("CHAOS_REPORT").filter(|path| !path.is_empty()) {
        // Tests run in their package's folder; a relative path means the one where the suite was started.
        Some(path) => workspace.join(path),
        None => workspace.join("target/chaos-report"),
    }
}

impl Record {
    /// Writes it into [`folder`], in place of an earlier run's.
    pub fn write(&self) -> io::Result<PathBuf> {
        let folder = folder();
        fs::create_dir_all(&folder)?;
        let file: String = self.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let path = folder.join(format!("{file}.json"));
        // Whole or not at all: a report may be made while another scenario writes.
        let half = folder.join(format!("{file}.half"));
        fs::write(&half, serde_json::to_vec_pretty(self)?)?;
        fs::rename(&half, &path)?;
        Ok(path)
    }
}
