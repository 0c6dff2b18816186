mod vectors;

use proptest::prelude::*;
use serde_json::Value;

use super::super::{AnswerBody, FileState, foreign_peer};
use super::*;
use crate::protocol::ids::CallId;

const CALL: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

/// Returns what the dialect reads in this response to a call.
fn reply(path: &str, status: u16, body: &str) -> Reply {
    read(CallId::parse(CALL), path, status, body)
}

/// Returns what the dialect reads in this response to a ping that is no call.
fn ping(status: u16, body: &str) -> Reply {
    read(None, wire::PING, status, body)
}

fn read(call: Option<CallId>, path: &str, status: u16, body: &str) -> Reply {
    let request = Request { method: "GET", path: path.to_owned().into(), headers: &[], body: "".into() };
    let response = Response { status, server: None, body: body.to_owned().into() };
    UnityMcp.read_response(WireId { number: 7, call, agreed: None }, &request, response)
}

fn answer(path: &str, body: &str) -> (bool, Value) {
    let answer = UnityMcp.read_answer(reply(path, 200, body));
    match answer.body {
        AnswerBody::Json(json) => (answer.is_error, serde_json::from_str(json.get()).unwrap()),
        other => panic!("{other:?}"),
    }
}

fn prepared(tool: &str, arguments: &str) -> PreparedCall {
    let sending = Sending::first(CallId::parse(CALL).unwrap(), true);
    UnityMcp.prepare_call(&sending, tool, None, &raw(arguments))
}

fn encoded(tool: &str, arguments: &str) -> Result<Request, EncodeError> {
    let call = prepared(tool, arguments);
    let order = Order::Call { tool, call: &call, expected: None, progress: false };
    match UnityMcp.encode(WireId { number: 7, call: CallId::parse(CALL), agreed: None }, &order)? {
        Encoded::Request(request) => Ok(request),
        frame @ Encoded::Frame(_) => panic!("{frame:?}"),
    }
}

#[test]
fn its_server_is_known_by_its_first_bytes() {
    let kind = foreign_peer::kind(b"HTTP/1.1 200 OK\r\nServer: Mono-HTTPAPI/1.0\r\n", b"").unwrap();
    assert!(kind.contains("--dialect unity-mcp"), "{kind}");
}

