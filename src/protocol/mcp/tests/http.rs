//! What a POST asks, and its headers against its body.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::protocol::mcp::ProtocolVersion;
use crate::protocol::mcp::http::{HEADER_MISMATCH, Header, Post, Rejected, read, status_of};

const STATELESS: &str = "2026-07-28";

fn schema() -> Box<RawValue> {
    let schema = json!({"type": "object", "properties": {
        "text": {"type": "string", "x-mcp-header": "Text"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "sure": {"type": "boolean", "x-mcp-header": "Sure"},
        "where": {"type": "object", "properties": {"scene": {"type": "string", "x-mcp-header": "Scene"}}},
        "other": {"type": "string"},
    }});
    RawValue::from_string(schema.to_string()).unwrap()
}

/// Reads a call of `echo` in the stateless era, with these arguments and these headers besides the usual ones.
fn call(arguments: &Value, more: &[(&str, &str)]) -> Result<Post, Rejected> {
    let key = |name: &str| format!("io.modelcontextprotocol/{name}");
    let meta = json!({key("protocolVersion"): STATELESS, key("clientCapabilities"): {}});
    let params = json!({"name": "echo", "arguments": arguments, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string();
    let usual = [("mcp-protocol-version", STATELESS), ("mcp-method", "tools/call"), ("mcp-name", "echo")];
    let header = |name: &str| {
        let mut found = usual.iter().chain(more).filter(|(known, _)| *known == name);
        found.next().map_or(Header::Missing, |(_, text)| Header::Text(text))
    };
    read(body.as_bytes(), header, |tool| (tool == "echo").then(schema))
}

#[test]
fn the_header_of_a_parameter_says_what_the_body_says() {
    let all = json!({"text": "a b", "count": 42, "sure": true, "where": {"scene": "Main"}, "other": "x"});
    let headers = [
        ("mcp-param-text", "a b"),
        ("mcp-param-count", "42"),
        ("mcp-param-sure", "true"),
        ("mcp-param-scene", "=?base64?TWFpbg==?="),
    ];
    assert!(matches!(call(&all, &headers), Ok(Post::Asks(_))), "each is there");
    assert!(call(&json!({}), &[]).is_ok() && call(&json!({"text": null}), &[]).is_ok(), "none is asked for");
    assert!(call(&json!({"count": 42.0}), &[("mcp-param-count", "42")]).is_ok(), "one number, spelled twice");
    // A client cannot put these into a header.
    assert!(call(&json!({"text": ["a"]}), &[]).is_ok());
    for (arguments, headers) in [
        (json!({"text": "a"}), &[][..]),
        (json!({"text": "a"}), &[("mcp-param-text", "b")]),
        (json!({"text": "a"}), &[("mcp-param-text", "A")]),
        (json!({"text": "a"}), &[("mcp-param-text", "=?base64?Yg==?=")]),
        (json!({"text": "a"}), &[("mcp-param-text", "=?base64?/w==?=")]),
        (json!({"count": 42}), &[("mcp-param-count", "43")]),
        (json!({"count": 9_007_199_254_740_993_u64}), &[("mcp-param-count", "9007199254740992")]),
        (json!({"count": 42}), &[("mcp-param-count", "forty-two")]),
        (json!({"sure": false}), &[("mcp-param-sure", "true")]),
        (json!({"where": {"scene": "Main"}}), &[("mcp-param-scene", "Other")]),
        (json!({}), &[("mcp-param-text", "a")]),
        (json!({"text": null}), &[("mcp-param-text", "a")]),
    ] {
        let rejected = call(&arguments, headers).expect_err("they differ");
        assert_eq!(rejected.error.code, HEADER_MISMATCH, "{arguments} {headers:?}");
        assert_eq!(rejected.id.unwrap().as_json(), "7", "{arguments}");
        assert!(rejected.error.message.contains("Nothing was executed"), "{}", rejected.error.message);
    }
}

#[test]
fn a_foreign_value_is_cut_in_the_error() {
    let rejected = call(&json!({"text": "x".repeat(10_000)}), &[("mcp-param-text", "y")]).unwrap_err();
    assert!(rejected.error.message.len() < 400, "{}", rejected.error.message);
}

#[test]
fn the_era_is_that_of_the_message() {
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let asks = |body: &[u8], version: Header<'static>| {
        let read = read(body, |name| if name == "mcp-protocol-version" { version } else { Header::Missing }, |_| None);
        read.map(|post| match post {
            Post::Asks(asks) => asks.opened,
            Post::Unanswered => panic!("it asks something"),
        })
    };
    assert_eq!(asks(ping, Header::Missing).unwrap(), Some(ProtocolVersion::V2025_03_26));
    assert_eq!(asks(ping, Header::Text("2025-06-18")).unwrap(), ProtocolVersion::from_label("2025-06-18"));
    for bad in [Header::Text("1999-01-01"), Header::Text(""), Header::Unreadable] {
        assert_eq!(asks(ping, bad).unwrap_err().error.code, -32022, "{bad:?}");
    }
    let open = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
    assert_eq!(asks(open, Header::Text(STATELESS)).unwrap(), None, "a handshake is of no version before its answer");
    assert!(asks(ping, Header::Text(STATELESS)).is_err(), "a request of this era says so in its body");
}

#[test]
fn an_error_has_a_status_in_the_stateless_era_only() {
    let error = |code: i64| json!({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "m"}}).to_string();
    for (code, status) in
        [(-32601, 404), (-32600, 400), (-32700, 400), (-32020, 400), (-32022, 400), (-32602, 200), (-32603, 200)]
    {
        assert_eq!((status_of(error(code).as_bytes(), true), status_of(error(code).as_bytes(), false)), (status, 200));
    }
    assert_eq!(status_of(br#"{"jsonrpc":"2.0","id":1,"result":{"error":{"code":-32601}}}"#, true), 200);
}

/// The stateless era has no batches: in one, nothing would check the headers of its requests.
#[test]
fn a_batch_has_no_request_of_the_stateless_era() {
    let key = |name: &str| format!("io.modelcontextprotocol/{name}");
    let meta = json!({key("protocolVersion"): STATELESS, key("clientCapabilities"): {}});
    let hidden = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo", "_meta": meta}});
    let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}, hidden]).to_string();
    let rejected = read(batch.as_bytes(), |_| Header::Missing, |_| None).expect_err("it is no batch of its version");
    assert_eq!(rejected.error.code, -32600, "{rejected:?}");
}

#[test]
fn what_has_no_answer_is_of_a_known_version_too() {
    for body in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#,
    ] {
        let said = |version: Header<'static>| {
            read(
                body.as_bytes(),
                |name| if name == "mcp-protocol-version" { version } else { Header::Missing },
                |_| None,
            )
        };
        assert_eq!(said(Header::Missing).unwrap(), Post::Unanswered);
        for bad in [Header::Text("1999-01-01"), Header::Unreadable] {
            assert_eq!(said(bad).expect_err(body).error.code, -32022, "{body} {bad:?}");
        }
        let known = if body.starts_with('[') { "2025-03-26" } else { "2025-11-25" };
        assert_eq!(said(Header::Text(known)).unwrap(), Post::Unanswered);
    }
}
