//! Tests orders and ids, preparation of calls, answers, lists, project files, and foreign input of any form.

mod vectors;

use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::{
    AnswerBody, Dialect, EditorTool, EncodeError, Encoded, FileState, Greeted, Hello, Inbound, ListStep, Order,
    PackageTool, PreparedCall, ProjectFacts, ProjectFiles, Recovery, Reply, Secret, Sending, ToolListing, Unreadable,
    WireId, foreign_peer,
};
use super::Turbokettle;
use crate::limits::{JSON_DEPTH_MAX, TOOLS_MAX, TURBOKETTLE_REQUEST_MAX_BYTES};
use crate::protocol::ids::CallId;

fn raw(text: impl Into<String>) -> Box<RawValue> {
    RawValue::from_string(text.into()).unwrap()
}

/// A reply with this text as its data.
fn holding(data: impl AsRef<str>) -> Reply {
    Reply::Result(raw(Value::from(data.as_ref()).to_string()))
}

fn listed(tools: Value) -> ToolListing {
    match Turbokettle.read_tools(&holding(json!({ "version": 1, "tools": tools }).to_string()), 0) {
        ListStep::Tools(listing) => listing,
        other => panic!("{other:?}"),
    }
}

fn with_schema(schema: &str) -> EditorTool {
    let entry =
        json!({ "name": "mine", "description": "Does it.", "requiresMainThread": true, "parameterSchema": schema });
    EditorTool::clone(&listed(json!([entry])).tools[0])
}

fn prepared(name: &str, tool: Option<&EditorTool>, arguments: &str) -> PreparedCall {
    let call = CallId::from_random([7; 16]);
    Turbokettle.prepare_call(&Sending::first(call, true), name, tool, &raw(arguments))
}

fn encoded(order: &Order<'_>) -> Result<bytes::Bytes, EncodeError> {
    Turbokettle.encode(WireId { number: 1, call: None, agreed: None }, order).map(Encoded::into_bytes)
}

#[test]
fn its_server_is_known_by_its_first_bytes() {
    let kind = foreign_peer::kind(b"{\"id\":\"unknown\",\"ok\":false,\"data\":\"\"", b"").unwrap();
    assert!(kind.contains("--dialect turbokettle"), "{kind}");
}

