//! Tests `holdfast setup` with the configuration files of every client: real processes, files in a separate home, and parsers
//! that are not the program's own.

mod beside;
mod http;
mod odd;
mod reading;
mod several;
mod table;

use std::collections::BTreeMap;
use std::path::Path;

use crate::binary::{Done, Place};
use serde_json::Value;

use reading::{read, without_entry};
use table::{CASES, Case};

/// Returns the path of the program under test, in the form in which an entry has to name it.
fn program() -> String {
    let path = dunce::canonicalize(env!("CARGO_BIN_EXE_holdfast")).expect("it was built");
    path.to_str().expect("Unicode").to_owned()
}

/// Returns the program's path in the form in which this text has it: JSON and TOML double each backslash.
fn program_in(text: &str) -> String {
    let escaped = program().replace('\\', r"\\");
    if text.contains(&escaped) { escaped } else { program() }
}

/// Returns a path with the system's separators.
fn native(path: &str) -> String {
    path.replace('/', std::path::MAIN_SEPARATOR_STR)
}

/// Returns every file below a folder, with its bytes.
pub(crate) fn files(place: &Place) -> BTreeMap<String, Vec<u8>> {
    fn walk(folder: &Path, root: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, root, found);
            } else {
                let name = path.strip_prefix(root).expect("below").to_str().expect("Unicode").replace('\\', "/");
                found.insert(name, std::fs::read(&path).expect("readable"));
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(&place.path(""), &place.path(""), &mut found);
    found
}

