//! `holdfast setup CLIENT --http`: what an entry says that connects to a hub, and that no token lands where others read it.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use super::reading::read;
use super::table::{CASES, Case, row};
use super::{files, layouts, text};
use crate::binary::{Done, Place, finish, within};

const URL: &str = "http://127.0.0.1:8787/mcp";
const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// The entry of each client as its documentation describes it, with the variable or the token; `None` if the client takes no URL.
fn expected(client: &str, url: &str) -> Option<Value> {
    let headers = |token: &str| json!({"Authorization": format!("Bearer {token}")});
    let (dollar, env) = ("${HOLDFAST_HTTP_TOKEN}", "${env:HOLDFAST_HTTP_TOKEN}");
    Some(match client {
        "claude-code" => json!({"type": "http", "url": url, "headers": headers(dollar)}),
        "cursor" => json!({"url": url, "headers": headers(env)}),
        "vscode" => json!({"type": "http", "url": url, "headers": headers(env)}),
        "copilot-cli" => json!({"type": "http", "url": url, "headers": headers(TOKEN), "tools": ["*"]}),
        "codex" => json!({"url": url, "bearer_token_env_var": "HOLDFAST_HTTP_TOKEN"}),
        "gemini" => json!({"httpUrl": url, "headers": headers(dollar)}),
        "windsurf" => json!({"serverUrl": url, "headers": headers(env)}),
        "cline" => json!({"type": "streamableHttp", "url": url, "headers": headers(TOKEN), "disabled": false}),
        "zed" | "amp" => json!({"url": url, "headers": headers(TOKEN)}),
        "opencode" => {
            json!({"type": "remote", "url": url, "headers": headers("{env:HOLDFAST_HTTP_TOKEN}"), "enabled": true})
        }
        "goose" => json!({
            "name": "holdfast", "type": "streamable_http", "enabled": true, "uri": url, "headers": headers(TOKEN), "timeout": 300,
        }),
        "kiro" => json!({"url": url, "headers": headers(dollar), "disabled": false}),
        "rider" => json!({"url": url, "requestInit": {"headers": headers(TOKEN)}}),
        _ => return None,
    })
}

/// A place with a client's file, and with the token of a hub.
fn place(case: &Case, content: &str) -> Place {
    let place = Place::new();
    place.write(case.file, content);
    let token = place.write("state/http_token", TOKEN);
    #[cfg(unix)]
    std::fs::set_permissions(token, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("it is ours");
    #[cfg(not(unix))]
    let _ = token;
    place
}

/// Those files of a place that the state folder does not have.
fn of_clients(place: &Place) -> BTreeMap<String, Vec<u8>> {
    files(place).into_iter().filter(|(name, _)| !name.starts_with("state/")).collect()
}

fn holds_token(bytes: &[u8]) -> bool {
    bytes.windows(TOKEN.len()).any(|bytes| bytes == TOKEN.as_bytes())
}

async fn run(place: &Place, arguments: &[&str]) -> Done {
    place.run(arguments.iter().copied()).await
}

#[tokio::test]
async fn an_entry_over_http_is_written_kept_and_taken_out_in_every_layout() {
    for case in CASES {
        let Some(entry) = expected(case.client, URL) else { continue };
        for (layout, before) in layouts(case, case.content) {
            let what = format!("{} {layout}", case.client);
            let place = place(case, &before);
            let done = run(&place, &["setup", case.client, &format!("--http={URL}")]).await;
            assert_eq!(done.code, Some(0), "{what}: {done:?}");
            assert!(
                done.out.contains(URL)
                    && done.out.contains("HOLDFAST_HTTP_TOKEN") != holds_token(text_of(&place, case))
            );
            assert!(!holds_token(done.out.as_bytes()), "{what}: {done:?}");
            let is = read(case.file, text_of(&place, case));
            assert_eq!(case.entry(&is), Some(&entry), "{what}: {}", text(text_of(&place, case)));

            let first = of_clients(&place);
            let again = run(&place, &["setup", case.client, &format!("--http={URL}")]).await;
            assert!(again.out.contains("is already set up"), "{what}: {again:?}");
            assert_eq!(of_clients(&place), first, "{what}: a second run changes nothing");
            let listed = run(&place, &["setup", "--list", "--json"]).await.json();
            let row = row(&listed, case.client);
            assert_eq!((&row["state"], &row["url"]), (&json!("configured"), &json!(URL)), "{what}: {row}");

            let removed = run(&place, &["setup", case.client, "--remove"]).await;
            assert_eq!(removed.code, Some(0), "{what}: {removed:?}");
            assert_eq!(of_clients(&place), BTreeMap::from([(case.file.to_owned(), before.into_bytes())]), "{what}");
        }
    }
}

/// The bytes of a client's file, for as long as a test needs them.
fn text_of(place: &Place, case: &Case) -> &'static [u8] {
    std::fs::read(place.path(case.file)).expect("it is there").leak()
}

