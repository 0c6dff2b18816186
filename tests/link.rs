//! The link against ports that are somebody else's, and clients that are gone as soon as they have spoken.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

mod support;

use std::time::Duration;

use holdfast::config::{Config, PortSource};
use holdfast::host::Owner;
use support::{PORT, Setup, editor, gateway, unity};
use tokio::time::Instant;

fn editor_of(project: &str) -> Owner {
    let command_line = ["Unity", "-projectPath", project].map(str::to_owned).to_vec();
    Owner { pid: 4711, name: "Unity".to_owned(), command_line }
}

/// Somebody else's editor sits on the port that was named. It is asked who it is, not connected to ten times a second, and as
/// soon as the right one is there it is found.
#[tokio::test(start_paused = true)]
async fn somebody_elses_editor_is_left_in_peace_and_the_right_one_is_found() {
    let project = tempfile::tempdir().unwrap();
    for folder in ["Assets", "ProjectSettings"] {
        std::fs::create_dir(project.path().join(folder)).unwrap();
    }
    let ours = project.path().canonicalize().unwrap();
    let config = Config {
        project: Some(ours.clone()),
        ports: vec![(PORT, PortSource::Flag)],
        seed: Some(7),
        ..Config::default()
    };
    let mut it = gateway(Setup { config, ..Setup::default() });
    let _unity = unity(&it.net, editor()).await;
    it.host.set_owner(PORT, editor_of("/somebody/elses"));
    it.client.open().await;
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(4) {
        let id = it.client.call("get-logs", serde_json::json!({})).await;
        let asked = Instant::now();
        let (text, failed) = it.client.text(&id).await;
        assert!(failed && text.contains("another project open"), "{text}");
        assert!(asked.elapsed() < Duration::from_secs(1));
    }
    assert!(it.net.connects() <= 2, "{} connects to somebody else's editor", it.net.connects());

    it.host.set_owner(PORT, editor_of(ours.to_str().unwrap()));
    it.ready().await;
    it.client.ok("get-logs", serde_json::json!({})).await;
    it.close().await;
}

/// `printf '…' | holdfast`: what was asked before stdin ended is answered, by the session, as ever.
#[tokio::test(start_paused = true)]
async fn a_client_that_asks_and_closes_at_once_is_answered() {
    let mut it = gateway(Setup::default());
    let initialize = serde_json::json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "pipe", "version": "1"}},
    });
    let list = serde_json::json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    it.client.bytes(format!("{initialize}\n{list}\n").as_bytes()).await;
    let client = it.close_and_keep().await;
    for id in [1, 2] {
        let line = client.answered(&serde_json::json!(id)).expect("it is answered");
        assert!(line.value.get("result").is_some(), "{}", line.value);
    }
}
