//! Tests `holdfast skill` with the folders of every client: real processes, and a separate home.

use std::fs;

use serde_json::Value;

use crate::binary::{Done, Place, finish};
use crate::setup::files;

/// The clients that read skills, as their documentation describes them. Written here a second time, so that a mistake in the
/// program's own table is found.
struct Case {
    client: &'static str,
    /// The folder that shows that the client is installed.
    here: &'static str,
    /// The user's folder for skills.
    user: &'static str,
    /// The folder for skills in a project.
    project: &'static str,
}

const CASES: &[Case] = &[
    Case { client: "claude-code", here: ".claude", user: ".claude/skills", project: ".claude/skills" },
    Case { client: "cursor", here: ".cursor", user: ".cursor/skills", project: ".cursor/skills" },
    Case { client: "copilot-cli", here: ".copilot", user: ".copilot/skills", project: ".github/skills" },
    Case { client: "codex", here: ".codex", user: ".agents/skills", project: ".agents/skills" },
    Case { client: "gemini", here: ".gemini", user: ".gemini/skills", project: ".gemini/skills" },
];
const FILES: [&str; 4] =
    ["SKILL.md", "references/calls.md", "references/exit-codes.md", "references/outcome-unknown.md"];
const CONFIG: &str = "# mine\nmodel = \"o5\"\n\n[sandbox_workspace_write]\nwritable_roots = [\"/tmp/x\"]  # mine too\n";

fn place_with(client: &Case) -> Place {
    let place = Place::new();
    fs::create_dir_all(place.path(client.here)).expect("writable");
    place
}

async fn state(place: &Place, client: &str, more: &[&str]) -> Value {
    let listed = place.run(["skill", "list", "--json"].into_iter().chain(more.iter().copied())).await.json();
    let rows = listed["clients"].as_array().expect("a list");
    rows.iter().find(|row| row["client"] == client).expect("the client")["state"].clone()
}

fn ok(done: &Done) {
    assert_eq!(done.code, Some(0), "{done:?}");
}

fn text(place: &Place, below: &str) -> String {
    fs::read_to_string(place.path(below)).unwrap_or_else(|error| panic!("{below}: {error}"))
}

#[tokio::test]
async fn every_client_gets_the_skill_where_it_looks_and_loses_all_of_it_again() {
    for case in CASES {
        let place = place_with(case);
        let folder = format!("{}/holdfast", case.user);
        let done = place.run(["skill", "install", case.client]).await;
        ok(&done);
        assert!(done.out.contains("has the skill.") && done.out.contains("  next    "), "{done:?}");
        let mut expected: Vec<String> = FILES.iter().map(|file| format!("{folder}/{file}")).collect();
        expected.sort();
        assert_eq!(files(&place).into_keys().collect::<Vec<_>>(), expected, "{}", case.client);
        for file in FILES {
            let shown = place.run(["skill", "show", file]).await;
            let there = text(&place, &format!("{folder}/{file}"));
            assert!(there.starts_with(&shown.out), "{file} is not what the program shows");
            assert!(there.lines().last().is_some_and(|mark| mark.contains("holdfast skill remove")), "{there}");
        }
        assert_eq!(state(&place, case.client, &[]).await, "installed");

        let before = files(&place);
        let again = place.run(["skill", "install", case.client]).await;
        assert!(again.code == Some(0) && again.out.contains("Nothing to change"), "{again:?}");
        assert_eq!(files(&place), before);

        let gone = place.run(["skill", "remove", case.client]).await;
        assert!(gone.code == Some(0) && gone.out.contains("no longer has the skill"), "{gone:?}");
        assert!(files(&place).is_empty() && !place.path(case.user).exists(), "{:?}", files(&place).keys());
        assert!(place.path(case.here).is_dir(), "the folder that shows that {} is here is gone", case.client);
        assert_eq!(state(&place, case.client, &[]).await, "absent");
        let gone = place.run(["skill", "remove", case.client]).await;
        assert!(gone.code == Some(0) && gone.out.contains("Nothing to change"), "{gone:?}");
    }
}

