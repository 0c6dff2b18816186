//! Files that exist only to be locked: the process that holds the lock is alive.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

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
        // Opening a FIFO that nobody reads for writing fails here, since the open must not wait. Other errors are the system's
        // own.
        Err(_) if path.symlink_metadata().is_ok_and(|meta| !meta.is_file()) => return Err(not_regular()),
        opened => opened?,
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

/// Whether the file is still the one at this path. It may have been removed after it was opened and before it was locked.
#[cfg(unix)]
pub fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let inode = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
    file.metadata().map(inode).ok() == path.symlink_metadata().map(inode).ok()
}

/// Whether the file is still the one at this path. Windows, too, removes an open file if it was opened with shared deletion.
#[cfg(not(unix))]
pub fn is_at(file: &File, path: &Path) -> bool {
    let ours = file.try_clone().and_then(same_file::Handle::from_file);
    matches!((ours, same_file::Handle::from_path(path)), (Ok(ours), Ok(there)) if ours == there)
}
