//! One look around for the editor: which project, what its files say, which ports may be called, and which are only listed.
//!
//! Blocking, read-only, quick (a few small files, a process look-up): run on the host's blocking lane. A port that a file or a
//! default names is called only when its owner is checked to be the project's editor; a port that the user named is assumed.

use std::path::{Path, PathBuf};

use crate::config::{self, Config, PortSource};
use crate::config_file::{self, ProjectRules};
use crate::fsm::bridge::{ConnectFailure, Evidence, Sign};
use crate::fsm::cause::Cause;
use crate::host::{Host, Liveness, Owner};
use crate::limits::PROJECT_FILE_MAX_BYTES;
use crate::protocol::dialect::{self, Dialect, Dialects, Expected, FileState, ProjectFacts, ProjectFiles, Transport};
use crate::protocol::policy::Policy;
use crate::telemetry::clean;

/// A port that may be dialled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The port on 127.0.0.1.
    pub port: u16,
    /// Who named it.
    pub source: PortSource,
    /// The project it must belong to, if one is known.
    pub project: Option<PathBuf>,
    /// The pid of that project's editor, if known.
    pub editor_pid: Option<u32>,
    /// Whom the editor is asked to be, where the dialect can ask.
    pub expected: Option<Expected>,
    /// What it speaks.
    pub dialect: &'static dyn Dialect,
}

/// A port that is not dialled, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The port.
    pub port: u16,
    /// Who named it.
    pub source: PortSource,
    /// Who listens there.
    pub owner: Option<Owner>,
    /// Why it is not called, in words.
    pub why: String,
}

/// What one look around found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// The project, if there is exactly one.
    pub project: Option<PathBuf>,
    /// Other projects that fit as well: nobody guesses.
    pub ambiguous: Vec<PathBuf>,
    /// The dialects of its packages, if it has several that could be spoken: nobody guesses.
    pub packages: Vec<&'static str>,
    /// What its editor speaks, by those files; a guess if they tell nothing.
    pub dialect: &'static dyn Dialect,
    /// What the project's files say.
    pub facts: ProjectFacts,
    /// What the project's own configuration file narrows.
    pub rules: ProjectRules,
    /// Ports that may be dialled, best first.
    pub targets: Vec<Target>,
    /// Ports that may not.
    pub listed: Vec<Listed>,
    /// The process and the lock files.
    pub evidence: Evidence,
}

/// How well it is known whose a port is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// Its owner is the project's editor, or the editor checks by itself whom each call is for.
    Checked,
    /// The user named it, and nothing speaks against it.
    Assumed,
}

impl Survey {
    /// Looking around failed, by a bug of ours.
    pub fn failed() -> Self {
        let problem = "holdfast failed while it looked for the editor (our fault, please report it with the log); it looks again.";
        let mut policy = Policy::default();
        policy.refuse_all(problem.to_owned());
        Self {
            project: None,
            ambiguous: Vec::new(),
            packages: Vec::new(),
            dialect: dialect::fallback(dialect::ALL),
            facts: ProjectFacts { problems: vec![problem.to_owned()], ..ProjectFacts::default() },
            rules: ProjectRules { policy, ..ProjectRules::default() },
            targets: Vec::new(),
            listed: Vec::new(),
            evidence: Evidence { editor: Sign::Unknown, activity: None },
        }
    }

    /// Why nothing may be dialled.
    pub fn cause(&self) -> Cause {
        if !self.ambiguous.is_empty() || !self.packages.is_empty() {
            Cause::Ambiguous
        } else if self.listed.iter().any(|listed| listed.owner.is_some()) {
            Cause::Unproven
        } else {
            Cause::NotRunning
        }
    }
}

