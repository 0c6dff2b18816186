//! The promises about a client's call: it is held, sent, answered, cancelled or given up, the answer is always true, and no
//! call runs twice.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::time::Duration;

use crate::support::{PATIENT, SLACK, UNKNOWN, connected, editor, plain, took, unity, until};
use holdfast::core::ShutdownReason;
use holdfast::limits;
use holdfast_fake_unity::PACKAGES;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

fn call_id(text: &str) -> String {
    let found = text.split(|c: char| !(c.is_ascii_hexdigit() || c == '-')).find(|word| word.len() == 36);
    found.unwrap_or_else(|| panic!("no call id in: {text}")).to_owned()
}

// ---- what a call costs ------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn a_plain_call_takes_the_requests_lock_three_times_at_most_and_the_calls_lock_four_times() {
    let (mut gateway, _unity) = connected(UNKNOWN).await;
    let locked = |gateway: &crate::support::Gateway| {
        (gateway.parts.client.outbox.times_locked(), gateway.parts.link().calls.shared.times_locked())
    };
    let mut costs = Vec::new();
    for _ in 0..20 {
        let before = locked(&gateway);
        let id = gateway.client.call("echo", json!({"n": 1})).await;
        let (text, error) = gateway.client.text(&id).await;
        assert!(!error, "{text}");
        // This leaves time for all work that follows the answer.
        sleep(Duration::from_millis(1)).await;
        let after = locked(&gateway);
        costs.push((after.0 - before.0, after.1 - before.1));
    }
    // The first call also sets the timer of the deadlines, and the rest of the handshake runs at the same time.
    costs.remove(0);
    assert!(costs.iter().all(|(requests, calls)| *requests <= 3 && *calls <= 4), "{costs:?}");
}

