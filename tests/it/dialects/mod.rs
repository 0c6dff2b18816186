//! The same tests for every dialect: each plays a moment (a situation in a session) with the real binary and a fake editor
//! that speaks the dialect. The expected outcomes are data ([`expected`]); the table in `docs/protocols.md` is written from
//! them.

mod expected;
mod moments;
mod stage;
mod table;
mod unreadable;

use crate::process::client::{self, Verdict};
use crate::process::room::{Room, until};
use crate::process::unity::Unity;

use expected::{MOMENTS, expected, packages};
use holdfast_fake_unity::{Call, Identity, Package, Port, Task};
use holdfast_mcp_client::answer::names;
use serde_json::json;

/// Plays every moment with one package, and returns all differences from the expected outcomes.
fn every_moment(package: &'static Package) -> Vec<String> {
    let mut differ = Vec::new();
    for moment in &MOMENTS {
        let (seen, wanted) = ((moment.play)(package), expected(package, moment.name));
        if seen != wanted {
            differ.push(format!("{}, {}: {seen:?}, not {wanted:?}", package.name, moment.name));
        }
    }
    differ
}

/// Under Wine nobody tells whose a listening port is. An editor that does not say who it is either is not called there.
fn is_known_here(package: &Package) -> bool {
    let is_wine = cfg!(windows) && std::env::var_os("WINEPREFIX").is_some();
    package.facts.identity != Identity::Unsaid || package.facts.port == Port::Told || !is_wine
}

#[test]
fn every_moment_ends_as_expected_with_every_package() {
    let played = packages().filter(|package| is_known_here(package));
    let all: Vec<_> = played.map(|package| std::thread::spawn(move || every_moment(package))).collect();
    let differ: Vec<String> = all.into_iter().flat_map(|one| one.join().expect("it plays to its end")).collect();
    assert!(differ.is_empty(), "{differ:#?}");
}

/// To read the console is a call of the package's own tool.
#[test]
fn the_console_and_what_the_packages_server_offers_can_be_read_with_every_package_that_has_it() {
    for package in packages() {
        let mut stage = stage::Stage::set(package);
        // The read waits until the editor's tools are known, so the list after it has what the editor has.
        let id = stage.client.ask("resources/read", &json!({"uri": "holdfast://console"}));
        let read = stage.client.answer(id).0;
        let has_it = package.facts.console.is_some();
        assert_eq!(read["result"]["contents"][0]["text"].is_string(), has_it, "{}: {read}", package.name);
        let id = stage.client.ask("resources/list", &json!({}));
        let listed = stage.client.answer(id).0;
        assert_eq!(listed.to_string().contains("holdfast://console"), has_it, "{}: {listed}", package.name);
        if let Some(uri) = package.facts.resource {
            assert!(listed.to_string().contains(uri), "{}: {listed}", package.name);
            let id = stage.client.ask("resources/read", &json!({"uri": uri}));
            let read = stage.client.answer(id).0;
            assert!(read["result"]["contents"][0]["text"].is_string(), "{}: {read}", package.name);
        }
        stage.end();
    }
}

/// Whichever the package: a part is listed, the rest is found and called, by its name and through the tool that found it.
#[test]
fn of_many_tools_a_part_is_listed_and_the_rest_is_found_with_every_package_that_has_a_list() {
    for package in packages().filter(|package| !package.facts.fixed_list && is_known_here(package)) {
        let room = Room::new();
        let unity = Unity::of_project(&room, &["--dialect", package.name, "--tools", "250"]);
        let flags = stage::flags(package, &room, &unity);
        let client = client::Client::open(&room, &stage::words(&flags));
        let mut stage = stage::Stage { client, unity, room }.ready();
        let unlisted = "more-0249";
        let id = stage.client.ask("tools/list", &json!({}));
        let first = names(&stage.client.answer(id).0["result"]);
        assert_eq!((first.len(), first.contains(&unlisted.to_owned())), (40, false), "{}: {first:?}", package.name);
        for tool in [package.facts.console, Some(package.calls(Task::Compile, "").tool)].into_iter().flatten() {
            assert!(first.contains(&tool.to_owned()), "{}: {tool}", package.name);
        }
        let by_name = stage.client.done(unlisted, &json!({"text": "by name"}));
        assert_eq!(by_name.verdict(), Verdict::Ok, "{}: {}", package.name, by_name.0);
        let Call { tool, arguments, .. } = package.calls(Task::Count, "through");
        let through = stage.client.done("holdfast_tools", &json!({"call": tool, "arguments": arguments}));
        assert_eq!(
            (through.verdict(), stage.room.runs("through")),
            (Verdict::Ok, 1),
            "{}: {}",
            package.name,
            through.0
        );
        let told = stage.client.done("holdfast_tools", &json!({"find": unlisted})).body();
        assert_eq!(told["tools"][0]["name"], unlisted, "{}: {told:#}", package.name);
        let id = stage.client.ask("tools/list", &json!({}));
        let again = names(&stage.client.answer(id).0["result"]);
        assert!(again.contains(&unlisted.to_owned()) && again.len() > 40, "{}: {again:?}", package.name);
        stage.end();
    }
}

/// The project has another package each time it is opened, while the client's session continues.
#[test]
fn a_project_changes_its_package_under_a_running_session() {
    let room = Room::new();
    let project = room.project();
    let mut client = None;
    // The first one comes back at the end.
    let all: Vec<&Package> = packages().filter(|package| package.facts.port != Port::Told).collect();
    for package in all.iter().chain(all.first()) {
        for of_packages in ["Packages", "UserSettings", "Library"] {
            let _ = std::fs::remove_dir_all(project.join(of_packages));
        }
        let unity = stage::start(package, &room);
        let client =
            client.get_or_insert_with(|| client::Client::open(&room, &["--project", &project.display().to_string()]));
        until("the other package is spoken", || {
            let status = client.done("holdfast_status", &json!({})).body();
            status["package"]["dialect"] == package.name && status["editor"]["ready"] == true
        });
        let Call { tool, arguments, .. } = package.calls(Task::Count, &format!("of {}", package.name));
        let answer = client.done(tool, &arguments);
        assert_eq!(answer.verdict(), client::Verdict::Ok, "{package:?}: {}", answer.0);
        drop(unity);
    }
    for (nth, package) in all.iter().enumerate() {
        assert_eq!(room.runs(&format!("of {}", package.name)), if nth == 0 { 2 } else { 1 }, "{package:?}");
    }
    client.expect("a session").close(&room);
}

#[test]
fn the_document_tells_what_is_tested() {
    table::is_current();
}