/// Looks around.
pub fn survey(host: &dyn Host, config: &Config, roots: &[PathBuf]) -> Survey {
    let (projects, trouble) = match config.project.as_deref().map(config::named_project) {
        Some(Ok(project)) => (vec![project], None),
        // It may appear later (a disk that is not mounted yet): looked up again at each survey.
        Some(Err(bad)) => (Vec::new(), Some(bad.to_string())),
        None => (likely_projects(config, roots), None),
    };
    let (project, ambiguous) = match projects.as_slice() {
        [one] => (Some(one.clone()), Vec::new()),
        several => (None, several.to_vec()),
    };
    let Spoken { dialect, mut facts, packages } = match project.as_deref() {
        Some(project) => spoken(host, project, config.dialects),
        None => {
            Spoken { dialect: dialect::fallback(config.dialects), facts: ProjectFacts::default(), packages: Vec::new() }
        }
    };
    facts.problems.extend(trouble);
    let abroad = config.foreign_host.as_deref().filter(|_| dialect.properties().transport == Transport::Http);
    facts.problems.extend(abroad.map(|host| {
        format!(
            "UNITY_HOST is \"{}\", which is not this machine, and holdfast calls no other: nothing is called. Remove it, or set it \
             to 127.0.0.1.",
            clean(host)
        )
    }));
    // The one that left its file behind is not the one that will write the next.
    let lives = |pid: Option<u32>| pid.is_some_and(|pid| host.liveness(pid) == Liveness::Alive);
    if !lives(facts.editor_pid) && lives(facts.other_pid) {
        facts.editor_pid = facts.other_pid;
    }
    let evidence = Evidence {
        editor: match facts.editor_pid.map(|pid| host.liveness(pid)) {
            Some(Liveness::Alive) => Sign::Alive,
            Some(Liveness::Dead) => Sign::Dead,
            Some(Liveness::Unknown) | None => Sign::Unknown,
        },
        activity: facts.activity,
    };
    let rules = project.as_deref().map(|project| config_file::read_project(host, project)).unwrap_or_default();
    facts.problems.extend(rules.complaints.iter().cloned());
    let (targets, listed) = (Vec::new(), Vec::new());
    let mut survey = Survey { project, ambiguous, packages, dialect, facts, rules, targets, listed, evidence };
    for (port, source) in candidates(config, &survey.facts, dialect) {
        let named = source.is_named();
        if abroad.is_none() && survey.packages.is_empty() && (named || survey.project.is_some()) {
            survey.targets.push(Target {
                port,
                source,
                project: survey.project.clone(),
                editor_pid: survey.facts.editor_pid.filter(|_| evidence.editor != Sign::Dead),
                expected: survey.facts.expected.clone(),
                dialect,
            });
        } else {
            // Looking up an owner walks all processes: only worth it when nothing else can be called.
            let owner = if survey.targets.is_empty() { host.port_owner(port) } else { None };
            let why = if abroad.is_some() {
                "UNITY_HOST names another machine"
            } else if !survey.packages.is_empty() {
                "the project has packages of several protocols, and nothing tells which of them its editor speaks"
            } else if survey.ambiguous.is_empty() {
                "no Unity project is known, so nothing can prove that this is the right editor"
            } else {
                "more than one Unity project fits"
            };
            survey.listed.push(Listed { port, source, owner, why: why.to_owned() });
        }
    }
    survey
}

/// The projects that fit when none was named: those of the client's roots; else the one around the working directory.
fn likely_projects(config: &Config, roots: &[PathBuf]) -> Vec<PathBuf> {
    let around = |path: &Path| config::canonical(path).and_then(|path| config::project_of(&path));
    let here = config.working_dir.as_deref().and_then(around);
    let mut found: Vec<PathBuf> = roots.iter().filter_map(|root| around(root)).collect();
    found.sort();
    found.dedup();
    match (found.as_slice(), here) {
        ([], here) => here.into_iter().collect(),
        // Among several roots the one that the client was started in is no guess.
        ([_, _, ..], Some(here)) if found.contains(&here) => vec![here],
        _ => found,
    }
}

/// What the editor of a project speaks.
struct Spoken {
    dialect: &'static dyn Dialect,
    facts: ProjectFacts,
    packages: Vec<&'static str>,
}

/// The dialect whose package is in the project, and what its files say; the fallback if there is none. Where there are several,
/// the first of them tells of the editor's process, and none is spoken.
fn spoken(host: &dyn Host, project: &Path, dialects: Dialects) -> Spoken {
    let mut read: Vec<_> = dialects.iter().map(|dialect| (*dialect, facts(host, project, *dialect))).collect();
    // What a crashed editor left behind is no second package beside one that the project names.
    let named = read.iter().any(|(_, facts)| facts.installed && !facts.by_record);
    let counts = |facts: &ProjectFacts| facts.installed && !(named && facts.by_record);
    let mut packages: Vec<&str> =
        read.iter().filter(|(_, facts)| counts(facts)).map(|(dialect, _)| dialect.name()).collect();
    let place = read.iter().position(|(_, facts)| counts(facts)).unwrap_or(read.len().saturating_sub(1));
    if place >= read.len() {
        return Spoken { dialect: dialect::fallback(dialects), facts: ProjectFacts::default(), packages: Vec::new() };
    }
    let (dialect, mut facts) = read.swap_remove(place);
    if packages.len() > 1 {
        facts.problems.push(format!(
            "The project has packages of several protocols ({}), and holdfast never guesses: remove what is not used, or name one \
             with --dialect (HOLDFAST_DIALECT).",
            packages.join(", "),
        ));
    } else {
        packages.clear();
    }
    Spoken { dialect, facts, packages }
}

