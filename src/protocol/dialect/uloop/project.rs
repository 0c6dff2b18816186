//! What the files of a Unity project say about its editor and about the package in it.

use serde_json::Value;

use super::super::unity::{self, INSTANCE, LOCK, MANIFEST, is_there, json, record, seen, whole};
use super::super::{Activity, Expected, ProjectFacts, ProjectFile, ProjectFiles, unity_cli_loop};

const SETTINGS: &str = "UserSettings/UnityMcpSettings.json";
const EMBEDDED: &str = "Packages/io.github.hatayama.uloopmcp/package.json";
const EMBEDDED_OLD: &str = "Packages/io.github.hatayama.umcp/package.json";
const COMPILING: &str = "Temp/compiling.lock";
const RELOADING: &str = "Temp/domainreload.lock";
const STARTING: &str = "Temp/serverstarting.lock";
/// Unity's own lock file. It exists while the project is open, and a crash leaves it behind. Watched for changes, never used as
/// proof.
const UNITY_LOCK: &str = "Temp/UnityLockfile";

/// How many higher ports the package tries if its own port is taken. Only v2.0 and later record the port that they took.
pub(in crate::protocol::dialect) const MOVES_UP: u16 = 9;

/// Package ids, the current one first; uMCP was renamed after v0.26.4. Case is ignored, because projects use both spellings.
const PACKAGES: [(&str, &str); 2] =
    [("io.github.hatayama.uloopmcp", EMBEDDED), ("io.github.hatayama.umcp", EMBEDDED_OLD)];

/// The files that [`read`] looks at.
pub(in crate::protocol::dialect) const FILES: &[ProjectFile] = &[
    whole(SETTINGS),
    record(INSTANCE),
    whole(MANIFEST),
    whole(LOCK),
    whole(EMBEDDED),
    whole(EMBEDDED_OLD),
    seen(COMPILING),
    seen(RELOADING),
    seen(STARTING),
    seen(UNITY_LOCK),
    unity_cli_loop::SIGN,
];

/// The framing that a version of the package uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::protocol::dialect) enum Era {
    /// One message a line: before v0.27.
    Lines,
    /// Content-Length frames: v0.27 and later, and packages of unknown version.
    Frames,
}

/// Reads the facts for a dialect that uses `era`. A package with the other framing is reported as not installed. Never fails:
/// unusable content becomes a sentence in `problems`.
pub(in crate::protocol::dialect) fn read(files: &ProjectFiles, era: Era) -> ProjectFacts {
    let mut facts = ProjectFacts::default();
    unity::read_package(files, &PACKAGES, &mut facts);
    let version = facts.package_version.clone();
    if facts.installed && unity_cli_loop::is_third(version.as_deref(), files) {
        facts.installed = false;
        facts.problems.push(OF_VERSION_THREE.to_owned());
    } else if facts.installed && version.as_deref().map_or(Era::Frames, era_of) != era {
        facts.installed = false;
        facts.problems.extend(version.as_deref().map(|version| other_era(version, era)));
    }
    if let Some(settings) = json(files, SETTINGS, SETTINGS_FIX, &mut facts.problems) {
        read_settings(&settings, &mut facts);
    }
    // Only v2 checks the identity in a call. Its settings file stays in place if the user returns to an older version.
    if era == Era::Lines || version.as_deref().is_some_and(|version| numbers(version) < (2, 0)) {
        facts.expected = None;
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

const SETTINGS_FIX: &str = "set the port again in the package's window in Unity, which writes the file, or name it with --port (HOLDFAST_PORT)";

/// Reads `customPort`, the port on which the package listens. `isServerRunning` is not used, because the file outlives the editor
/// that wrote it.
fn read_settings(settings: &Value, facts: &mut ProjectFacts) {
    match settings.get("customPort") {
        None | Some(Value::Null) => {}
        Some(port) => match port.as_u64().and_then(|port| u16::try_from(port).ok()) {
            Some(port) if port > 0 => facts.port = Some((port, SETTINGS)),
            _ => facts
                .problems
                .push(format!("{SETTINGS} has a customPort that is not a port (1 to 65535): {SETTINGS_FIX}.")),
        },
    }
    let text = |name: &str| settings.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    if let (Some(root), Some(session)) = (text("projectRootPath"), text("serverSessionId")) {
        facts.expected = Some(Expected::Told { project_root: root.to_owned(), server_session_id: session.to_owned() });
    }
}

fn numbers(version: &str) -> (u32, u32) {
    let (major, minor, _) = three_numbers(version);
    (major, minor)
}

fn three_numbers(version: &str) -> (u32, u32, u32) {
    let mut parts = version.split(['.', '-', '+']).map(|part| part.parse().unwrap_or(u32::MAX));
    let mut next = || parts.next().unwrap_or(u32::MAX);
    (next(), next(), next())
}

/// Whether this version announces a reload or quit: `notifications/server/shutdown` exists since v0.41.1.
pub(super) fn announces(version: &str) -> bool {
    three_numbers(version) >= (0, 41, 1)
}

fn era_of(version: &str) -> Era {
    if numbers(version) < (0, 27) { Era::Lines } else { Era::Frames }
}

/// The problem of a package with the other framing. Shown only if the user forces a dialect; otherwise the dialect follows the
/// package.
fn other_era(version: &str, spoken: Era) -> String {
    let (speaks, dialect) = match spoken {
        Era::Frames => ("lines instead of frames", "umcp"),
        Era::Lines => ("frames instead of lines", "uloop"),
    };
    format!(
        "The project's package is version {version}, which speaks {speaks}: use the dialect {dialect}, or leave --dialect \
         away."
    )
}

/// The problem of version 3, which has another dialect. Shown only if the user forces this one.
const OF_VERSION_THREE: &str = "The project has Unity CLI Loop 3, the successor of uLoopMCP, which speaks another protocol: use the dialect unity-cli-loop, or leave --dialect away.";
