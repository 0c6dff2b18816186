//! What the files of a Unity project say about its editor and about the package in it.

use serde_json::Value;

use super::super::unity::{self, INSTANCE, LOCK, MANIFEST, is_there, json, seen, whole};
use super::super::{Activity, Expected, ProjectFacts, ProjectFile, ProjectFiles};

const SETTINGS: &str = "UserSettings/UnityMcpSettings.json";
const EMBEDDED: &str = "Packages/io.github.hatayama.uloopmcp/package.json";
const EMBEDDED_OLD: &str = "Packages/io.github.hatayama.umcp/package.json";
const COMPILING: &str = "Temp/compiling.lock";
const RELOADING: &str = "Temp/domainreload.lock";
const STARTING: &str = "Temp/serverstarting.lock";
/// Unity's own: there while the project is open, left behind by a crash. Watched as news, never as a proof.
const UNITY_LOCK: &str = "Temp/UnityLockfile";

/// Package ids, today's first; uMCP was renamed after v0.26.4. Compared in any case: both spellings are in use.
const PACKAGES: [(&str, &str); 2] =
    [("io.github.hatayama.uloopmcp", EMBEDDED), ("io.github.hatayama.umcp", EMBEDDED_OLD)];

/// The files that [`read`] looks at.
pub(super) const FILES: &[ProjectFile] = &[
    whole(SETTINGS),
    whole(INSTANCE),
    whole(MANIFEST),
    whole(LOCK),
    whole(EMBEDDED),
    whole(EMBEDDED_OLD),
    seen(COMPILING),
    seen(RELOADING),
    seen(STARTING),
    seen(UNITY_LOCK),
];

/// What the files say. Nothing in them is fatal: what cannot be used becomes a sentence in `problems`.
pub(super) fn read(files: &ProjectFiles) -> ProjectFacts {
    let mut facts = ProjectFacts::default();
    unity::read_package(files, &PACKAGES, &mut facts);
    if let Some(problem) = facts.package_version.as_deref().and_then(other_era) {
        facts.problems.push(problem);
    }
    if let Some(settings) = json(files, SETTINGS, SETTINGS_MEND, &mut facts.problems) {
        read_settings(&settings, &mut facts);
    }
    unity::read_instance(files, &mut facts);
    facts.activity = if is_there(files, RELOADING) {
        Some(Activity::Reloading)
    } else if is_there(files, COMPILING) {
        Some(Activity::Compiling)
    } else if is_there(files, STARTING) {
        Some(Activity::Starting)
    } else {
        None
    };
    facts
}

const SETTINGS_MEND: &str =
    "close Unity, delete the file and start Unity again, or set the port anew in the package's window in Unity";

/// `customPort` is the port the package listens on. `isServerRunning` is not used: it outlives the editor that wrote it.
fn read_settings(settings: &Value, facts: &mut ProjectFacts) {
    match settings.get("customPort") {
        None | Some(Value::Null) => {}
        Some(port) => match port.as_u64().and_then(|port| u16::try_from(port).ok()) {
            Some(port) if port > 0 => facts.port = Some((port, SETTINGS)),
            _ => facts
                .problems
                .push(format!("{SETTINGS} has a customPort that is no port (1 to 65535): {SETTINGS_MEND}.")),
        },
    }
    let text = |name: &str| settings.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    if let (Some(root), Some(session)) = (text("projectRootPath"), text("serverSessionId")) {
        facts.expected = Some(Expected::Told { project_root: root.to_owned(), server_session_id: session.to_owned() });
    }
}

/// Versions of the same package that speak another protocol.
fn other_era(version: &str) -> Option<String> {
    let mut parts = version.split(['.', '-', '+']).map(|part| part.parse::<u32>().unwrap_or(u32::MAX));
    match (parts.next()?, parts.next()?) {
        (0, minor) if minor < 27 => Some(format!(
            "The project's package is version {version}, which speaks lines instead of frames: use the dialect umcp, or \
             update the package to 2.1.1."
        )),
        (3.., _) => Some(format!(
            "The project's package is version {version}, which has no TCP bridge any more: install version 2.1.1, or \
             holdfast's own package."
        )),
        _ => None,
    }
}
