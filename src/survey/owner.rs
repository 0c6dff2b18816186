//! Finds out who owns a port, and whether the project's editor is running.

use std::path::{Path, PathBuf};

use super::look::facts;
use super::reuse::liveness;
use super::types::{Identity, Target};
use crate::config;
use crate::fsm::bridge::ConnectFailure;
use crate::platform::host::{Caller, Host, Liveness, Owner};
use crate::protocol::dialect::{Dialect, Expected};
use crate::protocol::text::clean;

impl Target {
    /// Whether the project's editor is running; `None` if the target has no project or the editor's pid is not known.
    pub fn liveness(&self, host: &dyn Host) -> Option<Liveness> {
        Some(liveness(host, self.project.as_deref()?, self.dialect, self.editor_pid?))
    }
}

/// Checks whether requests may be sent to the process that listens on the target's port. Returns `None` if the system does not
/// report that process and nothing else can prove its identity. Must be called after connecting, before the first byte is sent.
///
/// # Errors
/// `WrongProject` if the port or the expected identity belongs to another project. `Unproven` if the port's owner is an import
/// worker, or cannot be shown to be this project's editor.
pub fn check_owner(host: &dyn Host, target: &Target) -> Result<Option<Identity>, ConnectFailure> {
    if target.project.is_none() {
        // There is no project to compare with: without a project, only a port that the user named becomes a target.
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
        // The owner's command line names another project. In this case even a port that the user named is not used.
        (Some(_), Some(project)) if same(project) == Some(false) => Err(ConnectFailure::WrongProject),
        (Some(_), Some(project)) if same(project) == Some(true) => Ok(Some(Identity::Checked)),
        (Some(owner), Some(_)) if target.editor_pid == Some(owner.pid) => Ok(Some(Identity::Checked)),
        _ if named => Ok(Some(Identity::Assumed)),
        // The system does not report the owner, but the editor itself checks that each call is meant for it.
        (None, _) if target.expected.is_some() => Ok(Some(Identity::Checked)),
        (None, _) => Ok(None),
        (Some(_), _) => Err(ConnectFailure::Unproven),
    }
}

/// Checks whether the process at the other end of a local socket may be the target's editor. `pid` 0: the system does not tell it.
///
/// # Errors
/// `Unproven` for an import worker of Unity, `WrongProject` for an editor that has another project open.
pub fn check_process(host: &dyn Host, target: &Target, pid: u32) -> Result<Identity, ConnectFailure> {
    let Some(owner) = host.process_owner(pid) else { return Ok(Identity::Checked) };
    if is_worker(&owner) {
        return Err(ConnectFailure::Unproven);
    }
    let other = opened_project(&owner).zip(target.project.as_deref());
    match other {
        Some((opened, ours)) if !same_project(&opened, ours) => Err(ConnectFailure::WrongProject),
        _ => Ok(Identity::Checked),
    }
}

/// Why a process that has connected to us is not believed to be the editor that it says it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotBelieved {
    #[error("it is a process of another user")]
    OfOtherUser,
    #[error("{0} is an import worker of Unity, and not the project's editor")]
    Worker(String),
    #[error("{who} has another project open: {project}")]
    OtherProject { who: String, project: String },
    #[error("nothing shows that {0} is the project's editor")]
    Unproven(String),
    #[error(
        "the system does not tell whose process it is; if it is the project's editor, name the port (--port), and it is believed"
    )]
    Untold,
}

impl NotBelieved {
    /// Whether it may be an editor of the user all the same, who must be told then.
    pub fn concerns_user(&self) -> bool {
        matches!(self, Self::OtherProject { .. } | Self::Unproven(_) | Self::Untold)
    }
}

/// Checks whether the process that has connected to us, and says that it has this project open, may be its editor. `is_named`: the user
/// named the port to which it has connected.
///
/// # Errors
/// [`NotBelieved`].
pub fn check_caller(
    host: &dyn Host,
    caller: Caller,
    project: &Path,
    dialect: &dyn Dialect,
    is_named: bool,
) -> Result<(), NotBelieved> {
    let owner = match caller {
        Caller::OfOtherUser => return Err(NotBelieved::OfOtherUser),
        Caller::Untold => return is_named.then_some(()).ok_or(NotBelieved::Untold),
        Caller::Process(owner) => owner,
    };
    let who = format!("{} (pid {})", clean(&owner.name), owner.pid);
    if is_worker(&owner) {
        return Err(NotBelieved::Worker(who));
    }
    match opened_project(&owner) {
        Some(opened) if same_project(&opened, project) => Ok(()),
        Some(opened) => Err(NotBelieved::OtherProject { who, project: opened.display().to_string() }),
        None if is_named => Ok(()),
        None => {
            let facts = facts(host, project, dialect);
            let is_recorded = [facts.editor_pid, facts.other_pid].contains(&Some(owner.pid));
            is_recorded.then_some(()).ok_or(NotBelieved::Unproven(who))
        }
    }
}

