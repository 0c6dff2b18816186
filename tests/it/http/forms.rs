//! What a POST must look like, and what its answer looks like: both eras, statuses, headers, token, host and origin.

use holdfast::storage::http_token;
use serde_json::json;

use super::*;

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

#[tokio::test(start_paused = true)]
async fn a_handshake_declares_no_changes_and_gives_no_session() {
    let stage = Stage::new().await;
    let open = json!({"protocolVersion": "2025-06-18", "capabilities": {"roots": {}}, "clientInfo": {"name": "x", "version": "1"}});
    let answer = stage.raw(&post("/mcp", &headers(&[]), &request(1, "initialize", open).to_string())).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(
        answer.answer()["result"]["capabilities"],
        json!({"tools": {}, "resources": {}, "prompts": {}}),
        "{answer:?}"
    );
    assert_eq!(answer.head.header("mcp-session-id"), "");
    for said in [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
        json!({"jsonrpc": "2.0", "method": "holdfast/retire"}),
        json!({"jsonrpc": "2.0", "id": "holdfast-roots-1", "result": {"roots": []}}),
    ] {
        let answer = stage.ask("/mcp", &said).await;
        assert_eq!((answer.status(), &*answer.body), (202, ""), "{said}");
    }
    // A line break in JSON is white space, and no end of a message.
    let pretty = LIST.replace(',', ",\r\n  ");
    assert_eq!(stage.raw(&post("/mcp", &headers(&[]), &pretty)).await.answer()["id"], 1);
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn batches_are_of_the_version_that_has_them() {
    let stage = Stage::new().await;
    let ping = |id: u8| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    let said = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    let batch = format!("[{},{said},{}]", ping(1), ping(2));
    for version in [None, Some("2025-03-26")] {
        let more: Vec<_> = version.map(|version| ("MCP-Protocol-Version", version)).into_iter().collect();
        let answer = stage.raw(&post("/mcp", &headers(&more), &batch)).await.answer();
        let mut ids: Vec<_> = answer.as_array().unwrap().iter().map(|one| one["id"].as_u64().unwrap()).collect();
        ids.sort_unstable();
        assert_eq!(ids, [1, 2]);
        let unanswered = stage.raw(&post("/mcp", &headers(&more), &format!("[{said},{said}]"))).await;
        assert_eq!(unanswered.status(), 202);
    }
    for version in ["2025-06-18", "2025-11-25"] {
        let answer = stage.raw(&post("/mcp", &headers(&[("MCP-Protocol-Version", version)]), &batch)).await;
        assert_eq!((answer.status(), &answer.answer()["error"]["code"]), (400, &json!(-32600)), "{version}");
    }
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_no_message_of_mcp_is_refused_with_its_reason() {
    let stage = Stage::new().await;
    for (body, code) in
        [("{", -32700), ("7", -32600), ("", -32700), (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600)]
    {
        let answer = stage.raw(&post("/mcp", &headers(&[]), body)).await;
        assert_eq!((answer.status(), answer.answer()["error"]["code"].as_i64()), (400, Some(code)), "{body}");
        assert!(!answer.body.contains("line"), "a message has no line here: {answer:?}");
    }
    // A version that is not known, one twice, and a batch of another version than that which has them.
    let batch = format!("[{LIST}]");
    for (versions, body, told) in [
        (&["2099-01-01"][..], LIST, "says \\\"2099-01-01\\\""),
        (&["2025-11-25", "2025-11-25"], LIST, "occurs twice"),
        (&["2025-11-25"], &batch, "in a POST of its own"),
        (&["2026-07-28"], &batch, "in a POST of its own"),
    ] {
        let more: Vec<_> = versions.iter().map(|version| ("MCP-Protocol-Version", *version)).collect();
        let answer = stage.raw(&post("/mcp", &headers(&more), body)).await;
        let text = answer.answer()["error"]["message"].to_string();
        assert!(answer.status() == 400 && text.contains(told) && text.contains("othing"), "{versions:?}: {text}");
        assert!(!text.contains("MCP  is") && !text.contains("with `_meta` here") && !text.contains(" line"), "{text}");
    }
    let unknown = stage.raw(&post("/mcp", &headers(&[("MCP-Protocol-Version", "1999-01-01")]), LIST)).await;
    assert_eq!((unknown.status(), &unknown.answer()["error"]["code"]), (400, &json!(-32022)));
    let unserved = stage.ask("/mcp", &request(1, "completion/complete", json!({}))).await;
    assert_eq!((unserved.status(), &unserved.answer()["error"]["code"]), (200, &json!(-32601)));
    let unserved = stage.ask_stateless("/mcp", &request(1, "completion/complete", json!({}))).await;
    assert_eq!((unserved.status(), &unserved.answer()["error"]["code"]), (404, &json!(-32601)));
    let whole = post("/mcp", &headers(&[]), LIST);
    let typed = |kind: &str| whole.replace("application/json\r\nAccept", &format!("{kind}\r\nAccept"));
    assert_eq!(stage.raw(&typed("text/plain")).await.status(), 415);
    assert_eq!(stage.raw(&typed("application/json; charset=utf-8")).await.status(), 200);
    let accepting = |types: &str| whole.replace("application/json, text/event-stream", types);
    for (types, status) in [
        ("*/*", 200),
        ("text/*;q=0.5, application/json", 200),
        ("application/json", 406),
        ("text/event-stream", 406),
        ("*/*;q=0", 406),
    ] {
        assert_eq!(stage.raw(&accepting(types)).await.status(), status, "{types}");
    }
    for method in ["GET", "DELETE", "PUT", "OPTIONS"] {
        let answer = stage.raw(&whole.replacen("POST", method, 1)).await;
        assert_eq!((answer.status(), answer.head.header("allow")), (405, "POST"), "{method}");
    }
    assert_eq!(stage.raw(&whole.replace("/mcp ", "/other ")).await.status(), 404);
    let large = whole.replace(&format!("Content-Length: {}", LIST.len()), "Content-Length: 16777217");
    let large = stage.raw(&large).await;
    assert_eq!((large.status(), &large.answer()["error"]["code"]), (413, &json!(-32700)), "{large:?}");
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn headers_say_what_the_body_says() {
    let stage = Stage::new().await;
    let message = call(1, "holdfast_status", json!({}));
    let whole = stateless("/mcp", &message);
    assert_eq!(stage.raw(&whole).await.status(), 200);
    let encoded = whole.replace("Mcp-Name: holdfast_status", "mcp-name:   =?base64?aG9sZGZhc3Rfc3RhdHVz?=  ");
    assert_eq!(stage.raw(&encoded).await.status(), 200);
    for (from, to) in [
        ("Mcp-Name: holdfast_status", "Mcp-Name: other"),
        ("Mcp-Name: holdfast_status", "Mcp-Name: HOLDFAST_STATUS"),
        ("Mcp-Name: holdfast_status", "Mcp-Name: =?base64?!?="),
        ("Mcp-Name: holdfast_status\r\n", ""),
        ("Mcp-Method: tools/call", "Mcp-Method: tools/list"),
        ("Mcp-Method: tools/call", "Mcp-Method: tools/call\r\nMcp-Method: tools/call"),
        ("Mcp-Method: tools/call\r\n", ""),
        ("MCP-Protocol-Version: 2026-07-28", "MCP-Protocol-Version: 2025-11-25"),
        ("MCP-Protocol-Version: 2026-07-28\r\n", ""),
    ] {
        let answer = stage.raw(&whole.replace(from, to)).await;
        assert_eq!((answer.status(), &answer.answer()["error"]["code"]), (400, &json!(-32020)), "{to}: {answer:?}");
        assert_eq!(answer.answer()["id"], 1, "{to}");
    }
    // Without `_meta` it is no request of that era; with another version, no version that is spoken.
    let bare = post("/mcp", &headers(&[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")]), LIST);
    let answer = stage.raw(&bare).await;
    assert_eq!((answer.status(), &answer.answer()["error"]["code"]), (400, &json!(-32602)));
    let other = stage.raw(&whole.replace("2026-07-28", "2030-01-01")).await;
    assert_eq!((other.status(), &other.answer()["error"]["code"]), (400, &json!(-32022)), "{other:?}");
    stage.end().await;
}

/// The name of a prompt and the address of a resource have the same header as that of a tool.
#[tokio::test(start_paused = true)]
async fn prompts_and_resources_are_served_and_their_header_is_checked() {
    let stage = Stage::new().await;
    for (method, key) in [("prompts", "prompts"), ("resources", "resources")] {
        for answer in [
            stage.ask("/mcp", &request(1, &format!("{method}/list"), json!({}))).await,
            stage.ask_stateless("/mcp", &request(1, &format!("{method}/list"), json!({}))).await,
        ] {
            assert!(!answer.answer()["result"][key].as_array().unwrap().is_empty(), "{answer:?}");
        }
    }
    for (message, wrong) in [
        (request(1, "prompts/get", json!({"name": "why-is-unity-silent"})), "fix-compile-errors"),
        (request(1, "resources/read", json!({"uri": "holdfast://status"})), "holdfast://calls"),
    ] {
        let named = message["params"]["name"].as_str().or(message["params"]["uri"].as_str()).unwrap().to_owned();
        assert!(stage.ask("/mcp", &message).await.answer()["result"].is_object(), "{message}");
        let whole = stateless("/mcp", &message);
        let answer = stage.raw(&whole).await;
        assert!(answer.status() == 200 && answer.answer()["result"].is_object(), "{answer:?}");
        let answer = stage.raw(&whole.replace(&format!("Mcp-Name: {named}"), &format!("Mcp-Name: {wrong}"))).await;
        assert_eq!((answer.status(), &answer.answer()["error"]["code"]), (400, &json!(-32020)), "{answer:?}");
    }
    stage.end().await;
}

/// In this order: a page of another site learns nothing, and neither does who has no token.
#[tokio::test(start_paused = true)]
async fn only_those_with_the_token_are_served_and_no_foreign_page() {
    let stage = Stage::known_by(&["mcp.example.com"]).await;
    let whole = post("/mcp", &headers(&[]), LIST);
    let with = |from: &str, to: &str| whole.replace(from, to);
    let (host, token) = ("Host: 127.0.0.1:8787", "Authorization: Bearer a-token-that-nobody-guesses");
    for (bytes, status) in [
        (with(host, "Host: localhost:8787"), 200),
        (with(host, "Host: [::1]:8787\r\nOrigin: http://localhost:8787"), 200),
        (with(host, "Host: MCP.example.com\r\nOrigin: https://mcp.example.com"), 200),
        (with(host, "Host: evil.example"), 403),
        (with(host, "Host: localhost:1"), 403),
        (with(&format!("{host}\r\n"), ""), 403),
        (with(host, &format!("{host}\r\n{host}")), 403),
        (with(host, &format!("{host}\r\nOrigin: http://evil.example")), 403),
        (with(host, &format!("{host}\r\nOrigin: null")), 403),
        (with(host, &format!("{host}\r\nOrigin: http://localhost:3000")), 403),
        (with(host, &format!("{host}\r\nOrigin: https://localhost:8787")), 403),
        (with(host, &format!("{host}\r\nOrigin: http://localhost")), 403),
        (with(&format!("{token}\r\n"), ""), 401),
        (with(token, &token[..token.len() - 1]), 401),
        (with(token, &format!("{token}x")), 401),
        (with(token, "Authorization: Bearer "), 401),
        (with(token, "Authorization: Basic a-token-that-nobody-guesses"), 401),
        (with(token, &format!("{token}\r\n{token}")), 401),
        (with(token, &token.replace("Bearer", "bearer")), 200),
        // Nothing else is told without the token.
        (with(&format!("{token}\r\n"), "").replace("/mcp ", "/other "), 401),
        (with(&format!("{token}\r\n"), "").replacen("POST", "GET", 1), 401),
    ] {
        let answer = stage.raw(&bytes).await;
        assert_eq!(answer.status(), status, "{bytes}\n{answer:?}");
        assert_eq!(answer.head.header("www-authenticate"), if status == 401 { "Bearer" } else { "" });
        assert!(!answer.body.contains("nobody-guesses"));
    }
    stage.end().await;
}

/// Bytes that are only unlikely to occur twice are no secret.
#[test]
fn no_token_is_made_of_bytes_that_could_be_guessed() {
    let host = MemoryHost::new();
    host.take_secrets();
    let state = std::path::Path::new("/state-of-this-test");
    let why = http_token::own(&*host, state).unwrap_err();
    assert!(why.contains("random") && why.contains("--http-token-file"), "{why}");
    assert!(host.files().is_empty(), "{:?}", host.files());
}
