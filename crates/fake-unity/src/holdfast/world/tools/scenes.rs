//! `scene` and `list-scenes`.

use serde_json::{Value, json};

use super::paths;
use super::told::{Told, merged};
use crate::holdfast::world::state::UNSAVED_PREFAB;
use crate::holdfast::world::{Facts, Scene, Stop, World};
use crate::limits::OPEN_SCENES_MAX;
use crate::tools::Arguments;

const ENDING: &str = ".unity";

/// The open scenes as tools answer them.
pub(super) fn open(world: &World) -> Value {
    let scenes = world.open.scenes.iter().enumerate().map(|(at, scene)| {
        json!({
            "Path": scene.path, "Name": scene.name(), "IsActive": at == world.open.active, "IsLoaded": true, "IsDirty": scene.dirty,
            "RootCount": scene.roots.len(),
        })
    });
    scenes.collect()
}

pub(super) fn list(world: &World) -> Told {
    let files: Vec<String> = world.files.all().into_iter().filter(|path| path.ends_with(ENDING)).collect();
    Ok(json!({"OpenScenes": open(world), "ProjectScenes": files, "ProjectSceneCount": files.len()}))
}

fn told(world: &World, message: impl Into<String>) -> Told {
    Ok(merged(json!({"Success": true, "Message": message.into()}), json!({"OpenScenes": open(world)})))
}

pub(super) fn scene(world: &mut World, facts: &Facts, given: &Arguments) -> Told {
    let (action, path) = (given.word("Action"), given.word("Path"));
    if !path.is_empty() {
        paths::readable(path, ENDING, "Path")?;
    }
    if facts.playing {
        return Stop::no("The editor is in play mode; leave it first");
    }
    if path.is_empty() {
        if action == "Save" {
            return save_all(world);
        }
        return Stop::wrong("Path is missing: the scene's file, such as Assets/Scenes/Level1.unity");
    }
    if matches!(action, "Open" | "Create") && world.has_dirty_prefab() {
        return Stop::no(UNSAVED_PREFAB);
    }
    let named = world.open.scenes.iter().position(|scene| scene.path == path);
    let additive = given.flag("Additive");
    match (action, named) {
        ("Save", Some(at)) => save(world, at, path),
        ("Save", None) => {
            may_write(world, path)?;
            save(world, world.open.active, path)
        }
        ("Create", _) => {
            may_write(world, path)?;
            may_replace(world, additive)?;
            let scene = world.new_scene(path, given.flag("Empty"));
            world.save_scene(&scene)?;
            show(world, scene, additive);
            told(world, format!("Saved {path}"))
        }
        ("Open", Some(_)) if additive || world.open.scenes.len() == 1 => told(world, "It is open already"),
        ("Open", _) => {
            if !world.files.is_file(path) {
                return Stop::no(format!("There is no scene {path}; list-scenes has the files"));
            }
            may_replace(world, additive)?;
            let Some(scene) = world.load_scene(path) else {
                return Stop::no(format!("{path} is no scene of the simulated editor"));
            };
            show(world, scene, additive);
            told(world, format!("Opened {path}"))
        }
        (_, None) => Stop::no(format!("{path} is not open; list-scenes has the open scenes")),
        ("Activate", Some(at)) => {
            world.open.active = at;
            told(world, format!("New objects are put into {path}"))
        }
        ("Discard", Some(at)) => {
            if world.open.scenes.get(at).is_some_and(|scene| !scene.dirty) {
                return told(world, format!("{path} has no unsaved changes"));
            }
            let (Some(scene), Some(open)) = (world.load_scene(path), world.open.scenes.get_mut(at)) else {
                return Stop::no(format!("{path} is no scene of the simulated editor"));
            };
            *open = scene;
            world.history.clear();
            told(world, format!("Discarded the unsaved changes of {path}"))
        }
        (_, Some(at)) => {
            if world.open.scenes.get(at).is_some_and(|scene| scene.dirty) {
                return Stop::no(format!("{path} has unsaved changes; save it first"));
            }
            if world.open.scenes.len() == 1 {
                return Stop::no("Unity keeps at least one scene open; open another one instead");
            }
            world.open.scenes.remove(at);
            world.open.active = if world.open.active > at { world.open.active - 1 } else { world.open.active };
            world.open.active = world.open.active.min(world.open.scenes.len() - 1);
            world.history.clear();
            told(world, format!("Closed {path}"))
        }
    }
}

/// Shows a scene: beside the open ones, or in their place.
fn show(world: &mut World, scene: Scene, additive: bool) {
    world.open.stage = None;
    world.history.clear();
    if additive {
        world.open.scenes.push(scene);
    } else {
        world.open.scenes = vec![scene];
        world.selection.clear();
    }
    // A new or opened scene is the active one only if it is alone.
    world.open.active = if additive { world.open.active } else { 0 };
}

fn may_write(world: &World, path: &str) -> Result<(), Stop> {
    paths::writable(path, ENDING, "Path")?;
    if world.files.is_file(path) {
        return Stop::no(format!("There is a file {path} already; it is not replaced"));
    }
    if !world.files.has_folder(path) {
        return Stop::no(format!("There is no folder for {path}; create it first"));
    }
    Ok(())
}

fn may_replace(world: &World, additive: bool) -> Result<(), Stop> {
    if additive {
        let full = world.open.scenes.len() >= OPEN_SCENES_MAX;
        return if full {
            Stop::no(format!("The simulated editor opens at most {OPEN_SCENES_MAX} scenes"))
        } else {
            Ok(())
        };
    }
    let Some(dirty) = world.open.scenes.iter().find(|scene| scene.dirty) else { return Ok(()) };
    Stop::no(format!("{} has changes that would be lost; save it first", dirty.path))
}

fn save(world: &mut World, at: usize, path: &str) -> Told {
    save_to(world, at, path)?;
    told(world, format!("Saved {path}"))
}

fn save_to(world: &mut World, at: usize, path: &str) -> Result<(), Stop> {
    let Some(mut scene) = world.open.scenes.get(at).cloned() else { return Stop::no("No scene is open") };
    path.clone_into(&mut scene.path);
    scene.dirty = false;
    world.save_scene(&scene)?;
    world.open.scenes.get_mut(at).into_iter().for_each(|slot| slot.clone_from(&scene));
    Ok(())
}

/// Saves every open scene with changes. Returns their files.
pub(super) fn save_dirty(world: &mut World) -> Result<Vec<String>, Stop> {
    let all = world.open.scenes.iter().enumerate().filter(|(_, scene)| scene.dirty);
    let dirty: Vec<(usize, String)> = all.map(|(at, scene)| (at, scene.path.clone())).collect();
    dirty.iter().try_for_each(|(at, path)| save_to(world, *at, path))?;
    Ok(dirty.into_iter().map(|(_, path)| path).collect())
}

fn save_all(world: &mut World) -> Told {
    let saved = save_dirty(world)?;
    if saved.is_empty() {
        return told(world, "No open scene has unsaved changes");
    }
    told(world, format!("Saved {}", saved.join(", ")))
}
