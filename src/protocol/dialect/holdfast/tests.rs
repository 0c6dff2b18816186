//! Runs every golden vector of `tests/vectors/holdfast/` (`tests/vectors/README.md` describes the format). Also tests what the
//! vectors do not show: errors for foreign peers, the ids of repeated attempts, and the content of the project's files.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::{
    AnswerBody, BadOutcomes, Credentials, Dialect, EditorEvent, EditorState, EditorTool, Expected, FileState, Greeted,
    Hello, Inbound, JournalKey, JournalOutcome, LeaveReason, ListStep, Met, Order, PreparedCall, ProjectFiles,
    PushEvent, Recovery, Refusal, Reply, Secret, Sending, WireId,
};
use super::Holdfast;
use crate::protocol::dialect::tests::Vector;
use crate::protocol::ids::CallId;
use crate::protocol::trace::TraceContext;

const NONCE: &str = "00112233445566778899aabbccddeeff";

struct File {
    environment: Value,
    conversation: bool,
    vectors: Vec<Vector>,
}

impl Vector {
    fn kind(&self) -> &str {
        self.said("kind")
    }

    fn id(&self) -> WireId {
        // The call's id is part of the JSON-RPC id. Outcomes and cancels name calls only in their parameters.
        let call = self.text("body").split(r#""id":""#).nth(1).and_then(|rest| CallId::parse(rest.split('.').next()?));
        WireId { number: self.means("number").as_u64().unwrap(), call, agreed: None }
    }
}

fn files() -> Vec<File> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/holdfast");
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let file: Value = serde_json::from_slice(&std::fs::read(entry.unwrap().path()).unwrap()).unwrap();
            assert_eq!(file["dialect"], "holdfast");
            File {
                environment: file["environment"].clone(),
                conversation: file["conversation"].as_bool().unwrap(),
                vectors: file["vectors"].as_array().unwrap().iter().cloned().map(Vector).collect(),
            }
        })
        .collect()
}

fn credentials(environment: &Value) -> Credentials {
    Credentials {
        project: environment["project"].as_str().unwrap().to_owned(),
        pid: u32::try_from(environment["pid"].as_u64().unwrap()).unwrap(),
        nonce: environment["nonce"].as_str().unwrap().to_owned(),
        token: Secret::new(environment["token"].as_str().unwrap()),
    }
}

