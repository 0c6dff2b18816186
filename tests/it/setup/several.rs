//! Several clients at once, all that are here, the choice on a terminal, and files that a team shares.

use std::fs;

use serde_json::{Value, json};

use super::reading::read;
use super::table::{CASES, row};
use super::{files, program};
use crate::binary::{Place, finish, text};

/// Makes these clients look installed.
fn here(place: &Place, clients: &[&str]) {
    for case in CASES.iter().filter(|case| clients.contains(&case.client)) {
        fs::create_dir_all(place.path(case.folder)).expect("writable");
    }
}

async fn states(place: &Place, clients: &[&str]) -> Vec<Value> {
    let listed = place.run(["setup", "--list", "--json"]).await.json();
    clients.iter().map(|client| row(&listed, client)["state"].clone()).collect()
}

#[tokio::test]
async fn several_clients_are_set_up_at_once_and_all_of_them_taken_out() {
    let place = Place::new();
    here(&place, &["cursor", "codex", "gemini"]);
    let two = place.run(["setup", "cursor", "codex", "cursor"]).await;
    assert_eq!(two.code, Some(0), "{two:?}");
    assert_eq!(two.out.matches("is set up.").count(), 2, "{two:?}");
    assert_eq!(states(&place, &["cursor", "codex", "gemini"]).await, ["configured", "configured", "not_configured"]);

    let all = place.run(["setup", "--all"]).await;
    assert!(all.code == Some(0) && all.out.matches("is set up.").count() == 1, "{all:?}");
    assert_eq!(states(&place, &["cursor", "codex", "gemini", "zed"]).await.last(), Some(&json!("not_configured")));
    let gone = place.run(["setup", "--all", "--remove"]).await;
    assert!(gone.code == Some(0) && gone.out.matches("no longer starts holdfast").count() == 3, "{gone:?}");
    assert!(files(&place).is_empty(), "{:?}", files(&place).keys());

    // One word that is no client, and nothing at all is done.
    let misspelt = place.run(["setup", "cursor", "codx"]).await;
    assert!(misspelt.code == Some(2) && misspelt.err.contains("did you mean `holdfast setup codex`?"), "{misspelt:?}");
    assert!(files(&place).is_empty());
    // A client that is not here fails, and the other is set up all the same.
    let half = place.run(["setup", "zed", "cursor"]).await;
    assert!(half.code == Some(1) && half.out.contains("is set up.") && half.err.contains("not found"), "{half:?}");
    let nobody = Place::new().run(["setup", "--all"]).await;
    assert!(nobody.code == Some(1) && nobody.err.contains("no AI client"), "{nobody:?}");
}

#[tokio::test]
async fn without_a_client_and_a_terminal_the_list_says_how_to_go_on() {
    let place = Place::new();
    here(&place, &["cursor"]);
    let done = place.run(["setup"]).await;
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.out.contains("cursor") && done.out.contains("Not found here: "), "{done:?}");
    assert!(done.err.contains("--all") && done.err.contains("Nothing was changed"), "{done:?}");
    assert!(files(&place).is_empty());
}

#[tokio::test]
async fn a_file_that_a_team_shares_names_nothing_of_this_machine() {
    let launches = [("--shared", json!({"command": "holdfast", "args": []}))];
    for case in CASES {
        let place = Place::new();
        let project = place.project("Castle");
        let named = text(&project);
        let Some(file) = case.project else {
            here(&place, &[case.client]);
            let refused = place.run(["setup", case.client, "--shared", "--project", named]).await;
            assert!(refused.code == Some(1) && refused.err.contains("no file in a project"), "{refused:?}");
            assert!(files(&place).is_empty(), "{}", case.client);
            continue;
        };
        // The entry of one machine is there before. Nothing of it stays.
        let mine = place.run(["setup", case.client, "--project", named]).await;
        assert!(mine.code == Some(0) && mine.out.contains("do not commit it"), "{mine:?}");
        for (flag, launch) in &launches {
            let done = place.run(["setup", case.client, flag, "--project", named]).await;
            assert_eq!(done.code, Some(0), "{} {flag}: {done:?}", case.client);
            assert!(done.out.contains("commit the file") && done.out.contains("everybody needs"), "{done:?}");
            let written = fs::read_to_string(project.join(file)).expect("there");
            for path in [named, &program(), text(&place.path(""))] {
                assert!(!written.contains(path), "{} {flag}: {written}", case.client);
            }
            for word in launch["args"].as_array().expect("a list").iter().chain([&launch["command"]]) {
                assert!(written.contains(word.as_str().expect("text")), "{} {flag}: {written}", case.client);
            }
        }
    }
}