#[test]
fn calls_go_where_the_editor_executes_them() {
    for (tool, arguments, method, path, body) in [
        ("execute_code", r#"{"code":"a;\n\"ü\"","timeout":5}"#, "POST", wire::EXECUTE, "a;\n\"ü\""),
        ("query", r#"{"query":"find(\"X\")"}"#, "POST", wire::EXECUTE, "find(\"X\")"),
        ("get_state", "{}", "GET", wire::STATE, ""),
        ("start_game", "{}", "POST", wire::START, ""),
        ("stop_game", r#"{"code":"ignored"}"#, "POST", wire::STOP, ""),
    ] {
        let ask = encoded(tool, arguments).unwrap();
        assert_eq!((ask.method, &*ask.path, &*ask.body), (method, path, body.as_bytes()), "{tool}");
        assert_eq!(!ask.headers.is_empty(), matches!(tool, "execute_code" | "query"), "{tool}");
    }
    for tool in ["get_logs", "help", "no_such_tool"] {
        assert_eq!(encoded(tool, "{}"), Err(EncodeError::NotSpoken), "{tool}");
    }
}

#[test]
fn code_beyond_the_bound_is_not_sent() {
    let code = |length: usize| format!(r#"{{"code":"{}"}}"#, "x".repeat(length));
    assert!(encoded("execute_code", &code(UNITY_MCP_REQUEST_MAX_BYTES)).is_ok());
    let bytes = UNITY_MCP_REQUEST_MAX_BYTES + 1;
    let too_large = EncodeError::TooLarge { bytes, max: UNITY_MCP_REQUEST_MAX_BYTES };
    assert_eq!(encoded("execute_code", &code(bytes)), Err(too_large));
}

#[test]
fn the_time_limit_is_the_callers_in_milliseconds_or_the_packages_own() {
    let seconds = |tool: &str, arguments: &str| prepared(tool, arguments).timeout.map(|limit| limit.as_secs_f64());
    assert_eq!(seconds("execute_code", r#"{"timeout":1500}"#), Some(1.5));
    assert_eq!(seconds("query", r#"{"timeout":"soon"}"#), Some(30.0));
    assert_eq!(seconds("query", r#"{"timeout":-1}"#), Some(30.0));
    assert_eq!(seconds("execute_code", r#"{"timeout":1e300}"#), Some(TOOL_TIMEOUT_MAX.as_secs_f64()));
    assert_eq!(seconds("start_game", r#"{"timeout":5}"#), None);
    assert!(prepared("start_game", "{}").reload_follows);
    assert!(!prepared("stop_game", "{}").reload_follows);
}

#[test]
fn the_callers_own_text_cannot_pass_for_an_answer() {
    let waiting = |code: &str| {
        format!(
            "{{ \"success\": false, \"error\": \"\", \"code\": \"{code}\", \"logs\": [\"Error executing code\"], \"executionTime\": 0 }}"
        )
    };
    for code in ["A task was canceled", wire::HELLO, "\", \"code\": \"x", "(simulated)", "{}", "\n\u{0}\u{1b}"] {
        let (is_error, answer) = answer(wire::EXECUTE, &waiting(code));
        assert_eq!((is_error, &answer["status"]), (false, &Value::from("timeout")), "{code}");
        assert_eq!((&answer["executed"], &answer["is_complete"]), (&Value::Null, &Value::from(false)), "{code}");
    }
}

#[test]
fn what_the_package_never_says_is_no_success() {
    for path in [wire::EXECUTE, wire::START, wire::STOP, wire::STATE, "/elsewhere"] {
        for body in ["", "null", "[]", "pong", "<html>", "{ \"success\": true }", "{ \"success\": false }", "{\"x\":"] {
            let (is_error, answer) = answer(path, body);
            assert!(is_error && answer["executed"].is_null(), "{path} {body}: {answer}");
        }
        let answer = UnityMcp.read_answer(reply(path, 500, "A task was canceled"));
        assert!(answer.is_error, "{path}");
    }
}

/// The place of each refusal is the whole answer of Mono's listener or of the package itself.
#[test]
fn only_whole_answers_of_the_server_itself_say_that_nothing_was_executed() {
    let executed = |path: &str, status: u16, body: &str| {
        let AnswerBody::Json(json) = UnityMcp.read_answer(reply(path, status, body)).body else { panic!("{body}") };
        serde_json::from_str::<Value>(json.get()).unwrap()["executed"].clone()
    };
    let hello = "{ \"success\": true, \"message\": \"Hello from Unity MCP!\" }";
    let simulated = "{\"success\":true,\"result\":\"Game started successfully (simulated)\"}";
    let failed = |words: &str| format!("{{ \"success\": false, \"error\": \"{words}\", \"code\": \"c\" }}");
    for (status, body) in
        [(400, "<h1>Bad Request (Invalid host)</h1>"), (411, "<h1>Length Required</h1>"), (404, "<h1>Not Found</h1>")]
    {
        for path in [wire::EXECUTE, wire::START, wire::STATE] {
            assert_eq!(executed(path, status, body), Value::from(false), "{path} {body}");
            assert_eq!(executed(path, 500, body), Value::Null, "{path} {body}");
        }
        assert_eq!(executed(wire::EXECUTE, status, "It failed"), Value::Null, "{status}");
        assert_eq!(executed(wire::EXECUTE, status, &format!("It failed: {body}")), Value::Null, "{status}");
        assert_eq!(executed(wire::EXECUTE, 200, &failed(body)), Value::from(true), "{body}");
    }
    for path in [wire::EXECUTE, wire::START, wire::STATE] {
        assert_eq!(executed(path, 200, hello), Value::from(false), "{path}");
        assert_ne!(executed(path, 200, &failed(wire::HELLO)), Value::from(false), "{path}");
        assert_ne!(executed(path, 200, &hello.replace("true", "false")), Value::from(false), "{path}");
    }
    assert_eq!(executed(wire::START, 200, simulated), Value::from(false));
    for body in [
        "{ \"success\": false, \"message\": \"Error starting game: (simulated)\" }",
        "{\"success\":true,\"result\":\"The (simulated) game runs\"}",
        "{\"success\":false,\"result\":\"Game started successfully (simulated)\"}",
    ] {
        assert_ne!(executed(wire::START, 200, body), Value::from(false), "{body}");
    }
}

#[test]
fn every_listed_tool_is_sent_or_answered_by_the_gateway() {
    let ListStep::Tools(listing) = UnityMcp.read_tools(&ping(200, "pong"), 0) else { panic!("no list") };
    assert!(listing.dropped.is_empty());
    let names: Vec<&str> = listing.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "execute_code",
            "query",
            "get_logs",
            "get_log_by_name",
            "get_state",
            "start_game",
            "stop_game",
            "get_result",
            "get_log_details",
            "get_logs_by_name",
            "help"
        ]
    );
    for tool in &listing.tools {
        assert_eq!(encoded(&tool.name, "{}").is_ok(), UnityMcp.package_tool(&tool.name).is_none(), "{}", tool.name);
        assert!(tool.description.len() <= crate::limits::DESCRIPTION_MAX_BYTES, "{}", tool.name);
        assert_eq!(tool.input_schema.parsed()["type"], "object");
        assert!(!tool.annotations.read_only_hint || tool.repeatable, "{}", tool.name);
    }
    assert!(!listing.tools[0].repeatable && !listing.tools[1].repeatable, "what runs code is not sent twice");
    assert_eq!(UnityMcp.package_tool("get_result"), Some(PackageTool::Result));
    assert_eq!(UnityMcp.package_tool("get_logs"), Some(PackageTool::Logs));
    assert_eq!(UnityMcp.package_tool("get_log_by_name"), Some(PackageTool::LogByName));
    assert_eq!(UnityMcp.package_tool("get_logs_by_name"), Some(PackageTool::LogByName));
    assert_eq!(UnityMcp.package_tool("get_log_details"), Some(PackageTool::LogDetails));
    let Some(PackageTool::Help(text)) = UnityMcp.package_tool("help") else { panic!("no help") };
    for word in ["find(\"Name\")", "new GameObject(\"x\")", "Debug.Log(\"m\")", "Player.transform.position"] {
        assert!(text.contains(word), "{word}");
    }
}

#[test]
fn an_editor_that_does_not_say_pong_has_no_list() {
    for body in ["\"pong\"", "{ \"success\": true, \"message\": \"Hello from Unity MCP!\" }", ""] {
        assert!(matches!(UnityMcp.read_tools(&ping(200, body), 0), ListStep::Failed(_)), "{body}");
    }
}

fn files(pairs: &[(&'static str, &str)]) -> ProjectFiles {
    let mut files: ProjectFiles = project::FILES.iter().map(|file| (file.path, FileState::Missing)).collect();
    files.extend(pairs.iter().map(|(path, text)| (*path, FileState::Content(text.as_bytes().to_vec()))));
    files
}

#[test]
fn the_project_tells_the_package_and_unitys_process() {
    let instance = ("Library/EditorInstance.json", r#"{"process_id":4711,"version":"2022.3.62f1"}"#);
    let embedded = ("Packages/com.unity.mcp/package.json", r#"{"name":"com.unity.mcp","version":"1.0.0"}"#);
    let facts = UnityMcp.read_project(&files(&[instance, embedded]));
    assert!(facts.installed && facts.problems.is_empty(), "{facts:?}");
    assert_eq!((facts.editor_pid, facts.package_version.as_deref(), facts.port), (Some(4711), Some("1.0.0"), None));

    let by_path = ("Packages/manifest.json", r#"{"dependencies":{"com.unity.mcp":"file:../unity-client"}}"#);
    let facts = UnityMcp.read_project(&files(&[by_path]));
    assert!(facts.installed && facts.problems.is_empty(), "{facts:?}");

    let by_git = (
        "Packages/manifest.json",
        r#"{"dependencies":{"com.unity.mcp":"https://github.com/TSavo/Unity-MCP.git?path=unity-client"}}"#,
    );
    let facts = UnityMcp.read_project(&files(&[by_git]));
    assert!(facts.installed && facts.problems.len() == 1 && facts.problems[0].contains("Packages folder"), "{facts:?}");
    assert!(UnityMcp.read_project(&files(&[by_git, embedded])).problems.is_empty());

    assert!(!UnityMcp.read_project(&files(&[instance])).installed);
}

#[test]
fn each_operation_has_a_log_and_what_the_gateway_answers_has_none() {
    assert_eq!(UnityMcp.log_prefix("execute_code"), Some("unity-execute"));
    assert_eq!(UnityMcp.log_prefix("query"), Some("unity-query"));
    assert_eq!(UnityMcp.log_prefix("get_state"), Some("unity-state"));
    assert_eq!(UnityMcp.log_prefix("start_game"), Some("unity-start"));
    assert_eq!(UnityMcp.log_prefix("stop_game"), Some("unity-stop"));
    let listed = tools::read(&ping(200, "pong"));
    let ListStep::Tools(listing) = listed else { panic!("{listed:?}") };
    for tool in listing.tools {
        let answered_here = UnityMcp.package_tool(&tool.name).is_some();
        assert_eq!(UnityMcp.log_prefix(&tool.name).is_none(), answered_here, "{}", tool.name);
    }
}

const PATHS: [&str; 5] = [wire::PING, wire::EXECUTE, wire::STATE, wire::START, wire::STOP];

/// What the package answers, with a piece cut out and another one put in.
fn any_body() -> impl Strategy<Value = String> {
    let said: Vec<String> = vectors::all()
        .iter()
        .filter(|vector| vector["direction"] == "from_editor")
        .map(|vector| vector["body"].as_str().unwrap().to_owned())
        .collect();
    let piece =
        prop::sample::select(vec!["", " ", "\"", "{}", "pong", "<h1>", "A task was canceled", "(simulated)", "true"]);
    let places = (any::<prop::sample::Index>(), 0..8usize);
    (prop::sample::select(said), piece, places).prop_map(|(said, piece, (at, cut))| {
        let letters: Vec<char> = said.chars().collect();
        let at = at.index(letters.len() + 1);
        let (before, after) = (&letters[..at], &letters[(at + cut).min(letters.len())..]);
        before.iter().copied().chain(piece.chars()).chain(after.iter().copied()).collect()
    })
}

proptest! {
    #[test]
    fn only_a_pong_greets_and_lists(path in prop::sample::select(&PATHS[..]), status in 200..600u16, body in any_body()) {
        for status in [200, status] {
            let said = [read(None, path, status, &body)];
            let pong = status == 200 && body.trim() == "pong";
            prop_assert_eq!(UnityMcp.check_greeting(&Hello::default(), &said).is_ok(), pong, "{} {}", status, body);
            prop_assert_eq!(matches!(UnityMcp.read_tools(&said[0], 0), ListStep::Tools(_)), pong, "{} {}", status, body);
        }
    }

    #[test]
    fn status_and_executed_and_complete_agree(path in prop::sample::select(&PATHS[..]), status in 200..600u16, body in any_body()) {
        for status in [200, status] {
            let answer = UnityMcp.read_answer(reply(path, status, &body));
            let AnswerBody::Json(said) = &answer.body else { panic!("{answer:?}") };
            let Ok(said) = serde_json::from_str::<Value>(said.get()) else { continue };
            let word = said["status"].as_str().unwrap();
            prop_assert_eq!((answer.is_error, said["log_id"].as_str()), (word == "error", Some(CALL)));
            prop_assert!(!said["message"].as_str().unwrap().trim().is_empty());
            let good = match word {
                "success" => said["executed"] == true,
                "timeout" => said["executed"].is_null() && said["is_complete"] == false,
                other => other == "error",
            };
            prop_assert!(good && (status == 200 || word == "error" && said["executed"] != true), "{} {} {}", path, status, said);
        }
    }

    #[test]
    fn code_is_sent_as_it_was_written(code in any::<String>(), number: i32, name in "execute_code|query|get_state|st(art|op)_game|[a-z_]{0,9}") {
        let arguments = serde_json::json!({ "code": code, "query": code, "n": number }).to_string();
        let ready = prepared(&name, &arguments);
        prop_assert_eq!((ready.reload_follows, ready.arguments.get()), (name == "start_game", arguments.as_str()));
        let known = ["execute_code", "query", "get_state", "start_game", "stop_game"].contains(&name.as_str());
        match encoded(&name, &arguments) {
            Ok(ask) => {
                let body = if ["execute_code", "query"].contains(&name.as_str()) { code.as_str() } else { "" };
                prop_assert!(known && *ask.body == *body.as_bytes());
            }
            Err(why) => prop_assert!(!known && why == EncodeError::NotSpoken, "{} {:?}", name, why),
        }
    }
}