#[tokio::test]
async fn an_entry_that_starts_holdfast_becomes_one_over_http_and_the_reverse_and_keeps_what_the_user_added() {
    for case in CASES {
        let Some(entry) = expected(case.client, URL) else { continue };
        let place = place(case, case.content);
        run(&place, &["setup", case.client]).await;
        let tuned = super::table::with_a_users_field(case, text(text_of(&place, case)));
        place.write(case.file, &tuned);
        let users = |is: &Value| {
            let field = ["alwaysAllow", "tool_timeout_sec", "available_tools"];
            let ours = case.entry(is).expect("an entry").as_object().expect("a map").clone();
            let (users, rest): (Vec<_>, Vec<_>) =
                ours.into_iter().partition(|(name, _)| field.contains(&name.as_str()));
            (users.len(), Value::Object(rest.into_iter().collect()))
        };
        let done = run(&place, &["setup", case.client, &format!("--http={URL}")]).await;
        assert_eq!(done.code, Some(0), "{}: {done:?}", case.client);
        assert_eq!(users(&read(case.file, text_of(&place, case))), (1, entry), "{}", case.client);

        let done = run(&place, &["setup", case.client]).await;
        assert_eq!(done.code, Some(0), "{}: {done:?}", case.client);
        let starts = case.expected(&super::program(), &[]);
        assert_eq!(users(&read(case.file, text_of(&place, case))), (1, starts), "{}", case.client);
    }
}

#[tokio::test]
async fn a_file_of_the_project_never_has_the_token() {
    for case in CASES {
        let place = place(case, case.content);
        let project = place.project("Castle");
        let named = project.to_str().expect("Unicode");
        for shared in [false, true] {
            let url = format!("--http={URL}");
            let mut arguments = vec!["setup", case.client, &url, "--project", named];
            arguments.extend(shared.then_some("--shared"));
            let before = of_clients(&place);
            let done = run(&place, &arguments).await;
            let what = format!("{} shared={shared}", case.client);
            let after = of_clients(&place);
            let variable = expected(case.client, URL).is_some_and(|entry| !entry.to_string().contains(TOKEN));
            for (name, bytes) in &after {
                assert!(!(name.starts_with("Castle/") && holds_token(bytes)), "{what}: {name}");
            }
            match case.project.filter(|_| variable) {
                Some(below) => {
                    assert_eq!(done.code, Some(0), "{what}: {done:?}");
                    let file = format!("Castle/{below}");
                    let segment = if shared { "Castle".to_owned() } else { named.replace('/', "%2F") };
                    let is = read(&file, &after[&file]);
                    if cfg!(unix) {
                        let entry = expected(case.client, &format!("{URL}/{segment}"));
                        assert_eq!(case.entry(&is), entry.as_ref(), "{what}");
                    }
                    assert!(!shared || !text(&after[&file]).contains(named), "{what}: a path of this machine");
                }
                None if case.project.is_some() || shared || expected(case.client, URL).is_none() => {
                    assert_eq!((done.code, &after), (Some(1), &before), "{what}: {done:?}");
                    assert!(done.err.contains("Nothing was changed."), "{what}: {done:?}");
                }
                None => assert_eq!(done.code, Some(0), "{what}: {done:?}"),
            }
        }
    }
}

