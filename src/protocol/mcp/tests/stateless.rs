use serde_json::json;

use super::*;
use crate::protocol::jsonrpc::{RequestId, RpcError};
use crate::protocol::mcp::request::{Filter, List};
use crate::protocol::mcp::stateless;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

fn said(method: &str, params: Option<&str>) -> Result<Option<(ProtocolVersion, ClientInfo)>, RpcError> {
    let params = params.map(raw);
    stateless::client_of(method, params.as_deref())
}

fn whole(members: &str) -> String {
    format!("{{{members}{}{META}}}", if members.is_empty() { "" } else { "," })
}

#[test]
fn a_request_is_of_this_era_by_one_of_its_keys_or_by_its_method() {
    for (method, params) in [
        ("tools/list", None),
        ("tools/call", Some(r#"{"name":"a","_meta":{"progressToken":1}}"#)),
        ("tools/call", Some(r#"{"name":"a","_meta":"io.modelcontextprotocol/protocolVersion"}"#)),
        ("tools/call", Some(r#"{"name":"io.modelcontextprotocol/protocolVersion","arguments":{"_meta":{}}}"#)),
        ("tools/call", Some(r#"{"_meta":{"io.modelcontextprotocol/related-task":{}}}"#)),
        ("tools/list", Some("[]")),
        ("initialize", Some(r#"{"protocolVersion":"2026-07-28"}"#)),
    ] {
        assert!(matches!(said(method, params), Ok(None)), "{method} {params:?}");
    }
    for method in ["tools/list", "tools/call", "server/discover", "ping", "initialize", "x"] {
        let found = said(method, Some(&whole(""))).unwrap().expect(method);
        assert_eq!(found, (ProtocolVersion::STATELESS, ClientInfo::default()), "{method}");
    }
    let named = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","traceparent":"x",
        "io.modelcontextprotocol/clientCapabilities":{"roots":{}},
        "io.modelcontextprotocol/clientInfo":{"name":" zed ","version":"1","title":3}}}"#;
    let (_, client) = said("tools/list", Some(named)).unwrap().unwrap();
    assert_eq!((client.name.as_str(), client.version.as_deref(), client.title), ("zed", Some("1"), None));
}

#[test]
fn what_a_request_of_this_era_lacks_is_named() {
    for (params, lacks) in [
        (None, "protocolVersion"),
        (Some("{}"), "protocolVersion"),
        (Some(r#"{"_meta":{}}"#), "protocolVersion"),
        (Some(r#"{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}"#), "protocolVersion"),
        (Some(r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":20260728}}"#), "protocolVersion"),
        (Some(r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#), "clientCapabilities"),
        (
            Some(
                r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":[]}}"#,
            ),
            "clientCapabilities",
        ),
    ] {
        for method in ["server/discover", "subscriptions/listen"] {
            let error = said(method, params).expect_err(method);
            assert_eq!(error.code, -32602, "{params:?}");
            assert!(error.message.contains(lacks) && error.message.contains("nothing was executed"), "{error:?}");
        }
    }
}

#[test]
fn another_version_is_answered_with_those_that_are_spoken() {
    let long = "9".repeat(100_000);
    for requested in ["2027-01-01", "2025-11-25", "", "2026-07-28 ", "\u{1F600}", long.as_str()] {
        let params = json!({"_meta": {
            "io.modelcontextprotocol/protocolVersion": requested,
            "io.modelcontextprotocol/clientCapabilities": {},
        }});
        let error = said("tools/list", Some(&params.to_string())).expect_err(requested);
        assert_eq!(error.code, -32022);
        let data: Value = serde_json::from_str(error.data.expect("data").get()).unwrap();
        assert_eq!(data["supported"], json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]));
        assert!(requested.starts_with(data["requested"].as_str().unwrap()));
        assert!(error.message.len() < 400, "{}", error.message);
    }
}

#[test]
fn what_this_version_has_is_read_and_what_it_took_away_is_refused() {
    let read = |method, params: &str| stateless::parse_request(method, Some(&raw(params)));
    assert!(matches!(read("server/discover", &whole("")), Ok(Request::Discover)));
    assert!(matches!(read("tools/list", &whole("")), Ok(Request::ListTools)));
    assert!(matches!(read("tools/call", &whole(r#""name":"a""#)), Ok(Request::CallTool(call)) if call.name == "a"));
    for (wanted, tools, resources) in [
        (r#"{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["x"]}"#, true, false),
        (r#"{"toolsListChanged":false,"resourcesListChanged":true}"#, false, true),
        (r#"{"toolsListChanged":"true"}"#, false, false),
        ("{}", false, false),
    ] {
        let params = whole(&format!(r#""notifications":{wanted}"#));
        let Ok(Request::Listen(filter)) = read("subscriptions/listen", &params) else { panic!("{wanted}") };
        assert_eq!(filter, Filter { tools, resources }, "{wanted}");
    }
    for (method, params, code, fix) in [
        ("subscriptions/listen", "{}", -32602, "toolsListChanged"),
        ("subscriptions/listen", r#"{"notifications":["toolsListChanged"]}"#, -32602, "toolsListChanged"),
        ("initialize", "{}", -32601, "no more"),
        ("ping", "{}", -32601, "no more"),
        ("logging/setLevel", "{}", -32601, "no more"),
        ("resources/subscribe", "{}", -32601, "no more"),
        ("shutdown", "{}", -32601, "server/discover"),
        ("tools/call", "{}", -32602, "no string `name`"),
        ("tools/list", r#"{"cursor":"x"}"#, -32602, "leave `cursor` out"),
    ] {
        let error = read(method, params).expect_err(method);
        assert_eq!(error.code, code, "{method}");
        assert!(error.message.contains(fix), "{method}: {}", error.message);
    }
}

#[test]
fn every_result_says_that_it_is_complete_and_whose_it_is() {
    let server = ServerInfo { version: "1.2.3" };
    for (result, rest) in [("{}", json!({})), (r#"{"content":[]}"#, json!({"content": []}))] {
        let mut written = one_line(&stateless::complete(result, &server));
        assert_eq!(written["resultType"], "complete");
        assert_eq!(written["_meta"]["io.modelcontextprotocol/serverInfo"]["version"], "1.2.3");
        let members = written.as_object_mut().unwrap();
        members.retain(|name, _| name != "resultType" && name != "_meta");
        assert_eq!(written, rest);
    }
    let mark = stateless::complete("{}", &server).len();
    assert!(mark < crate::limits::RESPONSE_ENVELOPE_MAX_BYTES - 64, "{mark} bytes and the envelope");
}

#[test]
fn discovery_and_lists_say_how_long_they_hold() {
    let discovered = one_line(&stateless::discover_result(&instructions(true, false)));
    assert_eq!(discovered["supportedVersions"][0], "2026-07-28");
    assert_eq!(
        discovered["capabilities"],
        json!({"tools": {"listChanged": true}, "resources": {"listChanged": true}, "prompts": {}})
    );
    assert_eq!((&discovered["cacheScope"], discovered["ttlMs"].is_u64()), (&json!("public"), true));
    assert!(discovered["instructions"].as_str().unwrap().len() > 500);
    let list = one_line(&Catalogue::default().list_result(&ProtocolVersion::STATELESS.into()));
    assert_eq!((&list["ttlMs"], &list["cacheScope"]), (&json!(0), &json!("private")));
    for version in ProtocolVersion::HANDSHAKE {
        let list = one_line(&Catalogue::default().list_result(&version.into()));
        assert_eq!(list.as_object().unwrap().len(), 1, "{version:?}");
    }
}

#[test]
fn each_message_of_a_subscription_names_it_byte_by_byte() {
    for id in ["7", "\"a\\u0062\"", "1e2"] {
        let id = RequestId::from_json(id).unwrap();
        let told = [
            stateless::acknowledged(&id, Filter { tools: true, resources: true }),
            stateless::acknowledged(&id, Filter::default()),
            stateless::list_changed(List::Tools, &id),
            stateless::list_changed(List::Resources, &id),
            stateless::subscription_ended(&id),
        ];
        for line in &told {
            one_line(line);
            let named = format!(r#""io.modelcontextprotocol/subscriptionId":{}}}"#, id.as_json());
            assert!(line.contains(&named), "{line}");
        }
        let both = r#""notifications":{"toolsListChanged":true,"resourcesListChanged":true}"#;
        assert!(told[0].contains(both), "{}", told[0]);
        assert!(told[1].contains(r#""notifications":{}"#), "{}", told[1]);
    }
}

#[test]
fn any_json_may_be_structured() {
    for (body, structured) in [("[1, 2]", Some(json!([1, 2]))), (r#"{"a":1}"#, Some(json!({"a": 1}))), ("5", None)] {
        let answer = crate::protocol::dialect::EditorAnswer {
            is_error: false,
            body: crate::protocol::dialect::AnswerBody::Json(raw(body)),
        };
        let result = ToolResult::from_editor(answer);
        let written = one_line(&tool_result(&result, &ProtocolVersion::STATELESS.into()));
        assert_eq!(written.get("structuredContent"), structured.as_ref(), "{body}");
    }
}
