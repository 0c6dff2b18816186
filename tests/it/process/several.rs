//! A session over stdin and stdout, without a hub, in a folder with several projects.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::path::PathBuf;

use serde_json::{Value, json};

use super::client::{self, Client, Verdict};
use super::unity::Unity;
use super::{Room, until};

fn project(room: &Room, name: &str) -> PathBuf {
    dunce::canonicalize(room.path()).unwrap().join("games").join(name)
}

fn editor(room: &Room, name: &str) -> Unity {
    Unity::start(room, &["--project", project(room, name).to_str().unwrap()])
}

/// Starts a gateway in the folder that has the projects.
fn open(room: &Room) -> Client {
    let mut command = client::command(room);
    command.current_dir(room.path().join("games"));
    let mut client = Client::spawn(room, command);
    client.initialize();
    client
}

fn running(client: &mut Client) -> Vec<String> {
    let told = client.done("holdfast_editors", &json!({})).0["result"]["structuredContent"].clone();
    let open = told["editors"].as_array().cloned().unwrap_or_default();
    open.iter()
        .filter(|editor| editor["ready"] == true)
        .map(|editor| editor["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn without_a_hub_a_session_uses_several_editors_and_a_call_names_its_own() {
    let room = Room::new();
    let editors = ["Castle", "Forest"].map(|name| editor(&room, name));
    let mut client = open(&room);
    until("both editors", || running(&mut client) == ["Castle", "Forest"]);
    let id = client.ask("tools/list", &json!({}));
    let listed = client.answer(id).0["result"]["tools"].clone();
    let count = listed.as_array().unwrap().iter().find(|tool| tool["name"] == "count").unwrap().clone();
    let says = count["inputSchema"]["properties"]["holdfast_editor"]["description"].as_str().unwrap().to_owned();
    assert!(says.contains("Castle") && says.contains("Forest"), "{count:#}");
    let unnamed = client.done("count", &json!({"key": "unnamed"}));
    assert_eq!(unnamed.verdict(), Verdict::NotExecuted, "{}", unnamed.0);
    for (name, editor) in ["Castle", "Forest"].into_iter().zip(&editors) {
        let mark = editor.mark();
        let answer = client.done("count", &json!({"key": name, "holdfast_editor": name}));
        assert_eq!(answer.verdict(), Verdict::Ok, "{}", answer.0);
        editor.begun(mark, "count");
    }
    assert_eq!((room.runs("unnamed"), room.runs("Castle"), room.runs("Forest")), (0, 1, 1));
    client.close(&room);
}

/// Nothing says which project that editor has open.
#[test]
fn an_editor_at_a_port_of_an_unknown_project_is_listed_by_its_port() {
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let port = unity.port.to_string();
    let mut client = Client::open(&room, &["--port", &port]);
    client.echoes();
    let told = client.done("holdfast_editors", &json!({})).body();
    let [editor] = told["editors"].as_array().unwrap().as_slice() else { panic!("{told}") };
    assert_eq!((&editor["port"], &editor["ready"], &editor["own"]), (&json!(unity.port), &json!(true), &json!(true)));
    assert_eq!((&editor["name"], &editor["project"]), (&Value::Null, &Value::Null));
    client.close(&room);
}
