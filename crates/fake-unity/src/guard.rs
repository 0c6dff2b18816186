//! What a fake editor may change in a directory on disk. A real project must not suffer from it: its files are committed, and Unity
//! believes them.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// Path of the mark, relative to the project's root, where nobody clears it away with what Unity makes.
const MARK: &str = ".holdfast-fake-unity.json";

/// What the mark says. It is written before a file is made, so that it also holds after a kill.
#[derive(Default, Serialize, Deserialize)]
struct Mark {
    /// Whether a fake editor made the whole directory. Then every file in it may be changed.
    whole: bool,
    /// The same of its folder `Temp`.
    temp: bool,
    /// The files that fake editors made in somebody else's project, relative to its root, with `/`.
    made: BTreeSet<String>,
}

/// Keeps a fake editor away from files that somebody else made.
pub(crate) struct Guard {
    root: PathBuf,
    mark: Mutex<Mark>,
    /// Files that were left alone.
    left: Mutex<BTreeSet<String>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Guard {
    /// `was_there`: whether the directory had `Assets` before. A directory with `Assets` and without a mark is somebody else's.
    ///
    /// # Errors
    /// Any error of the system about the mark.
    pub(crate) fn of(root: &Path, was_there: bool) -> io::Result<Self> {
        let mark = match std::fs::read(root.join(MARK)) {
            // A mark that cannot be read allows nothing.
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let empty = std::fs::read_dir(root.join("Temp")).map_or(true, |mut files| files.next().is_none());
                Mark { whole: !was_there, temp: empty, made: BTreeSet::new() }
            }
            Err(error) => return Err(error),
        };
        let guard = Self { root: root.to_path_buf(), mark: Mutex::new(mark), left: Mutex::default() };
        guard.save(&locked(&guard.mark))?;
        Ok(guard)
    }

    fn owns(mark: &Mark, path: &str) -> bool {
        mark.whole || (mark.temp && path.starts_with("Temp/")) || mark.made.contains(path)
    }

    fn save(&self, mark: &Mark) -> io::Result<()> {
        let path = self.root.join(MARK);
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(path, serde_json::to_vec(mark)?)
    }

    /// Whether this file is somebody else's. It is then left alone.
    pub(crate) fn leaves(&self, path: &str) -> bool {
        let foreign = !Self::owns(&locked(&self.mark), path) && self.root.join(path).symlink_metadata().is_ok();
        if foreign {
            locked(&self.left).insert(path.to_owned());
        }
        foreign
    }

    /// Remembers that the fake editor makes this file.
    ///
    /// # Errors
    /// `AlreadyExists` if somebody else made it, or any error of the system about the mark.
    pub(crate) fn claim(&self, path: &str) -> io::Result<()> {
        if self.leaves(path) {
            let why = format!(
                "{} was there before, in a project that no fake editor made, so it is not changed, and without that no fake editor can \
                 run here. Name a folder of its own with --project; it is made",
                self.root.join(path).display()
            );
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        let mut mark = locked(&self.mark);
        if Self::owns(&mark, path) {
            return Ok(());
        }
        mark.made.insert(path.to_owned());
        self.save(&mark)
    }

    pub(crate) fn left_alone(&self) -> Vec<String> {
        locked(&self.left).iter().cloned().collect()
    }

    /// Removes `Temp`, as an editor does when it quits, and from somebody else's project, of which files were left alone, everything
    /// that the fake editor made.
    ///
    /// # Errors
    /// Any error of the system.
    pub(crate) fn quit(&self) -> io::Result<()> {
        let mut mark = locked(&self.mark);
        if mark.whole || mark.temp {
            gone_is_fine(std::fs::remove_dir_all(self.root.join("Temp")))?;
        }
        if mark.whole || locked(&self.left).is_empty() {
            return Ok(());
        }
        for path in std::mem::take(&mut mark.made).iter().map(String::as_str).chain([MARK]) {
            let path = self.root.join(path);
            gone_is_fine(std::fs::remove_file(&path))?;
            // Only empty folders can be removed so.
            let folders = path.ancestors().skip(1).take_while(|folder| **folder != *self.root);
            let _ = folders.map(std::fs::remove_dir).find(Result::is_err);
        }
        Ok(())
    }
}

/// A file that is gone already need not be removed.
pub(crate) fn gone_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
