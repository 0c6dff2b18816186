//! What the files of a Unity project say about its editor and about this package in it.

use super::super::unity::{self, INSTANCE, LOCK, MANIFEST, record, seen, whole};
use super::super::{ProjectFacts, ProjectFile, ProjectFiles};

const EMBEDDED: &str = "Packages/com.unity.mcp/package.json";
const PACKAGES: [(&str, &str); 1] = [("com.unity.mcp", EMBEDDED)];
/// Unity's own lock file. It exists while the project is open, and a crash leaves it behind. Watched for changes, never used as
/// proof.
const UNITY_LOCK: &str = "Temp/UnityLockfile";

/// The files that [`read`] looks at.
pub(super) const FILES: &[ProjectFile] =
    &[record(INSTANCE), whole(MANIFEST), whole(LOCK), whole(EMBEDDED), seen(UNITY_LOCK)];

/// Reads the facts from the files. The package writes no file, so its port is unknown, and the editor's process is known only
/// from Unity's own record.
pub(super) fn read(files: &ProjectFiles) -> ProjectFacts {
    let mut facts = ProjectFacts::default();
    unity::read_package(files, &PACKAGES, &mut facts);
    if facts.installed && from_git(files) {
        facts.problems.push(
            "The project takes Unity-MCP from a git address, which Unity cannot load (its files lack their .meta files): copy \
             its folder unity-client into the project's Packages folder instead."
                .to_owned(),
        );
    }
    unity::read_instance(files, &mut facts);
    facts
}

/// Whether the manifest takes the package from a git address and no copy is embedded. Unity prefers an embedded copy.
fn from_git(files: &ProjectFiles) -> bool {
    if unity::is_there(files, EMBEDDED) {
        return false;
    }
    // The manifest is read a second time here; its problems were reported the first time.
    let manifest = unity::json(files, MANIFEST, "", &mut Vec::new());
    let wish = manifest.as_ref().and_then(|manifest| manifest.get("dependencies")?.get("com.unity.mcp")?.as_str());
    wish.is_some_and(|wish| wish.starts_with("http") || wish.starts_with("git") || wish.starts_with("ssh"))
}
