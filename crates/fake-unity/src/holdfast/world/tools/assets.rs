//! `find-assets`, `edit-asset` and `delete-asset`.

use serde_json::{Value, json};

use super::paths;
use super::told::{Told, bounded, done, no_references};
use crate::holdfast::world::node::short;
use crate::holdfast::world::{Found, Stop, World, kinds, stem};
use crate::tools::Arguments;

/// Most assets that one call finds (the package's own number).
const FOUND_MAX: usize = 1_000;

pub(super) fn find(world: &World, given: &Arguments) -> Told {
    let most = bounded(given, "MaxResults", 1, FOUND_MAX)?;
    let folder = given.word("Folder").trim_end_matches('/');
    if folder != "Assets" && folder != "Packages" {
        paths::readable(folder, "", "Folder")?;
    }
    if !world.files.is_folder(folder) && folder != "Packages" {
        return Stop::wrong(format!("There is no folder {folder} (Folder)"));
    }
    no_references(given)?;
    let below = format!("{folder}/");
    let mut all: Vec<(String, String)> =
        matching(world, given.word("Filter")).into_iter().filter(|(path, _)| path.starts_with(&below)).collect();
    all.sort();
    let message = format!("Looked at {} assets below {folder}", all.len());
    // No script is missing here.
    all.retain(|_| !given.flag("MissingScripts"));
    let rest: Vec<&(String, String)> = all.iter().filter(|(path, _)| path.as_str() > given.word("Page")).collect();
    let assets: Vec<Value> = rest.iter().take(most).map(|(path, kind)| json!({"Path": path, "Type": kind})).collect();
    let mut answer = json!({"Message": message, "Assets": assets, "TotalCount": all.len()});
    if rest.len() > most {
        answer["NextPage"] = json!(rest.get(most - 1).map(|(path, _)| path));
    }
    Ok(answer)
}

/// The assets that fit a filter as in Unity's project window, with their types. The model has no labels.
pub(super) fn matching(world: &World, filter: &str) -> Vec<(String, String)> {
    let lower = filter.to_lowercase();
    let fits = |path: &str, kind: &str| {
        let name = stem(path).to_lowercase();
        let mut kinds = lower.split_whitespace().filter_map(|word| word.strip_prefix("t:")).peekable();
        let kind = short(kind).to_lowercase();
        let alias = |wanted: &str| match wanted {
            "prefab" => path.ends_with(".prefab"),
            "scene" => path.ends_with(".unity"),
            "script" => path.ends_with(".cs"),
            "folder" => world.files.is_folder(path),
            "scriptableobject" => path.ends_with(".asset"),
            other => other == kind || other.ends_with(&format!(".{kind}")),
        };
        // Several types are alternatives, as in Unity.
        let typed = kinds.peek().is_none() || kinds.any(alias);
        let labelled = lower.split_whitespace().any(|word| word.starts_with("l:"));
        let mut words = lower.split_whitespace().filter(|word| !word.starts_with("t:") && !word.starts_with("l:"));
        typed && !labelled && words.all(|word| name.contains(word))
    };
    let typed = world.files.all().into_iter().filter_map(|path| world.type_of(&path).map(|kind| (path, kind)));
    typed.filter(|(path, kind)| fits(path, kind)).collect()
}

