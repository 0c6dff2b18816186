//! The project that calls are for.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The project that calls are for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    /// It is not known yet which project is wanted. No call is sent until it is.
    Asked,
    /// This project is wanted. `None`: there is no project; then only a port that the user named may be used.
    Settled(Option<PathBuf>),
}

impl Default for Wanted {
    fn default() -> Self {
        Self::Settled(None)
    }
}

impl Wanted {
    /// Returns the wanted project. `None` if it is not known yet, or if there is no project.
    pub fn project(&self) -> Option<&Path> {
        match self {
            Self::Settled(project) => project.as_deref(),
            Self::Asked => None,
        }
    }

    /// Whether `project` is wanted, or may turn out to be the wanted project.
    pub fn may_be(&self, project: Option<&Path>) -> bool {
        *self == Self::Asked || self.is(project)
    }

    /// Whether calls may be sent to the editor of `project`. `None` is the unknown project of an editor on a port that the user
    /// named.
    pub fn is(&self, project: Option<&Path>) -> bool {
        matches!(self, Self::Settled(wanted) if wanted.as_deref() == project)
    }
}
