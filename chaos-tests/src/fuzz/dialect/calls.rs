//! What the gateway sends: a call, and what goes with it.

use std::collections::BTreeSet;

use holdfast::limits::{JSON_DEPTH_MAX, TOOL_TIMEOUT_MAX};
use holdfast::protocol::dialect::{
    Annotations, EditorTool, EncodeError, Expected, Hello, Inbound, JournalKey, Order, PreparedCall, Recovery, Sending,
};
use holdfast::protocol::framing::BadFrame;
use holdfast::protocol::jsonrpc;
use holdfast_fake_unity::observer::{self, Asked};
use holdfast_fake_unity::{Identity, Shape, Task};
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::recorded::TASKS;
use super::files::LIST_METHODS;
use super::sides::{NUMBER, SEPARATOR, Sides, call_id, fields, json, number_of, some};

/// Reads a JSON object that may be part of a message: nested one level less than a message may be. Returns `None` for
/// anything else.
fn object(text: &[u8]) -> Option<Box<RawValue>> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let within = jsonrpc::depth_ok(text.as_bytes(), JSON_DEPTH_MAX - 1);
    if within && text.starts_with('{') { RawValue::from_string(text.to_owned()).ok() } else { None }
}

/// Returns the calls of the recorded session, each with the schema of its tool.
pub(super) fn calls(sides: &Sides) -> Vec<Vec<u8>> {
    let of = |task| {
        let call = sides.package.calls(task, "text");
        let tool = sides.recorded().tools.iter().find(|tool| tool.name == call.tool);
        let schema = tool.map(|tool| Value::from(tool.input_schema.parsed()).to_string()).unwrap_or_default();
        [call.tool, &call.arguments.to_string(), &schema, "/project"].map(str::as_bytes).join(&SEPARATOR)
    };
    TASKS.map(of).to_vec()
}

/// Encodes a call. The fields of the input: tool name, arguments, the tool's schema, the root of the project that the call is
/// meant for.
pub(super) fn call(sides: &Sides, input: &[u8]) {
    let [name, arguments, schema, expected]: [&[u8]; 4] = fields(input);
    let name = String::from_utf8_lossy(name);
    let Some(arguments) = object(arguments) else { return };
    let tool = tool(&name, schema);
    let expected = (!expected.is_empty()).then(|| Expected::Told {
        project_root: String::from_utf8_lossy(expected).into_owned(),
        server_session_id: "s".to_owned(),
    });
    let journal = sides.facts().journal.then_some("j");
    let mut ids = BTreeSet::new();
    let sendings: &[(u8, bool)] =
        if journal.is_some() { &[(1, true), (2, true), (3, true)] } else { &[(1, false), (2, true)] };
    for &(nth, project_known) in sendings {
        let seq = NUMBER + u64::from(nth);
        let sending = Sending { nth, seq, journal, ..Sending::first(call_id(), project_known) };
        let prepared = sides.dialect.prepare_call(&sending, &name, tool.as_ref(), &arguments);
        check_prepared(sides, &sending, &name, &prepared, &arguments);
        if let Recovery::Journal(key) = &prepared.recovery {
            ids.insert(key.id.clone());
        }
        check_call(sides, &name, &prepared, expected.as_ref());
    }
    check_others(sides, &name);
    let most = if sides.facts().keeps_results { sendings.len() } else { 0 };
    let each = if journal.is_some() { 3 } else { most.min(ids.len() * most) };
    assert_eq!(ids.len(), each, "each sending has an id of its own");
}

/// Makes a tool with this schema and no other information. Returns `None` if the schema is not one.
fn tool(name: &str, schema: &[u8]) -> Option<EditorTool> {
    serde_json::from_slice(schema).ok().map(|input_schema| EditorTool {
        name: name.to_owned(),
        description: "d".to_owned(),
        input_schema,
        annotations: Annotations {
            title: "t".to_owned(),
            read_only_hint: false,
            destructive_hint: true,
            idempotent_hint: false,
            open_world_hint: true,
        },
        development_only: false,
        repeatable: false,
        parallel: false,
        resumable: false,
        timeout_seconds: None,
        group: None,
        other_names: Vec::new(),
    })
}

