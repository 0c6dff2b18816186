//! Runs every golden vector of `tests/vectors/uloop/`. `tests/vectors/README.md` describes the format.

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::super::{
    AnswerBody, BadMessage, Dialect, EditorEvent, Expected, Hello, Inbound, LeaveReason, ListStep, Order, PreparedCall,
    PushEvent, Refusal, Reply, Secret, WireId,
};
use super::super::Uloop;
use crate::protocol::dialect::tests::{self as vectors, Vector};
use crate::protocol::ids::CallId;

fn all() -> Vec<Vector> {
    vectors::all("uloop")
}

#[test]
fn every_vector_says_where_it_is_from_and_every_kind_is_there() {
    let known = [
        "bad_message",
        "call",
        "error",
        "event",
        "greeting",
        "list_tools",
        "push",
        "result",
        "result_file",
        "unmatched",
    ];
    vectors::have_kinds(&all(), &known);
}

#[test]
fn orders_are_encoded_byte_for_byte() {
    let mut seen = 0;
    for vector in all().iter().filter(|vector| vector.text("direction") == "to_editor") {
        let call = vector.means("call").as_str().map(|call| CallId::parse(call).unwrap());
        let id = WireId { number: vector.means("number").as_u64().unwrap(), call, agreed: None };
        let frame = match vector.said("kind") {
            "greeting" => {
                let hello = Hello {
                    client_name: vector.said("client_name").to_owned(),
                    editor_port: u16::try_from(vector.means("editor_port").as_u64().unwrap()).unwrap(),
                    push_endpoint: vector.means("push_endpoint").as_str().map(str::to_owned),
                    ..Hello::default()
                };
                Uloop.encode(id, &Order::Greeting { hello: &hello, said: &[] })
            }
            "list_tools" => {
                let step = usize::try_from(vector.means("step").as_u64().unwrap()).unwrap();
                let development = vector.means("development").as_bool().unwrap();
                Uloop.encode(id, &Order::ListTools { step, development })
            }
            "call" => {
                let arguments = RawValue::from_string(vector.said("arguments").to_owned()).unwrap();
                let expected = vector.means("expected").as_object().map(|expected| Expected::Told {
                    project_root: expected["project_root"].as_str().unwrap().to_owned(),
                    server_session_id: expected["server_session_id"].as_str().unwrap().to_owned(),
                });
                let tool = vector.said("tool");
                let call = PreparedCall::as_given(&arguments);
                Uloop.encode(id, &Order::Call { tool, call: &call, expected: expected.as_ref(), progress: true })
            }
            other => panic!("no order: {other}"),
        };
        let frame = frame.unwrap().into_bytes();
        assert_eq!(std::str::from_utf8(&frame).unwrap(), vector.text("frame"), "{}", vector.text("name"));
        assert!(vector.text("frame").ends_with(vector.text("body")));
        seen += 1;
    }
    assert!(seen >= 10);
}

#[test]
fn messages_are_decoded_as_they_are_meant() {
    let mut seen = 0;
    for vector in all().iter().filter(|vector| vector.text("direction") == "from_editor") {
        let (name, body) = (vector.text("name"), vector.text("body"));
        if let Some(frame) = vector.0["frame"].as_str() {
            let mut framer = Uloop.framer();
            framer.push(frame.as_bytes());
            assert_eq!(framer.next_frame().unwrap().unwrap(), body.as_bytes(), "{name}");
            assert!(framer.at_boundary());
        }
        let decoded = Uloop.decode(body.as_bytes());
        match (vector.said("kind"), decoded) {
            ("result" | "error", Ok(Inbound::Reply { number, reply })) => {
                assert_eq!(Some(number), vector.means("number").as_u64(), "{name}");
                check_reply(vector, reply);
            }
            ("event", Ok(Inbound::Event(event))) => {
                let meant = match (vector.said("event"), vector.means("reason").as_str()) {
                    ("tools_changed", None) => EditorEvent::ToolsChanged,
                    ("leaving", Some("reload")) => EditorEvent::Leaving(LeaveReason::Reload),
                    ("leaving", Some("quit")) => EditorEvent::Leaving(LeaveReason::Quit),
                    ("leaving", Some("unknown")) => EditorEvent::Leaving(LeaveReason::Unknown),
                    other => panic!("{name}: {other:?}"),
                };
                assert_eq!(event, meant, "{name}");
            }
            ("unmatched", Ok(Inbound::Unmatched { what })) => assert!(!what.is_empty(), "{name}"),
            ("bad_message", Err(bad)) => assert_eq!(<&str>::from(&bad), vector.said("label"), "{name}"),
            (kind, other) => panic!("{name} means {kind}, but was read as {other:?}"),
        }
        seen += 1;
    }
    assert!(seen >= 30);
}

