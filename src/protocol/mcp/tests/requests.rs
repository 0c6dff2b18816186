use super::*;
use crate::limits::{
    CLIENT_FIELD_MAX_BYTES, INSTRUCTIONS_MAX_BYTES, LOG_FIELD_MAX_BYTES, REQUEST_ID_MAX_BYTES, ROOTS_MAX,
};
use crate::protocol::jsonrpc::{RequestId, RpcError};
use crate::protocol::mcp::request::List;

fn request(method: &str, params: &str) -> Result<Request, RpcError> {
    parse_request(method, Some(&raw(params)))
}

#[track_caller]
fn initialize(params: &str) -> Initialize {
    match request("initialize", params) {
        Ok(Request::Initialize(initialize)) => initialize,
        other => panic!("{params}: {other:?}"),
    }
}

#[track_caller]
fn call(params: &str) -> CallTool {
    match request("tools/call", params) {
        Ok(Request::CallTool(call)) => call,
        other => panic!("{params}: {other:?}"),
    }
}

#[test]
fn a_known_version_is_echoed_and_any_other_becomes_the_newest() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        assert_eq!(ProtocolVersion::negotiate(version).label(), version);
    }
    for version in ["2026-07-28", "2024-10-07", "", "2025-06-18 ", "latest", "9999-99-99"] {
        assert_eq!(ProtocolVersion::negotiate(version).label(), "2025-11-25", "{version:?}");
    }
}

#[test]
fn each_version_knows_what_its_changelog_brought() {
    let table = ProtocolVersion::ALL.map(|v| {
        [
            v.annotations(),
            v.audio(),
            v.progress_message(),
            v.title(),
            v.structured_content(),
            v.resource_link(),
            v.batches(),
        ]
    });
    assert_eq!(table[0], [false; 7]);
    assert_eq!(table[1], [true, true, true, false, false, false, true]);
    assert_eq!(table[2], [true, true, true, true, true, true, false]);
    assert_eq!(table[3], table[2]);
    assert_eq!(table[4], table[3]);
    assert_eq!(ProtocolVersion::ALL.map(ProtocolVersion::is_stateless), [false, false, false, false, true]);
}

