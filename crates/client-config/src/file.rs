//! A configuration on disk. It is read as a whole and replaced as a whole, and a copy of its first state is kept next to it.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::clients::Client;
use crate::disk::Disk;
use crate::limits::FILE_MAX_BYTES;
use crate::owner::Owner;
use crate::places::Places;

const BOM: &str = "\u{feff}";

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system refused to read the file.
    #[error("{} cannot be read ({error})", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's message.
        error: io::Error,
    },
    /// The path is a folder, a pipe or a device.
    #[error("{} is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// The file is larger than any client's configuration.
    #[error("{} is larger than {FILE_MAX_BYTES} bytes", .0.display())]
    TooLarge(PathBuf),
    /// The file is not UTF-8, for example UTF-16 from Notepad.
    #[error("{} is not UTF-8 text", .0.display())]
    NotUtf8(PathBuf),
    /// The first path is a link to the second, which does not exist.
    #[error("{} is a link to {}, which does not exist", .0.display(), .1.display())]
    Dangling(PathBuf, PathBuf),
    /// The first path is in a project and leads to the second, outside of the project. A project must not make holdfast change a
    /// file elsewhere.
    #[error("{} lies outside of the project, at {}, through a link in it; a project's links are not followed out of it", .0.display(), .1.display())]
    Outside(PathBuf, PathBuf),
}

/// A file with the content that it had when it was read.
#[derive(Debug)]
pub struct Original {
    /// The real path. Links of the user are followed: some users keep configurations in a separate folder and link to them, and a
    /// rename onto the link would replace the link.
    pub path: PathBuf,
    /// The file's content; `None` if there is no file.
    bytes: Option<Vec<u8>>,
    permissions: Option<Permissions>,
    disk: Disk,
}

impl Original {
    /// Reads a client's file. A project's configuration is read only if it is inside the project.
    ///
    /// # Errors
    /// Returns [`ReadError`].
    pub fn of(client: &Client, named: &Path, places: &Places) -> Result<Self, ReadError> {
        Self::read(named, places.project.as_deref().filter(|_| places.of_project(client)), places.disk)
    }

