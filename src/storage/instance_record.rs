//! The records of running gateways, `<state>/run/<pid>.json`. Each gateway keeps its own. A record that a killed process left is
//! known by its free lock ([`locked_record`]).

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::locked_record;
use crate::limits::RUN_RECORD_MAX_BYTES;
use crate::platform::host::{Host as _, RealHost};

/// The folder of the records, below the state folder.
pub const FOLDER: &str = "run";

/// Reads the records of all running gateways, and removes those that killed ones left.
pub fn all(state_dir: &Path) -> Vec<Value> {
    let host = RealHost;
    let read = |path: &PathBuf| {
        let bytes = host.read(path, RUN_RECORD_MAX_BYTES).ok()?;
        serde_json::from_slice(&bytes).ok()
    };
    locked_record::living(&host, &state_dir.join(FOLDER)).iter().filter_map(read).collect()
}
