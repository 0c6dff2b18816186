//! What the files of a Unity project say about its editor and about the package in it.

use serde_json::Value;

use super::super::{Activity, Expected, FileState, ProjectFacts, ProjectFile, ProjectFiles};

const SETTINGS: &str = "UserSettings/UnityMcpSettings.json";
const INSTANCE: &str = "Library/EditorInstance.json";
const MANIFEST: &str = "Packages/manifest.json";
const LOCK: &str = "Packages/packages-lock.json";
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

const fn whole(path: &'static str) -> ProjectFile {
    ProjectFile { path, content: true }
}

const fn seen(path: &'static str) -> ProjectFile {
    ProjectFile { path, content: false }
}

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
    read_package(files, &mut facts);
    if let Some(settings) = json(files, SETTINGS, SETTINGS_MEND, &mut facts.problems) {
        read_settings(&settings, &mut facts);
    }
    if let Some(instance) = json(files, INSTANCE, INSTANCE_MEND, &mut facts.problems) {
        match instance.get("process_id").and_then(Value::as_u64).and_then(|pid| u32::try_from(pid).ok()) {
            Some(pid) if pid > 0 => facts.editor_pid = Some(pid),
            _ => facts.problems.push(format!("{INSTANCE} names no process_id: {INSTANCE_MEND}.")),
        }
        let version =
            instance.get("version").and_then(Value::as_str).filter(|version| version.len() <= VERSION_MAX_BYTES);
        facts.editor_version = version.map(str::to_owned);
    }
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

/// Longest version of Unity that is believed: `6000.0.23f1` and its like.
const VERSION_MAX_BYTES: usize = 64;
const SETTINGS_MEND: &str =
    "close Unity, delete the file and start Unity again, or set the port anew in the package's window in Unity";
const INSTANCE_MEND: &str = "restart the Unity Editor, which writes it anew";
const PACKAGES_MEND: &str = "open the project in Unity, whose Package Manager shows and mends it";

fn is_there(files: &ProjectFiles, path: &str) -> bool {
    files.get(path).is_some_and(|state| *state != FileState::Missing)
}

/// A file's JSON object; a file that is there and is none is a problem. Unity's writers may begin with a byte order mark.
fn json(files: &ProjectFiles, path: &'static str, mend: &str, problems: &mut Vec<String>) -> Option<Value> {
    let bytes = match files.get(path)? {
        FileState::Content(bytes) => bytes,
        FileState::Unreadable(reason) => {
            problems.push(format!("{path} cannot be read ({reason}): allow this user to read it."));
            return None;
        }
        FileState::Missing | FileState::Present => return None,
    };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match serde_json::from_slice::<Value>(bytes) {
        Ok(value) if value.is_object() => Some(value),
        Ok(_) => {
            problems.push(format!("{path} holds no JSON object: {mend}."));
            None
        }
        Err(error) => {
            problems.push(format!("{path} is not JSON ({error}): {mend}."));
            None
        }
    }
}

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
        facts.expected = Some(Expected { project_root: root.to_owned(), server_session_id: session.to_owned() });
    }
}

/// Unity prefers a package embedded in `Packages/`, then what the lock file resolved, then the manifest's wish.
fn read_package(files: &ProjectFiles, facts: &mut ProjectFacts) {
    let lock = json(files, LOCK, PACKAGES_MEND, &mut facts.problems);
    let manifest = json(files, MANIFEST, PACKAGES_MEND, &mut facts.problems);
    for (id, embedded) in PACKAGES {
        let own = json(files, embedded, PACKAGES_MEND, &mut facts.problems);
        let locked = dependency(lock.as_ref(), id).and_then(|entry| entry.get("version")).and_then(Value::as_str);
        let wished = dependency(manifest.as_ref(), id).and_then(Value::as_str);
        let in_lock = dependency(lock.as_ref(), id).is_some();
        if own.is_none() && !in_lock && wished.is_none() && !is_there(files, embedded) {
            continue;
        }
        facts.installed = true;
        let own = own.as_ref().and_then(|package| package.get("version")).and_then(Value::as_str);
        facts.package_version = [own, locked, wished].into_iter().flatten().find_map(version);
        if let Some(problem) = facts.package_version.as_deref().and_then(other_era) {
            facts.problems.push(problem);
        }
        return;
    }
}

fn dependency<'a>(file: Option<&'a Value>, id: &str) -> Option<&'a Value> {
    let all = file?.get("dependencies")?.as_object()?;
    all.iter().find(|(key, _)| key.eq_ignore_ascii_case(id)).map(|(_, value)| value)
}

/// A version out of `1.2.3`, or out of the tag of a git address (`…?path=Packages/src#v1.2.3`). A branch, a commit or a
/// `file:` path says none.
fn version(text: &str) -> Option<String> {
    let address = text.contains([':', '/']);
    let candidate = if address { text.rsplit_once('#')?.1 } else { text };
    let candidate = candidate.strip_prefix(['v', 'V']).unwrap_or(candidate);
    let mut numbers = candidate.split(['-', '+']).next()?.split('.');
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let three = numbers.by_ref().take(3).filter(|part| plain(part)).count() == 3 && numbers.next().is_none();
    let rest = candidate.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+-".contains(&byte));
    (three && rest).then(|| candidate.to_owned())
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
