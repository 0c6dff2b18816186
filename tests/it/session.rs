//! The promises to a client of the gateway, over in-memory pipes: when it is answered, that the answer is true, and that it
//! comes once.
//!
//! Time is paused: "at once" means that no time passed, and time passes only while every task waits for it.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::{Gateway, PORT, SLACK, Setup, UNKNOWN, connected, editor, gateway, plain, took, unity, until};
use holdfast::config::Config;
use holdfast::core::ShutdownReason;
use holdfast::fsm::registry::Source;
use holdfast::limits;
use holdfast::protocol::policy::Toolset;
use holdfast_fake_unity::FakeUnityConfig;
use holdfast_mcp_client::answer::names;
use serde_json::json;
use tokio::time::{Instant, sleep};

/// Number of the gateway's own tools, which need no editor.
const OWN: usize = 5;

// ---- the handshake ----------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn each_version_of_the_handshake_is_answered_in_kind_and_an_unknown_one_with_the_newest() {
    for (asked, given) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ] {
        let mut gateway = plain();
        let began = Instant::now();
        let result = gateway.client.open_as("nobody knows me", asked, json!({})).await;
        assert!(began.elapsed() < SLACK, "the handshake never waits for Unity");
        assert_eq!(result["protocolVersion"], given, "{asked}");
        assert_eq!(result["capabilities"]["tools"]["listChanged"], true);
        assert_eq!(result["serverInfo"]["name"], "holdfast");
        assert!(result["instructions"].as_str().unwrap().len() <= limits::INSTRUCTIONS_MAX_BYTES);
        assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
    }
}

#[tokio::test(start_paused = true)]
async fn before_the_handshake_only_a_ping_is_served() {
    let mut gateway = plain();
    gateway.client.ping().await;
    let list = gateway.client.request("tools/list", json!({})).await;
    let call = gateway.client.call("echo", json!({})).await;
    for id in [list, call] {
        let answer = gateway.client.answer(&id).await.value;
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("initialize"), "{answer}");
    }
    assert_eq!(gateway.net.connects(), 0, "nobody has asked for the editor");
    gateway.client.open().await;
    assert_eq!(gateway.client.tools().await.len(), OWN);
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