fn hello(environment: &Value, vector: &Vector) -> Hello {
    Hello {
        gateway: vector.said("gateway").to_owned(),
        challenge: vector.said("challenge").to_owned(),
        expected: Some(Expected::Proven(credentials(environment))),
        client_name: vector.said("client_name").to_owned(),
        editor_port: environment["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap(),
        push_endpoint: vector.means("push_endpoint").as_str().map(str::to_owned),
        push_token: Secret::new(vector.means("push_token").as_str().unwrap_or_default()),
    }
}

fn key(id: &str, seq: u64) -> JournalKey {
    JournalKey { journal: NONCE.to_owned(), id: id.to_owned(), seq }
}

fn keys(vector: &Vector) -> Vec<JournalKey> {
    let pairs = vector.means("calls").as_array().unwrap().iter();
    pairs.map(|pair| key(pair[0].as_str().unwrap(), pair[1].as_u64().unwrap())).collect()
}

fn reply(body: &str) -> Reply {
    match Holdfast.decode(body.as_bytes()).unwrap() {
        Inbound::Reply { reply, .. } => reply,
        other => panic!("{body} is {other:?}"),
    }
}

#[test]
fn orders_are_encoded_byte_for_byte() {
    let mut seen = 0;
    for file in files() {
        let mut greeting: Option<(Hello, Vec<Reply>)> = None;
        for vector in &file.vectors {
            if vector.text("direction") != "to_editor" {
                if let (Some((_, said)), "hello_result") = (&mut greeting, vector.kind()) {
                    said.push(reply(vector.text("body")));
                }
                continue;
            }
            let id = vector.id();
            let order = match vector.kind() {
                // Messages that this gateway never sends.
                "unknown" => continue,
                "hello" if vector.0["means"]["gateway"].is_null() => continue,
                "hello" => {
                    greeting = Some((hello(&file.environment, vector), Vec::new()));
                    Holdfast.encode(id, &Order::Greeting { hello: &greeting.as_ref().unwrap().0, said: &[] })
                }
                "prove" => {
                    let (hello, said) = greeting.as_ref().unwrap();
                    Holdfast.encode(id, &Order::Greeting { hello, said })
                }
                "list_tools" if vector.means("development").is_null() => continue,
                "list_tools" => {
                    let development = vector.means("development").as_bool().unwrap();
                    Holdfast.encode(id, &Order::ListTools { step: 0, development })
                }
                // This gateway always sends `arguments`, so a vector without them is not encoded here.
                "call" if vector.means("arguments").is_null() => continue,
                "call" => {
                    let arguments = RawValue::from_string(vector.said("arguments").to_owned()).unwrap();
                    let name = id.call.unwrap().to_string();
                    let call = PreparedCall {
                        recovery: Recovery::Journal(key(&name, vector.means("seq").as_u64().unwrap())),
                        limit: vector.means("timeout_ms").as_u64().map(Duration::from_millis),
                        trace: TraceContext::read(&RawValue::from_string(vector.means("trace").to_string()).unwrap())
                            .map(Arc::new),
                        ..PreparedCall::as_given(&arguments)
                    };
                    let progress = vector.means("progress").as_bool() == Some(true);
                    Holdfast
                        .encode(id, &Order::Call { tool: vector.said("tool"), call: &call, expected: None, progress })
                }
                "outcome" => Holdfast.encode(id, &Order::Outcomes(&keys(vector))),
                "status" => Holdfast.encode(id, &Order::Heartbeat),
                "cancel" => {
                    // A cancel is sent as a notification, because nothing waits for its answer.
                    let frame = Holdfast.encode(id, &Order::Cancel(&key(vector.said("call"), 1))).unwrap().into_bytes();
                    let without_id = vector.text("body").replacen(r#""id":"holdfast.36","#, "", 1);
                    assert!(std::str::from_utf8(&frame).unwrap().ends_with(&without_id));
                    seen += 1;
                    continue;
                }
                other => panic!("no order: {other}"),
            };
            let frame = order.unwrap().into_bytes();
            assert_eq!(std::str::from_utf8(&frame).unwrap(), vector.text("frame"), "{}", vector.text("name"));
            seen += 1;
        }
    }
    assert!(seen >= 13, "{seen}");
}

#[test]
fn both_sides_prove_themselves_before_a_call() {
    let mut proven = 0;
    for file in files().iter().filter(|file| file.conversation) {
        let Some(first) = file.vectors.iter().find(|vector| vector.kind() == "hello") else { continue };
        if first.means("gateway").is_null() {
            continue;
        }
        let hello = hello(&file.environment, first);
        let of_kind = |kind: &str| file.vectors.iter().find(|vector| vector.kind() == kind).unwrap().text("body");
        let said = [reply(of_kind("hello_result")), reply(of_kind("prove_result"))];
        assert_eq!(Holdfast.check_greeting(&hello, &said[..1]), Ok(Greeted::NotYet));
        let met = Met {
            journal: Some(NONCE.to_owned()),
            tools_revision: Some("<revision>".to_owned()),
            domain: Some(3),
            ..Met::default()
        };
        assert_eq!(Holdfast.check_greeting(&hello, &said), Ok(Greeted::Done(met)));
        // An editor with another token, process, project or challenge is a different editor.
        let credentials = credentials(&file.environment);
        let others = [
            Credentials { token: Secret::new("0".repeat(64)), ..credentials.clone() },
            Credentials { pid: 1, ..credentials.clone() },
            Credentials { nonce: "f".repeat(32), ..credentials.clone() },
            Credentials { project: "/projects/other".to_owned(), ..credentials },
        ];
        for other in others {
            let hello = Hello { expected: Some(Expected::Proven(other)), ..hello.clone() };
            assert!(Holdfast.check_greeting(&hello, &said[..1]).is_err());
        }
        // The same editor, reached through another port: somebody stands between, and the message says so.
        let relayed = Hello { editor_port: hello.editor_port + 1, ..hello.clone() };
        let why = Holdfast.check_greeting(&relayed, &said[..1]).unwrap_err().to_string();
        assert!(why.contains("listens on port 8711, but port 8712 was called"), "{why}");
        // A relay that also rewrites the port that the editor names does not have the proof for it.
        let Reply::Result(honest) = &said[0] else { panic!("the editor answers hello") };
        let rewritten = honest.get().replace("8711", "8712");
        let rewritten = Reply::Result(serde_json::value::RawValue::from_string(rewritten).unwrap());
        let why = Holdfast.check_greeting(&relayed, &[rewritten]).unwrap_err().to_string();
        assert!(why.contains("does not know the token"), "{why}");
        let replayed = Hello { challenge: "b".repeat(32), ..hello.clone() };
        assert!(Holdfast.check_greeting(&replayed, &said[..1]).is_err(), "an answer to another challenge");
        let unnamed = Hello { expected: None, ..hello };
        assert!(Holdfast.check_greeting(&unnamed, &said[..1]).unwrap_err().to_string().contains("--project"));
        assert!(Holdfast.encode(first.id(), &Order::Greeting { hello: &unnamed, said: &[] }).is_err());
        proven += 1;
    }
    assert!(proven >= 2);
}

#[test]
fn messages_are_decoded_as_they_are_meant() {
    let mut seen = 0;
    for vector in
        files().iter().flat_map(|file| &file.vectors).filter(|vector| vector.text("direction") == "from_editor")
    {
        let name = vector.text("name");
        let decoded = Holdfast.decode(vector.text("body").as_bytes()).unwrap_or_else(|bad| panic!("{name}: {bad}"));
        match (vector.kind(), decoded) {
            ("hello_result" | "prove_result" | "cancel_result", Inbound::Reply { number, .. }) => {
                assert_eq!(Some(number), vector.means("number").as_u64(), "{name}");
            }
            ("result", Inbound::Reply { number, reply }) => {
                assert_eq!(Some(number), vector.means("number").as_u64(), "{name}");
                if vector.means("tools").is_object() {
                    check_tools(vector, &reply);
                } else {
                    check_result(vector, reply);
                }
            }
            ("error", Inbound::Reply { reply: Reply::Error(error), .. }) => {
                assert_eq!(Some(error.code), vector.means("code").as_i64(), "{name}");
                assert_eq!(Some(error.refusal.is_none()), vector.means("ran").as_bool(), "{name}");
                assert_eq!(
                    error.refusal.as_ref().is_some_and(|refused| refused.how == Refusal::Leaving),
                    vector.said("type") == "leaving",
                    "{name}"
                );
                let answer = Holdfast.read_answer(Reply::Error(error));
                let AnswerBody::Text(text) = answer.body else { panic!("{name}") };
                // The refusal of a duplicate says nothing about the first attempt, which may have run.
                let harmless = vector.means("ran") == false && vector.said("type") != "duplicate_call";
                assert_eq!(text.ends_with("Nothing of the call ran."), harmless, "{name}: {text}");
            }
            ("outcome_result", Inbound::Reply { reply, .. }) => check_outcomes(vector, reply),
            ("status_result", Inbound::Reply { reply, .. }) => {
                let heartbeat = Holdfast.read_heartbeat(&reply).unwrap();
                assert_eq!(heartbeat.frame_age, Duration::from_millis(vector.means("frame_age_ms").as_u64().unwrap()));
                assert_eq!(Some(u64::from(heartbeat.queued)), vector.means("queued").as_u64());
                assert_eq!(Some(heartbeat.running as usize), vector.means("running").as_array().map(Vec::len));
                assert_eq!(<&str>::from(heartbeat.state), vector.said("state"));
            }
            ("progress", Inbound::Progress(progress)) => {
                assert_eq!(progress.call.to_string(), vector.said("call"), "{name}");
                assert_eq!(Some(progress.done), vector.said("progress").parse().ok(), "{name}");
                assert_eq!(
                    progress.total,
                    vector.means("total").as_str().and_then(|total| total.parse().ok()),
                    "{name}"
                );
                assert_eq!(progress.message.as_deref(), vector.means("message").as_str(), "{name}");
            }
            ("settled", Inbound::Event(EditorEvent::Settled)) => {}
            ("state", Inbound::Event(EditorEvent::State(state))) => {
                assert_eq!(<&str>::from(state), vector.said("state"));
            }
            ("event", Inbound::Event(event)) => {
                let meant = match (vector.said("event"), vector.means("reason").as_str()) {
                    ("tools_changed", None) => EditorEvent::ToolsChanged,
                    ("leaving", Some("reload")) => EditorEvent::Leaving(LeaveReason::Reload),
                    ("leaving", Some("quit")) => EditorEvent::Leaving(LeaveReason::Quit),
                    ("leaving", Some("stopped")) => EditorEvent::Leaving(LeaveReason::Stopped),
                    other => panic!("{name}: {other:?}"),
                };
                assert_eq!(event, meant, "{name}");
            }
            (kind, other) => panic!("{name} means {kind}, but was read as {other:?}"),
        }
        seen += 1;
    }
    assert!(seen >= 30, "{seen}");
}

fn check_result(vector: &Vector, reply: Reply) {
    let name = vector.text("name");
    let answer = Holdfast.read_answer(reply);
    assert_eq!(Some(answer.is_error), vector.means("is_error").as_bool(), "{name}");
    let (value, blocks) = match answer.body {
        AnswerBody::Json(value) => (value, Vec::new()),
        AnswerBody::JsonAndBlocks(value, blocks) => (value, blocks),
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(value.get(), vector.said("result"), "{name}");
    let kinds: Vec<Value> =
        blocks.iter().map(|block| serde_json::from_str::<Value>(block.get()).unwrap()["type"].clone()).collect();
    assert_eq!(kinds, vector.means("content").as_array().cloned().unwrap_or_default(), "{name}");
}

fn check_tools(vector: &Vector, reply: &Reply) {
    let ListStep::Tools(listing) = Holdfast.read_tools(reply, 0) else { panic!("{}", vector.text("name")) };
    assert_eq!(listing.dropped, []);
    let meant = vector.means("tools").as_object().unwrap();
    assert_eq!(listing.tools.len(), meant.len());
    for tool in listing.tools {
        let meant = &meant[&tool.name];
        let schema: Value = serde_json::from_str(meant["input_schema"].as_str().unwrap()).unwrap();
        assert_eq!(Value::Object(tool.input_schema.parsed()), schema);
        assert_eq!(
            (tool.repeatable, tool.development_only, tool.parallel),
            (meant["repeatable"] == true, meant["development_only"] == true, meant["parallel"] == true)
        );
        assert_eq!(tool.timeout_seconds.map(u64::from), meant["timeout_seconds"].as_u64());
    }
}

fn check_outcomes(vector: &Vector, reply: Reply) {
    let meant = vector.means("outcomes").as_array().unwrap();
    let asked: Vec<JournalKey> = meant.iter().map(|outcome| key(outcome["call"].as_str().unwrap(), 1)).collect();
    let found = Holdfast.read_outcomes(reply, &asked).unwrap();
    assert_eq!(found.len(), meant.len());
    for (found, meant) in found.into_iter().zip(meant) {
        match (meant["status"].as_str().unwrap(), found) {
            ("running" | "queued", JournalOutcome::Running)
            | ("interrupted", JournalOutcome::Interrupted)
            | ("notRun", JournalOutcome::NotRun { .. })
            | ("forgotten", JournalOutcome::Forgotten) => {}
            ("done", JournalOutcome::EndedUnkept(why)) => assert!(!why.is_empty() && meant["lost"].is_string()),
            ("done", JournalOutcome::Ended(Reply::Error(error))) => assert_eq!(meant["error"], error.code),
            ("done", JournalOutcome::Ended(reply @ Reply::Result(_))) => {
                let AnswerBody::Json(value) = Holdfast.read_answer(reply).body else { panic!("{meant}") };
                assert_eq!(Some(value.get()), meant["result"].as_str());
            }
            (status, found) => panic!("{status} was read as {found:?}"),
        }
    }
}

#[test]
fn an_answer_for_other_calls_or_of_another_journal_says_nothing() {
    let body = r#"{"jsonrpc":"2.0","id":"holdfast.1","result":{"generation":1,"nonce":"00112233445566778899aabbccddeeff",
        "outcomes":[{"callId":"a","status":"notRun","reason":"sealed"}]}}"#;
    assert!(matches!(
        Holdfast.read_outcomes(reply(body), &[key("a", 1)]).as_deref(),
        Ok([JournalOutcome::NotRun { sealed: true }])
    ));
    assert!(Holdfast.read_outcomes(reply(body), &[key("b", 1)]).is_err());
    assert!(Holdfast.read_outcomes(reply(body), &[key("a", 1), key("b", 2)]).is_err());
    let other = JournalKey { journal: "f".repeat(32), ..key("a", 1) };
    assert!(Holdfast.read_outcomes(reply(body), &[other]).is_err());
    let strange = body.replace("notRun", "vanished");
    assert!(matches!(
        Holdfast.read_outcomes(reply(&strange), &[key("a", 1)]).as_deref(),
        Ok([JournalOutcome::Unreadable])
    ));
}

#[test]
fn an_outcome_that_cannot_be_read_costs_no_other_one_its_meaning_and_a_torn_list_proves_nothing() {
    let read = |broken: &str| {
        let body = format!(
            r#"{{"id":"holdfast.1","result":{{"nonce":"00112233445566778899aabbccddeeff","outcomes":[{{"callId":"a","status":"done",
            "result":{{"isError":false,"value":{broken}}}}},{{"callId":"b","status":"notRun","reason":"sealed"}}]}}}}"#
        );
        Holdfast.read_outcomes(reply(&body), &[key("a", 1), key("b", 2)])
    };
    for broken in ["NaN", "\"a\u{1}\"", &("[".repeat(500) + &"]".repeat(500))] {
        let outcomes = read(broken).unwrap();
        assert!(matches!(outcomes.as_slice(), [JournalOutcome::Ended(_), JournalOutcome::NotRun { sealed: true }]));
    }
    // A tool that writes its JSON by hand could forge the outcomes of other calls.
    let forged = r#"1}},{"callId":"b","status":"done","result":{"isError":false,"value":2"#;
    for torn in ["[", "\"", forged] {
        assert!(matches!(read(torn), Err(BadOutcomes::Malformed(_) | BadOutcomes::OtherCalls)), "{torn}");
    }
}

