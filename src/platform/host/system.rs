//! The operating system, as far as it decides folders and paths. A value, so that tests can check one system's rules on another.

use std::path::Path;

/// An operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Linux, and every system that is neither Windows nor macOS.
    Linux,
    /// macOS.
    Macos,
    /// Windows.
    Windows,
}

impl System {
    /// The system on which this runs.
    pub const HERE: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::Macos
    } else {
        Self::Linux
    };

    /// Whether a path is absolute. Exact for the system on which this runs. For another one, which only tests ask for, a `/` or a
    /// drive at the beginning decides.
    pub fn is_absolute(self, path: &Path) -> bool {
        if self == Self::HERE {
            return path.is_absolute();
        }
        let text = path.to_string_lossy();
        text.starts_with('/') || text.get(1..3) == Some(":\\")
    }
}
