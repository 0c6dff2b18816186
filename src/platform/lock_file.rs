//! Files that are only there to be locked: whoever holds the lock lives.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens such a file, made if it is not there and `make` says so. Never waits and never follows a link: what lies there may be
/// anything, a FIFO too.
///
/// # Errors
/// As the system says; `InvalidData` for something that is no regular file.
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
        // A FIFO that nobody reads cannot be opened for writing without waiting; other errors are the system's.
        Err(_) if path.symlink_metadata().is_ok_and(|meta| !meta.is_file()) => return Err(not_regular()),
        opened => opened?,
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

/// Whether the file is still the one at this path: it may have been taken away between opening and locking.
#[cfg(unix)]
pub fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let inode = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
    file.metadata().map(inode).ok() == path.symlink_metadata().map(inode).ok()
}

/// Whether the file is still the one at this path: also on Windows a file is taken away that somebody has open who shares that.
#[cfg(not(unix))]
pub fn is_at(file: &File, path: &Path) -> bool {
    let ours = file.try_clone().and_then(same_file::Handle::from_file);
    matches!((ours, same_file::Handle::from_path(path)), (Ok(ours), Ok(there)) if ours == there)
}