/// Checks what a call is prepared to.
fn check_prepared(sides: &Sides, sending: &Sending<'_>, name: &str, prepared: &PreparedCall, given: &RawValue) {
    let facts = sides.facts();
    assert!(prepared.timeout.is_none_or(|limit| limit <= TOOL_TIMEOUT_MAX));
    assert!(prepared.limit.is_none_or(|limit| limit <= TOOL_TIMEOUT_MAX));
    let compile = sides.package.calls(Task::Compile, "");
    let compiles = name == compile.tool;
    assert!(!prepared.reload_follows || compiles, "no reload follows {name:?}");
    let asks_it = compiles && json(given.get().as_bytes()) == Some(compile.arguments);
    // An editor with a journal announces its reloads, and answers again after them.
    assert!(!asks_it || prepared.reload_follows || facts.journal, "a reload follows");
    let file = match &prepared.recovery {
        Recovery::None => {
            assert!(!(facts.journal || asks_it && facts.compile_tells), "nothing would tell of {name:?}");
            None
        }
        Recovery::Journal(key) if facts.keeps_results => {
            let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
            assert!(!key.id.is_empty() && key.id.bytes().all(is_safe), "{key:?} would be replaced");
            Some(key.id.as_str())
        }
        Recovery::Journal(key) => {
            assert_eq!((Some(key.journal.as_str()), key.seq), (sending.journal, sending.seq));
            let id = call_id().to_string();
            assert!(key.id == id || sending.nth > 1 && key.id.starts_with(&id), "{key:?} is not of its call");
            None
        }
        Recovery::Inferred => {
            assert!(compiles && facts.compile_tells, "{name:?} ends in no reload");
            None
        }
        Recovery::StatusFile { path, .. } => {
            assert!(sending.project_known, "{name:?} leaves no file");
            assert!(path.split('/').all(|part| !part.is_empty() && part != ".."), "{path} leads elsewhere");
            None
        }
        Recovery::ResultFile { path, .. } => {
            assert!(compiles && facts.compile_file && sending.project_known, "{name:?} leaves no file");
            let (folder, file) = path.rsplit_once('/').expect("a folder");
            assert!(folder.split('/').all(|part| !part.is_empty() && part != ".."), "{path} leads elsewhere");
            let id = file.strip_suffix(".json").unwrap_or(file);
            assert!(!id.is_empty() && !id.contains(['/', '\\', '.', ':']), "{path} leads elsewhere");
            Some(id)
        }
    };
    let sent = json(prepared.arguments.get().as_bytes());
    if let Some(id) = file {
        let told = |sent: &Value| some(sent, &|value| value.as_str() == Some(id));
        assert!(sent.as_ref().is_none_or(told), "the editor is told the file's name");
    } else if !facts.adds_arguments {
        assert_eq!(prepared.arguments.get(), given.get(), "no byte of the arguments is touched");
    }
    if !(facts.translates)(name) {
        check_kept(given, sent.as_ref(), file);
    }
}

/// Checks that every argument of the caller is sent unchanged, except one that names the file of the result.
fn check_kept(given: &RawValue, sent: Option<&Value>, file: Option<&str>) {
    let (Ok(Value::Object(given)), Some(Value::Object(sent))) = (serde_json::from_str(given.get()), sent) else {
        return;
    };
    let names_file = |name: &str| {
        let mut alike = sent.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
        file.is_some() && alike.any(|(_, value)| value.as_str() == file)
    };
    for (key, value) in &given {
        assert!(sent.get(key) == Some(value) || names_file(key), "the argument {key:?} is lost");
    }
}

/// Checks the messages other than calls. The text may stand in some of them.
fn check_others(sides: &Sides, text: &str) {
    let recorded = &sides.recorded().hello;
    let hello = Hello { client_name: text.to_owned(), push_endpoint: Some(text.to_owned()), ..recorded.clone() };
    let key = JournalKey { journal: "j".to_owned(), id: text.to_owned(), seq: NUMBER };
    let keys = [key.clone(), key.clone()];
    let (_, methods) = sides.facts().greeting;
    let others = [
        (Order::Greeting { hello: &hello, said: &[] }, true),
        (Order::ListTools { step: text.len() % LIST_METHODS, development: text.is_empty() }, true),
        (Order::Outcomes(&keys), sides.facts().journal),
        (Order::Heartbeat, sides.facts().heartbeat),
        (Order::Cancel(&key), sides.facts().withdraws && !sides.facts().hangs_up),
    ];
    for (order, is_spoken) in &others {
        match sides.encode(Some(call_id()), order) {
            Err(EncodeError::NotSpoken) => assert!(!is_spoken, "this editor knows {order:?}"),
            Ok(bytes) => {
                let asked = check_bytes(sides, last_of(sides, &bytes));
                assert!(!asked.is_call && asked.sending.is_none(), "{order:?} is no call");
                let is_unnamed = matches!(order, Order::Cancel(_)) && asked.id.is_empty();
                assert!(is_unnamed || is_id(sides, &asked.id), "{order:?} has the id {}", asked.id);
                let is_greeting = methods.is_empty() || methods.contains(&asked.method.as_str());
                assert!(!matches!(order, Order::Greeting { .. }) || is_greeting, "{} is no greeting", asked.method);
            }
            Err(other) => check_too_large(sides, &other),
        }
    }
}