/// What a project's files say.
pub fn facts(host: &dyn Host, project: &Path, dialect: &dyn Dialect) -> ProjectFacts {
    let mut files = ProjectFiles::new();
    for file in dialect.project_files() {
        let path = project.join(file.path);
        let state = if !file.content {
            if host.exists(&path) { FileState::Present } else { FileState::Missing }
        } else {
            match host.read(&path, PROJECT_FILE_MAX_BYTES) {
                Ok(bytes) => FileState::Content(bytes),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => FileState::Missing,
                Err(error) => FileState::Unreadable(error.to_string()),
            }
        };
        files.insert(file.path, state);
    }
    dialect.read_project(&files)
}

fn candidates(config: &Config, facts: &ProjectFacts, dialect: &dyn Dialect) -> Vec<(u16, PortSource)> {
    let settings = facts.port.map(|(port, _)| (port, PortSource::Settings));
    let default = dialect.properties().default_ports.iter().map(|port| (*port, PortSource::Default));
    let mut seen = Vec::new();
    let reads = |source| source != PortSource::UnityPort || dialect.properties().transport == Transport::Http;
    let named = config.ports.iter().copied().filter(|(_, source)| reads(*source));
    for (port, source) in named.chain(settings).chain(default) {
        if !seen.iter().any(|(known, _)| *known == port) {
            seen.push((port, source));
        }
    }
    seen
}

/// Whether whoever listens on a target's port may be called. Looked up after the connect, before the first byte.
///
/// # Errors
/// Why not: another project's editor, or nothing proves that it is this one's.
pub fn check_owner(host: &dyn Host, target: &Target) -> Result<Identity, ConnectFailure> {
    if target.project.is_none() {
        // Nothing to compare with: only a port that the user named becomes a target without a project.
        return Ok(Identity::Assumed);
    }
    let owner = match target.editor_pid {
        Some(pid) => host.port_owner_near(target.port, pid),
        None => host.port_owner(target.port),
    };
    if owner.as_ref().is_some_and(is_worker) {
        return Err(ConnectFailure::Unproven);
    }
    let of_project = owner.as_ref().and_then(opened_project);
    let same = |project: &Path| of_project.as_deref().map(|opened| same_project(opened, project));
    let named = target.source.is_named();
    match (&owner, &target.project) {
        // It says itself that it has another project open: not even a port that the user named is called then.
        (Some(_), Some(project)) if same(project) == Some(false) => Err(ConnectFailure::WrongProject),
        (Some(_), Some(project)) if same(project) == Some(true) => Ok(Identity::Checked),
        (Some(owner), Some(_)) if target.editor_pid == Some(owner.pid) => Ok(Identity::Checked),
        _ if named => Ok(Identity::Assumed),
        // The system does not tell who listens, but the editor checks by itself whom each call is for.
        (None, Some(_)) if target.expected.is_some() => Ok(Identity::Checked),
        _ => Err(ConnectFailure::Unproven),
    }
}

/// Whether this is a process in which Unity imports assets: it opens the same project, and packages start their bridges in it too.
fn is_worker(owner: &Owner) -> bool {
    owner.command_line.iter().any(|word| word.contains("AssetImportWorker"))
}

/// The project an editor was started with, from its command line (`-projectPath`, spelled in any case). A relative path is
/// relative to a folder that is not known here, and tells nothing.
pub fn opened_project(owner: &Owner) -> Option<PathBuf> {
    let mut words = owner.command_line.iter();
    words.find(|word| word.eq_ignore_ascii_case("-projectPath"))?;
    words.next().map(PathBuf::from).filter(|path| path.is_absolute())
}

fn same_project(a: &Path, b: &Path) -> bool {
    let plain = |path: &Path| config::canonical(path).unwrap_or_else(|| path.to_path_buf());
    plain(a) == plain(b)
}

#[cfg(test)]
mod tests;
