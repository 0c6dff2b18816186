//! Files and folders with something wrong, and what `--list` and `doctor` report about them.

use serde_json::json;

use super::table::{CASES, row};
use super::{files, native, program, program_in, text};
use crate::binary::{Place, finish};

const CURSOR: &str = ".cursor/mcp.json";

#[tokio::test]
async fn a_file_that_cannot_be_parsed_is_never_touched() {
    for case in CASES {
        let broken: &[&str] = match case.file.rsplit('.').next() {
            Some("toml") => &["a = \n", "[mcp_servers.x]\ncommand = \"x\n"],
            Some("yaml") => &["extensions:\n  x: [1\n", "a: b: c\n"],
            _ => &["{\n  \"a\": 1,\n  \"b\": }\n", "{\"a\": 1", "<<<<<<< HEAD\n{}\n", "{} {}", "{'a': 1}"],
        };
        for content in broken {
            for words in
                [&["setup", case.client][..], &["setup", case.client, "--remove"], &["setup", case.client, "--dry-run"]]
            {
                let place = Place::new();
                place.write(case.file, content);
                let before = files(&place);
                let done = place.run(words.iter().copied()).await;
                assert_eq!(done.code, Some(1), "{words:?} {content}: {done:?}");
                assert!(
                    done.err.contains(&native(case.file)) && done.err.contains("line "),
                    "{words:?} {content}: {done:?}"
                );
                assert!(done.err.contains("Nothing was changed"), "{words:?} {content}: {done:?}");
                let pasted = words.contains(&"--remove") || done.out.contains(&program_in(&done.out));
                assert!(pasted, "{words:?}: what to paste: {done:?}");
                assert_eq!(files(&place), before, "{words:?} {content}");
            }
        }
    }
}

#[tokio::test]
async fn a_sound_file_of_another_shape_is_refused_with_the_reason() {
    let odd = [
        ("[]", "not an object"),
        ("{\"mcpServers\": []}", "not an object"),
        ("{\"mcpServers\": {}, \"mcpServers\": {}}", "twice"),
        (
            "{\"mcpServers\": {\"holdfast\": {\"url\": \"http://127.0.0.1:1/\"}}}",
            "starts no program and connects to no hub",
        ),
        ("{\"mcpServers\": {\"holdfast\": 1}}", "starts no program"),
    ];
    for (content, why) in odd {
        let place = Place::new();
        place.write(CURSOR, content);
        let before = files(&place);
        let done = place.run(["setup", "cursor"]).await;
        assert_eq!(done.code, Some(1), "{content}: {done:?}");
        assert!(done.err.contains(why), "{content}: {done:?}");
        assert_eq!(files(&place), before, "{content}");
    }
    let utf16: Vec<u8> = "\u{feff}{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let place = Place::new();
    place.write(CURSOR, utf16);
    let done = place.run(["setup", "cursor"]).await;
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.err.contains("not UTF-8"), "{done:?}");
}

#[tokio::test]
async fn an_unknown_client_gets_the_names_and_what_to_paste() {
    let place = Place::new();
    let done = place.run(["setup", "emacs"]).await;
    assert_eq!(done.code, Some(2), "{done:?}");
    for case in CASES {
        assert!(done.err.contains(case.client), "{}: {done:?}", case.client);
    }
    assert_eq!(done.json()["mcpServers"]["holdfast"], json!({"command": program(), "args": []}));
    assert!(files(&place).is_empty());
    for words in [
        &["setup"][..],
        &["setup", "cursor", "--list"],
        &["setup", "cursor", "--json"],
        &["setup", "--list", "--remove"],
    ] {
        assert_eq!(place.run(words.iter().copied()).await.code, Some(2), "{words:?}");
    }
    let nowhere = place.run(["setup", "cursor", "--project", "no-such-folder"]).await;
    assert_eq!(nowhere.code, Some(2), "{nowhere:?}");
    let no_project = place.run(["setup", "cursor", "--project"]).await;
    assert_eq!(no_project.code, Some(2), "{no_project:?}");
    assert!(no_project.err.contains("no Unity project"), "{no_project:?}");
}

