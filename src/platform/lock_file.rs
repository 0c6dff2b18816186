//! Files that exist only to be locked: the process that holds the lock is alive.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Opens a lock file. Creates it if it is missing and `make` is set. Never blocks and never follows a link, as anything may be at
/// the path, even a FIFO.
///
/// # Errors
/// The system's error; `InvalidData` if the path is not a regular file.
pub fn open(path: &Path, make: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(make).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    let not_regular = || io::Error::new(io::ErrorKind::InvalidData, "not a regular file");
    let file = match options.open(path) {
        // To open a FIFO for writing fails here if nobody reads it, since the open must not wait. Other errors are the
        // system's own.
        Err(_) if path.symlink_metadata().is_ok_and(|meta| !meta.is_file()) => return Err(not_regular()),
        opened => opened?,
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

/// An open file as the system knows it, and the path that it must be found at. Somebody may remove the file there or
/// put another one in its place. A process that goes on with the open file then works with a file that nobody else
/// sees.
#[derive(Debug)]
pub struct Placed {
    path: PathBuf,
    #[cfg(unix)]
    file: (u64, u64),
    #[cfg(not(unix))]
    file: same_file::Handle,
}

impl Placed {
    /// Returns what is known of an open file that is at this path.
    ///
    /// # Errors
    /// The system's error.
    pub fn of(file: &File, path: &Path) -> io::Result<Self> {
        #[cfg(unix)]
        let file = identity(&file.metadata()?);
        #[cfg(not(unix))]
        let file = same_file::Handle::from_file(file.try_clone()?)?;
        Ok(Self { path: path.to_path_buf(), file })
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the length of the file; `None` if another file is at its path by now, or if that cannot be found out.
    pub fn len_there(&self) -> Option<u64> {
        let meta = self.path.symlink_metadata().ok()?;
        #[cfg(unix)]
        let is_same = identity(&meta) == self.file;
        // Windows, too, removes an open file if it was opened with shared deletion.
        #[cfg(not(unix))]
        let is_same =
            super::host::in_a_moment(|| same_file::Handle::from_path(&self.path)).is_ok_and(|there| there == self.file);
        is_same.then_some(meta.len())
    }

    /// Whether the file is still the one at its path.
    pub fn is_there(&self) -> bool {
        self.len_there().is_some()
    }
}

/// Returns device and inode.
#[cfg(unix)]
fn identity(meta: &std::fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (meta.dev(), meta.ino())
}

/// Returns a number that a copy of the file does not have.
#[cfg(unix)]
pub fn number_of(file: &File) -> Option<u64> {
    file.metadata().ok().map(|meta| identity(&meta).1)
}

/// Returns a number that a copy of the file does not have. Not looked up on Windows.
#[cfg(not(unix))]
pub fn number_of(_file: &File) -> Option<u64> {
    None
}

/// Whether the file is still the one at this path. It may have been removed after it was opened and before it was locked.
pub fn is_at(file: &File, path: &Path) -> bool {
    Placed::of(file, path).is_ok_and(|placed| placed.is_there())
}
