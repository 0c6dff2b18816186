//! The ids that commands gave to their calls, each as a file. An id is taken once, so that a script that is run again does not run its
//! call again. When the call has ended, the file says how.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::limits::commands::{CALL_ID_KEPT, CALL_ID_OUTCOME_MAX_BYTES, CALL_IDS_MAX};
use crate::platform::host::{Host as _, RealHost};
use crate::platform::lock_file;
use crate::protocol::ids::CallId;

/// The lock of the folder. No folder of ids has this name.
const LOCK: &str = "lock";

/// Takes an id. Returns false if it was taken before.
///
/// # Errors
/// That of the system; [`io::ErrorKind::QuotaExceeded`] if there are too many ids, [`io::ErrorKind::WouldBlock`] if another process has
/// the folder at the moment. Then nothing is taken, and the id may have been taken before.
pub fn take(state: &Path, id: CallId) -> io::Result<bool> {
    let path = place(state, id);
    if fs::symlink_metadata(&path).is_ok() && !is_old(&path) {
        return Ok(false);
    }
    let folder = path.parent().unwrap_or(state);
    fs::create_dir_all(folder)?;
    // Who removes an old id must not remove the one that another process took in its place just now.
    let _lock = locked(&state.join("ids").join(LOCK))?;
    if tidied(folder)? >= CALL_IDS_MAX {
        return Err(io::Error::new(
            io::ErrorKind::QuotaExceeded,
            format!("{} has {CALL_IDS_MAX} ids of the last days", folder.display()),
        ));
    }
    match File::create_new(&path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Gives an id back. Only for a call of which it is certain that it did not run.
pub fn give_back(state: &Path, id: CallId) {
    let _ = fs::remove_file(place(state, id));
}

/// Keeps how the call of a taken id ended, as one line of JSON.
///
/// # Errors
/// That of the system, or [`io::ErrorKind::FileTooLarge`] if the line is longer than [`CALL_ID_OUTCOME_MAX_BYTES`].
pub fn keep(state: &Path, id: CallId, outcome: &str) -> io::Result<()> {
    if outcome.len() > CALL_ID_OUTCOME_MAX_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    RealHost.write(&place(state, id), outcome.as_bytes())
}

/// Returns how the call of an id ended, if that is kept.
pub fn kept(state: &Path, id: CallId) -> Option<String> {
    let bytes = RealHost.read(&place(state, id), CALL_ID_OUTCOME_MAX_BYTES).ok()?;
    String::from_utf8(bytes).ok().filter(|outcome| !outcome.is_empty())
}

/// The ids are in 256 folders, by their last digits, so that each look at one is short. Ids that somebody counts up differ there.
fn place(state: &Path, id: CallId) -> PathBuf {
    let name = id.to_string();
    state.join("ids").join(name.get(name.len() - 2..).unwrap_or_default()).join(name)
}

/// Removes the ids that are too old to matter. Returns how many are left.
fn tidied(folder: &Path) -> io::Result<usize> {
    let mut left = 0;
    for entry in fs::read_dir(folder)?.flatten() {
        let path = entry.path();
        if !is_old(&path) || fs::remove_file(path).is_err() {
            left += 1;
        }
    }
    Ok(left)
}

fn is_old(path: &Path) -> bool {
    let written = fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    written.is_ok_and(|written| RealHost.now().duration_since(written).is_ok_and(|age| age > CALL_ID_KEPT))
}

/// The system frees the lock when the file is closed, also when its process is killed.
fn locked(path: &Path) -> io::Result<File> {
    let file = lock_file::open(path, true)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_taken_once_until_it_is_given_back_or_old() {
        let state = tempfile::tempdir().unwrap();
        let (one, other) = (CallId::from_random([7; 16]), CallId::from_random([8; 16]));
        assert!(take(state.path(), one).unwrap());
        assert!(!take(state.path(), one).unwrap());
        assert!(take(state.path(), other).unwrap());
        assert_eq!(kept(state.path(), one), None);
        keep(state.path(), one, "{}").unwrap();
        assert_eq!(kept(state.path(), one).as_deref(), Some("{}"));
        let long = " ".repeat(CALL_ID_OUTCOME_MAX_BYTES + 1);
        assert_eq!(keep(state.path(), one, &long).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert!(!take(state.path(), one).unwrap());
        give_back(state.path(), one);
        assert!(take(state.path(), one).unwrap());
        let before = RealHost.now() - CALL_ID_KEPT - std::time::Duration::from_secs(60);
        File::options().write(true).open(place(state.path(), one)).unwrap().set_modified(before).unwrap();
        assert!(take(state.path(), one).unwrap(), "an old one is forgotten");
    }

    #[test]
    fn a_full_folder_takes_no_more() {
        let state = tempfile::tempdir().unwrap();
        let one = CallId::from_random([7; 16]);
        let folder = place(state.path(), one).parent().unwrap().to_path_buf();
        fs::create_dir_all(&folder).unwrap();
        for number in 0..CALL_IDS_MAX {
            File::create(folder.join(number.to_string())).unwrap();
        }
        assert_eq!(take(state.path(), one).unwrap_err().kind(), io::ErrorKind::QuotaExceeded);
        File::create(place(state.path(), one)).unwrap();
        assert!(!take(state.path(), one).unwrap(), "it is known to be taken");
    }
}
