//! The records of gateways that serve one client each: `<state>/calls/<name>.jsonl`, and beside it a lock file that shows whether
//! the process lives. What a killed gateway left there is taken over by the next one that serves the same project.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::call_files::CallFile;
use crate::core::call_records::Left;
use crate::core::call_records::fate::{SetFacts, SetFate, fate_of_set};
use crate::limits::LEFTOVERS_AT_ONCE;
use crate::limits::hub::{LEFT_CALLS_MAX_AGE, OWN_RECORDS_RENEWED_MAX};
use crate::platform::host::{Host as _, RealHost, make_private_folder};
use crate::platform::lock_file::{self, Placed};

/// The records of this process, and the lock that shows that it lives.
#[derive(Debug)]
pub struct GatewayCalls {
    /// The records.
    pub file: Arc<CallFile>,
    lock: Mutex<File>,
    renewed: AtomicUsize,
}

fn folder_of(state: &Path) -> PathBuf {
    state.join("calls")
}

fn lock_of(records: &Path) -> PathBuf {
    records.with_extension("lock")
}

impl GatewayCalls {
    /// Creates the records of this process. `name`: a name that no other process has.
    ///
    /// # Errors
    /// The system's error.
    pub fn create(state: &Path, name: &str) -> io::Result<Self> {
        let path = folder_of(state).join(format!("{name}.jsonl"));
        let (lock, placed) = lock_new(&path)?;
        let file = CallFile::open(&path, name.to_owned(), placed)?;
        Ok(Self { file: Arc::new(file), lock: Mutex::new(lock), renewed: AtomicUsize::new(0) })
    }

    /// Makes new records of what is open, because the former ones are not this process's own any more: their folder was removed, or
    /// restored from a backup, for example. `name`: a name that no records had.
    ///
    /// # Errors
    /// The system's error, or this was done too often.
    pub fn renew(&self, name: &str) -> io::Result<()> {
        if self.renewed.fetch_add(1, Ordering::Relaxed) >= OWN_RECORDS_RENEWED_MAX {
            return Err(io::Error::other("the files were removed or replaced again and again"));
        }
        let path = self.file.path().with_file_name(format!("{name}.jsonl"));
        let (lock, placed) = lock_new(&path)?;
        self.file.move_to(path, placed)?;
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = lock;
        Ok(())
    }

    /// Ends the records at the end of the process. They stay if they have what a later gateway needs.
    pub fn end(&self) {
        if self.file.is_empty() && self.file.owned().is_ok() {
            remove(&self.file.path());
        }
    }
}

