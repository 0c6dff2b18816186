//! Tests the golden vectors, lines and ids, the order in which methods are tried, the framing that a project's package version
//! implies, and foreign input of any form.

use proptest::prelude::*;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::{
    ALL, AnswerBody, Dialect, EditorError, EditorEvent, EncodeError, FileState, Greeted, Hello, Inbound, ListStep, Met,
    Order, PackageTool, PreparedCall, ProjectFiles, Recovery, Reply, Secret, Sending, ToolListing, WireId, fallback,
    foreign_peer, uloop::Uloop,
};
use super::{DEFAULT_PORTS, Umcp};
use crate::limits::UMCP_REQUEST_MAX_BYTES;
use crate::protocol::ids::CallId;
use crate::protocol::mcp::tools::Catalogue;

fn raw(text: impl Into<String>) -> Box<RawValue> {
    RawValue::from_string(text.into()).unwrap()
}

fn hello() -> Hello {
    Hello { client_name: "cursor".to_owned(), ..Hello::default() }
}

fn error(message: &str) -> Reply {
    Reply::Error(EditorError { code: -32603, message: message.to_owned(), refusal: None })
}

/// The replies of an editor that did not know the first `times` methods.
fn unknown(times: usize) -> Vec<Reply> {
    (0..times).map(|_| error("Internal error: Unknown command: x")).collect()
}

fn vectors() -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/umcp");
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let file: Value = serde_json::from_slice(&std::fs::read(entry.unwrap().path()).unwrap()).unwrap();
        assert_eq!(file["dialect"], "umcp");
        out.extend(file["vectors"].as_array().unwrap().iter().cloned());
    }
    for vector in &out {
        let provenance = vector["provenance"].as_str().unwrap();
        assert!(["observed", "read", "inferred"].contains(&provenance), "{vector}");
        assert!(!vector["versions"].as_str().unwrap().is_empty(), "{vector}");
    }
    out
}

#[test]
fn its_server_is_known_by_its_first_bytes() {
    let kind = foreign_peer::kind(b"{\"jsonrpc\":\"2.0\",\"id\":null", b"").unwrap();
    assert!(kind.contains("--dialect umcp"), "{kind}");
}

#[test]
fn orders_are_encoded_byte_for_byte() {
    let mut seen = 0;
    for vector in vectors().iter().filter(|vector| vector["direction"] == "to_editor") {
        let means = &vector["means"];
        let step = usize::try_from(means["step"].as_u64().unwrap_or_default()).unwrap();
        let call = means["call"].as_str().map(|call| CallId::parse(call).unwrap());
        let id = WireId { number: means["number"].as_u64().unwrap(), call, agreed: None };
        let frame = match means["kind"].as_str().unwrap() {
            "greeting" => Umcp.encode(id, &Order::Greeting { hello: &hello(), said: &unknown(step) }),
            "list_tools" => {
                Umcp.encode(id, &Order::ListTools { step, development: means["development"].as_bool().unwrap() })
            }
            "call" => {
                let call = PreparedCall::as_given(&raw(means["arguments"].as_str().unwrap()));
                let tool = means["tool"].as_str().unwrap();
                Umcp.encode(id, &Order::Call { tool, call: &call, expected: None, progress: true })
            }
            other => panic!("no order: {other}"),
        };
        let frame = String::from_utf8(frame.unwrap().into_bytes().to_vec()).unwrap();
        assert_eq!(frame, vector["frame"], "{}", vector["name"]);
        assert_eq!(frame.trim_end(), vector["body"]);
        seen += 1;
    }
    assert!(seen >= 8);
}

