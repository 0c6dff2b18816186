//! One look around for the editor: which project, what its files say, which ports may be called, and which are only listed.
//!
//! Blocking, read-only, quick (a few small files, a process look-up): run on the host's blocking lane. A port that a file or a
//! default names is called only when its owner is checked to be the project's editor; a port that the user named is assumed.

mod meant;
mod reuse;

use std::path::{Path, PathBuf};

use crate::config::{self, Config, PortSource};
use crate::config_file::{self, ProjectRules};
use crate::fsm::bridge::{ConnectFailure, Evidence, Sign};
use crate::fsm::cause::Cause;
use crate::limits::PROJECT_FILE_MAX_BYTES;
use crate::platform::host::{Host, Liveness, NotRead, Owner};
use crate::protocol::dialect::unspoken::{self, Unspoken};
use crate::protocol::dialect::{
    self, Dialect, Dialects, Expected, FileState, ProjectFacts, ProjectFile, ProjectFiles, Transport, Unreadable,
};
use crate::protocol::policy::Policy;
use crate::protocol::text::clean;
use meant::Meant;
use reuse::liveness;

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
    /// The version of its package, if the project's files tell it.
    pub package_version: Option<String>,
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
    /// There was no descriptor to look with: what was not found may be there.
    pub starved: bool,
    /// The look around failed, by a bug of ours: it tells nothing of where the project is.
    pub failed: bool,
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
            evidence: Evidence { editor: Sign::Unknown, activity: None, announces: None },
            starved: false,
            failed: true,
        }
    }

    /// Why nothing may be dialled.
    pub fn cause(&self) -> Cause {
        if !self.ambiguous.is_empty() || !self.packages.is_empty() {
            Cause::Ambiguous
        } else if self.listed.iter().any(|listed| listed.owner.is_some()) {
            Cause::Unproven
        } else if self.starved {
            Cause::NoDescriptors
        } else {
            Cause::NotRunning
        }
    }
}

