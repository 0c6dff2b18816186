//! What a person sends who reports a bug: `holdfast report`, and the page that `holdfast status --open` shows.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::binary::{Place, Server, Unity, finish, text, within};

/// Returns the files of an archive.
pub fn unzipped(path: &Path) -> BTreeMap<String, String> {
    let bytes = std::fs::read(path).expect("it was written");
    let archive = rawzip::ZipArchive::from_slice(&bytes).expect("an archive");
    let mut entries = archive.entries();
    let mut files = BTreeMap::new();
    while let Some(entry) = entries.next_entry().expect("whole") {
        let name = entry.file_path().try_normalize().expect("a plain name").as_ref().to_owned();
        let data = archive.get_entry(entry.wayfinder()).expect("whole");
        let content = miniz_oxide::inflate::decompress_to_vec(data.data()).expect("compressed");
        files.insert(name, String::from_utf8(content).expect("text"));
    }
    files
}

#[tokio::test]
async fn a_report_has_what_is_needed_and_nothing_of_who_made_it() {
    let place = Place::new();
    let project = place.path("games/Grimwald (Grimco)");
    let unity = Unity::of(&place, &project).await;
    // A token of the user's own does not look like one.
    place.write("state/http_token", "grim lets me in over http\n");
    let why = format!("grim-token-7261 of zoe-grim in {}, grim lets me in over http", project.display());
    // The same paths as other programs write them, whole and in a line that is cut off.
    let percent = |path: &str| path.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    let (shouted, encoded) = (text(&project).to_uppercase(), percent(text(&project)));
    let windows = r"D:\Games\Grimvault (Grimco)";
    let says = format!("{shouted} {encoded} {} d:/GAMES/grimvault%20(grimco)/Assets", percent(windows));
    let found = json!({"event": "project_found", "project": windows});
    let log = json!({"event": "x", "why": why, "says": says, "nested": json!({"at": windows}).to_string()});
    place.write("state/logs/0000000000001-1.jsonl", format!("{found}\n{log}\n"));
    let cut = json!({"at": format!(r"{windows}\x and {says}")}).to_string().replace('}', "");
    place.write("state/hub/hub.log", format!("{{\"password\":\"hubhubhub\"}}\n{cut}\nzoe-grim was cut off"));
    let earlier = "holdfast_x{project=\"Grimwald _Grimco_\"} 1\nholdfast_x{project=\"GrimLtd/Grimhold\"} 2\n";
    place.write("state/metrics/holdfast_last_exit.prom", earlier);
    let config = place.write("config.toml", "# grim-comment\n[policy]\ndeny = [\"zoe-grim-*\"]\n[projects.Grimfold]\ntools = [\"echo\"]\n[projects.\"/srv/Grimkeep\"]\ntools = [\"echo\"]\n");
    let mut server = Server::start(&place, &["--metrics", "--project", text(&project)]).await;
    server.status_that("the editor", |status| status["editor"]["ready"] == true).await;
    server.call("echo", json!({"text": "grim-argument"})).await;

    let out = place.path("report.zip");
    let words = ["report", "--project", text(&project), "--out", text(&out), "--config", text(&config)];
    let command = || {
        let mut command = place.command(words);
        command
            .env("USER", "zoe-grim")
            .env("GITHUB_TOKEN", "grim-token-7261")
            .env("HOLDFAST_CLIENT_NAME", "zoe-grim's");
        command.env("HOLDFAST_DENY", "grim-token-7261").env("HOSTNAME", "grim-host");
        command
    };
    let ready = within("the record, the log and the page", async {
        loop {
            let status = place.run(["status", "--json", "--project", text(&project)]).await.json();
            let logs = place.run(["logs", "--project", text(&project)]).await.out;
            if status["gateways"][0]["page"].is_string() && logs.contains("call_answered") {
                return status;
            }
        }
    });
    let status = ready.await;
    let done = finish(command(), b"").await;
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.contains("doctor.json") && done.out.contains("Nothing was sent anywhere"), "{done:?}");
    let files = unzipped(&out);
    let named = |part: &str| {
        files.iter().filter(|(name, _)| name.contains(part)).map(|(_, text)| text.as_str()).collect::<String>()
    };
    for (file, part) in [
        ("README.txt", "Look at it before you send it"),
        ("about.json", env!("CARGO_PKG_VERSION")),
        ("doctor.json", "\"findings\""),
        ("status.json", "<project-"),
        ("settings.json", "<user>-*"),
        ("settings.json", "\"HOLDFAST_DENY\": \"<secret>\""),
        ("-gateway-", "call_answered"),
        ("-gateway-1.jsonl", "<secret> of <user> in <project-"),
        ("hub-stderr", "<user> was cut off"),
        ("metrics/", "holdfast_tool_calls_total"),
        ("metrics/last-exit", "-name>\"} 1"),
    ] {
        assert!(named(file).contains(part), "{part} is not in {file}: {}", named(file));
    }
    let home = place.path("").display().to_string();
    let secrets = [
        "zoe-grim",
        "grim-token-7261",
        "grim-argument",
        "grim-comment",
        "grim-host",
        "grim lets me in",
        "hubhubhub",
        "grimwald",
        "grimco",
        "grimvault",
        "games",
        &percent("Grim"),
        "GrimLtd",
        "Grimhold",
        "Grimfold",
        "Grimkeep",
        home.trim_end_matches(['/', '\\']),
    ];
    for (name, content) in &files {
        for secret in secrets {
            assert!(!content.to_lowercase().contains(&secret.to_lowercase()), "{secret} is in {name}:\n{content}");
        }
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&out).expect("it was written").permissions().mode() & 0o777, 0o600);
    }
    // Nothing is overwritten.
    let again = finish(command(), b"").await;
    assert!(again.code == Some(1) && again.err.contains("exists already"), "{again:?}");
    opens_the_page(&place, &status).await;
    server.end().await;
    unity.quit().await;
}

