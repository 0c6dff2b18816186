//! The operating system, as far as folders and paths depend on it. It is a value, so that tests can check one system's rules on
//! another system.

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

    /// Whether a path is absolute by the rules of this system. Exact if it is the system on which the program runs. For another
    /// system, which only tests ask about, a `/` or a drive at the beginning of the path decides.
    pub fn is_absolute(self, path: &Path) -> bool {
        if self == Self::HERE {
            return path.is_absolute();
        }
        let text = path.to_string_lossy();
        text.starts_with('/') || text.get(1..3) == Some(":\\")
    }
}