#[tokio::test]
async fn what_cannot_be_is_refused_with_the_fix_and_a_dry_run_shows_no_token() {
    let case = CASES.iter().find(|case| case.client == "zed").expect("a case");
    let place = place(case, case.content);
    let before = of_clients(&place);
    for (arguments, code, says) in [
        (&["setup", "zed", "--http"][..], 1, "holdfast hub --http"),
        (&["setup", "claude-desktop", "--http=http://127.0.0.1:1"], 1, "`holdfast setup claude-desktop`"),
        (&["setup", "junie", "--http=http://127.0.0.1:1"], 1, "not known to take a URL"),
        (&["setup", "zed", "--http=http://mcp.example.com"], 2, "not encrypted"),
        (&["setup", "zed", "--http=mcp"], 2, "name a URL"),
        (&["setup", "zed", "--http=https://mcp.example.com"], 1, "Set HOLDFAST_HTTP_TOKEN"),
        (&["setup", "cursor", "--http=http://127.0.0.1:1", "--shared=npx", "--project", "."], 2, "published yet"),
    ] {
        let done = run(&place, arguments).await;
        assert_eq!(done.code, Some(code), "{arguments:?}: {done:?}");
        assert!(done.err.contains(says), "{arguments:?}: {done:?}");
        assert_eq!(of_clients(&place), before, "{arguments:?}");
    }
    let shown = run(&place, &["setup", "zed", "--http=http://127.0.0.1:1", "--dry-run"]).await;
    assert!(shown.out.contains("Bearer TOKEN") && !shown.out.contains(TOKEN), "{shown:?}");
    assert_eq!(of_clients(&place), before);
}

