//! The operating system, as far as folders and paths go. A value, so that what holds on one system is tested on another.

use std::path::Path;

/// An operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Linux and its kin.
    Linux,
    /// macOS.
    Macos,
    /// Windows.
    Windows,
}

impl System {
    /// The one this runs on.
    pub const HERE: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::Macos
    } else {
        Self::Linux
    };

    /// Whether a path names its place without a working directory. Exact for the system this runs on; for another one, which only
    /// tests ask for, a `/` or a drive at its beginning decides.
    pub fn is_absolute(self, path: &Path) -> bool {
        if self == Self::HERE {
            return path.is_absolute();
        }
        let text = path.to_string_lossy();
        text.starts_with('/') || text.get(1..3) == Some(":\\")
    }
}