/// Checks the message of a call: the editor must read in it what was meant.
fn check_call(sides: &Sides, tool: &str, prepared: &PreparedCall, expected: Option<&Expected>) {
    let encode =
        |expected| sides.encode(Some(call_id()), &Order::Call { tool, call: prepared, expected, progress: true });
    if expected.is_some() {
        let is_told = sides.facts().identity == Identity::WithEachCall;
        assert_eq!(encode(expected) != encode(None), is_told, "whether this editor is told who it should be");
    }
    let bytes = match encode(expected) {
        Ok(bytes) => bytes,
        // Tools that the package's own server answered are not the editor's.
        Err(EncodeError::NotSpoken) => return assert!(sides.facts().fixed_list, "a call is not spoken"),
        Err(other) => return check_too_large(sides, &other),
    };
    let asked = check_bytes(sides, &bytes);
    if !sides.is_stream() && !asked.is_call {
        // There is nothing to execute in it.
        return;
    }
    let sent_as = sides.facts().sent_as.iter().find(|(own, _)| *own == tool).map_or(tool, |(_, other)| other);
    // A message adds levels to what its arguments have.
    let is_flat = jsonrpc::depth_ok(prepared.arguments.get().as_bytes(), JSON_DEPTH_MAX - 4);
    let arguments: Option<Value> = serde_json::from_str(prepared.arguments.get()).ok().filter(|_| is_flat);
    let message = observer::message(&bytes);
    // A message whose arguments have members that `Value` cannot hold (lone surrogates) is sent as it is, and cannot be
    // checked here.
    if sides.speaks_json() && message.is_null() {
        return assert!(arguments.is_none(), "our own message is not JSON");
    }
    assert_eq!(asked.method, sent_as);
    let journal = match &prepared.recovery {
        Recovery::Journal(key) if !sides.facts().keeps_results => Some(key.id.clone()),
        _ => None,
    };
    assert_eq!(asked.sending, journal, "the id in the journal");
    assert!(is_id(sides, &asked.id), "a call has the id {}", asked.id);
    if let (Some(arguments), true) = (arguments, sides.speaks_json()) {
        assert_eq!((sides.package.wire.arguments)(&message), arguments, "the editor reads other arguments");
    }
}

/// Whether a message has the id that it must have, as this package spells ids.
fn is_id(sides: &Sides, id: &str) -> bool {
    match sides.facts().shape {
        Shape::Stream { names_calls: true, .. } => id == format!("{}.{NUMBER}", call_id()),
        Shape::Stream { .. } if sides.facts().unnumbered => id.is_empty(),
        Shape::Stream { names_calls: false, .. } => id == NUMBER.to_string() || number_of(id) == Some(NUMBER),
        Shape::ConnectionEach => id.is_empty(),
    }
}

/// Returns the last of these messages. Those before it, which may belong to a greeting, ask for nothing.
fn last_of<'b>(sides: &Sides, bytes: &'b [u8]) -> &'b [u8] {
    let (wire, (_, methods)) = (&sides.package.wire, sides.facts().greeting);
    match (wire.length)(bytes) {
        Ok(Some(length)) if length < bytes.len() => {
            let (first, rest) = bytes.split_at(length);
            let Asked { method, id, is_call, .. } = (wire.asked)(first, &observer::message(first));
            assert!(id.is_empty() && !is_call && methods.contains(&method.as_str()), "{method} is no greeting");
            last_of(sides, rest)
        }
        _ => bytes,
    }
}

/// Checks that these bytes are exactly one message, within the editor's limit, and not one that the gateway takes for an editor's.
/// Returns what they ask.
fn check_bytes(sides: &Sides, bytes: &[u8]) -> Asked {
    let length = |bytes: &[u8]| (sides.package.wire.length)(bytes);
    assert_eq!(length(bytes), Ok(Some(bytes.len())), "one message and no byte more");
    assert_eq!(length(&bytes[..bytes.len() - 1]), Ok(None), "it is whole before its end");
    let asked = (sides.package.wire.asked)(bytes, &observer::message(bytes));
    if !sides.is_stream() {
        let head = String::from_utf8_lossy(bytes);
        let head: Vec<&str> = head.split("\r\n").take_while(|line| !line.is_empty()).collect();
        assert_eq!(head.iter().filter(|line| line.starts_with("Content-Length: ")).count(), 1, "{head:?}");
        assert_eq!(head.first().map(|first| first.split(' ').count()), Some(3), "{head:?}");
        return asked;
    }
    assert!(bytes.len() <= sides.facts().request_max_bytes, "it is more than the editor takes");
    let mut framer = sides.dialect.framer();
    framer.push(bytes);
    let body = match framer.next_frame() {
        // What begins with a greeting is the editor's, and what is masked.
        Err(BadFrame::NoGreeting(_) | BadFrame::WebSocket(_)) => return asked,
        framed => framed.expect("our own frame is one").expect("and whole"),
    };
    assert!(framer.at_boundary(), "one frame and no byte more");
    let echo = sides.dialect.decode(&body);
    let is_nobodys = matches!(echo, Ok(Inbound::Unmatched { .. }));
    assert!(echo.is_err() || asked.id.is_empty() && is_nobodys, "our own message is no editor's: {echo:?}");
    asked
}

/// Checks that a message was not sent because it is more than the editor takes.
fn check_too_large(sides: &Sides, error: &EncodeError) {
    let EncodeError::TooLarge { bytes, max } = error else { panic!("{error:?}") };
    assert!(bytes > max && *max == sides.facts().request_max_bytes, "{error:?}");
    // Inputs are short, so only a limit that is short too can be passed.
    assert!(*bytes < 1 << 18, "a small message fits: {error:?}");
}