// ---- calls and outages ------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn a_call_without_any_evidence_of_an_editor_is_not_executed_within_a_second() {
    let mut gateway = plain();
    gateway.client.open().await;
    sleep(Duration::from_secs(5)).await;
    let began = Instant::now();
    let id = gateway.client.call("echo", json!({})).await;
    let (text, error) = gateway.client.text(&id).await;
    assert!(error && text.starts_with("Not executed: no Unity Editor"), "{text}");
    assert!(took(&gateway, &id, began).await < Duration::from_secs(1));
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn a_call_before_the_editor_is_there_runs_as_soon_as_it_is() {
    let mut gateway = plain();
    gateway.client.open().await;
    let id = gateway.client.call("count", json!({"key": "early"})).await;
    sleep(Duration::from_millis(400)).await;
    let unity = unity(&gateway.net, editor()).await;
    let (text, error) = gateway.client.text(&id).await;
    assert!(!error, "{text}");
    assert_eq!(unity.runs("early"), 1);
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn a_call_during_a_reload_is_held_with_progress_and_then_runs_once() {
    let (mut gateway, unity) = connected(UNKNOWN).await;
    unity.reload(Duration::from_secs(20)).await.unwrap();
    until("the loss is seen", || gateway.parts.link().contact.view.borrow().epoch.is_none()).await;
    let began = Instant::now();
    let id = gateway.client.call_with_progress("count", json!({"key": "held"}), "token").await;
    let (text, error) = gateway.client.text(&id).await;
    assert!(!error, "{text}");
    let took = took(&gateway, &id, began).await;
    assert!(took > Duration::from_secs(19) && took < Duration::from_secs(21), "it took {took:?}");
    assert_eq!(unity.runs("held"), 1);
    sleep(Duration::from_secs(10)).await;
    let progress = gateway.client.notifications("notifications/progress");
    assert!(progress.len() >= 5, "{} in 20 s", progress.len());
    let values: Vec<f64> = progress.iter().map(|line| line.value["params"]["progress"].as_f64().unwrap()).collect();
    assert!(values.is_sorted_by(|a, b| a < b), "{values:?}");
    assert!(progress.iter().all(|line| line.value["params"]["progressToken"] == "token"));
    let lines = gateway.client.lines();
    let answered = lines.iter().position(|line| line.value["id"] == id).unwrap();
    let last = lines.iter().rposition(|line| line.value["method"] == "notifications/progress").unwrap();
    assert!(last < answered, "progress after the answer");
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

/// A client gives up a call without progress, so the held call must report some. The cause "busy" would name a preceding call
/// that does not exist.
#[tokio::test(start_paused = true)]
async fn a_call_behind_a_list_that_is_asked_for_again_says_so_until_it_comes() {
    let (mut gateway, unity) = connected(UNKNOWN).await;
    let first = gateway.client.call_with_progress("count", json!({"key": "first"}), "first").await;
    assert!(!gateway.client.text(&first).await.1);
    // The editor answers list requests on its main thread.
    unity.import(Duration::from_secs(20));
    unity.add_tool("echo-2").unwrap();
    sleep(Duration::from_secs(1)).await;
    let held = gateway.client.call_with_progress("count", json!({"key": "held"}), "held").await;
    assert!(!gateway.client.text(&held).await.1);
    let said = |token: &str| -> Vec<String> {
        let progress = gateway.client.notifications("notifications/progress");
        let of_it = progress.iter().filter(|line| line.value["params"]["progressToken"] == token);
        of_it.map(|line| line.value["params"]["message"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(said("first"), ["sent to Unity, no answer yet"], "nothing was in its way");
    let told = said("held");
    assert!(
        told.len() > 5
            && told
                .iter()
                .rev()
                .skip(1)
                .all(|text| text.starts_with("held, not sent yet: ") && text.contains("tool list")),
        "{told:?}"
    );
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_never_returns_is_given_up_within_the_clients_patience() {
    let (mut gateway, unity) = connected(UNKNOWN).await;
    unity.reload(Duration::from_secs(5000)).await.unwrap();
    until("the loss is seen", || gateway.parts.link().contact.view.borrow().epoch.is_none()).await;
    let began = Instant::now();
    let id = gateway.client.call("count", json!({"key": "never"})).await;
    let (text, error) = gateway.client.text(&id).await;
    assert!(error && text.starts_with("Not executed"), "{text}");
    let took = took(&gateway, &id, began).await;
    assert!(took <= limits::PATIENCE_UNKNOWN - limits::PATIENCE_MARGIN + SLACK, "it took {took:?}");
    assert!(took > Duration::from_secs(40), "it was held: {took:?}");
    assert_eq!(unity.runs("never"), 0);
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_under_a_call_leaves_its_outcome_unknown_and_never_runs_it_twice() {
    let (mut gateway, unity) = connected(UNKNOWN).await;
    let running = gateway.client.call("hold", json!({})).await;
    until("it runs", || unity.stats().running == 1).await;
    let held = gateway.client.call("count", json!({"key": "held"})).await;
    gateway.client.ping().await;
    gateway.net.cut();
    let (text, error) = gateway.client.text(&running).await;
    assert!(error && text.starts_with("Outcome unknown: the connection to Unity ended"), "{text}");
    unity.release();
    let (text, error) = gateway.client.text(&held).await;
    assert!(!error, "{text}");
    assert_eq!(unity.runs("held"), 1);
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_no_live_list_has_is_unknown_and_one_that_is_not_listed_yet_is_held() {
    let (mut gateway, _unity) = connected(UNKNOWN).await;
    let id = gateway.client.call("no-such-tool", json!({})).await;
    let answer = gateway.client.answer(&id).await.value;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);

    let mut gateway = plain();
    gateway.net.hold_connects(true);
    gateway.client.open().await;
    let id = gateway.client.call("no-such-tool", json!({})).await;
    sleep(Duration::from_secs(2)).await;
    assert!(gateway.client.answered(&id).is_none(), "nobody can know yet");
    let _unity = unity(&gateway.net, editor()).await;
    gateway.net.hold_connects(false);
    let answer = gateway.client.answer(&id).await.value;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn held_calls_have_a_bound_of_their_bytes_and_what_is_too_large_for_the_editor_is_told_at_once() {
    let (mut gateway, unity) = connected(UNKNOWN).await;
    unity.reload(Duration::from_secs(20)).await.unwrap();
    until("the loss is seen", || gateway.parts.link().contact.view.borrow().epoch.is_none()).await;
    let began = Instant::now();
    let large = gateway.client.call("echo", json!({"text": "x".repeat(PACKAGES[0].facts.request_max_bytes)})).await;
    let (text, error) = gateway.client.text(&large).await;
    assert!(error && text.starts_with("Not executed"), "{text}");
    assert!(began.elapsed() < Duration::from_secs(1), "it was held for {:?}", began.elapsed());
    // Each call is within the editor's limit, but together they exceed what the gateway keeps.
    let most = limits::OPEN_CALLS_MAX_BYTES / 1_000_000;
    let mut calls = Vec::new();
    for number in 0..most + 5 {
        let text = format!("{number}{}", "x".repeat(1_000_000));
        calls.push(gateway.client.call("echo", json!({"text": text})).await);
    }
    gateway.client.ping().await;
    let mut refused = 0;
    for call in calls.iter().skip(most) {
        let (text, error) = gateway.client.text(call).await;
        assert!(error && text.starts_with("Not executed: busy"), "{text}");
        refused += 1;
    }
    assert!(refused == 5 && began.elapsed() < Duration::from_secs(1), "told at once: {:?}", began.elapsed());
    assert!(calls.iter().take(most).all(|call| gateway.client.answered(call).is_none()), "the others are held");
    for call in calls.iter().take(most) {
        let (text, error) = gateway.client.text(call).await;
        assert!(!error, "{text:.200}");
    }
    // The calls that ended no longer count towards the limit in bytes.
    gateway.client.ok("echo", json!({"text": "y".repeat(1_000_000)})).await;
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

// ---- cancelling -------------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn a_call_cancelled_while_held_is_never_sent_nor_answered() {
    let (mut gateway, unity) = connected(UNKNOWN).await;
    unity.reload(Duration::from_secs(10)).await.unwrap();
    until("the loss is seen", || gateway.parts.link().contact.view.borrow().epoch.is_none()).await;
    let id = gateway.client.call("count", json!({"key": "cancelled"})).await;
    gateway.client.ping().await;
    gateway.client.cancel(&id).await;
    gateway.client.ok("count", json!({"key": "next"})).await;
    assert_eq!((unity.runs("cancelled"), unity.runs("next")), (0, 1));
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn an_id_used_again_after_a_cancel_is_the_second_calls_alone_and_the_first_is_never_sent() {
    let (mut gateway, unity) = connected(UNKNOWN).await;
    let call = |id: u64, key: String| {
        let params = json!({"name": "count", "arguments": {"key": key}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    for id in 700..740 {
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        // The gateway reads the lines at once, so the first call still waits for the session when its cancel arrives.
        let (first, second) = (call(id, format!("first-{id}")), call(id, format!("second-{id}")));
        gateway.client.line(&format!("{first}\n{cancel}\n{second}")).await;
        let (text, error) = gateway.client.text(&json!(id)).await;
        assert!(!error && text.contains(&format!("second-{id}")), "{text}");
        assert_eq!((unity.runs(&format!("first-{id}")), unity.runs(&format!("second-{id}"))), (0, 1));
    }
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn a_call_cancelled_while_it_runs_keeps_the_editors_place_and_the_next_one_says_busy() {
    let (mut gateway, unity) = connected(UNKNOWN).await;
    let running = gateway.client.call("hold", json!({})).await;
    until("it runs", || unity.stats().running == 1).await;
    gateway.client.cancel(&running).await;
    let began = Instant::now();
    let next = gateway.client.call("count", json!({"key": "next"})).await;
    let (text, error) = gateway.client.text(&next).await;
    assert!(error && text.contains("busy with `hold` (call "), "{text}");
    assert!(text.starts_with("Not executed"), "{text}");
    let took = took(&gateway, &next, began).await;
    assert!(took > Duration::from_secs(50) && took <= Duration::from_secs(55) + SLACK, "it took {took:?}");
    assert_eq!(unity.runs("next"), 0);
    unity.release();
    gateway.client.ok("count", json!({"key": "next"})).await;
    assert_eq!(unity.runs("next"), 1);
    assert_eq!(unity.stats().accepts, 1, "the connection was kept");
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn cancels_of_what_is_not_open_are_ignored() {
    let (mut gateway, _unity) = connected(UNKNOWN).await;
    for id in [json!(1), json!(999), json!("x"), Value::Null, json!({"a": 1})] {
        gateway.client.notify("notifications/cancelled", json!({"requestId": id})).await;
    }
    gateway.client.ping().await;
    gateway.client.ok("echo", json!({"text": "whole"})).await;
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

// ---- long calls -------------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn a_call_that_outlasts_the_clients_patience_is_still_running_and_its_result_is_kept() {
    for (name, limit) in [(UNKNOWN, limits::PATIENCE_UNKNOWN - limits::PATIENCE_MARGIN), (PATIENT, limits::RUNNING_MAX)]
    {
        let (mut gateway, unity) = connected(name).await;
        let began = Instant::now();
        let id = gateway.client.call("hold", json!({})).await;
        let (text, error) = gateway.client.text(&id).await;
        assert!(text.starts_with("Still running"), "{text} {error}");
        let took = took(&gateway, &id, began).await;
        assert!(took + SLACK >= limit && took <= limit + SLACK, "it took {took:?}, the limit is {limit:?}");
        let call = call_id(&text);
        let text = gateway.client.ok("holdfast_result", json!({"call_id": call})).await;
        assert!(text.contains("not finished"), "{text}");
        unity.release();
        until("the late answer", || unity.stats().running == 0).await;
        sleep(Duration::from_millis(100)).await;
        for _ in 0..2 {
            let text = gateway.client.ok("holdfast_result", json!({"call_id": call})).await;
            assert!(text.contains("Released"), "{text}");
        }
        let listed = gateway.client.ok("holdfast_calls", json!({})).await;
        assert!(listed.contains(&call), "{listed}");
        assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
    }
}

#[tokio::test(start_paused = true)]
async fn ten_more_silent_minutes_end_the_connection_and_a_new_one_is_dialled() {
    let (mut gateway, unity) = connected(PATIENT).await;
    let began = Instant::now();
    let id = gateway.client.call("hold", json!({})).await;
    let (text, _) = gateway.client.text(&id).await;
    let call = call_id(&text);
    // After RUNNING_MAX the call was due and was answered "still running"; the silence is measured from then on.
    let silence = limits::RUNNING_MAX + limits::SILENCE_MAX;
    sleep(limits::SILENCE_MAX - Duration::from_secs(5)).await;
    assert_eq!(unity.stats().accepts, 1, "not yet");
    until("the second connection", || unity.stats().accepts == 2).await;
    let took = began.elapsed();
    assert!(took >= silence && took < silence + Duration::from_secs(5), "after {took:?}");
    gateway.ready().await;
    let text = gateway.client.ok("holdfast_result", json!({"call_id": call})).await;
    assert!(text.contains("outcome unknown"), "{text}");
    unity.release();
    gateway.client.ok("echo", json!({"text": "whole"})).await;
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn a_frozen_editor_needs_no_person() {
    let (mut gateway, unity) = connected(PATIENT).await;
    unity.freeze();
    let id = gateway.client.call("count", json!({"key": "frozen"})).await;
    let (text, _) = gateway.client.text(&id).await;
    assert!(text.starts_with("Still running"), "{text}");
    sleep(Duration::from_secs(800)).await;
    gateway.client.ping().await;
    unity.thaw();
    gateway.ready().await;
    gateway.client.ok("echo", json!({"text": "whole"})).await;
    assert!(unity.runs("frozen") <= 1);
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}
