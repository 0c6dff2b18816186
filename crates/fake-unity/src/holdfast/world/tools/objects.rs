//! `edit-game-object` and `delete-game-object`.

use serde_json::Value;

use super::told::{Told, step};
use crate::holdfast::world::node::{self, Node};
use crate::holdfast::world::transform::{self, Pose, Three};
use crate::holdfast::world::{Facts, Stop, World, kinds};
use crate::tools::Arguments;

/// The tags and layers of the project: those of every new one.
pub(super) const TAGS: [&str; 7] =
    ["Untagged", "Respawn", "Finish", "EditorOnly", "MainCamera", "Player", "GameController"];
/// Names of layers, with their numbers.
pub(super) const LAYERS: [(&str, u64); 5] =
    [("Default", 0), ("TransparentFX", 1), ("Ignore Raycast", 2), ("Water", 4), ("UI", 5)];
/// Longest name of an object (the package's own number).
const NAME_MAX: usize = 256;

/// What changes of an object.
struct Change<'a> {
    name: Option<&'a str>,
    active: Option<bool>,
    tag: Option<&'a str>,
    layer: Option<&'a str>,
    index: Option<usize>,
    in_world: bool,
    position: Option<Three>,
    rotation: Option<Three>,
    scale: Option<Three>,
}

fn three(given: &Arguments, name: &str) -> Result<Option<Three>, Stop> {
    let Some(value) = given.value(name) else { return Ok(None) };
    let numbers: Vec<f64> = value.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    match numbers.as_slice() {
        // The editor keeps floats.
        [x, y, z] if [x, y, z].iter().all(|number| (**number as f32).is_finite()) => Ok(Some([*x, *y, *z])),
        _ => Stop::wrong(format!("{name} must be three numbers, such as [0, 1.5, 0]")),
    }
}

fn change(given: &Arguments) -> Result<Change<'_>, Stop> {
    let text = |name: &str| given.value(name).and_then(Value::as_str);
    let name = text("Name");
    if name.is_some_and(|name| {
        name.trim().is_empty() || name.chars().count() > NAME_MAX || name.chars().any(char::is_control)
    }) {
        return Stop::wrong(format!("Name must have 1 to {NAME_MAX} characters, and no control characters"));
    }
    let unknown = |what: &str, value: &str, parameter: &str, known: &[&str]| {
        Stop::wrong(format!("The project has no {what} {value} ({parameter}); it has {}", known.join(", ")))
    };
    let (tag, layer) = (text("Tag"), text("Layer"));
    if let Some(tag) = tag.filter(|tag| !TAGS.contains(tag)) {
        return unknown("tag", tag, "Tag", &TAGS);
    }
    if let Some(layer) = layer.filter(|layer| LAYERS.iter().all(|(name, _)| name != layer)) {
        return unknown("layer", layer, "Layer", &LAYERS.map(|(name, _)| name));
    }
    let index = given.whole("SiblingIndex");
    if index.is_some_and(|index| index < 0) {
        return Stop::wrong("SiblingIndex must not be negative");
    }
    Ok(Change {
        name,
        active: given.value("Active").and_then(Value::as_bool),
        tag,
        layer,
        index: index.and_then(|index| usize::try_from(index).ok()),
        in_world: given.flag("InWorld"),
        position: three(given, "Position")?,
        rotation: three(given, "Rotation")?,
        scale: three(given, "Scale")?,
    })
}

