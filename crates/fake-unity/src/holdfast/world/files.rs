//! The files below `Assets`: in memory, or on disk in a project folder that a fake editor made.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::limits::{ASSET_LEVELS_MAX, ASSETS_MAX, ASSETS_MAX_BYTES};

/// The root of all assets.
pub(crate) const ASSETS: &str = "Assets";

/// The files. A folder has no content.
pub(crate) struct Files {
    /// The project's folder; `None`: all is in memory.
    root: Option<PathBuf>,
    memory: BTreeMap<String, Option<Vec<u8>>>,
}

fn full() -> io::Error {
    io::Error::new(
        io::ErrorKind::StorageFull,
        format!("the simulated project has at most {ASSETS_MAX} files with {ASSETS_MAX_BYTES} bytes in all"),
    )
}

impl Files {
    pub(crate) fn new(root: Option<PathBuf>) -> Self {
        Self { root, memory: BTreeMap::from([(ASSETS.to_owned(), None)]) }
    }

    /// Returns the paths of all files and folders below `Assets`, sorted. Links are not followed, and what Unity ignores is left out.
    pub(crate) fn all(&self) -> Vec<String> {
        let Some(root) = &self.root else {
            return self.memory.keys().filter(|path| *path != ASSETS).cloned().collect();
        };
        let mut found = Vec::new();
        collect(root, ASSETS, ASSET_LEVELS_MAX, &mut found);
        found.sort();
        found
    }

    fn place(&self, path: &str) -> Option<PathBuf> {
        let root = self.root.as_ref()?;
        // A link may lead out of the folder that the fake editor made.
        let linked = Path::new(path).ancestors().any(|part| root.join(part).is_symlink());
        (!linked).then(|| root.join(path))
    }

    /// Returns the content of a file; `None` if there is no such file.
    pub(crate) fn read(&self, path: &str) -> Option<Vec<u8>> {
        match &self.root {
            None => self.memory.get(path).cloned().flatten(),
            Some(_) => std::fs::read(self.place(path)?).ok(),
        }
    }

    /// Returns a file as text; `None` if there is no such file, or it is none in UTF-8.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        String::from_utf8(self.read(path)?).ok()
    }

    pub(crate) fn is_folder(&self, path: &str) -> bool {
        match &self.root {
            None => self.memory.get(path) == Some(&None),
            Some(_) => self.place(path).is_some_and(|place| place.is_dir()),
        }
    }

    pub(crate) fn is_file(&self, path: &str) -> bool {
        match &self.root {
            None => matches!(self.memory.get(path), Some(Some(_))),
            Some(_) => self.place(path).is_some_and(|place| place.is_file()),
        }
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.is_file(path) || self.is_folder(path)
    }

    /// Whether there is the folder in which this file is or would be.
    pub(crate) fn has_folder(&self, path: &str) -> bool {
        path.rsplit_once('/').is_some_and(|(folder, _)| self.is_folder(folder))
    }

    /// Writes a file, and makes the folders on the way.
    ///
    /// # Errors
    /// `StorageFull` if the simulated project is full, or any error of the system.
    pub(crate) fn write(&mut self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let before = self.all();
        let size: usize = before.iter().filter(|one| *one != path).map(|one| self.size(one)).sum();
        if size + bytes.len() > ASSETS_MAX_BYTES || (before.len() >= ASSETS_MAX && !self.is_file(path)) {
            return Err(full());
        }
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.create_folder(folder)?;
        }
        match self.root {
            Some(_) => std::fs::write(self.writable(path)?, bytes),
            None => {
                self.memory.insert(path.to_owned(), Some(bytes.to_vec()));
                Ok(())
            }
        }
    }

    fn size(&self, path: &str) -> usize {
        match &self.root {
            None => self.memory.get(path).and_then(Option::as_ref).map_or(0, Vec::len),
            Some(root) => {
                let file = root.join(path).symlink_metadata().ok().filter(std::fs::Metadata::is_file);
                file.map_or(0, |file| usize::try_from(file.len()).unwrap_or(usize::MAX))
            }
        }
    }

    fn writable(&self, path: &str) -> io::Result<PathBuf> {
        self.place(path).ok_or_else(|| io::Error::new(io::ErrorKind::PermissionDenied, "a link is in its path"))
    }

    /// Makes a folder, and those on the way.
    ///
    /// # Errors
    /// `StorageFull` if the simulated project is full, or any error of the system.
    pub(crate) fn create_folder(&mut self, path: &str) -> io::Result<()> {
        if self.is_folder(path) {
            return Ok(());
        }
        if self.all().len() >= ASSETS_MAX || path.split('/').count() > ASSET_LEVELS_MAX {
            return Err(full());
        }
        if self.root.is_some() {
            return std::fs::create_dir_all(self.writable(path)?);
        }
        for (end, _) in path.match_indices('/').chain([(path.len(), "")]) {
            self.memory.entry(path.get(..end).unwrap_or_default().to_owned()).or_insert(None);
        }
        Ok(())
    }

    /// The file or folder with all that is below it.
    pub(crate) fn tree(&self, path: &str) -> Vec<String> {
        let below = format!("{path}/");
        self.all().into_iter().filter(|one| one == path || one.starts_with(&below)).collect()
    }

    /// Moves a file, or a folder with all that is in it.
    ///
    /// # Errors
    /// Any error of the system.
    pub(crate) fn rename(&mut self, path: &str, to: &str) -> io::Result<()> {
        if self.root.is_some() {
            return std::fs::rename(self.writable(path)?, self.writable(to)?);
        }
        for from in self.tree(path) {
            let rest = from.strip_prefix(path).unwrap_or_default();
            if let Some(content) = self.memory.remove(&from) {
                self.memory.insert(format!("{to}{rest}"), content);
            }
        }
        Ok(())
    }

    /// Copies a file, or a folder with all that is in it.
    ///
    /// # Errors
    /// `StorageFull` if the simulated project is full, or any error of the system.
    pub(crate) fn copy(&mut self, path: &str, to: &str) -> io::Result<()> {
        for from in self.tree(path) {
            let target = format!("{to}{}", from.strip_prefix(path).unwrap_or_default());
            match self.read(&from) {
                Some(bytes) => self.write(&target, &bytes)?,
                None => self.create_folder(&target)?,
            }
        }
        Ok(())
    }

    /// Removes a file, or a folder with all that is in it. The model has no trash; on disk, the folder is one that a fake editor
    /// made.
    ///
    /// # Errors
    /// Any error of the system.
    pub(crate) fn remove(&mut self, path: &str) -> io::Result<()> {
        if self.root.is_some() {
            let place = self.writable(path)?;
            return if place.is_dir() { std::fs::remove_dir_all(place) } else { std::fs::remove_file(place) };
        }
        self.tree(path).iter().for_each(|one| drop(self.memory.remove(one)));
        Ok(())
    }
}

fn collect(root: &Path, folder: &str, levels: usize, found: &mut Vec<String>) {
    let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
    for entry in entries {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let Ok(kind) = entry.file_type() else { continue };
        if name.starts_with('.')
            || name.ends_with('~')
            || name.ends_with(".meta")
            || kind.is_symlink()
            || found.len() >= ASSETS_MAX
        {
            continue;
        }
        let path = format!("{folder}/{name}");
        found.push(path.clone());
        if kind.is_dir() && levels > 0 {
            collect(root, &path, levels - 1, found);
        }
    }
}
