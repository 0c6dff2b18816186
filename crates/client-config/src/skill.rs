//! The files of a skill in a client's folder. Each file ends with a line that says who wrote it and has a sum of the text before
//! it, so that a later version replaces it, and a file that a person changed is noticed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::change::{ChangeError, Done, Plan, carry_out};
use crate::file::{Keep, Original, ReadError};
use crate::limits::SKILL_ENTRIES_MAX;
use crate::places::Places;
use crate::skill_folders::SkillFolder;

/// A skill: a folder with this name, and files in it.
#[derive(Debug, Clone, Copy)]
pub struct Skill<'a> {
    /// Its name, and that of its folder.
    pub name: &'a str,
    /// The version of the program that brings it.
    pub version: &'a str,
    /// Its files: the path in the folder, with `/` between its parts, and the text.
    pub files: &'a [(&'a str, &'a str)],
}

/// The state of a skill in a client's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillState {
    /// Nothing of it is there.
    Absent,
    /// All of it is there, as this version brings it.
    Installed,
    /// It is there as another version brought it, or not all of it is there.
    Older,
    /// These files were changed since, or are somebody else's.
    Edited(Vec<PathBuf>),
}

/// The state of one file.
#[derive(Debug, PartialEq, Eq)]
enum FileState {
    Absent,
    /// As this version writes it.
    Same,
    /// As some version wrote it.
    Ours,
    /// Changed since, or somebody else's.
    Edited,
}

const MARK_START: &str = "<!-- holdfast ";
const MARK_MIDDLE: &str = " wrote this file, sum ";
const MARK_END: &str = "; `holdfast skill remove` ";
const TAKES_OUT: &str = "takes it out -->";
const WITH_FOLDERS: &str = "takes it out, with new folders: ";
const BRINGS_BACK: &str = "brings back the file from before -->";

/// What a removal does with a file of ours, as its mark says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Removal {
    /// It deletes the file, and so many folders above it, which were made for it.
    Delete(usize),
    /// It brings back the file that was in its place, from the copy.
    Restore,
}

impl Removal {
    fn mark(self) -> String {
        match self {
            Self::Delete(0) => TAKES_OUT.to_owned(),
            Self::Delete(folders) => format!("{WITH_FOLDERS}{folders} -->"),
            Self::Restore => BRINGS_BACK.to_owned(),
        }
    }

    fn of_mark(mark: &str) -> Option<Self> {
        match mark {
            TAKES_OUT => Some(Self::Delete(0)),
            BRINGS_BACK => Some(Self::Restore),
            _ => mark.strip_prefix(WITH_FOLDERS)?.strip_suffix(" -->")?.parse().ok().map(Self::Delete),
        }
    }
}