#[tokio::test]
async fn a_dry_run_shows_no_token_that_the_file_has_already() {
    let (url, other) = (format!("--http={URL}"), "fedcba9876543210\"fedc\\ba98'7654");
    for case in CASES.iter().filter(|case| expected(case.client, URL).is_some_and(|is| is.to_string().contains(TOKEN)))
    {
        let place = place(case, case.content);
        let with = |token: &str, words: &[&str]| {
            let mut command = place.command(["setup", case.client].into_iter().chain(words.iter().copied()));
            command.env("HOLDFAST_HTTP_TOKEN", token);
            command
        };
        for token in [TOKEN, other] {
            assert_eq!(finish(with(token, &[&url]), b"").await.code, Some(0), "{}", case.client);
            let before = of_clients(&place);
            let shows = [
                with(token, &["--remove", "--dry-run"]),
                with(token, &["--dry-run"]),
                with("a-new-token-\"of\"-the-hub", &[&url, "--dry-run"]),
            ];
            for (at, command) in shows.into_iter().enumerate() {
                let shown = finish(command, b"").await;
                let what = format!("{} {at} {token}: {shown:?}", case.client);
                assert!(shown.code == Some(0) && shown.out.contains("Bearer TOKEN"), "{what}");
                let leaks = ["0123456789", "fedc", "ba98", "7654", "a-new-token", "of", "-the-hub"];
                let leaked = |line: &str| leaks.iter().any(|part| line.contains(part));
                let of_header = |line: &&str| line.contains("Authorization");
                assert!(shown.out.lines().filter(of_header).count() > 0, "{what}");
                assert!(!shown.out.lines().filter(of_header).any(leaked), "{what}");
                assert!(!shown.out.contains("0123456789") && !shown.out.contains("fedcba"), "{what}");
            }
            assert_eq!(of_clients(&place), before, "{}", case.client);
        }
        for unusable in ["short", "a token with blanks in it", "one-line-and-then\nanother"] {
            let refused = finish(with(unusable, &[&url]), b"").await;
            assert!(
                refused.code == Some(1) && refused.err.contains("HOLDFAST_HTTP_TOKEN has no usable"),
                "{refused:?}"
            );
            assert!(!refused.err.contains(unusable), "{refused:?}");
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_with_the_token_is_its_owners_alone_and_so_is_a_copy_of_it() {
    use std::fs::{Permissions, hard_link, remove_file, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &std::path::Path| path.metadata().expect("there").permissions().mode() & 0o777;
    let url = format!("--http={URL}");
    for case in CASES {
        let Some(entry) = expected(case.client, URL) else { continue };
        let place = place(case, case.content);
        let (file, backup) = (place.path(case.file), place.path(&format!("{}.holdfast-backup", case.file)));
        let open = |path: &std::path::Path| set_permissions(path, Permissions::from_mode(0o644)).expect("ours");
        open(&file);
        let done = run(&place, &["setup", case.client, &url]).await;
        if !entry.to_string().contains(TOKEN) {
            assert_eq!((mode(&file), mode(&backup)), (0o644, 0o644), "{}: no token: {done:?}", case.client);
            continue;
        }
        assert_eq!((mode(&file), mode(&backup)), (0o600, 0o644), "{}: {done:?}", case.client);
        assert!(!done.out.contains("chmod"), "{done:?}");

        // Somebody opens it.
        open(&file);
        let again = run(&place, &["setup", case.client, &url]).await;
        assert!(again.out.contains("already set up") && again.out.contains("chmod 600"), "{again:?}");
        remove_file(&backup).expect("there");
        run(&place, &["setup", case.client]).await;
        assert_eq!((mode(&file), mode(&backup)), (0o644, 0o600), "{}: the copy has the token", case.client);
        open(&backup);
        run(&place, &["setup", case.client, &url]).await;
        assert_eq!((mode(&file), mode(&backup)), (0o600, 0o600), "{}: an earlier copy", case.client);

        // A file with another name is written in place.
        run(&place, &["setup", case.client]).await;
        hard_link(&file, place.path("other-name")).expect("made");
        open(&file);
        let done = run(&place, &["setup", case.client, &url]).await;
        assert!(done.code == Some(0) && !done.out.contains("chmod"), "{done:?}");
        assert_eq!(mode(&place.path("other-name")), 0o600, "{}", case.client);
        assert!(holds_token(&std::fs::read(place.path("other-name")).expect("there")), "{}", case.client);
    }
}

/// A hub that serves other machines too, with a token of the user's.
#[tokio::test]
async fn a_hub_is_found_with_its_own_token_file_at_an_address_that_can_be_reached() {
    const OWN: &str = "a-token-of-the-user-0123456789";
    let case = CASES.iter().find(|case| case.client == "zed").expect("a case");
    let place = place(case, case.content);
    place.write(".cursor/mcp.json", "{}");
    let own = place.write("elsewhere/own", OWN);
    #[cfg(unix)]
    std::fs::set_permissions(&own, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("it is ours");
    let mut hub =
        place.command(["hub", "--http", "0.0.0.0:0", "--http-allow-remote", "--http-host", "mcp.example.com"]);
    let _hub = hub.args(["--http-token-file", "own"]).stderr(Stdio::null()).spawn().expect("it starts");
    let info = place.path("state/hub/hub.json");
    let published = async {
        loop {
            let read = std::fs::read(&info).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
            match read {
                Some(read) => return read["http"].as_str().expect("a URL").to_owned(),
                None => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    let url = within("a hub", published).await;
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    let done = run(&place, &["setup", "zed", "--http"]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    let is = read(case.file, text_of(&place, case));
    let headers = json!({"Authorization": format!("Bearer {OWN}")});
    assert_eq!(case.entry(&is), Some(&json!({"url": url, "headers": headers})));
    let done = run(&place, &["setup", "cursor", &format!("--http={}", url.replace("127.0.0.1", "localhost"))]).await;
    let said = done.out.split_whitespace().collect::<Vec<_>>().concat();
    assert!(said.contains(&own.display().to_string().replace(' ', "")) && !said.contains("http_token"), "{done:?}");
    let told = run(&place, &["doctor", "-v"]).await;
    assert_eq!(
        told.out.split_whitespace().collect::<Vec<_>>().join(" ").matches(", where a hub serves").count(),
        2,
        "{told:?}"
    );
}

#[tokio::test]
async fn doctor_knows_a_client_over_http_and_says_if_no_hub_serves_there() {
    let case = CASES.iter().find(|case| case.client == "cursor").expect("a case");
    let place = place(case, case.content);
    run(&place, &["setup", "cursor", &format!("--http={URL}")]).await;
    let mut command = place.command(["doctor"]);
    command.env("HOLDFAST_HTTP_TOKEN", TOKEN);
    let told = finish(command, b"").await;
    let said = told.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("Cursor connects to http://127.0.0.1:8787/mcp"), "{told:?}");
    assert!(said.contains("where no hub serves") && said.contains("holdfast hub --http 127.0.0.1:8787"), "{told:?}");
    assert!(!said.contains("starts this program"), "{told:?}");
    assert!(!said.contains(TOKEN) && !told.err.contains(TOKEN), "{told:?}");
}
