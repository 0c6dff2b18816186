//! The dialect of holdfast's own package, for any bytes from an editor, its push socket or its project's files.

use holdfast::limits::TOOL_TIMEOUT_MAX;
use holdfast::protocol::dialect::holdfast::Holdfast;
use holdfast::protocol::dialect::{
    AnswerBody, Credentials, Dialect as _, Expected, Greeted, Hello, Inbound, JournalKey, JournalOutcome, Order,
    PreparedCall, Recovery, Refusal, Reply, Secret, Sending, WireId,
};
use holdfast::protocol::ids::CallId;
use serde_json::Value;

use super::dialect::{
    check_frame, check_loggable, check_push, check_tools, check_words, check_wreck, facts, json, object, raw, tool,
};
use super::fields;

/// The editor's credentials that the committed messages of the corpus were made with.
fn credentials() -> Credentials {
    Credentials {
        project: "/projects/T\u{e4}st".to_owned(),
        pid: 4242,
        nonce: "00112233445566778899aabbccddeeff".to_owned(),
        token: Secret::new("5f0c3a9e1b7d4826aa90cc31fe27d5580b64e9137fa2486dcd05b1e82a7f93c6"),
    }
}

fn hello() -> Hello {
    Hello {
        gateway: "7c9e6679-7425-40de-944b-e07fc1f90ae7".to_owned(),
        challenge: "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf".to_owned(),
        expected: Some(Expected::Proven(credentials())),
        client_name: "cursor".to_owned(),
        ..Hello::default()
    }
}

/// Decodes the body of a frame.
pub fn decode(body: &[u8]) {
    let Ok(inbound) = Holdfast.decode(body) else { return };
    // The dialect reads each member by itself, so it accepts a message with a member that `Value` cannot hold (a lone surrogate,
    // a number out of range). Such a message cannot be checked here.
    let Some(value) = json(body) else { return };
    assert!(value.is_object(), "a message is an object");
    match inbound {
        Inbound::Reply { number, reply } => {
            let id = value.get("id").and_then(Value::as_str).unwrap_or_default();
            assert!(value.get("method").is_none(), "a request is no reply");
            let tail = id.rsplit('.').next().and_then(|tail| tail.parse().ok());
            assert_eq!(tail, Some(number), "only our own spelling is ours: {id:?}");
            check_reply(reply, &value);
        }
        Inbound::Progress(progress) => {
            assert_eq!(value.get("method"), Some(&Value::from("holdfast/progress")));
            assert!(progress.done.is_finite() && progress.done >= 0.0);
            assert!(progress.total.is_none_or(|total| total.is_finite() && total >= 0.0));
            assert!(progress.message.is_none_or(|message| !message.contains(char::is_control)));
            let id = value.pointer("/params/callId").and_then(Value::as_str).unwrap_or_default();
            assert!(id.starts_with(&progress.call.to_string()), "progress of a call that it does not name");
        }
        Inbound::Event(_) => assert!(value.get("method").is_some_and(Value::is_string)),
        Inbound::Unmatched { what } => check_loggable(&what),
    }
}

fn check_reply(reply: Reply, body: &Value) {
    if let Some(heartbeat) = Holdfast.read_heartbeat(&reply) {
        let said = body.pointer("/result/frameAgeMs").and_then(Value::as_u64);
        assert_eq!(said, u64::try_from(heartbeat.frame_age.as_millis()).ok(), "the age that was told");
    }
    let refusal = match &reply {
        Reply::Result(_) | Reply::Wreck(_) => None,
        Reply::Error(error) => {
            check_words(&error.message);
            let ran = body.pointer("/error/data/ran");
            assert_eq!(error.refusal.is_some(), ran == Some(&Value::Bool(false)), "a refusal is a proof, and no guess");
            error.refusal.as_ref().map(|refused| refused.how)
        }
    };
    if let Reply::Wreck(wreck) = &reply {
        return check_wreck(&Holdfast, wreck);
    }
    let failed = matches!(&reply, Reply::Error(_));
    let answer = Holdfast.read_answer(reply);
    match &answer.body {
        AnswerBody::Text(text) => {
            assert!(failed && answer.is_error);
            check_words(text);
            let denied = text.ends_with("Nothing of the call ran.");
            assert!(!denied || refusal.is_some_and(|refusal| refusal != Refusal::Double) || said_so(body), "{text}");
        }
        AnswerBody::Json(said) | AnswerBody::JsonAndBlocks(said, _) => {
            assert!(!failed);
            let said: Option<Value> = serde_json::from_str(said.get()).ok();
            let result = body.get("result");
            let value = result.and_then(|result| result.get("value")).cloned().unwrap_or_default();
            let good = said.is_none() || said.as_ref() == Some(&value) || said.as_ref() == result;
            assert!(good, "the value is what the editor wrote");
        }
        AnswerBody::Wreck(left) => check_words(&left.says),
        AnswerBody::Blocks(blocks) => panic!("no answer of this package is {blocks:?}"),
    }
}

