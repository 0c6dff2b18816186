//! The state of the package in a project: whether it is there, its version, and which files the user changed or added.

use std::cmp::Ordering;
use std::io;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::content::{self, Record};
use super::embedded::{self, About, NAME, Sums, TITLE};
use super::project::{Obstacle, Site};

use crate::core::user_text;
use crate::limits::UNITY_FILES_NAMED_MAX;
use crate::platform::host::RealHost;
use crate::protocol::dialect::{Dialect, OWN};
use crate::protocol::text::clean;
use crate::survey;

/// What is in the package's place, which is its folder in `Packages`.
#[derive(Debug, Clone, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// The place does not exist, or has no files in it.
    Absent,
    /// The place does not exist because an installation was cut short; the former package is in the work folder.
    Interrupted,
    Installed(Installed),
    /// Something that holdfast did not put there, or behind a link.
    Foreign,
    Unreadable(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    pub version: String,
    /// Whether the files that holdfast put there equal those of this binary.
    pub same: bool,
    pub changed: Vec<String>,
    pub added: Vec<String>,
    pub missing: Vec<String>,
}

impl Installed {
    fn between(record: &Record, found: &Sums) -> Self {
        let of = |list: &mut dyn Iterator<Item = &String>| list.map(|path| clean(path)).collect();
        let put = &record.files;
        Self {
            version: clean(&record.version),
            same: record.version == About::this().version && *put == embedded::sums(),
            changed: of(&mut put
                .iter()
                .filter(|(path, sum)| found.get(*path).is_some_and(|now| now.is_none() || now != *sum))
                .map(|(path, _)| path)),
            added: of(&mut found.keys().filter(|path| !put.contains_key(*path))),
            missing: of(&mut put.keys().filter(|path| !found.contains_key(*path))),
        }
    }

    /// Whether the files are as this binary would install them. Added files do not matter.
    pub fn current(&self) -> bool {
        self.same && self.changed.is_empty() && self.missing.is_empty()
    }

    /// Returns the user's files that would be lost if the package were replaced or removed.
    pub fn own_work(&self) -> Vec<String> {
        self.changed.iter().chain(&self.added).cloned().collect()
    }
}

#[derive(Debug, Clone)]
pub struct Standing {
    pub site: Site,
    pub state: State,
    pub obstacle: Option<Obstacle>,
    /// The clone that was asked about; `None` if the project is not a clone. All other fields describe the original, whose
    /// packages the clone uses.
    pub clone: Option<PathBuf>,
}

impl Standing {
    pub fn of(site: &Site) -> Self {
        if let Some(original) = site.original() {
            return Self { clone: Some(site.project.clone()), ..Self::of(&Site::new(original)) };
        }
        let obstacle = site.obstacle();
        // A link is an obstacle, and its target is not read.
        let state = if matches!(obstacle, Some(Obstacle::Link(_))) {
            State::Foreign
        } else {
            state(site).unwrap_or_else(|error| State::Unreadable(error.to_string()))
        };
        Self { site: site.clone(), state, obstacle, clone: None }
    }

    pub fn good(&self) -> bool {
        self.obstacle.is_none() && matches!(&self.state, State::Installed(installed) if installed.current())
    }

    /// Describes the state in one sentence, without the full stop at the end.
    pub fn says(&self) -> String {
        let folder = format!("Packages/{NAME}");
        let says = match &self.state {
            State::Absent if self.is_brought() => {
                let version = self.brought_version();
                let which = version.as_ref().map(|version| format!(", {}", against_ours(version))).unwrap_or_default();
                let version = version.map(|version| format!(" {version}")).unwrap_or_default();
                format!("{TITLE}{version} is there, and holdfast did not install it{which}")
            }
            State::Absent => match self.site.others().as_slice() {
                [] => format!("{TITLE} is not installed"),
                others => format!("{TITLE} is not installed; the project works with {}", others.join(" and ")),
            },
            State::Interrupted => format!("an installation of {TITLE} was cut short; Unity sees no package now"),
            State::Foreign => format!("{folder} is there, and holdfast did not put it there"),
            State::Unreadable(why) => format!("{folder} cannot be looked at ({why})"),
            State::Installed(installed) => {
                let version = &installed.version;
                let which = match against_ours(version) {
                    _ if installed.same => THIS_ONES.to_owned(),
                    which if which == THIS_ONES => "with other content than this program's".to_owned(),
                    which => which,
                };
                let lists =
                    [("changed", &installed.changed), ("added", &installed.added), ("missing", &installed.missing)];
                let lists = lists.iter().filter(|(_, paths)| !paths.is_empty());
                let own: String = lists.map(|(what, paths)| format!("; {what}: {}", named(paths))).collect();
                format!("{TITLE} {version} is installed, {which}{own}")
            }
        };
        let says = match &self.clone {
            Some(clone) => format!(
                "{} is a clone of {}, and has the package that is installed and updated there: {says}",
                clone.display(),
                self.site.project.display()
            ),
            None => says,
        };
        match &self.obstacle {
            Some(Obstacle::Manifest(wish)) if self.is_brought() => {
                format!("{says}; Packages/manifest.json brings it, as \"{wish}\"")
            }
            Some(Obstacle::Elsewhere(folder)) if self.is_brought() => format!("{says}; it is in Packages/{folder}"),
            Some(obstacle) => format!("{says}; {obstacle}"),
            None => says,
        }
    }