impl Skill<'_> {
    /// Returns the skill's folder.
    pub fn folder(&self, of: &SkillFolder, places: &Places) -> Option<PathBuf> {
        Some(of.path(places)?.join(self.name))
    }

    /// Returns the state of the skill in this client's folder.
    ///
    /// # Errors
    /// Returns [`ReadError`] if a file cannot be read.
    pub fn state(&self, of: &SkillFolder, places: &Places) -> Result<SkillState, ReadError> {
        let mut states = Vec::new();
        for file in self.files(of, places) {
            states.push((self.file_state(&read(&file, places)?, &file, of, places), file));
        }
        let edited = states.iter().filter(|(state, _)| *state == FileState::Edited);
        let edited: Vec<PathBuf> = edited.map(|(_, file)| file.clone()).collect();
        Ok(match &states[..] {
            _ if !edited.is_empty() => SkillState::Edited(edited),
            all if all.iter().all(|(state, _)| *state == FileState::Absent) => SkillState::Absent,
            all if all.iter().all(|(state, _)| *state == FileState::Same) => SkillState::Installed,
            _ => SkillState::Older,
        })
    }

    /// Returns the files that an installation or a removal concerns: those of the skill, and those that another version of ours left
    /// beside them.
    pub fn files(&self, of: &SkillFolder, places: &Places) -> Vec<PathBuf> {
        let Some(folder) = self.folder(of, places) else { return Vec::new() };
        let mut files: Vec<PathBuf> = self.files.iter().map(|(path, _)| join(&folder, path)).collect();
        let mut folders: Vec<PathBuf> = files.iter().filter_map(|path| path.parent()).map(PathBuf::from).collect();
        folders.dedup();
        let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok());
        for entry in entries.flat_map(|entries| entries.take(SKILL_ENTRIES_MAX)).flatten() {
            let path = entry.path();
            let is_left = || read(&path, places).is_ok_and(|file| removal_of_ours(file.text()).is_some());
            if path.extension().is_some_and(|end| end == "md") && !files.contains(&path) && is_left() {
                files.push(path);
            }
        }
        files
    }

    /// Plans to write a file of the skill, or to take it out. `file`: a path that [`Self::files`] returned.
    ///
    /// # Errors
    /// Returns [`ChangeError`]. Nothing was written.
    pub fn plan(&self, of: &SkillFolder, file: &Path, places: &Places, install: bool) -> Result<Plan, ChangeError> {
        let original = read(file, places)?;
        let state = self.file_state(&original, file, of, places);
        let removal = match state {
            FileState::Absent => {
                Removal::Delete(file.ancestors().skip(1).take_while(|folder| !folder.exists()).count())
            }
            FileState::Edited => Removal::Restore,
            FileState::Same | FileState::Ours => removal_of_ours(original.text()).unwrap_or(Removal::Delete(0)),
        };
        let wanted = self.text(file, of, places, removal).filter(|_| install);
        if let Some(text) = wanted {
            let text = if state == FileState::Same { original.text().to_owned() } else { text };
            // Another version's text is ours, and nobody wants it back.
            let keep = if state == FileState::Edited { Keep::Whole } else { Keep::Nothing };
            if keep == Keep::Whole {
                original.can_be_saved()?;
            }
            let mut plan = Plan::whole(original, Some(text), false);
            plan.keep = keep;
            return Ok(plan);
        }
        match state {
            FileState::Absent => Ok(Plan::whole(original, None, false)),
            FileState::Edited => Err(ChangeError::Edited(original.path)),
            FileState::Same | FileState::Ours => {
                let first = original.backup().filter(|_| removal == Removal::Restore);
                let (text, backup_done) = (first.as_ref().map(|first| first.text().to_owned()), first.is_some());
                let mut plan = Plan::whole(original, text, backup_done);
                plan.marked = first.is_some_and(|first| first.has_mark());
                Ok(plan)
            }
        }
    }

    /// Returns the copy beside a file's place, if no file is there.
    pub fn copy_left(&self, file: &Path, places: &Places) -> Option<PathBuf> {
        let original = read(file, places).ok().filter(|original| !original.exists())?;
        Some(original.backup_path()).filter(|copy| copy.symlink_metadata().is_ok())
    }

    /// Plans as [`Self::plan`] and carries it out. The folders that were made for a file go with it, if they are empty.
    ///
    /// # Errors
    /// Returns [`ChangeError`].
    pub fn make(&self, of: &SkillFolder, file: &Path, places: &Places, install: bool) -> Result<Done, ChangeError> {
        let (plan, done) = carry_out(|| self.plan(of, file, places, install), |_| false)?;
        if let (Done::Deleted, Some(Removal::Delete(made))) = (&done, plan.before().and_then(removal_of_ours)) {
            // Only an empty folder can be removed so.
            let inner = file.ancestors().skip(1).take_while(|folder| folder.file_name() != Some(self.name.as_ref()));
            let own = self.folder(of, places).into_iter().chain(of.own_folders(places));
            let _ = inner.map(PathBuf::from).chain(own).take(made).try_for_each(fs::remove_dir);
        }
        Ok(done)
    }

    /// Returns the text that this version writes into a file; `None` if the file is not one of this version.
    fn text(&self, file: &Path, of: &SkillFolder, places: &Places, removal: Removal) -> Option<String> {
        let folder = self.folder(of, places)?;
        let (_, text) = self.files.iter().find(|(path, _)| join(&folder, path) == file)?;
        Some(self.marked(text, removal))
    }

    fn marked(&self, text: &str, removal: Removal) -> String {
        let text = format!("{}\n\n", text.trim_end());
        format!("{text}{MARK_START}{}{MARK_MIDDLE}{:016x}{MARK_END}{}\n", self.version, sum(&text), removal.mark())
    }

    fn file_state(&self, file: &Original, named: &Path, of: &SkillFolder, places: &Places) -> FileState {
        if !file.exists() {
            return FileState::Absent;
        }
        let Some(removal) = removal_of_ours(file.text()) else { return FileState::Edited };
        match self.text(named, of, places, removal) {
            // Git may have changed the line endings of a project's file.
            Some(wanted) if wanted == file.text().replace('\r', "") => FileState::Same,
            _ => FileState::Ours,
        }
    }
}

