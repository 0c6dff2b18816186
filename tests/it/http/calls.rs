//! Calls over HTTP: to the editor that the URL or the call names, as JSON or as a stream, and never mixed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use holdfast::client::Posting;
use holdfast::limits::http::{HTTP_KEEP_ALIVE_EVERY, HTTP_WHOLE_WITHIN};
use holdfast::platform::host::Host as _;
use holdfast::protocol::mcp::ProtocolVersion;
use holdfast_testkit::http::events;
use serde_json::{Value, json};

use super::*;
use crate::support::until;

#[tokio::test(start_paused = true)]
async fn a_call_reaches_the_editor_that_the_url_names_and_its_answer_is_json() {
    let stage = Stage::new().await;
    let editors = [stage.editor(0).await, stage.editor(1).await];
    for nth in [0, 1] {
        let answer = stage.ask(&stage.path(nth), &call(7, "count", json!({"key": "k"}))).await;
        assert_eq!((answer.status(), answer.head.header("content-type")), (200, "application/json"), "{answer:?}");
        assert_eq!(answer.answer()["id"], 7);
        let answer = stage.ask_stateless(&stage.path(nth), &call(7, "count", json!({"key": "s"}))).await;
        assert_eq!(answer.answer()["result"]["resultType"], "complete", "{answer:?}");
    }
    assert_eq!(editors.each_ref().map(|editor| (editor.runs("k"), editor.runs("s"))), [(1, 1), (1, 1)]);
    // By the editor's name, which is known now.
    assert!(stage.call("/mcp/Forest", "count", json!({"key": "name"})).await.contains("Runs"));
    assert_eq!(editors[1].runs("name"), 1);
    let unknown = stage.ask("/mcp/Nowhere", &call(1, "count", json!({}))).await;
    assert_eq!(unknown.status(), 404);
    assert!(unknown.body.contains("Nowhere") && unknown.body.contains("Castle"), "{unknown:?}");
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn without_a_project_in_the_url_all_editors_are_listed_and_a_call_names_one() {
    let stage = Stage::new().await;
    let editors = [stage.editor(0).await, stage.editor(1).await];
    for nth in [0, 1] {
        stage.call(&stage.path(nth), "echo", json!({})).await;
    }
    let list = stage.ask("/mcp", &request(1, "tools/list", json!({}))).await.answer();
    let tools = list["result"]["tools"].as_array().unwrap();
    let count = tools.iter().find(|tool| tool["name"] == "count").unwrap_or_else(|| panic!("{list}"));
    assert!(count["inputSchema"]["properties"]["holdfast_editor"].is_object(), "{count}");
    let refused = stage.call("/mcp", "count", json!({"key": "k"})).await;
    assert!(refused.starts_with("Not executed") && refused.contains("Forest"), "{refused}");
    let answer = stage.call("/mcp", "count", json!({"key": "k", "holdfast_editor": "Forest"})).await;
    assert!(answer.contains("Runs"), "{answer}");
    assert_eq!(editors.each_ref().map(|editor| editor.runs("k")), [0, 1]);
    stage.end().await;
}

/// Each message stands alone: what was found is not remembered, and can be called.
#[tokio::test(start_paused = true)]
async fn of_many_tools_a_part_is_listed_and_the_rest_is_found_and_called() {
    let stage = Stage::new().await;
    let editor = stage.editor_with(0, |config| FakeUnityConfig { tools: 80, ..config }).await;
    let path = stage.path(0);
    stage.call(&path, "echo", json!({})).await;
    for _ in 0..2 {
        let list = stage.ask(&path, &request(1, "tools/list", json!({}))).await.answer();
        assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 40, "{list}");
        let told = stage.call(&path, "holdfast_tools", json!({"find": "more-0079"})).await;
        assert!(told.contains("\"more-0079\"") && told.contains("input_schema"), "{told}");
    }
    let through = json!({"call": "count", "arguments": {"key": "through"}});
    assert!(stage.call(&path, "holdfast_tools", through.clone()).await.contains("Runs"));
    let answer = stage.ask_stateless(&path, &call(7, "holdfast_tools", through)).await.answer();
    assert!(text(&answer).contains("Runs"), "{answer}");
    assert_eq!(editor.runs("through"), 2);
    assert!(stage.call(&path, "more-0079", json!({"text": "by name"})).await.contains("by name"));
    stage.end().await;
}

