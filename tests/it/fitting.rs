//! Results are made to fit each client: the real binary, a fake editor, and clients that send their names.

use crate::binary::{Place, Server, Unity, text, words};
use serde_json::{Value, json};

async fn session(place: &Place, arguments: &[&str], client: &str) -> Server {
    Server::open_as(place.command(["serve"].into_iter().chain(arguments.iter().copied())), client).await
}

#[tokio::test]
async fn a_long_result_is_cut_for_codex_and_whole_for_who_keeps_it_and_for_strangers() {
    let place = Place::new();
    let unity = Unity::start(&place, &[]).await;
    let at = unity.at();
    let mut codex = session(&place, &["--port", &at], "codex-mcp-client").await;
    let cut = codex.call("big", json!({"n": 100_000})).await;
    let note = words(&cut);
    assert!(cut.get("structuredContent").is_none(), "it would repeat what is too long");
    assert!(note.starts_with("Executed: ") && note.contains("Codex") && note.contains("Do not repeat"), "{note}");
    let path = note.split(" in the file ").nth(1).and_then(|rest| rest.split(". ").next()).expect("a file is named");
    let kept: Value = serde_json::from_slice(&std::fs::read(path).expect("it is there")).expect("the whole result");
    assert_eq!(kept["Text"].as_str().map(str::len), Some(100_000));
    let shown = cut["content"][1]["text"].as_str().expect("the beginning");
    assert!(shown.starts_with("{\"Text\":\"xxx") && shown.len() > 30_000, "{} bytes", shown.len());
    assert!(cut.to_string().len() < 41_000, "{}", cut.to_string().len());
    let short = codex.call("big", json!({"n": 1000})).await;
    assert_eq!(short["structuredContent"]["Text"].as_str().map(str::len), Some(1000));
    codex.end().await;

    for client in ["claude-code", "some new editor"] {
        let mut server = session(&place, &["--port", &at], client).await;
        let whole = server.call("big", json!({"n": 2 << 20})).await;
        assert_eq!(whole["structuredContent"]["Text"].as_str().map(str::len), Some(2 << 20), "{client}");
        server.end().await;
    }
}

#[tokio::test]
async fn images_and_sounds_pass_where_they_are_taken_and_lie_in_files_where_not() {
    let place = Place::new();
    let project = place.project("Castle");
    let unity = Unity::start(&place, &["--dialect", "holdfast", "--project", text(&project)]).await;
    let at = unity.at();
    let arguments = ["--project", text(&project), "--port", &at, "--dialect", "holdfast"];
    let mut foreign_peer = session(&place, &arguments, "some new editor").await;
    let sound = foreign_peer.call("sound", json!({})).await;
    assert_eq!(sound["content"][1]["type"], "audio", "{sound}");
    let picture = foreign_peer.call("picture", json!({})).await;
    assert!(picture["structuredContent"].is_object() && picture["content"][1]["type"] == "image", "{picture}");
    foreign_peer.end().await;

    let mut zed = session(&place, &arguments, "Zed").await;
    let sound = zed.call("sound", json!({})).await;
    let note = sound["content"][1]["text"].as_str().unwrap_or_else(|| panic!("{sound}"));
    assert!(note.contains("audio/wav, 48 bytes") && note.contains("Zed takes no audio"), "{note}");
    let path = note.split(" in the file ").nth(1).and_then(|rest| rest.strip_suffix(".]")).expect("a file is named");
    assert!(path.replace('\\', "/").contains("/Logs/holdfast/results/") && path.ends_with("-1.wav"), "{path}");
    assert!(std::fs::read(path).expect("it is there").starts_with(b"RIFF"));
    assert_eq!(zed.call("picture", json!({})).await["content"][1]["type"], "image");
    zed.end().await;

    let mut codex = session(&place, &arguments, "codex-mcp-client").await;
    let picture = codex.call("picture", json!({})).await;
    assert!(picture.get("structuredContent").is_none(), "Codex would read that in place of the image: {picture}");
    assert_eq!(picture["content"][1]["type"], "image", "{picture}");
    codex.end().await;
}

/// Creates a project whose catalogue on disk was changed by `change`.
async fn with_catalogue(place: &Place, change: impl Fn(&mut Vec<Value>)) -> std::path::PathBuf {
    let project = place.project("Castle");
    let unity = Unity::of(place, &project).await;
    let seen = place.run(["tools", "--project", text(&project)]).await;
    assert_eq!(seen.code, Some(0), "{seen:?}");
    unity.quit().await;
    let folder = std::fs::read_dir(place.path("state/catalogues")).expect("a catalogue was written");
    let file = folder.map(|entry| entry.expect("an entry").path()).next().expect("a catalogue");
    let mut catalogue: Value = serde_json::from_slice(&std::fs::read(&file).expect("readable")).expect("JSON");
    change(catalogue["tools"].as_array_mut().expect("tools"));
    std::fs::write(file, catalogue.to_string()).expect("writable");
    project
}

/// Waits for the tool list from disk, because a client that gets change notifications is answered before that list is read.
async fn listed(server: &mut Server) {
    server.status_that("the list on disk", |status| status["tools"]["count"].as_u64() > Some(0)).await;
}

fn schema_of(list: &Value, tool: &str) -> Value {
    let tools = list["tools"].as_array().expect("tools");
    tools.iter().find(|listed| listed["name"] == tool).unwrap_or_else(|| panic!("{list}"))["inputSchema"].clone()
}

