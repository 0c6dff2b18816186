//! Which project calls are for.

use std::path::{Path, PathBuf};

/// The project that calls are for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Wanted {
    /// It is in question: nothing is sent until it is settled.
    Asked,
    /// This one; `None` where none is known, and only a port that the user named may be called.
    Settled(Option<PathBuf>),
}

impl Default for Wanted {
    fn default() -> Self {
        Self::Settled(None)
    }
}

impl Wanted {
    /// The project, if it is settled and there is one.
    pub fn project(&self) -> Option<&Path> {
        match self {
            Self::Settled(project) => project.as_deref(),
            Self::Asked => None,
        }
    }

    /// Whether it is this one, or may still turn out to be.
    pub fn may_be(&self, project: Option<&Path>) -> bool {
        *self == Self::Asked || self.is(project)
    }

    /// Whether calls may go to the editor of this project (`None`: of whatever project the named port's is).
    pub fn is(&self, project: Option<&Path>) -> bool {
        matches!(self, Self::Settled(wanted) if wanted.as_deref() == project)
    }
}
