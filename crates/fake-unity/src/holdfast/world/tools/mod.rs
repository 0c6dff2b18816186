//! The tools that work with the world.

mod assets;
mod components;
mod editor;
mod objects;
mod paths;
mod prefabs;
mod reads;
mod scenes;
mod scripts;
mod search;
mod told;
mod words;

use serde_json::{Value, json};

use self::told::merged;
use super::{Answer, Facts, Stop, World};
use crate::tools::Arguments;
use crate::work::Fault;

pub(crate) use self::editor::{asked_tests, change_packages, package, summary};

/// Runs a tool of the package that works with the world alone. `None` if the world has no such tool.
pub(crate) fn run(world: &mut World, facts: &Facts, tool: &str, given: &Arguments) -> Option<Answer> {
    // Who steers the editor may have ended the game.
    if !facts.playing {
        world.end_game();
    }
    let told = match tool {
        "editor-state" => editor::state(world, facts, given),
        "undo" => editor::undo(world, given),
        "get-menu-items" => editor::menu_items(given),
        "execute-menu-item" => editor::execute_menu_item(world, facts, given),
        "list-packages" => editor::list_packages(world, facts, given),
        "list-tests" => editor::list_tests(world, given),
        "execute-csharp" => editor::execute_csharp(given),
        "get-logs" => reads::logs(world, given),
        "clear-console" => reads::clear_console(world, given),
        "get-hierarchy" => reads::hierarchy(world, facts, given),
        "find-game-objects" => reads::find_game_objects(world, given),
        "inspect" => reads::inspect(world, given),
        "get-selection" => reads::selection(world),
        "set-selection" => reads::select(world, given),
        "edit-game-object" => objects::edit(world, facts, given),
        "delete-game-object" => objects::delete(world, facts, given),
        "edit-component" => components::edit(world, facts, given),
        "remove-component" => components::remove(world, facts, given),
        "edit-ui" => Err(Stop::No("The simulated editor has no user interface, so nothing was changed".to_owned())),
        "list-scenes" => scenes::list(world),
        "scene" => scenes::scene(world, facts, given),
        "prefabs" => prefabs::prefabs(world, facts, given),
        "find-assets" => assets::find(world, given),
        "edit-asset" => assets::edit(world, given),
        "delete-asset" => assets::delete(world, given),
        "read-script" => scripts::read(world, given),
        "edit-script" => scripts::edit(world, given),
        "unity-search" => search::search(world, given),
        "get-provider-details" => search::providers(given),
        _ => return None,
    };
    Some(match told {
        Ok(value) => Ok(value),
        Err(Stop::Wrong(message)) => Err(Fault::Refused(message)),
        Err(Stop::No(message)) => Ok(refused(world, tool, message)),
    })
}

/// Smallest and largest side of a picture, in pixels (the package's own numbers).
const SIDES: std::ops::RangeInclusive<i64> = 16..=2_048;

/// Takes a picture: the result of `screenshot`, and the picture as PNG in base64, if there is one.
pub(crate) fn picture(world: &mut World, facts: &Facts, given: &Arguments) -> Result<(Value, Option<String>), Stop> {
    if !facts.playing {
        world.end_game();
    }
    let side =
        |name: &str| given.whole(name).filter(|side| SIDES.contains(side)).and_then(|side| usize::try_from(side).ok());
    let (Some(width), Some(height)) = (side("Width"), side("Height")) else {
        return Stop::wrong(format!("Width and Height must be {} to {}", SIDES.start(), SIDES.end()));
    };
    let (source, name) = (given.word("Source"), given.word("Name"));
    let no = |message: String| Ok((json!({"Success": false, "Message": message, "Width": 0, "Height": 0}), None));
    if source == "Object" || !given.items("Region").is_empty() || !given.items("Sizes").is_empty() {
        return no("The simulated editor gives whole pictures of its views and cameras only".to_owned());
    }
    if source == "Window" && name.is_empty() {
        return Stop::wrong("Name is missing: the title of the window's tab");
    }
    if source == "Window" && !["Game", "Scene"].contains(&name) {
        return no(format!("No window {name} is open; there are Game, Scene"));
    }
    let is_camera = |node: &super::node::Node| node.has("Camera");
    if source == "Camera" && !name.is_empty() {
        let one = world.game_object(name, "Name")?;
        if let Some(spot) = world.spot(one).filter(|spot| !is_camera(spot.node)) {
            return no(format!("{} has no camera", spot.node.name));
        }
    } else if source == "Camera" {
        let main = super::node::walk(world.roots())
            .into_iter()
            .any(|spot| spot.node.tag == "MainCamera" && is_camera(spot.node));
        if !main {
            return no("No camera has the tag MainCamera; name one".to_owned());
        }
    }
    let told = json!({
        "Success": true, "Message": format!("A picture of {width} x {height} pixels"), "Width": width, "Height": height,
    });
    Ok((told, Some(world.picture(width, height))))
}

/// The result of a tool that did nothing, with the members that it has otherwise.
fn refused(world: &World, tool: &str, message: String) -> Value {
    let base = json!({"Success": false, "Message": message});
    let more = match tool {
        "scene" => json!({"OpenScenes": scenes::open(world)}),
        "edit-script" => json!({"TotalLines": 0}),
        _ => json!({"Object": null}),
    };
    merged(base, more)
}
