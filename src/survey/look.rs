//! Reads what a project's files say about its editor, and decides which ports may be connected to.

use std::path::{Path, PathBuf};

use super::reuse::liveness;
use super::types::{Listed, Meant, Survey, Target};
use crate::config::file;
use crate::config::{Config, PortSource, canonical};
use crate::fsm::bridge::{Evidence, Sign};
use crate::limits::PROJECT_FILE_MAX_BYTES;
use crate::platform::filesystem::is_missing;
use crate::platform::host::{Host, Liveness, NotRead};
use crate::protocol::dialect::unspoken::{self, Unspoken};
use crate::protocol::dialect::{
    self, Dialect, Dialects, Endpoint, FileState, ProjectFacts, ProjectFile, ProjectFiles, Unreadable, UserFile,
};
use crate::protocol::text::clean;

/// Surveys the project that is meant.
pub(super) fn look(host: &dyn Host, config: &Config, meant: Meant) -> Survey {
    let Meant { project, ambiguous, problem } = meant;
    let Spoken { dialect, mut facts, packages } = match project.as_deref() {
        Some(project) => spoken(host, project, config.dialects),
        None => {
            Spoken { dialect: dialect::fallback(config.dialects), facts: ProjectFacts::default(), packages: Vec::new() }
        }
    };
    facts.problems.extend(problem);
    let abroad = config.foreign_host.as_deref().filter(|_| dialect.properties().reads_unity_port);
    facts.problems.extend(abroad.map(|host| {
        format!(
            "UNITY_HOST is \"{}\", which is not this machine, and holdfast calls no other: nothing is called. Remove it, or set it \
             to 127.0.0.1.",
            clean(host)
        )
    }));
    // The files may name two processes. If the first one is not alive but the other one is, the other one is the editor.
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
        port_named: config.ports.iter().any(|(_, source)| source.is_named()),
        arrives: dialect.reception().is_some(),
        unpackaged: project.is_some() && packages.is_empty() && !facts.installed,
    };
    let rules = project.as_deref().map(|project| file::read_project(host, project)).unwrap_or_default();
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
            let endpoint = dialect.endpoint(port, &survey.facts);
            survey.targets.push(target(&survey, endpoint, source));
        } else {
            // To find the owner of a port may need a look at all processes (`docs/benchmarks.md`). So it is done only
            // if no port may be connected to.
            let owner = if survey.targets.is_empty() { host.port_owner(port) } else { None };
            let why = if abroad.is_some() {
                "UNITY_HOST names another machine"
            } else if !survey.packages.is_empty() {
                "the project has packages of several protocols, and nothing shows which of them its editor uses"
            } else if survey.ambiguous.is_empty() {
                "no Unity project is known, so nothing can prove that this is the right editor"
            } else {
                "more than one Unity project fits"
            };
            survey.listed.push(Listed { port, source, owner, why: why.to_owned() });
        }
    }
    if let Some(endpoint) = local_socket(&survey).filter(|_| survey.packages.is_empty()) {
        survey.targets.push(target(&survey, endpoint, PortSource::Default));
    }
    survey
}

/// Makes a target of what the survey found.
fn target(survey: &Survey, endpoint: Endpoint, source: PortSource) -> Target {
    Target {
        endpoint,
        source,
        project: survey.project.clone(),
        editor_pid: survey.facts.editor_pid.filter(|_| survey.evidence.editor != Sign::Dead),
        expected: survey.facts.expected.clone(),
        dialect: survey.dialect,
        package_version: survey.facts.package_version.clone(),
    }
}

/// Returns the local socket of the project's editor, if its package listens on one.
fn local_socket(survey: &Survey) -> Option<Endpoint> {
    let project = survey.project.as_deref()?;
    let real = canonical(project).unwrap_or_else(|| project.to_path_buf());
    survey.dialect.local_socket(&real.to_string_lossy()).map(Endpoint::Local)
}

/// The dialect that a project's files show, with their facts.
struct Spoken {
    dialect: &'static dyn Dialect,
    facts: ProjectFacts,
    packages: Vec<&'static str>,
}

