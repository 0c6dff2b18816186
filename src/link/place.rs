//! Where a link leads.

use std::path::{Path, PathBuf};

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// To the project that the configuration or the client's roots name. Only the link of a session over stdin and stdout does that
    /// has one editor whatever runs.
    Roots,
    /// To the editor of this project, as long as the link exists.
    Project(PathBuf),
    /// To no project. A session is on such a link while no editor is found for it; the session's calls are refused. No actor
    /// serves the link.
    Nowhere,
}

impl Place {
    /// Returns the project to which it leads for as long as the link exists.
    pub fn project(&self) -> Option<&Path> {
        match self {
            Self::Project(project) => Some(project),
            Self::Roots | Self::Nowhere => None,
        }
    }
}
