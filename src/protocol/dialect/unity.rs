//! What the files of any Unity project say, whichever package it has: the editor's process and the packages' versions.

use serde_json::Value;

use super::{FileState, ProjectFacts, ProjectFile, ProjectFiles};

/// Unity's own record of the editor that has the project open.
pub(super) const INSTANCE: &str = "Library/EditorInstance.json";
/// The project's manifest, which lists the packages that it requires.
pub(super) const MANIFEST: &str = "Packages/manifest.json";
/// The lock file, which lists the packages and versions that Unity chose.
pub(super) const LOCK: &str = "Packages/packages-lock.json";
/// The folder to which Unity copies the assemblies of the project's scripts, at the end of a compile that changed them.
pub(super) const SCRIPT_ASSEMBLIES: &str = "Library/ScriptAssemblies";

/// The longest accepted version text, such as `6000.0.23f1`, in bytes.
const VERSION_MAX_BYTES: usize = 64;
/// How to renew [`INSTANCE`]: Unity writes the file when it opens the project, and at no other time.
const INSTANCE_FIX: &str = "name the editor's port with --port (HOLDFAST_PORT) until Unity writes the file again, as it does when it opens the project";
const PACKAGES_FIX: &str = "open the project in Unity, whose Package Manager shows and fixes it";

/// A file whose content is read.
pub(super) const fn whole(path: &'static str) -> ProjectFile {
    ProjectFile { path, content: true, names_process: false }
}

/// A file in which an editor names its own process.
pub(super) const fn record(path: &'static str) -> ProjectFile {
    ProjectFile { path, content: true, names_process: true }
}

/// A file of which only the existence matters.
pub(super) const fn seen(path: &'static str) -> ProjectFile {
    ProjectFile { path, content: false, names_process: false }
}

/// Whether a file exists.
pub(super) fn is_there(files: &ProjectFiles, path: &str) -> bool {
    files.get(path).is_some_and(|state| *state != FileState::Missing)
}

/// Reads a file as a JSON object. `None` if there is none; a file that exists but is not a JSON object also becomes a problem. A
/// byte order mark is skipped, because Unity's writers may add one.
pub(super) fn json(files: &ProjectFiles, path: &'static str, fix: &str, problems: &mut Vec<String>) -> Option<Value> {
    let bytes = match files.get(path)? {
        FileState::Content(bytes) => bytes,
        FileState::Unreadable(why) => {
            problems.push(why.told(path, fix));
            return None;
        }
        FileState::Missing | FileState::Present => return None,
    };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match serde_json::from_slice::<Value>(bytes) {
        Ok(value) if value.is_object() => Some(value),
        Ok(_) => {
            problems.push(format!("{path} holds no JSON object: {fix}."));
            None
        }
        Err(error) => {
            problems.push(format!("{path} is not JSON ({error}): {fix}."));
            None
        }
    }
}

/// Returns a member that is a process id (above 0); `None` if it is not one.
pub(super) fn pid(file: &Value, member: &str) -> Option<u32> {
    let pid = file.get(member)?.as_u64().and_then(|pid| u32::try_from(pid).ok())?;
    (pid > 0).then_some(pid)
}

/// Returns a member that is a version of Unity or of a package. `None` if it is longer than `VERSION_MAX_BYTES`, or not a text.
pub(super) fn version_text(file: &Value, member: &str) -> Option<String> {
    let version = file.get(member)?.as_str()?;
    (version.len() <= VERSION_MAX_BYTES).then(|| version.to_owned())
}

/// Reads Unity's own record of its editor into `facts`.
pub(super) fn read_instance(files: &ProjectFiles, facts: &mut ProjectFacts) {
    let Some(instance) = json(files, INSTANCE, INSTANCE_FIX, &mut facts.problems) else { return };
    match pid(&instance, "process_id") {
        Some(pid) => facts.editor_pid = Some(pid),
        None => facts.problems.push(format!("{INSTANCE} names no process_id: {INSTANCE_FIX}.")),
    }
    facts.editor_version = version_text(&instance, "version");
}

/// Finds the first of these packages that is in the project. Each entry is a package name and the path of its `package.json` if
/// it is embedded. The version comes from the embedded package, otherwise from the lock file, otherwise from the manifest: Unity
/// prefers them in this order.
pub(super) fn read_package(files: &ProjectFiles, packages: &[(&'static str, &'static str)], facts: &mut ProjectFacts) {
    let lock = json(files, LOCK, PACKAGES_FIX, &mut facts.problems);
    let manifest = json(files, MANIFEST, PACKAGES_FIX, &mut facts.problems);
    for (id, embedded) in packages {
        let own = json(files, embedded, PACKAGES_FIX, &mut facts.problems);
        let locked = dependency(lock.as_ref(), id).and_then(|entry| entry.get("version")).and_then(Value::as_str);
        let wished = dependency(manifest.as_ref(), id).and_then(Value::as_str);
        let in_lock = dependency(lock.as_ref(), id).is_some();
        if own.is_none() && !in_lock && wished.is_none() && !is_there(files, embedded) {
            continue;
        }
        facts.installed = true;
        let own = own.as_ref().and_then(|package| package.get("version")).and_then(Value::as_str);
        facts.package_version = [own, locked, wished].into_iter().flatten().find_map(version);
        return;
    }
}

fn dependency<'a>(file: Option<&'a Value>, id: &str) -> Option<&'a Value> {
    let all = file?.get("dependencies")?.as_object()?;
    all.iter().find(|(key, _)| key.eq_ignore_ascii_case(id)).map(|(_, value)| value)
}

/// Returns the version in `1.2.3`, or in the tag of a git address (`…?path=Packages/src#v1.2.3`). `None` for a branch, a commit
/// or a `file:` path.
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
