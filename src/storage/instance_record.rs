//! The records of running gateways, `<state>/run/<pid>.json`. Each gateway writes its own. A record that was left by a killed
//! process is recognised because nobody holds its lock ([`locked_record`]).

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::locked_record;
use crate::limits::RUN_RECORD_MAX_BYTES;
use crate::platform::host::{Host as _, RealHost};

/// The folder of the records, below the state folder.
pub const FOLDER: &str = "run";

/// Reads the records of all running gateways: one for each session. The file of a hub has an array of them. Removes the records that killed gateways left behind.
pub fn all(state_dir: &Path) -> Vec<Value> {
    let host = RealHost;
    let read = |path: &PathBuf| {
        let bytes = host.read(path, RUN_RECORD_MAX_BYTES).ok()?;
        serde_json::from_slice(&bytes).ok()
    };
    let records = locked_record::living(&host, &state_dir.join(FOLDER));
    let of_each = records.iter().filter_map(read).map(|record| match record {
        Value::Array(sessions) => sessions,
        record => vec![record],
    });
    of_each.flatten().collect()
}