pub(super) fn edit(world: &mut World, facts: &Facts, given: &Arguments) -> Told {
    let (action, object, shape) = (given.word("Action").to_owned(), given.word("Object"), given.word("Shape"));
    let creates = action == "Create";
    if creates && given.word("Name").trim().is_empty() {
        return Stop::wrong("Name is missing");
    }
    if creates && !object.is_empty() {
        return Stop::wrong("Object is for Duplicate and Change; where a new object shall be is Parent");
    }
    if !creates && shape != "None" {
        return Stop::wrong("Shape is for Create only");
    }
    let change = change(given)?;
    let one = if creates { None } else { Some(world.game_object(object, "Object")?) };
    let parent_name = given.word("Parent");
    let moves = !parent_name.is_empty();
    let parent = if moves && parent_name != "/" { Some(world.game_object(parent_name, "Parent")?) } else { None };
    let root = world.open.stage.as_ref().and_then(|stage| stage.roots.first()).map(|root| (root.id, root.name.clone()));
    if let Some((root, name)) = &root {
        if parent_name == "/" {
            return Stop::wrong(format!("Everything in a prefab lies below its root, {name} (Parent)"));
        }
        if one == Some(*root) && change.name.is_some_and(|new| new != name) {
            return Stop::wrong(
                "The root of a prefab has the name of its file. Close the prefab, then rename the file with edit-asset, Move (Name)",
            );
        }
        if one == Some(*root) && (moves || action == "Duplicate") {
            return Stop::wrong("The root of a prefab can be neither moved nor duplicated (Object)");
        }
    }
    if let (Some(one), Some(parent), "Change") = (one, parent, action.as_str())
        && world.spot(one).is_some_and(|spot| spot.node.contains(parent))
    {
        return Stop::wrong(format!("{parent_name} lies below {object} itself (Parent)"));
    }
    let name = change.name.map(str::to_owned).or_else(|| one.and_then(|one| Some(world.spot(one)?.node.name.clone())));
    step(world, facts, &format!("{action} {}", name.unwrap_or_default()), |world| {
        let made = match (action.as_str(), one) {
            ("Duplicate", Some(one)) => duplicate(world, one)?,
            (_, Some(one)) => one,
            (_, None) => create(world, given.word("Name"), shape, parent.or(root.map(|(root, _)| root)))?,
        };
        if moves && !creates {
            reparent(world, made, parent)?;
        }
        apply(world, made, &change, creates)?;
        let path = world.spot(made).map(|spot| spot.path).unwrap_or_default();
        let verb = match action.as_str() {
            "Duplicate" => "Duplicated as",
            "Create" => "Created",
            _ => "Changed",
        };
        Ok((Some(made), format!("{verb} {path}")))
    })
}

/// Puts a tree below an object, or among the roots of the active scene.
pub(super) fn put(world: &mut World, node: Node, parent: Option<u64>) -> Result<(), Stop> {
    if let Some(parent) = parent {
        world.node_mut(parent)?.children.push(node);
        return Ok(());
    }
    let active = world.open.active;
    let gone = || Stop::No("No scene is open".to_owned());
    let scene = world.open.scenes.get_mut(active).ok_or_else(gone)?;
    scene.dirty = true;
    scene.roots.push(node);
    Ok(())
}

fn create(world: &mut World, name: &str, shape: &str, parent: Option<u64>) -> Result<u64, Stop> {
    let mut node = world.new_node(name);
    let collider = match shape {
        "None" => None,
        "Cube" => Some("UnityEngine.BoxCollider"),
        "Sphere" => Some("UnityEngine.SphereCollider"),
        "Capsule" | "Cylinder" => Some("UnityEngine.CapsuleCollider"),
        _ => Some("UnityEngine.MeshCollider"),
    };
    if let Some(collider) = collider {
        let all = ["UnityEngine.MeshFilter", "UnityEngine.MeshRenderer", collider];
        node.components.extend(all.into_iter().filter_map(kinds::component));
    }
    let id = node.id;
    put(world, node, parent)?;
    Ok(id)
}

fn duplicate(world: &mut World, one: u64) -> Result<u64, Stop> {
    let Some(spot) = world.spot(one) else { return Stop::no("The object is gone") };
    let mut copy = spot.node.clone();
    let siblings: Vec<String> = match spot.parents.last() {
        Some(parent) => parent.children.iter().map(|one| one.name.clone()).collect(),
        None => world.roots().iter().map(|one| one.name.clone()).collect(),
    };
    // As Unity numbers copies.
    let bare = copy.name.rsplit_once(" (").filter(|(_, rest)| rest.trim_end_matches(')').parse::<u32>().is_ok());
    let bare = bare.map_or(copy.name.clone(), |(bare, _)| bare.to_owned());
    let free = (1..).map(|number| format!("{bare} ({number})")).find(|name| !siblings.contains(name));
    copy.name = free.unwrap_or(bare);
    copy.each_mut(&mut |node| {
        world.last_id += 1;
        (node.id, node.file) = (world.last_id, world.last_id);
    });
    let id = copy.id;
    let list = world.changing(one).and_then(|roots| node::holder(roots, one));
    match list {
        Some((list, at)) => list.insert(at + 1, copy),
        None => return Stop::no("The object is gone"),
    }
    Ok(id)
}

