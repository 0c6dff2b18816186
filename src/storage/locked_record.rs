//! Records of running processes in the state folder: `<folder>/<pid>.json`, one a process, beside a lock that says whether the
//! process lives. A lock and no pid: a killed process leaves its record behind, and pids are used again.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::limits::{CLAIM_ATTEMPTS, CLAIM_PAUSE, LEFTOVERS_AT_ONCE, TEMPORARY_MAX_AGE};
use crate::platform::host::{Host, System, is_held, is_temporary};
use crate::platform::lock_file;

/// Our own record, and the lock that says that we live. Both files go with it.
#[derive(Debug)]
pub struct StateRecord {
    path: PathBuf,
    _lock: File,
}

/// The path of this process's record in a folder.
pub fn path_in(folder: &Path) -> PathBuf {
    folder.join(format!("{}.json", std::process::id()))
}

fn lock_of(record: &Path) -> PathBuf {
    record.with_extension("lock")
}

impl StateRecord {
    /// Takes the lock beside `path`; held as long as this lives. Nothing is written yet, and what a former process of this pid
    /// left there is gone.
    ///
    /// # Errors
    /// As the system says, or that another process holds it.
    pub async fn claim(host: &Arc<dyn Host>, path: PathBuf) -> io::Result<Self> {
        let mut held = io::Error::new(io::ErrorKind::WouldBlock, "another process holds it");
        for _ in 0..CLAIM_ATTEMPTS {
            let at = lock_of(&path);
            let locked = crate::platform::host::run(&**host, move || try_claim(&at)).await;
            match locked.unwrap_or_else(|| Err(io::ErrorKind::Interrupted.into())) {
                Ok(lock) => {
                    let _ = std::fs::remove_file(&path);
                    return Ok(Self { path, _lock: lock });
                }
                // A process that looks whether this one lives holds it for a moment, and may take it away.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::time::sleep(CLAIM_PAUSE).await,
                // Windows refuses a lock that was taken away and is still open somewhere.
                Err(error) if is_held(System::HERE, &error) => {
                    held = error;
                    tokio::time::sleep(CLAIM_PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
        Err(held)
    }

    /// Writes the record, whole or not at all.
    ///
    /// # Errors
    /// As the system says.
    pub async fn write(&self, host: &Arc<dyn Host>, bytes: Vec<u8>) -> io::Result<()> {
        let (path, writer) = (self.path.clone(), Arc::clone(host));
        let written = crate::platform::host::run(&**host, move || writer.write(&path, &bytes));
        written.await.unwrap_or_else(|| Err(io::ErrorKind::Interrupted.into()))
    }
}

impl Drop for StateRecord {
    /// While the lock is held: nobody else's files can be at this path.
    fn drop(&mut self) {
        remove(&self.path);
    }
}

fn try_claim(at: &Path) -> io::Result<File> {
    crate::platform::host::make_private_folder(at.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
    let lock = lock_file::open(at, true)?;
    lock.try_lock().map_err(io::Error::from)?;
    if lock_file::is_at(&lock, at) { Ok(lock) } else { Err(io::ErrorKind::WouldBlock.into()) }
}

/// Removes a record and its lock. Only whoever holds the lock may.
fn remove(record: &Path) {
    let _ = std::fs::remove_file(record);
    let _ = std::fs::remove_file(lock_of(record));
}

/// Whether the process of a record lives; what a dead one left behind is removed. `None` where that cannot be told.
fn lives(record: &Path) -> Option<bool> {
    // Made where it is gone: without it nobody may remove the record.
    judge(record, lock_file::open(&lock_of(record), true))
}

fn judge(record: &Path, lock: io::Result<File>) -> Option<bool> {
    match lock {
        Ok(lock) => match lock.try_lock() {
            // Another one looked as well and took it away: a process of the same pid may have made its own meanwhile.
            Ok(()) if !lock_file::is_at(&lock, &lock_of(record)) => return None,
            // Removed while it is held: a process of the same pid that is just starting sees that its lock is gone, and makes
            // another one.
            Ok(()) => remove(record),
            Err(TryLockError::WouldBlock) => return Some(true),
            Err(TryLockError::Error(_)) => return None,
        },
        // No lock can be there, so nobody holds it. Any other error (no descriptors, no permission) says nothing.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => remove(record),
        Err(_) => return None,
    }
    Some(false)
}

/// The records in a folder, by name: of living and of dead processes, and where there is only a lock.
fn records(host: &dyn Host, folder: &Path) -> Vec<PathBuf> {
    let files = host.list(folder).unwrap_or_default();
    // A lock without a record is a process that is just starting, or what is left of one.
    let is_ours = |path: &PathBuf| {
        let numbered = path.file_stem().and_then(|stem| stem.to_str()).is_some_and(|stem| stem.parse::<u32>().is_ok());
        numbered && path.extension().is_some_and(|extension| extension == "json" || extension == "lock")
    };
    let mut records: Vec<PathBuf> =
        files.into_iter().map(|(path, _)| path).filter(is_ours).map(|path| path.with_extension("json")).collect();
    records.sort();
    records.dedup();
    records
}

/// The records of processes that live, by name; what dead ones left behind is removed on the way.
pub fn living(host: &dyn Host, folder: &Path) -> Vec<PathBuf> {
    records(host, folder).into_iter().filter(|record| lives(record) == Some(true) && host.exists(record)).collect()
}

/// Removes what killed processes left in the state folder, a bounded number of files in each of its folders.
pub fn reap(host: &dyn Host, state: &Path) {
    for name in ["run", "metrics"] {
        let records = records(host, &state.join(name)).into_iter();
        records.filter(|record| lives(record) == Some(false)).take(LEFTOVERS_AT_ONCE).for_each(drop);
    }
    for name in ["run", "metrics", "catalogues", "results"] {
        remove_temporaries(host, &state.join(name));
    }
}

/// Removes the temporary files of writes that were cut off long ago ([`Host::write`] makes them).
pub fn remove_temporaries(host: &dyn Host, folder: &Path) {
    let now = host.now();
    let old = |changed: SystemTime| now.duration_since(changed).is_ok_and(|age| age > TEMPORARY_MAX_AGE);
    let files = host.list(folder).unwrap_or_default().into_iter();
    for (path, _) in files.filter(|(path, changed)| is_temporary(path) && old(*changed)).take(LEFTOVERS_AT_ONCE) {
        let _ = host.remove(&path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::host::RealHost;

    #[tokio::test]
    async fn a_record_lives_as_long_as_its_lock_and_is_reaped_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let host: Arc<dyn Host> = Arc::new(RealHost);
        let path = path_in(folder.path());
        let record = StateRecord::claim(&host, path.clone()).await.unwrap();
        assert!(living(&RealHost, folder.path()).is_empty(), "nothing is written yet");
        record.write(&host, b"[]".to_vec()).await.unwrap();
        let foreign = folder.path().join("last.prom");
        std::fs::write(&foreign, "x 1\n").unwrap();
        assert_eq!(living(&RealHost, folder.path()), std::slice::from_ref(&path));
        drop(record);
        assert!(!path.exists() && !lock_of(&path).exists(), "it goes with its process");
        // As after a kill: the files stay, the lock falls; or only one of them stays.
        for left in [vec![&path], vec![&lock_of(&path)], vec![&path, &lock_of(&path)]] {
            left.iter().for_each(|file| std::fs::write(file, "{}").unwrap());
            assert!(living(&RealHost, folder.path()).is_empty());
            assert!(!path.exists() && !lock_of(&path).exists() && foreign.exists());
        }
    }

    #[tokio::test]
    async fn whoever_looks_late_takes_nothing_from_the_next_process_of_the_pid() {
        let folder = tempfile::tempdir().unwrap();
        let host: Arc<dyn Host> = Arc::new(RealHost);
        let path = path_in(folder.path());
        std::fs::write(&path, "{}").unwrap();
        std::fs::write(lock_of(&path), "").unwrap();
        let late = lock_file::open(&lock_of(&path), false);
        assert!(living(&RealHost, folder.path()).is_empty(), "another one looks, and removes what is left");
        let record = StateRecord::claim(&host, path.clone()).await.unwrap();
        record.write(&host, b"[]".to_vec()).await.unwrap();
        assert_eq!(judge(&path, late), None);
        assert_eq!(living(&RealHost, folder.path()), std::slice::from_ref(&path));
    }

    #[tokio::test]
    async fn who_cannot_claim_a_record_does_not_remove_it() {
        let folder = tempfile::tempdir().unwrap();
        let host: Arc<dyn Host> = Arc::new(RealHost);
        let path = path_in(folder.path());
        // The same pid in another container, say.
        let other = StateRecord::claim(&host, path.clone()).await.unwrap();
        other.write(&host, b"[]".to_vec()).await.unwrap();
        assert!(StateRecord::claim(&host, path.clone()).await.is_err());
        assert_eq!(living(&RealHost, folder.path()), std::slice::from_ref(&path));
    }

    #[tokio::test]
    async fn a_process_that_is_just_starting_is_not_reaped_though_its_pid_left_a_record() {
        let folder = tempfile::tempdir().unwrap();
        let host: Arc<dyn Host> = Arc::new(RealHost);
        let path = path_in(folder.path());
        for _ in 0..200 {
            // What a former process of this pid left behind, and somebody who looks while we start.
            std::fs::write(&path, "{}").unwrap();
            std::fs::write(lock_of(&path), "").unwrap();
            let looking = folder.path().to_path_buf();
            let looks = std::thread::spawn(move || (0..5).for_each(|_| drop(living(&RealHost, &looking))));
            let record = StateRecord::claim(&host, path.clone()).await.unwrap();
            record.write(&host, b"[]".to_vec()).await.unwrap();
            looks.join().unwrap();
            assert_eq!(living(&RealHost, folder.path()), std::slice::from_ref(&path));
            drop(record);
        }
    }

    #[test]
    fn what_killed_processes_left_is_removed_and_nothing_else() {
        let state = tempfile::tempdir().unwrap();
        let old = SystemTime::UNIX_EPOCH;
        let make = |name: &str, changed: Option<SystemTime>| {
            let path = state.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let file = File::create(&path).unwrap();
            changed.into_iter().for_each(|at| file.set_modified(at).unwrap());
            path
        };
        let tag = "0123456789abcdef0123456789abcdef";
        let gone = [
            make("run/1.json", None),
            make("run/1.lock", None),
            make("run/2.lock", None),
            make("metrics/3.json", None),
            make(&format!("run/.{tag}.tmp"), Some(old)),
            make(&format!("results/.{tag}.tmp"), Some(old)),
            make(&format!("catalogues/.{tag}.tmp"), Some(old)),
        ];
        let kept = [
            make(&format!("results/.{tag}0.tmp"), Some(old)),
            make(&format!("results/.f{}.tmp", &tag[1..]), None),
            make("results/notes.tmp", Some(old)),
            make("run/notes.lock", Some(old)),
            make("last.prom", Some(old)),
            make(&format!(".{tag}.tmp"), Some(old)),
        ];
        let held = make("run/4.lock", None);
        let lock = lock_file::open(&held, false).unwrap();
        lock.try_lock().unwrap();
        reap(&RealHost, state.path());
        for path in gone {
            assert!(!path.exists(), "{}", path.display());
        }
        for path in kept.iter().chain([&held]) {
            assert!(path.exists(), "{}", path.display());
        }
    }

    #[test]
    fn so_many_leftovers_are_removed_at_once_and_the_rest_by_the_next() {
        let state = tempfile::tempdir().unwrap();
        let folders = ["run", "metrics", "results"].map(|name| state.path().join(name));
        let number = LEFTOVERS_AT_ONCE + 7;
        for folder in &folders {
            std::fs::create_dir(folder).unwrap();
        }
        for at in 0..number {
            std::fs::write(folders[0].join(format!("{at}.lock")), "").unwrap();
            std::fs::write(folders[1].join(format!("{at}.json")), "{}").unwrap();
            std::fs::write(folders[1].join(format!("{at}.lock")), "").unwrap();
            let temporary = File::create(folders[2].join(format!(".{at:032x}.tmp"))).unwrap();
            temporary.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
        let left = || folders.each_ref().map(|folder| std::fs::read_dir(folder).unwrap().count());
        reap(&RealHost, state.path());
        assert_eq!(left(), [7, 2 * 7, 7]);
        reap(&RealHost, state.path());
        assert_eq!(left(), [0, 0, 0]);
    }

    #[cfg(unix)]
    #[test]
    fn a_fifo_in_the_place_of_a_lock_holds_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().join("7.json");
        std::fs::write(&record, "{}").unwrap();
        nix::unistd::mkfifo(&lock_of(&record), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(living(&RealHost, folder.path()).is_empty());
        assert!(!record.exists());
    }
}
