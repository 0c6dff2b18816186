//! Kinds of file systems, whether a file is there, and who may read it.

use std::io;
use std::path::Path;

/// Whether this error says that a file is not there. Below a path that is no folder nothing can exist: a home that is
/// `/dev/null` has no files.
pub fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns the kind of the file system of a folder, if its file locks do not reach every process that may use the
/// folder. Such processes may be on other machines, or on the other side of a virtual machine. The folder need not
/// exist. `None` if locks are reliable, or if the kind is not known.
#[cfg(target_os = "linux")]
pub fn unreliable_locks(folder: &Path) -> Option<&'static str> {
    // The numbers are in `include/uapi/linux/magic.h` of the kernel, and of cifs in `fs/smb/client/cifsglob.h`.
    const KINDS: [(u32, &str); 6] = [
        (0x6969, "NFS"),
        (0x0102_1997, "9p (a folder of Windows seen from WSL, or of a virtual machine's host)"),
        (0x517B, "SMB"),
        (0xFF53_4D42, "CIFS"),
        (0xFE53_4D42, "SMB"),
        (0x6573_5546, "FUSE (such as sshfs)"),
    ];
    let stat = folder.ancestors().find_map(|folder| rustix::fs::statfs(folder).ok())?;
    // The type of the field differs between machines; the numbers fit into 32 bits.
    let kind = u32::try_from(i128::from(stat.f_type) & 0xFFFF_FFFF).ok()?;
    KINDS.iter().find(|(number, _)| *number == kind).map(|(_, name)| *name)
}

/// Returns the kind of the file system that a folder is on, if locks there are not reliable. Only looked up on Linux.
#[cfg(not(target_os = "linux"))]
pub fn unreliable_locks(_folder: &Path) -> Option<&'static str> {
    None
}

/// Returns how many bytes this user may still write where a folder is, or would be. `None` if that is not known; not looked up on
/// Windows.
#[cfg(unix)]
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let stat = folder.ancestors().find_map(|folder| rustix::fs::statvfs(folder).ok())?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Returns how many bytes this user may still write where a folder is. Not looked up on Windows.
#[cfg(not(unix))]
pub fn free_bytes(_folder: &Path) -> Option<u64> {
    None
}

/// Whether other users may read or write a file, by its mode or because it belongs to another user. False if nothing is
/// there. On Windows this is not looked up: a file in the user's own folders is private.
#[cfg(unix)]
pub fn others_may_read(file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(meta) = file.metadata() else { return false };
    let is_own = meta.uid() == rustix::process::geteuid().as_raw() || meta.uid() == 0;
    meta.mode() & 0o077 != 0 || !is_own
}

/// Whether other users may read or write a file. Not looked up on Windows.
#[cfg(not(unix))]
pub fn others_may_read(_file: &Path) -> bool {
    false
}

/// Returns the number of the user who owns a folder, if it is not the user of this process. `None` if nothing is there.
#[cfg(unix)]
pub fn foreign_owner(folder: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    let owner = folder.metadata().ok()?.uid();
    (owner != rustix::process::geteuid().as_raw()).then_some(owner)
}

/// Returns the number of the user who owns a folder, if it is not the user of this process. Not looked up on Windows.
#[cfg(not(unix))]
pub fn foreign_owner(_folder: &Path) -> Option<u32> {
    None
}