/// Returns the dialect whose package is in the project, and the facts of its files. If no package is installed, returns those of
/// the last dialect. If several packages are installed, returns the facts of the first one and the names of all, and no editor is
/// called.
fn spoken(host: &dyn Host, project: &Path, dialects: Dialects) -> Spoken {
    let mut read: Vec<(&'static dyn Dialect, ProjectFacts)> =
        dialects.iter().map(|dialect| (*dialect, facts(host, project, *dialect))).collect();
    // If the project's files name a package, a record that a crashed editor left does not count as a second package.
    let named = read.iter().any(|(_, facts)| facts.installed && !facts.by_record);
    let is_there = |facts: &ProjectFacts| facts.installed && !(named && facts.by_record);
    let others = read.iter().any(|(dialect, facts)| is_there(facts) && !dialect.gives_way());
    let counts = |(dialect, facts): &&(&dyn Dialect, ProjectFacts)| is_there(facts) && !(others && dialect.gives_way());
    let mut packages: Vec<&str> = read.iter().filter(counts).map(|(dialect, _)| dialect.name()).collect();
    let passed = read.iter().filter(|of| is_there(&of.1) && !counts(of)).map(|(dialect, _)| *dialect).next();
    let place = read.iter().position(|of| counts(&of)).unwrap_or(read.len().saturating_sub(1));
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
            "The project has packages of several protocols ({}), and holdfast never guesses: remove what is not used, or set \
             HOLDFAST_DIALECT to the one that is meant.",
            packages.join(", "),
        ));
    } else {
        packages.clear();
    }
    facts.notes.extend(passed.map(|passed| {
        let (title, name) = (passed.title(), passed.name());
        format!(
            "The project has {title} too, which is not used: a project is served by another package that holdfast speaks. Set \
             HOLDFAST_DIALECT={name} (--dialect {name}) to use it all the same."
        )
    }));
    Spoken { dialect, facts, packages }
}

/// Reads the facts of a dialect from a project's files.
pub fn facts(host: &dyn Host, project: &Path, dialect: &dyn Dialect) -> ProjectFacts {
    let mut files = files(host, project, dialect.project_files());
    if let Some((file, path)) = user_file(host, project, dialect) {
        files.insert(file.label, content(host, &path));
    }
    dialect.read_project(&files)
}

/// Returns the user's file about this project, and its path.
pub fn user_file(host: &dyn Host, project: &Path, dialect: &dyn Dialect) -> Option<(UserFile, PathBuf)> {
    let real = canonical(project).unwrap_or_else(|| project.to_path_buf());
    let file = dialect.user_file(&real.to_string_lossy())?;
    let path = host.user_folder(file.variable, file.folder)?.join(&file.name);
    Some((file, path))
}

/// Reads the files of this list that exist.
fn files(host: &dyn Host, project: &Path, wanted: &[ProjectFile]) -> ProjectFiles {
    let mut files = ProjectFiles::new();
    for file in wanted {
        let path = project.join(file.path);
        let state = if !file.content {
            if host.exists(&path) { FileState::Present } else { FileState::Missing }
        } else {
            content(host, &path)
        };
        files.insert(file.path, state);
    }
    files
}

fn content(host: &dyn Host, path: &Path) -> FileState {
    match host.read(path, PROJECT_FILE_MAX_BYTES) {
        Ok(bytes) => FileState::Content(bytes),
        Err(error) if is_missing(&error) => FileState::Missing,
        Err(error) => FileState::Unreadable(unreadable(&error)),
    }
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

/// Returns the ports on which the editor listens in place of its own port. An editor does that if its own port was
/// taken when its bridge started.
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
    let reads = |source| source != PortSource::UnityPort || dialect.properties().reads_unity_port;
    let named = config.ports.iter().copied().filter(|(_, source)| reads(*source));
    for (port, source) in named.chain(moved).chain(settings).chain(default) {
        if !seen.iter().any(|(known, _)| *known == port) {
            seen.push((port, source));
        }
    }
    seen
}
