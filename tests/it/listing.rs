//! A package with many tools lists a part of them at first. The others are found by words, and called under the same rules.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::time::Duration;

use crate::support::{Gateway, PATIENT, PORT, SLACK, Setup, editor, gateway, unity, until};
use holdfast::config::{Config, PortSource};
use holdfast::limits::{TOOLS_FOUND_MAX, TOOLS_LISTED_MAX, TOOLS_SHOWN_MAX};
use holdfast::protocol::policy::{Pattern, Policy, Toolset};
use holdfast_fake_unity::{FakeUnity, FakeUnityConfig};
use serde_json::{Value, json};
use tokio::time::Instant;

const CHANGED: &str = "notifications/tools/list_changed";
/// Tools that the editor adds after its own ones: they are not listed at first.
const UNLISTED: &str = "more-0119";

async fn with(config: Config, change: impl FnOnce(FakeUnityConfig) -> FakeUnityConfig) -> (Gateway, FakeUnity) {
    let config = Config { ports: vec![(PORT, PortSource::Flag)], seed: Some(7), ..config };
    let setup = Setup { config, ..Setup::default() };
    let unity = unity(&setup.net, change(FakeUnityConfig { tools: 120, ..editor() })).await;
    let mut it = gateway(setup);
    it.client.open_as(PATIENT, "2025-06-18", json!({})).await;
    it.ready().await;
    (it, unity)
}

async fn many() -> (Gateway, FakeUnity) {
    with(Config::default(), |config| config).await
}

async fn found(it: &mut Gateway, words: &str) -> Value {
    serde_json::from_str(&it.client.ok("holdfast_tools", json!({"find": words})).await).unwrap()
}

async fn through(it: &mut Gateway, tool: &str, arguments: Value) -> (String, bool) {
    let id = it.client.call("holdfast_tools", json!({"call": tool, "arguments": arguments})).await;
    it.client.text(&id).await
}

