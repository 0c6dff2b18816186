//! What a run takes place in: ports, folders, and how far it has come.

use std::path::PathBuf;
use std::time::Duration;

/// The first port of the first editor.
pub(super) const PORT: u16 = 8701;
/// With several editors: the number of ports that lead to each. Some packages use a later port when they start.
pub(super) const PORTS_EACH: u16 = 100;
/// How often the sizes of queues are measured, in virtual time.
pub(super) const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Faults may happen.
    Running,
    /// All faults have ended.
    Healed,
    /// The gateway has ended.
    Finish,
    /// The editor has counted how often each call ran.
    Counted,
}

/// The project's folder. It exists on the real disk with two empty folders; its files are on the simulated machine.
pub(super) fn project() -> PathBuf {
    folder("holdfast-simulated-project")
}

/// A project that no editor has open.
pub(super) fn other_project() -> PathBuf {
    folder("holdfast-simulated-other-project")
}

pub(crate) fn folder(name: &str) -> PathBuf {
    let project = std::env::temp_dir().join(name);
    for folder in ["Assets", "ProjectSettings"] {
        // If this fails, the gateway finds no project, and the run reports that.
        let _ = std::fs::create_dir_all(project.join(folder));
    }
    holdfast::config::canonical(&project).unwrap_or(project)
}
