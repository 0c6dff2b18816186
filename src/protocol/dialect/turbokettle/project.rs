//! What the files of a Unity project say about its editor and about the package in it.

use serde_json::Value;

use super::super::unity::{self, INSTANCE, LOCK, MANIFEST, pid, record, seen, whole};
use super::super::{FileState, ProjectFacts, ProjectFile, ProjectFiles};

/// The package's record of its bridge: written when the bridge starts to listen, removed at every reload, left behind by a crash.
const BRIDGE: &str = "Library/MCPInstance.json";
const EMBEDDED: &str = "Packages/com.turbokettle.unity-mcp/package.json";
const PACKAGES: [(&str, &str); 1] = [("com.turbokettle.unity-mcp", EMBEDDED)];
/// Unity's own lock file. It exists while the project is open, and a crash leaves it behind. Watched for changes, never used as
/// proof.
const UNITY_LOCK: &str = "Temp/UnityLockfile";
const BRIDGE_FIX: &str =
    "let the Unity Editor reload its scripts, as after a change of one, and the package writes the file again";

/// The files that [`read`] looks at.
pub(super) const FILES: &[ProjectFile] =
    &[record(BRIDGE), record(INSTANCE), whole(MANIFEST), whole(LOCK), whole(EMBEDDED), seen(UNITY_LOCK)];

/// Reads the facts from the files. Never fails: unusable content becomes a sentence in `problems`.
pub(super) fn read(files: &ProjectFiles) -> ProjectFacts {
    let mut facts = ProjectFacts::default();
    unity::read_package(files, &PACKAGES, &mut facts);
    unity::read_instance(files, &mut facts);
    if let Some(bridge) = bridge(files, &mut facts.problems) {
        read_bridge(&bridge, &mut facts);
    }
    facts
}

/// Reads the record; `None` if it is missing, unreadable or incomplete. An incomplete record is not reported, because the package
/// writes the file in place and the rest will follow.
fn bridge(files: &ProjectFiles, problems: &mut Vec<String>) -> Option<Value> {
    let bytes = match files.get(BRIDGE)? {
        FileState::Content(bytes) => bytes,
        FileState::Unreadable(why) => {
            problems.push(why.told(BRIDGE, BRIDGE_FIX));
            return None;
        }
        FileState::Missing | FileState::Present => return None,
    };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    serde_json::from_slice::<Value>(bytes).ok().filter(|file| file.get("port").is_some())
}

fn read_bridge(bridge: &Value, facts: &mut ProjectFacts) {
    let port = bridge.get("port").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
    let Some(port) = port.filter(|port| *port > 0) else {
        facts.problems.push(format!("{BRIDGE} has an invalid port (1 to 65535): {BRIDGE_FIX}."));
        return;
    };
    let Some(own) = pid(bridge, "pid") else {
        facts.problems.push(format!("{BRIDGE} names no pid: {BRIDGE_FIX}."));
        return;
    };
    facts.by_record = !facts.installed;
    facts.installed = true;
    facts.port = Some((port, BRIDGE));
    match facts.editor_pid {
        None => facts.editor_pid = Some(own),
        Some(editor) if editor == own => {}
        Some(editor) => {
            facts.other_pid = Some(own);
            facts.problems.push(format!(
                "{BRIDGE} is of process {own}, but the project's editor is process {editor} ({INSTANCE}): an editor that \
                 crashed left one of them behind, or a process of Unity's that imports assets has written over it. If it stays \
                 so, {BRIDGE_FIX}."
            ));
        }
    }
}