#[tokio::test]
async fn a_shared_entry_is_found_on_path_and_never_gets_a_path_as_its_fix() {
    let place = Place::new();
    let project = place.project("Castle");
    place.write(".mcp.json-elsewhere", "");
    let mut command = place.command(["setup", "claude-code", "--shared"]);
    command.current_dir(project.join("Assets"));
    let done = finish(command, b"").await;
    assert_eq!(done.code, Some(0), "the project around the working directory: {done:?}");
    let listed = place.run(["setup", "--list", "--json", "--project", text(&project)]).await.json();
    let stale = row(&listed, "claude-code").clone();
    assert_eq!(stale["state"], "stale", "{stale}");
    assert!(stale["mend"].as_str().is_some_and(|fix| fix.starts_with("put holdfast on the PATH")), "{stale}");
    let folder = std::path::Path::new(&program()).parent().expect("a folder").to_owned();
    let mut command = place.command(["setup", "--list", "--json", "--project", text(&project)]);
    command.env("PATH", folder);
    let listed = finish(command, b"").await.json();
    assert_eq!(row(&listed, "claude-code")["state"], "configured");
}

/// Runs `setup` on a terminal, presses keys, and returns the exit code.
#[cfg(unix)]
fn on_a_terminal(place: &Place, keys: &[(&str, &str)]) -> Option<i32> {
    use std::io::{Read as _, Write as _};
    use std::process::Stdio;

    use nix::pty::{Winsize, openpty};

    use crate::process::room::until;

    let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    let pty = openpty(Some(&size), None).expect("a pseudo terminal");
    let before = nix::sys::termios::tcgetattr(&pty.slave).expect("its settings");
    let end = || Stdio::from(pty.slave.try_clone().expect("a copy of its end"));
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_holdfast"));
    command.arg("setup").env_clear().env("HOME", place.path("")).env("TERM", "xterm").env("PATH", "");
    command.env("HOLDFAST_STATE_DIR", place.path("state")).current_dir(place.path("elsewhere"));
    let mut child = command.stdin(end()).stdout(end()).stderr(end()).spawn().expect("it starts");
    let mut typed = std::fs::File::from(pty.master);
    let mut output = typed.try_clone().expect("a copy of our end");
    let screen = std::sync::Arc::new(std::sync::Mutex::new(vt100::Parser::new(24, 80, 0)));
    let drawn = std::sync::Arc::clone(&screen);
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = output.read(&mut buffer) {
            drawn.lock().expect("no holder panics").process(&buffer[..count]);
        }
    });
    for (shown, key) in keys {
        let seen = || screen.lock().expect("no holder panics").screen().contents().contains(shown);
        until(shown, seen);
        typed.write_all(key.as_bytes()).expect("it lives");
    }
    let mut ended = None;
    until("its end", || {
        ended = child.try_wait().expect("it can be waited for");
        ended.is_some()
    });
    assert_eq!(nix::sys::termios::tcgetattr(&pty.slave).expect("its settings"), before, "raw mode is over");
    ended.and_then(|status| status.code())
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_terminal_that_is_gone_ends_the_choice() {
    let place = Place::new();
    here(&place, &["cursor", "codex"]);
    let untouched = files(&place);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_holdfast"));
    command.arg("setup").env_clear().env("HOME", place.path("")).env("PATH", "");
    command.env("HOLDFAST_STATE_DIR", place.path("state")).current_dir(place.path("elsewhere"));
    assert_eq!(crate::process::room::ends_with_its_terminal(command, "Set up which clients?"), Some(1));
    assert_eq!(files(&place), untouched);
}

#[cfg(unix)]
#[tokio::test]
async fn on_a_terminal_a_person_chooses_among_the_clients_that_are_here() {
    let place = Place::new();
    here(&place, &["cursor", "codex"]);
    let untouched = files(&place);
    assert_eq!(on_a_terminal(&place, &[("Set up which clients?", "q")]), Some(1));
    assert_eq!(files(&place), untouched, "nothing is written by a choice that was left");
    // Both are chosen at first. The pointer is on the first of the table, which is taken out of the choice.
    assert_eq!(on_a_terminal(&place, &[("> [x] Cursor", " "), ("> [ ] Cursor", "\r")]), Some(0));
    assert_eq!(states(&place, &["cursor", "codex"]).await, ["not_configured", "configured"]);
}

#[tokio::test]
async fn no_team_is_sent_to_a_package_that_nobody_has_published() {
    let place = Place::new();
    here(&place, &["claude-code"]);
    let project = place.project("Castle");
    for runner in ["npx", "uvx"] {
        let shared = format!("--shared={runner}");
        let refused = place.run(["setup", "claude-code", &shared, "--project", text(&project)]).await;
        assert!(refused.code == Some(2) && refused.err.contains("nothing of holdfast is published yet"), "{refused:?}");
        assert!(!project.join(".mcp.json").exists(), "{refused:?}");
    }
}

