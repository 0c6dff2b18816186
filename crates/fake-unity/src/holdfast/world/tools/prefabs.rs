//! `prefabs`.

use serde_json::json;

use super::told::{Told, step};
use super::{objects, paths};
use crate::holdfast::world::node::{self, Node};
use crate::holdfast::world::state::UNSAVED_PREFAB;
use crate::holdfast::world::{Facts, Stage, Stop, World, instances, stem};
use crate::tools::Arguments;

const ENDING: &str = ".prefab";

pub(super) fn prefabs(world: &mut World, facts: &Facts, given: &Arguments) -> Told {
    let action = given.word("Action");
    let discard = given.flag("Discard");
    if discard && action != "Close" {
        return Stop::wrong("Discard is for Close only");
    }
    let path = given.word("Path");
    match action {
        "Create" => create(world, facts, given, path),
        "Instantiate" => instantiate(world, facts, given, path),
        "Open" => open(world, facts, path),
        "Save" => save(world),
        "Close" => close(world, discard),
        _ => merge(world, facts, given, action == "Apply"),
    }
}

fn plain(message: impl Into<String>) -> Told {
    Ok(json!({"Success": true, "Message": message.into(), "Object": null}))
}

fn asset(world: &mut World, path: &str) -> Result<Node, Stop> {
    paths::readable(path, ENDING, "Path")?;
    let none = || Stop::Wrong(format!("There is no prefab {path} (Path); find-assets with t:Prefab lists them"));
    world.prefab(path).ok_or_else(none)
}

fn write(world: &mut World, path: &str, root: &Node) -> Result<(), Stop> {
    Ok(world.files.write(path, &serde_json::to_vec_pretty(root).unwrap_or_default())?)
}

fn create(world: &mut World, facts: &Facts, given: &Arguments, path: &str) -> Told {
    paths::writable(path, ENDING, "Path")?;
    let one = world.game_object(given.word("Object"), "Object")?;
    if world.files.is_file(path) {
        return Stop::no(format!(
            "There is a file {path} already; it is not replaced. Apply writes an instance's changes into it"
        ));
    }
    if !world.files.has_folder(path) {
        return Stop::no(format!("There is no folder for {path}; create it first"));
    }
    let Some(spot) = world.spot(one) else { return Stop::no("The object is gone") };
    let (name, place) = (spot.node.name.clone(), spot.path);
    step(world, facts, &format!("Create prefab {name}"), |world| {
        let node = world.node_mut(one)?;
        let mut file = instances::file_of(node, path);
        stem(path).clone_into(&mut file.name);
        write(world, path, &file)?;
        Ok((Some(one), format!("Saved {path}; {place} is an instance of it now")))
    })
}

fn instantiate(world: &mut World, facts: &Facts, given: &Arguments, path: &str) -> Told {
    let prefab = asset(world, path)?;
    if let Some(stage) = &world.open.stage
        && (stage.path == path || uses(world, path, &stage.path.clone(), 0))
    {
        return Stop::no(format!("{} is open, and would contain itself", stage.path));
    }
    let parent = given.word("Parent");
    let parent = if parent.is_empty() { None } else { Some(world.game_object(parent, "Parent")?) };
    let parent = parent.or_else(|| world.open.stage.as_ref().and_then(|stage| Some(stage.roots.first()?.id)));
    step(world, facts, &format!("Instantiate {}", prefab.name), |world| {
        let made = world.follow(None, &prefab, None, Some(path));
        let id = made.id;
        objects::put(world, made, parent)?;
        let place = world.spot(id).map(|spot| spot.path).unwrap_or_default();
        Ok((Some(id), format!("{place} is an instance of {path}")))
    })
}

/// Most prefabs within each other that are looked at.
const NESTED_MAX: usize = 8;

/// Whether the prefab `path` has an instance of `wanted`, at any depth.
fn uses(world: &World, path: &str, wanted: &str, depth: usize) -> bool {
    let Some(root) = world.files.read(path).and_then(|bytes| serde_json::from_slice::<Node>(&bytes).ok()) else {
        return false;
    };
    let all = node::walk([&root]);
    let inner: Vec<&str> = all.iter().filter_map(|spot| spot.node.prefab.as_deref()).collect();
    inner.contains(&wanted) || (depth < NESTED_MAX && inner.iter().any(|inner| uses(world, inner, wanted, depth + 1)))
}

