//! The names of editors in a session that may use several, and which editor a call is for. The choice is pure and never a guess:
//! a call that names no editor, or an editor that cannot be meant for certain, is refused.
//!
//! An editor is named by the folder of its project. If two folders have the same name, the folders above are added until the
//! names differ: `games/Castle` and `demos/Castle`. Names are made unique among *all* projects that the session may use, also those
//! whose editor is closed: otherwise the name of a closed editor could come to mean another one between a list and a call.

use std::path::{Component, Path, PathBuf};

use super::router::{Named, Roots, Route};
use crate::fsm::cause::Cause;
use crate::protocol::text::{clean, nearest};

/// A project that a session could mean.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Known {
    pub project: PathBuf,
    pub editor: Presence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    /// It is connected, or is expected to be.
    Open,
    /// Nothing is known, because the editor was not looked for. A call that names it is accepted, and the editor is
    /// looked for then.
    Unknown,
    /// It cannot be called, for this reason: mostly it is closed.
    Away(Cause),
}

/// The projects whose editors a session may use.
///
/// A session with a project of its own, by name or by its roots, uses that editor only: the user bound it to that project, and
/// nothing that a model writes into a call may lead it out of there. Such a session has one editor's tools listed, so that it is
/// never told of a choice.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scope {
    /// All: the session says nothing about where it works.
    All,
    /// Only these.
    Only(Vec<PathBuf>),
}

impl Scope {
    /// Derives the scope from what a session says about where it works. `seen`: all projects that were found in its roots so far.
    pub fn of(named: Named<'_>, roots: Roots<'_>, seen: &[PathBuf]) -> Self {
        match (named, roots) {
            (Named::Project(project), _) => Self::Only(vec![project.to_path_buf()]),
            (Named::Port(project), _) => Self::Only(project.into_iter().map(Path::to_path_buf).collect()),
            (Named::Missing, _) | (Named::None, Roots::Awaited) => Self::Only(Vec::new()),
            (Named::None, Roots::Hold(found)) => {
                let others = seen.iter().filter(|project| !found.contains(project));
                Self::Only(found.iter().chain(others).cloned().collect())
            }
            (Named::None, Roots::None) => Self::All,
        }
    }

    /// Whether the session may use the editor of this project.
    pub fn holds(&self, project: &Path) -> bool {
        match self {
            Self::All => true,
            Self::Only(projects) => projects.iter().any(|held| held == project),
        }
    }
}

/// The editor that a call is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// Where the router leads: the call names no editor, or that one.
    Routed,
    /// The editor of this project.
    Editor(PathBuf),
    /// None, for this reason.
    Refused(Refusal),
}

/// Why no editor is chosen for a call. `editors`: the names of the open editors that the session may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Several editors fit, and the call names none.
    Unnamed { editors: Vec<String> },
    /// What the call names is no text.
    NotText,
    /// The call names two different editors.
    Twice { names: [String; 2] },
    /// No project with this name is known.
    Unknown {
        /// The name in the call.
        name: String,
        /// A similar name.
        meant: Option<String>,
        editors: Vec<String>,
    },
    /// The name fits several projects.
    Ambiguous {
        /// The name in the call.
        name: String,
        /// The full names of those that it fits.
        fits: Vec<String>,
    },
    /// The editor cannot be called.
    Away { cause: Cause, name: String, project: PathBuf, editors: Vec<String> },
    /// The session may not use the editor that the call names.
    OutOfScope {
        /// The name in the call.
        name: String,
        editors: Vec<String>,
    },
}

/// Returns the name of each project's editor, in the same order. The names differ unless two paths differ only in what cannot be
/// shown.
pub fn names(projects: &[PathBuf]) -> Vec<String> {
    let all: Vec<Vec<String>> = projects.iter().map(|project| parts(project)).collect();
    let name = |at: usize, own: &Vec<String>| {
        let others = || all.iter().enumerate().filter(|(other, parts)| *other != at && *parts != own);
        let is_alone = |count: &usize| others().all(|(_, other)| tail(other, *count) != tail(own, *count));
        let count = (1..=own.len()).find(is_alone).unwrap_or(own.len());
        tail(own, count).join("/")
    };
    all.iter().enumerate().map(|(at, own)| name(at, own)).collect()
}