fn read(file: &Path, places: &Places) -> Result<Original, ReadError> {
    Original::read(file, places.project.as_deref(), places.disk)
}

fn join(folder: &Path, path: &str) -> PathBuf {
    path.split('/').fold(folder.to_path_buf(), |path, part| path.join(part))
}

/// Returns what a removal does with a text as some version of ours wrote it; `None` if it is not such a text.
fn removal_of_ours(text: &str) -> Option<Removal> {
    let text = text.replace('\r', "");
    let (body, mark) = text.trim_end().rsplit_once('\n')?;
    let (_, rest) = mark.strip_prefix(MARK_START)?.split_once(MARK_MIDDLE)?;
    let (said, removal) = rest.split_once(MARK_END)?;
    Removal::of_mark(removal).filter(|_| said == format!("{:016x}", sum(&format!("{body}\n"))))
}

/// FNV-1a: it only has to notice a change that nobody hides.
fn sum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Disk;
    use crate::file::Written;
    use crate::places::System;
    use crate::skill_folders::SKILL_FOLDERS;

    const OLD: Skill<'static> =
        Skill { name: "holdfast", version: "0.1.0", files: &[("SKILL.md", "old\n"), ("references/gone.md", "gone\n")] };
    const NEW: Skill<'static> =
        Skill { name: "holdfast", version: "0.2.0", files: &[("SKILL.md", "new\n"), ("references/more.md", "more\n")] };

    fn all(skill: &Skill<'_>, of: &SkillFolder, places: &Places, install: bool) -> Vec<Done> {
        let files = skill.files(of, places);
        files.iter().map(|file| skill.make(of, file, places, install).expect("it can be written")).collect()
    }

    fn home_of_gemini() -> (tempfile::TempDir, Places, &'static SkillFolder) {
        let home = tempfile::tempdir().expect("a folder");
        let variable = |_: &str| Some(home.path().into());
        let places = Places::of(System::HERE, variable, Disk::PLAIN).expect("a home");
        let of = SKILL_FOLDERS.iter().find(|row| row.client == "gemini").expect("a row");
        (home, places, of)
    }

    /// Returns the path of the first file, in a folder that is there.
    fn first_file(of: &SkillFolder, places: &Places) -> PathBuf {
        let folder = OLD.folder(of, places).expect("a folder");
        fs::create_dir_all(&folder).expect("made");
        folder.join("SKILL.md")
    }

    #[test]
    fn a_file_of_a_person_is_replaced_only_if_its_own_content_is_in_the_copy() {
        type Take = fn(&Path);
        let takes: &[Take] = &[
            |backup| fs::write(backup, "first\n").expect("written"),
            |backup| fs::create_dir(backup).expect("made"),
            #[cfg(unix)]
            |backup| std::os::unix::fs::symlink("nowhere", backup).expect("made"),
        ];
        for take in takes {
            let (_home, places, of) = home_of_gemini();
            let file = first_file(of, &places);
            let backup = file.with_file_name("SKILL.md.holdfast-backup");
            fs::write(&file, "second\n").expect("written");
            take(&backup);
            let before = backup.symlink_metadata().expect("there").file_type();
            let planned = OLD.plan(of, &file, &places, true).map(drop);
            for refused in [planned, OLD.make(of, &file, &places, true).map(drop)] {
                let says = refused.expect_err("the content would be lost").to_string();
                assert!(says.contains("SKILL.md was not written by holdfast") && says.contains("move one"), "{says}");
                assert!(says.contains(backup.to_str().expect("Unicode")), "{says}");
            }
            assert_eq!(fs::read_to_string(&file).expect("there"), "second\n");
            assert_eq!(backup.symlink_metadata().expect("there").file_type(), before);
        }
        // The same content in the copy is as good as a new copy.
        let (_home, places, of) = home_of_gemini();
        let file = first_file(of, &places);
        for name in ["SKILL.md", "SKILL.md.holdfast-backup"] {
            fs::write(file.with_file_name(name), "mine\n").expect("written");
        }
        let done = OLD.make(of, &file, &places, true).expect("it can be written");
        assert!(matches!(done, Done::Wrote(Written::EarlierBackup(_))), "{done:?}");
    }

    #[test]
    fn what_was_there_before_comes_back_with_its_byte_order_mark() {
        let (_home, places, of) = home_of_gemini();
        let file = first_file(of, &places);
        fs::write(&file, "\u{feff}mine\r\n").expect("written");
        OLD.make(of, &file, &places, true).expect("it can be written");
        assert_eq!(OLD.make(of, &file, &places, false).expect("it can be written"), Done::Restored);
        assert_eq!(fs::read_to_string(&file).expect("there"), "\u{feff}mine\r\n");
    }

    #[test]
    fn another_version_is_renewed_without_a_copy_and_what_it_no_longer_has_goes() {
        let (_home, places, of) = home_of_gemini();
        assert_eq!(OLD.state(of, &places).expect("readable"), SkillState::Absent);
        assert_eq!(all(&OLD, of, &places, true), [const { Done::Wrote(Written::New) }; 2]);
        let folder = OLD.folder(of, &places).expect("a folder");
        fs::write(folder.join("references/mine.md"), "mine\n").expect("writable");

        assert_eq!(NEW.state(of, &places).expect("readable"), SkillState::Older);
        let done = [Done::Wrote(Written::Renewed), Done::Wrote(Written::New), Done::Deleted];
        assert_eq!(all(&NEW, of, &places, true), done);
        assert_eq!(NEW.state(of, &places).expect("readable"), SkillState::Installed);
        assert!(fs::read_to_string(folder.join("SKILL.md")).expect("there").starts_with("new\n\n<!-- holdfast 0.2.0 "));

        // An older program takes it out too, and what is not ours stays.
        assert_eq!(all(&OLD, of, &places, false), [Done::Deleted, Done::Already, Done::Deleted]);
        assert_eq!(fs::read_dir(&folder).expect("there").count(), 1);
        assert!(folder.join("references/mine.md").is_file());
    }

    #[test]
    fn a_copy_of_no_file_and_folders_from_before_stay() {
        let (_home, places, of) = home_of_gemini();
        let file = first_file(of, &places);
        let copy = file.with_file_name("SKILL.md.holdfast-backup");
        fs::write(&copy, "a copy\n").expect("written");
        OLD.make(of, &file, &places, true).expect("it can be written");
        assert_eq!(OLD.make(of, &file, &places, false).expect("it can be deleted"), Done::Deleted);
        assert!(!file.exists());
        assert_eq!(OLD.copy_left(&file, &places), Some(copy.clone()));

        fs::remove_file(&copy).expect("it is there");
        let take_out = || {
            let files = OLD.files(of, &places);
            for file in files.iter().rev() {
                OLD.make(of, file, &places, false).expect("it can be deleted");
            }
        };
        all(&OLD, of, &places, true);
        take_out();
        let folder = OLD.folder(of, &places).expect("a folder");
        assert_eq!(fs::read_dir(&folder).expect("it was there before").count(), 0, "only `references` was made");

        fs::remove_dir(&folder).expect("it is empty");
        fs::remove_dir(folder.parent().expect("a folder")).expect("it is empty");
        all(&OLD, of, &places, true);
        take_out();
        assert!(!folder.parent().expect("a folder").exists(), "an installation made it");
    }

    #[test]
    fn a_text_is_ours_only_as_long_as_nobody_changes_it() {
        let is_ours = |text: &str| removal_of_ours(text).is_some();
        let ours = OLD.marked("a\n\nb\n", Removal::Delete(2));
        assert_eq!(removal_of_ours(&ours), Some(Removal::Delete(2)));
        assert!(is_ours(&ours) && is_ours(&ours.replace('\n', "\r\n")) && is_ours(ours.trim_end()));
        for changed in
            [ours.replace('b', "c"), ours.replace("0.1.0 wrote", "wrote"), format!("{ours}more\n"), String::new()]
        {
            assert!(!is_ours(&changed), "{changed}");
        }
    }
}
