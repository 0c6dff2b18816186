//! Edge cases of the commands: output that cannot be written, results of any size, empty variables, flags in any order, and the
//! text for an unknown name.

use crate::binary::{Done, Place, Unity, finish, text};
use holdfast::protocol::dialect;
use holdfast_fake_unity::Package;
use serde_json::{Value, json};

/// Runs a command that writes its stdout to a full disk.
#[cfg(target_os = "linux")]
async fn into_a_full_disk(place: &Place, words: &[&str]) -> Done {
    let mut command = place.command(words.iter().copied());
    command.stdout(std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has one"));
    finish(command, b"").await
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_cannot_be_written_is_told_and_never_counts_as_done() {
    let place = Place::new();
    let project = place.path("Castle");
    let unity = Unity::of(&place, &project).await;
    let at = unity.at();
    for words in [
        &["call", "echo", r#"{"text":"x"}"#, "--port", &at][..],
        &["call", "echo", "--json", "--port", &at],
        &["tools", "--port", &at],
        &["status", "--json", "--project", text(&project)],
        &["doctor", "--project", text(&project)],
        &["setup", "--list"],
        &["completions", "bash"],
        &["--help"],
        &["call", "--help"],
        &["--version"],
    ] {
        let done = into_a_full_disk(&place, words).await;
        assert_eq!(done.code, Some(74), "{words:?}: {done:?}");
        assert!(done.err.contains("could not be written to stdout (No space left on device"), "{words:?}: {done:?}");
    }
    // If the command itself fails too, it keeps the exit code of that failure.
    let failed = into_a_full_disk(&place, &["call", "fail", "--json", "--port", &at]).await;
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.err.contains("could not be written to stdout"), "{failed:?}");
    unity.quit().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_call_whose_result_was_lost_says_that_it_ran() {
    let place = Place::new();
    let mut unity = Unity::start(&place, &[]).await;
    let done = into_a_full_disk(&place, &["call", "count", r#"{"key":"k"}"#, "--port", &unity.at()]).await;
    assert!(done.err.contains("The tool ran") && done.err.contains("do not repeat"), "{done:?}");
    unity.say("stats").await;
    assert_eq!(unity.hear("stats").await["stats"]["runs"]["k"], 1);
    unity.quit().await;
}

#[tokio::test]
async fn a_reader_that_went_away_is_no_error() {
    let place = Place::new();
    for words in [&["completions", "bash"][..], &["--help"], &["setup", "--list"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = place.command(words.iter().copied());
        command.stdout(writer);
        let done = finish(command, b"").await;
        assert_eq!((done.code, &*done.err), (Some(0), ""), "{words:?}");
    }
}

#[tokio::test]
async fn call_prints_a_result_of_any_size_whole() {
    let place = Place::new();
    let project = place.path("Castle");
    let unity = Unity::of(&place, &project).await;
    let size = 7_000_000;
    let arguments = format!(r#"{{"n":{size}}}"#);
    let call = |words: &[&str]| {
        let words: Vec<String> = ["call", "big", &arguments, "--project", text(&project)]
            .iter()
            .chain(words)
            .map(ToString::to_string)
            .collect();
        let place = &place;
        async move { place.run(words.iter().map(String::as_str)).await }
    };
    // The limits of the named client do not apply to this command.
    for words in [&[][..], &["--client-name", "codex-mcp-client"]] {
        let plain = call(words).await;
        assert!(plain.code == Some(0) && plain.err.lines().count() == 1, "{words:?}: {}", plain.err);
        assert!(plain.out.len() > size, "{} bytes: {:.300}", plain.out.len(), plain.out);
        assert!(plain.out.starts_with('{') && plain.json().is_object(), "{:.300}", plain.out);
    }
    let whole = call(&["--json"]).await.json();
    assert!(whole["result"]["content"][0]["text"].as_str().is_some_and(|text| text.len() > size));
    assert!(!project.join("Logs/holdfast").exists(), "nothing is left in the project");
    unity.quit().await;
}

#[tokio::test]
async fn a_tool_of_holdfasts_own_is_answered_when_the_editor_was_met() {
    let place = Place::new();
    for dialect in [Package::without_a_journal().name, Package::with_a_journal().name] {
        let project = place.path(dialect);
        let unity = Unity::start(&place, &["--project", text(&project), "--dialect", dialect]).await;
        let status = place.run(["call", "holdfast_status", "--project", text(&project)]).await.json();
        assert_eq!(
            (&status["editor"]["ready"], &status["project"]),
            (&json!(true), &json!(text(&project))),
            "{status}"
        );
        assert!(status["tools"]["count"].as_u64().is_some_and(|count| count > 0), "{status}");
        unity.quit().await;
    }
    let nobody = place.project("Empty");
    let status = place.run(["call", "holdfast_status", "--project", text(&nobody)]).await;
    assert_eq!((status.code, &status.json()["editor"]["ready"]), (Some(0), &json!(false)));
}

#[tokio::test]
async fn a_mistake_of_the_caller_is_told_at_once_and_needs_no_editor() {
    let place = Place::new();
    let nobody = place.project("Empty");
    for (words, told) in [
        (&["call", "holdfast_result"][..], "call_id"),
        (&["call", "holdfast_calls", r#"{"limit":0}"#], "`limit`"),
        (&["call", " "], "name is empty"),
        (&["call", "compile", "--timeout", "-1"], "-1"),
        (&["call", "compile", "--config", "none.toml"], "create it, or name the right file"),
    ] {
        let done = place.run(words.iter().copied().chain(["--project", text(&nobody)])).await;
        assert_eq!((done.code, &*done.out), (Some(2), ""), "{words:?}: {}", done.err);
        assert!(done.err.contains(told), "{words:?}: {}", done.err);
    }
    let misspelt = place.run(["call", "holdfast_stats", "--timeout", "1", "--project", text(&nobody)]).await;
    assert_eq!(misspelt.code, Some(3));
    assert!(misspelt.err.contains("did you mean holdfast's own tool `holdfast_status`?"), "{}", misspelt.err);
}

fn says(findings: &Value, level: &str, words: &str) -> bool {
    let list = findings["findings"].as_array().expect("a list");
    list.iter().any(|one| {
        one["level"] == level
            && [&one["says"], &one["mend"]].iter().any(|text| text.as_str().is_some_and(|text| text.contains(words)))
    })
}

#[tokio::test]
async fn doctors_word_never_leads_a_working_project_into_ambiguity() {
    let place = Place::new();
    let project = place.path("Castle");
    let unity = Unity::of(&place, &project).await;
    let doctor = || place.run(["doctor", "--json", "--project", text(&project)]);
    assert_eq!(place.run(["call", "echo", "--project", text(&project)]).await.code, Some(0));

    let well = doctor().await.json();
    assert_eq!(well["problems"], 0, "{well:#}");
    assert!(!well.to_string().contains("unity install"), "no command that would break it: {well:#}");
    assert!(says(&well, "ok", "uLoopMCP (Unity CLI Loop) 2.2.0"), "{well:#}");

    let check = place.run(["unity", "install", "--check", "--json", "--project", text(&project)]).await.json();
    assert_eq!(check["mend"], Value::Null, "{check}");
    let refused = place.run(["unity", "install", "--project", text(&project)]).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    for word in ["uLoopMCP (Unity CLI Loop) 2.2.0", "--dialect", "--beside", "Nothing was changed"] {
        assert!(refused.err.contains(word), "no {word}: {refused:?}");
    }
    assert!(!project.join("Packages/dev.holdfast.unity").exists());
    assert_eq!(place.run(["call", "echo", "--project", text(&project)]).await.code, Some(0), "it works as before");

    let beside = place.run(["unity", "install", "--beside", "--project", text(&project)]).await;
    assert!(beside.code == Some(0) && beside.out.contains("holdfast calls neither"), "{beside:?}");
    let both = doctor().await.json();
    assert_eq!(both["problems"], 1, "the packages are the problem, and nothing that follows from them: {both:#}");
    assert!(says(&both, "problem", "packages of several protocols"), "{both:#}");
    assert!(!both.to_string().contains("another project"), "the list on disk is this project's: {both:#}");
    let [ours, other] = [Package::with_a_journal().name, Package::without_a_journal().name];
    let named = place.run(["call", "echo", "--dialect", other, "--project", text(&project)]).await;
    assert_eq!(named.code, Some(0), "{named:?}");
    let status = place.run(["status", "--project", text(&project)]).await.out;
    assert!(status.contains(&format!("several: {ours}, {other}")), "{status}");
    unity.quit().await;
}

#[tokio::test]
async fn a_package_that_is_known_and_not_spoken_is_named() {
    for (id, title) in [("com.ivanmurzak.unity.mcp", "AI Game Developer"), ("com.gamelovers.mcp-unity", "MCP Unity")] {
        let place = Place::new();
        let project = place.project("Castle");
        let manifest = json!({"dependencies": {id: "https://github.com/x/y.git"}});
        place.write("Castle/Packages/manifest.json", manifest.to_string());
        let doctor = place.run(["doctor", "--json", "--project", text(&project)]).await.json();
        assert!(says(&doctor, "problem", title) && says(&doctor, "problem", id), "{doctor:#}");
        let call = place.run(["call", "compile", "--project", text(&project)]).await;
        assert!(call.code == Some(3) && call.err.contains(id) && call.err.contains("does not speak"), "{call:?}");
        let status = place.run(["status", "--project", text(&project)]).await.out;
        assert!(status.contains("none that holdfast supports") && status.contains(title), "{status}");
        // Our own package can be installed in addition to it.
        let installed = place.run(["unity", "install", "--project", text(&project)]).await;
        assert_eq!(installed.code, Some(0), "{installed:?}");
        let doctor = place.run(["doctor", "--json", "--project", text(&project)]).await.json();
        assert!(!says(&doctor, "problem", id), "{doctor:#}");
    }
}

/// A project that goes from uLoopMCP 2 to its successor needs nothing but a sentence.
#[tokio::test]
async fn unity_cli_loop_3_is_used_by_itself_and_settings_of_version_2_are_told_to_be_of_no_use() {
    let place = Place::new();
    let project = place.project("Castle");
    let package = json!({"name": "io.github.hatayama.uloopmcp", "version": "3.0.0-beta.58"});
    place.write("Castle/Packages/io.github.hatayama.uloopmcp/package.json", package.to_string());
    place.write("Castle/UserSettings/UnityMcpSettings.json", r#"{"customPort":8700}"#);
    let doctor = place.run(["doctor", "--json", "--project", text(&project)]).await.json();
    assert!(says(&doctor, "ok", "Unity CLI Loop 3") && says(&doctor, "ok", "3.0.0-beta.58"), "{doctor:#}");
    assert!(says(&doctor, "note", "nothing has to be set") && says(&doctor, "note", "nothing listens"), "{doctor:#}");
    let status = place.run(["status", "--json", "--project", text(&project)]).await.json();
    let port = &status["here"]["ports"][0];
    assert!(port["port"].is_null() && port["local_socket"].as_str().unwrap().contains("UnityCliLoop-"), "{port:#}");
    let call = place.run(["call", "compile", "--project", text(&project)]).await;
    assert_eq!(call.code, Some(3), "{call:?}");
    // The dialect of its predecessor, if somebody named that one.
    let forced = ["doctor", "--json", "--dialect", dialect::FALLBACK[0].name(), "--project", text(&project)];
    let forced = place.run(forced).await.json();
    assert!(says(&forced, "problem", "leave --dialect away"), "{forced:#}");
}

#[tokio::test]
async fn a_project_without_a_package_is_told_as_that() {
    let place = Place::new();
    let project = place.project("Castle");
    let call = place.run(["call", "compile", "--project", text(&project)]).await;
    assert!(call.code == Some(3) && call.err.contains("holdfast unity install"), "{call:?}");
}

#[tokio::test]
async fn an_empty_variable_is_one_that_is_not_set() {
    let place = Place::new();
    let project = place.path("Castle");
    let unity = Unity::of(&place, &project).await;
    let help = place.run(["serve", "--help"]).await.out;
    let twins: Vec<&str> = help.split("[env: ").skip(1).filter_map(|rest| rest.split(['=', ']']).next()).collect();
    assert!(twins.len() >= 14, "{twins:?}");
    let named = [
        "UNITY_TCP_PORT",
        "UNITY_PORT",
        "UNITY_HOST",
        "HOLDFAST_ALLOW",
        "HOLDFAST_DENY",
        "MCP_CLIENT_NAME",
        "AI_LOGGER_URL",
    ];
    for name in twins.iter().copied().chain(named) {
        let mut command = place.command(["call", "echo", "--project", text(&project)]);
        command.env(name, "");
        let done = finish(command, b"").await;
        assert!(done.code == Some(0) && done.err.lines().count() == 1, "{name}: {done:?}");
    }
    // All variables are empty at once, for the server and for the commands that find a project by themselves.
    for words in [&["serve"][..], &["unity", "install", "--check"], &["doctor"]] {
        let mut command = place.command(words.iter().copied());
        command.current_dir(&project);
        for name in twins.iter().copied().chain(named) {
            command.env(name, "");
        }
        let done = finish(command, b"").await;
        assert_ne!(done.code, Some(2), "{words:?}: {done:?}");
        assert!(!done.err.contains("error:"), "{words:?}: {done:?}");
    }
    unity.quit().await;
}

#[tokio::test]
async fn flags_stand_before_or_behind_the_subcommand() {
    let place = Place::new();
    let project = place.path("Castle");
    let unity = Unity::of(&place, &project).await;
    let at = unity.at();
    for words in [
        &["--port", &at, "call", "echo", r#"{"text":"x"}"#][..],
        &["--project", text(&project), "call", "echo", r#"{"text":"x"}"#],
        &["--log=error", "call", "--port", &at, "echo", r#"{"text":"x"}"#],
        &["--json", "call", "echo", r#"{"text":"x"}"#, "--port", &at],
    ] {
        let done = place.run(words.iter().copied()).await;
        assert!(done.code == Some(0) && done.out.contains("\"Echo\""), "{words:?}: {done:?}");
    }
    let status = place.run(["--project", text(&project), "--json", "status"]).await;
    assert_eq!((status.code, &status.json()["reachable"]), (Some(0), &json!(true)));
    let check = place.run(["--project", text(&project), "unity", "install", "--check"]).await;
    assert!(check.code == Some(1) && check.out.contains("is not installed"), "{check:?}");
    let nonsense = place.run(["--port", &at, "nonsense"]).await;
    assert!(nonsense.code == Some(2) && nonsense.err.contains("unrecognized subcommand 'nonsense'"), "{nonsense:?}");
    // A flag that a subcommand does not accept is still refused by name.
    let refused = place.run(["--port", &at, "setup", "--list"]).await;
    assert!(refused.code == Some(2) && refused.err.contains("--port"), "{refused:?}");
    unity.quit().await;
}

#[tokio::test]
async fn tools_counts_what_it_lists() {
    let place = Place::new();
    let project = place.path("Castle");
    let unity = Unity::of(&place, &project).await;
    let counted = |out: &str| {
        let said: usize = out.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_default();
        let listed = out.lines().skip(1).take_while(|line| line.starts_with("  ")).count();
        assert_eq!(said, listed, "{out}");
    };
    counted(&place.run(["tools", "--project", text(&project)]).await.out);
    unity.quit().await;
    counted(&place.run(["tools", "--project", text(&project)]).await.out);
}

#[tokio::test]
async fn a_client_that_is_not_known_is_named_with_what_may_be_meant() {
    let place = Place::new();
    let project = place.path("Castle");
    let unity = Unity::of(&place, &project).await;
    for (name, proposed) in [("foo", "claude-code"), ("clade-code", "mean claude-code?"), ("Curser", "cursor")] {
        let done = place.run(["tools", "--project", text(&project), "--client", name]).await;
        assert_eq!(done.code, Some(0), "{done:?}");
        assert!(done.err.contains(&format!("\"{name}\"")) && done.err.contains(proposed), "{done:?}");
    }
    for name in ["codex", "codex-mcp-client", "claude-code"] {
        let done = place.run(["tools", "--project", text(&project), "--client", name]).await;
        assert_eq!((done.code, &*done.err), (Some(0), ""), "{name}");
    }
    unity.quit().await;
}

#[tokio::test]
async fn help_is_for_people_and_colours_are_no_finding() {
    let place = Place::new();
    for words in [
        &["--help"][..],
        &["serve", "--help"],
        &["tools", "--help"],
        &["call", "--help"],
        &["status", "--help"],
        &["doctor", "--help"],
        &["setup", "--help"],
        &["unity", "install", "--help"],
        &["demo", "--help"],
        &["fake-unity", "--help"],
    ] {
        let help = place.run(words.iter().copied()).await.out;
        assert!(!help.contains("[`") && !help.contains("::"), "{words:?}: {help}");
    }
    let mut command = place.command(["doctor"]);
    command.env("NO_COLOR", "1");
    let done = finish(command, b"").await;
    assert!(!done.out.contains("NO_COLOR"), "{done:?}");
}

/// Does the same as [`Place::run`], in this folder.
async fn run_in(place: &Place, folder: &std::path::Path, words: &[&str]) -> Done {
    let mut command = place.command(words.iter().copied());
    command.current_dir(folder);
    finish(command, b"").await
}

/// Returns what `doctor` reports about the project.
async fn of_the_project(place: &Place, folder: &std::path::Path) -> String {
    let found = run_in(place, folder, &["doctor", "--json"]).await.json();
    let found = found["findings"].as_array().expect("a list").iter().find(|one| one["about"] == "project").cloned();
    let found = found.expect("it is told of");
    found["says"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_project_below_the_working_directory_is_used_by_every_command() {
    let place = Place::new();
    let (root, project) = (place.path("mono"), place.project("mono/unity/Proj"));
    let unity = Unity::of(&place, &project).await;
    let done = run_in(&place, &root, &["call", "echo", r#"{"text":"from above"}"#]).await;
    assert!(done.code == Some(0) && done.out.contains("from above"), "{done:?}");
    let status = run_in(&place, &root, &["status", "--json"]).await;
    assert_eq!((status.code, &status.json()["here"]["project"]), (Some(0), &json!(text(&project))), "{status:?}");
    let told = of_the_project(&place, &root).await;
    assert!(told.contains(&format!("{}, below the working directory", text(&project))), "{told}");
    let install = run_in(&place, &root, &["unity", "install", "--check", "--json"]).await;
    assert_eq!(install.json()["project"], text(&project), "{install:?}");
    // With a second project that has no editor, the project with the editor is still used.
    place.project("mono/samples/Small");
    let done = run_in(&place, &root, &["call", "echo", r#"{"text":"the one that runs"}"#]).await;
    assert!(done.code == Some(0) && done.out.contains("the one that runs"), "{done:?}");
    unity.quit().await;
}

#[tokio::test]
async fn several_projects_below_the_working_directory_are_listed_with_the_words_that_name_them() {
    let place = Place::new();
    let (root, first, second) = (place.path("mono"), place.project("mono/First"), place.project("mono/b/Second Part"));
    let named = [format!("--project {}", text(&first)), format!("--project \"{}\"", text(&second))];
    let call = run_in(&place, &root, &["call", "echo", "{}"]).await;
    let status = run_in(&place, &root, &["status"]).await;
    let install = run_in(&place, &root, &["unity", "install"]).await;
    let doctor = run_in(&place, &root, &["doctor"]).await;
    for (done, told) in [(&call, &call.err), (&status, &status.out), (&install, &install.err), (&doctor, &doctor.out)] {
        assert_ne!(done.code, Some(0), "{done:?}");
        for words in &named {
            assert!(told.contains(words), "{words}: {done:?}");
        }
    }
    assert!(std::fs::read_dir(first.join("Packages")).expect("there").next().is_none(), "nothing was placed");
}

#[tokio::test]
async fn a_home_is_not_searched_for_projects() {
    let place = Place::new();
    place.project("Castle");
    let told = of_the_project(&place, &place.path("")).await;
    assert!(told.contains("No Unity project is around"), "{told}");
    assert!(told.contains("below it none was looked for, because it is a home folder or holds one"), "{told}");
    assert!(!told.contains("levels below"), "{told}");
    let install = run_in(&place, &place.path(""), &["unity", "install"]).await;
    assert!(install.err.contains("below it none was looked for, because it is a home folder"), "{install:?}");
}

#[tokio::test]
async fn dashboards_are_written_once_and_replace_no_other_file() {
    let place = Place::new();
    let folder = place.path("dashboards");
    let write = ["dashboards", "--write", text(&folder)];
    let listed = place.run(["dashboards"]).await;
    assert_eq!((listed.code, folder.exists()), (Some(0), false), "{listed:?}");
    let first = place.run(write).await;
    assert_eq!(first.code, Some(0), "{first:?}");
    for name in listed.out.lines().filter(|line| line.contains('/') && !line.contains(' ')) {
        assert!(folder.join(name).is_file(), "{name}");
    }
    let config = std::fs::read_to_string(folder.join("prometheus/prometheus.yaml")).expect("it was written");
    let folder_in_json = json!(text(&place.path("state").join("metrics"))).to_string();
    assert!(config.contains(folder_in_json.trim_matches('"')), "{config}");
    let again = place.run(write).await;
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.out.contains("has all of it already") && !again.out.contains("earlier version"), "{again:?}");
    // A dashboard of an earlier version stays, and is told.
    let former = place.write("dashboards/grafana/overview.json", "{}");
    let told = place.run(write).await;
    assert!(told.out.contains("Of an earlier version: grafana/overview.json.") && former.is_file(), "{told:?}");
    // One file is changed and one is gone: without --force neither is written.
    let (rules, gone) = (folder.join("prometheus/alerts.yaml"), folder.join("grafana/connection-health.json"));
    std::fs::write(&rules, "groups: []\n").expect("writable");
    std::fs::remove_file(&gone).expect("it was written");
    let refused = place.run(write).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.err.contains("alerts.yaml") && refused.err.contains("--force"), "{refused:?}");
    assert_eq!((std::fs::read_to_string(&rules).ok().as_deref(), gone.exists()), (Some("groups: []\n"), false));
    let forced = place.run(["dashboards", "--force", "--write", text(&folder)]).await;
    assert_eq!(forced.code, Some(0), "{forced:?}");
    assert!(forced.out.contains("Wrote 2 of 4 files") && gone.is_file(), "{forced:?}");
    // What is no file is not waited for.
    #[cfg(unix)]
    {
        std::fs::remove_file(&gone).expect("it was written");
        nix::unistd::mkfifo(&gone, nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
        let failed = place.run(["dashboards", "--force", "--write", text(&folder)]).await;
        assert_eq!(failed.code, Some(1), "{failed:?}");
        assert!(failed.err.contains("is no file"), "{failed:?}");
    }
    // The folder's place is taken by a file.
    let taken = place.write("taken", "");
    let failed = place.run(["dashboards", "--write", text(&taken)]).await;
    assert_eq!(failed.code, Some(1), "{failed:?}");
}

#[tokio::test]
async fn doctor_tells_one_cause_once_leads_to_our_package_and_writes_nothing() {
    let place = Place::new();
    let project = place.project("Castle");
    place.write(
        "Castle/Packages/manifest.json",
        r#"{"dependencies":{"com.ivanmurzak.unity.mcp":"https://example.com/x"}}"#,
    );
    let doctor = async |words: &[&str]| {
        let mut command = place.command(words.iter().copied().chain(["--project", text(&project)]));
        command.env_remove("HOLDFAST_STATE_DIR");
        finish(command, b"").await
    };
    let found = doctor(&["doctor", "--json"]).await.json();
    let command = format!("holdfast unity install --project {}", text(&project));
    assert!(found["next"].as_str().is_some_and(|next| next.starts_with(&command)), "{found:#}");
    let about: Vec<&Value> = found["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|one| {
            one["level"] == "problem" && ["files", "package"].contains(&one["about"].as_str().unwrap_or_default())
        })
        .collect();
    assert_eq!(about.len(), 1, "{found:#}");
    assert!(!found.to_string().contains("own server"), "no advice to use another tool: {found:#}");

    assert_eq!(place.run(["unity", "install", "--project", text(&project)]).await.code, Some(0));
    let closed = doctor(&["doctor", "--json"]).await.json();
    assert!(says(&closed, "problem", "the package starts by itself (Window > Holdfast shows it)"), "{closed:#}");
    let shown = doctor(&["doctor"]).await.out;
    let (arrows, list) = (shown.matches("-> ").count(), shown.lines().filter(|line| line.contains(".  ")).count());
    assert_eq!((arrows, list), (2, 2), "one list: {shown}");
    assert!(shown.starts_with("2 things to mend.") && shown.matches("Next: ").count() == 1, "{shown}");
    for left in [".local", "state", "AppData"] {
        assert!(!place.path(left).exists(), "{left}");
    }
}

#[tokio::test]
async fn the_unity_package_has_a_status_and_is_removed_by_that_word() {
    let place = Place::new();
    let project = place.project("Castle");
    let unity = async |words: &[&str]| {
        place.run(["unity"].iter().chain(words).copied().chain(["--project", text(&project)])).await
    };
    assert_eq!(unity(&["status"]).await.code, Some(1), "not there yet");
    assert_eq!(unity(&["install"]).await.code, Some(0));
    assert_eq!(unity(&["status", "--json"]).await.json(), unity(&["install", "--check", "--json"]).await.json());
    assert_eq!(unity(&["status"]).await.code, Some(0));
    place.write("Castle/Packages/dev.holdfast.unity/package.json", "{}");
    let refused = unity(&["remove"]).await;
    assert!(refused.code == Some(1) && refused.err.starts_with("holdfast unity remove: "), "{refused:?}");
    assert_eq!(unity(&["remove", "--dry-run", "--force"]).await.code, Some(0));
    assert!(project.join("Packages/dev.holdfast.unity").exists());
    assert_eq!(unity(&["remove", "--force"]).await.code, Some(0));
    assert!(!project.join("Packages/dev.holdfast.unity").exists());
}

#[tokio::test]
async fn call_writes_the_picture_of_a_result_where_it_is_told_to() {
    let place = Place::new();
    let project = place.path("Castle");
    let unity = Unity::start(&place, &["--project", text(&project), "--dialect", "holdfast"]).await;
    let out = place.path("shot.png");
    let call = async |tool: &str, out: &std::path::Path| {
        place.run(["call", tool, "--out", text(out), "--project", text(&project)]).await
    };
    let done = call("picture", &out).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(std::fs::read(&out).expect("it is there").starts_with(b"\x89PNG"));
    assert!(done.out.contains("\"Width\"") && done.err.contains("wrote"), "{done:?}");
    let into = call("picture", &place.path("elsewhere")).await;
    assert!(into.code == Some(0) && place.path("elsewhere/picture-1.png").exists(), "{into:?}");
    let none = call("echo", &place.path("none.png")).await;
    assert!(none.code == Some(74) && none.err.contains("no image"), "{none:?}");
    let nowhere = call("picture", &place.path("no/such/shot.png")).await;
    assert!(nowhere.code == Some(2) && nowhere.err.contains("Nothing was sent to Unity"), "{nowhere:?}");
    unity.quit().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_home_that_can_have_no_files_refuses_nothing() {
    let place = Place::new();
    let project = place.path("Castle");
    let unity = Unity::of(&place, &project).await;
    let file = place.write("file", "");
    for home in ["/dev/null", text(&file), "relative", "/nonexistent"] {
        let mut command = place.command(["call", "echo", "--project", text(&project)]);
        command.env("HOME", home).env_remove("HOLDFAST_STATE_DIR");
        let done = finish(command, b"").await;
        assert_eq!(done.code, Some(0), "{home}: {done:?}");
    }
    assert!(!place.path("elsewhere/relative").exists(), "no home is made in the working directory");
    unity.quit().await;
}

#[tokio::test]
async fn a_name_with_a_servers_prefix_leads_to_the_tool_at_its_end() {
    let place = Place::new();
    let unity = Unity::start(&place, &[]).await;
    for (said, meant) in [
        ("mcp__holdfast__get-logs", "get-logs"),
        ("mcp_unityMCP_run_tests", "run-tests"),
        ("Holdfast/compile", "compile"),
        ("holdfast:compile", "compile"),
        ("holdfast.run-tests", "run-tests"),
        ("mcp__holdfast__holdfast_status", "holdfast_status"),
        ("executeDynamicCode", "execute-dynamic-code"),
        ("unity__read_console_logs", "get-logs"),
    ] {
        let done = place.run(["call", said, "--port", &unity.at()]).await;
        assert!(done.code == Some(2) && done.err.contains(&format!("Did you mean `{meant}`?")), "{said}: {done:?}");
    }
    unity.quit().await;
}