#[tokio::test]
async fn a_project_gets_it_in_its_own_folders_and_the_home_stays_as_it_is() {
    let place = Place::new();
    let project = place.project("Castle");
    let named = project.to_str().expect("Unicode");
    for case in CASES {
        let done = place.run(["skill", "install", case.client, "--project", named]).await;
        ok(&done);
        assert!(done.out.contains("commit the folder"), "{done:?}");
        assert!(files(&place).keys().all(|file| file.starts_with(&format!("Castle/{}/holdfast/", case.project))));
        assert_eq!(state(&place, case.client, &["--project", named]).await, "installed");
        // Git may have changed the line endings of a file that a team shares.
        let skill = format!("Castle/{}/holdfast/SKILL.md", case.project);
        place.write(&skill, text(&place, &skill).replace('\n', "\r\n"));
        assert_eq!(state(&place, case.client, &["--project", named]).await, "installed");
        ok(&place.run(["skill", "remove", case.client, "--project", named]).await);
        assert!(files(&place).is_empty(), "{:?}", files(&place).keys());
    }
    // In the project, the flag needs no folder.
    let mut command = place.command(["skill", "install", "codex", "--project"]);
    command.current_dir(&project);
    ok(&finish(command, b"").await);
    assert!(place.path("Castle/.agents/skills/holdfast/SKILL.md").is_file());
}

#[tokio::test]
async fn a_dry_run_shows_a_diff_and_writes_nothing() {
    let place = place_with(&CASES[0]);
    let dry = place.run(["skill", "install", "claude-code", "--dry-run"]).await;
    assert!(dry.code == Some(0) && dry.out.contains("--- /dev/null") && dry.out.contains("+name: holdfast"), "{dry:?}");
    assert!(files(&place).is_empty());
    ok(&place.run(["skill", "install", "claude-code"]).await);
    let there = files(&place);
    let dry = place.run(["skill", "remove", "claude-code", "--dry-run"]).await;
    assert!(dry.code == Some(0) && dry.out.contains("+++ /dev/null") && dry.out.contains("-name: holdfast"), "{dry:?}");
    assert_eq!(files(&place), there);
}

#[tokio::test]
async fn what_a_person_wrote_is_copied_before_it_is_replaced_and_comes_back_or_stays() {
    let place = place_with(&CASES[1]);
    let skill = ".cursor/skills/holdfast/SKILL.md";
    place.write(skill, "my own\n");
    assert_eq!(state(&place, "cursor", &[]).await, "edited");
    let done = place.run(["skill", "install", "cursor"]).await;
    assert!(done.code == Some(0) && done.out.contains("SKILL.md.holdfast-backup"), "{done:?}");
    assert_eq!(text(&place, &format!("{skill}.holdfast-backup")), "my own\n");
    ok(&place.run(["skill", "remove", "cursor"]).await);
    assert_eq!(files(&place).into_iter().collect::<Vec<_>>(), [(skill.to_owned(), b"my own\n".to_vec())]);

    // Changed after it was written: it stays, and the rest goes.
    fs::remove_file(place.path(skill)).expect("it is there");
    ok(&place.run(["skill", "install", "cursor"]).await);
    let changed = text(&place, skill).replace("Unity", "Unity 6");
    place.write(skill, &changed);
    let kept = place.run(["skill", "remove", "cursor"]).await;
    assert!(kept.code == Some(1) && kept.err.contains("was changed since holdfast wrote it, so it stays"), "{kept:?}");
    assert!(kept.out.contains("still has a part of the skill") && !kept.out.contains("no longer"), "{kept:?}");
    assert_eq!(files(&place).into_iter().collect::<Vec<_>>(), [(skill.to_owned(), changed.into_bytes())]);
}