#[tokio::test]
async fn a_home_that_is_not_known_ends_it_before_anything_is_done() {
    let place = Place::new();
    let mut command = place.command(["setup", "cursor"]);
    command.env_remove("HOME").env_remove("USERPROFILE");
    let done = finish(command, b"").await;
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.err.contains(if cfg!(windows) { "USERPROFILE" } else { "HOME" }), "{done:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn the_users_links_are_followed_and_stay_links() {
    let place = Place::new();
    let kept = place.write("dotfiles/cursor.json", "{}\n");
    std::fs::create_dir_all(place.path(".cursor")).expect("writable");
    std::os::unix::fs::symlink("../dotfiles/cursor.json", place.path(CURSOR)).expect("writable");
    let done = place.run(["setup", "cursor"]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.contains("dotfiles/cursor.json"), "it says which file it wrote: {done:?}");
    assert!(place.path(CURSOR).symlink_metadata().expect("there").is_symlink());
    assert!(std::fs::read_to_string(&kept).expect("there").contains("holdfast"));
    assert!(place.path("dotfiles/cursor.json.holdfast-backup").is_file());

    let done = place.run(["setup", "cursor", "--remove"]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(std::fs::read_to_string(&kept).expect("there"), "{}\n");

    std::fs::remove_file(&kept).expect("there");
    let dangling = place.run(["setup", "cursor"]).await;
    assert_eq!(dangling.code, Some(1), "{dangling:?}");
    assert!(dangling.err.contains("is a link to"), "{dangling:?}");
    assert!(!kept.exists());
}

#[cfg(unix)]
#[tokio::test]
async fn a_projects_links_do_not_lead_out_of_it() {
    let place = Place::new();
    let project = place.project("Castle");
    let named = project.to_str().expect("Unicode");
    let victim = place.write("elsewhere/victim.json", "{}\n");
    std::os::unix::fs::symlink(&victim, project.join(".mcp.json")).expect("writable");
    std::os::unix::fs::symlink(place.path("elsewhere"), project.join(".cursor")).expect("writable");
    let before = files(&place);
    for client in ["claude-code", "cursor"] {
        let done = place.run(["setup", client, "--project", named]).await;
        assert_eq!(done.code, Some(1), "{done:?}");
        assert!(done.err.contains("outside of the project"), "{done:?}");
    }
    assert_eq!(files(&place), before);
}

#[cfg(unix)]
#[tokio::test]
async fn modes_are_kept_and_read_only_files_are_left_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &std::path::Path| path.metadata().expect("there").permissions().mode() & 0o777;
    for kept in [0o600, 0o640, 0o644] {
        let place = Place::new();
        let file = place.write(CURSOR, "{}");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(kept)).expect("ours");
        assert_eq!(place.run(["setup", "cursor"]).await.code, Some(0));
        assert_eq!((mode(&file), mode(&place.path(".cursor/mcp.json.holdfast-backup"))), (kept, kept));
    }
    let place = Place::new();
    let file = place.write(CURSOR, "{}");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).expect("ours");
    let before = files(&place);
    let done = place.run(["setup", "cursor"]).await;
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.err.contains("read-only") && done.out.contains(&program()), "{done:?}");
    assert_eq!(files(&place), before);

    let new = Place::new();
    new.run(["setup", "cursor", "--create"]).await;
    assert_eq!(mode(&new.path(CURSOR)), 0o600);
}

/// Not even root can create a file in this folder.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_folder_that_takes_no_files_is_told_with_what_to_paste() {
    let place = Place::new();
    let mut command = place.command(["setup", "codex", "--create"]);
    command.env("CODEX_HOME", "/proc/self");
    let done = finish(command, b"").await;
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.err.contains("cannot be written") && done.err.contains("Nothing was changed"), "{done:?}");
    assert!(done.out.contains("[mcp_servers.holdfast]"), "{done:?}");
}

#[tokio::test]
async fn runs_at_the_same_time_leave_one_sound_file() {
    for case in CASES.iter().filter(|case| ["cursor", "codex", "goose"].contains(&case.client)) {
        let place = Place::new();
        place.write(case.file, case.content);
        let runs: Vec<_> = (0..8).map(|_| tokio::spawn(finish(place.command(["setup", case.client]), b""))).collect();
        for run in runs {
            let done = run.await.expect("it ended");
            assert_eq!(done.code, Some(0), "{done:?}");
        }
        let mut left = files(&place);
        let written = left.remove(case.file).expect("the file");
        let backup = left.remove(&format!("{}.holdfast-backup", case.file)).expect("the first state");
        assert_eq!(text(&backup), case.content);
        assert!(left.is_empty(), "temporary files are gone: {left:?}");
        let is = super::read(case.file, &written);
        assert_eq!(case.entry(&is), Some(&case.expected(&program(), &[])), "{}", case.client);
        assert_eq!(text(&written).matches(&program_in(text(&written))).count(), 1);
    }
}

