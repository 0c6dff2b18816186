//! Puts the package into its place and takes it out. Unity sees one rename in each case.
//!
//! The new package is written into the work folder. If the system can exchange two folders, they are exchanged, so that the
//! project is never without a package. Otherwise the former package is first moved aside. Wherever a run is cut short, the place
//! has the old package, the new one, or (between the two renames) none, and then the work folder has the old one. [`Work::tidy`]
//! repairs that, also in the next run.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use holdfast_client_config::Owner;

use super::content::{RECORD, Record};
use super::embedded;
use super::project::Site;
use crate::limits::UNITY_LOCK_ATTEMPTS_MAX;
use crate::platform::host::{Host as _, RealHost};
use crate::platform::lock_file;

/// In the work folder: the package that is being written; after an exchange, the former package.
const NEW: &str = "new";
/// In the work folder: the former package, which is put back if the new one did not reach its place.
pub(super) const FORMER: &str = "former";
const GONE: &str = "gone";
/// In the work folder: the file that is locked by the process that is working.
const LOCK: &str = "lock";

#[derive(Debug, thiserror::Error)]
pub enum NotPlaced {
    #[error("another holdfast is installing into this project at this moment; run this again when it is done")]
    Busy,
    #[error("{} is in the way; remove it", .0.display())]
    InTheWay(PathBuf),
    #[error("{} cannot be {what} ({error}); if a program holds files there, run this again when it has let go of them", .path.display())]
    Refused {
        path: PathBuf,
        /// The operation, as a participle for the message.
        what: &'static str,
        error: io::Error,
    },
}

fn refused(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> NotPlaced {
    move |error| NotPlaced::Refused { path: path.to_path_buf(), what, error }
}

#[derive(Debug)]
pub struct Work<'a> {
    site: &'a Site,
    folder: PathBuf,
    lock: File,
}

impl<'a> Work<'a> {
    pub fn left_behind(site: &Site) -> bool {
        there(&site.work())
    }

    /// Creates and locks the work folder.
    pub fn begin(site: &'a Site) -> Result<Self, NotPlaced> {
        let (packages, folder) = (site.packages(), site.work());
        fs::create_dir_all(&packages).map_err(refused(&packages, "written"))?;
        let path = folder.join(LOCK);
        for _ in 0..UNITY_LOCK_ATTEMPTS_MAX {
            match fs::create_dir(&folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(refused(&folder, "written")(error));
                }
                _ => {}
            }
            for path in [&folder, &path] {
                if path.is_symlink() || (path == &folder && !path.is_dir()) {
                    return Err(NotPlaced::InTheWay(path.clone()));
                }
            }
            let lock = match lock_file::open(&path, true) {
                Ok(lock) => lock,
                // The process that held the lock has just removed the work folder.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(refused(&path, "written")(error)),
            };
            match lock.try_lock() {
                Ok(()) if lock_file::is_at(&lock, &path) => return Ok(Self { site, folder, lock }),
                Ok(()) => {}
                Err(fs::TryLockError::WouldBlock) => return Err(NotPlaced::Busy),
                Err(fs::TryLockError::Error(error)) => return Err(refused(&path, "locked")(error)),
            }
        }
        Err(NotPlaced::Busy)
    }

    /// Repairs what an earlier run, or this run, left behind: puts the former package back if its place is empty, and removes the
    /// rest. Returns whether a package was put back.
    pub fn tidy(&self) -> Result<bool, NotPlaced> {
        let (former, place) = (self.folder.join(FORMER), self.site.folder());
        let back = there(&former) && !there(&place);
        if back {
            RealHost.rename(&former, &place).map_err(refused(&place, "put back"))?;
        }
        for name in [NEW, FORMER, GONE] {
            let path = self.folder.join(name);
            if there(&path) {
                // With --force, the package's place may have contained a file instead of a folder.
                let remove = if path.is_dir() { fs::remove_dir_all } else { fs::remove_file };
                remove(&path).map_err(refused(&path, "removed"))?;
            }
        }
        Ok(back)
    }

    /// Puts this binary's package into its place and replaces what is there.
    pub fn install(&self) -> Result<(), NotPlaced> {
        let (new, place) = (self.folder.join(NEW), self.site.folder());
        write_package(&new).map_err(refused(&new, "written"))?;
        // If the owner cannot be changed, the files belong to this process's user, and Unity can still read them.
        let _ = Owner::of(&self.site.packages()).give_all(&new);
        if there(&place) {
            if exchange(&new, &place).is_ok() {
                return Ok(());
            }
            let former = self.folder.join(FORMER);
            RealHost.rename(&place, &former).map_err(refused(&place, "moved"))?;
        }
        RealHost.rename(&new, &place).map_err(refused(&place, "put into its place"))
    }

    pub fn remove(&self) -> Result<(), NotPlaced> {
        let place = self.site.folder();
        RealHost.rename(&place, &self.folder.join(GONE)).map_err(refused(&place, "moved"))
    }

    pub fn end(self) -> Result<(), NotPlaced> {
        self.tidy()?;
        let path = self.folder.join(LOCK);
        // The lock's file is removed while it is locked: after the unlock it may be another process's file.
        fs::remove_file(&path).map_err(refused(&path, "removed"))?;
        drop(self.lock);
        // This fails if another process has just created its lock in the folder. In that case the folder stays.
        let _ = fs::remove_dir(&self.folder);
        Ok(())
    }
}

/// Whether anything exists at a path. A link counts even if its target does not exist.
fn there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Writes the package and its record into a new folder and syncs them, so that the package is complete after a power failure.
fn write_package(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)?;
    let record = Record::this().bytes();
    let files = embedded::files().iter().map(|(path, bytes)| (embedded::native(path), *bytes));
    let files: Vec<_> = files.chain([(PathBuf::from(RECORD), record.as_slice())]).collect();
    for (path, bytes) in &files {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        OpenOptions::new().write(true).create_new(true).open(path)?.write_all(bytes)?;
    }
    // The files are synced after all are written: the first sync then often writes many of the other files too.
    files.iter().try_for_each(|(path, _)| OpenOptions::new().write(true).open(folder.join(path))?.sync_all())
}

/// Exchanges two folders in one step. Fails on a system that cannot.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn exchange(_one: &Path, _other: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests the two renames of a system without an exchange: interrupted between them, as when the new package cannot be moved
    /// into the place.
    #[test]
    fn a_former_package_goes_back_when_its_successor_does_not_arrive() {
        let project = tempfile::tempdir().unwrap();
        let site = Site::new(project.path().to_path_buf());
        fs::create_dir_all(site.folder()).unwrap();
        fs::write(site.folder().join("package.json"), "{}").unwrap();
        let work = Work::begin(&site).unwrap();
        fs::rename(site.folder(), work.folder.join(FORMER)).unwrap();
        assert!(work.tidy().unwrap());
        assert_eq!(fs::read(site.folder().join("package.json")).unwrap(), b"{}");
        work.end().unwrap();
        assert!(!site.work().exists());
    }

    #[test]
    fn one_at_a_time_works_on_a_project() {
        let project = tempfile::tempdir().unwrap();
        let site = Site::new(project.path().to_path_buf());
        let work = Work::begin(&site).unwrap();
        assert!(matches!(Work::begin(&site), Err(NotPlaced::Busy)));
        work.end().unwrap();
        Work::begin(&site).unwrap().end().unwrap();
    }
}
