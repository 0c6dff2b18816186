//! Tests of what a reload, a stop, a crash and a quit do to calls, connections and files.

use super::*;

const SILENCE: Duration = Duration::from_millis(100);

#[tokio::test]
async fn a_reload_cuts_what_runs_drops_what_waits_and_remembers_both() {
    let editor = Editor::start().await;
    let port = editor.unity.port().unwrap();
    let mut gateway = editor.gateway().await;
    let done = gateway.call("done", 1, "count", r#"{"key":"k"}"#).await;
    gateway.begin("cut", 2, "count", r#","arguments":{"key":"k","hold":true}"#).await;
    gateway.begin("beside", 3, "hold-parallel", "").await;
    gateway.begin("waits", 4, "count", r#","arguments":{"key":"k"}"#).await;
    while gateway.status().await["queued"] != 1 || editor.unity.runs("k") != 2 {}
    let before = editor.instance();
    editor.unity.reload(SILENCE).await.unwrap();
    let during = editor.instance();
    assert_eq!((&during["state"], &during["nonce"]), (&"reloading".into(), &before["nonce"]));
    assert_eq!(gateway.note("notifications/server/shutdown").await["reason"], "DomainReload");
    assert_eq!(gateway.client.ended().await, Ok(()));
    let after = editor.back().await;
    assert_eq!((&after["state"], &after["generation"], &after["port"]), (&"ready".into(), &2.into(), &port.into()));
    assert_eq!((&after["nonce"], &after["token"]), (&before["nonce"], &before["token"]));

    let mut gateway = editor.gateway().await;
    let outcomes = gateway.outcomes(&[("done", 1), ("cut", 2), ("beside", 3), ("waits", 4), ("unread", 5)]).await;
    assert_eq!(outcomes[0]["result"], done["result"]);
    assert_eq!((&outcomes[1]["status"], &outcomes[1]["tool"]), (&"interrupted".into(), &"count".into()));
    assert_eq!(outcomes[2]["status"], "interrupted");
    assert_eq!((&outcomes[3]["status"], &outcomes[3]["reason"]), (&"notRun".into(), &"dropped".into()));
    assert_eq!(outcomes[4]["reason"], "sealed");
    assert_eq!(editor.unity.runs("k"), 2, "the held one had counted, the waiting one had not begun");
    let stats = editor.unity.stats();
    assert_eq!((stats.lost, stats.interrupted, stats.queued, stats.running), (1, 2, 0, 0));
    // The outcomes stay the same after another reload.
    editor.unity.reload(SILENCE).await.unwrap();
    let mut gateway = editor.gateway().await;
    assert_eq!(
        gateway.outcomes(&[("done", 1), ("cut", 2), ("beside", 3), ("waits", 4), ("unread", 5)]).await,
        outcomes
    );
    assert_eq!(refusal(&gateway.call("unread", 5, "count", r#"{"key":"k"}"#).await), ("sealed", false));
}

#[tokio::test]
async fn a_compilation_answers_with_its_true_result_after_its_own_reload() {
    let editor = Editor::with(FakeUnityConfig { compile_reload: SILENCE, ..config() }).await;
    let mut events = editor.unity.events();
    let mut gateway = editor.gateway().await;
    gateway.begin("1", 1, "compile", r#","progress":true"#).await;
    assert_eq!(gateway.note("holdfast/progress").await["message"], "compiling");
    assert_eq!(gateway.client.ended().await, Ok(()), "no answer came before the reload");
    event(&mut events, |event| matches!(event, Event::ReloadBegun { .. })).await;
    let mut held = editor.gateway().await;
    let outcome = loop {
        let outcome = held.outcome("1", 1).await;
        if outcome["status"] != "running" {
            break outcome;
        }
        assert_eq!(outcome["tool"], "compile");
    };
    assert_eq!((&outcome["status"], &outcome["result"]["value"]["Success"]), (&"done".into(), &true.into()));
    assert_eq!(editor.instance()["generation"], 2);

    editor.unity.compile_error(true);
    let failed = held.call("2", 2, "compile", "{}").await["result"].clone();
    assert_eq!((&failed["isError"], &failed["value"]["ErrorCount"]), (&true.into(), &1.into()));
    assert_eq!(editor.unity.stats().compiles, 2);
    assert_eq!(editor.unity.stats().domain, 2, "what does not compile is not loaded");
}

#[tokio::test]
async fn a_resumable_call_goes_on_and_tells_its_gateways_new_connection() {
    let editor = Editor::start().await;
    let mut gateway = editor.gateway().await;
    gateway.begin("1", 1, "steps", r#","arguments":{"n":4,"ms":150},"progress":true"#).await;
    gateway.note("holdfast/progress").await;
    editor.unity.reload(Duration::ZERO).await.unwrap();
    let mut gateway = editor.gateway().await;
    assert_eq!(gateway.outcome("1", 1).await["status"], "running");
    assert!(gateway.note("holdfast/progress").await["progress"].as_f64().unwrap() > 1.0);
    let settled = gateway.note("holdfast/settled").await;
    assert_eq!((&settled["callId"], &settled["status"]), (&"1".into(), &"done".into()));
    let value = gateway.outcome("1", 1).await["result"]["value"].clone();
    assert!(value["Steps"] == 4 && value["Before"].as_u64().unwrap() >= 1, "{value}");
    assert_eq!(refusal(&gateway.call("1", 2, "steps", "{}").await), ("duplicate_call", false));
}

#[tokio::test]
async fn a_call_that_runs_in_play_mode_tests_survives_their_reload() {
    let editor = Editor::with(FakeUnityConfig { compile_reload: Duration::ZERO, ..config() }).await;
    let mut gateway = editor.gateway().await;
    let edit = gateway.call("1", 1, "run-tests", r#"{"TestMode":"EditMode"}"#).await;
    assert_eq!(edit["result"]["value"]["Success"], true);
    let editor = Editor::with(FakeUnityConfig { compile_reload: SILENCE, ..config() }).await;
    let mut events = editor.unity.events();
    let mut gateway = editor.gateway().await;
    gateway.begin("1", 1, "run-tests", r#","arguments":{"TestMode":"PlayMode"}"#).await;
    assert_eq!(gateway.client.ended().await, Ok(()));
    event(&mut events, |event| matches!(event, Event::ReloadBegun { .. })).await;
    let mut gateway = editor.gateway().await;
    while gateway.outcome("1", 1).await["status"] == "running" {}
    assert_eq!(gateway.outcome("1", 1).await["result"]["value"]["Success"], true);
}

#[tokio::test]
async fn a_stopped_bridge_takes_its_file_away_and_keeps_its_journal() {
    let editor = Editor::start().await;
    let before = editor.instance();
    let mut gateway = editor.gateway().await;
    let answer = gateway.call("1", 1, "count", r#"{"key":"k"}"#).await;
    gateway.begin("2", 2, "hold", "").await;
    while gateway.status().await["running"].as_array().unwrap().is_empty() {}
    editor.unity.down().await.unwrap();
    assert_eq!(gateway.note("notifications/server/shutdown").await["reason"], "UserStopped");
    assert_eq!(gateway.client.ended().await, Ok(()));
    assert!(!editor.there("Library/Holdfast/instance.json"));
    editor.unity.up().await.unwrap();
    let after = editor.instance();
    assert_eq!((&after["nonce"], &after["generation"]), (&before["nonce"], &1.into()));
    let mut gateway = editor.gateway().await;
    let outcomes = gateway.outcomes(&[("1", 1), ("2", 2)]).await;
    assert_eq!((&outcomes[0]["result"], &outcomes[1]["status"]), (&answer["result"], &"interrupted".into()));
    assert_eq!(gateway.call("3", 3, "count", r#"{"key":"k"}"#).await["result"]["value"]["Runs"], 2);
}

#[tokio::test]
async fn a_crash_leaves_the_file_and_another_process_has_another_journal() {
    let editor = Editor::start().await;
    let before = editor.instance();
    let mut gateway = editor.gateway().await;
    gateway.call("1", 1, "count", r#"{"key":"k"}"#).await;
    editor.unity.crash().await.unwrap();
    let _ = gateway.client.ended().await;
    assert!(gateway.notes.is_empty(), "no word was said");
    assert_eq!(editor.instance(), before);
    editor.unity.up().await.unwrap();
    let after = editor.instance();
    assert!(after["nonce"] != before["nonce"] && after["token"] != before["token"] && after["generation"] == 1);
    let mut gateway = editor.gateway().await;
    let outcome = gateway.outcome("1", 1).await;
    assert_eq!((&outcome["status"], &outcome["reason"]), (&"notRun".into(), &"sealed".into()), "hence the nonce");
    editor.unity.quit().await.unwrap();
    assert_eq!(gateway.note("notifications/server/shutdown").await["reason"], "EditorQuit");
    assert!(!editor.there("Library/Holdfast/instance.json") && !editor.there("Library/EditorInstance.json"));
}

#[tokio::test]
async fn a_frozen_editor_says_nothing_and_goes_on_where_it_was() {
    let editor = Editor::start().await;
    let mut gateway = editor.gateway().await;
    editor.unity.freeze();
    gateway.begin("1", 1, "count", r#","arguments":{"key":"k"}"#).await;
    let silence = tokio::time::timeout(Duration::from_millis(100), gateway.client.stream.peek(&mut [0])).await;
    assert!(silence.is_err(), "a byte from a frozen editor");
    editor.unity.thaw();
    assert_eq!(gateway.answer("1").await["result"]["value"]["Runs"], 1);
}

/// The call had begun before the reload. So it must not be reported as not run, and it must not continue after the next reload.
#[tokio::test]
async fn a_call_that_is_cancelled_before_it_can_go_on_ends_as_cancelled_while_it_ran() {
    let editor = Editor::with(FakeUnityConfig { compile_reload: SILENCE, ..config() }).await;
    let mut events = editor.unity.events();
    let mut gateway = editor.gateway().await;
    gateway.begin("1", 1, "compile", "").await;
    event(&mut events, |event| matches!(event, Event::ReloadBegun { .. })).await;
    editor.unity.modal(true);
    assert_eq!(gateway.client.ended().await, Ok(()));
    let mut gateway = editor.gateway().await;
    assert_eq!(gateway.outcome("1", 1).await["status"], "running");
    assert_eq!(gateway.cancel("1").await, "done");
    let outcome = gateway.outcome("1", 1).await;
    assert_eq!(refusal(&outcome), ("cancelled", true));
    editor.unity.modal(false);
    editor.unity.reload(SILENCE).await.unwrap();
    let mut gateway = editor.gateway().await;
    assert_eq!(gateway.outcome("1", 1).await, outcome);
}
