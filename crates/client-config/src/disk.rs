//! The file operations that the caller must provide.

use std::io;
use std::path::{Path, PathBuf};

/// Two operations that the standard library does not do well on Windows. The caller passes them in as functions, so that its
/// program has one implementation of each.
#[derive(Debug, Clone, Copy)]
pub struct Disk {
    /// Returns the canonical form of a path as people write it (on Windows without the prefix `\\?\` if it can be left out), or
    /// `None` if the path does not exist.
    pub canonical: fn(&Path) -> Option<PathBuf>,
    /// Moves a file onto another one. Windows refuses this for a moment while a virus scanner has one of the two files open.
    pub rename: fn(&Path, &Path) -> io::Result<()>,
}

#[cfg(test)]
impl Disk {
    /// The standard library's operations.
    pub(crate) const PLAIN: Self =
        Self { canonical: |path| path.canonicalize().ok(), rename: |from, to| std::fs::rename(from, to) };
}