/// Looks around. `former`: the project that was found with the same roots before; a session stays with it.
pub fn survey(host: &dyn Host, config: &Config, roots: &[PathBuf], former: Option<&Path>) -> Survey {
    let Meant { project, ambiguous, trouble } = meant::meant(host, config, roots, former);
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
    let told = |pid: Option<u32>| Some(liveness(host, project.as_deref()?, dialect, pid?));
    if told(facts.editor_pid) != Some(Liveness::Alive) && told(facts.other_pid) == Some(Liveness::Alive) {
        facts.editor_pid = facts.other_pid;
    }
    let evidence = Evidence {
        editor: match told(facts.editor_pid) {
            Some(Liveness::Alive) => Sign::Alive,
            Some(Liveness::Dead) => Sign::Dead,
            Some(Liveness::Unknown) | None => Sign::Unknown,
        },
        activity: facts.activity,
        announces: dialect.announces(facts.package_version.as_deref()),
    };
    let rules = project.as_deref().map(|project| config_file::read_project(host, project)).unwrap_or_default();
    facts.problems.extend(rules.complaints.iter().cloned());
    let (targets, listed) = (Vec::new(), Vec::new());
    let starved = host.lacks_descriptors();
    let failed = false;
    let mut survey =
        Survey { project, ambiguous, packages, dialect, facts, rules, targets, listed, evidence, starved, failed };
    let moved = moved_ports(host, &survey);
    for (port, source) in candidates(config, &survey.facts, dialect, &moved) {
        let named = source.is_named();
        if abroad.is_none() && survey.packages.is_empty() && (named || survey.project.is_some()) {
            survey.targets.push(Target {
                port,
                source,
                project: survey.project.clone(),
                editor_pid: survey.facts.editor_pid.filter(|_| evidence.editor != Sign::Dead),
                expected: survey.facts.expected.clone(),
                dialect,
                package_version: survey.facts.package_version.clone(),
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

impl Survey {
    /// Whether the editor lives that the project's files name; `None` if they name none.
    pub fn editor(&self) -> Option<Liveness> {
        self.facts.editor_pid.map(|_| match self.evidence.editor {
            Sign::Alive => Liveness::Alive,
            Sign::Dead => Liveness::Dead,
            Sign::Unknown => Liveness::Unknown,
        })
    }
}

impl Target {
    /// Whether the project's editor lives; `None` if its process is not known.
    pub fn liveness(&self, host: &dyn Host) -> Option<Liveness> {
        Some(liveness(host, self.project.as_deref()?, self.dialect, self.editor_pid?))
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
    if packages.is_empty() {
        let unspoken = unspoken::read(&files(host, project, unspoken::FILES));
        facts.problems.extend(unspoken.into_iter().map(Unspoken::says));
    }
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
    dialect.read_project(&files(host, project, dialect.project_files()))
}

/// What there is of these files.
fn files(host: &dyn Host, project: &Path, wanted: &[ProjectFile]) -> ProjectFiles {
    let mut files = ProjectFiles::new();
    for file in wanted {
        let path = project.join(file.path);
        let state = if !file.content {
            if host.exists(&path) { FileState::Present } else { FileState::Missing }
        } else {
            match host.read(&path, PROJECT_FILE_MAX_BYTES) {
                Ok(bytes) => FileState::Content(bytes),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => FileState::Missing,
                Err(error) => FileState::Unreadable(unreadable(&error)),
            }
        };
        files.insert(file.path, state);
    }
    files
}

fn unreadable(error: &std::io::Error) -> Unreadable {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<NotRead>()) {
        Some(NotRead::Link) => Unreadable::Link,
        Some(NotRead::NotAFile) => Unreadable::NotAFile,
        Some(NotRead::TooLarge { .. }) => Unreadable::TooLarge,
        None if error.kind() == std::io::ErrorKind::PermissionDenied => Unreadable::Denied(error.to_string()),
        None => Unreadable::Other(error.to_string()),
    }
}

/// Where the editor listens instead of on its own port, which was taken when its bridge started.
fn moved_ports(host: &dyn Host, survey: &Survey) -> Vec<u16> {
    let dialect = survey.dialect;
    let own = survey.facts.port.map(|(port, _)| port).or(dialect.properties().default_ports.first().copied());
    let pid = survey.facts.editor_pid.filter(|_| survey.evidence.editor == Sign::Alive);
    let (Some(own), Some(pid), true) = (own, pid, dialect.moves_up() > 0) else { return Vec::new() };
    let found = host.ports_of(pid, own..=own.saturating_add(dialect.moves_up()));
    if found.contains(&own) { Vec::new() } else { found }
}

fn candidates(config: &Config, facts: &ProjectFacts, dialect: &dyn Dialect, moved: &[u16]) -> Vec<(u16, PortSource)> {
    let moved = moved.iter().map(|port| (*port, PortSource::Process));
    let settings = facts.port.map(|(port, _)| (port, PortSource::Settings));
    let default = dialect.properties().default_ports.iter().map(|port| (*port, PortSource::Default));
    let mut seen = Vec::new();
    let reads = |source| source != PortSource::UnityPort || dialect.properties().transport == Transport::Http;
    let named = config.ports.iter().copied().filter(|(_, source)| reads(*source));
    for (port, source) in named.chain(moved).chain(settings).chain(default) {
        if !seen.iter().any(|(known, _)| *known == port) {
            seen.push((port, source));
        }
    }
    seen
}

/// Whether whoever listens on a target's port may be called; `None` where nobody is seen to listen, and only the owner could tell.
/// Looked up after the connect, before the first byte.
///
/// # Errors
/// Why not: it belongs to another project's editor, or to somebody who is not seen to be this one's.
pub fn check_owner(host: &dyn Host, target: &Target) -> Result<Option<Identity>, ConnectFailure> {
    if target.project.is_none() {
        // Nothing to compare with: only a port that the user named becomes a target without a project.
        return Ok(Some(Identity::Assumed));
    }
    if target.expected.as_ref().is_some_and(|expected| names_another_project(expected, target)) {
        return Err(ConnectFailure::WrongProject);
    }
    let owner = owner_of(host, target);
    if owner.as_ref().is_some_and(is_worker) {
        return Err(ConnectFailure::Unproven);
    }
    let of_project = owner.as_ref().and_then(opened_project);
    let same = |project: &Path| of_project.as_deref().map(|opened| same_project(opened, project));
    let named = target.source.is_named();
    match (&owner, &target.project) {
        // It says itself that it has another project open: not even a port that the user named is called then.
        (Some(_), Some(project)) if same(project) == Some(false) => Err(ConnectFailure::WrongProject),
        (Some(_), Some(project)) if same(project) == Some(true) => Ok(Some(Identity::Checked)),
        (Some(owner), Some(_)) if target.editor_pid == Some(owner.pid) => Ok(Some(Identity::Checked)),
        _ if named => Ok(Some(Identity::Assumed)),
        // The system does not tell who listens, but the editor checks by itself whom each call is for.
        (None, _) if target.expected.is_some() => Ok(Some(Identity::Checked)),
        (None, _) => Ok(None),
        (Some(_), _) => Err(ConnectFailure::Unproven),
    }
}

/// Whom the editor is asked to be, as its files say now: an editor that came back a moment ago has a new identity, and the survey may
/// have read the former one. What was read before stays where they do not tell.
///
/// # Errors
/// They name another process than the survey did, so that nothing of the target is sure: a new look tells.
pub fn expected_now(host: &dyn Host, target: &Target) -> Result<Option<Expected>, ConnectFailure> {
    let Some(project) = &target.project else { return Ok(target.expected.clone()) };
    let facts = facts(host, project, target.dialect);
    let mut named = [facts.editor_pid, facts.other_pid].into_iter().flatten().peekable();
    if named.peek().is_some() && target.editor_pid.is_some_and(|pid| !named.any(|named| named == pid)) {
        return Err(ConnectFailure::Refused);
    }
    let expected = facts.expected.or_else(|| target.expected.clone());
    match &expected {
        Some(expected) if names_another_project(expected, target) => Err(ConnectFailure::WrongProject),
        _ => Ok(expected),
    }
}

/// Whether the file that a bridge wrote is that of another project, of which this one is a copy: its port leads to the other's editor.
fn names_another_project(expected: &Expected, target: &Target) -> bool {
    let told = match expected {
        Expected::Told { project_root, .. } => project_root,
        Expected::Proven(credentials) => &credentials.project,
    };
    target.project.as_deref().is_some_and(|project| !same_project(Path::new(told), project))
}

/// Who listens on a target's port.
fn owner_of(host: &dyn Host, target: &Target) -> Option<Owner> {
    match target.editor_pid {
        Some(pid) => host.port_owner_near(target.port, pid),
        None => host.port_owner(target.port),
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
