//! The names of a log's files, and which of its lines tell whose it is.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use memchr::memmem;

use crate::platform::host::{Host as _, RealHost};

/// The events whose lines tell whose log it is. They are repeated at the beginning of each file, so that they are not lost when an
/// older file is replaced.
const HEADS: [&str; 2] = ["gateway_started", "project_found"];

/// Whether a line is one of those that are repeated.
pub(super) fn is_head(line: &[u8]) -> bool {
    HEADS.iter().any(|name| memmem::find(line, format!("\"event\":\"{name}\"").as_bytes()).is_some())
}

/// The log of one gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    pub(super) folder: PathBuf,
    pub(super) name: String,
}

impl LogFile {
    /// The file with the newest lines.
    pub fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.jsonl", self.name))
    }

    pub(super) fn path_before(&self) -> PathBuf {
        self.folder.join(format!("{}.1.jsonl", self.name))
    }

    pub(super) fn numbers(&self) -> Option<(u64, u32)> {
        let (started, pid) = self.name.split_once('-')?;
        Some((started.parse().ok()?, pid.parse().ok()?))
    }

    /// The process id of the gateway.
    pub fn pid(&self) -> u32 {
        self.numbers().map(|(_, pid)| pid).unwrap_or_default()
    }

    /// When the gateway started.
    pub fn started(&self) -> SystemTime {
        let millis = self.numbers().map(|(started, _)| started).unwrap_or_default();
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(millis)).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    pub(super) fn changed(&self) -> Option<SystemTime> {
        RealHost.changed(&self.path()).or_else(|| RealHost.changed(&self.path_before()))
    }
}