/// A hub that has just started knows the projects whose tools an earlier one wrote to the disk.
#[tokio::test(start_paused = true)]
async fn a_fresh_hub_finds_the_running_editors_of_known_projects_by_itself() {
    let stage = Stage::new().await;
    let _editor = stage.editor(0).await;
    stage.call(&stage.path(0), "echo", json!({})).await;
    until("the catalogue is on disk", || {
        stage.host.list(&stage.folder.path().join("state/catalogues")).is_ok_and(|files| !files.is_empty())
    })
    .await;
    let (host, folder) = (stage.host.clone(), stage.folder.path().to_path_buf());
    let net = stage.net.clone();
    let config = Config { seed: Some(8), state_dir: Some(folder.join("state")), ..Config::default() };
    let parts = Parts::new(config, net.clone(), host.clone());
    let several = Several::start(parts.clone(), Sabotage::default());
    let served = Arc::new(Served::new(parts.clone(), several.take_posts()));
    let listener = net.bind(PORT + 1).await.unwrap();
    let server = Server::start(&served, Guard::new(TOKEN, Vec::new(), [7; 16]), listener);
    let bytes = handshake("/mcp", &request(1, "tools/list", json!({}))).replace("127.0.0.1:8787", "localhost");
    let mut connection = Connection::over(net.connect(PORT + 1).await.unwrap());
    let list = within("a list", connection.ask(&bytes)).await.unwrap();
    assert!(list.body.contains("\"count\""), "{list:?}");
    drop(connection);
    within("the end", several.end()).await;
    within("the end of the service", server.end()).await;
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn equal_ids_of_different_clients_do_not_mix() {
    let stage = Stage::new().await;
    let _editor = stage.editor(0).await;
    let path = stage.path(0);
    let asked = (0..50).map(|nth| {
        let (stage, path) = (&stage, &path);
        async move {
            let said = format!("said by {nth}");
            let message = call(1, "echo", json!({"text": said}));
            let answer = match nth % 2 {
                0 => stage.ask(path, &message).await,
                _ => stage.ask_stateless(path, &message).await,
            };
            let text = text(&answer.answer());
            assert!(text.contains(&format!("{said}\"")), "{nth}: {text}");
        }
    });
    futures_util::future::join_all(asked).await;
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn progress_makes_a_stream_and_so_does_an_answer_that_takes_long() {
    let stage = Stage::new().await;
    let editor = stage.editor(0).await;
    let path = stage.path(0);
    let mut message = call(1, "count", json!({"key": "p", "hold": true}));
    message["params"]["_meta"] = json!({"progressToken": "p"});
    let mut streamed = stage.connect().await;
    streamed.send(&handshake(&path, &message)).await;
    let head = within("a head", streamed.head()).await.unwrap();
    assert_eq!(head.header("content-type"), "text/event-stream");
    assert_eq!(head.header("x-accel-buffering"), "no");
    let first = within("progress", streamed.event()).await.unwrap();
    assert_eq!(
        (first["method"].as_str(), &first["params"]["progressToken"]),
        (Some("notifications/progress"), &json!("p"))
    );
    until("it runs", || editor.runs("p") == 1).await;
    editor.release();
    let mut last = first;
    while let Some(event) = within("the answer", streamed.event()).await {
        last = event;
    }
    assert!(text(&last).contains("Runs"), "{last}");

    let mut slow = stage.connect().await;
    let began = tokio::time::Instant::now();
    slow.send(&handshake(&path, &call(2, "hold", json!({})))).await;
    let head = within("a head", slow.head()).await.unwrap();
    assert_eq!((began.elapsed(), head.header("content-type")), (HTTP_WHOLE_WITHIN, "text/event-stream"));
    for _ in 0..2 {
        let before = tokio::time::Instant::now();
        assert_eq!(within("a comment", slow.piece()).await.unwrap(), ":\n\n");
        assert_eq!(before.elapsed(), HTTP_KEEP_ALIVE_EVERY);
    }
    editor.release();
    let rest = within("the answer", slow.body(&head)).await.unwrap();
    assert_eq!(events(&rest).len(), 1, "{rest}");
    // The connection is kept, and serves the next request.
    let next =
        within("the next", slow.ask(&handshake(&path, &call(3, "echo", json!({"text": "again"}))))).await.unwrap();
    assert!(text(&next.answer()).contains("again"));
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_session_actor_costs_its_own_message_only() {
    use crate::support::sabotage::{Fault, Hook};
    let stage = Stage::new().await;
    let _editor = stage.editor(0).await;
    let path = stage.path(0);
    for hook in [Hook::PreStart, Hook::PostStart, Hook::Handle] {
        stage.sabotage.plant("session", hook, Fault::Panic);
        let answer = stage.ask(&path, &call(1, "echo", json!({}))).await.answer();
        assert_eq!(answer["error"]["code"], -32603, "{hook:?}: {answer}");
        assert!(stage.call(&path, "echo", json!({"text": "next"})).await.contains("next"));
    }
    stage.end().await;
}

/// `status`, metrics and `holdfast_status` speak of clients, and not of single messages.
#[tokio::test(start_paused = true)]
async fn messages_are_no_sessions_for_people() {
    let stage = Stage::new().await;
    let editor = stage.editor(0).await;
    let mut waits = stage.connect().await;
    waits.send(&handshake(&stage.path(0), &call(1, "count", json!({"key": "k", "hold": true})))).await;
    until("it runs", || editor.runs("k") == 1).await;
    assert!(stage.parts.sessions.local().is_empty() && stage.parts.sessions.all().len() == 2);
    let list: Value = serde_json::from_str(&stage.call("/mcp", "holdfast_editors", json!({})).await).unwrap();
    assert_eq!(list["editors"][0]["clients"], 0, "{list}");
    editor.release();
    let head = within("its answer", waits.head()).await.unwrap();
    within("all of it", waits.body(&head)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(10)).await;
    stage.end().await;
}

/// While a call runs, what its client sent is not kept besides the call's own record: the bodies of streams would have no bound.
#[tokio::test(start_paused = true)]
async fn a_message_is_let_go_as_soon_as_it_was_read() {
    struct Sent(Vec<u8>, Arc<AtomicBool>);
    impl AsRef<[u8]> for Sent {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    impl Drop for Sent {
        fn drop(&mut self) {
            self.1.store(true, Ordering::SeqCst);
        }
    }
    let stage = Stage::new().await;
    let editor = stage.editor(0).await;
    stage.call(&stage.path(0), "echo", json!({})).await;
    let posts = stage.several.take_posts();
    let is_gone = Arc::new(AtomicBool::new(false));
    let body = call(1, "count", json!({"key": "sent", "hold": true})).to_string().into_bytes();
    let posting = Posting {
        line: bytes::Bytes::from_owner(Sent(body, is_gone.clone())),
        project: Some(stage.project(0)),
        opened: Some(ProtocolVersion::LATEST),
        cancels: None,
    };
    let mut conversation = posts.serve(posting).unwrap();
    until("it runs", || editor.runs("sent") == 1).await;
    assert!(is_gone.load(Ordering::SeqCst));
    editor.release();
    assert!(within("its answer", conversation.next()).await.unwrap().1);
    conversation.delivered();
    drop(posts);
    stage.end().await;
}
