//! An editor that connects to the gateway and says which project it has open.

mod editor;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use holdfast::config::{Config, PortSource};
use holdfast::limits::{ARRIVAL_WORDS_MAX, ARRIVAL_WORDS_MAX_BYTES, ARRIVALS_MAX};
use holdfast::net::{BoxStream, Net as _};
use holdfast::platform::host::{Caller, Host, Owner};
use holdfast::protocol::dialect;
use holdfast_fake_unity::Package;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, sleep};

use self::editor::Editor;
use crate::support::net::MemoryNet;
use crate::support::{Gateway, PATIENT, PORT, Setup, gateway, until};

/// The port in the user's settings.
const DEFAULT: u16 = 9310;

/// A project on disk, with the package in it.
fn project() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    for name in ["Assets", "ProjectSettings", "Library"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let path = dunce::canonicalize(folder.path()).unwrap();
    (folder, path)
}

fn setup(project: &Path) -> Setup {
    let package = Package::that(|facts| facts.dials && facts.port.file().is_some());
    let config = Config {
        project: Some(project.to_path_buf()),
        ports: vec![(PORT, PortSource::Flag)],
        dialects: dialect::only(package.name),
        seed: Some(7),
        ..Config::default()
    };
    let setup = Setup { config, ..Setup::default() };
    let command_line = ["Unity", "-projectPath", project.to_str().unwrap()].map(str::to_owned).into();
    setup.host.set_caller(None, Caller::Process(Owner { pid: 4711, name: "Unity".to_owned(), command_line }));
    let write = |path: &str, json: Value| Host::write(&*setup.host, &project.join(path), json.to_string().as_bytes());
    let (name, version) = package.facts.manifest;
    write("Packages/manifest.json", json!({"dependencies": {name: version}})).unwrap();
    write(package.facts.port.file().unwrap().0, json!({"port": DEFAULT})).unwrap();
    setup
}

async fn opened(setup: Setup) -> Gateway {
    let mut it = gateway(setup);
    it.client.open_as(PATIENT, "2025-06-18", json!({})).await;
    it
}

async fn with_editor() -> (Gateway, Editor, (TempDir, PathBuf)) {
    let (folder, path) = project();
    let setup = setup(&path);
    let editor = Editor::start(setup.net.clone(), PORT, path.to_str().unwrap());
    let it = opened(setup).await;
    it.ready().await;
    (it, editor, (folder, path))
}

/// Connects as an editor would, and says these words.
async fn says(net: &Arc<MemoryNet>, words: &[u8]) -> BoxStream {
    until("the port is listened on", || net.listens(PORT)).await;
    let mut stream = net.connect(PORT).await.unwrap();
    stream.write_all(words).await.unwrap();
    stream
}

