//! The dialect of uLoopMCP, for any bytes from an editor, its push socket or its project's files.

use holdfast::limits::TOOL_TIMEOUT_MAX;
use holdfast::protocol::dialect::uloop::Uloop;
use holdfast::protocol::dialect::{
    AnswerBody, Dialect, Expected, Hello, Inbound, Order, PreparedCall, Recovery, Reply, Secret, Sending, WireId,
};
use holdfast::protocol::ids::CallId;
use serde_json::Value;

use super::dialect::{
    check_frame, check_kept, check_loggable, check_push, check_tools, check_words, check_wreck, facts, json, object,
    tool,
};
use super::fields;

/// uLoopMCP's dialect, which the checks of uMCP need too.
pub(super) const DIALECT: Uloop = Uloop;

/// Checks a reply of uLoopMCP or uMCP, read as a greeting and as an answer.
pub(super) fn check_reply(dialect: &dyn Dialect, reply: Reply, body: &Value) {
    let said = [reply];
    if let Err(why) = dialect.check_greeting(&Hello::default(), &said) {
        check_words(&why.to_string());
    }
    let [reply] = said;
    match &reply {
        Reply::Result(result) => {
            let read: Option<Value> = serde_json::from_str(result.get()).ok();
            assert_eq!(read.as_ref(), body.get("result"), "the result is what the editor wrote");
        }
        Reply::Error(error) => {
            check_words(&error.message);
        }
        Reply::Wreck(wreck) => return check_wreck(dialect, wreck),
    }
    let said = if let Reply::Result(result) = &reply { Some(result.get().to_owned()) } else { None };
    let answer = dialect.read_answer(reply);
    match (said, &answer.body) {
        (Some(said), AnswerBody::Json(json)) => {
            assert_eq!(said, json.get(), "no byte of a result is touched");
            let success = body.get("result").and_then(|result| result.get("Success")).and_then(Value::as_bool);
            assert!(success != Some(false) || answer.is_error, "a failure is told as one");
        }
        (None, AnswerBody::Text(text)) => {
            assert!(answer.is_error);
            check_words(text);
        }
        (said, body) => panic!("{said:?} became {body:?}"),
    }
}

/// Decodes the body of a frame.
pub fn decode(body: &[u8]) {
    let value = json(body);
    let Ok(inbound) = Uloop.decode(body) else { return };
    // The dialect reads each member by itself, so it accepts a message with a member that `Value` cannot hold (a lone surrogate,
    // a number out of range). Such a message cannot be checked here.
    let Some(value) = value else { return };
    assert!(value.is_object(), "a message is an object");
    match inbound {
        Inbound::Reply { number, reply } => {
            let id = value.get("id").and_then(Value::as_str).unwrap_or_default();
            assert!(value.get("method").is_none(), "a request is no reply");
            let tail = id.rsplit('.').next().and_then(|tail| tail.parse().ok());
            assert_eq!(tail, Some(number), "only our own spelling is ours: {id:?}");
            check_reply(&Uloop, reply, &value);
        }
        Inbound::Progress(progress) => panic!("this protocol has no {progress:?}"),
        Inbound::Event(_) => assert!(value.get("method").is_some_and(Value::is_string)),
        Inbound::Unmatched { what } => {
            check_loggable(&what);
        }
    }
}

/// Returns the number of entries in a tool list of uLoopMCP or uMCP; `None` if it has no list.
pub(super) fn entries(value: &Value) -> Option<usize> {
    let list = ["Tools", "Commands", "tools", "commands"].into_iter().find_map(|key| value.get(key));
    list.unwrap_or(value).as_array().map(Vec::len)
}

/// Reads a tool list, as if it were the reply to each of the list methods in turn.
pub fn tools(result: &[u8]) {
    (0..4).for_each(|step| check_tools(&Uloop, result, step, entries));
}

/// Reads a project's files.
pub fn project(input: &[u8]) {
    if let Some(expected) = &facts(&Uloop, input).expected {
        let Expected::Told { project_root, server_session_id } = expected else { panic!("nothing proves itself here") };
        assert!(!project_root.trim().is_empty() && !server_session_id.trim().is_empty());
    }
}

/// Decodes a line of the push socket.
pub fn push(line: &[u8]) {
    check_push(&Uloop, line, &Secret::default());
}