#[test]
fn messages_are_decoded_as_they_are_meant() {
    let mut seen = 0;
    for vector in vectors().iter().filter(|vector| vector["direction"] == "from_editor") {
        let (name, means) = (&vector["name"], &vector["means"]);
        let body = vector["body"].as_str().unwrap().as_bytes();
        let mut framer = Umcp.framer();
        framer.push(vector["frame"].as_str().unwrap().as_bytes());
        assert_eq!(framer.next_frame().unwrap().unwrap(), body, "{name}");
        assert!(framer.at_boundary());
        let unnamed = Umcp.read_unnamed(body);
        assert_eq!(unnamed.is_some(), means["kind"] == "unnamed_error", "{name}");
        match (means["kind"].as_str().unwrap(), Umcp.decode(body)) {
            ("result" | "error", Ok(Inbound::Reply { number, reply })) => {
                assert_eq!(Some(number), means["number"].as_u64(), "{name}");
                check_reply(vector, reply);
            }
            ("unnamed_error", Ok(Inbound::Unmatched { .. })) => check_reply(vector, unnamed.unwrap()),
            ("event", Ok(Inbound::Event(EditorEvent::ToolsChanged))) => assert_eq!(means["event"], "tools_changed"),
            ("unmatched", Ok(Inbound::Unmatched { .. })) => {}
            ("bad_message", Err(bad)) => assert_eq!(<&str>::from(&bad), means["label"], "{name}"),
            (kind, other) => panic!("{name} means {kind}, but was read as {other:?}"),
        }
        seen += 1;
    }
    assert!(seen >= 20);
}

fn check_reply(vector: &Value, reply: Reply) {
    let (name, means) = (&vector["name"], &vector["means"]);
    match &reply {
        Reply::Result(result) => assert_eq!(result.get(), means["result"], "{name}"),
        Reply::Wreck(wreck) => panic!("{wreck:?}"),
        Reply::Error(error) => {
            assert_eq!(Some(error.code), means["code"].as_i64(), "{name}");
            assert_eq!(error.message, means["message"], "{name}");
            assert_eq!(Some(error.refusal.is_some()), means["refused"].as_bool(), "{name}");
        }
    }
    if let Some(step) = means["step"].as_u64() {
        match (Umcp.read_tools(&reply, usize::try_from(step).unwrap()), &means["tools"]) {
            (ListStep::Tools(listing), meant) => assert_eq!(Value::from(names(&listing)), *meant, "{name}"),
            (ListStep::TryNext, meant) => assert_eq!(meant, "try_next", "{name}"),
            (ListStep::Failed(why), _) => panic!("{name}: {why}"),
        }
    }
    let said = [reply];
    if let Some(greets) = means["greets"].as_bool() {
        assert_eq!(Umcp.check_greeting(&hello(), &said).is_ok(), greets, "{name}");
    }
    let [reply] = said;
    if let Some(is_error) = means["is_error"].as_bool() {
        let answer = Umcp.read_answer(reply);
        assert_eq!(answer.is_error, is_error, "{name}");
        assert!(matches!(answer.body, AnswerBody::Json(json) if json.get() == means["result"]), "{name}");
    }
}

fn names(listing: &ToolListing) -> Vec<&str> {
    assert_eq!(listing.dropped, []);
    listing.tools.iter().map(|tool| tool.name.as_str()).collect()
}

fn call_line(tool: &str, arguments: &str) -> Result<String, EncodeError> {
    let call = PreparedCall::as_given(&raw(arguments));
    let id = WireId { number: 1, call: None, agreed: None };
    let line = Umcp.encode(id, &Order::Call { tool, call: &call, expected: None, progress: false })?;
    Ok(String::from_utf8(line.into_bytes().to_vec()).unwrap())
}

#[test]
fn a_call_is_one_line_of_ascii_that_means_the_same() {
    let arguments = "{\r\n  \"a b\": \"ä\u{2028}\u{10ffff} \\u00e9\",\n\t\"n\" : [ 1.50 , 1e2 ]\r\n}";
    let line = call_line("Wörkzeug\n", arguments).unwrap();
    assert!(line.is_ascii() && line.ends_with('\n'), "{line}");
    assert!(!line.trim_end_matches('\n').contains(['\n', '\r']), "{line}");
    assert!(line.contains("[1.50,1e2]") && line.contains("\\udbff\\udfff"), "{line}");
    let sent: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(sent["params"], serde_json::from_str::<Value>(arguments).unwrap());
    assert_eq!(sent["method"], "Wörkzeug\n");
}

