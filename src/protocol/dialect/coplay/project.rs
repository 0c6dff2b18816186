//! What the files of a Unity project and of its user say about this package's editor.

use std::fmt::Write as _;

use serde_json::Value;
use sha1::{Digest as _, Sha1};

use super::super::unity::{self, INSTANCE, LOCK, MANIFEST, record, seen, version_text, whole};
use super::super::{Activity, FileState, ProjectFacts, ProjectFile, ProjectFiles, UserFile};

const ID: &str = "com.coplaydev.unity-mcp";
const EMBEDDED: &str = "Packages/com.coplaydev.unity-mcp/package.json";
/// The copy from the Asset Store.
const STORE: &str = "Assets/MCPForUnity/package.json";
const PACKAGES: [(&str, &str); 2] = [(ID, EMBEDDED), (ID, STORE)];
/// Unity's own lock file. It exists while the project is open, and a crash leaves it behind. Watched for changes, never used as proof.
const UNITY_LOCK: &str = "Temp/UnityLockfile";
/// How users read the file in which the editor says what its bridge does, twice a second.
const STATUS: &str = "~/.unity-mcp/unity-mcp-status-….json";
const WINDOW: &str = "in Unity, Window > MCP for Unity";
const STATUS_FIX: &str =
    "end the session in Unity's window of MCP for Unity and start it again, and the package writes the file anew";

/// The files that [`read`] looks at.
pub(super) const FILES: &[ProjectFile] =
    &[record(INSTANCE), whole(MANIFEST), whole(LOCK), whole(EMBEDDED), whole(STORE), seen(UNITY_LOCK)];

/// The file of the user about the project at this path.
pub(super) fn status_file(project: &str) -> UserFile {
    let hash = hash(&data_path(project));
    UserFile {
        label: STATUS,
        folder: ".unity-mcp",
        variable: "UNITY_MCP_STATUS_DIR",
        name: format!("unity-mcp-status-{}.json", hash.get(..8).unwrap_or_default()),
        beat: "last_heartbeat",
    }
}

/// Unity's name for the project's folder of assets.
pub(super) fn data_path(project: &str) -> String {
    format!("{}/Assets", project.replace('\\', "/").trim_end_matches('/'))
}

/// The package's hash for that path: 16 digits, of which the status file's name has the first 8.
pub(super) fn hash(data_path: &str) -> String {
    Sha1::digest(data_path.as_bytes()).iter().take(8).fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// How the editor is reached, as its user chooses in the package's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Stdio,
    Http,
}

/// Reads the facts from the files. Only in stdio mode there is a status file: without it the other mode is meant, unless a setting says
/// otherwise.
pub(super) fn read(files: &ProjectFiles, mode: Mode) -> ProjectFacts {
    let mut facts = ProjectFacts::default();
    unity::read_package(files, &PACKAGES, &mut facts);
    unity::read_instance(files, &mut facts);
    let is_stdio = unity::is_there(files, STATUS);
    facts.by_record = facts.installed && is_stdio != (mode == Mode::Stdio);
    if mode == Mode::Http {
        return facts;
    }
    if let Some(status) = status(files, &mut facts.problems) {
        read_status(&status, &mut facts);
    }
    facts
}

/// Reads the file; `None` if it is missing, unreadable or being written: the editor does not write it in one step.
fn status(files: &ProjectFiles, problems: &mut Vec<String>) -> Option<Value> {
    match files.get(STATUS)? {
        FileState::Content(bytes) => serde_json::from_slice(bytes).ok().filter(Value::is_object),
        FileState::Unreadable(why) => {
            problems.push(why.told(STATUS, STATUS_FIX));
            None
        }
        FileState::Missing | FileState::Present => None,
    }
}

/// The age of the file says nothing: a frozen editor's file ages too. A crash leaves it behind, and then nobody listens.
fn read_status(status: &Value, facts: &mut ProjectFacts) {
    facts.by_record = !facts.installed;
    facts.installed = true;
    if facts.editor_version.is_none() {
        facts.editor_version = version_text(status, "unity_version");
    }
    let reloads = status.get("reloading") == Some(&Value::Bool(true));
    match status.get("reason").and_then(Value::as_str) {
        // At a start too it says that it reloads, while it waits for its port.
        Some("starting" | "port_busy") => facts.activity = Some(Activity::Starting),
        Some("start_failed") => facts.problems.push(format!(
            "MCP for Unity could not start its bridge: Unity's console says why; then start it again ({WINDOW})."
        )),
        Some("stopped") => facts
            .problems
            .push(format!("MCP for Unity has stopped its bridge, by its own word: start it again ({WINDOW}).")),
        _ if reloads => facts.activity = Some(Activity::Reloading),
        _ => {
            let port = status.get("unity_port").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
            match port.filter(|port| *port > 0) {
                Some(port) => facts.port = Some((port, STATUS)),
                None => facts.problems.push(format!("{STATUS} has no port from 1 to 65535: {STATUS_FIX}.")),
            }
        }
    }
}