/// Reads the result file of a compilation: `None` until the file is complete, and then what the editor wrote.
pub fn result_file(bytes: &[u8]) {
    match Uloop.read_result_file(bytes) {
        None => {
            let whole = json(bytes).is_some_and(|value| value.is_object());
            assert!(!whole, "a whole object is a result");
        }
        Some(reply @ (Reply::Error(_) | Reply::Wreck(_))) => panic!("a file is a result: {reply:?}"),
        Some(Reply::Result(result)) => {
            let text = std::str::from_utf8(bytes).expect("a result is text");
            if text.contains("ProjectRoot") {
                let mut whole = json(bytes).expect("an object");
                whole.as_object_mut().expect("an object").retain(|name, _| !name.eq_ignore_ascii_case("ProjectRoot"));
                let left: Value = serde_json::from_str(result.get()).expect("JSON");
                assert!(left == whole || text.contains(result.get()), "no other member is touched");
            } else {
                assert!(text.contains(result.get()), "no byte of a result is touched");
            }
            assert!(result.get().starts_with('{'));
            // A shorter part of the file, as the editor may have written it so far, must never be accepted as complete.
            let end = text.trim_end().len();
            for cut in (0..end).rev().take(64) {
                assert!(Uloop.read_result_file(&bytes[..cut]).is_none(), "whole after {cut} of {end} bytes");
            }
        }
    }
}

/// Encodes a call. The fields of the input: tool name, arguments, the tool's schema, the root of the project that the call is
/// meant for.
pub fn call(input: &[u8]) {
    let [name, arguments, schema, expected]: [&[u8]; 4] = fields(input);
    let name = String::from_utf8_lossy(name);
    let Some(arguments) = object(arguments) else { return };
    let tool = tool(&name, schema);
    let expected = (!expected.is_empty()).then(|| Expected::Told {
        project_root: String::from_utf8_lossy(expected).into_owned(),
        server_session_id: "s".to_owned(),
    });
    let call = CallId::from_random([7; 16]);
    for project_known in [false, true] {
        let prepared = Uloop.prepare_call(&Sending::first(call, project_known), &name, tool.as_ref(), &arguments);
        if name != "compile" {
            assert_eq!(prepared.arguments.get(), arguments.get(), "only a compile is touched");
            assert_eq!(prepared.recovery, Recovery::None);
        }
        assert!(prepared.timeout.is_none_or(|limit| limit <= TOOL_TIMEOUT_MAX));
        let sent: Option<Value> = serde_json::from_str(prepared.arguments.get()).ok();
        if let Recovery::ResultFile { path, .. } = &prepared.recovery {
            assert!(project_known && name == "compile");
            let id = path.strip_prefix("Temp/uLoopMCP/compile-results/").and_then(|file| file.strip_suffix(".json"));
            let id = id.unwrap_or_else(|| panic!("{path} is not in its folder"));
            assert!(!id.is_empty() && !id.contains(['/', '\\', '.']), "{path} leads elsewhere");
            if let Some(Value::Object(members)) = &sent {
                let told = members.iter().rfind(|(key, _)| key.eq_ignore_ascii_case("RequestId"));
                assert_eq!(told.and_then(|(_, told)| told.as_str()), Some(id), "the editor is told the file's name");
            }
        }
        check_kept(&arguments, sent.as_ref(), &["RequestId"]);
        check_encoded(call, &name, &prepared, expected.as_ref());
    }
}

fn check_encoded(call: CallId, tool: &str, prepared: &PreparedCall, expected: Option<&Expected>) {
    let id = WireId { number: 9, call: Some(call) };
    let push_endpoint = Some(tool.to_owned());
    let hello = Hello { client_name: tool.to_owned(), editor_port: 1, push_endpoint, ..Hello::default() };
    let orders = [
        Order::Call { tool, call: prepared, expected, progress: false },
        Order::Greeting { hello: &hello, said: &[] },
        Order::ListTools { step: tool.len() % 4, development: expected.is_some() },
    ];
    for order in &orders {
        let frame = Uloop.encode(id, order).expect("a small message fits");
        let body = check_frame(&Uloop, &frame);
        // A message whose arguments have members that `Value` cannot hold (lone surrogates) is sent as it is, and cannot be
        // checked here.
        if let Ok(message) = serde_json::from_slice::<Value>(&body) {
            assert_eq!(message["id"], format!("{call}.9"));
            if let Order::Call { .. } = order {
                assert_eq!(message["method"], tool);
                assert_eq!(message.get("x-uloop").is_some(), expected.is_some());
                assert_eq!(message.as_object().map(serde_json::Map::len), Some(4 + usize::from(expected.is_some())));
            }
        }
        let echo = Uloop.decode(&body);
        assert!(echo.is_err(), "our own message, sent back, is no editor's: {echo:?}");
    }
}