#[tokio::test]
async fn alternatives_are_flattened_for_the_clients_that_lose_the_tool_and_the_command_shows_where() {
    let place = Place::new();
    let rich = json!({"type": "object", "properties": {"a": {"type": "string"}}, "$defs": {"d": {"type": "string"}},
        "anyOf": [{"required": ["a"]}, {"properties": {"b": {"type": "number"}}}]});
    let schema = rich.clone();
    let project = with_catalogue(&place, move |tools| {
        let echo = tools.iter_mut().find(|tool| tool["name"] == "echo").expect("echo");
        let key = if echo.get("input_schema").is_some() { "input_schema" } else { "inputSchema" };
        echo[key] = schema.clone();
    })
    .await;
    for (client, flat) in [("claude-code", true), ("conformance-client", false)] {
        let mut server = session(&place, &["--project", text(&project)], client).await;
        listed(&mut server).await;
        let list = server.request("tools/list", json!({})).await["result"].clone();
        let seen = schema_of(&list, "echo");
        if flat {
            assert!(seen.get("anyOf").is_none() && seen["properties"]["b"]["type"] == "number", "{seen}");
            assert_eq!(seen["$defs"], rich["$defs"]);
        } else {
            assert_eq!(seen, rich, "as the editor wrote it");
        }
        server.end().await;
        let named = if flat { "Claude Code" } else { client };
        let shown = place.run(["tools", "--project", text(&project), "--client", named]).await;
        assert_eq!(shown.out.contains("echo: `oneOf`, `anyOf` or `allOf`"), flat, "{shown:?}");
        let json = place.run(["tools", "--project", text(&project), "--client", named, "--json"]).await.json();
        assert_eq!(schema_of(&json, "echo"), seen);
        assert_eq!(json["changed_for_the_client"].as_array().map(Vec::len), Some(usize::from(flat)), "{json}");
    }
}

/// The rest is found and called; doctor and the command say how many it is.
#[tokio::test]
async fn of_a_long_list_a_part_is_listed_and_a_setting_lists_as_much_as_the_client_shows() {
    let place = Place::new();
    let project = with_catalogue(&place, |tools| {
        let first = tools.first().expect("a tool").clone();
        for number in 0..130 {
            let mut tool = first.clone();
            tool["name"] = format!("tool-{number}").into();
            tools.push(tool);
        }
    })
    .await;
    let config = place.path("config.toml");
    std::fs::write(&config, "[gateway]\ntoolsets = [\"tool-12?\"]\n").expect("it can be written");
    for (client, flags, most) in [
        ("Visual Studio Code", &["--toolsets", "all"][..], Some(128)),
        ("claude-code", &["--toolsets", "all"], None),
        ("claude-code", &["--config", text(&config)], Some(40)),
        ("Visual Studio Code", &[], Some(40)),
    ] {
        let all: Vec<&str> = ["--project", text(&project)].iter().chain(flags).copied().collect();
        let mut server = session(&place, &all, client).await;
        listed(&mut server).await;
        let list = server.request("tools/list", json!({})).await["result"].clone();
        let count = list["tools"].as_array().expect("tools").len();
        assert!(most.map_or(count > 130, |most| count == most), "{client} {flags:?}: {count}");
        assert_eq!(list.to_string().contains("\"tool-129\""), !flags.is_empty() && most != Some(128), "{flags:?}");
        let status = server.status().await;
        assert_eq!(status["tools"]["not_listed"].is_u64(), most.is_some(), "{status:#}");
        assert_eq!(status["problems"], json!([]), "{status:#}");
        server.end().await;
    }
    let shown = place.run(["tools", "--project", text(&project)]).await;
    assert!(shown.out.contains("not listed at first") && shown.out.contains("holdfast_tools"), "{shown:?}");
    let json = place.run(["tools", "--project", text(&project), "--json"]).await.json();
    let (all, rest) =
        (json["tools"].as_array().expect("all"), json["not_listed_at_first"].as_array().expect("the rest"));
    assert!(all.len() > 130 && all.len() - 5 - rest.len() == 34, "{} {}", all.len(), rest.len());
    let doctor = place.run(["doctor", "--project", text(&project)]).await;
    let says = ["not listed at first", "holdfast_tools", "--toolsets all"];
    assert!(says.iter().all(|says| doctor.out.contains(says)), "{doctor:?}");
    let bad = place.run(["tools", "--toolsets", "@nothing"]).await;
    assert!(bad.code == Some(2) && bad.err.contains("@group:NAME"), "{bad:?}");
}

#[tokio::test]
async fn doctor_shows_the_table_of_clients_and_all_of_one() {
    let place = Place::new();
    let mut narrow = place.command(["doctor", "--clients"]);
    narrow.env("COLUMNS", "80");
    let shown = crate::binary::finish(narrow, b"").await;
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.out.lines().all(|line| line.chars().count() <= 80), "{}", shown.out);
    for row in ["claude-code", "codex", "ai-assistant", "copilot-cli"] {
        assert!(shown.out.lines().any(|line| line.starts_with(row)), "{row}: {}", shown.out);
    }
    let json = place.run(["doctor", "--clients", "--json"]).await.json();
    let codex = json["clients"].as_array().expect("clients").iter().find(|client| client["client"] == "codex");
    let codex = codex.expect("codex");
    assert_eq!(codex["facts"]["patience"], json!({"value": 60, "evidence": "source"}));
    assert_eq!(codex["facts"]["audio"], json!({"value": null, "evidence": null}), "unknown is no guess");
    assert_eq!(codex["treated"]["result_text_max"], 40_000);

    let one = place.run(["doctor", "--clients", "Claude Code"]).await;
    for says in ["(claude_code)", "waits for a call: 30 min (its documents)", "Set up: `holdfast setup claude-code`"] {
        assert!(one.out.contains(says), "{says}: {}", one.out);
    }
    let none = place.run(["doctor", "--clients", "emacs"]).await;
    assert!(none.code == Some(2) && none.err.contains("emacs") && none.err.contains("claude-code"), "{none:?}");
}