#[test]
fn a_result_that_cannot_be_read_is_a_success_only_if_the_editor_says_so() {
    let read = |result: &str| {
        let body = format!(r#"{{"id":"holdfast.1","result":{result}}}"#);
        Holdfast.read_answer(reply(&body))
    };
    let ok = read(r#"{"isError":false,"value":NaN,"content":[{"type":"text","text":"t"},NaN]}"#);
    assert!(matches!(&ok.body, AnswerBody::Wreck(left) if left.blocks.len() == 1) && !ok.is_error);
    assert!(!read(r#"{"isError":false,"value":1,"durationMs":0,5}"#).is_error);
    for unsure in
        [r#"{"isError":true,"value":NaN}"#, r#"{"value":NaN}"#, r#"{"isError":false,"isError":true,"value":1}"#, "NaN"]
    {
        assert!(read(unsure).is_error, "{unsure}");
    }
}

#[test]
fn a_later_sending_bears_another_id_and_resumable_work_no_short_limit() {
    let call = CallId::parse("0f8fad5b-d9cd-469f-a165-70867728950e").unwrap();
    let tool = |resumable: bool| EditorTool {
        name: "compile".to_owned(),
        description: String::new(),
        input_schema: serde_json::from_str("{}").unwrap(),
        annotations: serde_json::from_str(
            r#"{"title":"","readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false}"#,
        )
        .unwrap(),
        development_only: false,
        repeatable: false,
        parallel: false,
        resumable,
        timeout_seconds: Some(15),
        group: None,
        other_names: Vec::new(),
    };
    let prepare = |nth, resumable, arguments: &str| {
        let sending = Sending { call, nth, seq: 7, journal: Some(NONCE), ..Sending::first(call, true) };
        let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
        Holdfast.prepare_call(&sending, "compile", Some(&tool(resumable)), &arguments)
    };
    let id = |prepared: &PreparedCall| match &prepared.recovery {
        Recovery::Journal(key) => (key.id.clone(), key.seq, key.journal.clone()),
        other => panic!("{other:?}"),
    };
    assert_eq!(id(&prepare(1, false, "{}")), (call.to_string(), 7, NONCE.to_owned()));
    assert_eq!(id(&prepare(2, false, "{}")).0, format!("{call}.2"));
    let secs = |seconds| Some(Duration::from_secs(seconds));
    let limits = |prepared: PreparedCall| (prepared.timeout, prepared.limit);
    assert_eq!(limits(prepare(1, false, "{}")), (secs(15), None));
    assert_eq!(limits(prepare(1, true, "{}")), (None, secs(3600)));
    assert_eq!(limits(prepare(1, true, r#"{"TimeoutSeconds":40}"#)), (secs(40), None));
}

#[test]
fn push_lines_count_only_with_our_token() {
    let token = Secret::new("t0k");
    let mut seen = 0;
    for vector in files().iter().flat_map(|file| &file.vectors).filter(|vector| vector.text("direction") == "push") {
        let body = vector.text("body").as_bytes();
        match Holdfast.decode_push(body, &token) {
            Ok(event) => assert_eq!(<&str>::from(event), vector.said("event")),
            Err(_) => assert!(!vector.text("body").contains("t0k"), "{}", vector.text("name")),
        }
        assert!(Holdfast.decode_push(body, &Secret::new("other")).is_err());
        seen += 1;
    }
    assert!(seen >= 7);
    assert_eq!(Holdfast.decode_push(br#"{"type":"DANCE","token":"t0k"}"#, &token), Ok(PushEvent::Unknown));
}

const BRIDGE: &str = "Library/Holdfast/instance.json";

fn facts(bridge: &str, unity: Option<&str>) -> super::super::ProjectFacts {
    let mut project = ProjectFiles::new();
    project.insert(BRIDGE, FileState::Content(bridge.as_bytes().to_vec()));
    if let Some(unity) = unity {
        project.insert("Library/EditorInstance.json", FileState::Content(unity.as_bytes().to_vec()));
    }
    Holdfast.read_project(&project)
}

#[test]
fn the_instance_file_names_the_editor_and_its_secret() {
    let all = files();
    let file = all.iter().find(|file| file.vectors.iter().any(|vector| vector.kind() == "instance_file")).unwrap();
    let body = file.vectors[0].text("body");
    let read = facts(body, Some(r#"{"process_id":17,"version":"6000.0.1f1"}"#));
    assert_eq!(read.problems, [] as [String; 0]);
    assert_eq!((read.installed, read.port, read.editor_pid), (true, Some((8711, BRIDGE)), Some(4242)));
    assert_eq!(read.other_pid, Some(17), "one of the two has left its file behind");
    assert_eq!(read.expected, Some(Expected::Proven(credentials(&file.environment))));
    assert!(!format!("{read:?}").contains(file.environment["token"].as_str().unwrap()), "a log may hold the facts");
    let away = facts(&body.replace("8711", "0").replace("\"ready\"", "\"reloading\""), None);
    assert_eq!((away.port, away.activity.map(<&str>::from)), (None, Some("reloading")));
    for (broken, word) in [
        (body.replace("\"protocol\":2", "\"protocol\":1"), "speaks protocol 1 and this holdfast 2"),
        (body.replace("4242", "0"), "lacks pid"),
        (body.replace(NONCE, "x"), "lacks pid"),
        (body.replace("8711", "70000"), "an invalid port"),
        ("{".to_owned(), "is not JSON"),
    ] {
        let read = facts(&broken, None);
        assert!(read.problems.iter().any(|problem| problem.contains(word)), "{broken}: {:?}", read.problems);
        assert_eq!(read.port, None);
    }
}

#[test]
fn states_are_those_of_the_protocol() {
    for state in ["ready", "playing", "compiling", "reloading", "stopping", "dancing"] {
        let body =
            format!(r#"{{"jsonrpc":"2.0","method":"holdfast/state","params":{{"state":"{state}","generation":1}}}}"#);
        let Ok(Inbound::Event(EditorEvent::State(read))) = Holdfast.decode(body.as_bytes()) else { panic!("{state}") };
        let meant = if state == "dancing" { "unknown" } else { state };
        assert_eq!(<&str>::from(read), meant);
        assert_eq!(read == EditorState::Unknown, state == "dancing");
    }
}

#[test]
fn a_tool_that_is_badly_described_is_offered_all_the_same_and_one_without_an_object_of_arguments_is_not() {
    let annotations =
        r#"{"title":" ","readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false}"#;
    let tool =
        |name: &str, schema: &str| format!(r#"{{"name":"{name}","inputSchema":{schema},"annotations":{annotations}}}"#);
    let list =
        [tool("do-it", "{}"), tool("list", r#"{"type":"array"}"#), tool("odd", r#"{"properties":[]}"#)].join(",");
    let reply = Reply::Result(RawValue::from_string(format!(r#"{{"tools":[{list}]}}"#)).unwrap());
    let ListStep::Tools(listing) = Holdfast.read_tools(&reply, 0) else { panic!("it is a list") };
    let [tool] = &listing.tools[..] else { panic!("{listing:?}") };
    assert_eq!(
        (tool.annotations.title.as_str(), &tool.input_schema.parsed()["type"]),
        ("Do it", &Value::from("object"))
    );
    assert!(tool.description.contains("do-it"), "{}", tool.description);
    let dropped: Vec<&str> = listing.dropped.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(dropped, ["list", "odd"]);
}

/// `ran` is read in the error's `data` alone, all of which the package writes.
#[test]
fn words_about_ran_elsewhere_are_no_refusal() {
    let refusal = |members: &str| match reply(&format!(r#"{{"jsonrpc":"2.0","id":"holdfast.1",{members}}}"#)) {
        Reply::Error(error) => error.refusal.map(|refused| refused.how),
        Reply::Result(_) | Reply::Wreck(_) => None,
    };
    let data = r#"{"type":"busy","ran":false,"message":"m"}"#;
    assert_eq!(refusal(&format!(r#""error":{{"code":-32004,"message":"m","data":{data}}}"#)), Some(Refusal::Final));
    for members in [
        format!(r#""result":{{"isError":true,"error":{{"code":-32004,"message":"m","data":{data}}},"value":{data}}}"#),
        format!(r#""error":{{"code":-32000,"message":{0},"data":{{"type":"tool_failed","ran":true,"message":{0}}}}}"#, Value::from(data)),
        r#""error":{"code":-32000,"message":"m","ran":false,"data":{"type":"leaving","message":"m"}}"#.to_owned(),
        r#""error":{"code":-32000,"message":"m","data":{"type":"leaving","ran":"false","message":"m"}}"#.to_owned(),
        r#""error":{"code":-32000,"message":"m","data":{"type":"leaving","ran":null,"message":"m","inner":{"ran":false}}}"#.to_owned(),
    ] {
        assert_eq!(refusal(&members), None, "{members}");
    }
}

#[test]
fn only_the_refusal_of_a_message_that_was_not_read_belongs_to_the_only_open_call() {
    let unnamed = |text: &str| Holdfast.read_unnamed(text.as_bytes());
    let refused = |code: i64, ran: bool, id: &str| {
        format!(r#"{{"id":{id},"error":{{"code":{code},"message":"no JSON","data":{{"type":"x","ran":{ran}}}}}}}"#)
    };
    let answer = Holdfast.read_answer(unnamed(&refused(-32700, false, "null")).expect("it was not read"));
    assert!(answer.is_error && format!("{:?}", answer.body).contains("Nothing of the call ran"), "{answer:?}");
    // A tool's own error, one that does not say that nothing ran, and one that names its request.
    for other in [refused(-32000, false, "null"), refused(-32700, true, "null"), refused(-32700, false, "\"x\"")] {
        assert!(unnamed(&other).is_none(), "{other}");
    }
}

#[test]
fn a_greeting_is_over_only_when_the_editor_takes_our_proof() {
    let greets = |file: &File| file.conversation && file.vectors.iter().any(|vector| vector.kind() == "hello_result");
    let file = files().into_iter().find(greets).unwrap();
    let of_kind = |kind: &str| file.vectors.iter().find(|vector| vector.kind() == kind).unwrap();
    let hello = hello(&file.environment, of_kind("hello"));
    let first = of_kind("hello_result").text("body");
    for (second, is_met) in [
        (r#"{"proven":true}"#, true),
        (r#"{"proven":false}"#, false),
        ("{}", false),
        ("true", false),
        (r#"{"proven":1}"#, false),
    ] {
        let second = format!(r#"{{"id":"holdfast.2","result":{second}}}"#);
        let greeted = Holdfast.check_greeting(&hello, &[reply(first), reply(&second)]);
        assert_eq!(matches!(greeted, Ok(Greeted::Done(_))), is_met, "{second}: {greeted:?}");
        assert_ne!(greeted, Ok(Greeted::NotYet), "there is nothing more to say");
    }
}

proptest! {
    #[test]
    fn an_editor_is_known_by_whole_secrets(nonce in 31..34usize, token in 63..66usize) {
        let all = files();
        let file = all.iter().find(|file| file.vectors.iter().any(|vector| vector.kind() == "instance_file")).unwrap();
        let token_told = "a".repeat(token);
        let body = file.vectors[0].text("body").replace(NONCE, &"b".repeat(nonce));
        let body = body.replace(file.environment["token"].as_str().unwrap(), &token_told);
        let read = facts(&body, None);
        prop_assert_eq!(read.expected.is_some(), (nonce, token) == (32, 64));
        let logged = format!("{read:?}");
        prop_assert!(!logged.contains(&token_told));
    }

    #[test]
    fn a_push_line_bears_token_and_number_in_their_places(token in "t0k|[a-z]{0,3}", number: u64, name in "token|sequence|[a-z]{1,9}") {
        let line = format!(r#"{{"type":"DOMAIN_RELOAD","{name}":"{token}","inner":{{"token":"t0k","sequence":1}}}}"#);
        let bears = name == "token" && token == "t0k";
        prop_assert_eq!(Holdfast.decode_push(line.as_bytes(), &Secret::new("t0k")).is_ok(), bears, "{}", line);
        let line = format!(r#"{{"type":"DOMAIN_RELOAD","token":"t0k","a{name}":{number},"inner":{{"sequence":1}},"{name}":{number}}}"#);
        let meant = (name == "sequence").then_some(number);
        prop_assert_eq!(Holdfast.push_sequence(line.as_bytes()), meant, "{}", line);
    }

    #[test]
    fn only_progress_is_progress(method in "holdfast/(progress|settled|state)|[a-z/]{0,12}", done in any::<f64>()) {
        let call = "0f8fad5b-d9cb-469f-a165-70867728950e";
        let params = serde_json::json!({ "callId": call, "progress": done, "state": "ready" });
        let body = serde_json::json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string();
        let is_progress = matches!(Holdfast.decode(body.as_bytes()), Ok(Inbound::Progress(_)));
        prop_assert_eq!(is_progress, method == "holdfast/progress" && done.is_finite() && done >= 0.0, "{}", body);
    }
}