pub(super) fn edit(world: &mut World, given: &Arguments) -> Told {
    let (action, path) = (given.word("Action"), given.word("Path").trim_end_matches('/'));
    let kind = given.word("Type");
    match action {
        "Refresh" => {
            if !path.is_empty() {
                return Stop::wrong(
                    "Refresh imports everything that has changed; to import one asset use Import (Path)",
                );
            }
            return Ok(done(
                world,
                "Imported what had changed; changed scripts are compiled now, see compile".to_owned(),
                None,
            ));
        }
        "Import" => {
            paths::readable(path, "", "Path")?;
            known(world, path)?;
            return told(world, path, format!("Imported {path}"));
        }
        "CreateFolder" => {
            paths::new(world, path, "", "Path")?;
            world.files.create_folder(path)?;
        }
        "CreateMaterial" => {
            paths::new(world, path, ".mat", "Path")?;
            let shader = if kind.is_empty() { "Standard" } else { kind };
            if !kinds::SHADERS.contains(&shader) {
                return Stop::wrong(format!("There is no shader {kind} (Type), such as Standard"));
            }
            world.files.write(path, &serde_json::to_vec_pretty(&kinds::material(shader)).unwrap_or_default())?;
        }
        "CreateScriptableObject" => {
            paths::new(world, path, ".asset", "Path")?;
            if kind.is_empty() {
                return Stop::wrong("Type is missing");
            }
            let values = match world.scripts.named(kind, "ScriptableObject").as_slice() {
                [one] => one.component(false),
                [] => {
                    return Stop::wrong(format!(
                        "There is no ScriptableObject type {kind} (Type). The class of a script is there once the script has been compiled"
                    ));
                }
                several => {
                    let list: Vec<&str> = several.iter().map(|class| class.name.as_str()).collect();
                    return Stop::wrong(format!(
                        "Several ScriptableObject types have the name {kind} (Type): {}",
                        list.join(", ")
                    ));
                }
            };
            world.files.write(path, &serde_json::to_vec_pretty(&values).unwrap_or_default())?;
        }
        _ => return move_or_copy(world, action == "Move", path, given.word("Destination").trim_end_matches('/')),
    }
    told(world, path, format!("Created {path}"))
}

fn told(world: &World, path: &str, message: String) -> Told {
    Ok(done(world, message, Some(&Found::Asset(path.to_owned()))))
}

fn known(world: &World, path: &str) -> Result<(), Stop> {
    if world.type_of(path).is_none() { Stop::wrong(format!("There is no asset {path} (Path)")) } else { Ok(()) }
}

fn move_or_copy(world: &mut World, moves: bool, path: &str, to: &str) -> Told {
    if moves {
        paths::writable(path, "", "Path")?;
    } else {
        paths::readable(path, "", "Path")?;
    }
    known(world, path)?;
    paths::new(world, to, "", "Destination")?;
    let verb = if moves { "move" } else { "copy" };
    if to.starts_with(&format!("{path}/")) {
        return Stop::no(format!("Unity could not {verb} {path}: it would lie in itself"));
    }
    let result = if moves { world.files.rename(path, to) } else { world.files.copy(path, to) };
    if let Err(error) = result {
        return Stop::no(format!("Unity could not {verb} {path}: {error}"));
    }
    if moves {
        follow(world, path, to);
    }
    told(world, to, format!("{} {path} to {to}", if moves { "Moved" } else { "Copied" }))
}

/// Lets what is open, and what refers to a moved asset, know its new place.
fn follow(world: &mut World, path: &str, to: &str) {
    let moved = |own: &mut String| {
        if let Some(rest) = own.strip_prefix(path).filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            *own = format!("{to}{rest}");
        }
    };
    let refer = |one: &mut super::super::node::Node| {
        one.prefab.iter_mut().for_each(moved);
        for property in one.components.iter_mut().flat_map(|component| &mut component.properties) {
            if let Some(Value::String(own)) = property.value.get_mut("asset") {
                moved(own);
            }
        }
    };
    let open = &mut world.open;
    open.scenes.iter_mut().for_each(|scene| moved(&mut scene.path));
    open.stage.iter_mut().for_each(|stage| moved(&mut stage.path));
    let scenes = open.scenes.iter_mut().flat_map(|scene| &mut scene.roots);
    let stage = open.stage.iter_mut().flat_map(|stage| &mut stage.roots);
    scenes.chain(stage).for_each(|root| root.each_mut(&mut { refer }));
    // An earlier state would lead to the old place.
    world.history.clear();
}

pub(super) fn delete(world: &mut World, given: &Arguments) -> Told {
    let path = given.word("Path").trim_end_matches('/');
    paths::writable(path, "", "Path")?;
    known(world, path)?;
    let below = format!("{path}/");
    let opened =
        world.open.scenes.iter().map(|scene| &scene.path).chain(world.open.stage.iter().map(|stage| &stage.path));
    if let Some(open) = opened.into_iter().find(|own| *own == path || own.starts_with(&below)) {
        return Stop::no(format!("{open} is open; close it first"));
    }
    world.files.remove(path)?;
    Ok(done(world, format!("Moved {path} to the trash"), None))
}
