//! `holdfast unity install` on real projects, with the real binary.

mod carried;
mod cut;
mod refused;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::binary::{Done, Place, finish, text};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const NAME: &str = "dev.holdfast.unity";
const RECORD: &str = ".holdfast-install.json";

/// Creates a project for Unity 2022.3.
fn castle(place: &Place) -> PathBuf {
    let project = place.project("Castle");
    fs::write(project.join("ProjectSettings/ProjectVersion.txt"), "m_EditorVersion: 2022.3.62f1\n").expect("writable");
    fs::write(project.join("Packages/manifest.json"), r#"{"dependencies":{"com.unity.ugui":"1.0.0"}}"#)
        .expect("writable");
    project
}

fn folder(project: &Path) -> PathBuf {
    project.join("Packages").join(NAME)
}

/// Runs `holdfast unity install` for this project.
async fn install(place: &Place, project: &Path, words: &[&str]) -> Done {
    let all = ["unity", "install", "--project", text(project)];
    place.run(all.into_iter().chain(words.iter().copied())).await
}

/// Creates a project and installs the package in it.
async fn installed(place: &Place) -> PathBuf {
    let project = castle(place);
    let done = install(place, &project, &[]).await;
    assert!(done.code == Some(0) && done.out.contains("is installed"), "{done:?}");
    project
}

/// Reads every file below a folder. The keys are paths with `/`. Links are not followed.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    each(root, &mut |path, name| {
        if path.symlink_metadata().expect("there").is_file() {
            found.insert(name, fs::read(path).expect("readable"));
        }
    });
    found
}

/// Returns the modification times of a folder and of everything below it.
fn times(root: &Path) -> BTreeMap<String, SystemTime> {
    let mut found = BTreeMap::from([(".".to_owned(), root.metadata().expect("there").modified().expect("known"))]);
    each(root, &mut |path, name| {
        found.insert(name, path.symlink_metadata().expect("there").modified().expect("known"));
    });
    found
}

fn each(root: &Path, see: &mut dyn FnMut(&Path, String)) {
    let mut open = vec![root.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(root).expect("below").to_str().expect("Unicode").replace('\\', "/");
            see(&path, name);
            if path.symlink_metadata().expect("there").is_dir() {
                open.push(path);
            }
        }
    }
}

fn record(project: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder(project).join(RECORD)).expect("there")).expect("JSON")
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Makes the installed package look like one of an older holdfast: one file differs, one no longer exists, one does not exist
/// yet.
fn age(project: &Path) {
    let folder = folder(project);
    let mut record = record(project);
    for (path, content) in [("Core/Bridge.cs", "// older\n"), ("Core/Former.cs", "// former\n")] {
        fs::write(folder.join(path), content).expect("writable");
        record["files"][path] = json!(sha256(content.as_bytes()));
    }
    fs::remove_file(folder.join("Documentation~/protocol.md")).expect("there");
    record["files"].as_object_mut().expect("a map").shift_remove("Documentation~/protocol.md");
    record["version"] = json!("0.0.9");
    fs::write(folder.join(RECORD), record.to_string()).expect("writable");
}

/// Returns the names in `Packages/`.
fn in_packages(project: &Path) -> Vec<String> {
    let entries = fs::read_dir(project.join("Packages")).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("Unicode")).collect();
    names.sort();
    names
}

#[tokio::test]
async fn the_project_is_found_from_a_folder_in_it() {
    let place = Place::new();
    let project = castle(&place);
    fs::create_dir_all(project.join("Assets/Scripts")).expect("writable");
    let mut command = place.command(["unity", "install"]);
    command.current_dir(project.join("Assets/Scripts"));
    let done = finish(command, b"").await;
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(folder(&project).join("package.json").is_file());
    assert_eq!(in_packages(&project), [NAME, "manifest.json"]);
    // The output must name the package's folder, what was there before, the next step, and what Unity has to download.
    for said in [
        "Holdfast for Unity 0.1.0 is installed.",
        text(&folder(&project)),
        "it was not there",
        "  next  ",
        "newtonsoft",
    ] {
        assert!(done.out.contains(said), "{said}: {done:?}");
    }
}

