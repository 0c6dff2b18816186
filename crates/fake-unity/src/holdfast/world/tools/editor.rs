//! Tools about the editor itself: its state, undo, its menu, packages, tests, and code.

use serde_json::{Value, json};

use super::told::{Told, at_least_zero, bounded};
use super::words::{Filter, Match};
use super::{objects, scenes};
use crate::holdfast::world::state::UNSAVED_PREFAB;
use crate::holdfast::world::{Facts, Stop, World};
use crate::limits::PACKAGES_MAX;
use crate::project::UNITY_VERSION;
use crate::tools::Arguments;

/// Bounds of steps, tests, and texts (the package's own numbers).
const STEPS_MAX: usize = 20;
const TESTS_MAX: usize = 2_000;
const ID_MAX: usize = 1_000;
const CODE_MAX: usize = 100_000;
/// The simulated project's own tests. They pass.
const TESTS: [(&str, bool); 3] = [("Game.Tests.Jumps", false), ("Game.Tests.Walks", false), ("Game.Tests.Plays", true)];
/// The package that the simulated editor has itself.
const OWN: &str = "dev.holdfast.unity";
/// The simulated registry: names, titles, and newest versions.
const REGISTRY: [(&str, &str, &str); 6] = [
    ("com.unity.cinemachine", "Cinemachine", "3.1.2"),
    ("com.unity.inputsystem", "Input System", "1.11.2"),
    ("com.unity.probuilder", "ProBuilder", "6.0.4"),
    ("com.unity.test-framework", "Test Framework", "1.4.5"),
    ("com.unity.timeline", "Timeline", "1.8.7"),
    ("com.unity.ugui", "Unity UI", "2.0.0"),
];
/// The items of the simulated menu.
pub(super) const MENU: [&str; 6] =
    ["Assets/Refresh", "Edit/Redo", "Edit/Undo", "File/Exit", "File/Save", "GameObject/Create Empty"];

pub(super) fn state(world: &World, facts: &Facts, given: &Arguments) -> Told {
    let mut told = json!({
        "UnityVersion": UNITY_VERSION, "ProjectPath": facts.project,
        "ProductName": facts.project.rsplit('/').next().unwrap_or_default(), "CompanyName": "DefaultCompany",
        "IsPlaying": facts.playing, "IsPaused": facts.playing && world.is_paused(), "IsCompiling": facts.compiling,
        "IsImporting": facts.importing, "HasCompileErrors": world.is_red() || facts.broken, "OpenScenes": scenes::open(world),
        "Tags": objects::TAGS, "Layers": objects::LAYERS.map(|(name, _)| name),
    });
    if given.flag("IncludePackages") {
        let all =
            [(OWN.to_owned(), facts.package_version.to_owned())].into_iter().chain(world.packages.iter().cloned());
        let mut all: Vec<(String, Value)> = all.map(|(name, version)| (name, json!(version))).collect();
        all.sort_by(|one, other| one.0.cmp(&other.0));
        told["Packages"] = Value::Object(all.into_iter().collect());
    }
    Ok(told)
}

pub(super) fn undo(world: &mut World, given: &Arguments) -> Told {
    let wanted = bounded(given, "Steps", 1, STEPS_MAX)?;
    let undoes = given.word("Action") == "Undo";
    let mut steps = Vec::new();
    while steps.len() < wanted
        && let Some(name) = world.step(undoes)
    {
        steps.push(name);
    }
    let all = steps.len() == wanted;
    let message = match steps.as_slice() {
        [] => "There is no such step".to_owned(),
        some => {
            let more = if all { "" } else { "; there are no more steps" };
            format!("{} {}{more}", if undoes { "Undid" } else { "Redid" }, some.join(", "))
        }
    };
    Ok(json!({"Success": all, "Message": message, "Steps": steps}))
}

pub(super) fn menu_items(given: &Arguments) -> Told {
    let most = at_least_zero(given, "MaxCount")?;
    let (text, kind) = (given.word("FilterText"), given.word("FilterType"));
    let how = match kind {
        "exact" => Match::Exact,
        "startswith" => Match::StartsWith,
        _ => Match::Contains,
    };
    let filter = Filter::new("FilterText", text, how, true)?;
    let fitting: Vec<(usize, &str)> = MENU.into_iter().enumerate().filter(|(_, path)| filter.fits(path)).collect();
    let items = fitting.iter().take(most).map(|(at, path)| {
        json!({
            "Path": path, "Priority": at, "IsValidateFunction": false, "MethodName": "", "TypeName": "", "AssemblyName": "",
            "CanExecuteViaEditorApplication": true, "IsNative": true, "Shortcut": "",
        })
    });
    Ok(json!({
        "MenuItems": items.collect::<Vec<_>>(), "TotalCount": MENU.len(), "FilteredCount": fitting.len(), "AppliedFilter": text,
        "AppliedFilterType": kind,
    }))
}

