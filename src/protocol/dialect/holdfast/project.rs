//! What the files of a Unity project say about its editor and about our package in it.

use serde_json::Value;

use super::super::unity::{self, INSTANCE, LOCK, MANIFEST, json, pid, record, seen, version_text, whole};
use super::super::{Activity, Credentials, Expected, ProjectFacts, ProjectFile, ProjectFiles, Secret};
use super::greeting::PROTOCOL;

/// The instance file, in which the package describes its bridge.
const BRIDGE: &str = "Library/Holdfast/instance.json";
const EMBEDDED: &str = "Packages/dev.holdfast.unity/package.json";
const PACKAGES: [(&str, &str); 1] = [("dev.holdfast.unity", EMBEDDED)];
/// Unity's own lock file. It exists while the project is open, and a crash leaves it behind. Watched for changes, never used as
/// proof.
const UNITY_LOCK: &str = "Temp/UnityLockfile";
const BRIDGE_FIX: &str = "press Stop and then Start in Unity's Window > Holdfast, which writes it again";

/// The files that [`read`] looks at.
pub(super) const FILES: &[ProjectFile] =
    &[record(BRIDGE), record(INSTANCE), whole(MANIFEST), whole(LOCK), whole(EMBEDDED), seen(UNITY_LOCK)];

/// Reads the facts from the files. Never fails: unusable content becomes a sentence in `problems`.
pub(super) fn read(files: &ProjectFiles) -> ProjectFacts {
    let mut facts = ProjectFacts::default();
    unity::read_package(files, &PACKAGES, &mut facts);
    unity::read_instance(files, &mut facts);
    if let Some(bridge) = json(files, BRIDGE, BRIDGE_FIX, &mut facts.problems) {
        facts.installed = true;
        read_bridge(&bridge, &mut facts);
    }
    facts
}

fn read_bridge(bridge: &Value, facts: &mut ProjectFacts) {
    let text = |name: &str| bridge.get(name).and_then(Value::as_str).unwrap_or_default();
    let protocol = bridge.get("protocol").and_then(Value::as_u64);
    if protocol != Some(PROTOCOL) {
        let said = protocol.map_or("none".to_owned(), |number| number.to_string());
        facts.problems.push(format!(
            "The project's package speaks protocol {said} and this holdfast {PROTOCOL}: bring both to the same version \
             (`holdfast unity install` places the package that belongs to this holdfast)."
        ));
        return;
    }
    let is_hex = |text: &str, digits: usize| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (project, nonce, token) = (text("project"), text("nonce"), text("token"));
    let (Some(pid), false, true, true) = (pid(bridge, "pid"), project.is_empty(), is_hex(nonce, 32), is_hex(token, 64))
    else {
        facts.problems.push(format!("{BRIDGE} lacks pid, project, nonce or token: {BRIDGE_FIX}."));
        return;
    };
    facts.other_pid = facts.editor_pid.filter(|other| *other != pid);
    facts.editor_pid = Some(pid);
    facts.editor_version = version_text(bridge, "unityVersion").or(facts.editor_version.take());
    facts.package_version = version_text(bridge, "packageVersion").or(facts.package_version.take());
    let port = bridge.get("port").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
    match port {
        // The bridge does not listen: the editor reloads its domain, or the user stopped the bridge.
        Some(0) => {}
        Some(port) => facts.port = Some((port, BRIDGE)),
        None => facts.problems.push(format!("{BRIDGE} has an invalid port (0 to 65535): {BRIDGE_FIX}.")),
    }
    facts.activity = match text("state") {
        "compiling" => Some(Activity::Compiling),
        "reloading" => Some(Activity::Reloading),
        _ => None,
    };
    facts.expected = Some(Expected::Proven(Credentials {
        project: project.to_owned(),
        pid,
        nonce: nonce.to_owned(),
        token: Secret::new(token),
    }));
}
