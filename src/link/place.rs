//! Where a link leads.

use std::path::PathBuf;

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// To the project that the configuration or the client's roots name: the link over stdin and stdout.
    Roots,
    /// To the editor of this project, as long as the link exists.
    Project(PathBuf),
    /// Nowhere: no actor serves it. A session is on it while no editor is found for it; its calls are refused.
    Nowhere,
}