#[tokio::test]
async fn what_the_project_has_is_not_said_to_be_fetched() {
    let place = Place::new();
    let project = castle(&place);
    fs::create_dir_all(project.join("Library/PackageCache/com.unity.nuget.newtonsoft-json@3.2.1")).expect("writable");
    let done = install(&place, &project, &[]).await;
    assert!(done.code == Some(0) && !done.out.contains("newtonsoft"), "{done:?}");
}

#[tokio::test]
async fn a_project_that_does_not_tell_its_unity_is_taken_with_a_note() {
    for version in [None, Some("nothing of use"), Some("m_EditorVersion: next\n")] {
        let place = Place::new();
        let project = castle(&place);
        let file = project.join("ProjectSettings/ProjectVersion.txt");
        match version {
            None => fs::remove_file(file).expect("there"),
            Some(text) => fs::write(file, text).expect("writable"),
        }
        let done = install(&place, &project, &[]).await;
        assert!(done.code == Some(0) && done.out.contains("does not tell the project's Unity"), "{done:?}");
    }
}

#[tokio::test]
async fn installing_again_touches_nothing() {
    let place = Place::new();
    let project = installed(&place).await;
    let before = times(&project);
    for words in [&[][..], &["--force"], &["--dry-run"], &["--check"]] {
        let again = install(&place, &project, words).await;
        assert_eq!(again.code, Some(0), "{words:?}: {again:?}");
        assert!(words == ["--check"] || again.out.contains("already installed"), "{words:?}: {again:?}");
        assert_eq!(times(&project), before, "{words:?}");
    }
}

#[tokio::test]
async fn an_older_one_is_replaced_whole() {
    let place = Place::new();
    let project = installed(&place).await;
    let fresh = files(&folder(&project));
    age(&project);
    let shown = install(&place, &project, &["--dry-run"]).await;
    for line in ["  ~ Core/Bridge.cs", "  - Core/Former.cs", "  + Documentation~/protocol.md"] {
        assert!(shown.out.lines().any(|shown| shown == line), "{line}: {shown:?}");
    }
    assert_eq!(shown.out.lines().count(), 4, "nothing else changes: {shown:?}");
    assert!(!folder(&project).join("Documentation~/protocol.md").exists(), "a dry run writes nothing");
    let done = install(&place, &project, &[]).await;
    assert!(done.code == Some(0) && done.out.contains("before  0.0.9"), "{done:?}");
    assert_eq!(files(&folder(&project)), fresh);
    assert_eq!(in_packages(&project), [NAME, "manifest.json"]);
}

#[tokio::test]
async fn a_dry_run_on_an_empty_place_names_every_file_and_writes_none() {
    let place = Place::new();
    let project = castle(&place);
    let before = times(&project);
    let shown = install(&place, &project, &["--dry-run"]).await;
    assert!(shown.code == Some(0) && shown.out.contains("  + package.json\n"), "{shown:?}");
    assert_eq!(times(&project), before);
    install(&place, &project, &[]).await;
    let named = shown.out.lines().filter(|line| line.starts_with("  + ")).count();
    let placed = files(&folder(&project)).into_keys().filter(|path| path != RECORD && !path.ends_with(".meta")).count();
    assert_eq!(named, placed);
}

#[tokio::test]
async fn what_was_deleted_comes_back() {
    let place = Place::new();
    let project = installed(&place).await;
    let fresh = files(&folder(&project));
    fs::remove_dir_all(folder(&project).join("Editor/Window")).expect("there");
    let check = install(&place, &project, &["--check"]).await;
    assert!(check.code == Some(1) && check.out.contains("missing: Editor/Window/ClientsView.cs"), "{check:?}");
    let done = install(&place, &project, &[]).await;
    assert!(done.code == Some(0) && done.out.contains("not whole"), "{done:?}");
    assert_eq!(files(&folder(&project)), fresh);
}

