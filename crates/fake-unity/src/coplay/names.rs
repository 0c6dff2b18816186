//! The names under which the package knows a project.

use std::fmt::Write as _;

use sha1::{Digest as _, Sha1};

/// The folder in the user's home in which the package keeps its files.
pub(super) const HOME_FOLDER: &str = ".unity-mcp";

/// Unity's `Application.dataPath` of a project: its folder of assets, with `/` between the names on every system.
pub(super) fn data_path(root: &str) -> String {
    format!("{}/Assets", root.replace('\\', "/").trim_end_matches('/'))
}

/// The name of a project: that of its folder.
pub(super) fn project_name(data_path: &str) -> String {
    data_path.rsplit('/').nth(1).unwrap_or_default().to_owned()
}

/// The hash that stands for a project: 16 digits, of which the names of files have the first 8.
pub(super) fn project_hash(data_path: &str) -> String {
    Sha1::digest(data_path.as_bytes()).iter().take(8).fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