/// Whether the editor's own error text contains the sentence.
fn said_so(body: &Value) -> bool {
    body.get("error").is_some_and(|error| error.to_string().contains("Nothing of the call ran"))
}

/// Checks the greeting with the replies to hello and to prove. A peer that does not know the token must not pass.
pub fn greeting(input: &[u8]) {
    let replies: [&[u8]; 2] = fields(input);
    let [Some(first), second] = replies.map(raw) else { return };
    let mut said = vec![Reply::Result(first.clone())];
    match Holdfast.check_greeting(&hello(), &said) {
        Err(why) => check_words(&why.to_string()),
        Ok(Greeted::Done(met)) => panic!("greeted before it proved anything: {met:?}"),
        Ok(Greeted::NotYet) => {
            let stranger = Credentials { token: Secret::new("0".repeat(64)), ..credentials() };
            let other = Hello { expected: Some(Expected::Proven(stranger)), ..hello() };
            assert!(Holdfast.check_greeting(&other, &said).is_err(), "the proof holds for any token");
            let fresh = Hello { challenge: "f".repeat(32), ..hello() };
            assert!(Holdfast.check_greeting(&fresh, &said).is_err(), "the proof holds for any challenge");
            let truth: Value = serde_json::from_str(first.get()).unwrap_or_default();
            assert_eq!(truth.get("nonce").and_then(Value::as_str), Some(credentials().nonce.as_str()));
        }
    }
    let Some(second) = second else { return };
    let proven = serde_json::from_str::<Value>(second.get()).ok();
    let proven = proven.and_then(|answer| answer.get("proven").and_then(Value::as_bool)).unwrap_or_default();
    said.push(Reply::Result(second));
    match Holdfast.check_greeting(&hello(), &said) {
        Err(why) => check_words(&why.to_string()),
        Ok(Greeted::NotYet) => panic!("there is nothing more to say"),
        Ok(Greeted::Done(met)) => assert!(proven && met.journal == Some(credentials().nonce)),
    }
    assert!(
        Holdfast.check_greeting(&Hello { expected: None, ..hello() }, &said).is_err(),
        "without a token nobody is greeted"
    );
}

/// Checks the answer to a question for outcomes. It may be accepted only if it has exactly the calls that were asked for, in
/// the same order.
pub fn outcomes(result: &[u8]) {
    let (Some(raw), Some(value)) = (raw(result), json(result)) else { return };
    let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let said = value.get("outcomes").and_then(Value::as_array).cloned().unwrap_or_default();
    let key = |id: String| JournalKey { journal: text(&value, "nonce"), id, seq: 1 };
    let asked: Vec<JournalKey> = said.iter().map(|outcome| key(text(outcome, "callId"))).collect();
    match Holdfast.read_outcomes(Reply::Result(raw.clone()), &asked) {
        Err(why) => check_words(&why.to_string()),
        Ok(outcomes) => {
            assert_eq!(outcomes.len(), asked.len());
            for (outcome, said) in outcomes.iter().zip(&said) {
                let status = text(said, "status");
                let good = match outcome {
                    JournalOutcome::Ended(_) | JournalOutcome::EndedUnkept(_) => status == "done",
                    JournalOutcome::Running => ["queued", "running"].contains(&status.as_str()),
                    JournalOutcome::NotRun { .. } => status == "notRun",
                    JournalOutcome::Interrupted => status == "interrupted",
                    JournalOutcome::Forgotten => status == "forgotten",
                    JournalOutcome::Unreadable => true,
                };
                assert!(good, "{status} became {outcome:?}");
            }
        }
    }
    let refused = |asked: &[JournalKey]| Holdfast.read_outcomes(Reply::Result(raw.clone()), asked).is_err();
    let more: Vec<JournalKey> = asked.iter().cloned().chain([key("one more".to_owned())]).collect();
    assert!(refused(&more), "an answer to fewer");
    let others = |key: &JournalKey| JournalKey { journal: format!("{}.", key.journal), ..key.clone() };
    assert!(asked.is_empty() || refused(&asked.iter().map(others).collect::<Vec<_>>()), "an answer of another journal");
}

/// Reads a tool list.
pub fn tools(result: &[u8]) {
    check_tools(&Holdfast, result, 0, |value| value.get("tools").and_then(Value::as_array).map(Vec::len));
}

