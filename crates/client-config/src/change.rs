//! A change of a client's file. It is planned first; the plan can then be shown or carried out.

use std::fs;
use std::path::{Path, PathBuf};

use crate::clients::Client;
use crate::edit::{self, EditError};
use crate::entry::{self, Aim};
use crate::file::{Keep, Original, ReadError, WriteError, Written};
use crate::limits::ATTEMPTS_MAX;
use crate::old_servers::{self, OldServer};
use crate::places::Places;
use crate::tokens;

/// The wanted content of a client's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish<'a> {
    /// The file has our entry, which is for this.
    Have(Aim<'a>),
    /// Like `Have`. In addition, the file has no entry that starts the server of a package that holdfast supports.
    Replace(Aim<'a>),
    /// The file has no entry of ours.
    Lack,
}

impl<'a> Wish<'a> {
    /// Returns what our entry must be for; `None` if the file must not have our entry.
    pub fn aim(self) -> Option<Aim<'a>> {
        match self {
            Self::Have(aim) | Self::Replace(aim) => Some(aim),
            Self::Lack => None,
        }
    }
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file's text cannot be parsed, or cannot be edited.
    #[error("{}, {error}", .path.display())]
    Edit {
        /// The file.
        path: PathBuf,
        /// Why the text is not edited.
        error: EditError,
    },
    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The file is one that we wrote, and it was changed since. It is not taken out.
    #[error("{} was changed since holdfast wrote it, so it stays", .0.display())]
    Edited(PathBuf),
}

/// A planned change.
#[derive(Debug)]
pub struct Plan {
    original: Original,
    /// The wanted text, without a byte order mark; `None` if the file is to be deleted.
    text: Option<String>,
    /// Whether the file is to begin with a byte order mark.
    pub(crate) marked: bool,
    /// The copy that is kept of what is there.
    pub(crate) keep: Keep,
    /// The folder in a project that goes with the file if nothing else is in it.
    folder: Option<PathBuf>,
    /// Whether the copy of the file's first state is no longer needed after the change.
    backup_done: bool,
    /// The old servers' entries in the file, which are removed with [`Wish::Replace`].
    pub old: Vec<OldServer>,
}

/// What was done.
#[derive(Debug, PartialEq, Eq)]
pub enum Done {
    /// The file already had the wanted content. Nothing was written.
    Already,
    /// The file was written.
    Wrote(Written),
    /// The file has its content from before the first change again, and the copy of that content is deleted.
    Restored,
    /// The file contained only our entry, and is deleted.
    Deleted,
}

impl Plan {
    /// Plans to replace the text of a file. `text`: the wanted text, or `None` if the file is to be deleted. `backup_done`: whether the
    /// copy of its first state is no longer needed then.
    pub(crate) fn whole(original: Original, text: Option<String>, backup_done: bool) -> Self {
        Self { original, text, marked: false, keep: Keep::First, folder: None, backup_done, old: Vec::new() }
    }

