//! What is done to a whole call after each of its arguments was translated.

use serde_json::value::RawValue;

use super::super::super::members::Members;
use super::super::form::Step;
use super::sent::{Sent, Why};

pub(super) fn take(step: Step, sent: &mut Sent) -> Result<(), Why> {
    let is_action = |sent: &Sent, action: &str| sent.text("action").is_some_and(|own| own == action);
    match step {
        Step::AssetSearch if is_action(sent, "search") => {
            let query = sent.text("path").map(|path| path.trim().to_owned()).filter(|path| path.starts_with("t:"));
            if let Some(query) = query.filter(|_| !sent.has("searchPattern")) {
                sent.set_text("searchPattern", &query);
                sent.set_text("path", "Assets");
            }
            if let Some(kind) = sent.get("assetType").filter(|_| !sent.has("filterType")) {
                let kind = kind.to_owned();
                sent.set("filterType", kind);
            }
        }
        Step::Atomic => {
            if has_option(sent, "debug_preview", |value| value == "true") {
                return Err("cannot show edits without making them: leave out `debug_preview`".to_owned());
            }
            let edits: Vec<&RawValue> =
                sent.get("edits").and_then(|edits| serde_json::from_str(edits).ok()).unwrap_or_default();
            if edits.len() > 1 {
                add_option(sent, "applyMode", "atomic");
            }
        }
        Step::ClearStuck => {
            if let Some(flag) = sent.remove("clear_stuck") {
                *sent = Sent::default();
                sent.set("clear_stuck", flag);
            }
        }
        Step::Immediate => add_option(sent, "refresh", "immediate"),
        Step::PrefabPath => {
            let folder = sent.remove("prefab_folder").and_then(|folder| serde_json::from_str::<String>(&folder).ok());
            let makes_one =
                is_action(sent, "create") && sent.get("saveAsPrefab") == Some("true") && !sent.has("prefabPath");
            if let (true, Some(folder), Some(name)) = (makes_one, folder, sent.text("name")) {
                sent.set_text("prefabPath", &format!("{folder}/{name}.prefab").replace('\\', "/"));
            }
        }
        Step::PrefabTarget if is_action(sent, "create_from_gameobject") && !sent.has("target") => {
            if let Some(name) = sent.get("name") {
                let name = name.to_owned();
                sent.set("target", name);
            }
        }
        Step::Texture => {
            if sent.has("imagePath") {
                sent.remove("width");
                sent.remove("height");
            } else if is_action(sent, "create") && !["fillColor", "pattern", "pixels"].iter().any(|name| sent.has(name))
            {
                sent.set("fillColor", "[255,255,255,255]".to_owned());
            }
        }
        Step::AssetSearch | Step::PrefabTarget => {}
    }
    Ok(())
}

fn options(sent: &Sent) -> Option<Box<RawValue>> {
    RawValue::from_string(sent.get("options")?.to_owned()).ok()
}

fn has_option(sent: &Sent, name: &str, is: impl Fn(&str) -> bool) -> bool {
    let options = options(sent);
    let members = options.as_deref().and_then(Members::of);
    members.is_some_and(|members| members.iter().any(|(key, value)| key == name && is(value.get())))
}

/// Adds an option that is not given.
fn add_option(sent: &mut Sent, name: &str, value: &str) {
    let given = options(sent);
    let Some(members) = given.as_deref().and_then(Members::of) else { return };
    let added = members.spliced(None, &[(name, serde_json::Value::from(value).to_string())]);
    if let Some(added) = added.filter(|_| !has_option(sent, name, |_| true)) {
        sent.set("options", added.get().to_owned());
    }
}
