//! Whose the files are that a command writes: `sudo` must not take them from their owner.

use std::fs;
use std::io;
use std::path::Path;

/// Whose a file is, or is to be: `sudo` must not take a user's configuration from him.
#[derive(Debug, Clone, Copy)]
pub struct Owner {
    #[cfg(unix)]
    ids: Option<(u32, u32)>,
    /// The file has other names (hard links).
    pub other_names: bool,
}

#[cfg(unix)]
impl Owner {
    /// Of a file, or of the nearest folder if there is none yet.
    pub fn of(path: &Path) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let own = fs::metadata(path).ok();
        let other_names = own.as_ref().is_some_and(|meta| meta.nlink() > 1);
        let near = own.or_else(|| path.ancestors().skip(1).find_map(|folder| fs::metadata(folder).ok()));
        Self { ids: near.map(|meta| (meta.uid(), meta.gid())), other_names }
    }

    /// Makes a file or folder that we made his.
    pub fn give(self, path: &Path) -> io::Result<()> {
        use std::os::unix::fs::MetadataExt as _;
        let Some((user, group)) = self.ids else { return Ok(()) };
        let meta = fs::metadata(path)?;
        if (meta.uid(), meta.gid()) == (user, group) {
            return Ok(());
        }
        std::os::unix::fs::chown(path, Some(user), Some(group))?;
        // Some systems take bits away with the owner.
        fs::set_permissions(path, meta.permissions())
    }

    /// Makes a folder, and those above it that are missing, his.
    pub fn create_folders(self, folder: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
        fs::create_dir_all(folder)?;
        for made in missing {
            // If they stay ours, only who started this can write there.
            let _ = self.give(made);
        }
        Ok(())
    }
}

#[cfg(not(unix))]
impl Owner {
    pub fn of(_path: &Path) -> Self {
        Self { other_names: false }
    }

    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "a new file there belongs to its folder's owner")]
    pub fn give(self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    #[expect(clippy::unused_self, reason = "as on other systems")]
    pub fn create_folders(self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)
    }
}

impl Owner {
    /// Makes a folder that we made his, with all that is in it.
    pub fn give_all(self, folder: &Path) -> io::Result<()> {
        self.give(folder)?;
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() { self.give_all(&path)? } else { self.give(&path)? }
        }
        Ok(())
    }
}