#[test]
fn a_line_is_never_longer_than_what_the_reader_takes_at_once() {
    let sized = |length: usize| call_line("t", &format!(r#"{{"X":"{}"}}"#, "x".repeat(length)));
    let overhead = sized(0).unwrap().len();
    assert_eq!(sized(UMCP_REQUEST_MAX_BYTES - overhead).unwrap().len(), UMCP_REQUEST_MAX_BYTES);
    let over = EncodeError::TooLarge { bytes: UMCP_REQUEST_MAX_BYTES + 1, max: UMCP_REQUEST_MAX_BYTES };
    assert_eq!(sized(UMCP_REQUEST_MAX_BYTES - overhead + 1), Err(over));
    assert!(matches!(call_line("t", &format!(r#"["{}"]"#, "é".repeat(1000))), Err(EncodeError::TooLarge { .. })));
}

#[test]
fn what_the_protocol_lacks_is_not_spoken() {
    let id = WireId { number: 1, call: None, agreed: None };
    assert_eq!(Umcp.encode(id, &Order::Heartbeat), Err(EncodeError::NotSpoken));
    assert_eq!(Umcp.encode(id, &Order::Outcomes(&[])), Err(EncodeError::NotSpoken));
    assert!(Umcp.decode_push(b"{\"type\":\"DOMAIN_RELOAD\"}", &Secret::default()).is_err());
    assert!(Umcp.read_result_file(b"{}").is_none());
}

#[test]
fn only_integers_are_ids_of_ours() {
    let number = |id: &str| match Umcp.decode(format!(r#"{{"id":{id},"result":1}}"#).as_bytes()) {
        Ok(Inbound::Reply { number, .. }) => Some(number),
        Ok(Inbound::Unmatched { .. }) => None,
        other => panic!("{other:?}"),
    };
    assert_eq!((number("7"), number("18446744073709551615")), (Some(7), Some(u64::MAX)));
    for other in ["7.0", "7e0", "-7", "\"7\"", "\"holdfast.7\"", "18446744073709551616", "null", "[7]", "true"] {
        assert_eq!(number(other), None, "{other}");
    }
}

#[test]
fn only_an_error_without_an_id_belongs_to_whatever_is_open() {
    let unnamed = |text: &str| Umcp.read_unnamed(text.as_bytes()).is_some();
    assert!(unnamed(r#"{"id":null,"error":{"code":1}}"#) && unnamed(r#"{"error":{}}"#));
    for other in [
        r#"{"id":7,"error":{}}"#,
        r#"{"id":"x","error":{}}"#,
        r#"{"id":null,"result":1}"#,
        r#"{"id":null,"error":null}"#,
        r#"{"method":"x","error":{}}"#,
        "[]",
        "x",
    ] {
        assert!(!unnamed(other), "{other}");
    }
    let said = br#"{"id":null,"error":{}}"#;
    assert!(Uloop.read_unnamed(said).is_none(), "a later editor always names what it answers");
}

#[test]
fn the_greeting_goes_down_the_ladder_and_no_further() {
    for step in 1..=2 {
        assert_eq!(Umcp.check_greeting(&hello(), &unknown(step)), Ok(Greeted::NotYet));
    }
    let refused = Umcp.check_greeting(&hello(), &unknown(3)).unwrap_err();
    assert!(matches!(refused, super::super::BadGreeting::Refused { what: "greeting", .. }), "{refused}");
    let mut said = unknown(2);
    said.push(Reply::Result(raw(r#""Unity MCP Bridge received: cursor""#)));
    assert_eq!(Umcp.check_greeting(&hello(), &said), Ok(Greeted::Done(Met::default())));
    let other = |reply| Umcp.check_greeting(&hello(), &[reply]);
    assert!(other(Reply::Result(raw("{}"))).is_err() && other(Reply::Result(raw("\"hello\""))).is_err());
    assert!(other(error("Internal error: Something")).is_err());
    assert!(Umcp.check_greeting(&hello(), &[]).is_err());
}

#[test]
fn a_project_speaks_the_dialect_of_its_packages_version() {
    let (new, old) = ("io.github.hatayama.uloopmcp", "io.github.hatayama.umcp");
    let cases = [
        (old, "0.1.0", Some("umcp")),
        (old, "https://x/y.git?path=Packages/src#v0.26.3", Some("umcp")),
        (new, "0.26.4", Some("umcp")),
        (new, "0.27.0", Some("uloop")),
        (new, "2.1.1", Some("uloop")),
        (new, "https://x/y.git#main", Some("uloop")),
        (old, "file:../umcp", Some("uloop")),
        (new, "3.0.0-beta.1", Some("unity-cli-loop")),
        ("com.unity.ugui", "1.0.0", None),
    ];
    for (package, wish, meant) in cases {
        let manifest = serde_json::json!({"dependencies": {package: wish}}).to_string();
        let files: ProjectFiles =
            [("Packages/manifest.json", FileState::Content(manifest.into_bytes()))].into_iter().collect();
        let installed: Vec<&str> =
            ALL.iter().filter(|dialect| dialect.read_project(&files).installed).map(|dialect| dialect.name()).collect();
        assert_eq!(installed, meant.into_iter().collect::<Vec<_>>(), "{package} {wish}");
        for dialect in ALL.iter().filter(|dialect| Some(dialect.name()) == meant) {
            assert_eq!(dialect.read_project(&files).problems, Vec::<String>::new(), "{package} {wish}");
        }
    }
    assert_eq!(fallback(ALL).name(), "uloop");
}

#[test]
fn who_insists_on_the_other_dialect_is_told() {
    let files = |version: &str| -> ProjectFiles {
        let own = format!(r#"{{"version":"{version}"}}"#);
        [("Packages/io.github.hatayama.uloopmcp/package.json", FileState::Content(own.into_bytes()))].into()
    };
    let told = |dialect: &dyn Dialect, version: &str| dialect.read_project(&files(version)).problems.join(" ");
    assert!(told(&Uloop, "0.26.4").contains("0.26.4, which speaks lines instead of frames: use the dialect umcp"));
    assert!(told(&Umcp, "2.1.1").contains("2.1.1, which speaks frames instead of lines: use the dialect uloop"));
    assert!(told(&Umcp, "0.26.4").is_empty() && told(&Uloop, "2.1.1").is_empty());
}

#[test]
fn a_compilation_is_followed_by_a_reload_that_tells_nothing() {
    let call = CallId::from_random([7; 16]);
    let prepare = |tool| Umcp.prepare_call(&Sending::first(call, true), tool, None, &raw("{ }"));
    assert_eq!(prepare("compile").recovery, Recovery::Inferred);
    assert_eq!(prepare("getlogs").recovery, Recovery::None);
    assert_eq!((prepare("compile").reload_follows, prepare("getlogs").reload_follows), (true, false));
    assert_eq!(prepare("compile").arguments.get(), "{ }");
}

#[test]
fn each_port_is_tried_once() {
    let mut ports = DEFAULT_PORTS.to_vec();
    assert_eq!(ports[..2], [8700, 7400]);
    for base in [8700, 7400] {
        for port in [base, base + 100, base + 200, base + 300, base + 400, base - 100] {
            assert!(ports.contains(&port), "{port}");
        }
    }
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), DEFAULT_PORTS.len());
}

#[test]
fn the_window_is_for_the_gateway_to_raise_where_the_packages_own_server_did() {
    assert_eq!(Uloop.package_tool("focus-window"), Some(PackageTool::FocusWindow));
    // uMCP has no package tools: a tool named `focus-window` belongs to the project, so the editor must run it.
    assert_eq!(Umcp.package_tool("focus-window"), None);
    assert_eq!((Umcp.package_tool("compile"), Uloop.package_tool("compile")), (None, None));
}

#[test]
fn development_tools_are_hidden_unless_they_are_asked_for() {
    let list = r#"{"Tools":[{"name":"compile"},{"name":"debug-sleep","displayDevelopmentOnly":true}]}"#;
    for dialect in [&Umcp as &dyn Dialect, &Uloop] {
        let ListStep::Tools(listing) = dialect.read_tools(&Reply::Result(raw(list)), 0) else { panic!() };
        let shown = |development| Catalogue::new(listing.tools.clone(), development).find("debug-sleep").is_some();
        assert_eq!((shown(false), shown(true)), (false, true), "{}", dialect.name());
    }
}

#[test]
fn the_names_of_old_are_known_to_look_only() {
    let list = r#"[{"name":"getlogs"},{"name":"clearconsole"},{"name":"unitysearch"}]"#;
    let ListStep::Tools(listing) = Umcp.read_tools(&Reply::Result(raw(list)), 2) else { panic!() };
    let repeatable: Vec<bool> = listing.tools.iter().map(|tool| tool.repeatable).collect();
    assert_eq!(repeatable, [true, false, true]);
}

/// Passes the bytes to every function that reads bytes from outside.
fn feed(bytes: &[u8]) {
    let reply = match Umcp.decode(bytes) {
        Ok(Inbound::Reply { reply, .. }) => Some(reply),
        _ => Umcp.read_unnamed(bytes),
    };
    let all = Umcp.project_files().iter().map(|file| (file.path, FileState::Content(bytes.to_vec()))).collect();
    assert_ne!(Umcp.read_project(&all).port.map(|(port, _)| port), Some(0));
    let Some(reply) = reply else { return };
    for step in 0..4 {
        let _ = Umcp.read_tools(&reply, step);
    }
    let said = [reply];
    let _ = Umcp.check_greeting(&hello(), &said);
    let [reply] = said;
    let result = if let Reply::Result(result) = &reply { Some(result.get().to_owned()) } else { None };
    let answer = Umcp.read_answer(reply).body;
    if let Some(result) = result {
        assert!(matches!(answer, AnswerBody::Json(json) if json.get() == result), "no byte of a result is touched");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..256), text in any::<String>()) {
        feed(&bytes);
        let text = Value::from(text);
        feed(format!(r#"{{"id":1,"result":{text}}}"#).as_bytes());
        feed(format!(r#"{{"id":null,"error":{text}}}"#).as_bytes());
        feed(format!(r#"{{"id":1,"error":{{"message":{text},"data":{text}}}}}"#).as_bytes());
        feed(format!(r#"{{"method":{text},"params":{text}}}"#).as_bytes());
    }

    #[test]
    fn every_line_is_ascii_and_means_what_was_given(text in any::<String>(), tool in any::<String>()) {
        let line = call_line(&tool, &Value::from(vec![text.as_str()]).to_string());
        if let Ok(line) = line {
            prop_assert!(line.is_ascii() && line.matches('\n').count() == 1 && !line.contains('\r'));
            let sent: Value = serde_json::from_str(&line).unwrap();
            prop_assert_eq!((sent["method"].as_str(), sent["params"][0].as_str()), (Some(&*tool), Some(&*text)));
        }
    }

    #[test]
    fn only_a_compile_is_followed_by_a_reload(text in any::<String>(), name in "compile|[a-z]{0,9}") {
        let given = raw(serde_json::json!({ "X": text }).to_string());
        let call = CallId::from_random([7; 16]);
        let ready = Umcp.prepare_call(&Sending::first(call, true), &name, None, &given);
        let recovery = if name == "compile" { Recovery::Inferred } else { Recovery::None };
        prop_assert_eq!((ready.reload_follows, ready.recovery), (name == "compile", recovery));
    }

    #[test]
    fn no_version_of_the_package_speaks_lines_and_frames(version in "[0-9]{1,2}(\\.[0-9]{1,2}){0,3}[-a-z]{0,3}", new: bool) {
        let id = if new { "io.github.hatayama.uloopmcp" } else { "io.github.hatayama.umcp" };
        let manifest = serde_json::json!({"dependencies": {id: version}}).to_string();
        let files: ProjectFiles = [("Packages/manifest.json", FileState::Content(manifest.into_bytes()))].into();
        let (lines, frames) = (Umcp.read_project(&files), Uloop.read_project(&files));
        prop_assert!(!(lines.installed && frames.installed && lines.package_version.is_some()), "{}", version);
    }
}
