//! The change of the skill in one client's folder, and what is said about it.

use std::path::PathBuf;

use holdfast_client_config::{Client, Done, Places, SkillFolder, Written, named};

use super::content::SKILL;
use super::standing::also;
use crate::cli::Exit;
use crate::cli::output::{self, Tone, row, toned};
use crate::cli::setup::complain;
use crate::cli::setup::diff::diff;
use crate::cli::setup::standing::title;

pub struct Task<'a> {
    pub client: &'static Client,
    pub folder: &'static SkillFolder,
    pub places: &'a Places,
    pub install: bool,
    pub dry_run: bool,
}

impl Task<'_> {
    /// The words of the command, for complaints.
    pub fn command(&self) -> &'static str {
        if self.install { "skill install" } else { "skill remove" }
    }

    pub fn run(&self) -> Exit {
        let mut files = SKILL.files(self.folder, self.places);
        if !self.install {
            // The file for which a folder was made is the last one in it to go.
            files.reverse();
        }
        let exit = if self.dry_run { self.show(&files) } else { self.make(&files) };
        match self.install {
            true if exit == Exit::Ok => self.tell_of_other_folders(),
            false if !self.dry_run => self.tell_of_copies(&files),
            _ => {}
        }
        exit
    }

    /// The skill's folder, for people.
    fn path(&self) -> String {
        SKILL.folder(self.folder, self.places).map(|path| path.display().to_string()).unwrap_or_default()
    }

    fn show(&self, files: &[PathBuf]) -> Exit {
        let (mut exit, mut changes) = (Exit::Ok, false);
        for file in files {
            match SKILL.plan(self.folder, file, self.places, self.install) {
                Ok(plan) if plan.changes() => {
                    changes = true;
                    output::bytes(diff(&plan).as_bytes());
                }
                Ok(_) => {}
                Err(refusal) => exit = complain(self.command(), Exit::Failed, &refusal.to_string()),
            }
        }
        if !changes && exit == Exit::Ok {
            self.say_nothing_to_do();
        }
        exit
    }

    fn make(&self, files: &[PathBuf]) -> Exit {
        let (mut exit, mut done) = (Exit::Ok, Vec::new());
        for file in files {
            match SKILL.make(self.folder, file, self.places, self.install) {
                Ok(Done::Already) => {}
                Ok(one) => done.push((file, one)),
                Err(refusal) => {
                    output::complain(&format!("holdfast {}: {refusal}.", self.command()));
                    exit = Exit::Failed;
                }
            }
        }
        if done.is_empty() {
            if exit == Exit::Ok {
                self.say_nothing_to_do();
            }
            return exit;
        }
        if self.install {
            self.report_installed(exit, &done);
        } else {
            self.report_removed(exit, &done);
        }
        exit
    }

    /// Names the copies without a file in their place: whether one was there before is not known.
    fn tell_of_copies(&self, files: &[PathBuf]) {
        for copy in files.iter().filter_map(|file| SKILL.copy_left(file, self.places)) {
            row("note", &format!("{} stays: no file of holdfast's there says that it is to come back", copy.display()));
        }
    }

    fn say_nothing_to_do(&self) {
        let (title, path) = (title(self.client), self.path());
        output::hung(
            "",
            &match self.install {
                true => format!("{title} has the skill already, in {path}. Nothing to change."),
                false => format!("{title} has no skill in {path}. Nothing to change."),
            },
        );
    }

    fn report_installed(&self, exit: Exit, done: &[(&PathBuf, Done)]) {
        let (name, title) = (self.client.name, title(self.client));
        let head = if exit == Exit::Ok { "has the skill." } else { "has a part of the skill." };
        output::line(&toned(&format!("{title} {head}"), if exit == Exit::Ok { Tone::Good } else { Tone::Bad }));
        row("folder", &self.path());
        row(
            "scope",
            &match &self.places.project {
                Some(project) => format!("this project only: {}", project.display()),
                None => format!("every project; for this one only: holdfast skill install {name} --project"),
            },
        );
        for (_, done) in done {
            if let Done::Wrote(Written::BackedUp(backup) | Written::EarlierBackup(backup)) = done {
                row("before", &backup.display().to_string());
            }
        }
        row("next", self.folder.afterwards);
        if self.places.project.is_some() {
            row("team", "the skill names no path of this machine: commit the folder");
        }
        if self.places.program("holdfast").is_none() {
            row("note", "the skill says `holdfast`, and no such program is on the PATH: install it there");
        }
    }

    fn report_removed(&self, exit: Exit, done: &[(&PathBuf, Done)]) {
        let (name, path) = (title(self.client), self.path());
        let says = match exit {
            Exit::Ok => format!("{name} no longer has the skill: what holdfast wrote in {path} is gone."),
            _ => format!(
                "{name} still has a part of the skill in {path}. The rest of what holdfast wrote there is gone."
            ),
        };
        output::hung("", &says);
        for (file, _) in done.iter().filter(|(_, done)| *done == Done::Restored) {
            row("before", &format!("{} is as it was before", file.display()));
        }
        for other in self.folder.shared_with(self.places).filter_map(named).filter(|_| exit == Exit::Ok) {
            row("note", &format!("{} reads the same folder, and has it no longer either", title(other)));
        }
    }

    /// Names other clients that now have the skill too, and other folders in which this client finds it a second time.
    fn tell_of_other_folders(&self) {
        for other in self.folder.shared_with(self.places).filter_map(named) {
            row("note", &format!("{} reads the same folder", title(other)));
        }
        for path in also(self.folder, self.places) {
            row("note", &format!("{} also reads {}, and may list the skill twice", title(self.client), path.display()));
        }
    }
}