/// Returns the target with what the project's files say now of the editor's identity and its token. An editor that has just come
/// back has new ones, and the survey may have read the old ones. What the files do not name stays as it was.
///
/// # Errors
/// `Refused` if the files name another process than the survey did: the target is out of date, and a new survey is needed.
/// `WrongProject` if the identity names another project.
pub fn target_now(host: &dyn Host, mut target: Target) -> Result<Target, ConnectFailure> {
    let Some(project) = &target.project else { return Ok(target) };
    let facts = facts(host, project, target.dialect);
    let mut named = [facts.editor_pid, facts.other_pid].into_iter().flatten().peekable();
    if named.peek().is_some() && target.editor_pid.is_some_and(|pid| !named.any(|named| named == pid)) {
        return Err(ConnectFailure::Refused);
    }
    if facts.token.is_some() {
        target.endpoint = target.dialect.endpoint(target.endpoint.port(), &facts);
    }
    target.expected = facts.expected.or(target.expected);
    match &target.expected {
        Some(expected) if names_another_project(expected, &target) => Err(ConnectFailure::WrongProject),
        _ => Ok(target),
    }
}

/// Whether the expected identity names another project. That happens if this project is a copy: its bridge file is the
/// original's, and the port in that file leads to the original's editor.
fn names_another_project(expected: &Expected, target: &Target) -> bool {
    let told = match expected {
        Expected::Told { project_root, .. } => project_root,
        Expected::Proven(credentials) => &credentials.project,
    };
    target.project.as_deref().is_some_and(|project| !same_project(Path::new(told), project))
}

/// Returns the process that listens on a target's port.
pub(super) fn owner_of(host: &dyn Host, target: &Target) -> Option<Owner> {
    match target.editor_pid {
        Some(pid) => host.port_owner_near(target.endpoint.port(), pid),
        None => host.port_owner(target.endpoint.port()),
    }
}

/// Whether the process is an import worker of Unity. It opens the same project to import assets, and packages start their bridges
/// in it too.
fn is_worker(owner: &Owner) -> bool {
    owner.command_line.iter().any(|word| word.contains("AssetImportWorker"))
}

/// Returns the project that an editor was started with, from its command line (`-projectPath`, in upper or lower case). `None` if
/// there is none, or for a relative path, since the editor's working directory is not known here.
pub fn opened_project(owner: &Owner) -> Option<PathBuf> {
    let mut words = owner.command_line.iter();
    words.find(|word| word.eq_ignore_ascii_case("-projectPath"))?;
    words.next().map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Whether two paths lead to the same project.
pub fn same_project(a: &Path, b: &Path) -> bool {
    let plain = |path: &Path| config::canonical(path).unwrap_or_else(|| path.to_path_buf());
    plain(a) == plain(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::host::RealHost;
    use crate::protocol::dialect;

    /// A process that connects to us is judged as one that listens: by its command line, then by the project's record of its editor.
    #[test]
    fn whoever_connects_must_be_the_projects_editor() {
        let folder = tempfile::tempdir().unwrap();
        let root = config::canonical(folder.path()).unwrap();
        let path = root.to_str().unwrap();
        let checked = |caller, is_named| check_caller(&RealHost, caller, &root, dialect::FALLBACK[0], is_named);
        let process = |pid: u32, words: &[&str]| {
            let command_line = words.iter().map(|word| (*word).to_owned()).collect();
            Caller::Process(Owner { pid, name: "Unity".to_owned(), command_line })
        };
        assert_eq!(checked(process(1, &["Unity", "-projectPath", path]), false), Ok(()));
        let elsewhere = std::env::temp_dir().to_string_lossy().into_owned();
        for is_named in [false, true] {
            let worker = process(1, &["Unity", "-name", "AssetImportWorker0", "-projectPath", path]);
            assert!(matches!(checked(worker, is_named), Err(NotBelieved::Worker(_))));
            let other = process(1, &["Unity", "-projectPath", &elsewhere]);
            assert!(matches!(checked(other, is_named), Err(NotBelieved::OtherProject { .. })));
            assert_eq!(checked(Caller::OfOtherUser, is_named), Err(NotBelieved::OfOtherUser));
            assert_eq!(checked(Caller::Untold, is_named).is_ok(), is_named);
            assert_eq!(checked(process(1, &["node"]), is_named).is_ok(), is_named);
        }
        std::fs::create_dir(root.join("Library")).unwrap();
        std::fs::write(root.join("Library/EditorInstance.json"), r#"{"process_id":4711}"#).unwrap();
        assert_eq!(checked(process(4711, &["Unity"]), false), Ok(()));
        assert!(matches!(checked(process(4712, &["Unity"]), false), Err(NotBelieved::Unproven(_))));
    }
}
