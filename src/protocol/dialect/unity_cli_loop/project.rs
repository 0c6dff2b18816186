//! What the files of a Unity project say about its editor and about this package in it, and where the editor listens.

use sha2::{Digest as _, Sha256};

use super::super::unity::{self, INSTANCE, LOCK, MANIFEST, is_there, record, seen, whole};
use super::super::{LocalSocket, ProjectFacts, ProjectFile, ProjectFiles};

const EMBEDDED: &str = "Packages/io.github.hatayama.uloopmcp/package.json";
/// The name is still that of uLoopMCP.
const PACKAGES: [(&str, &str); 1] = [("io.github.hatayama.uloopmcp", EMBEDDED)];
/// The tool list that the editor writes when it differs.
pub(super) const TOOLS: &str = ".uloop/tools.json";
/// The version of the package's command line that the project wants. Only version 3 writes it.
const PIN: &str = ".uloop/project-runner-pin.json";
/// The settings of version 2, which version 3 leaves alone.
const OLD_SETTINGS: &str = "UserSettings/UnityMcpSettings.json";
/// Unity's own lock file. It exists while the project is open, and a crash leaves it behind. Watched for changes, never used as proof.
const UNITY_LOCK: &str = "Temp/UnityLockfile";

/// The versions that are known, for users.
const KNOWN: &str = "3.0 to 3.3";

/// The files that [`read`] looks at.
pub(super) const FILES: &[ProjectFile] =
    &[record(INSTANCE), whole(MANIFEST), whole(LOCK), whole(EMBEDDED), seen(PIN), seen(OLD_SETTINGS), seen(UNITY_LOCK)];

/// Whether the package of this version is one that this dialect speaks to. Where the version is not known, as for a branch of a
/// repository, the file decides that only version 3 writes.
pub(in crate::protocol::dialect) fn is_third(version: Option<&str>, files: &ProjectFiles) -> bool {
    match version {
        Some(version) => numbers(version).0 >= 3,
        None => is_there(files, PIN),
    }
}

/// That file, for whoever must tell the versions apart.
pub(in crate::protocol::dialect) const SIGN: ProjectFile = seen(PIN);

fn numbers(version: &str) -> (u32, u32) {
    let mut numbers = version.split(['.', '-', '+']).map(|number| number.parse().unwrap_or_default());
    (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default())
}

/// Reads the facts from the files.
pub(super) fn read(files: &ProjectFiles) -> ProjectFacts {
    let mut facts = ProjectFacts::default();
    unity::read_package(files, &PACKAGES, &mut facts);
    let version = facts.package_version.clone();
    facts.installed = facts.installed && is_third(version.as_deref(), files);
    let is_known = |version: &&str| matches!(numbers(version), (3, 0..=3));
    let unknown = version.as_deref().filter(|version| facts.installed && !is_known(version));
    facts.notes.extend(unknown.map(|version| {
        format!("holdfast knows Unity CLI Loop {KNOWN}. This project has {version}, which may answer otherwise.")
    }));
    if facts.installed && is_there(files, OLD_SETTINGS) {
        facts.notes.push(format!(
            "{OLD_SETTINGS} is of uLoopMCP 2, and nobody reads it any more: version 3 is reached over a local socket, and nothing has to \
             be set. The file can be removed."
        ));
    }
    unity::read_instance(files, &mut facts);
    facts
}

/// Returns the socket of the project at this path: since about 3.0.58 in a folder of the user, before in one for all. The number is that
/// of the package's own command line.
pub(super) fn socket(project: &str) -> LocalSocket {
    let digest = Sha256::digest(root_of(project).as_bytes());
    let hash: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    LocalSocket(if is_of_windows(project) {
        vec![format!(r"\\.\pipe\uloop-UnityCliLoop-{hash}")]
    } else {
        ["/tmp/uloop-{user}", "/tmp/uloop"].map(|folder| format!("{folder}/UnityCliLoop-{hash}.sock")).to_vec()
    })
}

/// Whether a path is one of Windows: it begins with a drive, or with the name of another machine.
fn is_of_windows(project: &str) -> bool {
    let drive = project.as_bytes().get(..2).is_some_and(|begin| begin[0].is_ascii_alphabetic() && begin[1] == b':');
    drive || project.starts_with(r"\\")
}

/// A path without the separators at its end. That of a drive or of everything stays.
fn root_of(project: &str) -> &str {
    let root = project.trim_end_matches(if is_of_windows(project) { ['/', '\\'] } else { ['/', '/'] });
    let is_whole = root.is_empty() || root.ends_with(':');
    if is_whole { project.get(..=root.len()).unwrap_or(project) } else { root }
}
