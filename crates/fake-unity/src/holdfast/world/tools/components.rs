//! `edit-component` and `remove-component`.

use serde_json::{Map, Value};

use super::told::{Told, done, step};
use crate::holdfast::world::node::{Component, Node, short};
use crate::holdfast::world::{Facts, Found, Stop, World, kinds};
use crate::tools::Arguments;

/// Most names that a refusal lists (the package's own number).
const SAME_MAX: usize = 10;

pub(super) fn edit(world: &mut World, facts: &Facts, given: &Arguments) -> Told {
    let none = Map::new();
    let values = given.value("Properties").and_then(Value::as_object).unwrap_or(&none);
    if given.word("Action") == "Add" { add(world, facts, given, values) } else { set(world, facts, given, values) }
}

/// Makes a component of the one type with this name.
fn new_component(world: &World, name: &str) -> Result<Component, Stop> {
    if name.is_empty() {
        return Stop::wrong("Component is missing");
    }
    let own = world.scripts.named(name, "MonoBehaviour");
    let mut names = kinds::named(name);
    names.extend(own.iter().map(|class| class.name.clone()));
    match names.as_slice() {
        [one] => kinds::component(one)
            .or_else(|| own.first().map(|class| class.component(true)))
            .ok_or_else(|| Stop::No(format!("Unity does not make a component of {one}"))),
        [] => Stop::wrong(format!(
            "There is no component type {name} (Component). The class of a script is there once the script has been compiled"
        )),
        several => {
            let list: Vec<&str> = several.iter().take(SAME_MAX).map(String::as_str).collect();
            Stop::wrong(format!("Several component types have the name {name} (Component): {}", list.join(", ")))
        }
    }
}

fn add(world: &mut World, facts: &Facts, given: &Arguments, values: &Map<String, Value>) -> Told {
    let one = world.game_object(given.word("Object"), "Object")?;
    let name = given.word("Component");
    let component = new_component(world, name)?;
    let kind = component.kind.clone();
    let Some(spot) = world.spot(one) else { return Stop::no("The object is gone") };
    let (path, node_name) = (spot.path.clone(), spot.node.name.clone());
    let twice = kinds::is_single(&kind) && spot.node.components.iter().any(|own| own.kind == kind);
    step(world, facts, &format!("Add {name}"), |world| {
        if twice {
            return Stop::no(format!(
                "Unity does not add {kind} to {node_name}; there may be one already, or another component forbids it. get-logs may tell why"
            ));
        }
        let component = world.with_values(&component, values)?;
        world.node_mut(one)?.components.push(component);
        Ok((Some(one), format!("Added {kind} to {path}")))
    })
}

fn set(world: &mut World, facts: &Facts, given: &Arguments, values: &Map<String, Value>) -> Told {
    if values.is_empty() {
        return Stop::wrong("Properties is empty");
    }
    let (object, kind) = (given.word("Object"), given.word("Component"));
    let names = values.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let (id, at) = match world.find(object, "Object")? {
        Found::Asset(path) if path.ends_with(".prefab") => {
            return world.game_object(&path, "Object").and_then(|_| Stop::no("It is a prefab's file"));
        }
        Found::Asset(path) => {
            if !kind.is_empty() {
                return Stop::wrong(format!("{object} is no GameObject, so it has no components (Component)"));
            }
            let Some(before) = world.values(&path) else {
                return Stop::no(format!("{path} has no values that can be set"));
            };
            let after = world.with_values(&before, values)?;
            world.files.write(&path, &serde_json::to_vec_pretty(&after).unwrap_or_default())?;
            let message = format!("Set {names} of {}", crate::holdfast::world::stem(&path));
            return Ok(done(world, message, Some(&Found::Asset(path))));
        }
        Found::Component(id, at) => {
            let own = world
                .spot(id)
                .and_then(|spot| spot.node.components.get(at).map(|one| one.kind.clone()))
                .unwrap_or_default();
            if !kind.is_empty() && !kinds::is_a(&own, kind) {
                return Stop::wrong(format!("{object} is no {kind} (Component)"));
            }
            (id, at)
        }
        Found::Object(id) => (id, place(world, id, kind, given.whole("Index"))?),
    };
    let name = world.spot(id).map(|spot| spot.node.name.clone()).unwrap_or_default();
    step(world, facts, &format!("Set {name}"), |world| {
        let before = world.spot(id).and_then(|spot| spot.node.components.get(at).cloned());
        let Some(before) = before else { return Stop::no("The component is gone") };
        let after = world.with_values(&before, values)?;
        if let Some(slot) = world.node_mut(id)?.components.get_mut(at) {
            *slot = after;
        }
        Ok((Some(id), format!("Set {names} of {name}")))
    })
}

/// The place of a component of this type among all of an object.
fn place(world: &World, id: u64, kind: &str, index: Option<i64>) -> Result<usize, Stop> {
    if kind.is_empty() {
        return Stop::wrong("Component is missing");
    }
    let Some(spot) = world.spot(id) else { return Stop::no("The object is gone") };
    let Node { name, components, .. } = spot.node;
    let found: Vec<usize> =
        components.iter().enumerate().filter(|(_, one)| kinds::is_a(&one.kind, kind)).map(|(at, _)| at).collect();
    let wanted = index.and_then(|index| usize::try_from(index).ok()).and_then(|index| found.get(index));
    match wanted {
        Some(at) => Ok(*at),
        None if found.is_empty() => {
            let all: Vec<&str> = components.iter().map(|one| short(&one.kind)).collect();
            Stop::wrong(format!("{name} has no component {kind} (Component); it has {}", all.join(", ")))
        }
        None => Stop::wrong(format!("{name} has {} of {kind}, counted from 0 (Index)", found.len())),
    }
}

pub(super) fn remove(world: &mut World, facts: &Facts, given: &Arguments) -> Told {
    let one = world.game_object(given.word("Object"), "Object")?;
    let at = place(world, one, given.word("Component"), given.whole("Index"))?;
    if at == 0 {
        return Stop::wrong("Every GameObject has a Transform; it cannot be removed (Component)");
    }
    let Some(spot) = world.spot(one) else { return Stop::no("The object is gone") };
    let path = spot.path.clone();
    let kind = spot.node.components.get(at).map(|one| one.kind.clone()).unwrap_or_default();
    step(world, facts, &format!("Remove {}", short(&kind)), |world| {
        let all = &mut world.node_mut(one)?.components;
        if at < all.len() {
            all.remove(at);
        }
        Ok((Some(one), format!("Removed {kind} from {path}")))
    })
}