    /// Plans a change of one file of a client. `file` is a path that [`files`] returned.
    ///
    /// # Errors
    /// Returns [`ChangeError`]. Nothing was written.
    pub fn of(client: &Client, file: &Path, places: &Places, wish: Wish<'_>) -> Result<Self, ChangeError> {
        let original = Original::of(client, file, places)?;
        let refused = |error| ChangeError::Edit { path: original.path.clone(), error };
        let (format, slot) = (client.format, entry::slot(client));
        let text = original.text();
        match wish {
            Wish::Have(aim) | Wish::Replace(aim) => {
                let meaning = edit::meaning(format, text).map_err(refused)?;
                let there = edit::entry(&meaning, slot);
                let is_ours =
                    |there| entry::program(&client.shape, there).is_some() || entry::url(client, there).is_some();
                if there.is_some_and(|there| !is_ours(there)) {
                    return Err(refused(EditError::Unusual(format!(
                        "the entry \"{}\" there starts no program and connects to no hub, so it is somebody else's; take it out first",
                        slot.name
                    ))));
                }
                let old = old_servers::find(&places.servers, client, &meaning);
                let mut text = match there.filter(|there| entry::turns(client, aim, there)) {
                    Some(there) => {
                        let mut fields = entry::fields(client, aim, None);
                        fields.extend(entry::lasting(client, there));
                        let bare = edit::take(format, text, slot).map_err(refused)?;
                        edit::put(format, &bare, slot, &fields)
                    }
                    None => edit::put(format, text, slot, &entry::fields(client, aim, there)),
                }
                .map_err(refused)?;
                if matches!(wish, Wish::Replace(_)) {
                    text = old_servers::taken_out(client, text, &old).map_err(refused)?;
                }
                Ok(Self { old, ..Self::whole(original, Some(text), false) })
            }
            Wish::Lack => {
                let bare = edit::take(format, text, slot).map_err(refused)?;
                if bare == text {
                    let marked = original.has_mark();
                    return Ok(Self { marked, ..Self::whole(original, Some(bare), false) });
                }
                // A parser cannot tell whether an empty map was there before. The copy of the first state can.
                let meaning = edit::meaning(format, text).map_err(refused)?;
                let fields =
                    edit::entry(&meaning, slot).and_then(|there| there.as_object()).cloned().unwrap_or_default();
                let bare_after = |before: &str| {
                    let with_us = edit::put(format, before, slot, &fields).ok()?;
                    edit::take(format, &with_us, slot).ok()
                };
                let had_us =
                    |text: &str| edit::meaning(format, text).is_ok_and(|meaning| edit::entry(&meaning, slot).is_some());
                let ours_alone = || bare_after("").as_deref() == Some(bare.as_str());
                let mut marked = original.has_mark();
                let (text, backup_done) = match original.backup() {
                    None => (Some(bare.clone()).filter(|_| !ours_alone()), false),
                    // An earlier holdfast wrote the file before the copy was made: the copy has nothing that the file has not.
                    Some(first) if had_us(first.text()) => {
                        let same = edit::take(format, first.text(), slot).is_ok_and(|text| text == bare);
                        (Some(bare.clone()).filter(|_| !(same && ours_alone())), same)
                    }
                    Some(first) if bare_after(first.text()).as_deref() == Some(bare.as_str()) => {
                        marked = first.has_mark();
                        (Some(first.text().to_owned()), true)
                    }
                    Some(_) => (Some(bare), false),
                };
                let folder = places.folder_of_own(client, &original.path);
                Ok(Self { marked, folder, ..Self::whole(original, text, backup_done) })
            }
        }
    }

    /// Returns the file's real path, with links resolved.
    pub fn path(&self) -> &Path {
        &self.original.path
    }

    /// Whether the plan changes anything.
    pub fn changes(&self) -> bool {
        match &self.text {
            Some(text) => text != self.original.text() || self.loses_mark(),
            None => self.original.exists(),
        }
    }

    /// Whether the file begins with a byte order mark, and will not.
    pub fn loses_mark(&self) -> bool {
        self.original.has_mark() && !self.marked && self.text.is_some()
    }

    /// Returns the current text without a byte order mark, or `None` if there is no file.
    pub fn before(&self) -> Option<&str> {
        self.original.exists().then(|| self.original.text())
    }

