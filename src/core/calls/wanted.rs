//! The project that calls are for.

use std::path::{Path, PathBuf};

/// The project that calls are for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Wanted {
    /// The project is not settled yet. Nothing is sent until it is.
    Asked,
    /// This project. `None` if no project is known; then only a port that the user named may be used.
    Settled(Option<PathBuf>),
}

impl Default for Wanted {
    fn default() -> Self {
        Self::Settled(None)
    }
}

impl Wanted {
    /// Returns the project, if it is settled and known.
    pub fn project(&self) -> Option<&Path> {
        match self {
            Self::Settled(project) => project.as_deref(),
            Self::Asked => None,
        }
    }

    /// Whether `project` is wanted, or may still turn out to be.
    pub fn may_be(&self, project: Option<&Path>) -> bool {
        *self == Self::Asked || self.is(project)
    }

    /// Whether calls may go to the editor of `project`. `None` stands for the project behind a port that the user named.
    pub fn is(&self, project: Option<&Path>) -> bool {
        matches!(self, Self::Settled(wanted) if wanted.as_deref() == project)
    }
}
