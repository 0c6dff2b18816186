//! The server: frames, one command at a time, its clients, its queue and its limits.

use super::*;

/// The literal replies of the page.
#[tokio::test(start_paused = true)]
async fn replies_have_the_forms_of_the_page() {
    let stage = Stage::with(FakeUnityConfig { blocked_tools: vec!["big".to_owned()], ..version("10.1.0") }).await;
    let mut peer = stage.client().await;
    let replies = [
        ("ping", r#"{"status":"success","result":{"message":"pong"}}"#),
        (r#"{"type":"ping","params":{}}"#, r#"{"status":"success","result":{"message":"pong"}}"#),
        (
            r#"{"type":"echo","params":{"text":"grün"}}"#,
            r#"{"status":"success","result":{"success":true,"Echo":"grün"}}"#,
        ),
        (r#"{"type":"echo"}"#, r#"{"status":"success","result":{"success":true,"Echo":""}}"#),
        (
            r#"{"type":"fail","params":{}}"#,
            r#"{"status":"success","result":{"success":false,"code":"As asked","error":"As asked"}}"#,
        ),
        (
            r#"{"type":"refresh_unity","params":{"compile":"none"}}"#,
            r#"{"status":"success","result":{"success":true,"message":"Refresh completed.","data":{"refresh_triggered":true,"compile_requested":false}}}"#,
        ),
        (
            r#"{"type":"nowhere"}"#,
            r#"{"status":"error","error":"Unknown or unsupported command type: nowhere","command":"Unknown","stackTrace":null}"#,
        ),
        (
            r#"{"type":"big","params":{}}"#,
            r#"{"status":"error","error":"Tool 'big' is disabled in the Unity Editor.","command":"Unknown","stackTrace":null}"#,
        ),
        ("nope", r#"{"status":"error","error":"Invalid JSON format","receivedText":"nope"}"#),
        (
            r#"{"params":{}}"#,
            r#"{"status":"error","error":"Command type cannot be empty","command":"Unknown","stackTrace":null}"#,
        ),
        (" \n", r#"{"status":"error","error":"Empty command received","command":"Unknown","stackTrace":null}"#),
    ];
    for (command, reply) in replies {
        peer.say(command).await;
        assert_eq!(peer.text().await, reply, "{command}");
    }
    let thrown = peer.ask("throw", json!({"text": "Broken"})).await;
    assert_eq!((&thrown["error"], &thrown["command"]), (&json!("Broken"), &json!("Unknown (error during processing)")));
    assert!(thrown["stackTrace"].is_string());
}

#[tokio::test(start_paused = true)]
async fn an_empty_frame_and_one_that_is_too_large_close_the_connection() {
    for length in [0, 64 * 1024 * 1024 + 1, u64::MAX] {
        let stage = Stage::with(config()).await;
        let mut peer = stage.client().await;
        peer.write(&length.to_be_bytes()).await;
        assert_eq!(peer.next().await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn the_socket_answers_a_raw_ping_and_only_the_main_thread_a_typed_one() {
    let stage = Stage::with(config()).await;
    let mut peer = stage.client().await;
    stage.unity.modal(true);
    peer.say("ping").await;
    assert_eq!(peer.json().await["result"]["message"], "pong");
    peer.send("ping", json!({})).await;
    assert!(peer.is_silent(5000).await);
    stage.unity.modal(false);
    assert_eq!(peer.json().await["result"]["message"], "pong");
    stage.unity.freeze();
    peer.say("ping").await;
    assert!(peer.is_silent(5000).await, "a stopped process answers nothing");
}

#[tokio::test(start_paused = true)]
async fn while_a_command_is_at_work_nothing_else_of_its_connection_is_read() {
    let stage = Stage::with(config()).await;
    let mut events = stage.unity.events();
    let mut peer = stage.client().await;
    peer.send("hold", json!({})).await;
    peer.say("ping").await;
    peer.send("count", json!({"key": "k"})).await;
    Stage::begun(&mut events).await;
    assert!(peer.is_silent(5000).await, "even a ping waits");
    assert_eq!(stage.unity.runs("k"), 0);
    stage.unity.release();
    assert_eq!(peer.json().await["result"]["Released"], true);
    assert_eq!(peer.json().await["result"]["message"], "pong");
    assert_eq!(peer.json().await["result"]["Runs"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_new_client_closes_all_others_whose_commands_end_unheard() {
    for name in VERSIONS {
        let stage = Stage::with(version(name)).await;
        let mut events = stage.unity.events();
        let mut first = stage.client().await;
        first.send("count", json!({"key": "k", "hold": true})).await;
        Stage::begun(&mut events).await;
        let mut second = stage.client().await;
        assert_eq!(stage.result("echo", json!({"text": "a"})).await["Echo"], "a");
        if name == "8.0.0" {
            stage.unity.release();
            assert_eq!(first.json().await["result"]["Runs"], 1, "versions before 9.5 keep them");
            second.say("ping").await;
            second.text().await;
            continue;
        }
        assert_eq!((first.next().await, second.next().await), (None, None), "{name}");
        assert_eq!(stage.unity.stats().running, 1, "{name}: it runs on");
        stage.unity.release();
        until(&stage.unity, |stats| stats.running == 0).await;
        assert_eq!(stage.unity.runs("k"), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn two_that_come_together_close_each_other() {
    let stage = Stage::with(config()).await;
    let connect = || stage.net.connect(PORT);
    let (first, second) = tokio::join!(connect(), connect());
    for stream in [first, second] {
        let mut peer = Peer::of(stream.unwrap());
        assert_eq!(peer.line().await, "WELCOME UNITY-MCP 1 FRAMING=1\n");
        assert_eq!(peer.next().await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn the_queue_outlives_its_client_and_dies_with_the_domain() {
    let stage = Stage::with(config()).await;
    stage.unity.modal(true);
    let mut peer = stage.client().await;
    peer.send("count", json!({"key": "k"})).await;
    until(&stage.unity, |stats| stats.queued == 1).await;
    drop(peer);
    pause(1000).await;
    stage.unity.modal(false);
    until(&stage.unity, |stats| stats.queued == 0).await;
    assert_eq!(stage.unity.runs("k"), 1);

    stage.unity.modal(true);
    let mut peer = stage.client().await;
    peer.send("count", json!({"key": "k"})).await;
    until(&stage.unity, |stats| stats.queued == 1).await;
    stage.unity.reload(RELOAD).await.unwrap();
    assert_eq!(peer.next().await, None);
    stage.unity.modal(false);
    within(stage.unity.listening()).await;
    stage.ask("echo", json!({})).await;
    assert_eq!((stage.unity.runs("k"), stage.unity.stats().lost), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn after_the_limit_the_client_is_told_and_nothing_is_cancelled() {
    for (name, seconds) in VERSIONS.into_iter().zip([30, 30, 30, 300]) {
        let stage = Stage::with(version(name)).await;
        let mut events = stage.unity.events();
        let mut peer = stage.client().await;
        let began = tokio::time::Instant::now();
        peer.send("count", json!({"key": "k", "hold": true})).await;
        Stage::begun(&mut events).await;
        let told = format!("Command processing timed out after {seconds}000 ms");
        assert_eq!(peer.json().await, json!({"status": "error", "error": told}), "{name}");
        assert_eq!(began.elapsed().as_secs(), seconds);
        assert_eq!(stage.unity.stats().running, 1, "{name}: it runs on");
        // The connection stays good.
        assert_eq!(peer.ask("echo", json!({"text": "a"})).await["result"]["Echo"], "a");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_queued_at_the_limit_runs_later_unless_it_has_waited_a_minute() {
    let limit = Some(Duration::from_secs(2));
    let stage = Stage::with(FakeUnityConfig { command_limit: limit, ..config() }).await;
    let mut peer = stage.client().await;
    for (seconds, runs) in [(3, 1), (61, 1)] {
        stage.unity.modal(true);
        peer.send("count", json!({"key": "k"})).await;
        assert_eq!(peer.json().await["error"], "Command processing timed out after 2000 ms");
        pause(seconds * 1000).await;
        stage.unity.modal(false);
        until(&stage.unity, |stats| stats.queued == 0).await;
        assert_eq!(stage.unity.runs("k"), runs, "after {seconds} s");
    }
    let stage = Stage::with(config()).await;
    let mut peer = stage.client().await;
    stage.unity.modal(true);
    peer.send("count", json!({"key": "k"})).await;
    assert!(peer.is_silent(61_000).await);
    stage.unity.modal(false);
    assert_eq!(peer.json().await["error"], "Command evicted: stuck too long in queue");
    assert_eq!(stage.unity.runs("k"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_a_limit_that_passes() {
    let stage = Stage::with(config()).await;
    stage.unity.lose_answer();
    let mut peer = stage.client().await;
    peer.send("count", json!({"key": "k"})).await;
    assert_eq!(peer.json().await["error"], "Command processing timed out after 300000 ms");
    assert_eq!(stage.unity.runs("k"), 1);
    assert_eq!(peer.ask("count", json!({"key": "k"})).await["result"]["Runs"], 2);
}

#[tokio::test(start_paused = true)]
async fn an_equal_command_of_another_client_is_joined_from_10_2_on() {
    let count = json!({"key": "k", "hold": true});
    for (name, runs) in [("10.1.0", 2), ("10.3.0", 1)] {
        let stage = Stage::with(version(name)).await;
        let mut events = stage.unity.events();
        stage.client().await.send("count", count.clone()).await;
        Stage::begun(&mut events).await;
        // Running: the first client was closed, and its command goes on.
        let mut second = stage.client().await;
        second.send("count", count.clone()).await;
        pause(100).await;
        stage.unity.release();
        assert_eq!(second.json().await["result"]["Runs"], runs, "{name}");
        // It has ended, so the next is another one.
        second.send("count", json!({"key": "k"})).await;
        assert_eq!(second.json().await["result"]["Runs"], runs + 1, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_else_is_joined() {
    let limit = Some(Duration::from_secs(1));
    let stage = Stage::with(FakeUnityConfig { command_limit: limit, ..config() }).await;
    // The same client.
    let mut peer = stage.client().await;
    for _ in 0..2 {
        peer.send("count", json!({"key": "same", "hold": true})).await;
        assert!(peer.json().await["error"].is_string());
    }
    assert_eq!(stage.unity.runs("same"), 2);
    // Queued is enough, but the bytes must be equal.
    stage.unity.modal(true);
    stage.client().await.send("count", json!({"key": "queued"})).await;
    until(&stage.unity, |stats| stats.queued == 1).await;
    stage.client().await.say(r#"{"type":"count","params":{"key":"queued"} }"#).await;
    until(&stage.unity, |stats| stats.queued == 2).await;
    let mut third = stage.client().await;
    third.send("count", json!({"key": "queued"})).await;
    pause(10).await;
    stage.unity.modal(false);
    assert_eq!(third.json().await["result"]["Runs"], 1);
    assert_eq!(stage.unity.runs("queued"), 2);
    // A reload forgets what was queued.
    stage.unity.modal(true);
    stage.client().await.send("count", json!({"key": "reload"})).await;
    until(&stage.unity, |stats| stats.queued == 1).await;
    stage.reloaded().await;
    stage.unity.modal(false);
    assert_eq!(stage.result("count", json!({"key": "reload"})).await["Runs"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_reload_and_a_stop_close_every_client_and_the_port() {
    let stage = Stage::with(config()).await;
    let mut peer = stage.client().await;
    stage.unity.reload(RELOAD).await.unwrap();
    assert_eq!(peer.next().await, None);
    assert!(stage.net.connect(PORT).await.is_err());
    within(stage.unity.listening()).await;
    let mut peer = stage.client().await;
    stage.unity.down().await.unwrap();
    assert_eq!(peer.next().await, None);
    assert!(stage.net.connect(PORT).await.is_err());
    stage.unity.up().await.unwrap();
    stage.client().await;
}

#[tokio::test(start_paused = true)]
async fn after_a_reload_a_taken_port_is_waited_for_and_then_another_is_found() {
    for (name, seconds) in VERSIONS.into_iter().zip([0, 0, 3, 3]) {
        let stage = Stage::with(version(name)).await;
        stage.unity.reload(RELOAD).await.unwrap();
        let taken = [stage.net.bind(PORT).await.unwrap(), stage.net.bind(PORT + 1).await.unwrap()];
        let began = tokio::time::Instant::now();
        assert_eq!(within(stage.unity.listening()).await, PORT + 2, "{name}");
        assert_eq!((began.elapsed() - RELOAD).as_secs(), seconds, "{name}");
        stage.ask("echo", json!({})).await;
        // It stays there, and comes back to its place only if that is free within the time.
        drop(taken);
        stage.reloaded().await;
        assert_eq!(stage.unity.port(), Some(PORT + 2));
    }
    let stage = Stage::with(config()).await;
    stage.unity.reload(RELOAD).await.unwrap();
    let taken = stage.net.bind(PORT).await.unwrap();
    pause(2000).await;
    drop(taken);
    assert_eq!(within(stage.unity.listening()).await, PORT);
}