    /// Returns the wanted text, or `None` if the file is to be deleted.
    pub fn after(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Makes the change. A text that is secret is written so that only its owner can read it.
    fn make(&self, is_secret: impl Fn(&str) -> bool) -> Result<Done, WriteError> {
        if !self.changes() {
            return Ok(Done::Already);
        }
        // A copy that cannot be deleted does no harm.
        let drop_backup = || self.original.backup().filter(|_| self.backup_done).map(|backup| backup.delete().is_ok());
        let Some(text) = &self.text else {
            self.original.delete()?;
            drop_backup();
            // Only an empty folder can be removed so.
            let _ = self.folder.as_ref().map(fs::remove_dir);
            return Ok(Done::Deleted);
        };
        let first = self.original.backup().filter(|backup| self.backup_done && backup.text() == text);
        let written = self.original.replace(text, self.marked, self.keep, is_secret)?;
        drop_backup();
        Ok(if first.is_some() { Done::Restored } else { Done::Wrote(written) })
    }
}

/// Returns the files that a wish concerns. The first one is the file that the client reads. [`Wish::Lack`] also concerns the
/// client's former files that contain our entry. A former file that cannot be read is left out, because the client no longer
/// reads it either. Empty if no file is known on this system.
pub fn files(client: &Client, places: &Places, wish: Wish<'_>) -> Vec<PathBuf> {
    let Some(file) = places.file(client) else { return Vec::new() };
    let former = if wish == Wish::Lack { places.former_files(client) } else { Vec::new() };
    let ours = |file: &PathBuf| {
        let original = Original::of(client, file, places).ok()?;
        edit::entry(&edit::meaning(client.format, original.text()).ok()?, entry::slot(client)).map(drop)
    };
    std::iter::once(file).chain(former.into_iter().filter(|file| ours(file).is_some())).collect()
}

/// Plans a change and carries it out.
///
/// # Errors
/// Returns [`ChangeError`]. The file is unchanged, unless a write in place failed halfway. In that case a copy of its first state
/// is next to it.
pub fn make(client: &Client, file: &Path, places: &Places, wish: Wish<'_>) -> Result<(Plan, Done), ChangeError> {
    carry_out(|| Plan::of(client, file, places, wish), |text| tokens::token(client, text).is_some())
}

/// Carries out a plan. If another program wrote the file in between, plans it again, up to `ATTEMPTS_MAX` times in all.
pub(crate) fn carry_out(
    plan: impl Fn() -> Result<Plan, ChangeError>,
    is_secret: impl Fn(&str) -> bool,
) -> Result<(Plan, Done), ChangeError> {
    let mut attempt = 1;
    loop {
        let plan = plan()?;
        match plan.make(&is_secret) {
            Ok(done) => return Ok((plan, done)),
            Err(WriteError::Changed(_)) if attempt < ATTEMPTS_MAX => attempt += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::named;
    use crate::disk::Disk;
    use crate::places::System;

    /// Claude Desktop on Windows: it was set up before its package was installed, and its former file still has our entry.
    #[test]
    fn taking_the_entry_out_is_also_about_the_file_that_was_read_before_the_package_came() {
        let folder = tempfile::tempdir().expect("a folder");
        let variable = |_: &str| Some(folder.path().into());
        let places = Places::of(System::Windows, variable, Disk::PLAIN).expect("a home");
        let client = named("claude-desktop").expect("a client");
        let former = folder.path().join("Claude/claude_desktop_config.json");
        let before = "{\n  // mine\n  \"mcpServers\": {\n    \"other\": {\"command\": \"other\"}\n  }\n}\n";
        fs::create_dir_all(former.parent().expect("a folder")).expect("made");
        fs::write(&former, before).expect("written");
        let launch =
            crate::Launch { program: "C:\\holdfast.exe".to_owned(), args: Vec::new(), whole: false, flag: None };
        assert_eq!(files(client, &places, Wish::Have(Aim::Start(&launch))), [former.as_path()]);
        make(client, &former, &places, Wish::Have(Aim::Start(&launch))).expect("it can be written");

        let package = folder.path().join("Packages/Claude_pzs8sxrjxfjjc");
        fs::create_dir_all(&package).expect("made");
        let read = package.join("LocalCache/Roaming/Claude/claude_desktop_config.json");
        assert_eq!(
            files(client, &places, Wish::Have(Aim::Start(&launch))),
            [read.as_path()],
            "a package sees no other file"
        );
        assert_eq!(files(client, &places, Wish::Lack), [read.as_path(), former.as_path()]);
        let (_, done) = make(client, &former, &places, Wish::Lack).expect("it can be written");
        assert_eq!((done, fs::read_to_string(&former).expect("there").as_str()), (Done::Restored, before));
        assert_eq!(files(client, &places, Wish::Lack), [read.as_path()], "it holds no entry of ours any more");
        fs::write(&former, "{").expect("written");
        assert_eq!(files(client, &places, Wish::Lack), [read.as_path()], "what cannot be read is left alone");
    }
}