#[test]
fn initialize_takes_the_shapes_that_clients_send() {
    let whole = initialize(
        r#"{"protocolVersion":"2025-06-18","capabilities":{"roots":{"listChanged":true}},
            "clientInfo":{"name":"codex-mcp-client","title":"Codex","version":"0.154.0"}}"#,
    );
    assert_eq!(
        whole,
        Initialize {
            requested: String::from("2025-06-18"),
            client: ClientInfo {
                name: String::from("codex-mcp-client"),
                version: Some(String::from("0.154.0")),
                title: Some(String::from("Codex")),
                session: None,
            },
            roots: true,
        }
    );
    for (odd, name, roots) in [
        (r#"{"protocolVersion":"x"}"#, "", false),
        (r#"{"protocolVersion":"x","capabilities":null,"clientInfo":null}"#, "", false),
        (r#"{"protocolVersion":"x","capabilities":{"tools":true},"clientInfo":{"name":"cursor"}}"#, "cursor", false),
        (r#"{"protocolVersion":"x","capabilities":{"roots":true},"clientInfo":{"name":"a","version":1}}"#, "a", true),
        (r#"{"protocolVersion":"x","capabilities":{"roots":false},"clientInfo":{"version":"1"}}"#, "", false),
        (r#"{"protocolVersion":"x","capabilities":{"roots":null},"clientInfo":"zed"}"#, "", false),
        (r#"{"protocolVersion":"x","capabilities":[],"clientInfo":[]}"#, "", false),
        (r#"{"protocolVersion":"x","capabilities":"all","clientInfo":{"name":7}}"#, "", false),
        (
            r#"{"protocolVersion":"x","capabilities":{"roots":{}},"clientInfo":{"name":" a "},"more":{"a":[1e400]}}"#,
            "a",
            true,
        ),
    ] {
        let read = initialize(odd);
        assert_eq!((read.client.name.as_str(), read.roots), (name, roots), "{odd}");
    }
}

#[test]
fn client_data_is_bounded() {
    let read = initialize(&format!(
        r#"{{"protocolVersion":"x","clientInfo":{{"name":"{}"}}}}"#,
        "ä".repeat(CLIENT_FIELD_MAX_BYTES)
    ));
    assert_eq!(read.client.name.len(), CLIENT_FIELD_MAX_BYTES);
}

#[test]
fn a_call_keeps_arguments_and_token_byte_by_byte() {
    let read = call(
        r#"{"name":"a\u0062c","arguments":{"n": 1e400, "big":123456789012345678901234567890},"_meta":{"progressToken":"\u00e9"}}"#,
    );
    assert_eq!(read.name, "abc");
    assert_eq!(read.arguments.get(), r#"{"n": 1e400, "big":123456789012345678901234567890}"#);
    assert_eq!(read.progress_token.unwrap().get(), r#""\u00e9""#);
    for (token, kept) in
        [("7", true), ("-1", true), ("1.0", true), ("\"\"", true), ("null", false), ("{}", false), ("true", false)]
    {
        let read = call(&format!(r#"{{"name":"a","_meta":{{"progressToken":{token}}}}}"#));
        assert_eq!(read.progress_token.is_some_and(|kept| kept.get() == token), kept, "{token}");
    }
    let long = format!(r#"{{"name":"a","_meta":{{"progressToken":"{}"}}}}"#, "t".repeat(REQUEST_ID_MAX_BYTES));
    assert!(call(&long).progress_token.is_none());
    for without in [r#"{"name":"a"}"#, r#"{"name":"a","arguments":null}"#, r#"{"name":"a","_meta":[]}"#] {
        assert_eq!(call(without).arguments.get(), "{}", "{without}");
    }
}

#[test]
fn simple_requests_are_read_with_and_without_params() {
    for params in
        [None, Some(raw("{}")), Some(raw("null")), Some(raw(r#"{"cursor":null,"_meta":{"progressToken":1}}"#))]
    {
        assert!(matches!(parse_request("tools/list", params.as_deref()), Ok(Request::ListTools)));
        assert!(matches!(parse_request("ping", params.as_deref()), Ok(Request::Ping)));
    }
}

#[test]
fn every_bad_request_gets_its_code_and_a_fix() {
    for (method, params, code, fix) in [
        ("initialize", Some("{}"), -32602, "protocolVersion"),
        ("initialize", None, -32602, "2025-11-25"),
        ("initialize", Some("[1]"), -32602, "an array and not an object"),
        ("initialize", Some(r#"{"protocolVersion":3}"#), -32602, "protocolVersion"),
        ("tools/list", Some(r#"{"cursor":"abc"}"#), -32602, "leave `cursor` out"),
        ("tools/list", Some(r#"{"cursor":""}"#), -32602, "leave `cursor` out"),
        ("tools/list", Some(r#"{"cursor":5}"#), -32602, "not a string"),
        ("tools/list", Some(r#""x""#), -32602, "a string and not an object"),
        ("tools/call", None, -32602, "no string `name`"),
        ("tools/call", Some("{}"), -32602, "no string `name`"),
        ("tools/call", Some(r#"{"name":null}"#), -32602, "no string `name`"),
        ("tools/call", Some(r#"{"name":5}"#), -32602, "no string `name`"),
        ("tools/call", Some(r#"{"name":"\ud800"}"#), -32602, "no string `name`"),
        ("tools/call", Some(r#"{"name":"a","arguments":[1]}"#), -32602, "an array and not an object"),
        ("tools/call", Some(r#"{"name":"a","arguments":"{}"}"#), -32602, "a string and not an object"),
        ("tools/call", Some(r#"{"name":"a","arguments":false}"#), -32602, "a boolean and not an object"),
        ("tools/call", Some(r#"{"name":"a","name":"b"}"#), -32602, "Send each key once"),
        ("tools/call", Some(r#"["a",{}]"#), -32602, "nothing was executed"),
        ("tools/call", Some("-1"), -32602, "a number and not an object"),
        ("prompts/other", None, -32601, "prompts/get"),
        ("resources/subscribe", None, -32601, "resources/read"),
        ("completion/complete", None, -32601, "declares no completion"),
        ("tasks/get", None, -32601, "declares no tasks"),
        ("logging/setLevel", Some(r#"{"level":"debug"}"#), -32601, "stderr"),
        ("notifications/initialized", None, -32601, "without an id"),
        ("roots/list", None, -32601, "a client answers"),
        ("sampling/createMessage", None, -32601, "a client answers"),
        ("Tools/List", None, -32601, "initialize, ping"),
        ("", None, -32601, "initialize, ping"),
        ("a\"b\n", None, -32601, "is not served"),
    ] {
        let params = params.map(raw);
        let error = parse_request(method, params.as_deref()).expect_err(method);
        assert_eq!(error.code, code, "{method} {params:?}");
        assert!(error.message.contains(fix), "{method} {params:?}: {}", error.message);
    }
}

#[test]
fn foreign_words_are_cut_in_error_texts() {
    let long = "x".repeat(100_000);
    let error = parse_request(&long, None).expect_err("unknown");
    assert!(error.message.len() < LOG_FIELD_MAX_BYTES + 200);
    let error = Catalogue::default().unknown_tool(&long, Audience::Agent);
    assert!(error.code == -32602 && error.message.len() < LOG_FIELD_MAX_BYTES + 300);
}

#[test]
fn notifications_are_never_an_error() {
    assert_eq!(parse_notification("notifications/initialized", Some(&raw("[]"))), Notification::Initialized);
    assert_eq!(parse_notification("notifications/roots/list_changed", None), Notification::RootsListChanged);
    let id = RequestId::from_json("\"r-1\"").unwrap();
    assert_eq!(
        parse_notification("notifications/cancelled", Some(&raw(r#"{"requestId":"r-1","reason":"changed my mind"}"#))),
        Notification::Cancelled { id, reason: Some(String::from("changed my mind")) }
    );
    let id = RequestId::from_json("5").unwrap();
    assert_eq!(
        parse_notification("notifications/cancelled", Some(&raw(r#"{"requestId":5,"reason":{}}"#))),
        Notification::Cancelled { id, reason: None }
    );
    for odd in
        ["{}", "null", "[5]", "5", r#"{"requestId":{}}"#, r#"{"requestId":null}"#, r#"{"requestId":1,"requestId":2}"#]
    {
        assert_eq!(parse_notification("notifications/cancelled", Some(&raw(odd))), Notification::Other, "{odd}");
    }
    assert_eq!(parse_notification("notifications/cancelled", None), Notification::Other);
    assert_eq!(parse_notification("tools/call", Some(&raw(r#"{"name":"a"}"#))), Notification::Other);
}

#[test]
fn initialize_is_answered_on_one_line_in_every_version() {
    for version in ProtocolVersion::ALL {
        let answer =
            one_line(&initialize_result(version, &ServerInfo { version: "1.2.3" }, &instructions(true, false), true));
        assert_eq!(answer["protocolVersion"], version.label());
        assert_eq!(
            answer["capabilities"],
            serde_json::json!({"tools": {"listChanged": true}, "resources": {"listChanged": true}, "prompts": {}})
        );
        assert_eq!(
            (&answer["serverInfo"]["name"], &answer["serverInfo"]["version"]),
            (&"holdfast".into(), &"1.2.3".into())
        );
        assert_eq!(answer["serverInfo"].get("title").is_some(), version.title());
        assert_eq!(answer["instructions"], instructions(true, false));
    }
}

#[test]
fn instructions_fit_and_say_what_the_verdicts_mean() {
    let (full, short) = (instructions(true, false), instructions(false, false));
    assert!(full.len() <= INSTRUCTIONS_MAX_BYTES && short.len() < full.len() / 2, "{} {}", full.len(), short.len());
    for word in ["not executed", "outcome unknown", "still running", "reload"] {
        assert!(full.contains(word) && short.contains(word), "{word}");
    }
    for tool in GatewayTool::ALL {
        assert!(full.contains(tool.name()), "{}", tool.name());
    }
    assert!(!full.to_lowercase().contains("kill") && !short.to_lowercase().contains("kill"));
    assert!(short.starts_with("If a Unity project is open here"), "{short}");
    for (is_known, plain) in [(true, &full), (false, &short)] {
        let searched = instructions(is_known, true);
        assert!(searched.len() <= INSTRUCTIONS_MAX_BYTES, "{}", searched.len());
        let (first, rest) = searched.split_once("\n\n").unwrap();
        assert!(plain.ends_with(rest) && first.contains("Search the tools of holdfast for: compile"), "{searched}");
        assert!(!plain.contains("Search the tools"), "{plain}");
    }
    let long = "ü".repeat(INSTRUCTIONS_MAX_BYTES);
    let answer = one_line(&initialize_result(ProtocolVersion::LATEST, &ServerInfo { version: "1" }, &long, true));
    assert_eq!(answer["instructions"].as_str().unwrap().len(), INSTRUCTIONS_MAX_BYTES);
}

#[test]
fn progress_echoes_the_token_and_has_a_message_where_the_version_knows_it() {
    let line = progress(&raw(r#""\u00e9""#), 3.0, None, Some("held:\n\"reload\""), ProtocolVersion::LATEST);
    assert!(line.contains(r#""progressToken":"\u00e9""#), "{line}");
    let read = one_line(&line);
    assert_eq!((&read["method"], &read["params"]["progress"]), (&"notifications/progress".into(), &3.into()));
    assert_eq!(read["params"]["message"], "held:\n\"reload\"");
    let old = one_line(&progress(&raw("1"), 1.0, None, Some("held"), ProtocolVersion::V2024_11_05));
    assert_eq!(old["params"], serde_json::json!({"progressToken": 1, "progress": 1}));
    for list in ["tools", "resources"] {
        let method = format!("notifications/{list}/list_changed");
        let list = List::of_notification(&method).expect(list);
        assert_eq!(one_line(&list_changed(list))["method"], method);
    }
    let ask = one_line(&roots_list_request(&RequestId::from_text("roots-1")));
    assert_eq!((&ask["id"], &ask["method"]), (&"roots-1".into(), &"roots/list".into()));
}

#[test]
fn roots_become_paths_whatever_way_they_are_spelled() {
    for (uri, path) in [
        ("file:///home/u/My%20Game", Some("/home/u/My Game")),
        ("file:///home/u/game/", Some("/home/u/game")),
        ("FILE://localhost/home/u", Some("/home/u")),
        ("file:/home/u", Some("/home/u")),
        ("file:///", Some("/")),
        ("file:///C:/Users/u/Game", Some("C:/Users/u/Game")),
        ("file:///c%3A/Users/u", Some("c:/Users/u")),
        ("file://C:/Users/u", Some("C:/Users/u")),
        ("file:///C:/", Some("C:/")),
        ("file:///C:%5CUsers", Some(r"C:\Users")),
        ("file:///ab:/x", Some("/ab:/x")),
        ("file:///C:game", Some("/C:game")),
        ("file://server/share/Game", Some("//server/share/Game")),
        ("file:///home/100%/a%2", Some("/home/100%/a%2")),
        ("file:///%E6%97%A5%E6%9C%AC", Some("/日本")),
        ("file:///日本", Some("/日本")),
        ("file:///%FF", None),
        ("file:///a%00b", None),
        ("file:relative", None),
        ("file:", None),
        ("file://", None),
        ("https://example.com/x", None),
        ("/home/u", Some("/home/u")),
        ("", None),
    ] {
        let result = serde_json::json!({"roots": [{"uri": uri, "name": "x"}]}).to_string();
        assert_eq!(parse_roots(&raw(&result)).folders.first().map(String::as_str), path, "{uri}");
    }
}

#[test]
fn one_odd_root_does_not_take_the_others_and_their_number_is_bounded() {
    let odd = raw(r#"{"roots":[null,5,{"name":"x"},{"uri":7},{"uri":"file:///b"},{"uri":"file:///a","more":[1]}]}"#);
    assert_eq!(parse_roots(&odd).folders, ["/b", "/a"]);
    for none in ["{}", "null", "[]", r#"{"roots":null}"#, r#"{"roots":{}}"#, r#""x""#] {
        assert_eq!(parse_roots(&raw(none)), NamedRoots::default(), "{none}");
    }
    let many = serde_json::json!({"roots": vec![serde_json::json!({"uri": "file:///a"}); ROOTS_MAX + 5]}).to_string();
    assert_eq!(parse_roots(&raw(&many)).folders.len(), ROOTS_MAX);
}

#[test]
fn a_root_that_is_no_file_uri_is_read_as_a_path_or_named() {
    let roots = |uri: &str| parse_roots(&raw(&serde_json::json!({"roots": [{"uri": uri}]}).to_string()));
    for (uri, folders) in [
        ("file:///x/a%20b", &["/x/a b", "/x/a%20b"][..]),
        ("file:///x/a b", &["/x/a b"]),
        ("/x/a%20b", &["/x/a%20b"]),
        ("/x/", &["/x"]),
        (r"C:\x", &[r"C:\x"]),
        ("vscode-remote://wsl%2Bubuntu/home/me/Castle%202", &["/home/me/Castle 2"]),
        ("VSCODE-REMOTE://ssh-remote%2Bbox/srv", &["/srv"]),
    ] {
        let named = roots(uri);
        assert_eq!(
            (named.folders.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), named.others.len()),
            (folders, 0),
            "{uri}"
        );
    }
    for uri in ["https://example.org/x", "untitled:Untitled-1", "vscode-remote://wsl", "Castle", "", "/a\0b", "file:"] {
        assert_eq!(roots(uri), NamedRoots { folders: Vec::new(), others: vec![uri.to_owned()] }, "{uri}");
    }
}
