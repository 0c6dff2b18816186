//! Tests of requests and replies: order, sizes, and what stops the main thread.

use super::*;

#[tokio::test]
async fn one_connection_is_served_in_order_and_others_go_on() {
    let unity = start(config()).await;
    let mut first = Client::to(&unity).await;
    let mut second = Client::to(&unity).await;
    first.call("1", "hold", "{}").await;
    first.call("2", "echo", r#"{"text":"after"}"#).await;
    until(&unity, |stats| stats.running == 1).await;
    assert_eq!(second.result("echo", r#"{"text":"ä"}"#).await["Echo"], "ä");
    // Only the first connection's held request and the second connection's request have been read.
    assert_eq!(unity.stats().requests, 2);
    unity.release();
    assert_eq!(first.reply().await["id"], 1);
    let echo = first.reply().await;
    assert_eq!((&echo["id"], &echo["result"]["Echo"]), (&Value::from(2), &Value::from("after")));
}

#[tokio::test]
async fn both_catalogues_are_listed_without_development_tools() {
    for (text, built_in, development, timeouts) in [("0.30.1", 10, 4, true), ("2.2.0", 15, 5, false)] {
        let unity = start(FakeUnityConfig { test_tools: false, ..version(text) }).await;
        let mut client = Client::to(&unity).await;
        let list = client.result("get-tool-details", r#"{"IncludeDevelopmentOnly":false}"#).await;
        let tools = list["Tools"].as_array().unwrap();
        assert_eq!(tools.len(), built_in, "{text}");
        assert!(tools.iter().all(|tool| tool["displayDevelopmentOnly"] == false));
        let with = |tool: &Value| tool["parameterSchema"]["Properties"].get("TimeoutSeconds").is_some();
        assert!(tools.iter().all(|tool| with(tool) == timeouts), "{text}");
        let all = client.result("get-tool-details", r#"{"includeDevelopmentOnly":true}"#).await;
        assert_eq!(all["Tools"].as_array().unwrap().len(), built_in + development, "{text}");
        assert_eq!(unity.stats().list_requests, 2);
        // Every built-in tool answers with an object of its own type of result.
        for tool in tools.iter().map(|tool| tool["name"].as_str().unwrap()).filter(|tool| *tool != "compile") {
            assert!(client.result(tool, "{}").await.is_object(), "{tool}");
        }
    }
}

#[tokio::test]
async fn a_result_has_no_limit() {
    let unity = start(config()).await;
    let mut client = Client::to(&unity).await;
    let n = 3 * 1024 * 1024;
    let result = client.result("big", &format!(r#"{{"n":{n}}}"#)).await;
    assert_eq!(result["Text"].as_str().unwrap().len(), n);
}

#[tokio::test]
async fn a_request_above_one_mebibyte_is_never_run_and_ends_the_connection() {
    let unity = start(config()).await;
    let mut client = Client::to(&unity).await;
    let key =
        |length: usize| format!(r#"{{"id":1,"method":"count","params":{{"key":"k","x":"{}"}}}}"#, "x".repeat(length));
    client.send(&key(1_000_000)).await;
    assert_eq!(client.reply().await["result"]["Runs"], 1);
    // The bridge may close the connection before everything is written.
    let body = key(1_048_576);
    let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
    let _ = within(client.stream.write_all(frame.as_bytes())).await;
    let _ = client.ended().await;
    until(&unity, |stats| stats.connections == 0).await;
    assert_eq!(unity.runs("k"), 1);
}

#[tokio::test]
async fn a_call_without_an_id_is_ignored() {
    let unity = start(config()).await;
    let mut client = Client::to(&unity).await;
    client.send(r#"{"method":"count","params":{"key":"k"}}"#).await;
    client.send(r#"{"id":null,"method":"count","params":{"key":"k"}}"#).await;
    client.call("1", "runs", r#"{"key":"k"}"#).await;
    let reply = client.reply().await;
    assert_eq!((&reply["id"], &reply["result"]["Runs"]), (&Value::from(1), &Value::from(0)));
}

#[tokio::test]
async fn a_frozen_editor_is_silent_and_answers_when_it_thaws() {
    let unity = start(config()).await;
    let mut client = Client::to(&unity).await;
    client.result("ping", "{}").await;
    unity.freeze();
    client.call("1", "count", r#"{"key":"k"}"#).await;
    let mut late = Client::to(&unity).await;
    late.call("2", "count", r#"{"key":"k"}"#).await;
    let silence = tokio::time::timeout(Duration::from_millis(150), client.stream.peek(&mut [0])).await;
    assert!(silence.is_err(), "a byte from a frozen editor");
    let stats = unity.stats();
    assert_eq!((stats.accepts, stats.requests, unity.runs("k")), (1, 1, 0));
    unity.thaw();
    assert_eq!(client.reply().await["id"], 1);
    assert_eq!(late.reply().await["id"], 2);
    assert_eq!(unity.runs("k"), 2);
}

#[tokio::test]
async fn a_modal_dialog_holds_the_main_thread_and_not_the_sockets() {
    let unity = start(config()).await;
    unity.modal(true);
    let mut client = Client::to(&unity).await;
    client.send("no json").await;
    assert_eq!(client.reply().await["id"], Value::Null);
    client.call("1", "count", r#"{"key":"k"}"#).await;
    until(&unity, |stats| stats.queued == 1).await;
    assert_eq!(unity.runs("k"), 0);
    unity.modal(false);
    assert_eq!(client.reply().await["result"]["Runs"], 1);
}

#[tokio::test]
async fn an_import_and_a_lost_focus_slow_the_main_thread() {
    let unity = start(FakeUnityConfig { unfocused_tick: Duration::from_millis(80), ..config() }).await;
    let mut client = Client::to(&unity).await;
    client.result("ping", "{}").await;
    let begun = tokio::time::Instant::now();
    unity.import(Duration::from_millis(120));
    client.result("ping", "{}").await;
    assert!(begun.elapsed() >= Duration::from_millis(120));
    unity.focus(false);
    let begun = tokio::time::Instant::now();
    for _ in 0..3 {
        client.result("ping", "{}").await;
    }
    // There are at least two whole pauses between three ticks.
    assert!(begun.elapsed() >= Duration::from_millis(160));
}

#[tokio::test]
async fn queued_work_runs_although_its_client_has_left() {
    let unity = start(config()).await;
    let mut client = Client::to(&unity).await;
    unity.modal(true);
    client.call("1", "count", r#"{"key":"k"}"#).await;
    until(&unity, |stats| stats.queued == 1).await;
    drop(client);
    unity.modal(false);
    until(&unity, |stats| stats.runs.get("k") == Some(&1)).await;
}

#[tokio::test]
async fn failures_of_a_tool() {
    let unity = start(config()).await;
    let mut client = Client::to(&unity).await;
    assert_eq!(client.result("fail", "{}").await["Success"], false);
    client.call("1", "throw", "{}").await;
    assert_eq!(client.reply().await["error"]["data"]["type"], "internal_error");
}

#[tokio::test]
async fn a_changed_list_is_announced_after_the_reply_and_read_again() {
    let unity = start(config()).await;
    let mut client = Client::to(&unity).await;
    let mut other = Client::to(&unity).await;
    let before = client.tool_names().await.len();
    other.result("ping", "{}").await;
    assert_eq!(client.result("swap", "{}").await["Change"], "added");
    for peer in [&mut client, &mut other] {
        while peer.json().await["method"] != "notifications/tools/list_changed" {}
    }
    assert!(client.tool_names().await.contains(&"swapped".to_owned()));
    assert_eq!(client.result("swap", "{}").await["Change"], "removed");
    assert_eq!(client.tool_names().await.len(), before);
    unity.add_tool("later").unwrap();
    assert!(unity.add_tool("later").is_err());
    assert_eq!(client.tool_names().await.len(), before + 1);
    assert_eq!(client.result("later", r#"{"text":"x"}"#).await["Echo"], "x");
}

#[tokio::test]
async fn identity_is_checked_when_a_request_asks_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let unity = start(FakeUnityConfig { project: Some(folder.path().into()), ..config() }).await;
    let mut client = Client::to(&unity).await;
    let settings = std::fs::read(folder.path().join("UserSettings/UnityMcpSettings.json")).unwrap();
    let settings: Value = serde_json::from_slice(&settings).unwrap();
    let (root, session) =
        (settings["projectRootPath"].as_str().unwrap(), settings["serverSessionId"].as_str().unwrap());
    let mut message = async |root: &str, session: &str| {
        let identity = serde_json::json!({"expectedProjectRoot": root, "expectedServerSessionId": session});
        client.send(&format!(r#"{{"id":1,"method":"count","params":{{"key":"k"}},"x-uloop":{identity}}}"#)).await;
        client.reply().await["error"]["message"].as_str().map(str::to_owned)
    };
    assert_eq!(message(root, session).await, None);
    let other = message("/other", session).await.unwrap();
    assert_eq!(other, "Connected Unity instance belongs to a different project.");
    let stale = message(root, "stale").await.unwrap();
    assert_eq!(stale, "Unity CLI Loop server session changed. Retry the command.");
    assert!(message("", session).await.unwrap().contains("expectedProjectRoot is required"));
    assert_eq!(unity.runs("k"), 1);
}
