//! Runs every golden vector of `tests/vectors/turbokettle/`. `tests/vectors/README.md` describes the format.

use serde_json::Value;

use super::super::super::{
    AnswerBody, Dialect, FileState, Hello, Inbound, ListStep, Order, PreparedCall, ProjectFiles, Reply, WireId,
};
use super::super::Turbokettle;
use super::raw;
use crate::protocol::dialect::tests::{self as vectors, Vector};
use crate::protocol::ids::CallId;

fn all() -> Vec<Vector> {
    vectors::all("turbokettle")
}

#[test]
fn every_vector_says_where_it_is_from_and_every_kind_is_there() {
    let known =
        ["bad_message", "call", "error", "greeting", "instance_file", "line", "list_tools", "result", "unmatched"];
    vectors::have_kinds(&all(), &known);
}

#[test]
fn orders_are_encoded_byte_for_byte() {
    let mut seen = 0;
    for vector in all().iter().filter(|vector| vector.text("direction") == "to_editor") {
        let hello = Hello::default();
        let call = vector.means("call").as_str().map(|call| CallId::parse(call).unwrap());
        let id = |number: &Value| WireId { number: number.as_u64().unwrap(), call, agreed: None };
        let frame = match vector.said("kind") {
            "greeting" => Turbokettle.encode(id(vector.means("number")), &Order::Greeting { hello: &hello, said: &[] }),
            "list_tools" => {
                Turbokettle.encode(id(vector.means("number")), &Order::ListTools { step: 0, development: false })
            }
            "call" => {
                let call = PreparedCall::as_given(&raw(vector.said("arguments")));
                let order = Order::Call { tool: vector.said("tool"), call: &call, expected: None, progress: true };
                Turbokettle.encode(id(vector.means("number")), &order)
            }
            // A line that the package's own server sends.
            "line" => continue,
            other => panic!("no order: {other}"),
        };
        let frame = frame.unwrap().into_bytes();
        assert_eq!(std::str::from_utf8(&frame).unwrap(), vector.text("frame"), "{}", vector.text("name"));
        assert_eq!(vector.text("frame"), format!("{}\n", vector.text("body")));
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn messages_are_decoded_as_they_are_meant() {
    let mut seen = 0;
    for vector in all().iter().filter(|vector| vector.text("direction") == "from_editor") {
        let (name, body) = (vector.text("name"), vector.text("body"));
        if let Some(frame) = vector.0["frame"].as_str() {
            let mut framer = Turbokettle.framer();
            framer.push(frame.as_bytes());
            assert_eq!(framer.next_frame().unwrap().unwrap(), body.as_bytes(), "{name}");
            assert!(framer.at_boundary());
        }
        match (vector.said("kind"), Turbokettle.decode(body.as_bytes())) {
            ("result" | "error", Ok(Inbound::Reply { number, reply })) => {
                assert_eq!(Some(number), vector.means("number").as_u64(), "{name}");
                check_reply(vector, reply);
            }
            // The ids in these vectors are not ours.
            ("unmatched" | "line", Ok(Inbound::Unmatched { what })) => assert!(!what.is_empty(), "{name}"),
            // The damaged message names one of our requests, so it counts as the answer to that request.
            ("bad_message", Ok(Inbound::Reply { reply: Reply::Wreck(wreck), .. })) => {
                assert_eq!(<&str>::from(&wreck.fault()), vector.said("label"), "{name}");
                assert!(Turbokettle.check_greeting(&Hello::default(), &[Reply::Wreck(wreck)]).is_err(), "{name}");
            }
            ("bad_message", Err(bad)) => assert_eq!(<&str>::from(&bad), vector.said("label"), "{name}"),
            (kind, other) => panic!("{name} means {kind}, but was read as {other:?}"),
        }
        seen += 1;
    }
    assert!(seen >= 35, "{seen}");
}

fn check_reply(vector: &Vector, reply: Reply) {
    let name = vector.text("name");
    let said = [reply];
    let greeted = Turbokettle.check_greeting(&Hello::default(), &said).is_ok();
    let [reply] = said;
    match &reply {
        Reply::Result(result) => assert_eq!(result.get(), vector.said("result"), "{name}"),
        Reply::Wreck(wreck) => panic!("{wreck:?}"),
        Reply::Error(error) => {
            assert_eq!(Some(error.code), vector.means("code").as_i64(), "{name}");
            assert_eq!(error.message, vector.said("message"), "{name}");
            assert_eq!(Some(error.refusal.is_some()), vector.means("refused").as_bool(), "{name}");
        }
    }
    if let Some(greets) = vector.means("greets").as_bool() {
        assert_eq!(greeted, greets, "{name}");
    }
    if vector.means("step").is_u64() {
        match (Turbokettle.read_tools(&reply, 0), vector.means("tools")) {
            (ListStep::Tools(listing), Value::Object(meant)) => {
                assert_eq!(listing.dropped, [], "{name}");
                assert_eq!(listing.tools.len(), meant.len(), "{name}");
                for tool in listing.tools {
                    let meant = &meant[&tool.name];
                    if let Some(schema) = meant.get("input_schema") {
                        assert_eq!(&Value::Object(tool.input_schema.parsed()), schema, "{name}");
                    }
                    assert_eq!(
                        (tool.repeatable, tool.parallel),
                        (meant["repeatable"] == true, meant["parallel"] == true)
                    );
                }
            }
            (ListStep::Failed(reason), Value::String(meant)) => {
                assert_eq!(meant, "failed", "{name}");
                assert!(!reason.is_empty());
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    if let Some(is_error) = vector.means("is_error").as_bool() {
        let answer = Turbokettle.read_answer(reply);
        assert_eq!(answer.is_error, is_error, "{name}");
        match answer.body {
            AnswerBody::Json(json) => assert_eq!(json.get(), vector.said("answer"), "{name}"),
            AnswerBody::Text(text) => assert_eq!(text, vector.said("text"), "{name}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn instance_files_count_only_when_whole() {
    const BRIDGE: &str = "Library/MCPInstance.json";
    let mut whole = 0;
    for vector in all().iter().filter(|vector| vector.text("direction") == "instance_file") {
        let content = FileState::Content(vector.text("body").as_bytes().to_vec());
        let facts = Turbokettle.read_project(&ProjectFiles::from([(BRIDGE, content)]));
        assert_eq!(
            facts.port.map(|(port, _)| u64::from(port)),
            vector.means("port").as_u64(),
            "{}",
            vector.text("name")
        );
        assert_eq!(facts.editor_pid.map(u64::from), vector.means("pid").as_u64());
        assert!(facts.problems.is_empty());
        whole += usize::from(facts.port.is_some());
    }
    assert_eq!(whole, 1);
}
