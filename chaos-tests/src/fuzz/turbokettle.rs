//! The dialect of turbokettle/unity-mcp, for any bytes from an editor or its project's files.

use holdfast::protocol::dialect::turbokettle::Turbokettle;
use holdfast::protocol::dialect::{
    AnswerBody, Dialect as _, Greeted, Hello, Inbound, Order, PreparedCall, Recovery, Reply, Sending, WireId,
};
use holdfast::protocol::ids::CallId;
use serde_json::Value;

use super::dialect::{
    check_frame, check_kept, check_loggable, check_tools, check_words, check_wreck, facts, json, object, tool,
};
use super::fields;

/// Decodes a line of the editor.
pub fn decode(line: &[u8]) {
    let Ok(inbound) = Turbokettle.decode(line) else { return };
    let Some(value) = json(line) else { return };
    assert!(value.is_object(), "a message is an object");
    match inbound {
        Inbound::Reply { number, reply } => {
            let id = value.get("id").and_then(Value::as_str).unwrap_or_default();
            let tail = id.rsplit('.').next().and_then(|tail| tail.parse().ok());
            assert_eq!(tail, Some(number), "only our own spelling is ours: {id:?}");
            check_reply(reply, &value);
        }
        Inbound::Unmatched { what } => check_loggable(&what),
        Inbound::Progress(_) | Inbound::Event(_) => panic!("this package says nothing unasked"),
    }
}

fn check_reply(reply: Reply, line: &Value) {
    let ok = line.get("ok") == Some(&Value::Bool(true));
    let data = line.get("data").and_then(Value::as_str).unwrap_or_default().to_owned();
    let said = [reply];
    match Turbokettle.check_greeting(&Hello::default(), &said) {
        Err(why) => check_words(&why.to_string()),
        Ok(Greeted::NotYet) => panic!("there is nothing more to say"),
        Ok(Greeted::Done(_)) => {
            let pong: Value = serde_json::from_str(&data).unwrap_or_default();
            assert!(ok && pong.get("status") == Some(&Value::from("ok")), "greeted by {data:?}");
        }
    }
    let [reply] = said;
    if let Reply::Wreck(wreck) = &reply {
        return check_wreck(&Turbokettle, wreck);
    }
    assert_eq!(matches!(&reply, Reply::Result(_)), ok);
    let refused = matches!(&reply, Reply::Error(error) if error.refusal.is_some());
    let answer = Turbokettle.read_answer(reply);
    assert!(ok || answer.is_error, "an error is told as one");
    match &answer.body {
        AnswerBody::Text(text) => {
            check_words(text);
            let denied =
                text.ends_with("Nothing of the call ran.") && !line.to_string().contains("Nothing of the call ran");
            assert_eq!(denied, refused && !line.to_string().contains("Nothing of the call ran"), "{text}");
        }
        AnswerBody::Json(said) => {
            assert!(ok);
            assert!(data.contains(said.get()), "no byte of a result is touched");
        }
        other => panic!("no answer of this package is {other:?}"),
    }
}

/// Reads a tool list, which is the text in a reply's `data`.
pub fn tools(text: &[u8]) {
    let Ok(text) = std::str::from_utf8(text) else { return };
    let entries = |result: &Value| {
        let list: Value = serde_json::from_str(result.as_str()?).ok()?;
        // The package's own server adds one tool.
        list.get("tools")?.as_array().map(|tools| tools.len() + 1)
    };
    check_tools(&Turbokettle, Value::from(text).to_string().as_bytes(), 0, entries);
}

/// Reads a project's files.
pub fn project(input: &[u8]) {
    let facts = facts(&Turbokettle, input);
    assert!(facts.expected.is_none(), "nothing proves itself here");
    assert!(facts.port.is_none() || facts.editor_pid.is_some(), "a port is its process's");
}

/// Encodes a call. The fields of the input: tool name, arguments, the tool's schema.
pub fn call(input: &[u8]) {
    let [name, arguments, schema]: [&[u8]; 3] = fields(input);
    let name = String::from_utf8_lossy(name);
    let Some(arguments) = object(arguments) else { return };
    let tool = tool(&name, schema);
    let call = CallId::from_random([7; 16]);
    let prepared = Turbokettle.prepare_call(&Sending::first(call, true), &name, tool.as_ref(), &arguments);
    assert_eq!(prepared.recovery, Recovery::None, "it keeps no result");
    assert!(!prepared.reload_follows || name == "execute_menu_item");
    let sent: Option<Value> = serde_json::from_str(prepared.arguments.get()).ok();
    check_kept(&arguments, sent.as_ref(), &[]);
    check_encoded(call, &name, &prepared);
}

fn check_encoded(call: CallId, tool: &str, prepared: &PreparedCall) {
    let id = WireId { number: 9, call: Some(call) };
    let orders = [
        (Order::Call { tool, call: prepared, expected: None, progress: false }, "invoke_tool"),
        (Order::Greeting { hello: &Hello::default(), said: &[] }, "ping"),
        (Order::ListTools { step: 0, development: true }, "list_tools"),
    ];
    for (order, cmd) in &orders {
        let frame = Turbokettle.encode(id, order).expect("a small message fits");
        // The editor also treats a lone CR as the end of a line.
        assert!(!frame.contains(&b'\r'));
        let body = check_frame(&Turbokettle, &frame);
        let message: Value = serde_json::from_slice(&body).expect("our own line is JSON");
        assert_eq!((&message["id"], &message["cmd"]), (&Value::from(format!("{call}.9")), &Value::from(*cmd)));
        if let Order::Call { .. } = order {
            let params: Value = serde_json::from_str(message["params"].as_str().unwrap_or_default()).expect("a text");
            assert_eq!(params["tool"], tool);
            assert_eq!(params["arguments"], prepared.arguments.get(), "arguments are text, to the byte");
        }
        let echo = Turbokettle.decode(&body);
        assert!(echo.is_err(), "our own message, sent back, is no editor's: {echo:?}");
    }
}
