//! The logs of Unity-MCP: an entry for each operation, and what the editor itself posts.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

mod support;

use std::time::Duration;

use holdfast::config::{Config, PortSource};
use holdfast::fake_unity::{FakeDialect, FakeUnity, FakeUnityConfig};
use holdfast::protocol::dialect;
use serde_json::{Value, json};
use support::{Gateway, PATIENT, PORT, Setup, editor, gateway, unity};
use tokio::time::sleep;

fn setup() -> Setup {
    let config = Config {
        ports: vec![(PORT, PortSource::Flag)],
        dialects: dialect::UNITY_MCP,
        seed: Some(7),
        ..Config::default()
    };
    Setup { config, ..Setup::default() }
}

async fn opened(setup: Setup) -> Gateway {
    let mut it = gateway(setup);
    it.client.open_as(PATIENT, "2025-06-18", json!({})).await;
    it.ready().await;
    it
}

async fn with_editor(setup: Setup) -> (Gateway, FakeUnity) {
    let unity = unity(&setup.net, FakeUnityConfig { dialect: FakeDialect::UnityMcp, ..editor() }).await;
    (opened(setup).await, unity)
}

/// Calls a tool that must succeed and gives its answer, which must stand in `structuredContent` too.
async fn ok(it: &mut Gateway, tool: &str, arguments: Value) -> Value {
    let id = it.client.call(tool, arguments).await;
    let result = it.client.result(&id).await;
    assert_ne!(result["isError"], json!(true), "{tool}: {result}");
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"], "{tool}");
    text
}

// ---- a log for each operation ------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn each_operation_has_its_log_and_its_details_and_its_result() {
    let (mut it, unity) = with_editor(setup()).await;
    let ran = ok(&mut it, "execute_code", json!({"code": "count(\"once\")"})).await;
    let log_id = ran["log_id"].clone();
    sleep(Duration::from_millis(10)).await;
    ok(&mut it, "get_state", json!({})).await;

    let logs = ok(&mut it, "get_logs", json!({})).await;
    let names: Vec<&str> = logs["logs"].as_array().unwrap().iter().map(|log| log["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 2, "{logs}");
    assert!(names[0].starts_with("unity-state-") && names[1].starts_with("unity-execute-"), "{names:?}");
    let stamp = names[1].strip_prefix("unity-execute-").unwrap();
    assert_eq!(logs["logs"][1]["timestamp"].to_string(), stamp, "its name holds the time of its end");
    assert_eq!(ok(&mut it, "get_logs", json!({"limit": 1})).await["logs"].as_array().unwrap().len(), 1);

    for tool in ["get_log_by_name", "get_logs_by_name"] {
        let log = ok(&mut it, tool, json!({"log_name": names[1]})).await;
        assert_eq!(log["name"], names[1]);
        assert_eq!(log["entries"][0]["data"], ran, "{tool}");
    }
    let none = ok(&mut it, "get_log_by_name", json!({"log_name": "no such log"})).await;
    assert_eq!(none["entries"], json!([]));

    let details = ok(&mut it, "get_log_details", json!({"logId": log_id})).await;
    assert_eq!((&details["log"]["id"], &details["log"]["data"]), (&log_id, &ran));
    assert_eq!(ok(&mut it, "get_result", json!({"logId": log_id})).await, ran);
    assert_eq!(ok(&mut it, "get_result", json!({"log_id": log_id})).await, ran);
    assert_eq!(unity.runs("once"), 1);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_was_not_executed_has_its_log_too() {
    let mut it = gateway(setup());
    it.client.open_as(PATIENT, "2025-06-18", json!({})).await;
    let id = it.client.call("execute_code", json!({"code": "x"})).await;
    let (text, error) = it.client.text(&id).await;
    assert!(error && text.starts_with("Not executed"), "{text}");
    it.close().await;
}
