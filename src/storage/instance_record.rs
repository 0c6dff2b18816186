//! The records of running gateways, `<state>/run/<pid>.json`. Each gateway writes its own. A record that was left by a killed
//! process is recognised because nobody holds its lock ([`locked_record`]).

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::locked_record;
use crate::limits::RUN_RECORD_MAX_BYTES;
use crate::platform::host::{Host as _, RealHost};

/// The folder of the records, below the state folder.
pub const FOLDER: &str = "run";

/// The folder of the records for Prometheus, below the state folder.
pub const METRICS_FOLDER: &str = "metrics";

/// The file in that folder with the last words of the gateway that ended last.
pub const LAST_EXIT: &str = "holdfast_last_exit.prom";

/// Reads the records of all running gateways: one for each session. The file of a hub has an array of them. Removes the
/// records that killed gateways left behind.
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

/// Returns the pids of living gateways whose records cannot be read, because the disk is full for example.
pub fn unread(state_dir: &Path) -> Vec<u32> {
    let host = RealHost;
    let is_read = |path: &PathBuf| host.read(path, RUN_RECORD_MAX_BYTES).is_ok_and(|bytes| is_json(&bytes));
    let held = locked_record::held(&host, &state_dir.join(FOLDER));
    held.iter().filter(|path| !is_read(path)).filter_map(|path| path.file_stem()?.to_str()?.parse().ok()).collect()
}

fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}

/// Returns how long ago the record of this process was written; `None` if it has none.
pub fn age(state_dir: &Path, pid: u32) -> Option<Duration> {
    let changed = state_dir.join(FOLDER).join(format!("{pid}.json")).metadata().ok()?.modified().ok()?;
    RealHost.now().duration_since(changed).ok()
}

/// Whether a gateway with this process id keeps a record. A running gateway does, as soon as a client has opened a
/// session. `None` if it cannot be decided.
pub fn is_kept(state_dir: &Path, pid: u32) -> Option<bool> {
    locked_record::lives(&state_dir.join(FOLDER).join(format!("{pid}.json")))
}

/// Returns the address at which the gateway of a living process serves metrics and the status page; `None` if it serves none, or was
/// killed. Only an address of this machine is returned.
pub fn served_at(state_dir: &Path, pid: u64) -> Option<SocketAddr> {
    let path = state_dir.join(METRICS_FOLDER).join(format!("{pid}.json"));
    let record: Value = serde_json::from_slice(&RealHost.read(&path, RUN_RECORD_MAX_BYTES).ok()?).ok()?;
    // The file of a killed gateway names a port that another program may have now.
    locked_record::lives(&path).filter(|lives| *lives)?;
    let address: SocketAddr = record.pointer("/0/targets/0")?.as_str()?.parse().ok()?;
    address.ip().is_loopback().then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_where_the_record_for_prometheus_says_if_that_is_here() {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join(METRICS_FOLDER);
        std::fs::create_dir(&folder).unwrap();
        let lock = std::fs::File::create(folder.join("7.lock")).unwrap();
        lock.lock().unwrap();
        for (target, found) in [
            (r#"[{"targets":["127.0.0.1:9464"]}]"#, Some("127.0.0.1:9464")),
            (r#"[{"targets":["[::1]:1"]}]"#, Some("[::1]:1")),
            (r#"[{"targets":["192.168.1.2:80"]}]"#, None),
            (r#"[{"targets":["example.org:80"]}]"#, None),
            (r#"{"targets":[]}"#, None),
            ("", None),
        ] {
            std::fs::write(folder.join("7.json"), target).unwrap();
            assert_eq!(served_at(state.path(), 7), found.map(|found| found.parse().unwrap()), "{target}");
        }
        assert_eq!(served_at(state.path(), 8), None);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2, "a question leaves nothing behind");
    }

    #[test]
    fn a_record_that_no_process_holds_leads_nowhere() {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join(METRICS_FOLDER);
        std::fs::create_dir(&folder).unwrap();
        // Killed gateways leave this behind; another program may have the port now.
        std::fs::write(folder.join("7.json"), r#"[{"targets":["127.0.0.1:9464"]}]"#).unwrap();
        assert_eq!(served_at(state.path(), 7), None);
    }
}
