//! Clients that leave before they have their answer, and a hub that ends.

use std::time::Duration;

use holdfast::limits::http::{HTTP_STALL_MAX, POSTS_MAX};
use serde_json::{Value, json};

use super::*;
use crate::support::until;

fn sessions(stage: &Stage) -> usize {
    stage.parts.sessions.all().len() - 1
}

/// The id of the newest call.
async fn newest(stage: &Stage, path: &str) -> (String, Value) {
    let calls: Value = serde_json::from_str(&stage.call(path, "holdfast_calls", json!({})).await).unwrap();
    (calls["calls"][0]["call_id"].as_str().unwrap_or_else(|| panic!("{calls}")).to_owned(), calls["calls"][0].clone())
}

#[tokio::test(start_paused = true)]
async fn with_a_handshake_a_lost_connection_cancels_nothing_and_the_answer_is_kept() {
    let stage = Stage::new().await;
    let editor = stage.editor(0).await;
    let path = stage.path(0);
    stage.call(&path, "echo", json!({})).await;
    // Sent and running; sent and running, as a stream; held behind these.
    let mut running = stage.connect().await;
    running.send(&handshake(&path, &call(1, "count", json!({"key": "sent", "hold": true})))).await;
    until("it runs", || editor.runs("sent") == 1).await;
    let mut held = stage.connect().await;
    held.send(&handshake(&path, &call(1, "count", json!({"key": "held"})))).await;
    settle().await;
    drop((running, held));
    settle().await;
    editor.release();
    until("both are over", || sessions(&stage) == 0).await;
    assert_eq!((editor.runs("sent"), editor.runs("held")), (1, 1));
    let (id, record) = newest(&stage, &path).await;
    assert_eq!((record["tool"].as_str(), record["verdict"].as_str()), (Some("count"), Some("ok")), "{record}");
    let kept = stage.call(&path, "holdfast_result", json!({"call_id": id})).await;
    assert!(kept.contains("Runs"), "{kept}");
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn without_a_handshake_a_closed_response_cancels_the_request() {
    let stage = Stage::new().await;
    let editor = stage.editor(0).await;
    let path = stage.path(0);
    stage.call(&path, "echo", json!({})).await;
    for streams in [false, true] {
        let mut first = call(1, "count", json!({"key": "sent", "hold": true}));
        let mut second = call(1, "count", json!({"key": "held"}));
        if streams {
            for message in [&mut first, &mut second] {
                message["params"]["_meta"] = json!({"progressToken": 1});
            }
        }
        let before = editor.runs("sent");
        let mut running = stage.connect().await;
        running.send(&stateless(&path, &first)).await;
        until("it runs", || editor.runs("sent") == before + 1).await;
        let mut held = stage.connect().await;
        held.send(&stateless(&path, &second)).await;
        settle().await;
        drop((running, held));
        until("both are cancelled", || sessions(&stage) == 0).await;
        editor.release();
        settle().await;
        assert_eq!(editor.runs("held"), 0, "it was withdrawn");
        let (_, record) = newest(&stage, &path).await;
        assert_eq!(record["verdict"], "cancelled", "{record}");
    }
    stage.end().await;
}

/// A client that has closed its sending side may still read. Only a closed connection cancels a request without a handshake.
#[tokio::test(start_paused = true)]
async fn a_half_closed_socket_gets_its_answer() {
    let stage = Stage::new().await;
    let editor = stage.editor(0).await;
    let path = stage.path(0);
    stage.call(&path, "echo", json!({})).await;
    for (key, asks) in [("half", handshake as fn(&str, &Value) -> String), ("alone", stateless)] {
        let mut half = stage.connect().await;
        half.send(&asks(&path, &call(1, "count", json!({"key": key, "hold": true})))).await;
        half.hang_up().await;
        until("it runs", || editor.runs(key) == 1).await;
        editor.release();
        let head = within("a head", half.head()).await.unwrap();
        let body = within("a body", half.body(&head)).await.unwrap();
        assert!(body.contains("Runs"), "{body}");
    }
    stage.end().await;
}

/// What it asked behind the answer that it does not read was not executed.
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_loses_its_answer_and_not_the_call() {
    let stage = Stage::new().await;
    let editor = stage.editor(0).await;
    let path = stage.path(0);
    let mut deaf = stage.connect().await;
    // Together these answers are longer than the connection takes.
    for id in 0..64 {
        deaf.send(&handshake(&path, &call(id, "big", json!({"n": 1 << 20})))).await;
    }
    deaf.send(&handshake(&path, &call(64, "count", json!({"key": "behind"})))).await;
    tokio::time::sleep(HTTP_STALL_MAX / 2).await;
    assert_eq!(sessions(&stage), 1);
    until("it counts as gone", || sessions(&stage) == 0).await;
    let (id, record) = newest(&stage, &path).await;
    assert_eq!((record["tool"].as_str(), record["verdict"].as_str()), (Some("big"), Some("ok")), "{record}");
    assert!(stage.call(&path, "holdfast_result", json!({"call_id": id})).await.len() > 1000);
    let read = within("what was written", deaf.rest()).await;
    assert!(read.contains("\"id\":0") && !read.contains("\"id\":63"), "{}", read.len());
    assert_eq!(editor.runs("behind"), 0);
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_a_stream_that_ends_with_its_client_or_with_the_hub() {
    let stage = Stage::new().await;
    let editor = stage.editor(0).await;
    let path = stage.path(0);
    stage.call(&path, "echo", json!({})).await;
    let listen = request(
        9,
        "subscriptions/listen",
        json!({"notifications": {"toolsListChanged": true, "resourcesListChanged": true}}),
    );
    let mut gone = stage.connect().await;
    gone.send(&stateless(&path, &listen)).await;
    within("a head", gone.head()).await.unwrap();
    drop(gone);
    until("it has ended", || sessions(&stage) == 0).await;
    let mut stream = stage.connect().await;
    stream.send(&stateless(&path, &listen)).await;
    within("a head", stream.head()).await.unwrap();
    let first = within("an acknowledgement", stream.event()).await.unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    editor.add_tool("fresh").unwrap();
    editor.reload(Duration::from_millis(200)).await.unwrap();
    let changed = within("the change", stream.event()).await.unwrap();
    assert_eq!(changed["method"], "notifications/tools/list_changed", "{changed}");
    let ending = tokio::spawn(async move {
        let last = within("its end", stream.event()).await;
        (last, stream.event().await)
    });
    stage.end().await;
    let (last, after) = ending.await.unwrap();
    assert_eq!((&last.unwrap()["id"], after), (&json!(9), None));
}

/// Nobody else can answer these requests later: a hub that leaves to a successor answers them too.
#[tokio::test(start_paused = true)]
async fn a_hub_that_ends_answers_what_is_open_and_takes_nothing_more() {
    for leaves in [false, true] {
        let stage = Stage::new().await;
        let editor = stage.editor(0).await;
        let path = stage.path(0);
        stage.call(&path, "echo", json!({})).await;
        let mut sent = stage.connect().await;
        sent.send(&handshake(&path, &call(1, "count", json!({"key": "sent", "hold": true})))).await;
        until("it runs", || editor.runs("sent") == 1).await;
        let mut held = stage.connect().await;
        held.send(&handshake(&path, &call(2, "count", json!({"key": "held"})))).await;
        settle().await;
        let answers = async {
            let mut texts = Vec::new();
            for connection in [&mut sent, &mut held] {
                let head = within("a head", connection.head()).await.unwrap();
                let body = within("a body", connection.body(&head)).await.unwrap();
                texts.push(text(&serde_json::from_str(body.trim_start_matches("event: message\ndata: ")).unwrap()));
            }
            texts
        };
        let late = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            stage.ask(&path, &call(3, "echo", json!({}))).await
        };
        let end = async {
            if leaves { stage.several.leave(Duration::from_secs(1)).await } else { stage.several.end().await }
        };
        let (texts, late, ()) = tokio::join!(answers, late, end);
        assert!(texts[0].to_lowercase().contains("outcome unknown"), "{texts:?}");
        assert!(texts[1].starts_with("Not executed") && !texts[1].contains("session"), "{texts:?}");
        assert_eq!((late.status(), late.head.header("retry-after").is_empty()), (503, false), "{late:?}");
        assert_eq!((editor.runs("sent"), editor.runs("held")), (1, 0));
        drop((sent, held));
        stage.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn as_many_messages_are_served_as_may_be_and_idle_connections_give_way() {
    let stage = Stage::new().await;
    let path = stage.path(0);
    let _editor = stage.editor(0).await;
    stage.call(&path, "echo", json!({})).await;
    // A thousand connections that ask nothing keep nobody out.
    let mut silent = Vec::new();
    for _ in 0..1000 {
        silent.push(stage.connect().await);
        tokio::task::yield_now().await;
    }
    assert!(stage.call(&path, "echo", json!({"text": "served"})).await.contains("served"));
    drop(silent);
    let mut open = Vec::new();
    for _ in 0..POSTS_MAX {
        let mut connection = stage.connect().await;
        connection.send(&handshake(&path, &request(1, "tools/call", json!({"name": "hold"})))).await;
        open.push(connection);
        tokio::task::yield_now().await;
    }
    settle().await;
    assert_eq!(sessions(&stage), POSTS_MAX);
    let busy = stage.ask(&path, &call(1, "echo", json!({}))).await;
    assert_eq!((busy.status(), busy.head.header("retry-after")), (503, "2"), "{busy:?}");
    drop(open);
    // The first one runs until it is released; all others wait for it, and end as their clients' patience does.
    until("all are over", || sessions(&stage) == 0).await;
    stage.end().await;
}

/// A message alone is told nothing of changes; a subscription is, of the resources too.
#[tokio::test(start_paused = true)]
async fn a_subscription_hears_of_resources_that_come_with_the_editor() {
    let stage = Stage::new().await;
    let path = stage.path(0);
    let list = stage.ask(&path, &request(1, "resources/list", json!({}))).await;
    assert!(!list.body.contains("holdfast://console"), "{list:?}");
    let listen = request(9, "subscriptions/listen", json!({"notifications": {"resourcesListChanged": true}}));
    let mut stream = stage.connect().await;
    stream.send(&stateless(&path, &listen)).await;
    within("a head", stream.head()).await.unwrap();
    let first = within("an acknowledgement", stream.event()).await.unwrap();
    assert_eq!(first["params"]["notifications"], json!({"resourcesListChanged": true}), "{first}");
    let _editor = stage.editor(0).await;
    let changed = within("the change", stream.event()).await.unwrap();
    assert_eq!(changed["method"], "notifications/resources/list_changed", "{changed}");
    let list = stage.ask(&path, &request(1, "resources/list", json!({}))).await;
    assert!(list.body.contains("holdfast://console"), "{list:?}");
    drop(stream);
    until("it has ended", || sessions(&stage) == 0).await;
    stage.end().await;
}
