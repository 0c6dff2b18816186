//! How tools answer, and read numbers.

use serde_json::{Value, json};

use crate::holdfast::world::{Facts, Found, Stop, World};
use crate::tools::Arguments;

/// The result of a tool, or why it does nothing.
pub(super) type Told = Result<Value, Stop>;

pub(super) fn merged(mut base: Value, more: Value) -> Value {
    if let (Value::Object(base), Value::Object(more)) = (&mut base, more) {
        base.extend(more);
    }
    base
}

/// The result of a tool that changed an object.
pub(super) fn done(world: &World, message: String, object: Option<&Found>) -> Value {
    json!({"Success": true, "Message": message, "Object": object.map(|one| world.info(one))})
}

/// Changes what is open, as one step of undo. The change returns the object, and what is told about it.
pub(super) fn step(
    world: &mut World,
    facts: &Facts,
    name: &str,
    change: impl FnOnce(&mut World) -> Result<(Option<u64>, String), Stop>,
) -> Told {
    let (object, mut message) = world.change(name, change)?;
    if facts.playing {
        message.push_str(". The game runs: what changed in the scene is lost when it stops");
    }
    Ok(done(world, message, object.map(Found::Object).as_ref()))
}

/// Returns a whole number of at least `least` and at most `most`.
pub(super) fn bounded(given: &Arguments, name: &str, least: usize, most: usize) -> Result<usize, Stop> {
    let number = given.whole(name).and_then(|number| usize::try_from(number).ok());
    number
        .filter(|number| (least..=most).contains(number))
        .map_or_else(|| Stop::wrong(format!("{name} must be {least} to {most}")), Ok)
}

/// Returns a whole number that is not negative.
pub(super) fn at_least_zero(given: &Arguments, name: &str) -> Result<usize, Stop> {
    let number = given.whole(name).and_then(|number| usize::try_from(number).ok());
    number.map_or_else(|| Stop::wrong(format!("{name} must not be below 0")), Ok)
}

/// Refuses a search for references.
pub(super) fn no_references(given: &Arguments) -> Result<(), Stop> {
    if given.word("ReferencesTo").is_empty() {
        return Ok(());
    }
    Err(Stop::Wrong("The simulated editor does not follow references (ReferencesTo)".to_owned()))
}