pub(super) fn execute_menu_item(world: &mut World, facts: &Facts, given: &Arguments) -> Told {
    let asked = given.word("MenuItemPath");
    let path = asked.trim().trim_matches('/');
    if path.is_empty() {
        return Stop::wrong("MenuItemPath is empty");
    }
    let known = MENU.into_iter().find(|item| item.eq_ignore_ascii_case(path));
    let answer = |why: Result<(), (&str, &str)>| {
        let (error, details) = why.err().unwrap_or_default();
        let method = if why.is_ok() { "EditorApplication" } else { "" };
        Ok(json!({
            "MenuItemPath": asked, "Success": why.is_ok(), "ExecutionMethod": method, "ErrorMessage": error, "Details": details,
            "MenuItemFound": known.is_some(),
        }))
    };
    match known {
        None => return answer(Err(("There is no such item", "get-menu-items lists them"))),
        Some("File/Exit") => {
            let why = "It ends or blocks the editor, so no answer could come, or it is the user's own switch";
            return answer(Err(("This item is never executed for a client", why)));
        }
        Some("File/Save") if world.open.stage.is_some() => {
            return answer(Err(("Unity may ask about the open prefab", "use prefabs with Save")));
        }
        Some("File/Save") if facts.playing => {
            return answer(Err(("Unity saves no scene while the game runs", "leave play mode first")));
        }
        Some("File/Save") => drop(scenes::save_dirty(world)?),
        Some("GameObject/Create Empty") => {
            world.change("Create Empty", |world| {
                let node = world.new_node("GameObject");
                let root = world.open.stage.as_ref().and_then(|stage| Some(stage.roots.first()?.id));
                objects::put(world, node, root)
            })?;
        }
        Some(item) if item.starts_with("Edit/") => {
            if world.step(item == "Edit/Undo").is_none() {
                return answer(Err((
                    "The item is disabled now",
                    "It mostly wants something selected, or another mode of the editor",
                )));
            }
        }
        // There is nothing to refresh: files are looked at when they are asked for.
        Some(_) => {}
    }
    answer(Ok(()))
}

pub(super) fn list_packages(world: &World, facts: &Facts, given: &Arguments) -> Told {
    let text = given.word("Search").trim().to_lowercase();
    if !text.is_empty() {
        let fits = |(name, title, _): &(&str, &str, &str)| name.contains(&text) || title.to_lowercase().contains(&text);
        let found: Vec<Value> = REGISTRY.into_iter().filter(fits).map(|(name, title, version)| {
            json!({"Name": name, "Title": title, "Version": version, "Description": "A package of the simulated registry."})
        }).collect();
        let message = format!("{} packages match", found.len());
        return Ok(json!({"Success": true, "Message": message, "Installed": [], "Found": found}));
    }
    let own = [(OWN.to_owned(), facts.package_version.to_owned())];
    let all: Vec<Value> = own.iter().chain(&world.packages).map(package).collect();
    Ok(json!({"Success": true, "Message": format!("{} packages", all.len()), "Installed": all, "Found": []}))
}

/// A package as tools answer it.
pub(crate) fn package((name, version): &(String, String)) -> Value {
    json!({"Name": name, "Version": version, "IsDirect": true})
}

/// Adds or removes a package, and returns it with its version.
pub(crate) fn change_packages(world: &mut World, adds: bool, id: &str) -> Result<(String, String), Stop> {
    let id = id.trim();
    if id.is_empty() || id.chars().count() > ID_MAX || id.chars().any(char::is_control) {
        return Stop::wrong("Package is empty or too long");
    }
    if id == OWN && !adds {
        return Stop::wrong("This package cannot remove itself (Package)");
    }
    let (name, version) = id.split_once('@').map_or((id, None), |(name, version)| (name, Some(version)));
    let at = world.packages.iter().position(|(one, _)| one == name);
    if !adds {
        return match at {
            Some(at) => Ok(world.packages.remove(at)),
            None => Stop::no(format!("The project has no package {id}")),
        };
    }
    let Some((_, _, newest)) = REGISTRY.into_iter().find(|one| one.0 == name) else {
        return Stop::no(format!("Unity could not add {id}: the simulated registry has no package {name}"));
    };
    if at.is_none() && world.packages.len() >= PACKAGES_MAX {
        return Stop::no(format!("Unity could not add {id}: the simulated project has {PACKAGES_MAX} packages"));
    }
    let one = (name.to_owned(), version.unwrap_or(newest).to_owned());
    match at.and_then(|at| world.packages.get_mut(at)) {
        Some(slot) => slot.clone_from(&one),
        None => world.packages.push(one.clone()),
    }
    Ok(one)
}

