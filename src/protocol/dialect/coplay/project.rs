//! Stand-in: what the files of a project say of the package.

use super::super::unity::{self, INSTANCE, LOCK, MANIFEST, record, whole};
use super::super::{ProjectFacts, ProjectFile, ProjectFiles};

const PACKAGE: (&str, &str) = ("com.coplaydev.unity-mcp", "Packages/com.coplaydev.unity-mcp/package.json");

/// The files that [`read`] looks at.
pub(super) const FILES: &[ProjectFile] = &[record(INSTANCE), whole(MANIFEST), whole(LOCK), whole(PACKAGE.1)];

/// Reads the facts from the files.
pub(super) fn read(files: &ProjectFiles) -> ProjectFacts {
    let mut facts = ProjectFacts::default();
    unity::read_package(files, &[PACKAGE], &mut facts);
    unity::read_instance(files, &mut facts);
    facts
}
