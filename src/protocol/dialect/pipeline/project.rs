//! What the files of a Unity project say about its editor and about this package in it.

use serde_json::Value;

use super::super::unity::{self, INSTANCE, LOCK, MANIFEST, pid, record, seen, whole};
use super::super::{Expected, FileState, ProjectFacts, ProjectFile, ProjectFiles, Secret};

/// Where the editor listens, and its token. The package writes it anew, and not in one step, at each request for its status. A crash
/// leaves it behind, and so does a reload, until the next domain listens.
pub(super) const DESCRIPTOR: &str = "Library/Pipeline/.unity-pipeline-port";
const EMBEDDED: &str = "Packages/com.unity.pipeline/package.json";
const PACKAGES: [(&str, &str); 1] = [("com.unity.pipeline", EMBEDDED)];
/// Unity's own lock file. It exists while the project is open, and a crash leaves it behind. Watched for changes, never used as proof.
const UNITY_LOCK: &str = "Temp/UnityLockfile";
const DESCRIPTOR_FIX: &str = "let Unity reload its scripts, and the package writes the file again";

/// The versions that are known, for users.
const KNOWN: &str = "0.4 to 0.8";

/// Whether a version is one of [`KNOWN`].
fn is_known(version: &str) -> bool {
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
    numbers.next().flatten() == Some(0) && matches!(numbers.next().flatten(), Some(4..=8))
}

/// The files that [`read`] looks at.
pub(super) const FILES: &[ProjectFile] =
    &[record(DESCRIPTOR), record(INSTANCE), whole(MANIFEST), whole(LOCK), whole(EMBEDDED), seen(UNITY_LOCK)];

/// Reads the facts from the files.
pub(super) fn read(files: &ProjectFiles) -> ProjectFacts {
    let mut facts = ProjectFacts::default();
    unity::read_package(files, &PACKAGES, &mut facts);
    facts.notes.extend(facts.package_version.as_deref().filter(|version| !is_known(version)).map(|version| {
        format!("holdfast knows com.unity.pipeline {KNOWN}. This project has {version}, which may answer otherwise.")
    }));
    unity::read_instance(files, &mut facts);
    if let Some(descriptor) = descriptor(files, &mut facts.problems) {
        read_descriptor(&descriptor, &mut facts);
    }
    facts
}

/// Reads the descriptor; `None` also while it is being written, which is no problem.
fn descriptor(files: &ProjectFiles, problems: &mut Vec<String>) -> Option<Value> {
    let mut passing = Vec::new();
    let is_read = matches!(files.get(DESCRIPTOR), Some(FileState::Content(_)));
    let problems = if is_read { &mut passing } else { problems };
    unity::json(files, DESCRIPTOR, DESCRIPTOR_FIX, problems)
}

/// Reads what the editor says of itself. `lastHeartbeat` is left out: it changes with each request for the status, and tells nothing.
fn read_descriptor(descriptor: &Value, facts: &mut ProjectFacts) {
    let text = |name: &str| descriptor.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    facts.by_record = !facts.installed;
    facts.installed = true;
    let own = pid(descriptor, "pid");
    let port = descriptor.get("port").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
    // A port whose process is not known may be anybody's.
    facts.port = port.filter(|port| *port > 0 && own.is_some()).map(|port| (port, DESCRIPTOR));
    if own.is_some() && own != facts.editor_pid {
        // The port belongs to this process, which may be a second editor on the same path.
        facts.other_pid = std::mem::replace(&mut facts.editor_pid, own);
    }
    facts.editor_version = facts.editor_version.take().or_else(|| unity::version_text(descriptor, "unityVersion"));
    facts.token = text("evalToken").map(Secret::new);
    if let (Some(root), Some(began)) = (text("projectPath"), text("startedAt")) {
        // In a copy of a project this is the original's path, and the port leads to the original's editor.
        facts.expected = Some(Expected::Told { project_root: root.to_owned(), server_session_id: began.to_owned() });
    }
}