fn check_reply(vector: &Vector, reply: Reply) {
    let name = vector.text("name");
    let said = [reply];
    let greeted = Uloop.check_greeting(&Hello::default(), &said).is_ok();
    let [reply] = said;
    match &reply {
        Reply::Result(result) => assert_eq!(result.get(), vector.said("result"), "{name}"),
        Reply::Wreck(wreck) => panic!("{wreck:?}"),
        Reply::Error(error) => {
            assert_eq!(Some(error.code), vector.means("code").as_i64(), "{name}");
            assert_eq!(error.message, vector.said("message"), "{name}");
            assert_eq!(Some(error.refusal.is_some()), vector.means("refused").as_bool(), "{name}");
            let wrong_editor = error
                .refusal
                .as_ref()
                .is_some_and(|refused| matches!(refused.how, Refusal::OtherProject | Refusal::OtherSession));
            assert_eq!(Some(wrong_editor), vector.means("wrong_editor").as_bool(), "{name}");
        }
    }
    if let Some(greets) = vector.means("greets").as_bool() {
        assert_eq!(greeted, greets, "{name}");
    }
    if let Some(step) = vector.means("step").as_u64() {
        match (Uloop.read_tools(&reply, usize::try_from(step).unwrap()), vector.means("tools")) {
            (ListStep::Tools(listing), Value::Object(meant)) => {
                assert_eq!(listing.dropped, [], "{name}");
                assert_eq!(listing.tools.len(), meant.len(), "{name}");
                for tool in listing.tools {
                    let meant = &meant[&tool.name];
                    assert_eq!(Value::Object(tool.input_schema.parsed()), meant["input_schema"], "{name}");
                    assert_eq!(tool.repeatable, meant["repeatable"], "{name}");
                    assert_eq!(tool.development_only, meant["development_only"], "{name}");
                }
            }
            (ListStep::TryNext, Value::String(meant)) => assert_eq!(meant, "try_next", "{name}"),
            (ListStep::Failed(reason), Value::String(meant)) => {
                assert_eq!(meant, "failed", "{name}");
                assert!(!reason.is_empty());
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    if let Some(is_error) = vector.means("is_error").as_bool() {
        let answer = Uloop.read_answer(reply);
        assert_eq!(answer.is_error, is_error, "{name}");
        assert!(matches!(answer.body, AnswerBody::Json(json) if json.get() == vector.said("result")), "{name}");
    }
}

#[test]
fn push_lines_are_hints_or_bad() {
    let mut events = std::collections::BTreeSet::new();
    for vector in all().iter().filter(|vector| vector.text("direction") == "push") {
        let decoded: Result<PushEvent, BadMessage> =
            Uloop.decode_push(vector.text("body").as_bytes(), &Secret::default());
        match decoded {
            Ok(event) => {
                assert_eq!(<&str>::from(event), vector.said("event"), "{}", vector.text("name"));
                events.insert(<&str>::from(event));
            }
            Err(bad) => assert_eq!(<&str>::from(&bad), vector.said("label"), "{}", vector.text("name")),
        }
    }
    assert_eq!(events.len(), <PushEvent as strum::VariantNames>::VARIANTS.len());
}

#[test]
fn result_files_count_only_when_whole() {
    let mut whole = 0;
    for vector in all().iter().filter(|vector| vector.text("direction") == "result_file") {
        match Uloop.read_result_file(vector.text("body").as_bytes()) {
            Some(Reply::Result(result)) => {
                assert_eq!(result.get(), vector.said("result"), "{}", vector.text("name"));
                whole += 1;
            }
            Some(other) => panic!("{other:?}"),
            None => assert!(vector.means("result").is_null(), "{}", vector.text("name")),
        }
    }
    assert_eq!(whole, 2);
}
