//! The records of running gateways, `<state>/run/<pid>.json`. Each gateway keeps its own; what a killed process left behind is told
//! by its lock ([`locked_record`]).

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::locked_record;
use crate::limits::RUN_RECORD_MAX_BYTES;
use crate::platform::host::{Host as _, RealHost};

/// Their folder in the state folder.
pub const FOLDER: &str = "run";

/// The records of all running gateways; what killed ones left behind is removed on the way.
pub fn all(state_dir: &Path) -> Vec<Value> {
    let host = RealHost;
    let read = |path: &PathBuf| {
        let bytes = host.read(path, RUN_RECORD_MAX_BYTES).ok()?;
        serde_json::from_slice(&bytes).ok()
    };
    locked_record::living(&host, &state_dir.join(FOLDER)).iter().filter_map(read).collect()
}
