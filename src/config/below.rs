//! Finds Unity projects below a folder that is itself in no project: an AI client is mostly started in the root of a
//! repository.

use std::path::{Path, PathBuf};

use super::{canonical, is_project};
use crate::limits::{BELOW_ENTRIES_MAX, BELOW_FOLDERS_MAX, BELOW_LEVELS, BELOW_PROJECTS_MAX};

/// Folders that are not searched, since they hold only copies of projects. Folders whose names begin with a dot are not searched
/// either.
const PASSED_OVER: [&str; 2] = ["Library", "node_modules"];

/// What users read about the folders that are not searched.
pub const NOT_SEARCHED: &str = "Library, node_modules, folders that begin with a dot and links are not searched";

/// The projects found below some folders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Below {
    /// The projects, sorted.
    pub projects: Vec<PathBuf>,
    /// Whether a limit ended the search early, so that there may be more projects.
    pub cut: bool,
    /// Folders that were not searched, as they were given.
    pub unsearched: Vec<(PathBuf, Unsearched)>,
}

/// Why a folder was not searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsearched {
    /// The folder is a home folder, or has one in it.
    Home,
    /// The folder cannot be read, or does not exist.
    Unreadable,
}

impl Unsearched {
    /// The reason in words, for users.
    pub fn why(self) -> &'static str {
        match self {
            Self::Home => "because it is a home folder or holds one",
            Self::Unreadable => "because it does not exist or may not be read",
        }
    }
}

/// Returns the projects at most [`BELOW_LEVELS`] levels below these folders. The search goes level by level. It does not look
/// inside of projects or follow links. A home folder or a folder above it is not searched: it holds all of a person's work, not
/// one workspace.
pub fn projects_below(folders: &[PathBuf]) -> Below {
    let home = std::env::home_dir().and_then(|home| canonical(&home));
    let mut below = Below::default();
    let mut level = Vec::new();
    for folder in folders {
        match canonical(folder) {
            Some(canonical) if home.as_ref().is_some_and(|home| home.starts_with(&canonical)) => {
                below.unsearched.push((folder.clone(), Unsearched::Home));
            }
            Some(canonical) if std::fs::read_dir(&canonical).is_ok() => level.push(canonical),
            Some(_) | None => below.unsearched.push((folder.clone(), Unsearched::Unreadable)),
        }
    }
    let (mut folders, mut entries) = (0, 0);
    'search: for _ in 0..BELOW_LEVELS {
        let mut next = Vec::new();
        for folder in level {
            folders += 1;
            // A folder that this user may not read has no project that this user opens.
            let Ok(list) = std::fs::read_dir(&folder) else { continue };
            for entry in list.map_while(Result::ok) {
                entries += 1;
                if folders > BELOW_FOLDERS_MAX || entries > BELOW_ENTRIES_MAX {
                    below.cut = true;
                    break 'search;
                }
                if !entry.file_type().is_ok_and(|kind| kind.is_dir()) || is_passed_over(&entry.file_name()) {
                    continue;
                }
                let path = entry.path();
                if !is_project(&path) {
                    next.push(path);
                } else if below.projects.len() < BELOW_PROJECTS_MAX {
                    below.projects.push(path);
                } else {
                    below.cut = true;
                    break 'search;
                }
            }
        }
        level = next;
    }
    below.projects.sort();
    below.projects.dedup();
    below
}

fn is_passed_over(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".") || PASSED_OVER.iter().any(|passed| name == *passed)
}

/// Whether a folder is `other` or is below it. `folder` must be in canonical form.
pub fn is_in(folder: &Path, other: &Path) -> bool {
    canonical(other).is_some_and(|other| folder.starts_with(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn of(projects: &[&str]) -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            for project in projects {
                for part in ["Assets", "ProjectSettings"] {
                    std::fs::create_dir_all(tree.0.path().join(project).join(part)).unwrap();
                }
            }
            tree
        }

        fn root(&self) -> PathBuf {
            canonical(self.0.path()).unwrap()
        }

        fn below(&self) -> Below {
            projects_below(&[self.root()])
        }
    }

    #[test]
    fn projects_are_found_three_levels_down_and_not_where_copies_lie() {
        let tree = Tree::of(&[
            "a/b/Third",
            "First",
            "First/Samples/Inner",
            "a/b/c/Fourth",
            "Library/Copy",
            "a/node_modules/Copy",
            ".git/Copy",
            ".hidden/Copy",
        ]);
        let root = tree.root();
        let found = Below { projects: vec![root.join("First"), root.join("a/b/Third")], ..Below::default() };
        assert_eq!(tree.below(), found);
        assert_eq!(
            projects_below(&[root.clone(), root.join("a")]).projects.len(),
            3,
            "each once, and the fourth from `a`"
        );
        let nowhere = root.join("nowhere");
        let unsearched = vec![(nowhere.clone(), Unsearched::Unreadable)];
        assert_eq!(projects_below(&[nowhere]), Below { unsearched, ..Below::default() });
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        let elsewhere = Tree::of(&["Castle"]);
        let tree = Tree::of(&[]);
        std::os::unix::fs::symlink(elsewhere.root().join("Castle"), tree.root().join("Castle")).unwrap();
        std::os::unix::fs::symlink(tree.root(), tree.root().join("round")).unwrap();
        assert_eq!(tree.below(), Below::default());
    }

    #[test]
    fn a_search_is_bounded_and_says_that_it_did_not_see_all() {
        let tree = Tree::of(&["Castle"]);
        for n in 0..BELOW_FOLDERS_MAX {
            std::fs::create_dir_all(tree.root().join(format!("z/{n}/x"))).unwrap();
        }
        assert_eq!(tree.below(), Below { projects: vec![tree.root().join("Castle")], cut: true, ..Below::default() });
    }

    #[test]
    fn what_holds_a_home_is_not_searched_and_that_is_told() {
        let home = std::env::home_dir().and_then(|home| canonical(&home)).unwrap();
        for above in home.ancestors().map(Path::to_path_buf) {
            let unsearched = vec![(above.clone(), Unsearched::Home)];
            assert_eq!(projects_below(&[above]), Below { unsearched, ..Below::default() });
        }
    }
}
