//! Checks the paths of assets that callers give, as the package does.

use crate::holdfast::world::{Stop, World};

/// Longest path of an asset, in characters (the package's own number).
const PATH_MAX: usize = 200;

/// Checks the path of an asset: below `Assets` or `Packages`, and with this ending.
pub(super) fn readable<'a>(path: &'a str, ending: &str, parameter: &str) -> Result<&'a str, Stop> {
    if path.is_empty() {
        return Stop::wrong(format!("{parameter} is missing"));
    }
    let rooted = path.starts_with("Assets/") || path.starts_with("Packages/");
    // This refuses `..` too. Unity ignores files that begin with a dot.
    let nameless = |part: &str| part.is_empty() || part.trim_matches([' ', '.']) != part;
    let wrong = if !rooted {
        "must begin with Assets/ or Packages/".to_owned()
    } else if !path.ends_with(ending) {
        format!("must end with {ending}")
    } else if path.chars().count() > PATH_MAX {
        format!("must not be longer than {PATH_MAX} characters")
    } else if path.chars().any(|c| c < ' ' || "\\:*?\"<>|".contains(c)) {
        "has a character that no file may have on every system".to_owned()
    } else if path.split('/').any(nameless) {
        "has an empty part, or one that begins or ends with a dot or a blank".to_owned()
    } else {
        return Ok(path);
    };
    refusal(parameter, &wrong, path)
}

/// Checks the path of an asset that a tool may write: below `Assets`.
pub(super) fn writable<'a>(path: &'a str, ending: &str, parameter: &str) -> Result<&'a str, Stop> {
    if !path.is_empty() && !path.starts_with("Assets/") {
        return refusal(parameter, "must begin with Assets/", path);
    }
    readable(path, ending, parameter)
}

fn refusal<T>(parameter: &str, wrong: &str, path: &str) -> Result<T, Stop> {
    let shown: String = path.chars().take(PATH_MAX).collect();
    let more = if shown.len() < path.len() { "..." } else { "" };
    Stop::wrong(format!("{parameter} {wrong}: {shown}{more}"))
}

/// Checks the path of a new file or folder, whose folder is there.
pub(super) fn new<'a>(world: &World, path: &'a str, ending: &str, parameter: &str) -> Result<&'a str, Stop> {
    writable(path, ending, parameter)?;
    if world.files.exists(path) {
        return Stop::no(format!("There is {path} already; it is not replaced"));
    }
    if !world.files.has_folder(path) {
        return Stop::no(format!("There is no folder for {path}; create it first"));
    }
    Ok(path)
}