    /// Reads a file. With `project`, only if the file is inside of it.
    ///
    /// # Errors
    /// Returns [`ReadError`].
    pub fn read(named: &Path, project: Option<&Path>, disk: Disk) -> Result<Self, ReadError> {
        let path = real(named, disk)?;
        if let Some(project) = project.map(|project| (disk.canonical)(project).unwrap_or_else(|| project.to_path_buf()))
            && !path.starts_with(&project)
        {
            return Err(ReadError::Outside(named.to_path_buf(), path));
        }
        let unreadable = |error| ReadError::Unreadable { path: path.clone(), error };
        let meta = match fs::metadata(&path) {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { path, bytes: None, permissions: None, disk });
            }
            Err(error) => return Err(unreadable(error)),
        };
        // The check comes before the file is opened, because opening a pipe waits for its writer.
        if !meta.is_file() {
            return Err(ReadError::NotAFile(path));
        }
        let bytes = bounded(&path).map_err(unreadable)?.ok_or_else(|| ReadError::TooLarge(path.clone()))?;
        if std::str::from_utf8(&bytes).is_err() {
            return Err(ReadError::NotUtf8(path));
        }
        Ok(Self { path, bytes: Some(bytes), permissions: Some(meta.permissions()), disk })
    }

    /// Whether the file exists.
    pub fn exists(&self) -> bool {
        self.bytes.is_some()
    }

    /// Returns the text without a byte order mark.
    pub fn text(&self) -> &str {
        let text = self.bytes.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default();
        text.strip_prefix(BOM).unwrap_or(text)
    }

    /// Whether the file begins with a byte order mark. Some clients cannot read such a file (Claude Desktop then writes it anew,
    /// without any server), and every client can read it without the mark.
    pub fn has_mark(&self) -> bool {
        self.bytes.as_deref().is_some_and(|bytes| bytes.starts_with(BOM.as_bytes()))
    }

    /// Returns the path of the copy of the first state.
    pub fn backup_path(&self) -> PathBuf {
        let mut name = self.path.file_name().map(OsString::from).unwrap_or_default();
        name.push(".holdfast-backup");
        self.path.with_file_name(name)
    }

    /// Returns the copy of the first state; `None` if it does not exist or cannot be read.
    pub fn backup(&self) -> Option<Self> {
        let path = self.backup_path();
        let meta = path.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
        let bytes = bounded(&path).ok().flatten()?;
        std::str::from_utf8(&bytes).ok()?;
        Some(Self { path, bytes: Some(bytes), permissions: Some(meta.permissions()), disk: self.disk })
    }

    /// Checks that a copy of the whole content is there, or that its name is free.
    ///
    /// # Errors
    /// Returns [`WriteError::BackupTaken`].
    pub(crate) fn can_be_saved(&self) -> Result<(), WriteError> {
        let backup = self.backup_path();
        let is_free = backup.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        if is_free || self.backup().is_some_and(|backup| backup.bytes == self.bytes) {
            return Ok(());
        }
        Err(WriteError::BackupTaken(self.path.clone(), backup))
    }

    /// Replaces the file's text, unless the file has changed since it was read. `keep`: the copy of the old content. `marked`: it gets a byte
    /// order mark. A text that is secret, and a copy of one, are written so that only the owner can read them.
    ///
    /// # Errors
    /// Returns [`WriteError`].
    pub fn replace(
        &self,
        text: &str,
        marked: bool,
        keep: Keep,
        is_secret: impl Fn(&str) -> bool,
    ) -> Result<Written, WriteError> {
        let permissions = |text: &str| {
            let own = self.permissions.clone();
            if is_secret(text) { own.map(private) } else { own }
        };
        if self.permissions.as_ref().is_some_and(Permissions::readonly) {
            return Err(WriteError::ReadOnly(self.path.clone()));
        }
        let refused = |error| WriteError::Refused { path: self.path.clone(), error };
        let folder = self.path.parent().ok_or_else(|| refused(io::ErrorKind::InvalidInput.into()))?;
        let owner = Owner::of(&self.path);
        owner.create_folders(folder).map_err(refused)?;
        self.unchanged()?;
        let written = match &self.bytes {
            None => Written::New,
            Some(_) if keep == Keep::Nothing => Written::Renewed,
            Some(bytes) => {
                let backup = self.backup_path();
                match create(&backup, bytes, permissions(self.text()).as_ref()) {
                    Ok(()) => {
                        // If the copy cannot be given to the file's owner, its content is still saved.
                        let _ = owner.give(&backup);
                        Written::BackedUp(backup)
                    }
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                        if keep == Keep::Whole {
                            self.can_be_saved()?;
                        }
                        if let Some(earlier) = self.backup().filter(|earlier| is_secret(earlier.text())) {
                            // Who wrote it may be another user. Then it stays as it is.
                            let _ = earlier.permissions.map(private).map(|wanted| fs::set_permissions(&backup, wanted));
                        }
                        Written::EarlierBackup(backup)
                    }
                    Err(error) => return Err(WriteError::Refused { path: backup, error }),
                }
            }
        };
        let temporary = folder.join(format!(".holdfast-{}-{:08x}.tmp", std::process::id(), fastrand::u32(..)));
        let bytes = [if marked { BOM.as_bytes() } else { &[] }, text.as_bytes()].concat();
        let wanted = permissions(text);
        let made = create(&temporary, &bytes, wanted.as_ref());
        // A rename would remove the file's other hard links, or make us its owner. In these cases the file is written in place.
        let in_place = self.exists() && made.is_ok() && (owner.other_names || owner.give(&temporary).is_err());
        let done = made.map_err(refused).and_then(|()| self.unchanged()).and_then(|()| {
            let done = if in_place {
                // Before the text is there. Another user's file keeps its mode.
                let _ = wanted.filter(|_| is_secret(text)).map(|wanted| fs::set_permissions(&self.path, wanted));
                overwrite(&self.path, &bytes)
            } else {
                (self.disk.rename)(&temporary, &self.path)
            };
            done.map_err(refused)
        });
        if done.is_err() || in_place {
            let _ = fs::remove_file(&temporary);
        }
        if done.is_ok() && !self.exists() {
            // If the file cannot be given to its owner, the user who started this program can still read it.
            let _ = owner.give(&self.path);
        }
        done.map(|()| written)
    }

    /// Removes the file, unless it has changed since it was read.
    ///
    /// # Errors
    /// Returns [`WriteError`].
    pub fn delete(&self) -> Result<(), WriteError> {
        self.unchanged()?;
        fs::remove_file(&self.path).map_err(|error| WriteError::Refused { path: self.path.clone(), error })
    }

    fn unchanged(&self) -> Result<(), WriteError> {
        let now = match bounded(&self.path) {
            Ok(now) => now,
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(WriteError::Refused { path: self.path.clone(), error }),
        };
        if now == self.bytes { Ok(()) } else { Err(WriteError::Changed(self.path.clone())) }
    }
}

