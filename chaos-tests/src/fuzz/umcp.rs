//! The dialect of uMCP, for any bytes from an editor or its project's files.

use holdfast::limits::{TOOL_TIMEOUT_MAX, UMCP_REQUEST_MAX_BYTES};
use holdfast::protocol::dialect::umcp::Umcp;
use holdfast::protocol::dialect::{
    Dialect as _, EncodeError, Hello, Inbound, Order, PreparedCall, Recovery, Reply, Sending, WireId,
};
use holdfast::protocol::ids::CallId;
use serde_json::Value;

use super::dialect::{check_frame, check_kept, check_loggable, check_tools, check_words, facts, json, object, tool};
use super::uloop::{check_reply, entries};
use super::{fields, uloop};

/// Decodes a line of the editor.
pub fn decode(line: &[u8]) {
    let value = json(line);
    let unnamed = Umcp.read_unnamed(line);
    let inbound = Umcp.decode(line);
    if let Some(reply) = unnamed {
        let Reply::Error(error) = reply else { panic!("only errors may lack their id") };
        check_words(&error.message);
        assert!(!matches!(inbound, Ok(Inbound::Reply { .. })), "it names its request");
        assert!(value.as_ref().is_none_or(|value| value.get("id").is_none_or(Value::is_null)));
    }
    let (Ok(inbound), Some(value)) = (inbound, value) else { return };
    assert!(value.is_object(), "a message is an object");
    match inbound {
        Inbound::Reply { number, reply } => {
            assert!(value.get("method").is_none(), "a request is no reply");
            assert_eq!(value.get("id").and_then(Value::as_u64), Some(number), "the id as it was sent, and no other");
            check_reply(&Umcp, reply, &value);
        }
        Inbound::Progress(progress) => panic!("this protocol has no {progress:?}"),
        Inbound::Event(_) => assert!(value.get("method").is_some_and(Value::is_string)),
        Inbound::Unmatched { what } => check_loggable(&what),
    }
}

/// Reads a tool list, as if it were the reply to each of the list methods in turn.
pub fn tools(result: &[u8]) {
    (0..4).for_each(|step| check_tools(&Umcp, result, step, entries));
}

/// Reads a project's files. The same files must never be taken both for uMCP (which sends lines) and for uLoopMCP (which
/// sends frames).
pub fn project(input: &[u8]) {
    let lines = facts(&Umcp, input);
    let frames = facts(&uloop::DIALECT, input);
    assert!(!(lines.installed && frames.installed && lines.package_version.is_some()), "two protocols for one package");
}

/// Encodes a call. The fields of the input: tool name, arguments, the tool's schema.
pub fn call(input: &[u8]) {
    let [name, arguments, schema]: [&[u8]; 3] = fields(input);
    let name = String::from_utf8_lossy(name);
    let Some(arguments) = object(arguments) else { return };
    let tool = tool(&name, schema);
    let call = CallId::from_random([7; 16]);
    let prepared = Umcp.prepare_call(&Sending::first(call, true), &name, tool.as_ref(), &arguments);
    let inferred = prepared.recovery == Recovery::Inferred;
    assert!(
        inferred == (name == "compile") && (inferred || prepared.recovery == Recovery::None),
        "{:?}",
        prepared.recovery
    );
    assert_eq!(prepared.reload_follows, name == "compile");
    assert!(prepared.timeout.is_none_or(|limit| limit <= TOOL_TIMEOUT_MAX));
    let sent: Option<Value> = serde_json::from_str(prepared.arguments.get()).ok();
    check_kept(&arguments, sent.as_ref(), &[]);
    check_encoded(call, &name, &prepared);
}

fn check_encoded(call: CallId, tool: &str, prepared: &PreparedCall) {
    let id = WireId { number: 9, call: Some(call) };
    let hello = Hello { client_name: tool.to_owned(), ..Hello::default() };
    let orders = [
        Order::Call { tool, call: prepared, expected: None, progress: false },
        Order::Greeting { hello: &hello, said: &[] },
        Order::ListTools { step: tool.len() % 4, development: true },
    ];
    for order in &orders {
        let frame = match Umcp.encode(id, order) {
            Ok(frame) => frame,
            // A message is not sent if it is longer than what the editor reads at once.
            Err(EncodeError::TooLarge { bytes, max }) => {
                assert!(bytes > max && max == UMCP_REQUEST_MAX_BYTES);
                continue;
            }
            Err(other) => panic!("{other:?}"),
        };
        assert!(frame.is_ascii(), "the editor's reader loses every letter that it cuts");
        let body = check_frame(&Umcp, &frame);
        if let Ok(message) = serde_json::from_slice::<Value>(&body) {
            assert_eq!(message["id"], 9);
            if let Order::Call { .. } = order {
                assert_eq!(message["method"], tool);
                let given = serde_json::from_str::<Value>(prepared.arguments.get()).ok();
                assert_eq!(Some(&message["params"]), given.as_ref());
            }
        }
        let echo = Umcp.decode(&body);
        assert!(echo.is_err(), "our own message, sent back, is no editor's: {echo:?}");
    }
}