/// Reads until the gateway closes.
async fn told(mut stream: BoxStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

fn hello(project: &Path) -> Vec<u8> {
    format!("{}\n", json!({"method": "here", "params": {"project": project.to_str().unwrap()}})).into_bytes()
}

#[tokio::test(start_paused = true)]
async fn a_session_with_reloads_runs_every_call_once() {
    let (mut it, editor, _project) = with_editor().await;
    for round in 0..5 {
        let key = format!("k{round}");
        let id = it.client.call("count", json!({ "key": key })).await;
        let (text, error) = it.client.text(&id).await;
        assert!(!error && text.contains("\"runs\":1"), "{text}");

        editor.reload();
        let (key, began) = (format!("held{round}"), Instant::now());
        sleep(Duration::from_millis(100)).await;
        let id = it.client.call("count", json!({ "key": key })).await;
        let (text, error) = it.client.text(&id).await;
        assert!(!error && text.contains("\"runs\":1"), "{text}");
        assert!(began.elapsed() > Duration::from_secs(2) && began.elapsed() < Duration::from_secs(3), "{began:?}");
        assert_eq!(editor.runs(&key), 1);
        sleep(Duration::from_secs(7)).await;
    }
    assert_eq!(editor.connections(), 6);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_connection_ends_is_unknown_and_not_sent_again_unless_it_only_looks() {
    let (mut it, editor, _project) = with_editor().await;
    editor.mute(true);
    for (tool, again) in [("count", false), ("look", true)] {
        let id = it.client.call(tool, json!({ "key": tool })).await;
        until("it ran", || editor.runs(tool) == 1).await;
        editor.reload();
        if again {
            until("it is sent again", || editor.runs(tool) == 2).await;
            editor.mute(false);
            editor.reload();
        }
        let (text, error) = it.client.text(&id).await;
        assert_eq!(error, !again, "{text}");
        assert!(again || text.starts_with("Outcome unknown"), "{text}");
    }
    sleep(Duration::from_secs(30)).await;
    assert_eq!((editor.runs("count"), editor.runs("look")), (1, 3));
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_is_late_cuts_the_wait_short() {
    let (_folder, path) = project();
    let setup = setup(&path);
    let net = setup.net.clone();
    let mut it = opened(setup).await;
    // By then, the pauses between two dials are as long as they get.
    sleep(Duration::from_secs(60)).await;
    let began = Instant::now();
    let editor = Editor::start(net, PORT, path.to_str().unwrap());
    it.ready().await;
    assert!(began.elapsed() < Duration::from_millis(200), "{:?}", began.elapsed());
    let id = it.client.call("count", json!({"key": "k"})).await;
    assert!(!it.client.text(&id).await.1);
    assert_eq!((editor.runs("k"), editor.byes().len()), (1, 0));
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn an_editor_of_another_project_is_told_and_closed() {
    let (mut it, editor, _project) = with_editor().await;
    let (_other, elsewhere) = project();
    for project in [elsewhere.as_path(), Path::new("relative"), Path::new("/nowhere/at/all")] {
        let stream = says(&it.net, &hello(project)).await;
        let bye: Value = serde_json::from_str(&told(stream).await).unwrap();
        assert!(bye["params"]["why"].as_str().unwrap().contains("nobody here is for the project"), "{bye}");
    }
    let id = it.client.call("count", json!({"key": "k"})).await;
    assert!(!it.client.text(&id).await.1);
    assert_eq!((editor.runs("k"), editor.connections()), (1, 1));
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_second_editor_that_says_the_same_does_not_displace_the_first() {
    let (mut it, editor, (_folder, path)) = with_editor().await;
    for _ in 0..3 {
        let bye = told(says(&it.net, &hello(&path)).await).await;
        assert!(bye.contains("another connection says already"), "{bye}");
    }
    let id = it.client.call("count", json!({"key": "k"})).await;
    assert!(!it.client.text(&id).await.1);
    assert_eq!((editor.runs("k"), editor.connections()), (1, 1));
    // When the first has gone, the next one is taken.
    let second = Editor::start(it.net.clone(), PORT, path.to_str().unwrap());
    until("it is turned away", || !second.byes().is_empty()).await;
    drop(editor);
    until("the second is taken", || second.connections() == 1).await;
    it.ready().await;
    let id = it.client.call("count", json!({"key": "l"})).await;
    assert!(!it.client.text(&id).await.1);
    assert_eq!(second.runs("l"), 1);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn one_that_waits_and_hangs_up_makes_room_for_the_next() {
    let (_folder, path) = project();
    let setup = setup(&path);
    // The link cannot take it: it has no permit yet.
    let it = opened(setup).await;
    until("the port is listened on", || it.net.listens(PORT)).await;
    let permit = Arc::clone(&it.parts.link().contact.connection).try_acquire_owned().unwrap();
    drop(says(&it.net, &hello(&path)).await);
    sleep(Duration::from_millis(10)).await;
    let editor = Editor::start(it.net.clone(), PORT, path.to_str().unwrap());
    sleep(Duration::from_millis(100)).await;
    drop(permit);
    it.ready().await;
    assert_eq!((editor.connections(), editor.byes().len()), (1, 0));
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn who_says_nothing_or_too_much_or_something_else_is_turned_away_in_time() {
    let (_folder, path) = project();
    let it = opened(setup(&path)).await;
    let bye = told(says(&it.net, b"GET / HTTP/1.1\r\n\r\n").await).await;
    assert!(bye.contains("not JSON"), "{bye}");
    let bye = told(says(&it.net, &vec![b'x'; ARRIVAL_WORDS_MAX_BYTES]).await).await;
    assert!(bye.contains("too much"), "{bye}");
    let began = Instant::now();
    let bye = told(says(&it.net, b"{\"hello\"").await).await;
    assert!(bye.contains("not said in time"), "{bye}");
    assert!(began.elapsed() >= ARRIVAL_WORDS_MAX && began.elapsed() < ARRIVAL_WORDS_MAX * 2);
    // Who only looks whether the port is open costs nothing.
    drop(says(&it.net, b"").await);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn those_who_say_nothing_do_not_keep_the_editor_out_for_long() {
    let (_folder, path) = project();
    let it = opened(setup(&path)).await;
    let mut silent = Vec::new();
    for _ in 0..2 * ARRIVALS_MAX {
        silent.push(says(&it.net, b"").await);
    }
    sleep(Duration::from_millis(10)).await;
    let began = Instant::now();
    let editor = Editor::start(it.net.clone(), PORT, path.to_str().unwrap());
    it.ready().await;
    assert!(began.elapsed() < ARRIVAL_WORDS_MAX + Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(editor.connections(), 1);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn an_editor_is_expected_at_each_port_and_taken_once() {
    let (_folder, path) = project();
    let setup = setup(&path);
    let first = Editor::start(setup.net.clone(), DEFAULT, path.to_str().unwrap());
    let it = opened(setup).await;
    it.ready().await;
    let second = Editor::start(it.net.clone(), PORT, path.to_str().unwrap());
    until("it is turned away", || !second.byes().is_empty()).await;
    assert_eq!((first.connections(), second.connections()), (1, 0));
    drop(first);
    until("the second is taken", || second.connections() == 1).await;
    it.ready().await;
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_port_that_another_program_has_is_named_and_taken_when_it_is_free() {
    let (_folder, path) = project();
    let setup = setup(&path);
    let taken = [setup.net.bind(PORT).await.unwrap(), setup.net.bind(DEFAULT).await.unwrap()];
    let net = setup.net.clone();
    let mut it = opened(setup).await;
    let id = it.client.call("count", json!({"key": "k"})).await;
    let (text, error) = it.client.text(&id).await;
    assert!(error && text.starts_with("Not executed"), "{text}");
    let peer = it.parts.link().contact.view.borrow().foreign_peer.clone().expect("it is named");
    assert!(
        [PORT, DEFAULT].contains(&peer.port) && peer.what.as_ref().is_some_and(|what| what.contains("has the port")),
        "{peer:?}"
    );
    drop(taken);
    let editor = Editor::start(net, PORT, path.to_str().unwrap());
    it.ready().await;
    let id = it.client.call("count", json!({"key": "k"})).await;
    assert!(!it.client.text(&id).await.1);
    assert_eq!(editor.runs("k"), 1);
    it.close().await;
}
