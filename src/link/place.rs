//! Where a link leads.

use std::path::PathBuf;

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// To the project that the configuration names, or its session's roots: the link over stdin and stdout.
    Roots,
    /// To the editor of this project, for as long as there is the link.
    Project(PathBuf),
    /// Nowhere: no actor serves it. It is where a session is for which no editor was found, and refuses what comes.
    Nowhere,
}