/// Names the known projects that a session may use. Other projects are left out first, so that they make no name longer
/// or uncertain. Projects of the scope that are not known are added.
pub fn named(scope: &Scope, known: &[Known]) -> Vec<(String, Known)> {
    let mut usable: Vec<Known> = known.iter().filter(|known| scope.holds(&known.project)).cloned().collect();
    if let Scope::Only(projects) = scope {
        for project in projects {
            if !usable.iter().any(|known| known.project == *project) {
                usable.push(Known { project: project.clone(), editor: Presence::Unknown });
            }
        }
    }
    let projects: Vec<PathBuf> = usable.iter().map(|known| known.project.clone()).collect();
    let mut named: Vec<(String, Known)> = names(&projects).into_iter().zip(usable).collect();
    named.sort_by(|(a, _), (b, _)| a.cmp(b));
    named
}

/// Chooses the editor for a call. `said`: the names in the call. `known` is called only if the choice depends on it: for most calls
/// it does not.
pub fn choose(route: &Route, scope: &Scope, known: impl FnOnce() -> Vec<Known>, said: &[String]) -> Choice {
    if said.is_empty() && !matches!(route, Route::Among(_)) {
        return Choice::Routed;
    }
    let known = known();
    let named = named(scope, &known);
    let open = || {
        let open = named.iter().filter(|(_, known)| known.editor == Presence::Open);
        open.map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    let mut meant: Option<&(String, Known)> = None;
    for name in said {
        let fits = fitting(name, &named);
        match (fits.as_slice(), meant) {
            ([one], None) => meant = Some(one),
            ([one], Some(before)) if before.1.project == one.1.project => {}
            ([one], Some(before)) => {
                return Choice::Refused(Refusal::Twice { names: [before.0.clone(), one.0.clone()] });
            }
            ([], _) => {
                let (name, editors) = (clean(name), open());
                let others: Vec<(String, Known)> = known.iter().map(|known| (String::new(), known.clone())).collect();
                return Choice::Refused(if fitting(&name, &others).is_empty() {
                    let similar = nearest(&name, editors.iter().map(String::as_str)).map(str::to_owned);
                    Refusal::Unknown { name, meant: similar, editors }
                } else {
                    Refusal::OutOfScope { name, editors }
                });
            }
            (several, _) => {
                let fits = several.iter().map(|(name, _)| name.clone()).collect();
                return Choice::Refused(Refusal::Ambiguous { name: clean(name), fits });
            }
        }
    }
    let Some((name, known)) = meant else {
        return Choice::Refused(Refusal::Unnamed { editors: open() });
    };
    if route.leads_to(&known.project) {
        Choice::Routed
    } else if let Presence::Away(cause) = known.editor {
        Choice::Refused(Refusal::Away { cause, name: name.clone(), project: known.project.clone(), editors: open() })
    } else {
        Choice::Editor(known.project.clone())
    }
}

/// Returns the projects that a name fits: the one with this whole path, otherwise all whose path ends with the folders of the name.
fn fitting<'a>(name: &str, named: &'a [(String, Known)]) -> Vec<&'a (String, Known)> {
    let said: Vec<&str> = match cfg!(windows) {
        true => name.split(['/', '\\']).collect(),
        false => name.split('/').collect(),
    };
    let said = said.strip_suffix(&[""]).filter(|said| !said.is_empty()).unwrap_or(&said);
    let paths: Vec<(Vec<String>, &(String, Known))> =
        named.iter().map(|entry| (parts(&entry.1.project), entry)).collect();
    let of = |whole: bool| {
        let is_meant = |parts: &[String]| tail(parts, said.len()) == said && (!whole || parts.len() == said.len());
        paths.iter().filter(|(parts, _)| is_meant(parts)).map(|(_, entry)| *entry).collect::<Vec<_>>()
    };
    Some(of(true)).filter(|whole| !whole.is_empty()).unwrap_or_else(|| of(false))
}

/// The folders of a path, as they are shown. A root without a drive is an empty text.
fn parts(path: &Path) -> Vec<String> {
    let has_prefix = matches!(path.components().next(), Some(Component::Prefix(_)));
    let shown = path.components().filter_map(|component| match component {
        Component::RootDir if has_prefix => None,
        Component::RootDir => Some(String::new()),
        other => Some(clean(&other.as_os_str().to_string_lossy())),
    });
    shown.collect()
}

fn tail(parts: &[String], count: usize) -> &[String] {
    parts.get(parts.len().saturating_sub(count)..).unwrap_or_default()
}

#[cfg(test)]
mod tests;
