//! Decides to which project's editor a session's requests are sent. The decision is pure and never a guess: if several editors
//! fit, each call must name one of them; if the session gave no sign that it means an editor that runs, the session gets the list
//! of candidates.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The project that a session was started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named<'m> {
    /// The session was started for no particular project.
    None,
    /// The session was started for this project.
    Project(&'m Path),
    /// The session was started for a project that does not exist (yet).
    Missing,
    /// The user named the editor's port. The project is known if exactly one was found.
    Port(Option<&'m Path>),
}

/// What a client's roots say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Roots<'m> {
    /// The client has no roots.
    None,
    /// The client was asked for its roots and has not answered, or the roots were not searched for projects yet.
    Awaited,
    /// The Unity projects found in the roots. If the roots show which project is meant, only that one is here. Empty if
    /// there is none.
    Hold(&'m [PathBuf]),
}

/// An editor that is connected.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Running {
    /// The project that the editor has open.
    pub project: PathBuf,
    /// Whether the editor's identity was checked or proven. False if it is only assumed because the user named the port.
    pub is_known: bool,
}

/// Where a session's requests are sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Route {
    /// To the editor of this project.
    To(PathBuf),
    /// To the editor at the port that the user named, with the project that it is meant to have open, if that is known.
    Port(Option<PathBuf>),
    /// To the editor that each request names, out of the running editors of these projects.
    Among(Vec<PathBuf>),
    /// The project is not known yet.
    Wait,
    /// To no editor. The session gets this list of candidate projects.
    Nobody(Vec<PathBuf>),
}

impl Route {
    /// Whether requests that name no editor go to the editor of this project.
    pub fn leads_to(&self, project: &Path) -> bool {
        matches!(self, Self::To(to) | Self::Port(Some(to)) if to == project)
    }
}

/// Picks the editor's project. The port that the user named comes first, whatever its project is. Then comes the
/// project that the session was started for, and then the only project in its roots. A session that names no project
/// and has no roots gets the only editor that runs, provided that the editor's identity is known.
///
/// If the roots hold several projects, their running editors are the choice, even if only one of them runs: the roots say that
/// more than one is meant. Without a name and roots, all running editors are the choice, if there are several.
///
/// `running` is called only if the route depends on which editors run: for most requests it does not.
pub fn route(named: Named<'_>, roots: Roots<'_>, running: impl FnOnce() -> Vec<Running>) -> Route {
    match (named, roots) {
        (Named::Project(project), _) => Route::To(project.to_path_buf()),
        // The client's roots may still say which project that editor should have.
        (Named::Port(_), Roots::Awaited) => Route::Wait,
        (Named::Port(project), _) => Route::Port(project.map(Path::to_path_buf)),
        // This holds even if the roots contain another project: the session was started for a certain project.
        (Named::Missing, _) => Route::Nobody(projects(&running())),
        (Named::None, Roots::Awaited) => Route::Wait,
        (Named::None, Roots::Hold([one])) => Route::To(one.clone()),
        // No project in the roots: the projects of the editors that run are the only candidates.
        (Named::None, Roots::Hold([])) => Route::Nobody(projects(&running())),
        (Named::None, Roots::Hold(several)) => {
            let mut projects = projects(&running());
            projects.retain(|project| several.contains(project));
            if projects.is_empty() { Route::Nobody(several.to_vec()) } else { Route::Among(projects) }
        }
        (Named::None, Roots::None) => {
            let running = running();
            let projects = projects(&running);
            match projects.as_slice() {
                [one] if running.iter().all(|editor| editor.is_known) => Route::To(one.clone()),
                [] | [_] => Route::Nobody(projects),
                _ => Route::Among(projects),
            }
        }
    }
}