#[tokio::test]
async fn the_list_tells_how_each_client_stands() {
    let place = Place::new();
    let none = place.run(["setup", "--list", "--json"]).await;
    assert_eq!(none.code, Some(0), "{none:?}");
    let listed = none.json();
    for case in CASES {
        let row = row(&listed, case.client);
        assert_eq!((&row["found"], &row["state"]), (&json!(false), &json!("not_configured")), "{row}");
        assert!(row["file"].as_str().is_some_and(|file| file.ends_with(&native(case.file))), "{row}");
    }
    let other = place.write("bin/holdfast", "");
    place.write(CURSOR, "{\"mcpServers\": ");
    place.write(
        ".gemini/settings.json",
        json!({"mcpServers": {"holdfast": {"command": "/opt/gone/holdfast"}}}).to_string(),
    );
    place.write(".kiro/settings/mcp.json", json!({"mcpServers": {"holdfast": {"command": other}}}).to_string());
    place.write(".junie/mcp/mcp.json", "{}");
    place.run(["setup", "junie"]).await;
    let listed = place.run(["setup", "--list", "--json"]).await.json();
    let states = [
        ("cursor", "broken", "line 1"),
        ("gemini", "stale", "/opt/gone/holdfast"),
        ("kiro", "other", &native("bin/holdfast")),
        ("junie", "configured", ""),
        ("vscode", "not_configured", ""),
    ];
    for (client, state, why) in states {
        let row = row(&listed, client);
        assert_eq!(row["state"], state, "{row}");
        assert_eq!(row["found"], client != "vscode", "{row}");
        assert!(row["why"].as_str().unwrap_or_default().contains(why), "{row}");
        assert_eq!(row["mend"].is_null(), state == "configured", "{row}");
    }
    assert_eq!(listed["program"], program());
    let shown = place.run(["setup", "--list"]).await;
    assert_eq!(shown.code, Some(0), "{shown:?}");
    for word in ["found", "set up", "stale", "broken", "another", "Not found here"] {
        assert!(shown.out.contains(word), "{word}: {shown:?}");
    }
    assert!(!shown.out.contains('\x1b'), "no colours into a pipe: {shown:?}");
}

#[tokio::test]
async fn a_program_on_path_is_found_and_a_bare_name_is_looked_for_there() {
    let place = Place::new();
    place.write("bin/cursor", "");
    place.write(CURSOR, json!({"mcpServers": {"holdfast": {"command": "holdfast"}}}).to_string());
    let folder = std::path::Path::new(&program()).parent().expect("a folder").to_owned();
    let list = |path: std::ffi::OsString| {
        let mut command = place.command(["setup", "--list", "--json"]);
        command.env("PATH", path);
        finish(command, b"")
    };
    let both = std::env::join_paths([place.path("bin"), folder]).expect("no colons");
    let listed = list(both).await.json();
    assert_eq!(row(&listed, "cursor")["state"], "configured", "{listed:#}");
    let listed = list(place.path("bin").into_os_string()).await.json();
    assert_eq!(row(&listed, "cursor")["state"], "stale", "{listed:#}");

    let alone = Place::new();
    alone.write("bin/gemini", "");
    let mut command = alone.command(["setup", "gemini"]);
    command.env("PATH", alone.path("bin"));
    let done = finish(command, b"").await;
    assert_eq!(done.code, Some(0), "a program on PATH shows the client: {done:?}");
}

#[tokio::test]
async fn doctor_tells_what_is_wrong_with_clients_and_the_fix() {
    let place = Place::new();
    place.write(CURSOR, "{\"mcpServers\": ");
    place.write(
        ".gemini/settings.json",
        json!({"mcpServers": {"holdfast": {"command": "/opt/gone/holdfast"}}}).to_string(),
    );
    place.write(".junie/mcp/mcp.json", "{}");
    place.run(["setup", "junie"]).await;
    std::fs::create_dir_all(place.path(".kiro")).expect("writable");
    let before = files(&place);
    let findings = place.run(["doctor", "--json"]).await.json();
    let about = |title: &str| {
        let list = findings["findings"].as_array().expect("a list").iter();
        let mut found =
            list.filter(|finding| finding["about"] == "client" && finding["says"].to_string().contains(title));
        found.next().unwrap_or_else(|| panic!("nothing about {title}: {findings:#}")).clone()
    };
    assert_eq!(about("Cursor")["level"], "problem");
    assert!(about("Cursor")["mend"].as_str().is_some_and(|fix| fix.contains(&native(CURSOR))));
    assert_eq!(about("Gemini")["level"], "problem");
    assert_eq!(about("Gemini")["mend"], "holdfast setup gemini");
    assert_eq!(about("Junie")["level"], "ok");
    assert_eq!(about("Kiro")["level"], "note");
    assert!(!findings.to_string().contains("Windsurf"), "nothing about clients that are not here: {findings:#}");
    let mut after = files(&place);
    after.retain(|name, _| before.contains_key(name));
    assert_eq!(after, before, "doctor changes nothing");
}

#[cfg(windows)]
#[tokio::test]
async fn a_home_on_a_share_is_named_as_it_is_also_where_the_share_does_not_answer() {
    let place = Place::new();
    let home = r"\\localhost\no such share\ö";
    let mut command = place.command(["setup", "--list", "--json"]);
    command.env("USERPROFILE", home).env("APPDATA", format!(r"{home}\AppData\Roaming"));
    command.env("LOCALAPPDATA", format!(r"{home}\AppData\Local"));
    let listed = finish(command, b"").await.json();
    for case in CASES {
        let row = row(&listed, case.client);
        let file = format!(r"{home}\{}", native(case.file));
        assert_eq!((&row["file"], &row["state"]), (&json!(file), &json!("not_configured")), "{row}");
    }
}