/// The browser of this test is a script that writes down what it is given.
#[cfg(target_os = "linux")]
async fn opens_the_page(place: &Place, status: &Value) {
    use std::os::unix::fs::PermissionsExt as _;
    let page = status["gateways"][0]["page"].as_str().expect("an address");
    let shown = place.run(["status"]).await;
    assert!(shown.out.contains(page), "{shown:?}");
    let (browser, opened) = (place.path("bin/xdg-open"), place.path("opened"));
    for (exit, code) in [(0, 0), (3, 1)] {
        let script = format!("#!/bin/sh\nprintf %s \"$1\" >{}\nexit {exit}\n", opened.display());
        place.write("bin/xdg-open", script);
        std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
        let mut command = place.command(["status", "--open"]);
        command.env("PATH", place.path("bin"));
        let done = finish(command, b"").await;
        assert_eq!((done.code, done.out.trim()), (Some(code), page), "{done:?}");
        assert_eq!(std::fs::read_to_string(&opened).expect("the browser ran"), page);
        assert_eq!(done.err.contains("no browser could be started"), code == 1, "{done:?}");
    }
}

#[cfg(not(target_os = "linux"))]
async fn opens_the_page(_: &Place, _: &Value) {}

#[tokio::test]
async fn without_a_page_or_a_gateway_it_says_what_to_do() {
    let place = Place::new();
    let none = place.run(["status", "--open"]).await;
    assert!(none.code == Some(1) && none.err.contains("no gateway runs"), "{none:?}");
    let server = Server::start(&place, &[]).await;
    let no_page = within("the record", async {
        loop {
            let done = place.run(["status", "--open"]).await;
            if !done.err.contains("no gateway runs") {
                return done;
            }
        }
    })
    .await;
    assert!(no_page.code == Some(1) && no_page.err.contains("--metrics") && no_page.out.is_empty(), "{no_page:?}");
    server.end().await;
}