    /// Whether the project gets the package from elsewhere, such as by a git URL.
    pub fn is_brought(&self) -> bool {
        self.state == State::Absent && self.obstacle.as_ref().is_some_and(Obstacle::brings_it)
    }

    fn brought_version(&self) -> Option<String> {
        let facts = |dialect: &&'static dyn Dialect| survey::facts(&RealHost, &self.site.project, *dialect);
        let version = OWN.iter().find_map(|dialect| facts(dialect).package_version)?;
        Some(clean(&version.to_string()))
    }

    /// Returns the fix: a command, or a step before it. `None` if nothing has to be fixed, or if the fix is in the text of the
    /// obstacle.
    pub fn fix(&self) -> Option<String> {
        if self.is_brought() {
            let ours = About::this().version;
            let other = self.brought_version().is_some_and(|version| against_ours(&version) != THIS_ONES);
            return other
                .then(|| format!("bring it to {ours} where it comes from (in a git URL: #v{ours} at its end)"));
        }
        if self.good() || self.obstacle.is_some() {
            return None;
        }
        let command = format!("holdfast unity install --project {}", user_text::quoted(&self.site.project));
        match &self.state {
            // The project uses another package. Nothing has to be fixed: with both packages, holdfast would call neither.
            State::Absent if !self.site.others().is_empty() => None,
            State::Absent | State::Interrupted => Some(command),
            State::Installed(installed) if installed.own_work().is_empty() => Some(command),
            State::Installed(_) => Some(format!(
                "move what is yours to a place of its own, then `{command} --force` replaces the whole folder"
            )),
            State::Foreign => Some(format!("move it away, then `{command}`")),
            State::Unreadable(_) => Some("let this user read that folder".to_owned()),
        }
    }

    pub fn as_json(&self) -> Value {
        let installed = match &self.state {
            State::Installed(installed) => Some(installed),
            _ => None,
        };
        json!({
            "project": self.clone.as_ref().unwrap_or(&self.site.project).display().to_string(),
            "clone_of": self.clone.as_ref().map(|_| self.site.project.display().to_string()),
            "unity": self.site.unity(),
            "folder": self.site.folder().display().to_string(),
            "state": <&str>::from(&self.state),
            "version": installed.map(|installed| &installed.version),
            "program_version": About::this().version,
            "same": installed.is_some_and(|installed| installed.same),
            "changed": installed.map(|installed| &installed.changed),
            "added": installed.map(|installed| &installed.added),
            "missing": installed.map(|installed| &installed.missing),
            "obstacle": self.obstacle.as_ref().map(ToString::to_string),
            "ok": self.good(),
            "says": self.says(),
            "mend": self.fix(),
        })
    }
}

fn state(site: &Site) -> io::Result<State> {
    let folder = site.folder();
    match folder.symlink_metadata() {
        Ok(meta) if !meta.is_dir() => return Ok(State::Foreign),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let waits = site.work().join(super::place::FORMER).is_dir();
            return Ok(if waits { State::Interrupted } else { State::Absent });
        }
        Err(error) => return Err(error),
    }
    let found = content::read(&folder)?;
    if let Some(record) = Record::read(&folder) {
        return Ok(State::Installed(Installed::between(&record, &found)));
    }
    // The record may have been lost. Files that equal our own package are not the user's work.
    let ours = Record::this();
    if found.is_empty() {
        return Ok(State::Absent);
    }
    if found == ours.files {
        return Ok(State::Installed(Installed { same: false, ..Installed::between(&ours, &found) }));
    }
    Ok(State::Foreign)
}

/// Joins paths for a sentence; names at most [`UNITY_FILES_NAMED_MAX`] of them, then how many more there are.
pub fn named(paths: &[String]) -> String {
    let some: Vec<&str> = paths.iter().take(UNITY_FILES_NAMED_MAX).map(String::as_str).collect();
    match paths.len() - some.len() {
        0 => some.join(", "),
        rest => format!("{} and {rest} more", some.join(", ")),
    }
}

const THIS_ONES: &str = "which is this program's";

fn against_ours(version: &str) -> String {
    let ours = About::this().version;
    match compare(version, &ours) {
        Ordering::Less => format!("older than this program's {ours}"),
        Ordering::Greater => format!("newer than this program's {ours}"),
        Ordering::Equal => THIS_ONES.to_owned(),
    }
}

/// Compares two versions by their numbers, without what follows `-` or `+`.
fn compare(one: &str, other: &str) -> Ordering {
    let numbers = |version: &str| -> Vec<u64> {
        let plain = version.split(['-', '+']).next().unwrap_or_default();
        plain.split('.').map(|part| part.parse().unwrap_or_default()).collect()
    };
    numbers(one).cmp(&numbers(other))
}