/// Writes a case's file and runs `setup` for its client. Returns the result and the file's new content.
async fn set_up(place: &Place, case: &Case, content: &[u8]) -> (Done, Vec<u8>) {
    let file = place.write(case.file, content);
    let done = place.run(["setup", case.client]).await;
    let after = std::fs::read(file).expect("it is still there");
    (done, after)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

/// Returns the same content in every layout that a file may have.
fn layouts(case: &Case, content: &str) -> Vec<(&'static str, String)> {
    let mut layouts = vec![
        ("as it is", content.to_owned()),
        ("with CRLF", content.replace('\n', "\r\n")),
        ("with a byte order mark", format!("\u{feff}{content}")),
        ("without its last line ending", content.trim_end().to_owned()),
        ("with CRLF, without the last", content.trim_end().replace('\n', "\r\n")),
    ];
    if case.file.ends_with(".json") {
        layouts.push(("with tabs", content.replace("  ", "\t")));
        layouts.push(("on one line", reading::on_one_line(content)));
    }
    layouts
}

#[tokio::test]
async fn every_client_is_set_up_once_and_put_back_byte_for_byte() {
    for case in CASES {
        for (layout, before) in layouts(case, case.content) {
            let what = format!("{} {layout}", case.client);
            let place = Place::new();
            let (done, after) = set_up(&place, case, before.as_bytes()).await;
            assert_eq!(done.code, Some(0), "{what}: {done:?}");
            assert!(done.out.contains("is set up.") && done.out.contains("  next  "), "{what}: {done:?}");

            let (was, is) = (read(case.file, before.as_bytes()), read(case.file, &after));
            assert_eq!(case.entry(&is), Some(&case.expected(&program(), &[])), "{what}: {}", text(&after));
            assert_eq!(without_entry(case, &is), without_entry(case, &was), "{what}");
            assert!(!after.starts_with(b"\xef\xbb\xbf"), "{what}: some clients cannot read a byte order mark");
            assert_eq!(before.starts_with('\u{feff}'), done.out.contains("byte order mark"), "{what}: {done:?}");
            assert_eq!(before.ends_with('\n'), after.ends_with(b"\n"), "{what}");
            let bare = text(&after).replace("\r\n", "");
            assert!(!before.contains("\r\n") || !bare.contains('\n'), "{what}: a bare line feed in {}", text(&after));
            let backup = place.path(&format!("{}.holdfast-backup", case.file));
            assert_eq!(std::fs::read(&backup).expect("a copy of the first state"), before.as_bytes(), "{what}");

            let first = files(&place);
            let again = place.run(["setup", case.client]).await;
            assert_eq!(again.code, Some(0), "{what}: {again:?}");
            assert!(again.out.contains("is already set up"), "{what}: {again:?}");
            assert_eq!(files(&place), first, "{what}: a second run changes nothing");

            let removed = place.run(["setup", case.client, "--remove"]).await;
            assert_eq!(removed.code, Some(0), "{what}: {removed:?}");
            assert!(removed.out.contains(&native(case.file)), "{what}: it says where the file is: {removed:?}");
            let left = files(&place);
            assert_eq!(left.keys().collect::<Vec<_>>(), [case.file], "{what}: nothing else is left");
            assert_eq!(text(&left[case.file]), before, "{what}");

            let nothing = place.run(["setup", case.client, "--remove"]).await;
            assert_eq!((nothing.code, files(&place)), (Some(0), left), "{what}: {nothing:?}");
        }
    }
}

#[tokio::test]
async fn without_the_first_copy_only_our_entry_goes() {
    for case in CASES {
        let place = Place::new();
        let (_, _) = set_up(&place, case, case.content.as_bytes()).await;
        std::fs::remove_file(place.path(&format!("{}.holdfast-backup", case.file))).expect("it was there");
        let removed = place.run(["setup", case.client, "--remove"]).await;
        assert_eq!(removed.code, Some(0), "{}: {removed:?}", case.client);
        let after = std::fs::read(place.path(case.file)).expect("it is still there");
        let (was, is) = (read(case.file, case.content.as_bytes()), read(case.file, &after));
        assert_eq!(without_entry(case, &is), without_entry(case, &was), "{}: {}", case.client, text(&after));
        assert_eq!(case.entry(&is), None, "{}", case.client);
        if case.has_servers {
            assert_eq!(text(&after), case.content, "{}", case.client);
        }
    }
}

#[tokio::test]
async fn a_dry_run_shows_the_change_and_writes_nothing() {
    for case in CASES {
        let place = Place::new();
        place.write(case.file, case.content);
        let before = files(&place);
        let shown = place.run(["setup", case.client, "--dry-run"]).await;
        assert_eq!(shown.code, Some(0), "{}: {shown:?}", case.client);
        assert_eq!(files(&place), before, "{}", case.client);
        let added = shown.out.lines().filter(|line| line.starts_with('+') && !line.starts_with("+++"));
        let added: String = added.collect();
        assert!(added.contains(&program_in(&added)), "{}: {shown:?}", case.client);
        assert!(shown.out.starts_with("--- ") && shown.out.contains("\n@@ "), "{}: {shown:?}", case.client);

        place.run(["setup", case.client]).await;
        let set_up = files(&place);
        let shown = place.run(["setup", case.client, "--dry-run"]).await;
        assert!(shown.out.contains("is already set up"), "{}: {shown:?}", case.client);
        let shown = place.run(["setup", case.client, "--dry-run", "--remove"]).await;
        let removed = shown.out.lines().filter(|line| line.starts_with('-') && !line.starts_with("---"));
        let removed: String = removed.collect();
        assert!(removed.contains(&program_in(&removed)), "{}: {shown:?}", case.client);
        assert_eq!(files(&place), set_up, "{}", case.client);
    }
}

#[tokio::test]
async fn a_client_without_a_file_gets_one_if_it_is_there() {
    for case in CASES {
        let place = Place::new();
        let absent = place.run(["setup", case.client]).await;
        assert_eq!(absent.code, Some(1), "{}: {absent:?}", case.client);
        assert!(absent.err.contains("not found") && absent.err.contains("--create"), "{}: {absent:?}", case.client);
        assert!(files(&place).is_empty(), "{}", case.client);

        std::fs::create_dir_all(place.path(case.folder)).expect("writable");
        let made = place.run(["setup", case.client]).await;
        assert_eq!(made.code, Some(0), "{}: {made:?}", case.client);
        let written = files(&place);
        assert_eq!(written.keys().collect::<Vec<_>>(), [case.file], "{}: no copy of nothing", case.client);
        let is = read(case.file, &written[case.file]);
        assert_eq!(case.entry(&is), Some(&case.expected(&program(), &[])), "{}", case.client);

        let gone = place.run(["setup", case.client, "--remove"]).await;
        assert_eq!((gone.code, files(&place).len()), (Some(0), 0), "{}: {gone:?}", case.client);

        let created = Place::new();
        let done = created.run(["setup", case.client, "--create"]).await;
        assert_eq!(done.code, Some(0), "{}: {done:?}", case.client);
        assert_eq!(files(&created), written, "{}", case.client);
    }
}

#[tokio::test]
async fn an_empty_file_gets_the_entry_and_is_empty_again() {
    for case in CASES {
        for empty in ["", "\n", "  \n\n"] {
            let place = Place::new();
            let (done, after) = set_up(&place, case, empty.as_bytes()).await;
            assert_eq!(done.code, Some(0), "{}: {done:?}", case.client);
            let is = read(case.file, &after);
            assert_eq!(case.entry(&is), Some(&case.expected(&program(), &[])), "{}: {}", case.client, text(&after));
            place.run(["setup", case.client, "--remove"]).await;
            assert_eq!(text(&std::fs::read(place.path(case.file)).expect("there")), empty, "{}", case.client);
        }
    }
}

#[tokio::test]
async fn what_a_user_added_to_our_entry_is_kept_when_the_program_moves() {
    for case in CASES {
        let place = Place::new();
        let (_, after) = set_up(&place, case, case.content.as_bytes()).await;
        let written = program_in(text(&after));
        let moved = text(&after).replace(&written, "/opt/gone/holdfast");
        let tuned = table::with_a_users_field(case, &moved);
        place.write(case.file, &tuned);
        let listed = place.run(["setup", "--list", "--json"]).await.json();
        assert_eq!(table::row(&listed, case.client)["state"], "stale", "{}", case.client);

        let done = place.run(["setup", case.client]).await;
        assert_eq!(done.code, Some(0), "{}: {done:?}", case.client);
        assert!(done.out.contains("kept as it is"), "{}: the first copy stays: {done:?}", case.client);
        let now = std::fs::read_to_string(place.path(case.file)).expect("there");
        assert_eq!(now, tuned.replace("/opt/gone/holdfast", &written), "{}", case.client);
        let backup = std::fs::read(place.path(&format!("{}.holdfast-backup", case.file))).expect("there");
        assert_eq!(text(&backup), case.content, "{}", case.client);
    }
}

#[tokio::test]
async fn no_entry_carries_a_unity_port() {
    for case in CASES {
        let place = Place::new();
        let (_, after) = set_up(&place, case, b"").await;
        assert!(!text(&after).contains("UNITY_TCP_PORT"), "{}", case.client);
    }
}

#[tokio::test]
async fn a_projects_own_file_is_written_in_the_project_and_names_it() {
    for case in CASES {
        let place = Place::new();
        let project = place.project("Castle");
        std::fs::create_dir_all(place.path(case.folder)).expect("writable");
        let named = project.to_str().expect("Unicode");
        let done = place.run(["setup", case.client, "--project", named]).await;
        assert_eq!(done.code, Some(0), "{}: {done:?}", case.client);
        let file = case.project.map_or(case.file.to_owned(), |below| format!("Castle/{below}"));
        let written = files(&place);
        assert_eq!(written.keys().collect::<Vec<_>>(), [&file], "{}", case.client);
        let is = read(&file, &written[&file]);
        let expected = case.expected(&program(), &["--project", named]);
        assert_eq!(case.entry(&is), Some(&expected), "{}", case.client);
        let within: Value = place.run(["setup", "--list", "--json", "--project", named]).await.json();
        let row = table::row(&within, case.client);
        assert_eq!(row["state"], "configured", "{}: {row}", case.client);
        assert_eq!(row["scope"], if case.project.is_some() { "project" } else { "user" }, "{}", case.client);
    }
}
