//! What a fake editor may change in a directory on disk. A real project must not suffer from it: its files are committed, and Unity
//! believes them.

use std::collections::BTreeSet;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// Path of the mark, relative to the project's root, where nobody clears it away with what Unity makes.
const MARK: &str = ".holdfast-fake-unity.json";

/// What the mark says. It is written before a file is made, so that it also holds after a kill.
#[derive(Default, Serialize, Deserialize)]
struct Mark {
    /// The directory that the mark is for. One that came with somebody's copy says nothing.
    root: PathBuf,
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

fn refusal(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, why)
}

/// Whether the directory is missing or has nothing in it.
pub(crate) fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).map_or(true, |mut files| files.next().is_none())
}

/// Whether a path leads nowhere but down.
fn leads_down(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

impl Guard {
    /// `root`: the directory, without links. `was_empty`: whether it was missing or empty before; any other directory without a mark
    /// is somebody else's.
    ///
    /// # Errors
    /// `AlreadyExists` if something else has the mark's place, or any error of the system about the mark.
    pub(crate) fn of(root: &Path, was_empty: bool) -> io::Result<Self> {
        let path = root.join(MARK);
        let found = match path.symlink_metadata() {
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let read = || serde_json::from_slice(&std::fs::read(&path).ok()?).ok();
        let mark: Option<Mark> = match found {
            None => None,
            Some(found) if !found.is_file() => return Err(refusal(format!("{} is no regular file", path.display()))),
            Some(_) => Some(read().ok_or_else(|| refusal(format!("{} is no mark of a fake editor", path.display())))?),
        };
        let mark = mark.filter(|mark| mark.root == root && mark.made.iter().all(|path| leads_down(path)));
        let mark = mark.unwrap_or_else(|| Mark {
            root: root.to_path_buf(),
            whole: was_empty,
            temp: is_empty(&root.join("Temp")),
            made: BTreeSet::new(),
        });
        let guard = Self { root: root.to_path_buf(), mark: Mutex::new(mark), left: Mutex::default() };
        guard.save(&locked(&guard.mark))?;
        Ok(guard)
    }

    fn owns(mark: &Mark, path: &str) -> bool {
        mark.whole || (mark.temp && path.starts_with("Temp/")) || mark.made.contains(path)
    }

    fn save(&self, mark: &Mark) -> io::Result<()> {
        // A rename replaces the mark itself, never what a link in its place leads to.
        let temporary = self.root.join(format!("{MARK}.{:08x}.tmp", fastrand::u32(..)));
        let written = std::fs::write(&temporary, serde_json::to_vec(mark)?);
        let done = written.and_then(|()| std::fs::rename(&temporary, self.root.join(MARK)));
        done.inspect_err(|_| drop(std::fs::remove_file(&temporary)))
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
            return Err(refusal(why));
        }
        let mut mark = locked(&self.mark);
        if Self::owns(&mark, path) {
            return Ok(());
        }
        mark.made.insert(path.to_owned());
        self.save(&mark)
    }

    /// Whether a fake editor made the whole directory.
    pub(crate) fn is_whole(&self) -> bool {
        locked(&self.mark).whole
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
        let owns_temp = {
            let mark = locked(&self.mark);
            mark.whole || mark.temp
        };
        if owns_temp {
            gone_is_fine(std::fs::remove_dir_all(self.root.join("Temp")))?;
        }
        if locked(&self.left).is_empty() { Ok(()) } else { self.take_back() }
    }

    /// Removes everything that the fake editor made in somebody else's project, and the mark.
    ///
    /// # Errors
    /// Any error of the system.
    pub(crate) fn take_back(&self) -> io::Result<()> {
        let mut mark = locked(&self.mark);
        if mark.whole {
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