fn projects(running: &[Running]) -> Vec<PathBuf> {
    let mut projects: Vec<PathBuf> = running.iter().map(|editor| editor.project.clone()).collect();
    projects.sort();
    projects.dedup();
    projects
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> PathBuf {
        PathBuf::from(name)
    }

    fn editor(name: &str, is_known: bool) -> Running {
        Running { project: path(name), is_known }
    }

    fn hold(names: &[&str]) -> Roots<'static> {
        Roots::Hold(names.iter().copied().map(path).collect::<Vec<_>>().leak())
    }

    /// Every combination of inputs, with two projects that may run and a third one that the session may mean.
    fn inputs() -> Vec<(Named<'static>, Roots<'static>, Vec<Running>)> {
        let named = [
            Named::None,
            Named::Project(Path::new("a")),
            Named::Project(Path::new("c")),
            Named::Missing,
            Named::Port(None),
            Named::Port(Some(Path::new("c"))),
        ];
        let roots = [
            Roots::None,
            Roots::Awaited,
            hold(&[]),
            hold(&["a"]),
            hold(&["b"]),
            hold(&["c"]),
            hold(&["a", "b"]),
            hold(&["a", "c"]),
        ];
        let state = |name: &'static str| [None, Some(editor(name, false)), Some(editor(name, true))];
        let mut all = Vec::new();
        for named in named {
            for roots in roots {
                for a in state("a") {
                    for b in state("b") {
                        all.push((named, roots, a.iter().chain(&b).cloned().collect()));
                    }
                }
            }
        }
        all
    }

    #[test]
    fn whatever_is_said_and_runs_nobody_guesses() {
        let inputs = inputs();
        assert_eq!(inputs.len(), 6 * 8 * 9);
        for (named, roots, running) in inputs {
            let given = format!("{named:?} {roots:?} {running:?}");
            let runs: Vec<&PathBuf> = running.iter().map(|editor| &editor.project).collect();
            match route(named, roots, || running.clone()) {
                Route::To(project) => {
                    let by_name = named == Named::Project(&project);
                    let by_roots = named == Named::None && roots == Roots::Hold(std::slice::from_ref(&project));
                    let alone = runs == [&project] && running.iter().all(|editor| editor.is_known);
                    let by_itself = named == Named::None && roots == Roots::None && alone;
                    assert!(by_name || by_roots || by_itself, "{given}");
                }
                Route::Port(project) => {
                    assert_eq!((named, roots == Roots::Awaited), (Named::Port(project.as_deref()), false), "{given}");
                }
                Route::Wait => {
                    assert!(matches!(named, Named::None | Named::Port(_)) && roots == Roots::Awaited, "{given}");
                }
                Route::Among(choice) => {
                    assert_eq!(named, Named::None, "{given}: it was started for a project");
                    let fits = |project: &&PathBuf| match roots {
                        Roots::Hold(found) => found.len() > 1 && found.contains(project),
                        Roots::None => runs.len() > 1,
                        Roots::Awaited => false,
                    };
                    assert_eq!(
                        choice.iter().collect::<Vec<_>>(),
                        runs.iter().copied().filter(fits).collect::<Vec<_>>()
                    );
                    assert!(!choice.is_empty(), "{given}");
                }
                Route::Nobody(candidates) => {
                    assert!(
                        !matches!(named, Named::Project(_)) && roots != Roots::Awaited || named == Named::Missing,
                        "{given}"
                    );
                    match (named, roots) {
                        (Named::None, Roots::Hold(found)) if found.len() > 1 => {
                            assert_eq!(candidates, *found, "{given}");
                            assert!(!runs.iter().any(|runs| found.contains(runs)), "{given}: a choice runs");
                        }
                        (Named::None, Roots::None) if runs.len() > 1 => panic!("{given}: they are a choice"),
                        (Named::None, Roots::Hold(found)) if found.len() == 1 => panic!("{given}: its roots say which"),
                        _ => assert_eq!(candidates.iter().collect::<Vec<_>>(), runs, "{given}: those that run"),
                    }
                }
            }
        }
    }

    #[test]
    fn the_order_is_name_roots_and_the_only_editor() {
        let (named, roots) = (Named::Project(Path::new("a")), hold(&["b"]));
        let at_port = Named::Port(Some(Path::new("a")));
        let (one, both) = ([editor("c", true)], [editor("c", true), editor("d", true)]);
        let rows = [
            (named, roots, one.as_slice(), Route::To(path("a"))),
            (named, Roots::Awaited, &one, Route::To(path("a"))),
            (Named::Missing, roots, &one, Route::Nobody(vec![path("c")])),
            (Named::None, roots, &one, Route::To(path("b"))),
            (Named::None, Roots::Awaited, &one, Route::Wait),
            (Named::None, hold(&[]), &one, Route::Nobody(vec![path("c")])),
            (Named::None, Roots::None, &one, Route::To(path("c"))),
            (Named::None, Roots::None, &[editor("c", false)], Route::Nobody(vec![path("c")])),
            (Named::None, Roots::None, &both, Route::Among(vec![path("c"), path("d")])),
            (Named::None, hold(&["c", "d"]), &one, Route::Among(vec![path("c")])),
            (Named::None, hold(&["a", "b"]), &both, Route::Nobody(vec![path("a"), path("b")])),
            (Named::Missing, Roots::None, &both, Route::Nobody(vec![path("c"), path("d")])),
            (Named::None, hold(&[]), &both, Route::Nobody(vec![path("c"), path("d")])),
            (Named::None, Roots::None, &[], Route::Nobody(Vec::new())),
            (at_port, roots, &both, Route::Port(Some(path("a")))),
            (at_port, Roots::Awaited, &one, Route::Wait),
        ];
        for (named, roots, running, expected) in rows {
            assert_eq!(route(named, roots, || running.to_vec()), expected, "{named:?} {roots:?} {running:?}");
        }
    }
}
