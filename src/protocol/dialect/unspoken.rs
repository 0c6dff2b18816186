//! Packages that connect an AI to Unity and that holdfast does not support. holdfast names them to users, so that nobody looks
//! for an error elsewhere.

use super::unity::{self, LOCK, MANIFEST, seen, whole};
use super::{ProjectFacts, ProjectFile, ProjectFiles};

/// A package that holdfast does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unspoken {
    /// The package's name in Unity's package manager.
    pub id: &'static str,
    /// The package's name as people know it.
    pub title: &'static str,
    embedded: &'static str,
}

/// The known packages, by the name in their own `package.json`.
pub const UNSPOKEN: [Unspoken; 2] = [
    Unspoken {
        id: "com.ivanmurzak.unity.mcp",
        title: "IvanMurzak's Unity-MCP (AI Game Developer)",
        embedded: "Packages/com.ivanmurzak.unity.mcp/package.json",
    },
    Unspoken {
        id: "com.gamelovers.mcp-unity",
        title: "CoderGamester's MCP Unity",
        embedded: "Packages/com.gamelovers.mcp-unity/package.json",
    },
];

/// The project files that [`read`] needs.
pub const FILES: &[ProjectFile] =
    &[whole(MANIFEST), whole(LOCK), seen(UNSPOKEN[0].embedded), seen(UNSPOKEN[1].embedded)];

/// Returns the unsupported packages that are in a project.
pub fn read(files: &ProjectFiles) -> Vec<&'static Unspoken> {
    let there = |package: &&Unspoken| {
        let mut facts = ProjectFacts::default();
        unity::read_package(files, &[(package.id, package.embedded)], &mut facts);
        facts.installed
    };
    UNSPOKEN.iter().filter(there).collect()
}

impl Unspoken {
    /// Returns the text for a project that has this package and none that holdfast supports. It ends with the fix.
    pub fn says(&self) -> String {
        format!(
            "The project has {} ({}), which holdfast does not speak; place holdfast's own package beside it (`holdfast unity \
             install`).",
            self.title, self.id
        )
    }
}