/// Reads a project's files.
pub fn project(input: &[u8]) {
    let facts = facts(&Holdfast, input);
    if let Some(expected) = &facts.expected {
        let Expected::Proven(known) = expected else { panic!("this package proves who it is") };
        assert!(!known.project.is_empty() && known.pid > 0);
        assert_eq!((known.nonce.len(), known.token.reveal().len()), (32, 64));
        assert!(!format!("{facts:?}").contains(known.token.reveal()), "the token is in no log");
    }
}

/// Checks a line of the push socket. A line without our token must be refused.
pub fn push(line: &[u8]) {
    let token = Secret::new("0badc0de0badc0de0badc0de0badc0de");
    if check_push(&Holdfast, line, &token) {
        let bears = json(line).is_none_or(|value| value.get("token").and_then(Value::as_str) == Some(token.reveal()));
        assert!(bears, "it does not bear our token");
        let number = json(line).and_then(|value| value.get("sequence").and_then(Value::as_u64));
        assert!(
            json(line).is_none() || Holdfast.push_sequence(line) == number,
            "its number is the one that stands there"
        );
        assert!(Holdfast.decode_push(line, &Secret::new("another")).is_err(), "any token will do");
    }
}

/// Encodes a call. The fields of the input: tool name, arguments, the tool's schema.
pub fn call(input: &[u8]) {
    let [name, arguments, schema]: [&[u8]; 3] = fields(input);
    let name = String::from_utf8_lossy(name);
    let Some(arguments) = object(arguments) else { return };
    let tool = tool(&name, schema);
    let call = CallId::from_random([7; 16]);
    for (nth, seq) in [(1, 9), (2, 10), (3, 11)] {
        let sending = Sending { nth, seq, journal: Some("j"), ..Sending::first(call, true) };
        let prepared = Holdfast.prepare_call(&sending, &name, tool.as_ref(), &arguments);
        assert_eq!(prepared.arguments.get(), arguments.get(), "no byte of the arguments is touched");
        assert!(prepared.timeout.is_none_or(|limit| limit <= TOOL_TIMEOUT_MAX));
        assert!(prepared.limit.is_none_or(|limit| limit <= TOOL_TIMEOUT_MAX));
        let Recovery::Journal(key) = &prepared.recovery else { panic!("{:?}", prepared.recovery) };
        let id = if nth == 1 { call.to_string() } else { format!("{call}.{nth}") };
        assert_eq!((key.id.as_str(), key.seq, key.journal.as_str()), (id.as_str(), seq, "j"));
        check_encoded(call, &name, &prepared, key);
    }
}

fn check_encoded(call: CallId, tool: &str, prepared: &PreparedCall, key: &JournalKey) {
    let wire = WireId { number: 9, call: Some(call) };
    let hello = Hello { client_name: tool.to_owned(), push_endpoint: Some(tool.to_owned()), ..hello() };
    let keys = [key.clone(), key.clone()];
    let orders = [
        (Order::Call { tool, call: prepared, expected: None, progress: true }, "holdfast/call"),
        (Order::Greeting { hello: &hello, said: &[] }, "holdfast/hello"),
        (Order::ListTools { step: 0, development: true }, "holdfast/tools"),
        (Order::Outcomes(&keys), "holdfast/outcome"),
        (Order::Heartbeat, "holdfast/status"),
        (Order::Cancel(key), "holdfast/cancel"),
    ];
    for (order, method) in &orders {
        let frame = Holdfast.encode(wire, order).expect("a small message fits");
        let body = check_frame(&Holdfast, &frame);
        let asks = !matches!(order, Order::Cancel(_));
        // A message whose arguments have members that `Value` cannot hold (lone surrogates) is sent as it is, and cannot be
        // checked here.
        if let Ok(message) = serde_json::from_slice::<Value>(&body) {
            assert_eq!(message["method"], *method);
            assert_eq!(message.get("id").is_some(), asks);
            if let Order::Call { .. } = order {
                let params = &message["params"];
                assert_eq!((&params["callId"], &params["tool"]), (&Value::from(key.id.as_str()), &Value::from(tool)));
                assert_eq!((&params["seq"], &params["progress"]), (&Value::from(key.seq), &Value::Bool(true)));
                let given = serde_json::from_str::<Value>(prepared.arguments.get()).ok();
                assert_eq!(Some(&params["arguments"]), given.as_ref());
            }
        }
        let echo = Holdfast.decode(&body);
        assert!(!asks || echo.is_err(), "our own request, sent back, is no editor's: {echo:?}");
        assert!(asks || matches!(echo, Ok(Inbound::Unmatched { .. })), "our own notification is nobody's: {echo:?}");
    }
}
