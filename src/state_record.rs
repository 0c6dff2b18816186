//! Records of running processes in the state folder: `<folder>/<pid>.json`, one a process, beside a lock that says whether the
//! process lives. A lock and no pid: a killed process leaves its record behind, and pids are used again.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::host::Host;

/// Our own record, and the lock that says that we live.
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
    /// Takes the lock beside `path`; held as long as this lives. Nothing is written yet.
    ///
    /// # Errors
    /// As the system says, or that another process holds it.
    pub async fn claim(host: &Arc<dyn Host>, path: PathBuf) -> io::Result<Self> {
        let (at, writer) = (lock_of(&path), Arc::clone(host));
        let claimed = crate::host::run(&**host, move || {
            writer.write(&at, b"")?;
            let file = OpenOptions::new().write(true).open(&at)?;
            file.try_lock().map_err(io::Error::from)?;
            Ok::<_, io::Error>(file)
        });
        let lock = claimed.await.unwrap_or_else(|| Err(io::ErrorKind::Interrupted.into()))?;
        Ok(Self { path, _lock: lock })
    }

    /// Writes the record, whole or not at all.
    ///
    /// # Errors
    /// As the system says.
    pub async fn write(&self, host: &Arc<dyn Host>, bytes: Vec<u8>) -> io::Result<()> {
        let (path, writer) = (self.path.clone(), Arc::clone(host));
        let written = crate::host::run(&**host, move || writer.write(&path, &bytes));
        written.await.unwrap_or_else(|| Err(io::ErrorKind::Interrupted.into()))
    }
}

/// Removes a record and its lock.
pub fn remove(record: &Path) {
    let _ = std::fs::remove_file(record);
    let _ = std::fs::remove_file(lock_of(record));
}

/// The records of processes that live, by name; what dead ones left behind is removed on the way.
pub fn living(host: &dyn Host, folder: &Path) -> Vec<PathBuf> {
    let files = host.list(folder).unwrap_or_default().into_iter().map(|(path, _)| path);
    let mut records: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect();
    records.retain(|path| {
        let held = OpenOptions::new().write(true).open(lock_of(path)).is_ok_and(|file| file.try_lock().is_err());
        if !held {
            remove(path);
        }
        held
    });
    records.sort();
    records
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::RealHost;

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
        // As after a kill: the file stays, the lock falls.
        drop(record);
        assert!(living(&RealHost, folder.path()).is_empty());
        assert!(!path.exists() && !lock_of(&path).exists() && foreign.exists());
    }
}