/// Takes the lock for new records.
fn lock_new(records: &Path) -> io::Result<(File, Placed)> {
    make_private_folder(records.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
    let lock = lock_file::open(&lock_of(records), true)?;
    lock.try_lock()?;
    let placed = Placed::of(&lock, &lock_of(records))?;
    Ok((lock, placed))
}

/// Removes records and their lock file. The caller must hold the lock.
fn remove(records: &Path) {
    let _ = fs::remove_file(records);
    let _ = fs::remove_file(lock_of(records));
}

/// Moves what gateways that do not live any more left of calls to this project's editor into `own`, and returns it, and whether
/// other gateways live. Takes the calls of this `client` only. Looks at most into [`LEFTOVERS_AT_ONCE`] files.
pub fn take_over(state: &Path, own: &CallFile, project: &Path, client: Option<&str>) -> (Vec<Left>, bool) {
    let files = RealHost.list(&folder_of(state)).unwrap_or_default();
    let mut records: Vec<(PathBuf, SystemTime)> =
        files.into_iter().filter(|(path, _)| path.extension().is_some_and(|extension| extension == "jsonl")).collect();
    let own_path = own.path();
    records.retain(|(path, _)| *path != own_path);
    records.sort();
    let (mut taken, mut others_live) = (Vec::new(), false);
    for (path, changed) in records.into_iter().take(LEFTOVERS_AT_ONCE) {
        let lock = lock_dead(&path);
        let seen = SetFacts {
            is_free: lock.is_some(),
            age: RealHost.now().duration_since(changed).unwrap_or_default(),
            bytes: path.symlink_metadata().map_or(0, |meta| meta.len()),
            is_copy: false,
        };
        match fate_of_set(seen) {
            SetFate::Lives => {
                others_live = true;
                continue;
            }
            SetFate::Removed => {
                remove(&path);
                continue;
            }
            SetFate::Stays => continue,
            SetFate::TakenOver => {}
        }
        let Ok(file) = CallFile::reopen(&path) else { continue };
        if fate_of_set(SetFacts { is_copy: file.is_copy, ..seen }) != SetFate::TakenOver {
            continue;
        }
        file.tidy(Duration::ZERO, LEFT_CALLS_MAX_AGE);
        for left in file.left().into_iter().filter(|left| left.is_for(project, client)) {
            // What cannot be written to this gateway's own records stays where it is.
            if own.take_in(&left).is_ok() {
                file.forget(left.sent.call);
                taken.push(left);
            }
        }
        if file.is_empty() {
            drop(file);
            remove(&path);
        }
    }
    (taken, others_live)
}

/// Takes the lock of records whose process does not live any more. `None` if it lives, or that cannot be decided.
fn lock_dead(records: &Path) -> Option<File> {
    // A missing lock file is created, because records may be removed only while their lock is held.
    let lock = lock_file::open(&lock_of(records), true).ok()?;
    lock.try_lock().ok()?;
    lock_file::is_at(&lock, &lock_of(records)).then_some(lock)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::core::call_records::{Origin, SentCall};
    use crate::protocol::ids::CallId;

    /// Leaves the records of a gateway of client A that was killed so long ago. `told`: which of its calls A asks for by their ids.
    fn left(state: &Path, ago: Duration, told: [bool; 2]) {
        let killed = GatewayCalls::create(state, "killed").unwrap();
        for (number, told) in (1..).zip(told) {
            let call = CallId::from_random([number; 16]);
            let origin = Origin { session: "s".into(), number: number.into() };
            let (tool, project) = (Arc::from("count"), Some(Path::new("/Castle").into()));
            let client = ("A".into(), "1".into());
            let sent = SentCall { origin, call, tool, project, journal: None, repeatable: false, client };
            killed.file.sent(sent).unwrap();
            if told {
                killed.file.told(call);
            }
        }
        File::options().write(true).open(killed.file.path()).unwrap().set_modified(RealHost.now() - ago).unwrap();
    }

    fn taken(state: &Path, client: &str) -> Vec<bool> {
        let own = GatewayCalls::create(state, client).unwrap();
        let (taken, _) = take_over(state, &own.file, Path::new("/Castle"), Some(client));
        own.end();
        taken.iter().map(|left| left.told).collect()
    }

    #[test]
    fn what_a_client_left_stays_for_that_client() {
        let state = tempfile::tempdir().unwrap();
        left(state.path(), Duration::from_secs(60), [true, false]);
        assert!(taken(state.path(), "B").is_empty());
        left(state.path(), LEFT_CALLS_MAX_AGE / 2, [true, false]);
        assert!(taken(state.path(), "B").is_empty(), "A may come back after a weekend");
        assert_eq!(taken(state.path(), "A"), [true, false]);
    }

    #[test]
    fn an_answer_that_nobody_got_is_kept_while_its_gateway_lives() {
        let state = tempfile::tempdir().unwrap();
        let own = GatewayCalls::create(state.path(), "own").unwrap();
        left(state.path(), Duration::from_secs(1), [false, false]);
        let (taken, _) = take_over(state.path(), &own.file, Path::new("/Castle"), Some("A"));
        own.file.answered(taken[0].sent.call, "[]", (false, false));
        own.file.tidy(Duration::from_secs(3600), LEFT_CALLS_MAX_AGE);
        assert_eq!(own.file.left().len(), 2);
        own.file.tidy(LEFT_CALLS_MAX_AGE, LEFT_CALLS_MAX_AGE);
        assert_eq!(own.file.left().len(), 1, "what is open stays");
    }
}
