//! What this crate leaves to its user's own layer over the file system.

use std::io;
use std::path::{Path, PathBuf};

/// Two operations that the standard library leaves rough on Windows, as functions so that a program has one way to do each.
#[derive(Debug, Clone, Copy)]
pub struct Disk {
    /// Returns the canonical form of a path as people write it (on Windows without the prefix `\\?\` where it can be left out), or
    /// `None` if nothing is there.
    pub canonical: fn(&Path) -> Option<PathBuf>,
    /// Moves a file onto another one. Windows refuses that for a moment while a virus scanner has one of them open.
    pub rename: fn(&Path, &Path) -> io::Result<()>,
}

#[cfg(test)]
impl Disk {
    /// What the standard library does.
    pub(crate) const PLAIN: Self =
        Self { canonical: |path| path.canonicalize().ok(), rename: |from, to| std::fs::rename(from, to) };
}