/// The first session may start late on an overloaded machine, which is not a failure.
#[tokio::test(start_paused = true)]
async fn a_first_session_that_starts_late_still_answers_the_handshake() {
    let setup = Setup::default();
    setup.sabotage.late("session", limits::SESSION_ABSENCE_MAX * 3);
    let mut gateway = gateway(setup);
    let began = Instant::now();
    gateway.client.open().await;
    assert!(began.elapsed() >= limits::SESSION_ABSENCE_MAX * 3, "the session started late");
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn a_whole_session_written_at_once_is_answered_in_order_even_while_the_session_is_still_to_start() {
    let setup = Setup::default();
    // The root starts its children in order, so the session starts last, after 700 ms.
    setup.sabotage.slow("link", Duration::from_millis(700));
    let _unity = unity(&setup.net, editor()).await;
    let mut gateway = gateway(setup);
    let hello =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let open = gateway.client.request("initialize", hello).await;
    gateway.client.notify("notifications/initialized", json!({})).await;
    let mut ids = vec![open];
    for step in 0..20 {
        // Some calls arrive exactly while the session starts.
        sleep(Duration::from_millis(40)).await;
        ids.push(gateway.client.call("echo", json!({"text": step})).await);
    }
    gateway.client.ping().await;
    for id in &ids {
        let answer = gateway.client.answer(id).await.value;
        assert!(answer.get("result").is_some(), "{answer}");
    }
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

// ---- lists ------------------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn a_client_that_hears_of_no_changes_waits_for_the_live_list() {
    let setup = Setup::default();
    let unity = unity(&setup.net, FakeUnityConfig { tick: Duration::from_millis(400), ..editor() }).await;
    let mut gateway = gateway(setup);
    gateway.client.open().await;
    let began = Instant::now();
    let tools = gateway.client.tools().await;
    assert!(tools.contains(&"echo".to_owned()) && tools.len() > OWN, "{tools:?}");
    let took = began.elapsed();
    assert!(took > Duration::from_millis(300) && took < limits::TOOLS_WAIT, "it took {took:?}");
    assert_eq!(unity.stats().list_requests, 1);
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn it_waits_three_seconds_at_most_and_is_answered_with_what_there_is() {
    let mut gateway = plain();
    // The connect neither fails nor succeeds, so there may be an editor.
    gateway.net.hold_connects(true);
    gateway.client.open().await;
    let began = Instant::now();
    assert_eq!(gateway.client.tools().await.len(), OWN);
    let took = began.elapsed();
    assert!(took <= limits::TOOLS_WAIT + SLACK, "it took {took:?}");
    let again = Instant::now();
    assert_eq!(gateway.client.tools().await.len(), OWN);
    assert!(again.elapsed() < SLACK, "only the first list waits");
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn it_does_not_wait_for_an_editor_that_nothing_speaks_for() {
    let mut gateway = plain();
    gateway.client.open().await;
    let began = Instant::now();
    assert_eq!(gateway.client.tools().await.len(), OWN);
    assert!(began.elapsed() < Duration::from_secs(1), "it took {:?}", began.elapsed());
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_hears_of_changes_waits_half_a_second_at_most_and_is_told_once() {
    let setup = Setup::default();
    let unity = unity(&setup.net, FakeUnityConfig { tick: Duration::from_millis(400), ..editor() }).await;
    let mut gateway = gateway(setup);
    gateway.client.open_async().await;
    let began = Instant::now();
    let list = gateway.client.request("tools/list", json!({})).await;
    gateway.client.ping().await;
    assert_eq!(names(&gateway.client.result(&list).await).len(), OWN);
    let took = began.elapsed();
    assert!(took >= limits::TOOLS_WAIT_HEARING && took < limits::TOOLS_WAIT_HEARING + SLACK, "it took {took:?}");
    gateway.ready().await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!(gateway.client.notifications("notifications/tools/list_changed").len(), 1);
    assert!(gateway.client.tools().await.contains(&"echo".to_owned()));
    // The same tools after a reload are not announced as a change.
    unity.reload(Duration::from_millis(300)).await.unwrap();
    unity.listening().await;
    gateway.ready().await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!(gateway.client.notifications("notifications/tools/list_changed").len(), 1);
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn its_first_list_holds_the_tools_of_an_editor_that_runs_and_no_change_is_told_of() {
    let setup = Setup::default();
    let _unity = unity(&setup.net, editor()).await;
    let mut gateway = gateway(setup);
    gateway.client.open_async().await;
    let began = Instant::now();
    let tools = gateway.client.tools().await;
    assert!(tools.contains(&"echo".to_owned()), "{tools:?}");
    assert!(began.elapsed() < limits::TOOLS_WAIT_HEARING, "it took {:?}", began.elapsed());
    // The editor may connect before the client asks for the list.
    let told = gateway.client.notifications("notifications/tools/list_changed").len();
    sleep(Duration::from_secs(5)).await;
    assert_eq!(gateway.client.notifications("notifications/tools/list_changed").len(), told, "the list was whole");
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
    // A `tools/list` that is cancelled while it waits does not affect the session.
    let mut gateway = plain();
    gateway.net.hold_connects(true);
    gateway.client.open_async().await;
    let list = gateway.client.request("tools/list", json!({})).await;
    gateway.client.cancel(&list).await;
    let began = Instant::now();
    assert_eq!(gateway.client.tools().await.len(), OWN);
    assert!(began.elapsed() <= limits::TOOLS_WAIT_HEARING + SLACK, "it took {:?}", began.elapsed());
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_changes_is_announced_a_few_times_at_most() {
    let toolsets = vec![Toolset::parse("late-*").unwrap()];
    let setup = Setup { config: Config { toolsets, ..Setup::default().config }, ..Setup::default() };
    // The editor is slow enough for changes to arrive while a list is fetched.
    let unity = unity(&setup.net, FakeUnityConfig { tick: Duration::from_millis(100), ..editor() }).await;
    let mut gateway = gateway(setup);
    gateway.client.open_async().await;
    gateway.ready().await;
    sleep(Duration::from_secs(1)).await;
    let before = gateway.client.notifications("notifications/tools/list_changed").len();
    // The editor's start may also have been announced as a change.
    let asked_before = unity.stats().list_requests;
    for number in 0..50 {
        unity.add_tool(&format!("late-{number}")).unwrap();
        unity.tools_changed().await.unwrap();
    }
    sleep(Duration::from_secs(5)).await;
    let told = gateway.client.notifications("notifications/tools/list_changed").len() - before;
    assert!((1..=2).contains(&told), "told {told} times");
    let asked = unity.stats().list_requests - asked_before;
    assert!(asked <= 2, "asked {asked} times");
    assert!(gateway.client.tools().await.contains(&"late-49".to_owned()), "the last one is known");
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn without_an_editor_the_list_of_an_earlier_session_is_served_from_disk() {
    let folder = tempfile::tempdir().unwrap();
    for part in ["Assets", "ProjectSettings"] {
        std::fs::create_dir(folder.path().join(part)).unwrap();
    }
    let setup = || {
        let mut setup = Setup::default();
        setup.config.project = Some(folder.path().to_path_buf());
        setup.config.state_dir = Some("/state".into());
        setup
    };
    let first = setup();
    let disk = first.host.clone();
    let unity = unity(&first.net, editor()).await;
    let mut gateway = gateway(first);
    gateway.client.open().await;
    let live = gateway.client.tools().await;
    until("it is saved", || disk.files().iter().any(|path| path.starts_with("/state"))).await;
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
    drop(unity);

    let second = Setup { host: disk, ..setup() };
    let mut gateway = crate::support::gateway(second);
    gateway.client.open().await;
    let mut known = gateway.client.tools().await;
    assert_eq!(gateway.parts.link().tools.published.borrow().source, Source::Disk);
    let mut live = live;
    live.sort();
    known.sort();
    assert_eq!(known, live);
    // A call of a tool that is known only from disk is not refused at once. It is held for the editor, which does not come
    // here.
    let (text, error) = {
        let id = gateway.client.call("echo", json!({})).await;
        gateway.client.text(&id).await
    };
    assert!(error && text.starts_with("Not executed"), "{text}");
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn roots_lead_to_the_project_and_are_asked_for_only_where_declared() {
    let folder = tempfile::tempdir().unwrap();
    for part in ["Assets", "ProjectSettings"] {
        std::fs::create_dir(folder.path().join(part)).unwrap();
    }
    let mut gateway = plain();
    gateway.client.open_as("claude-code", "2025-06-18", json!({"roots": {"listChanged": true}})).await;
    let request = gateway.client.wait_for("roots/list", |line| line["method"] == "roots/list").await.value;
    let uri = crate::support::file_uri(folder.path());
    let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": {"roots": [{"uri": uri}]}});
    gateway.client.line(&answer.to_string()).await;
    let wanted = dunce::canonicalize(folder.path()).unwrap();
    until("the project is found", || {
        gateway.parts.link().contact.survey.borrow().as_ref().and_then(|survey| survey.project.clone())
            == Some(wanted.clone())
    })
    .await;
    // Each request of the gateway has a new id, and only the answer to the last one counts.
    for number in 2..=4 {
        gateway.client.notify("notifications/roots/list_changed", json!({})).await;
        until("the next request", || gateway.client.notifications("roots/list").len() == number).await;
    }
    let asked = gateway.client.notifications("roots/list");
    let ids: BTreeSet<String> = asked.iter().map(|line| line.value["id"].to_string()).collect();
    assert_eq!(ids.len(), 4, "{ids:?}");
    for (line, name) in asked.iter().zip(["first", "second", "third", "fourth"]) {
        let roots = json!({"roots": [{"uri": format!("file:///{name}")}]});
        gateway.client.line(&json!({"jsonrpc": "2.0", "id": line.value["id"], "result": roots}).to_string()).await;
    }
    gateway.client.tools().await;
    let roots = gateway.parts.client.meant(|meant| meant.roots.clone());
    assert_eq!(roots, Some(vec![std::path::PathBuf::from("/fourth")]));
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);

    let mut gateway = plain();
    gateway.client.open_async().await;
    sleep(Duration::from_secs(5)).await;
    assert!(gateway.client.notifications("roots/list").is_empty());
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

// ---- what comes over stdin --------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn an_id_that_is_open_already_is_refused_and_keeps_its_first_answer() {
    let (mut gateway, unity) = connected(UNKNOWN).await;
    let id = gateway.client.call("hold", json!({})).await;
    until("it runs", || unity.stats().running == 1).await;
    gateway.client.request_again(&id, "ping", json!({})).await;
    let refused = gateway.client.answer(&id).await.value;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    unity.release();
    gateway.client.wait_for("the result", |line| line["id"] == id && line.get("result").is_some()).await;
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn whatever_is_no_request_of_ours_is_answered_as_json_rpc_says() {
    let mut gateway = plain();
    gateway.client.open().await;
    for method in ["resources/subscribe", "completion/complete", "logging/setLevel", "no/such", ""] {
        let id = gateway.client.request(method, json!({})).await;
        let answer = gateway.client.answer(&id).await.value;
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
    let count = |gateway: &Gateway| {
        gateway
            .client
            .lines()
            .iter()
            .filter(|line| line.value["id"].is_null() && line.value.get("error").is_some())
            .count()
    };
    let mut refused = 0;
    for line in ["{", "[]", "[{\"jsonrpc\":\"2.0\",\"id\":70,\"method\":\"ping\"}]", "17", "\"x\"", "\u{1}"] {
        gateway.client.line(line).await;
        gateway.client.ping().await;
        refused += 1;
        assert_eq!(count(&gateway), refused, "{line:?}: {:?}", gateway.client.lines().last());
    }
    for line in [
        "",
        "  ",
        "{\"jsonrpc\":\"2.0\",\"method\":\"no/such/notification\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}",
    ] {
        gateway.client.line(line).await;
        gateway.client.ping().await;
        assert_eq!(count(&gateway), refused, "{line:?} is owed nothing");
    }
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_too_long_or_too_deep_is_answered_with_its_id() {
    let mut gateway = plain();
    gateway.client.open().await;
    let long = "x".repeat(limits::CLIENT_LINE_MAX_BYTES);
    let params = format!(r#"{{"name":"echo","arguments":{{"id":"not this one","text":"{long}"}}}}"#);
    gateway.client.line(&format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{params},"id":"last"}}"#)).await;
    let answer = gateway.client.answer(&json!("last")).await.value;
    assert!(answer["error"]["message"].as_str().unwrap().contains("long"), "{answer}");
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    gateway
        .client
        .line(&format!(r#"{{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{{"a":{deep}}}}}"#))
        .await;
    let answer = gateway.client.answer(&json!("deep")).await.value;
    assert!(answer["error"]["message"].as_str().unwrap().contains("deep"), "{answer}");
    gateway.client.ping().await;
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn an_end_in_the_middle_of_a_line_ends_the_session_at_once() {
    let mut gateway = plain();
    gateway.client.open().await;
    gateway.client.bytes(br#"{"jsonrpc":"2.0","id":77,"method":"tools/ca"#).await;
    let began = Instant::now();
    let lines = gateway.client.lines().len();
    let client = gateway.close_and_keep().await;
    assert!(began.elapsed() <= Duration::from_millis(200), "it took {:?}", began.elapsed());
    assert!(client.lines().len() <= lines + 1);
}

#[tokio::test(start_paused = true)]
async fn beyond_256_open_requests_a_call_is_told_busy_at_once() {
    let mut gateway = plain();
    gateway.net.hold_connects(true);
    gateway.client.open().await;
    let began = Instant::now();
    let mut ids = Vec::new();
    for _ in 0..300 {
        ids.push(gateway.client.call("count", json!({"key": "many"})).await);
    }
    let (open, refused) = ids.split_at(limits::OPEN_REQUESTS_MAX);
    for id in refused {
        let (text, error) = gateway.client.text(id).await;
        assert!(error && text.starts_with("Not executed: 256 requests are open"), "{text}");
        assert!(took(&gateway, id, began).await < SLACK);
    }
    let over = gateway.client.request("tools/list", json!({})).await;
    assert!(gateway.client.answer(&over).await.value.get("error").is_some());
    let unity = unity(&gateway.net, editor()).await;
    gateway.net.hold_connects(false);
    for id in open {
        let (text, error) = gateway.client.text(id).await;
        assert!(!error, "{text}");
    }
    assert_eq!(unity.runs("many"), 256);
    gateway.client.ping().await;
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

// ---- what goes to stdout ----------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn a_result_too_large_for_a_message_is_put_into_a_file_that_the_answer_names() {
    let mut setup = Setup::default();
    setup.config.state_dir = Some("/state".into());
    let _unity = unity(&setup.net, editor()).await;
    let mut gateway = gateway(setup);
    gateway.client.open().await;
    let text = gateway.client.ok("big", json!({"n": 7 * 1024 * 1024})).await;
    let file = gateway.host.files().into_iter().find(|path| path.starts_with("/state/results")).expect("a file");
    assert!(text.contains(&file.display().to_string()), "{text}");
    let inside = holdfast::platform::host::Host::read(&*gateway.host, &file, usize::MAX).unwrap();
    assert!(inside.len() > 7 * 1024 * 1024);
    // A result that fits is sent inline, complete.
    let text = gateway.client.ok("big", json!({"n": 4 * 1024 * 1024})).await;
    assert!(text.len() > 4 * 1024 * 1024);
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}

#[tokio::test(start_paused = true)]
async fn a_result_on_its_way_to_a_file_is_not_lost_with_the_session_nor_with_stdin() {
    for ends in [false, true] {
        let mut setup = Setup::default();
        setup.config.state_dir = Some("/state".into());
        let host = setup.host.clone();
        let unity = unity(&setup.net, editor()).await;
        let mut gateway = gateway(setup);
        gateway.client.open().await;
        gateway.ready().await;
        host.slow(Duration::from_millis(600));
        let asked = unity.stats().requests;
        let id = gateway.client.call("big", json!({"n": 7 * 1024 * 1024})).await;
        until("Unity has answered", || {
            unity.stats().requests > asked && gateway.parts.link().calls.ledger(|ledger, _| ledger.counts()) == (0, 0)
        })
        .await;
        if ends {
            gateway.client.close_stdin().await;
        } else {
            gateway.sabotage.cell("session").kill();
        }
        let (text, error) = gateway.client.text(&id).await;
        assert!(!error && text.replace('\\', "/").contains("/state/results"), "{text}");
        assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
    }
}

#[tokio::test(start_paused = true)]
async fn a_blocked_stdout_stops_reading_and_nothing_else() {
    let setup = Setup { pipe: 2048, read: false, ..Setup::default() };
    let unity = unity(&setup.net, editor()).await;
    let mut gateway = gateway(setup);
    let hello =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let open = gateway.client.request("initialize", hello).await;
    let calls = {
        let mut calls = Vec::new();
        for _ in 0..20 {
            calls.push(gateway.client.call("count", json!({"key": "blocked"})).await);
        }
        calls
    };
    // The client does not read, and the calls run all the same.
    until("they ran", || unity.runs("blocked") == 20).await;
    let mut pings = 0;
    while gateway.client.try_line(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#, Duration::from_secs(1)).await {
        pings += 1;
        assert!(pings < 5000, "reading never stopped");
    }
    assert!(gateway.parts.client.outbox.is_blocked());
    // In the meantime the link still works: it survives a reload.
    unity.reload(Duration::from_secs(1)).await.unwrap();
    unity.listening().await;
    gateway.ready().await;
    gateway.client.read();
    for id in [open].iter().chain(&calls) {
        gateway.client.result(id).await;
    }
    assert_eq!(unity.runs("blocked"), 20);
    until("all is read", || gateway.parts.client.outbox.is_flushed()).await;
    let answers = gateway.client.lines().iter().filter(|line| line.value["id"] == "p").count();
    assert!(answers >= pings, "{answers} answers to {pings} pings");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_read_is_kept_while_stdout_is_blocked_and_the_editor_dies() {
    let setup = Setup { pipe: 2048, read: false, ..Setup::default() };
    let unity = unity(&setup.net, editor()).await;
    let mut gateway = gateway(setup);
    let hello =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    gateway.client.request("initialize", hello).await;
    let held = gateway.client.call("hold", json!({})).await;
    until("it runs", || unity.stats().running == 1).await;
    while gateway.client.try_line(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#, Duration::from_secs(1)).await {}
    assert!(gateway.parts.client.outbox.is_blocked());
    // The answer arrives while there is no room for it on stdout, and the editor is gone before there is room.
    unity.release();
    until("it is settled", || gateway.parts.link().calls.ledger(|ledger, _| ledger.counts()) == (0, 0)).await;
    unity.crash().await.unwrap();
    sleep(Duration::from_secs(1)).await;
    gateway.client.read();
    let (text, error) = gateway.client.text(&held).await;
    assert!(!error, "{text}");
}

// ---- the end ----------------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn stdins_end_answers_everything_and_is_quick_when_nothing_was_sent() {
    let (mut gateway, unity) = connected(UNKNOWN).await;
    unity.down().await.unwrap();
    until("the loss is seen", || gateway.parts.link().contact.view.borrow().epoch.is_none()).await;
    let held = gateway.client.call("count", json!({"key": "held"})).await;
    let waiting = gateway.client.call("holdfast_wait_ready", json!({})).await;
    gateway.client.ping().await;
    let began = Instant::now();
    let client = gateway.close_and_keep().await;
    assert!(began.elapsed() <= Duration::from_millis(200), "it took {:?}", began.elapsed());
    let (text, _) = client.text(&held).await;
    assert!(text.starts_with("Not executed"), "{text}");
    client.answer(&waiting).await;
    assert_eq!(unity.runs("held"), 0);
}

#[tokio::test(start_paused = true)]
async fn stdins_end_gives_what_runs_a_second_to_answer() {
    let (mut gateway, unity) = connected(UNKNOWN).await;
    let id = gateway.client.call("sleep", json!({"ms": 500})).await;
    until("it runs", || unity.stats().running == 1).await;
    let client = gateway.close_and_keep().await;
    assert!(client.text(&id).await.0.contains("500"));

    let (mut gateway, unity) = connected(UNKNOWN).await;
    let id = gateway.client.call("hold", json!({})).await;
    until("it runs", || unity.stats().running == 1).await;
    let began = Instant::now();
    let client = gateway.close_and_keep().await;
    assert!(began.elapsed() <= Duration::from_millis(1300), "it took {:?}", began.elapsed());
    let (text, _) = client.text(&id).await;
    assert!(text.starts_with("Outcome unknown: holdfast was shut down"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_asks_for_the_end_has_its_answer_and_the_end() {
    let (mut gateway, unity) = connected(UNKNOWN).await;
    let running = gateway.client.call("sleep", json!({"ms": 300})).await;
    until("it runs", || unity.stats().running == 1).await;
    let asked = gateway.client.request("shutdown", json!({})).await;
    assert_eq!(gateway.client.result(&asked).await, json!({}));
    let client = gateway.keep().await;
    assert!(client.text(&running).await.0.contains("300"), "what runs is answered as at the end of stdin");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_dialled_but_the_port_that_was_named() {
    let setup = Setup::default();
    let _other = unity(&setup.net, FakeUnityConfig { port: PORT + 1, ..editor() }).await;
    let mut gateway = gateway(setup);
    gateway.client.open().await;
    assert_eq!(
        names(&{
            let id = gateway.client.request("tools/list", json!({})).await;
            gateway.client.result(&id).await
        })
        .len(),
        OWN
    );
    sleep(Duration::from_secs(60)).await;
    assert_eq!(_other.stats().accepts, 0);
    assert_eq!(gateway.close().await, ShutdownReason::InputEnded);
}