/// Moves an object below another one, or among the roots. It stays where it is in the world.
pub(super) fn reparent(world: &mut World, one: u64, parent: Option<u64>) -> Result<(), Stop> {
    let Some(spot) = world.spot(one) else { return Stop::no("The object is gone") };
    if spot.node.source.is_some() && spot.node.prefab.is_none() {
        let name = &spot.node.name;
        return Stop::no(format!(
            "Unity does not move {name} there. A part of a prefab's instance is moved in the prefab itself: open it with prefabs"
        ));
    }
    let place = transform::in_world(spot.parents.iter().copied().chain([spot.node]));
    let above = parent.and_then(|parent| world.spot(parent));
    let above =
        above.map_or(transform::NOWHERE, |spot| transform::in_world(spot.parents.iter().copied().chain([spot.node])));
    let taken = world.changing(one).and_then(|roots| node::holder(roots, one)).map(|(list, at)| list.remove(at));
    let Some(mut node) = taken else { return Stop::no("The object is gone") };
    node.components.first_mut().into_iter().for_each(|own| place.seen_from(above).write(own));
    put(world, node, parent)
}

fn apply(world: &mut World, id: u64, change: &Change, creates: bool) -> Result<(), Stop> {
    let Some(spot) = world.spot(id) else { return Stop::no("The object is gone") };
    let parent = transform::in_world(spot.parents.iter().copied());
    let mut pose = Pose::of(spot.node);
    let own = pose.below(parent);
    let rotation = change.rotation.map(transform::rotation);
    if change.in_world {
        let place = Pose {
            position: change.position.unwrap_or(own.position),
            rotation: rotation.unwrap_or(own.rotation),
            ..own
        };
        let seen = place.seen_from(parent);
        (pose.position, pose.rotation) = (seen.position, seen.rotation);
    } else {
        (pose.position, pose.rotation) = (change.position.unwrap_or(pose.position), rotation.unwrap_or(pose.rotation));
    }
    pose.scale = change.scale.unwrap_or(pose.scale);
    let moved = change.position.or(change.rotation).or(change.scale).is_some();
    let node = world.node_mut(id)?;
    if moved {
        node.components.first_mut().into_iter().for_each(|own| pose.write(own));
        // The angles stay as they were given, as the inspector shows them.
        if let (Some(angles), Some(own), false) = (change.rotation, node.components.first_mut(), change.in_world) {
            own.put("m_LocalEulerAnglesHint", "Vector3", transform::vector(angles));
        }
    }
    if let (Some(name), false) = (change.name, creates) {
        name.clone_into(&mut node.name);
    }
    node.active = change.active.unwrap_or(node.active);
    change.tag.into_iter().for_each(|tag| tag.clone_into(&mut node.tag));
    change.layer.into_iter().for_each(|layer| layer.clone_into(&mut node.layer));
    if let Some(index) = change.index
        && let Some((list, at)) = world.changing(id).and_then(|roots| node::holder(roots, id))
    {
        let node = list.remove(at);
        list.insert(index.min(list.len()), node);
    }
    Ok(())
}

pub(super) fn delete(world: &mut World, facts: &Facts, given: &Arguments) -> Told {
    let one = world.game_object(given.word("Object"), "Object")?;
    if world.open.stage.as_ref().and_then(|stage| stage.roots.first()).is_some_and(|root| root.id == one) {
        return Stop::wrong("The root of a prefab cannot be deleted; delete the prefab's file (Object)");
    }
    let Some(spot) = world.spot(one) else { return Stop::no("The object is gone") };
    let (name, path) = (spot.node.name.clone(), spot.path);
    step(world, facts, &format!("Delete {name}"), |world| {
        if let Some((list, at)) = world.changing(one).and_then(|roots| node::holder(roots, one)) {
            list.remove(at);
        }
        Ok((None, format!("Deleted {path}")))
    })
}