/// All tests: full name, whether it is for play mode, and whether it is one of the project's own, which pass. No code runs here, so
/// a test in a script is skipped.
fn tests(world: &World) -> Vec<(String, bool, bool)> {
    let own = TESTS.into_iter().map(|(name, play)| (name.to_owned(), play, true));
    let mut all: Vec<_> =
        own.chain(world.scripts.tests().into_iter().map(|(name, play)| (name, play, false))).collect();
    all.sort();
    all
}

pub(super) fn list_tests(world: &World, given: &Arguments) -> Told {
    let most = bounded(given, "MaxResults", 1, TESTS_MAX)?;
    let (play, part) = (given.word("TestMode") == "PlayMode", given.word("NamePattern").to_lowercase());
    let found: Vec<String> = tests(world)
        .into_iter()
        .filter(|(name, mode, _)| *mode == play && name.to_lowercase().contains(&part))
        .map(|(name, ..)| name)
        .collect();
    let listed: Vec<Value> = found.iter().take(most).map(|name| json!({"FullName": name, "Categories": []})).collect();
    Ok(json!({"Tests": listed, "TotalCount": found.len()}))
}

/// Returns how many of the tests that a call of `run-tests` asks for pass, and how many are skipped.
///
/// # Errors
/// What is wrong with the call, or why no tests run now.
pub(crate) fn asked_tests(world: &mut World, facts: &Facts, given: &Arguments) -> Result<(usize, usize), Stop> {
    let (kind, value) = (given.word("FilterType"), given.word("FilterValue"));
    if kind != "all" && value.is_empty() {
        return Stop::wrong("FilterValue is empty, and FilterType wants one");
    }
    let filter = Filter::new("FilterValue", value, if kind == "regex" { Match::Regex } else { Match::Exact }, false)?;
    if given.flag("SaveXml") {
        return Stop::wrong("The simulated editor writes no files of results (SaveXml)");
    }
    if facts.playing {
        return Stop::no("The editor is in play mode; leave it first");
    }
    if world.is_red() || facts.broken {
        return Stop::no("The scripts do not compile, so the tests would be old ones; fix them first");
    }
    if world.has_dirty_prefab() {
        return Stop::no(UNSAVED_PREFAB);
    }
    if world.open.scenes.iter().any(|scene| scene.dirty) {
        if !given.flag("SaveScenes") {
            return Stop::no("There are scenes with unsaved changes; save them first, or set SaveScenes");
        }
        scenes::save_dirty(world)?;
    }
    let play = given.word("TestMode") == "PlayMode";
    let fits = |name: &str| match kind {
        "exact" => name == value || name.starts_with(&format!("{value}.")),
        "assembly" => value == "Game.Tests",
        _ => filter.fits(name),
    };
    let asked: Vec<bool> =
        tests(world).into_iter().filter(|(name, mode, _)| *mode == play && fits(name)).map(|(.., own)| own).collect();
    let passed = asked.iter().filter(|own| **own).count();
    Ok((passed, asked.len() - passed))
}

/// The result of a run of tests.
pub(crate) fn summary(passed: usize, skipped: usize, mode: &str, completed: &str) -> Value {
    let count = passed + skipped;
    let message = if count == 0 {
        "No test fits".to_owned()
    } else {
        format!("{passed} passed, 0 failed, {skipped} skipped ({mode})")
    };
    json!({
        "Success": count > 0, "Message": message, "CompletedAt": completed, "TestCount": count, "PassedCount": passed,
        "FailedCount": 0, "SkippedCount": skipped, "XmlPath": "", "FailedTests": [], "DomainReloaded": false,
    })
}

pub(super) fn execute_csharp(given: &Arguments) -> Told {
    let code = given.word("Code");
    if code.trim().is_empty() {
        return Stop::wrong("Code is empty");
    }
    if code.chars().count() > CODE_MAX {
        return Stop::wrong(format!("Code has more than {CODE_MAX} characters"));
    }
    let message = "This is the simulated editor: it runs no code, and has no compiler for it; nothing ran";
    Ok(json!({"Success": false, "Message": message, "Result": null, "Logs": []}))
}