/// Writes a file in place. A copy of its first state is next to it.
fn overwrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).open(path)?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}

/// Which copy of a file's content must be next to it before the file is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// None: the content is ours.
    Nothing,
    /// The content before our first change. Later changes leave it as it is.
    First,
    /// The content as it is now. If another one is in the copy's place, the file is not replaced.
    Whole,
}

/// What a write left next to the file.
#[derive(Debug, PartialEq, Eq)]
pub enum Written {
    /// Nothing: there was no file before.
    New,
    /// Nothing: what was there before was ours.
    Renewed,
    /// A copy of the previous content, at this path.
    BackedUp(PathBuf),
    /// An earlier copy, at this path. It is kept, because it is the state before the first change.
    EarlierBackup(PathBuf),
}

/// Why a write failed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Another program wrote the file after it was read.
    #[error("{} was changed by another program at the same time", .0.display())]
    Changed(PathBuf),
    /// The file is marked as read-only, presumably on purpose.
    #[error("{} is read-only", .0.display())]
    ReadOnly(PathBuf),
    /// The first file is a person's, and the second one is where a copy of it would be kept.
    #[error(
        "{} was not written by holdfast, and {}, where a copy of it would be kept, is there already with another content; move one of the \
         two away",
        .0.display(), .1.display()
    )]
    BackupTaken(PathBuf, PathBuf),
    /// The system refused to write the file.
    #[error("{} cannot be written ({error})", .path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// The system's message.
        error: io::Error,
    },
}

/// Resolves links. The file need not exist, but a link to a missing file is an error.
fn real(named: &Path, disk: Disk) -> Result<PathBuf, ReadError> {
    if let Some(path) = (disk.canonical)(named) {
        return Ok(path);
    }
    if let Ok(to) = fs::read_link(named) {
        return Err(ReadError::Dangling(named.to_path_buf(), to));
    }
    // The nearest existing folder determines the real path of the missing parts.
    let mut missing = Vec::new();
    for folder in named.ancestors() {
        if let Some(found) = (disk.canonical)(folder) {
            return Ok(missing.iter().rev().fold(found, |path, part| path.join(part)));
        }
        if let Ok(to) = fs::read_link(folder) {
            return Err(ReadError::Dangling(folder.to_path_buf(), to));
        }
        missing.extend(folder.file_name().map(OsString::from));
    }
    Ok(named.to_path_buf())
}

/// Returns the whole file; `None` if it is too large.
fn bounded(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(FILE_MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() <= FILE_MAX_BYTES).then_some(bytes))
}

/// Returns the permissions without those of other users.
fn private(permissions: Permissions) -> Permissions {
    #[cfg(unix)]
    let permissions = {
        use std::os::unix::fs::PermissionsExt as _;
        Permissions::from_mode(permissions.mode() & 0o700)
    };
    permissions
}

/// Creates a file with these bytes. It gets the permissions of the old file; without one, only its owner can read it.
fn create(path: &Path, bytes: &[u8], permissions: Option<&Permissions>) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    let done = file.write_all(bytes).and_then(|()| match permissions {
        Some(permissions) => file.set_permissions(permissions.clone()),
        None => Ok(()),
    });
    let done = done.and_then(|()| file.sync_all());
    if done.is_err() {
        let _ = fs::remove_file(path);
    }
    done
}
