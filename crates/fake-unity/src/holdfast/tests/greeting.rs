//! Tests of the instance file, of hello and prove, of the fence, of what a peer may do without a proof, and of the limits on
//! messages.

use super::*;

#[tokio::test]
async fn the_instance_file_says_who_listens_and_the_proofs_fit_it() {
    let editor = Editor::with(FakeUnityConfig { pid: Some(4242), ..config() }).await;
    let file = editor.instance();
    let project = dunce::canonicalize(editor.folder.path()).unwrap();
    assert_eq!(
        (&file["product"], &file["protocol"], &file["pid"], &file["state"], &file["generation"]),
        (&"holdfast".into(), &2.into(), &4242.into(), &"ready".into(), &1.into())
    );
    assert_eq!(file["port"], editor.unity.port().unwrap());
    assert_eq!(
        text(&file, "project"),
        project.to_str().unwrap().replace('\\', "/"),
        "as Unity writes paths on every system"
    );
    assert_eq!((text(&file, "nonce").len(), text(&file, "token").len()), (32, 64));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let meta = std::fs::metadata(project.join("Library/Holdfast/instance.json")).unwrap();
        assert_eq!(meta.permissions().mode() & 0o777, 0o600);
    }
    assert!(editor.there("Packages/dev.holdfast.unity/package.json") && editor.there("Library/EditorInstance.json"));

    let mut gateway = Gateway::plain(&editor.unity).await;
    let hello = gateway.hello(GATEWAY, "").await;
    let expected = proof::of_editor(
        text(&file, "token"),
        [CHALLENGE, text(&hello, "challenge")],
        text(&file, "nonce"),
        4242,
        text(&file, "project"),
        editor.unity.port().unwrap(),
    );
    assert_eq!(text(&hello, "proof"), expected);
    for member in ["nonce", "pid", "project", "port", "generation", "state", "packageVersion", "unityVersion"] {
        assert_eq!(hello[member], file[member], "{member}");
    }
    let proof = of_gateway(&file, &hello, GATEWAY);
    let proven = gateway.ask("holdfast/prove", &format!(r#"{{"proof":"{proof}"}}"#)).await;
    assert_eq!((&proven["result"]["proven"], &proven["result"]["connection"]), (&true.into(), &1.into()));
    assert_eq!(text(&proven["result"], "toolsRevision").len(), 16);
    let again = gateway.ask("holdfast/prove", &format!(r#"{{"proof":"{proof}"}}"#)).await;
    assert_eq!(refusal(&again), ("invalid_request", false));
    assert_eq!(editor.unity.stats().clients, ["cursor"]);
}

#[tokio::test]
async fn a_wrong_proof_is_refused_and_ends_the_connection() {
    let editor = Editor::start().await;
    let mut gateway = Gateway::plain(&editor.unity).await;
    let first = gateway.ask("holdfast/prove", r#"{"proof":""}"#).await;
    assert_eq!(refusal(&first), ("invalid_request", false), "no hello came before");
    gateway.hello(GATEWAY, "").await;
    let second =
        gateway.ask("holdfast/hello", &format!(r#"{{"protocol":2,"gateway":"g","challenge":"{CHALLENGE}"}}"#)).await;
    assert_eq!(refusal(&second), ("invalid_request", false));
    let wrong = gateway.ask("holdfast/prove", &format!(r#"{{"proof":"{}"}}"#, "0".repeat(64))).await;
    assert_eq!(refusal(&wrong), ("not_proven", false));
    assert_eq!(gateway.client.ended().await, Ok(()));
}

#[tokio::test]
async fn a_hello_with_wrong_members_is_refused_and_can_be_said_again() {
    let editor = Editor::start().await;
    let mut gateway = Gateway::plain(&editor.unity).await;
    for (params, kind) in [
        (
            format!(r#"{{"protocol":1,"gateway":"g","clientName":"c","challenge":"{CHALLENGE}"}}"#),
            "unsupported_protocol",
        ),
        (format!(r#"{{"protocol":2,"gateway":"","clientName":"c","challenge":"{CHALLENGE}"}}"#), "invalid_params"),
        (
            format!(r#"{{"protocol":2,"gateway":"g","clientName":"c","challenge":"{}"}}"#, "z".repeat(32)),
            "invalid_params",
        ),
        (r#"{"protocol":2,"gateway":"g","clientName":"c","challenge":"abcd"}"#.to_owned(), "invalid_params"),
        (r#"{}"#.to_owned(), "invalid_params"),
    ] {
        let answer = gateway.ask("holdfast/hello", &params).await;
        assert_eq!(refusal(&answer), (kind, false), "{params}");
    }
    assert!(gateway.hello(GATEWAY, "").await["proof"].is_string());
}

#[tokio::test]
async fn a_stranger_may_ask_for_the_status_and_use_uloops_methods_and_nothing_else() {
    let editor = Editor::start().await;
    let mut stranger = Gateway::plain(&editor.unity).await;
    assert_eq!(stranger.status().await["state"], "ready");
    for method in ["tools", "call", "outcome", "cancel"] {
        let answer = stranger.ask(&format!("holdfast/{method}"), "{}").await;
        assert_eq!(refusal(&answer), ("not_proven", false), "{method}");
    }
    assert_eq!(refusal(&stranger.ask("holdfast/dance", "{}").await), ("unknown_method", false));
    let list = stranger.ask("get-tool-details", r#"{"IncludeDevelopmentOnly":true}"#).await;
    assert!(list["result"]["Tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "compile"));
    assert_eq!(stranger.ask("count", r#"{"key":"k"}"#).await["result"]["Runs"], 1);
    let unknown = stranger.ask("dance", "{}").await;
    assert_eq!((refusal(&unknown), &unknown["error"]["code"]), (("internal_error", false), &(-32603).into()));
    assert_eq!(refusal(&stranger.ask("throw", "{}").await), ("internal_error", true));
}

#[tokio::test]
async fn requests_of_uloops_methods_are_answered_in_their_order() {
    let editor = Editor::start().await;
    let mut client = Gateway::plain(&editor.unity).await;
    client.send("1", "sleep", r#"{"ms":60}"#).await;
    client.send("2", "ping", r#"{"Message":"x"}"#).await;
    client.send("3", "sendPushNotificationEndpoint", r#"{"PushNotificationEndpoint":"10.0.0.1:1"}"#).await;
    client.send("4", "echo", r#"{"text":"after"}"#).await;
    assert_eq!(client.answer("1").await["result"]["SleptMs"], 60);
    assert_eq!(client.answer("2").await["result"]["Message"], "Unity MCP Bridge received: x");
    assert_eq!(client.answer("3").await["result"]["Success"], true);
    assert_eq!(client.answer("4").await["result"]["Echo"], "after");
}

#[tokio::test]
async fn the_fence_ends_older_connections_and_drops_what_they_have_not_begun() {
    let editor = Editor::start().await;
    let mut old = editor.gateway().await;
    let mut other = editor.gateway_named("another").await;
    old.begin("running", 1, "hold", "").await;
    old.begin("waiting", 2, "count", r#","arguments":{"key":"k"}"#).await;
    other.begin("others", 1, "count", r#","arguments":{"key":"o"}"#).await;
    while old.status().await["queued"] != 2 {}
    let mut new = editor.gateway().await;
    assert_eq!(old.client.ended().await, Ok(()), "it was closed before the proof was answered");
    let outcomes = new.outcomes(&[("running", 1), ("waiting", 2), ("never", 3)]).await;
    assert_eq!((&outcomes[0]["status"], &outcomes[0]["tool"]), (&"running".into(), &"hold".into()));
    assert_eq!((&outcomes[1]["status"], &outcomes[1]["reason"]), (&"notRun".into(), &"dropped".into()));
    assert_eq!(outcomes[2]["reason"], "sealed");
    editor.unity.release();
    let settled = new.note("holdfast/settled").await;
    assert_eq!((&settled["callId"], &settled["status"]), (&"running".into(), &"done".into()));
    assert_eq!(new.outcome("running", 1).await["result"]["value"]["Released"], true);
    assert_eq!(other.answer("others").await["result"]["value"]["Runs"], 1);
    assert_eq!(editor.unity.runs("k"), 0);
}

#[tokio::test]
async fn what_waits_goes_on_after_its_connection_until_the_gateway_proves_itself_again() {
    let editor = Editor::start().await;
    let mut old = editor.gateway().await;
    old.begin("1", 1, "hold", "").await;
    old.begin("2", 2, "count", r#","arguments":{"key":"k"}"#).await;
    while old.status().await["queued"] != 1 {}
    drop(old);
    until(&editor.unity, |stats| stats.connections == 0).await;
    editor.unity.release();
    until(&editor.unity, |stats| stats.runs.get("k") == Some(&1)).await;
    let mut again = editor.gateway().await;
    assert_eq!(again.outcome("2", 2).await["result"]["value"]["Runs"], 1);

    again.begin("3", 3, "hold", "").await;
    again.begin("4", 4, "count", r#","arguments":{"key":"k"}"#).await;
    while again.status().await["queued"] != 1 {}
    drop(again);
    until(&editor.unity, |stats| stats.connections == 0).await;
    let mut last = editor.gateway().await;
    assert_eq!(last.outcome("4", 4).await["reason"], "dropped");
    editor.unity.release();
    last.note("holdfast/settled").await;
    assert_eq!(editor.unity.runs("k"), 1);
}

#[tokio::test]
async fn a_broken_frame_is_answered_and_ends_the_connection() {
    let editor = Editor::start().await;
    for bytes in [
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}".to_owned(),
        "Content-Length: 1048577\r\n\r\n".to_owned(),
        format!("X: {}", "x".repeat(5000)),
    ] {
        let mut client = Client::to(&editor.unity).await;
        within(client.stream.write_all(bytes.as_bytes())).await.unwrap();
        let answer = client.json().await;
        assert_eq!((refusal(&answer), &answer["id"]), (("bad_frame", false), &Value::Null));
        assert_eq!(client.ended().await, Ok(()));
    }
    let mut client = Client::to(&editor.unity).await;
    client.send("{\"id\":1,").await;
    assert_eq!(refusal(&client.json().await), ("parse_error", false));
    client.send("[]").await;
    assert_eq!(refusal(&client.json().await), ("invalid_request", false));
    client.send(r#"{"jsonrpc":"2.0","method":"holdfast/status"}"#).await;
    client.result("holdfast/status", "{}").await;
}

#[tokio::test]
async fn a_proven_gateway_may_send_sixteen_mebibytes() {
    let editor = Editor::start().await;
    let mut gateway = editor.gateway().await;
    let text = "x".repeat(15 * 1024 * 1024);
    let answer = gateway.call("1", 1, "echo", &format!(r#"{{"text":"{text}"}}"#)).await;
    assert_eq!(answer["result"]["value"]["Echo"].as_str().unwrap().len(), text.len());
    assert_eq!(gateway.outcome("1", 1).await["lost"], "too_large");
    let header = format!("Content-Length: {}\r\n\r\n", 16 * 1024 * 1024 + 1);
    within(gateway.client.stream.write_all(header.as_bytes())).await.unwrap();
    assert_eq!(refusal(&gateway.client.json().await), ("bad_frame", false));
}

#[tokio::test]
async fn one_connection_too_many_is_told_so() {
    let editor = Editor::start().await;
    let mut all = Vec::new();
    for _ in 0..32 {
        let mut client = Client::to(&editor.unity).await;
        client.result("holdfast/status", "{}").await;
        all.push(client);
    }
    let mut more = Client::to(&editor.unity).await;
    assert_eq!(refusal(&more.json().await), ("too_many_connections", false));
    assert_eq!(more.ended().await, Ok(()));
    drop(all.pop());
    until(&editor.unity, |stats| stats.connections == 31).await;
    Client::to(&editor.unity).await.result("holdfast/status", "{}").await;
}
