//! No project is known, or the project has no package: each is named as that wherever somebody reads, with what helps, and
//! never as an editor that is closed. With the real program.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::path::Path;

use holdfast_fake_unity::Package;
use serde_json::{Value, json};

use crate::binary::{Place, Server, finish, text, words};

/// What must not be said where it does not help.
const FALSE: [&str; 3] =
    ["open the project in Unity; the same call works then", "no Unity Editor with a bridge", "or wait again"];

fn says(told: &str, wanted: &[&str]) {
    for word in wanted {
        assert!(told.contains(word), "{word:?} is missing: {told}");
    }
    for word in FALSE {
        assert!(!told.contains(word), "{told}");
    }
}

/// Starts the gateway of this client in a folder.
async fn server(place: &Place, folder: &Path, client: &str) -> Server {
    let mut command = place.command(["serve"]);
    command.current_dir(folder);
    Server::open_as(command, client).await
}

/// Checks every text about a session whose calls cannot run: status, calls, the wait for Unity, and both prompts.
async fn told_everywhere(server: &mut Server, why: &str, summary: &str, next: &str) -> Value {
    let status = server.status_that("the cause", |status| status["editor"]["why"] == why).await;
    says(status["summary"].as_str().unwrap(), &[summary]);
    says(status["next"].as_str().unwrap(), &[next]);
    assert_eq!(status["package"], Value::Null, "{status:#}");
    assert!(!status["problems"].as_array().unwrap().is_empty(), "{status:#}");
    says(words(&server.call("compile", json!({})).await), &["Not executed: ", summary, next, "was not sent to Unity"]);
    // It waits for nothing that does not come by itself: the client here gives up long before this time.
    let waited = server.call("holdfast_wait_ready", json!({"timeout_seconds": 120})).await;
    assert_eq!(waited["isError"], true);
    says(words(&waited), &["Not ready", summary, next]);
    for prompt in ["fix-compile-errors", "why-is-unity-silent"] {
        let told = server.request("prompts/get", json!({"name": prompt})).await;
        says(told["result"]["messages"][0]["content"]["text"].as_str().unwrap(), &[summary, next]);
    }
    status
}

#[tokio::test]
async fn a_project_without_a_package_is_told_as_that() {
    let place = Place::new();
    let project = place.project("Bare");
    let mut bare = server(&place, &project, "claude-code").await;
    let next = format!("`holdfast unity install` in {}", text(&project));
    told_everywhere(&mut bare, "no_package", "the project has no Unity package that holdfast supports", &next).await;

    // A package that holdfast does not speak is named.
    let manifest = json!({"dependencies": {"com.ivanmurzak.unity.mcp": "0.20.0"}});
    place.write("Other/Packages/manifest.json", manifest.to_string());
    let other = place.project("Other");
    let mut other = server(&place, &other, "claude-code").await;
    let told = words(&other.call("compile", json!({})).await).to_owned();
    says(&told, &["IvanMurzak", "holdfast unity install"]);

    // A person at a terminal.
    let called = place.run(["call", "compile", "--timeout", "1", "--project", text(&project)]).await;
    assert_eq!(called.code, Some(3), "{called:?}");
    says(&called.err, &["has no Unity package", "holdfast unity install"]);
    let listed = place.run(["tools", "--project", text(&project)]).await;
    says(&listed.out, &["(no package)", "holdfast unity install"]);
    assert!(!listed.out.contains("Open the project in Unity;"), "{listed:?}");
}

#[tokio::test]
async fn a_package_that_is_installed_meanwhile_ends_that_cause() {
    let place = Place::new();
    let project = place.project("Bare");
    let mut bare = server(&place, &project, "claude-code").await;
    bare.status_that("no package", |status| status["editor"]["why"] == "no_package").await;
    let package = Package::without_a_journal();
    let (name, version) = package.facts.manifest;
    place.write("Bare/Packages/manifest.json", json!({"dependencies": {name: version}}).to_string());
    let status = bare.status_that("the editor is closed", |status| status["editor"]["why"] == "not_running").await;
    assert_eq!(status["package"]["dialect"], package.name, "{status:#}");
}

#[tokio::test]
async fn a_session_without_a_project_is_told_as_that() {
    let place = Place::new();
    let home = place.path("elsewhere");
    let summary = "hich Unity project is meant";
    let mut session = server(&place, &home, "claude-code").await;
    let next = "`holdfast setup claude-code --project DIR`";
    let status = told_everywhere(&mut session, "project_unknown", summary, next).await;
    says(status["problems"][0].as_str().unwrap(), &["There is no Unity project in", "elsewhere"]);

    // A client that is not known by its name.
    let mut nobody = server(&place, &home, "nobody knows me").await;
    says(words(&nobody.call("compile", json!({})).await), &["`holdfast setup CLIENT --project DIR`"]);

    let mut call = place.command(["call", "compile", "--timeout", "1"]);
    call.current_dir(&home);
    let called = finish(call, b"").await;
    assert_eq!(called.code, Some(3), "{called:?}");
    says(&called.err, &[summary, "`holdfast call TOOL --project DIR`"]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_working_directory_that_was_deleted_is_told() {
    let place = Place::new();
    let mut command = tokio::process::Command::new("/bin/sh");
    let gone = place.path("gone");
    std::fs::create_dir(&gone).unwrap();
    let plain = place.command(["serve"]);
    command
        .args(["-c", "rmdir ../gone; exec \"$0\" serve", text(Path::new(plain.as_std().get_program()))])
        .env_clear()
        .envs(plain.as_std().get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(&gone)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .kill_on_drop(true);
    let mut session = Server::open_as(command, "claude-code").await;
    let next = "`holdfast setup claude-code --project DIR`";
    let status = told_everywhere(&mut session, "project_unknown", "hich Unity project is meant", next).await;
    says(status["problems"][0].as_str().unwrap(), &["no working directory", "deleted"]);
}

/// What the client's model is told at the beginning.
#[tokio::test]
async fn the_instructions_are_short_and_take_no_side_while_no_project_is_known() {
    let place = Place::new();
    let project = place.project("Castle");
    let mut lengths = Vec::new();
    for folder in [place.path("elsewhere"), project] {
        let mut server = server(&place, &folder, "claude-code").await;
        let told = server.request("initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}})).await;
        let told = told["result"]["instructions"].as_str().unwrap().to_owned();
        for word in ["not executed", "outcome unknown", "still running"] {
            assert!(told.contains(word), "{told}");
        }
        assert_eq!(told.starts_with("If a Unity project is open here"), lengths.is_empty(), "{told}");
        lengths.push(told.len());
    }
    assert!(lengths[0] * 2 < lengths[1], "{lengths:?}");
}