#[test]
fn the_size_limit_counts_the_whole_line() {
    let sized = |length: usize| {
        let call = PreparedCall::as_given(&raw(format!(r#"{{"x":"{}"}}"#, "x".repeat(length))));
        encoded(&Order::Call { tool: "t", call: &call, expected: None, progress: false })
    };
    let overhead = sized(1000).unwrap().len() - 1000;
    let max = TURBOKETTLE_REQUEST_MAX_BYTES;
    assert_eq!(sized(max - overhead).unwrap().len(), max);
    assert_eq!(sized(max - overhead + 1), Err(EncodeError::TooLarge { bytes: max + 1, max }));
}

#[test]
fn what_the_package_does_not_know_is_not_spoken() {
    assert_eq!(encoded(&Order::Outcomes(&[])), Err(EncodeError::NotSpoken));
    let greeting = encoded(&Order::Greeting { hello: &Hello::default(), said: &[] });
    assert_eq!(encoded(&Order::Heartbeat), greeting, "a ping is a ping");
    assert!(Turbokettle.decode_push(b"{}", &Secret::default()).is_err());
    assert!(Turbokettle.read_result_file(b"{}").is_none());
    let properties = Turbokettle.properties();
    assert!(properties.default_ports.is_empty() && !properties.push);
    // A tool on the connection's own thread delays pings, and only one such tool runs at a time.
    assert_eq!((properties.window, properties.heartbeat), (2, false));
}

#[test]
fn nesting_does_not_matter_outside_of_the_texts_and_is_bounded_inside_them() {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let line = format!(r#"{{"id":"holdfast.1","ok":true,"data":"","error":"","x":{}}}"#, deep(JSON_DEPTH_MAX));
    assert!(matches!(Turbokettle.decode(line.as_bytes()), Ok(Inbound::Reply { reply: Reply::Result(_), .. })));
    let body = |levels| Turbokettle.read_answer(holding(deep(levels))).body;
    assert!(matches!(body(JSON_DEPTH_MAX), AnswerBody::Json(_)));
    assert!(matches!(body(JSON_DEPTH_MAX + 1), AnswerBody::Text(_)), "it is passed on as the text that it is");
    let schema = format!(r#"{{"properties":{}}}"#, deep(100_000));
    assert!(with_schema(&schema).description.contains("broken JSON"));
}

#[test]
fn a_greeting_says_why_it_is_none() {
    let error = |text: &str| {
        let line = json!({ "id": "holdfast.1", "ok": false, "data": "", "error": text }).to_string();
        let Ok(Inbound::Reply { reply, .. }) = Turbokettle.decode(line.as_bytes()) else { panic!("{line}") };
        Turbokettle.check_greeting(&Hello::default(), &[reply]).unwrap_err().to_string()
    };
    for text in ["Ping handler not registered", "Tool registry not initialized"] {
        assert!(error(text).contains("still starting"), "{text}");
    }
    assert!(error("go away").contains("refused the ping: go away"));
    assert!(Turbokettle.check_greeting(&Hello::default(), &[]).is_err());
}

#[test]
fn a_mistake_says_whether_anything_ran() {
    let text = |error: &str| {
        let line = json!({ "id": "holdfast.1", "ok": false, "data": "", "error": error }).to_string();
        let Ok(Inbound::Reply { reply, .. }) = Turbokettle.decode(line.as_bytes()) else { panic!("{line}") };
        let answer = Turbokettle.read_answer(reply);
        assert!(answer.is_error);
        let AnswerBody::Text(text) = answer.body else { panic!("{error}") };
        text
    };
    // A tool of the project can use the words that the package has for its own errors.
    assert_eq!(text("Tool registry not initialized"), "Tool registry not initialized");
    // A tool of the project may use these words for its own errors.
    assert_eq!(text("Unknown tool: hammer"), "Unknown tool: hammer");
    assert_eq!(text("Missing 'tool' parameter"), "Missing 'tool' parameter");
    assert_eq!(text("Command failed: boom!"), "Command failed: boom! It may have run in part.");
    assert_eq!(text("Missing 'path' parameter"), "Missing 'path' parameter");
    assert_eq!(text("I said: Unknown tool: nope"), "I said: Unknown tool: nope");
    assert!(!text("").is_empty());
}

/// Each error of the package stands where a tool's own error stands.
#[test]
fn no_error_is_proof_that_nothing_ran() {
    for error in [
        "Tool registry not initialized",
        "Ping handler not registered",
        "Unknown tool: t",
        "Unknown command: invoke_tool",
        "Missing 'tool' parameter",
        "Missing command",
        "Invalid JSON",
    ] {
        let line = json!({ "id": "holdfast.1", "ok": false, "data": "", "error": error }).to_string();
        let Ok(Inbound::Reply { reply: Reply::Error(read), .. }) = Turbokettle.decode(line.as_bytes()) else {
            panic!("{line}")
        };
        assert_eq!(read.refusal, None, "{error}");
    }
}

#[test]
fn decimal_commas_are_repaired_where_they_can_only_be_such() {
    let schema = r#"{"type":"object","properties":{"speed":{"type":"number","description":"0,5 \" 1,5","default":0,5,"minimum":-10,25,"maximum":1,5E-05},"on":{"type":"array","items":{"enum":[1,2,3]},"default":[0,5]}}}"#;
    let tool = with_schema(schema);
    assert_eq!(tool.description, "Does it.");
    let speed = &tool.input_schema.parsed()["properties"]["speed"];
    assert_eq!((speed["default"].as_f64(), speed["minimum"].as_f64()), (Some(0.5), Some(-10.25)));
    assert_eq!((speed["maximum"].as_f64(), speed["description"].as_str()), (Some(1.5e-5), Some("0,5 \" 1,5")));
    let on = &tool.input_schema.parsed()["properties"]["on"];
    assert_eq!((&on["default"], &on["items"]["enum"]), (&json!([0, 5]), &json!([1, 2, 3])));
    let control =
        with_schema("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"description\":\"b\u{8}c\"}}}");
    assert_eq!(control.input_schema.parsed()["properties"]["a"]["description"], "b\u{8}c");
}

#[test]
fn a_tool_whose_schema_is_lost_takes_anything_and_says_so() {
    for schema in ["{", "[]", "7", "", r#"{"type":"string"}"#, r#"{"properties":[]}"#] {
        let tool = with_schema(schema);
        assert_eq!(Value::Object(tool.input_schema.parsed()), json!({ "type": "object" }), "{schema}");
        assert!(tool.description.starts_with("Does it. (Its parameters are not known here: its package "), "{schema}");
    }
    let closed = Value::Object(with_schema("{}").input_schema.parsed());
    assert_eq!(closed, json!({ "type": "object", "properties": {}, "additionalProperties": false }));
}

#[test]
fn one_bad_tool_is_dropped_alone_and_ours_stands_for_the_one_that_we_answer() {
    let named = |name: &str| json!({ "name": name, "requiresMainThread": false, "parameterSchema": "{}" });
    let listing = listed(json!([7, {}, named("wait_for_editor_ready"), named("a"), named("a"), { "name": "b" }]));
    let names: Vec<&str> = listing.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "wait_for_editor_ready"]);
    assert_eq!(listing.tools.iter().map(|tool| tool.parallel).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(listing.revision, None, "the package's version is always 1");
    let dropped: Vec<&str> = listing.dropped.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(dropped, ["#0", "#1", "wait_for_editor_ready", "a"]);
    assert_eq!(Turbokettle.package_tool("wait_for_editor_ready"), Some(PackageTool::WaitReady));
    assert_eq!(Turbokettle.package_tool("a"), None);
    let wait = &listing.tools[2].input_schema.parsed()["properties"];
    assert_eq!((&wait["timeout_seconds"]["minimum"], &wait["wait_for_reload"]["default"]), (&json!(0), &json!(false)));
    let many = (0..=TOOLS_MAX).map(|number| named(&format!("t{number}"))).collect();
    assert_eq!(listed(Value::Array(many)).tools.len(), TOOLS_MAX);
}

#[test]
fn what_is_known_of_the_packages_own_tools() {
    let named = |name: &str| json!({ "name": name, "requiresMainThread": true, "parameterSchema": "{}" });
    let tools =
        listed(json!([named("get_project_info"), named("read_console_logs"), named("execute_menu_item"), named("x")]));
    for (tool, looks_only) in tools.tools.iter().zip([true, true, false, false]) {
        let hints = &tool.annotations;
        assert_eq!(
            (tool.repeatable, hints.read_only_hint, hints.idempotent_hint),
            (looks_only, looks_only, looks_only)
        );
        assert_eq!((hints.destructive_hint, tool.parallel), (!looks_only, false), "{}", tool.name);
        assert!(!tool.description.is_empty() && !hints.title.is_empty());
    }
}

#[test]
fn defaults_and_both_spellings_are_sent_and_numbers_stay_as_they_are() {
    let tool = with_schema(
        r#"{"properties":{"max_count":{"type":"integer","default":50},"filter":{"default":"all"},"must":{"default":1},"my_name":{},"other_one":{},"otherOne":{}},"required":["must"]}"#,
    );
    let cases = [
        ("{}", r#"{"max_count":50,"filter":"all","maxCount":50}"#),
        (r#"{ "max_count" : 1.50, "filter":null }"#, r#"{"max_count":1.50,"filter":null,"maxCount":1.50}"#),
        (r#"{"maxCount":2,"filter":"x"}"#, r#"{"maxCount":2,"filter":"x"}"#),
        (
            r#"{"max_count":1,"filter":"x","my_name":1e400,"my_name":"last"}"#,
            r#"{"max_count":1,"filter":"x","my_name":1e400,"my_name":"last","myName":"last","maxCount":1}"#,
        ),
        (
            r#"{"maxCount":1,"filter":"x","my_name":1,"myName":2,"other_one":3,"_x":4,"y_":5,"__":6,"a__b":7}"#,
            r#"{"maxCount":1,"filter":"x","my_name":1,"myName":2,"other_one":3,"_x":4,"y_":5,"__":6,"a__b":7,"a_B":7}"#,
        ),
    ];
    for (given, sent) in cases {
        assert_eq!(prepared("mine", Some(&tool), given).arguments.get(), sent, "{given}");
    }
    assert_eq!(prepared("mine", None, r#"{"a_b_c":1}"#).arguments.get(), r#"{"a_b_c":1,"aBC":1}"#);
    let untouched = r#"{ "a" : 1.0 }"#;
    assert_eq!(prepared("mine", None, untouched).arguments.get(), untouched);
}

#[test]
fn a_reload_follows_two_entries_of_the_menu() {
    let follows = |tool: &str, arguments: &str| {
        let ready = prepared(tool, None, arguments);
        assert_eq!((ready.recovery, ready.timeout), (Recovery::None, None));
        ready.reload_follows
    };
    for path in ["Assets/Refresh", "ASSETS/refresh", "assets/Reimport All", r"Assets\/Refresh"] {
        assert!(follows("execute_menu_item", &format!(r#"{{"path":"{path}"}}"#)), "{path}");
        assert!(!follows("mine", &format!(r#"{{"path":"{path}"}}"#)));
        assert!(!follows("execute_menu_item", &format!(r#"{{"Path":"{path}"}}"#)), "the package does not find it");
    }
    for arguments in
        ["{}", r#"{"path":7}"#, r#"{"path":"Assets/Refresh "}"#, r#"{"path":"Assets/Refresh","path":"File/Save"}"#]
    {
        assert!(!follows("execute_menu_item", arguments), "{arguments}");
    }
}

const BRIDGE: &str = "Library/MCPInstance.json";

fn facts(files: &[(&'static str, &str)]) -> ProjectFacts {
    let known: Vec<&str> = Turbokettle.project_files().iter().map(|file| file.path).collect();
    let content = |(path, text): &(&'static str, &str)| {
        assert!(known.contains(path), "{path} is not looked at");
        (*path, FileState::Content(text.as_bytes().to_vec()))
    };
    Turbokettle.read_project(&files.iter().map(content).collect::<ProjectFiles>())
}

#[test]
fn the_instance_file_names_port_and_process() {
    let bridge = r#"{"port":38545,"pid":17,"projectPath":"/elsewhere"}"#;
    let read = facts(&[(BRIDGE, bridge)]);
    assert_eq!((read.installed, read.port, read.editor_pid), (true, Some((38545, BRIDGE)), Some(17)));
    assert_eq!((read.other_pid, read.problems), (None, Vec::new()));
    let unity = |pid: u32| format!(r#"{{"process_id":{pid},"version":"6000.0.30f1"}}"#);
    let same = facts(&[(BRIDGE, bridge), ("Library/EditorInstance.json", &unity(17))]);
    assert_eq!((same.editor_pid, same.other_pid, same.problems), (Some(17), None, Vec::new()));
    assert_eq!(same.editor_version.as_deref(), Some("6000.0.30f1"));
    let other = facts(&[(BRIDGE, bridge), ("Library/EditorInstance.json", &unity(18))]);
    assert_eq!((other.editor_pid, other.other_pid, other.port), (Some(18), Some(17), Some((38545, BRIDGE))));
    let [problem] = &other.problems[..] else { panic!("{:?}", other.problems) };
    assert!(problem.contains("process 17") && problem.contains("process 18") && problem.contains("imports assets"));
}

#[test]
fn a_file_that_is_being_written_is_no_problem_and_a_wrong_one_is() {
    let bridge = r#"{"port":38545,"pid":17}"#;
    for cut in 0..bridge.len() {
        let read = facts(&[(BRIDGE, &bridge[..cut])]);
        assert_eq!(read, ProjectFacts::default(), "{cut}");
    }
    assert_eq!(facts(&[(BRIDGE, "{}")]), ProjectFacts::default());
    assert_eq!(facts(&[(BRIDGE, &format!("\u{feff}{bridge}"))]).port, Some((38545, BRIDGE)));
    for (wrong, word) in [
        (r#"{"port":0,"pid":17}"#, "an invalid port"),
        (r#"{"port":65536,"pid":17}"#, "an invalid port"),
        (r#"{"port":"38545","pid":17}"#, "an invalid port"),
        (r#"{"port":38545}"#, "names no pid"),
        (r#"{"port":38545,"pid":0}"#, "names no pid"),
    ] {
        let read = facts(&[(BRIDGE, wrong)]);
        let [problem] = &read.problems[..] else { panic!("{wrong}: {:?}", read.problems) };
        assert!(problem.contains(word) && problem.contains("Unity Editor"), "{problem}");
        assert_eq!((read.port, read.installed), (None, false), "{wrong}");
    }
    let mut files = ProjectFiles::new();
    files.insert(BRIDGE, FileState::Unreadable(Unreadable::Denied("locked".to_owned())));
    assert!(Turbokettle.read_project(&files).problems[0].contains("cannot be read (locked)"));
    files.insert(BRIDGE, FileState::Unreadable(Unreadable::Link));
    assert!(Turbokettle.read_project(&files).problems[0].contains("is a symbolic link"));
}

#[test]
fn the_package_is_found_without_its_bridge() {
    let manifest = r#"{"dependencies":{"com.turbokettle.unity-mcp":"https://github.com/turbokettle/unity-mcp.git"}}"#;
    let read = facts(&[("Packages/manifest.json", manifest)]);
    assert_eq!((read.installed, read.package_version, read.port), (true, None, None));
    let embedded = r#"{"name":"com.turbokettle.unity-mcp","version":"1.0.0"}"#;
    let read = facts(&[("Packages/com.turbokettle.unity-mcp/package.json", embedded)]);
    assert_eq!((read.installed, read.package_version.as_deref()), (true, Some("1.0.0")));
    assert!(!facts(&[("Packages/manifest.json", r#"{"dependencies":{}}"#)]).installed);
}

/// JSON with the members and words that the dialect looks for, so that wrong types reach every line that reads them.
fn any_json() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "id",
        "ok",
        "data",
        "error",
        "tools",
        "name",
        "description",
        "requiresMainThread",
        "parameterSchema",
        "type",
        "properties",
        "required",
        "default",
        "object",
        "array",
        "my_param",
        "status",
        "success",
        "message",
        "port",
        "pid",
        "process_id",
        "path",
        "Assets/Refresh",
        "holdfast.1",
        "wait_for_editor_ready",
        "é_é",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((words.clone(), inner), 0..6).prop_map(|members| Value::Object(
                members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            )),
        ]
    })
}

/// Passes the bytes to every function that reads bytes from outside.
fn feed(bytes: &[u8]) {
    if let Ok(Inbound::Reply { reply, .. }) = Turbokettle.decode(bytes) {
        feed_reply(reply);
    }
    let all = Turbokettle.project_files().iter().map(|file| (file.path, FileState::Content(bytes.to_vec()))).collect();
    let facts = Turbokettle.read_project(&all);
    assert_ne!(facts.port.map(|(port, _)| port), Some(0));
}

fn feed_reply(reply: Reply) {
    let said = [reply];
    let _ = Turbokettle.check_greeting(&Hello::default(), &said);
    let [reply] = said;
    if let ListStep::Tools(listing) = Turbokettle.read_tools(&reply, 0) {
        for tool in &listing.tools {
            assert_eq!(tool.input_schema.parsed()["type"], "object");
            let _ = prepared(&tool.name, Some(tool), r#"{"my_param":1}"#);
        }
    }
    let _ = Turbokettle.read_answer(reply);
}

proptest! {
    #[test]
    fn no_json_makes_it_panic(value in any_json()) {
        feed(value.to_string().as_bytes());
        feed(json!({"id": "holdfast.1", "ok": true, "data": value, "error": ""}).to_string().as_bytes());
        feed(json!({"id": "holdfast.1", "ok": false, "data": "", "error": value}).to_string().as_bytes());
        feed_reply(holding(value.to_string()));
        feed_reply(holding(json!({"tools": [value]}).to_string()));
        feed_reply(holding(json!({"tools": [{"name": "a", "parameterSchema": value.to_string()}]}).to_string()));
        feed_reply(holding(json!({"tools": [{"name": "a", "parameterSchema": json!({"properties": value}).to_string()}]}).to_string()));
        let _ = prepared("execute_menu_item", None, &value.to_string());
    }

    #[test]
    fn only_a_pong_with_the_status_ok_greets_and_one_reply_decides(status in any_json(), ok: bool) {
        let pong = json!({ "status": status }).to_string();
        let (data, error) = if ok { (pong.as_str(), "") } else { ("", pong.as_str()) };
        let line = json!({ "id": "holdfast.1", "ok": ok, "data": data, "error": error }).to_string();
        let Ok(Inbound::Reply { reply, .. }) = Turbokettle.decode(line.as_bytes()) else { panic!("{line}") };
        let greeted = Turbokettle.check_greeting(&Hello::default(), &[reply]);
        prop_assert!(!matches!(greeted, Ok(Greeted::NotYet)));
        prop_assert_eq!(greeted.is_ok(), ok && status == "ok");
    }

    #[test]
    fn a_call_is_one_line_of_json_with_its_arguments_as_a_text(tool in "[a\r\n\"\u{2028}\u{85}]{0,6}", given in any_json()) {
        let given = raw(format!("{{\r\n\"a\":{given}\r}}"));
        let call = PreparedCall::as_given(&given);
        let line = encoded(&Order::Call { tool: &tool, call: &call, expected: None, progress: true }).unwrap();
        let ends: Vec<usize> = (0..line.len()).filter(|at| b"\r\n".contains(&line[*at])).collect();
        prop_assert_eq!(ends, [line.len() - 1]);
        let outer: Value = serde_json::from_slice(&line).unwrap();
        let inner: Value = serde_json::from_str(outer["params"].as_str().unwrap()).unwrap();
        prop_assert_eq!((inner["tool"].as_str(), inner["arguments"].as_str()), (Some(&*tool), Some(given.get())));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..256), text in any::<String>()) {
        feed(&bytes);
        feed_reply(holding(&text));
        feed_reply(holding(json!({"tools": [{"name": "a", "parameterSchema": text}]}).to_string()));
    }

    #[test]
    fn arguments_keep_every_member_that_the_caller_gave(value in any_json(), key in "[a-zA-Z_]{1,8}") {
        let tool = with_schema(r#"{"properties":{"my_param":{"default":0.5}}}"#);
        let given = json!({ key.as_str(): value }).to_string();
        let sent: Value = serde_json::from_str(prepared("mine", Some(&tool), &given).arguments.get()).unwrap();
        let given: Value = serde_json::from_str(&given).unwrap();
        prop_assert_eq!(&sent[&key], &given[&key]);
    }
}
