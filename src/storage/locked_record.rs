//! Records of running processes in the state folder: `<folder>/<pid>.json`, one for each process, each with a lock file. A held
//! lock shows that the process is alive. The pid alone is not enough: a killed process leaves its record behind, and systems
//! reuse pids.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::limits::{CLAIM_ATTEMPTS, CLAIM_PAUSE, LEFTOVERS_AT_ONCE, TEMPORARY_MAX_AGE};
use crate::platform::host::{Host, System, is_held, is_temporary};
use crate::platform::lock_file;

/// The record of this process, and the lock that shows that the process is alive. Dropping this value removes both files.
#[derive(Debug)]
pub struct StateRecord {
    path: PathBuf,
    _lock: File,
}

/// Who can read a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Only the user of this process.
    Owner,
    /// Every user of the machine.
    All,
}

/// Returns the path of this process's record in a folder.
pub fn path_in(folder: &Path) -> PathBuf {
    folder.join(format!("{}.json", std::process::id()))
}

fn lock_of(record: &Path) -> PathBuf {
    record.with_extension("lock")
}

impl StateRecord {
    /// Takes the lock for `path` and holds it until this value is dropped. Removes a record that an earlier process with this pid
    /// left. Does not write a record yet.
    ///
    /// # Errors
    /// The system's error. It is an error too if another process holds the lock.
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
                // A process that checks whether this process is alive holds the lock for a moment, and may remove it.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::time::sleep(CLAIM_PAUSE).await,
                // Windows refuses to open a lock file that was removed while another process has it open.
                Err(error) if is_held(System::HERE, &error) => {
                    held = error;
                    tokio::time::sleep(CLAIM_PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
        Err(held)
    }

    /// Writes the record atomically, as a private file.
    ///
    /// # Errors
    /// The system's error.
    pub async fn write(&self, host: &Arc<dyn Host>, bytes: Vec<u8>) -> io::Result<()> {
        self.write_for(host, Readers::Owner, bytes).await
    }

    /// Writes the record atomically, for these readers.
    ///
    /// # Errors
    /// The system's error.
    pub async fn write_for(&self, host: &Arc<dyn Host>, readers: Readers, bytes: Vec<u8>) -> io::Result<()> {
        let (path, writer) = (self.path.clone(), Arc::clone(host));
        let written = crate::platform::host::run(&**host, move || match readers {
            Readers::Owner => writer.write(&path, &bytes),
            Readers::All => writer.publish(&path, &bytes),
        });
        written.await.unwrap_or_else(|| Err(io::ErrorKind::Interrupted.into()))
    }
}

impl Drop for StateRecord {
    /// The files are removed while the lock is held, so they cannot belong to another process.
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

/// Removes a record and its lock file. The caller must hold the lock.
fn remove(record: &Path) {
    let _ = std::fs::remove_file(record);
    let _ = std::fs::remove_file(lock_of(record));
}

/// Whether the process of a record is alive. Removes the record of a dead process. `None` if it cannot be decided.
pub fn lives(record: &Path) -> Option<bool> {
    // A missing lock file is created, because a record may be removed only while its lock is held.
    judge(record, lock_file::open(&lock_of(record), true))
}

fn judge(record: &Path, lock: io::Result<File>) -> Option<bool> {
    match lock {
        Ok(lock) => match lock.try_lock() {
            // Another process has removed this lock file, and a new process with the same pid may have created its own.
            Ok(()) if !lock_file::is_at(&lock, &lock_of(record)) => return None,
            // The files are removed while the lock is held: a new process with the same pid then sees that its lock file is gone,
            // and creates another.
            Ok(()) => remove(record),
            Err(TryLockError::WouldBlock) => return Some(true),
            Err(TryLockError::Error(_)) => return None,
        },
        // The file at the path is not a lock file, so no process holds it. Any other error (no descriptors, no
        // permission) proves nothing.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => remove(record),
        Err(_) => return None,
    }
    Some(false)
}

/// Returns the sorted paths of the records in a folder, of living and of dead processes. Includes the path that belongs to a lock
/// file without a record.
fn records(host: &dyn Host, folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let files = host.list(folder).unwrap_or_default();
    // A lock file without a record belongs to a process that is just starting, or was left behind.
    let is_ours = |path: &PathBuf| {
        let number = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.strip_prefix(prefix));
        let numbered = number.is_some_and(|number| number.parse::<u32>().is_ok());
        numbered && path.extension().is_some_and(|extension| extension == "json" || extension == "lock")
    };
    let mut records: Vec<PathBuf> =
        files.into_iter().map(|(path, _)| path).filter(is_ours).map(|path| path.with_extension("json")).collect();
    records.sort();
    records.dedup();
    records
}

/// Returns the sorted records of living processes. Removes the records of dead ones.
pub fn living(host: &dyn Host, folder: &Path) -> Vec<PathBuf> {
    living_with(host, folder, "")
}

/// Returns the sorted paths of the records of living processes, whether they are written or not.
pub fn held(host: &dyn Host, folder: &Path) -> Vec<PathBuf> {
    records(host, folder, "").into_iter().filter(|record| lives(record) == Some(true)).collect()
}

/// As [`living`], for records whose names begin with `prefix`. The folder may not be holdfast's alone, so other files
/// stay.
pub fn living_with(host: &dyn Host, folder: &Path, prefix: &str) -> Vec<PathBuf> {
    records(host, folder, prefix)
        .into_iter()
        .filter(|record| lives(record) == Some(true) && host.exists(record))
        .collect()
}

/// Removes what killed processes left in the state folder: at most [`LEFTOVERS_AT_ONCE`] files of each kind in each of its
/// folders.
pub fn reap(host: &dyn Host, state: &Path) {
    for name in ["run", "metrics"] {
        let records = records(host, &state.join(name), "").into_iter();
        records.filter(|record| lives(record) == Some(false)).take(LEFTOVERS_AT_ONCE).for_each(drop);
    }
    for name in ["run", "metrics", "catalogues", "results"] {
        remove_temporaries(host, &state.join(name));
    }
}

/// Removes old temporary files of writes that were interrupted ([`Host::write`] creates such files).
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
        // The states after a kill: both files are still there and the lock is free, or only one of them is there.
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
        // The other process may have the same pid in another container.
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
            // An earlier process with this pid left its files, and another process examines them while this process starts.
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
