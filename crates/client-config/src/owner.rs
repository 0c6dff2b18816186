//! Keeps the owner of the files that a command writes, even if it runs under `sudo`.

use std::fs;
use std::io;
use std::path::Path;

/// The user and group that own a file or should own it. A command under `sudo` must not change who owns a user's files.
#[derive(Debug, Clone, Copy)]
pub struct Owner {
    #[cfg(unix)]
    ids: Option<(u32, u32)>,
    /// Whether the file has other names (hard links).
    pub(crate) other_names: bool,
}

#[cfg(unix)]
impl Owner {
    /// Returns the owner of a file; if the file does not exist yet, of the nearest existing folder above it.
    pub fn of(path: &Path) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let own = fs::metadata(path).ok();
        let other_names = own.as_ref().is_some_and(|meta| meta.nlink() > 1);
        let near = own.or_else(|| path.ancestors().skip(1).find_map(|folder| fs::metadata(folder).ok()));
        Self { ids: near.map(|meta| (meta.uid(), meta.gid())), other_names }
    }

    /// Gives a file or folder that we created to this owner.
    pub(crate) fn give(self, path: &Path) -> io::Result<()> {
        use std::os::unix::fs::MetadataExt as _;
        let Some((user, group)) = self.ids else { return Ok(()) };
        let meta = fs::metadata(path)?;
        if (meta.uid(), meta.gid()) == (user, group) {
            return Ok(());
        }
        std::os::unix::fs::chown(path, Some(user), Some(group))?;
        // Some systems clear mode bits when the owner changes.
        fs::set_permissions(path, meta.permissions())
    }

    /// Creates a folder and its missing parents, and gives them to this owner.
    pub(crate) fn create_folders(self, folder: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
        fs::create_dir_all(folder)?;
        for made in missing {
            // If a folder cannot be given to the owner, only the user who started this program can write there.
            let _ = self.give(made);
        }
        Ok(())
    }
}

#[cfg(not(unix))]
impl Owner {
    /// Owners are not tracked on this system.
    pub fn of(_path: &Path) -> Self {
        Self { other_names: false }
    }

    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "a new file there belongs to its folder's owner")]
    pub(crate) fn give(self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    #[expect(clippy::unused_self, reason = "as on other systems")]
    pub(crate) fn create_folders(self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)
    }
}

impl Owner {
    /// Gives a folder that we created to this owner, with everything in it.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn give_all(self, folder: &Path) -> io::Result<()> {
        self.give(folder)?;
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() { self.give_all(&path)? } else { self.give(&path)? }
        }
        Ok(())
    }
}
