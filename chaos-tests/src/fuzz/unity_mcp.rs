//! The dialect of Unity-MCP's editor package, and the HTTP that carries it.

use holdfast::limits::TOOL_TIMEOUT_MAX;
use holdfast::protocol::dialect::http::{Ask, Heard};
use holdfast::protocol::dialect::unity_mcp::UnityMcp;
use holdfast::protocol::dialect::{
    AnswerBody, Dialect as _, EncodeError, Hello, Inbound, ListStep, Order, PreparedCall, Recovery, Reply, Sending,
    WireId,
};
use holdfast::protocol::framing::http;
use holdfast::protocol::ids::CallId;
use serde_json::Value;

use super::dialect::{check_frame, check_loggable, check_words, facts, object};
use super::fields;

/// The paths that the gateway requests from the package's HTTP server.
const PATHS: [&str; 5] = [
    "/ping",
    "/api/CodeExecution/execute-code",
    "/api/CodeExecution/game-state",
    "/api/CodeExecution/start-game",
    "/api/CodeExecution/stop-game",
];
/// The id of the call to which the answers belong.
const CALL: &str = "07070707-0707-4707-8707-070707070707";

/// Reads an answer. The fields of the input: the path (chosen by the length of the field), the status, the body.
pub fn answer(input: &[u8]) {
    let [path, status, body]: [&[u8]; 3] = fields(input);
    let path = PATHS[path.len() % PATHS.len()];
    let status = std::str::from_utf8(status).ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    let body = String::from_utf8_lossy(body);
    let heard = Heard { number: 9, call: Some(CALL.into()), path: path.into(), status, server: None, body };
    let line = serde_json::to_vec(&heard).expect("texts and numbers");
    // This must always decode: the body is a string inside the HTTP transport's line, so how deep the body is nested does not
    // matter.
    let Ok(Inbound::Reply { number: 9, reply }) = UnityMcp.decode(&line) else { panic!("our own line is a reply") };
    let pong = status == 200 && heard.body.trim() == "pong";
    match UnityMcp.read_tools(&reply, 0) {
        ListStep::Tools(listing) => assert!(pong && !listing.tools.is_empty(), "tools without a pong"),
        ListStep::Failed(why) => {
            assert!(!pong);
            check_words(&why);
        }
        other => panic!("{other:?}"),
    }
    let said = [reply];
    match UnityMcp.check_greeting(&Hello::default(), &said) {
        Ok(_) => assert!(pong, "greeted by {:?}", heard.body),
        Err(why) => check_words(&why.to_string()),
    }
    let [reply] = said;
    check_answer(reply, &heard);
}

fn check_answer(reply: Reply, heard: &Heard<'_>) {
    let answer = UnityMcp.read_answer(reply);
    let AnswerBody::Json(said) = &answer.body else { panic!("every answer has its envelope: {:?}", answer.body) };
    let said: Value = serde_json::from_str(said.get()).unwrap_or_default();
    let Some(status) = said.get("status").and_then(Value::as_str) else {
        // The result has a number that `Value` cannot hold.
        return;
    };
    assert_eq!(answer.is_error, status == "error");
    assert_eq!(said["log_id"], CALL, "an answer bears the id of its call");
    check_words(said["message"].as_str().unwrap_or_default());
    let executed = said["executed"].as_bool();
    match status {
        "success" => assert_eq!(executed, Some(true)),
        "timeout" => assert_eq!((executed, &said["is_complete"]), (None, &Value::Bool(false))),
        "error" => {}
        other => panic!("{other}"),
    }
    assert!(heard.status == 200 || status == "error" && executed != Some(true), "{said}");
}

/// Decodes any bytes as if they were a line of the HTTP transport.
pub fn decode(line: &[u8]) {
    match UnityMcp.decode(line) {
        Ok(Inbound::Reply { number, reply }) => {
            if let Some(value) = super::dialect::json(line) {
                assert_eq!(value.get("number").and_then(Value::as_u64), Some(number));
            }
            let answer = UnityMcp.read_answer(reply);
            assert!(matches!(answer.body, AnswerBody::Json(_) | AnswerBody::Text(_)));
        }
        Ok(Inbound::Unmatched { what }) => check_loggable(&what),
        Ok(other) => panic!("the HTTP transport says nothing unasked: {other:?}"),
        Err(_) => {}
    }
}

/// Reads a project's files. No file of this package names a port.
pub fn project(input: &[u8]) {
    let facts = facts(&UnityMcp, input);
    assert!(facts.port.is_none() && facts.expected.is_none());
}

/// Encodes a call as one HTTP request. The fields of the input: tool name, arguments.
pub fn call(input: &[u8]) {
    let [name, arguments]: [&[u8]; 2] = fields(input);
    let name = String::from_utf8_lossy(name);
    let Some(arguments) = object(arguments) else { return };
    let call = CallId::from_random([7; 16]);
    let prepared = UnityMcp.prepare_call(&Sending::first(call, true), &name, None, &arguments);
    assert_eq!(prepared.arguments.get(), arguments.get(), "no byte of the arguments is touched");
    assert_eq!(prepared.recovery, Recovery::None);
    assert_eq!(prepared.reload_follows, name == "start_game");
    assert!(prepared.timeout.is_none_or(|limit| limit <= TOOL_TIMEOUT_MAX));
    check_encoded(call, &name, &prepared);
}

fn check_encoded(call: CallId, tool: &str, prepared: &PreparedCall) {
    let id = WireId { number: 9, call: Some(call) };
    let order = Order::Call { tool, call: prepared, expected: None, progress: false };
    let known = ["execute_code", "query", "get_state", "start_game", "stop_game"].contains(&tool);
    let line = match UnityMcp.encode(id, &order) {
        Ok(line) => line,
        Err(EncodeError::NotSpoken) => {
            assert!(!known, "{tool} is a tool");
            return;
        }
        Err(other) => panic!("a small message fits: {other:?}"),
    };
    assert!(known, "{tool} is no tool");
    let line = check_frame(&UnityMcp, &line);
    let ask: Ask<'_> = serde_json::from_slice(&line).expect("our own line");
    assert_eq!((ask.number, ask.call.as_deref()), (9, Some(call.to_string().as_str())));
    let bytes = http::request(1, &ask.method, &ask.path, ask.content_type.as_deref(), ask.body.as_bytes());
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").expect("a head");
    let (head, body) = (std::str::from_utf8(&bytes[..end]).expect("text"), &bytes[end + 4..]);
    assert_eq!(body, ask.body.as_bytes(), "one request and no byte more");
    let length = format!("Content-Length: {}", body.len());
    assert_eq!(head.split("\r\n").filter(|line| *line == length).count(), 1);
    assert_eq!(head.split("\r\n").next().map(|first| first.split(' ').count()), Some(3), "{head}");
    let given: Value = serde_json::from_str(prepared.arguments.get()).unwrap_or_default();
    let text = given.get(if tool == "query" { "query" } else { "code" }).and_then(Value::as_str);
    if let (Some(text), "execute_code" | "query") = (text, tool) {
        assert_eq!(ask.body, text, "the code is what the caller wrote");
    }
}