fn open(world: &mut World, facts: &Facts, path: &str) -> Told {
    let mut root = asset(world, path)?;
    if world.open.stage.as_ref().is_some_and(|stage| stage.path == path) {
        return plain("It is open already");
    }
    if world.has_dirty_prefab() {
        return Stop::no(UNSAVED_PREFAB);
    }
    if facts.playing {
        return Stop::no("The editor is in play mode; leave it first");
    }
    world.fresh_ids(&mut root);
    world.open.stage = Some(Stage { path: path.to_owned(), roots: vec![root], dirty: false });
    world.history.clear();
    plain(format!(
        "Opened {path}; tools that name objects by path see this prefab now, until Close. Only Save saves it: Auto Save is off meanwhile"
    ))
}

fn save(world: &mut World) -> Told {
    let Some(stage) = world.open.stage.clone() else { return Stop::no("No prefab is open") };
    let path = stage.path;
    let Some(root) = stage.roots.first() else {
        return Stop::no(format!("Unity could not save {path}; get-logs may tell why"));
    };
    let old = world.prefab(&path);
    let mut new = root.clone();
    new.each_mut(&mut |one| one.id = 0);
    write(world, &path, &new)?;
    let stage = world.open.stage.take();
    if let Some(old) = old {
        world.update_instances(&path, &old, &new);
    }
    world.open.stage = stage.map(|stage| Stage { dirty: false, ..stage });
    plain(format!("Saved {path}"))
}

fn close(world: &mut World, discard: bool) -> Told {
    let Some(stage) = &world.open.stage else { return plain("No prefab is open") };
    let (path, dirty) = (stage.path.clone(), stage.dirty);
    if dirty && !discard {
        return Stop::no(format!("{path} has unsaved changes. Save them, or drop them with Close and Discard"));
    }
    world.open.stage = None;
    world.history.clear();
    plain(format!("Closed {path}{}", if dirty { ". Its unsaved changes are gone" } else { "" }))
}

fn merge(world: &mut World, facts: &Facts, given: &Arguments, applies: bool) -> Told {
    let one = world.game_object(given.word("Object"), "Object")?;
    let Some(spot) = world.spot(one) else { return Stop::no("The object is gone") };
    // The root of the instance in which it is.
    let line = spot.parents.iter().copied().chain([spot.node]).collect::<Vec<_>>();
    let root = line.into_iter().rev().find_map(|node| Some((node.id, node.name.clone(), node.prefab.clone()?)));
    let Some((root, name, path)) = root else {
        return Stop::no(format!("{} is no instance of a prefab", spot.node.name));
    };
    let place = world.spot(root).map(|spot| spot.path).unwrap_or_default();
    let Some(old) = world.prefab(&path) else { return Stop::no(format!("There is no prefab {path} any more")) };
    step(world, facts, &format!("{} {name}", if applies { "Apply" } else { "Revert" }), |world| {
        if applies {
            let file_name = old.name.clone();
            let mut new = instances::applied(world.node_mut(root)?, &path);
            // Name and place of an instance are its own.
            new.name = file_name;
            if let (Some(slot), Some(own)) = (new.components.first_mut(), old.components.first()) {
                *slot = own.clone();
            }
            write(world, &path, &new)?;
            world.update_instances(&path, &old, &new);
            return Ok((Some(root), format!("Wrote the changes of {place} into {path}")));
        }
        let own = world.node_mut(root)?.clone();
        let mut fresh = world.follow(None, &old, None, Some(&path));
        // Name and place of an instance are its own, and so are the ids of what stays.
        (fresh.id, fresh.file, fresh.name) = (own.id, own.file, own.name.clone());
        if let (Some(slot), Some(own)) = (fresh.components.first_mut(), own.components.first()) {
            *slot = own.clone();
        }
        *world.node_mut(root)? = fresh;
        Ok((Some(root), format!("{place} is as {path} again")))
    })
}
