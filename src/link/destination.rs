//! Where a link leads.

use std::path::{Path, PathBuf};

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Destination {
    /// To the editor of this project, as long as the link exists.
    Project(PathBuf),
    /// To the editor at the port that the user named, with the project that it is meant to have open, if that is known.
    Port(Option<PathBuf>),
    /// To no editor. A session is on such a link while no editor is found for it; the session's calls are refused. No actor
    /// serves the link.
    Nowhere,
}

impl Destination {
    /// Returns the project to which the link leads for as long as the link exists.
    pub fn project(&self) -> Option<&Path> {
        match self {
            Self::Project(project) | Self::Port(Some(project)) => Some(project),
            Self::Port(None) | Self::Nowhere => None,
        }
    }
}