#[tokio::test]
async fn a_shared_entry_outside_of_a_project_is_refused_by_the_flag_that_was_typed() {
    let refused = Place::new().run(["setup", "claude-code", "--shared"]).await;
    assert!(refused.code == Some(2) && refused.err.contains("--shared: "), "{refused:?}");
}

#[tokio::test]
async fn setup_says_for_which_projects_an_entry_is() {
    let place = Place::new();
    here(&place, &["cursor", "windsurf"]);
    let project = place.project("Castle");
    let own = place.run(["setup", "cursor"]).await;
    assert!(
        own.out.contains("every project that you open; for this one only: holdfast setup cursor --project"),
        "{own:?}"
    );
    let one = place.run(["setup", "cursor", "--project", text(&project)]).await;
    assert!(one.out.contains(&format!("this project only: {}", project.display())), "{one:?}");
    let none = place.run(["setup", "windsurf"]).await;
    assert!(none.out.contains("  scope   every project that you open\n"), "{none:?}");
}

#[tokio::test]
async fn a_warning_about_the_programs_place_comes_once() {
    let place = Place::new();
    here(&place, &["cursor", "codex", "gemini"]);
    // The program under test lies in a build folder.
    let done = place.run(["setup", "--all"]).await;
    assert_eq!(done.err.matches("warning: this program lies").count(), 1, "{done:?}");
    let removed = place.run(["setup", "--all", "--remove"]).await;
    assert_eq!(removed.err.matches("warning").count(), 0, "{removed:?}");
}

#[tokio::test]
async fn the_flag_for_metrics_is_added_to_an_entry_and_the_rest_of_it_stays() {
    for case in CASES {
        let place = Place::new();
        here(&place, &[case.client]);
        let project = place.project("Castle");
        let first = place.run(["setup", case.client, "--project", text(&project)]).await;
        assert_eq!(first.code, Some(0), "{first:?}");
        let file = case.project.map_or_else(|| place.path(case.file), |file| project.join(file));
        let entry = || case.entry(&read(case.file, &fs::read(&file).expect("there"))).cloned();
        let before = entry().expect("an entry");
        for (flag, expected) in
            [("--metrics=127.0.0.1:9464", "--metrics=127.0.0.1:9464"), ("--metrics=basic", "--metrics")]
        {
            let mut words = vec!["setup", case.client, flag];
            if case.project.is_some() {
                words.extend(["--project", text(&project)]);
            }
            let done = place.run(words).await;
            assert_eq!(done.code, Some(0), "{done:?}");
            let after = entry().expect("an entry").to_string();
            assert_eq!(after.matches("--metrics").count(), 1, "{}: {after}", case.client);
            assert!(after.contains(&format!("\"{expected}\"")), "{}: {after}", case.client);
            assert!(
                after.contains("--project") && before.to_string().contains("--project"),
                "{}: {after}",
                case.client
            );
        }
    }
    let bad = Place::new().run(["setup", "cursor", "--metrics=loud"]).await;
    assert!(bad.code == Some(2) && bad.err.contains("such as 127.0.0.1:9464"), "{bad:?}");
}

#[tokio::test]
async fn nothing_is_left_of_a_file_that_holdfast_made_however_often_it_was_written() {
    for case in CASES {
        let Some(file) = case.project else { continue };
        let place = Place::new();
        let project = place.project("Castle");
        for flags in [&["--shared"][..], &["--project", text(&project)], &["--metrics", "--project", text(&project)]] {
            let mut words = vec!["setup", case.client];
            words.extend(flags);
            let mut command = place.command(words);
            command.current_dir(&project);
            let done = finish(command, b"").await;
            assert_eq!(done.code, Some(0), "{done:?}");
        }
        let gone = place.run(["setup", case.client, "--remove", "--project", text(&project)]).await;
        assert!(gone.code == Some(0) && gone.out.contains("held nothing else and is gone"), "{gone:?}");
        let folder = project.join(file).parent().expect("a folder").to_path_buf();
        let left: Vec<_> =
            fs::read_dir(&folder).map(|all| all.flatten().map(|one| one.file_name()).collect()).unwrap_or_default();
        assert!(folder == project || !folder.exists(), "{}: {left:?}", case.client);
        assert!(!left.iter().any(|name| name.to_string_lossy().contains("mcp")), "{}: {left:?}", case.client);
    }
}