#[tokio::test(start_paused = true)]
async fn a_part_is_listed_and_what_was_found_is_listed_too_after_a_word_to_the_client() {
    let (mut it, _unity) = many().await;
    let first = it.client.tools().await;
    assert_eq!(first.len(), TOOLS_LISTED_MAX, "{first:?}");
    assert!(first.contains(&"holdfast_tools".to_owned()) && !first.contains(&UNLISTED.to_owned()));
    let status: Value = serde_json::from_str(&it.client.ok("holdfast_status", json!({})).await).unwrap();
    let count = status["tools"]["count"].as_u64().unwrap();
    assert_eq!(status["tools"]["not_listed"].as_u64(), Some(count + 6 - TOOLS_LISTED_MAX as u64), "{status:#}");
    assert_eq!(status["problems"], json!([]));

    // Not listed is not hidden.
    assert!(it.client.ok(UNLISTED, json!({"text": "by its name"})).await.contains("by its name"));
    let before = it.client.notifications(CHANGED).len();
    let told = found(&mut it, UNLISTED).await;
    assert_eq!(told["tools"][0]["name"], UNLISTED, "{told:#}");
    assert!(told["tools"][0]["input_schema"]["properties"].is_object(), "{told:#}");
    assert!(told["tools"].as_array().unwrap().len() <= TOOLS_SHOWN_MAX);
    until("the client is told", || it.client.notifications(CHANGED).len() == before + 1).await;
    let again = it.client.tools().await;
    assert!(first.iter().all(|name| again.contains(name)) && again.contains(&UNLISTED.to_owned()), "{again:?}");
    // The same once more is no news.
    found(&mut it, UNLISTED).await;
    it.client.ping().await;
    assert_eq!(it.client.notifications(CHANGED).len(), before + 1);
    let nothing = found(&mut it, "quaternion").await;
    assert_eq!(nothing["tools"], json!([]));
    for nth in 40..119 {
        found(&mut it, &format!("more-{nth:04}")).await;
    }
    let last = it.client.tools().await;
    assert!(last.len() <= TOOLS_LISTED_MAX + TOOLS_FOUND_MAX && last.contains(&"more-0118".to_owned()), "{last:?}");
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_through_the_tool_is_the_inner_call_with_its_record_progress_and_cancel() {
    let (mut it, unity) = many().await;
    let (text, error) = through(&mut it, "count", json!({"key": "through"})).await;
    assert!(!error, "{text}");
    assert_eq!(unity.runs("through"), 1);
    let calls = it.client.ok("holdfast_calls", json!({})).await;
    assert!(calls.contains("\"count\"") && !calls.contains("holdfast_tools"), "{calls}");

    let arguments = json!({"call": "count", "arguments": {"key": "held", "hold": true}});
    let id = it.client.call_with_progress("holdfast_tools", arguments.clone(), "p").await;
    until("it runs", || unity.runs("held") == 1).await;
    it.client.wait_for("progress", |line| line["params"]["progressToken"] == "p").await;
    unity.release();
    assert!(!it.client.text(&id).await.1);
    let id = it.client.call("holdfast_tools", arguments).await;
    until("it runs", || unity.runs("held") == 2).await;
    it.client.cancel(&id).await;
    unity.release();
    it.client.ping().await;
    assert!(it.client.answered(&id).is_none(), "a cancelled request gets no answer");

    let id = it.client.call("holdfast_tools", json!({"call": "no_such_tool"})).await;
    assert_eq!(it.client.answer(&id).await.value["error"]["code"], -32602);
    let (text, error) = through(&mut it, "holdfast_status", json!({})).await;
    assert!(!error && text.contains("is connected"), "{text}");
    let (text, error) = through(&mut it, "holdfast_tools", json!({"find": "x"})).await;
    assert!(error && text.starts_with("holdfast_tools: not executed"), "{text}");
    it.close().await;
}

/// A lost call through the tool is told like a lost call, and is not sent again.
#[tokio::test(start_paused = true)]
async fn a_call_through_the_tool_runs_once_if_its_connection_is_lost() {
    let (mut it, unity) = many().await;
    let id =
        it.client.call("holdfast_tools", json!({"call": "count", "arguments": {"key": "lost", "hold": true}})).await;
    until("it runs", || unity.runs("lost") == 1).await;
    it.net.cut();
    let (text, error) = it.client.text(&id).await;
    assert!(error && text.starts_with("Outcome unknown"), "{text}");
    it.ready().await;
    it.client.ok("echo", json!({})).await;
    assert_eq!(unity.runs("lost"), 1);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_switched_off_is_refused_with_that_reason_listed_or_not() {
    let mut policy = Policy::default();
    policy.deny(["count", "more-0118"].map(|rule| Pattern::parse(rule).unwrap()).into(), "--deny");
    let config = Config { policy, ..Config::default() };
    let blocked = |config| FakeUnityConfig { blocked_tools: vec![UNLISTED.to_owned()], ..config };
    let (mut it, unity) = with(config, blocked).await;
    for (tool, says) in [("count", "deny \"count\" (--deny)"), ("more-0118", "deny \"more-0118\" (--deny)")] {
        let id = it.client.call(tool, json!({"key": "denied"})).await;
        let (direct, error) = it.client.text(&id).await;
        assert!(error && direct.starts_with("Not executed: policy refuses it") && direct.contains(says), "{direct}");
        assert_eq!(through(&mut it, tool, json!({"key": "denied"})).await, (direct, true));
    }
    assert_eq!(unity.runs("denied"), 0);
    let id = it.client.call(UNLISTED, json!({})).await;
    let direct = it.client.text(&id).await;
    assert!(direct.1 && direct.0.contains("blocked by security settings"), "{}", direct.0);
    assert_eq!(through(&mut it, UNLISTED, json!({})).await, direct);
    it.close().await;
}

/// What the user hides is neither listed nor found.
#[tokio::test(start_paused = true)]
async fn what_is_hidden_is_not_found() {
    let mut policy = Policy::default();
    policy.deny(vec![Pattern::parse("more-011*").unwrap()], "--deny");
    policy.hide_denied("--hide-denied");
    let (mut it, _unity) = with(Config { policy, ..Config::default() }, |config| config).await;
    let told = found(&mut it, "more-0118 more-0109").await;
    assert_eq!(told["tools"][0]["name"], "more-0109", "{told:#}");
    assert!(!told.to_string().contains("more-0118"), "{told:#}");
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_toolset_is_listed_from_the_start() {
    let of = |word: &str| Config { toolsets: vec![Toolset::parse(word).unwrap()], ..Config::default() };
    let (mut it, _unity) = with(of("all"), |config| config).await;
    let all = it.client.tools().await;
    assert!(all.len() > 100 && !all.contains(&"holdfast_tools".to_owned()), "{all:?}");
    it.close().await;
    let (mut it, _unity) = with(of("more-011?"), |config| config).await;
    let some = it.client.tools().await;
    assert!(some.len() == TOOLS_LISTED_MAX && some.contains(&UNLISTED.to_owned()), "{some:?}");
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn it_answers_at_once_while_no_tools_are_known() {
    let mut it = gateway(Setup::default());
    it.client.open_as(PATIENT, "2025-06-18", json!({})).await;
    let began = Instant::now();
    let id = it.client.call("holdfast_tools", json!({"find": "scene"})).await;
    let (text, error) = it.client.text(&id).await;
    assert!(
        error && text.starts_with("holdfast_tools: not executed") && text.contains("holdfast_wait_ready"),
        "{text}"
    );
    assert!(began.elapsed() < SLACK + Duration::from_secs(3));
    it.close().await;
}
