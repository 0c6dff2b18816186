//! Decides which project is meant: the one that was named, else the one of the client's roots, else the one of the folder that
//! the client named in the environment, else the one of the working directory. A project that contains such a folder takes
//! precedence over projects below the folder. If there are several, holdfast never guesses: it chooses the project that the
//! client was started in, else the session's former project, else the only one with a running editor.

use std::path::{Path, PathBuf};

use super::look::look;
use super::owner::{check_owner, owner_of};
use super::types::{Identity, Meant};
use crate::config::below::{Below, NOT_SEARCHED, Unsearched, is_in, projects_below};
use crate::config::{self, Config};
use crate::core::user_text;
use crate::fsm::bridge::Sign;
use crate::limits::{BELOW_FOLDERS_MAX, BELOW_LEVELS};
use crate::platform::host::Host;
use crate::protocol::text::{clean, percent_decoded};

/// Finds the project that is meant. `former`: the project that was found before with the same roots, if any.
pub(super) fn meant(host: &dyn Host, config: &Config, roots: &[PathBuf], former: Option<&Path>) -> Meant {
    let roots = &first_readings(roots)[..];
    match config.project.as_deref().map(config::named_project) {
        Some(Ok(project)) => return Meant { project: Some(project), ..Meant::default() },
        // The project may appear later (for example when a disk is mounted), so each survey looks again.
        Some(Err(bad)) => return Meant { problem: Some(bad.to_string()), ..Meant::default() },
        None => {}
    }
    let started_in = [config.client_dir.as_slice(), config.working_dir.as_slice()];
    let (mut cut, mut unsearched) = (false, Vec::new());
    for folders in std::iter::once(roots).chain(started_in) {
        let mut found = around(folders);
        if found.is_empty() {
            let below = below(folders, former);
            (found, cut) = (below.projects, cut || below.cut);
            unsearched.extend(below.unsearched);
        }
        if !found.is_empty() {
            return among(host, config, found, cut, former);
        }
    }
    let mut folders: Vec<&PathBuf> = Vec::new();
    for folder in roots.iter().chain(started_in.into_iter().flatten()) {
        // The folder that the client names is mostly the working directory.
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    // If a port was named, no project is needed.
    let problem = config.ports.is_empty().then(|| match folders.is_empty() {
        true => user_text::NO_FOLDER.to_owned(),
        false => nowhere(&folders, cut, &unsearched),
    });
    Meant { problem, ..Meant::default() }
}

/// Each root can be read in two ways, because a client may not encode its paths. Such a client calls the folder `a%20b`
/// by that name, so both `a b` and `a%20b` are among the roots, and `a b` comes first. This leaves out the second
/// reading of a root if the folder of the first one exists.
fn first_readings(roots: &[PathBuf]) -> Vec<PathBuf> {
    let is_second = |root: &&PathBuf| {
        let first = root.to_str().and_then(percent_decoded).map(PathBuf::from);
        first.is_some_and(|first| first != **root && roots.contains(&first) && config::canonical(&first).is_some())
    };
    roots.iter().filter(|root| !is_second(root)).cloned().collect()
}

/// Returns the text for the case that no project was found: which folders were searched, and which were not. What to do depends
/// on the reader.
fn nowhere(folders: &[&PathBuf], cut: bool, unsearched: &[(PathBuf, Unsearched)]) -> String {
    let named = |folder: &Path| clean(&folder.display().to_string());
    let is_searched = |folder: &Path| !unsearched.iter().any(|(unsearched, _)| unsearched == folder);
    let searched: Vec<String> =
        folders.iter().filter(|folder| is_searched(folder)).map(|folder| named(folder)).collect();
    let mut says = match (searched.is_empty(), cut) {
        (true, _) => Vec::new(),
        (false, true) => vec![format!(
            "No Unity project was found, and not all of {} could be looked at (more than {BELOW_FOLDERS_MAX} folders on {BELOW_LEVELS} \
             levels)",
            searched.join(" and ")
        )],
        (false, false) => vec![format!(
            "There is no Unity project in, around or up to {BELOW_LEVELS} levels below {} ({NOT_SEARCHED})",
            searched.join(" and ")
        )],
    };
    let mut told: Vec<&Path> = Vec::new();
    for (folder, why) in unsearched {
        // A root that is also the working directory is reported only once.
        if !told.contains(&folder.as_path()) {
            told.push(folder);
            let (folder, why) = (named(folder), why.why());
            says.push(format!("No Unity project is around {folder}, and below it none was looked for, {why}"));
        }
    }
    format!("{}.", says.join(". "))
}

/// Returns the projects that contain these folders.
fn around(folders: &[PathBuf]) -> Vec<PathBuf> {
    let around = |path: &PathBuf| config::canonical(path).and_then(|path| config::project_of(&path));
    let mut found: Vec<PathBuf> = folders.iter().filter_map(around).collect();
    found.sort();
    found.dedup();
    found
}

/// Returns the projects below these folders. If the session's former project is in one of them, returns only that project,
/// without a search.
fn below(folders: &[PathBuf], former: Option<&Path>) -> Below {
    match former.filter(|former| config::is_project(former) && folders.iter().any(|folder| is_in(former, folder))) {
        Some(former) => Below { projects: vec![former.to_path_buf()], ..Below::default() },
        None => projects_below(folders),
    }
}

/// Chooses among these projects. If the search was `cut` short, there may be more projects than these.
fn among(host: &dyn Host, config: &Config, found: Vec<PathBuf>, cut: bool, former: Option<&Path>) -> Meant {
    let started_in =
        [&config.client_dir, &config.working_dir].into_iter().find_map(|folder| around(folder.as_slice()).pop());
    let chosen = match found.as_slice() {
        [one] if !cut => Some(one.clone()),
        // Choosing the project that the client was started in is not a guess.
        _ if started_in.as_ref().is_some_and(|here| found.contains(here)) => started_in,
        _ => former.filter(|former| found.iter().any(|one| one == former)).map(Path::to_path_buf),
    };
    if let Some(project) = chosen {
        return Meant { project: Some(project), ..Meant::default() };
    }
    let editors: Vec<(&PathBuf, Editor)> =
        found.iter().map(|project| (project, editor_of(host, config, project))).collect();
    let those = |which: Editor| editors.iter().filter(move |(_, editor)| *editor == which).map(|(project, _)| *project);
    let running: Vec<&PathBuf> = those(Editor::Listens).collect();
    // An editor that is alive and does not listen may be reloading. So the one that listens may not be the only one.
    if let ([one], None, false) = (running.as_slice(), those(Editor::Alive).next(), cut) {
        return Meant { project: Some((*one).clone()), ..Meant::default() };
    }
    let why = if cut {
        format!("may fit: not all could be looked at (more than {BELOW_FOLDERS_MAX} folders on {BELOW_LEVELS} levels)")
    } else if running.is_empty() {
        "fit, and none of them is known to have a running editor".to_owned()
    } else {
        format!("fit, and the first {} of these have a running editor", running.len())
    };
    // Only the first few are named to people, so those with a running editor come first.
    let running: Vec<PathBuf> = running.into_iter().cloned().collect();
    let others = found.into_iter().filter(|project| !running.contains(project));
    let ambiguous: Vec<PathBuf> = running.iter().cloned().chain(others).collect();
    let problem = user_text::candidates(&ambiguous).map(|listed| format!("Several Unity projects {why}. {listed}"));
    Meant { ambiguous, problem, ..Meant::default() }
}

/// What is seen of a project's editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Editor {
    /// Its process is alive and is shown to own one of the ports that a survey finds.
    Listens,
    /// Its process is alive, or its files say that it is at work.
    Alive,
    /// Nothing is seen.
    Unseen,
}

fn editor_of(host: &dyn Host, config: &Config, project: &Path) -> Editor {
    let of_project = Config { ports: Vec::new(), ..config.clone() };
    let found = look(host, &of_project, Meant { project: Some(project.to_path_buf()), ..Meant::default() });
    let is_its = |target| owner_of(host, target).is_some() && check_owner(host, target) == Ok(Some(Identity::Checked));
    // Looking up the owner of a port goes through all processes, so it is done only if the editor's process is alive.
    match found.evidence.editor {
        Sign::Alive if found.targets.iter().any(is_its) => Editor::Listens,
        Sign::Alive => Editor::Alive,
        Sign::Unknown if found.evidence.activity.is_some() => Editor::Alive,
        Sign::Unknown | Sign::Dead => Editor::Unseen,
    }
}