/// Changes that version control on Windows and Unity itself make do not count as the user's changes.
#[tokio::test]
async fn line_ends_and_rewritten_metas_are_no_change() {
    let place = Place::new();
    let project = installed(&place).await;
    for (path, bytes) in files(&folder(&project)) {
        let content = String::from_utf8(bytes).expect("the package is text").replace('\n', "\r\n");
        let meta = path.ends_with(".meta");
        fs::write(folder(&project).join(path), if meta { format!("{content}  more: 1\r\n") } else { content })
            .expect("writable");
    }
    fs::write(folder(&project).join("Core/.DS_Store"), "x").expect("writable");
    let again = install(&place, &project, &[]).await;
    assert!(again.code == Some(0) && again.out.contains("already installed"), "{again:?}");
    // Other files refer to a file by its GUID.
    let meta = folder(&project).join("Core/Bridge.cs.meta");
    fs::write(&meta, "fileFormatVersion: 2\nguid: 00000000000000000000000000000001\n").expect("writable");
    let changed = install(&place, &project, &[]).await;
    assert!(changed.code == Some(1) && changed.err.contains("Core/Bridge.cs.meta"), "{changed:?}");
}

#[tokio::test]
async fn a_lost_record_of_an_untouched_package_is_written_anew() {
    let place = Place::new();
    let project = installed(&place).await;
    let fresh = files(&folder(&project));
    fs::remove_file(folder(&project).join(RECORD)).expect("there");
    let done = install(&place, &project, &[]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(files(&folder(&project)), fresh);
}

#[tokio::test]
async fn removing_takes_the_folder_and_nothing_else() {
    let place = Place::new();
    let project = castle(&place);
    place.write("Castle/Library/Holdfast/Results/1.json", "{}");
    let before = files(&project);
    install(&place, &project, &[]).await;
    let shown = install(&place, &project, &["--remove", "--dry-run"]).await;
    assert!(shown.code == Some(0) && shown.out.contains("  - package.json\n"), "{shown:?}");
    assert!(folder(&project).is_dir(), "a dry run removes nothing");
    let done = install(&place, &project, &["--remove"]).await;
    assert!(
        done.code == Some(0) && done.out.contains("is removed") && done.out.contains("Library/Holdfast"),
        "{done:?}"
    );
    assert_eq!(files(&project), before);
    assert_eq!(in_packages(&project), ["manifest.json"]);
    let times_before = times(&project);
    let again = install(&place, &project, &["--remove"]).await;
    assert!(again.code == Some(0) && again.out.contains("Nothing to change"), "{again:?}");
    assert_eq!(times(&project), times_before);
}

#[tokio::test]
async fn check_tells_people_and_programs_how_it_stands() {
    let place = Place::new();
    let project = castle(&place);
    let check = async || install(&place, &project, &["--check", "--json"]).await;
    let absent = check().await;
    let said = absent.json();
    assert_eq!((absent.code, &said["state"], &said["version"]), (Some(1), &json!("absent"), &json!(null)), "{said:#}");
    assert_eq!((&said["unity"], &said["ok"]), (&json!("2022.3.62f1"), &json!(false)));
    let fix = format!("holdfast unity install --project {}", text(&project));
    assert_eq!(said["mend"], json!(fix));

    install(&place, &project, &[]).await;
    let there = check().await;
    let said = there.json();
    assert_eq!((there.code, &said["state"], &said["version"]), (Some(0), &json!("installed"), &json!("0.1.0")));
    assert_eq!((&said["same"], &said["ok"], &said["mend"]), (&json!(true), &json!(true), &json!(null)));
    let people = install(&place, &project, &["--check"]).await;
    assert!(
        people.code == Some(0) && people.out.contains("0.1.0 is installed, which is this program's."),
        "{people:?}"
    );

    // A file that the user added to our folder is not an error.
    place.write(&format!("Castle/Packages/{NAME}/Editor/Mine.cs"), "// mine\n");
    let added = check().await;
    let said = added.json();
    assert_eq!((added.code, &said["added"]), (Some(0), &json!(["Editor/Mine.cs"])), "{said:#}");

    place.write(&format!("Castle/Packages/{NAME}/Core/Bridge.cs"), "// mine\n");
    let changed = check().await;
    let said = changed.json();
    assert_eq!((changed.code, &said["changed"]), (Some(1), &json!(["Core/Bridge.cs"])), "{said:#}");
    assert!(said["mend"].as_str().is_some_and(|text| text.contains(&format!("{fix} --force"))), "{said:#}");

    install(&place, &project, &["--force"]).await;
    age(&project);
    let older = check().await;
    let said = older.json();
    assert_eq!((older.code, &said["version"], &said["same"]), (Some(1), &json!("0.0.9"), &json!(false)));
    assert!(said["says"].as_str().is_some_and(|says| says.contains("older than this program's 0.1.0")), "{said:#}");
}

#[tokio::test]
async fn doctor_tells_how_the_package_stands_and_the_fix() {
    let place = Place::new();
    let project = castle(&place);
    let package = async || {
        let findings = place.run(["doctor", "--json", "--project", text(&project)]).await.json();
        let list = findings["findings"].as_array().expect("a list").clone();
        let about: Vec<Value> = list.into_iter().filter(|finding| finding["about"] == "package").collect();
        assert_eq!(about.len(), 1, "{about:?}");
        let of = |name: &str| about[0][name].as_str().unwrap_or_default().to_owned();
        (of("level"), of("says"), of("mend"))
    };
    let command = format!("holdfast unity install --project {}", text(&project));
    let (level, _, fix) = package().await;
    assert!(level == "problem" && fix.contains(&command), "{level}: {fix}");
    install(&place, &project, &[]).await;
    let (level, says, fix) = package().await;
    assert!(level == "ok" && says.contains("0.1.0 is installed") && fix.is_empty(), "{level}: {says}");
    age(&project);
    let (level, says, fix) = package().await;
    assert!(level == "note" && says.contains("older") && fix == command, "{level}: {says} -> {fix}");
    fs::write(folder(&project).join("Core/Bridge.cs"), "// mine\n").expect("writable");
    let (level, says, fix) = package().await;
    assert!(level == "note" && says.contains("changed: Core/Bridge.cs"), "{level}: {says}");
    assert!(fix.contains("move what is yours") && fix.contains(&format!("{command} --force")), "{fix}");
    fs::remove_dir_all(folder(&project)).expect("there");
    fs::write(project.join("Packages/manifest.json"), format!(r#"{{"dependencies":{{"{NAME}":"0.1.0"}}}}"#))
        .expect("writable");
    let (level, says, _) = package().await;
    assert!(level == "note" && says.contains("manifest.json brings it, as \"0.1.0\""), "{level}: {says}");
    let by_git =
        r#"{"dependencies":{"dev.holdfast.unity":"https://github.com/holdfast-mcp/holdfast.git?path=unity#v0.0.9"}}"#;
    fs::write(project.join("Packages/manifest.json"), by_git).expect("writable");
    place.write("Castle/Library/PackageCache/dev.holdfast.unity@0123456789ab/package.json", r#"{"version":"0.0.9"}"#);
    let (level, says, fix) = package().await;
    assert!(level == "note" && says.contains("0.0.9 is there") && says.contains("older than"), "{level}: {says}");
    assert!(fix.contains("#v0.1.0"), "{fix}");
    place.write("Castle/Packages/manifest.json", by_git.replace("0.0.9", "0.1.0"));
    place.write("Castle/Library/PackageCache/dev.holdfast.unity@0123456789ab/package.json", r#"{"version":"0.1.0"}"#);
    let (level, says, fix) = package().await;
    assert!(level == "note" && says.contains("which is this program's") && fix.is_empty(), "{level}: {says} -> {fix}");
}

/// Only root can give files to another user. For other users, this test shows only that the package keeps its owner.
#[cfg(unix)]
#[tokio::test]
async fn who_owns_the_project_owns_the_package() {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let place = Place::new();
    let project = castle(&place);
    // The system refuses this for any user but root.
    let _ = chown(project.join("Packages"), Some(12_345), Some(23_456));
    let owner = |path: &Path| {
        let meta = fs::metadata(path).expect("there");
        (meta.uid(), meta.gid())
    };
    assert_eq!(install(&place, &project, &[]).await.code, Some(0));
    for path in ["", "package.json", RECORD, "Core"] {
        assert_eq!(owner(&folder(&project).join(path)), owner(&project.join("Packages")), "{path}");
    }
}