#[tokio::test]
async fn what_a_person_wrote_later_is_not_lost_and_what_was_there_before_stays() {
    let place = place_with(&CASES[0]);
    let skill = ".claude/skills/holdfast/SKILL.md";
    for (own, code) in [("first\n", 0), ("second\n", 1)] {
        place.write(skill, own);
        let done = place.run(["skill", "install", "claude-code"]).await;
        assert_eq!(done.code, Some(code), "{done:?}");
    }
    assert_eq!(text(&place, skill), "second\n");
    assert_eq!(text(&place, &format!("{skill}.holdfast-backup")), "first\n");

    // A copy without a file is a person's, and so are the folders and the setting.
    let place = place_with(&CASES[3]);
    let copy = ".agents/skills/holdfast/SKILL.md.holdfast-backup";
    let config = "[sandbox_workspace_write]\nnetwork_access = true\n";
    place.write(copy, "a copy\n");
    place.write(".codex/config.toml", config);
    fs::create_dir_all(place.path(".agents/skills/holdfast/references")).expect("writable");
    let open = place.run(["skill", "install", "codex", "--allow-network"]).await;
    assert!(open.code == Some(0) && open.out.contains("open already"), "{open:?}");
    let told = place.run(["skill", "remove", "codex"]).await;
    assert!(told.code == Some(0) && told.out.contains("as it did before"), "{told:?}");
    let stays = place.run(["skill", "remove", "codex", "--allow-network"]).await;
    assert!(stays.code == Some(1) && stays.err.contains("so it stays"), "{stays:?}");
    assert!(stays.out.contains("SKILL.md.holdfast-backup stays"), "{stays:?}");
    assert!(place.path(".agents/skills/holdfast/references").is_dir());
    let expected = [(copy, "a copy\n"), (".codex/config.toml", config)];
    let expected = expected.map(|(file, text)| (file.to_owned(), text.as_bytes().to_vec()));
    assert_eq!(files(&place).into_iter().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn all_clients_that_are_here_get_it_and_no_other() {
    let place = place_with(&CASES[0]);
    fs::create_dir_all(place.path(".gemini")).expect("writable");
    let all = place.run(["skill", "install", "--all"]).await;
    assert!(all.code == Some(0) && all.out.matches("has the skill.").count() == 2, "{all:?}");
    assert_eq!(files(&place).len(), 2 * FILES.len());
    let gone = place.run(["skill", "remove", "--all"]).await;
    assert!(gone.code == Some(0) && files(&place).is_empty(), "{gone:?}");

    let absent = place.run(["skill", "install", "cursor"]).await;
    assert!(absent.code == Some(1) && absent.err.contains("--create"), "{absent:?}");
    let unable = place.run(["skill", "install", "zed"]).await;
    assert!(unable.code == Some(1) && unable.err.contains("holdfast skill show"), "{unable:?}");
    let misspelt = place.run(["skill", "install", "claude-code", "codx"]).await;
    assert!(misspelt.code == Some(2) && misspelt.err.contains("did you mean `codex`?"), "{misspelt:?}");
    let nobody = place.run(["skill", "install"]).await;
    assert!(nobody.code == Some(2) && nobody.err.contains("--all") && nobody.out.contains("gemini"), "{nobody:?}");
    let other = place.run(["skill", "install", "gemini", "--allow-network"]).await;
    assert!(other.code == Some(2) && other.err.contains("for Codex"), "{other:?}");
    assert!(files(&place).is_empty());
    let made = place.run(["skill", "install", "cursor", "--create"]).await;
    assert!(made.code == Some(0) && files(&place).len() == FILES.len(), "{made:?}");
}

#[tokio::test]
async fn a_client_that_finds_the_skill_a_second_time_is_told() {
    let place = place_with(&CASES[0]);
    fs::create_dir_all(place.path(".cursor")).expect("writable");
    fs::create_dir_all(place.path(".copilot")).expect("writable");
    ok(&place.run(["skill", "install", "claude-code"]).await);
    let twice = place.run(["skill", "install", "cursor"]).await;
    assert!(twice.code == Some(0) && twice.out.contains("may list the skill twice"), "{twice:?}");
    let shared = place.run(["skill", "install", "copilot-cli"]).await;
    assert!(shared.out.contains("reads the same folder"), "{shared:?}");
}

#[tokio::test]
async fn the_network_of_codex_is_opened_only_by_the_flag_and_closed_byte_for_byte() {
    let place = place_with(&CASES[3]);
    place.write(".codex/config.toml", CONFIG);
    let told = place.run(["skill", "install", "codex"]).await;
    assert!(told.code == Some(0) && told.out.contains("--allow-network") && told.out.contains("127.0.0.1"), "{told:?}");
    assert_eq!(text(&place, ".codex/config.toml"), CONFIG, "without the flag nothing of it is changed");

    let dry = place.run(["skill", "install", "codex", "--allow-network", "--dry-run"]).await;
    assert!(dry.code == Some(0) && dry.out.contains("+network_access = true"), "{dry:?}");
    assert_eq!(text(&place, ".codex/config.toml"), CONFIG);
    let open = place.run(["skill", "install", "codex", "--allow-network"]).await;
    assert!(
        open.code == Some(0) && open.out.contains("The network is open") && open.out.contains("every command"),
        "{open:?}"
    );
    let opened = format!("{CONFIG}network_access = true\n");
    assert_eq!(text(&place, ".codex/config.toml"), opened);
    let again = place.run(["skill", "install", "codex", "--allow-network"]).await;
    assert!(again.code == Some(0) && again.out.contains("open already"), "{again:?}");

    let left = place.run(["skill", "remove", "codex"]).await;
    assert!(left.code == Some(0) && left.out.contains("still opens the network"), "{left:?}");
    assert_eq!(text(&place, ".codex/config.toml"), opened);
    let closed = place.run(["skill", "remove", "codex", "--allow-network"]).await;
    assert!(closed.code == Some(0) && closed.out.contains("The network is closed"), "{closed:?}");
    let expected = [(".codex/config.toml".to_owned(), CONFIG.as_bytes().to_vec())];
    assert_eq!(files(&place).into_iter().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn the_network_of_codex_beside_an_entry_of_the_server_and_in_files_of_every_kind() {
    for before in [None, Some(""), Some("model = \"o5\"\n"), Some(CONFIG)] {
        let place = place_with(&CASES[3]);
        if let Some(before) = before {
            place.write(".codex/config.toml", before);
        }
        ok(&place.run(["setup", "codex"]).await);
        let with_server = text(&place, ".codex/config.toml");
        ok(&place.run(["skill", "install", "codex", "--allow-network"]).await);
        let both = text(&place, ".codex/config.toml");
        assert!(both.contains("network_access = true") && both.contains("[mcp_servers.holdfast]"), "{both}");
        ok(&place.run(["skill", "remove", "codex", "--allow-network"]).await);
        let closed = text(&place, ".codex/config.toml");
        assert!(!closed.contains("network_access = true"), "{closed}");
        // A table that is the user's own keeps the switch, off.
        let expected = with_server.replace("# mine too\n", "# mine too\nnetwork_access = false\n");
        assert!(closed == with_server || closed == expected, "{before:?}:\n{closed}");
        ok(&place.run(["setup", "codex", "--remove"]).await);
    }
    // Nothing was there, so nothing stays.
    let place = place_with(&CASES[3]);
    ok(&place.run(["skill", "install", "codex", "--allow-network"]).await);
    ok(&place.run(["skill", "remove", "codex", "--allow-network"]).await);
    assert!(files(&place).is_empty(), "{:?}", files(&place));
}

#[tokio::test]
async fn where_profiles_decide_or_the_file_is_broken_the_network_stays_as_it_is() {
    let profiles = "default_permissions = \"mine\"\n";
    for (config, says) in
        [(profiles, "permissions.NAME.network"), ("sandbox_workspace_write = 3\n", "not a map"), ("[", "line 1")]
    {
        let place = place_with(&CASES[3]);
        place.write(".codex/config.toml", config);
        let refused = place.run(["skill", "install", "codex", "--allow-network"]).await;
        assert!(refused.code == Some(1) && refused.err.contains(says), "{config}: {refused:?}");
        assert!(refused.out.contains("network_access = true"), "what can be pasted is shown: {refused:?}");
        assert_eq!(text(&place, ".codex/config.toml"), config);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_out_of_the_project_is_not_followed() {
    let place = Place::new();
    let project = place.project("Castle");
    fs::create_dir_all(place.path("else")).expect("writable");
    std::os::unix::fs::symlink(place.path("else"), project.join(".claude")).expect("writable");
    let named = project.to_str().expect("Unicode");
    let refused = place.run(["skill", "install", "claude-code", "--project", named]).await;
    assert!(refused.code == Some(1) && refused.err.contains("lies outside of the project"), "{refused:?}");
    assert!(files(&place).is_empty(), "{:?}", files(&place).keys());
}
