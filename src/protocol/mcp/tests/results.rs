use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::limits::{CLIENT_MESSAGE_MAX_BYTES, REQUEST_ID_MAX_BYTES, RESULT_INLINE_MAX_BYTES};
use crate::protocol::dialect::{AnswerBody, EditorAnswer};
use crate::protocol::ids::CallId;
use crate::protocol::jsonrpc;

fn answer(body: AnswerBody) -> ToolResult {
    ToolResult::from_editor(EditorAnswer { is_error: false, body })
}

fn json(text: &str) -> ToolResult {
    answer(AnswerBody::Json(raw(text)))
}

fn blocks(texts: &[&str]) -> ToolResult {
    answer(AnswerBody::Blocks(texts.iter().map(|text| raw(text)).collect()))
}

#[test]
fn an_object_is_text_and_structured_with_its_numbers_untouched() {
    let result = json("{\n  \"a\": 1e300,\r\n  \"b\": [12345678901234567890123, 1.0, -0.10],\n \"c\": \"x\\ny  z\"\n}");
    let compact = r#"{"a":1e300,"b":[12345678901234567890123,1.0,-0.10],"c":"x\ny  z"}"#;
    let Content::Text(text) = &result.content[0] else { panic!("{result:?}") };
    assert_eq!(text, compact);
    for version in ProtocolVersion::ALL {
        let line = tool_result(&result, &version.into());
        assert!(!line.contains(['\n', '\r']), "{line}");
        assert!(serde_json::from_str::<Box<RawValue>>(&line).is_ok(), "{line}");
        let structured = format!(r#""structuredContent":{compact}"#);
        assert_eq!(line.contains(&structured), version.structured_content(), "{line}");
        assert!(!line.contains("isError"), "{line}");
    }
}

#[test]
fn only_objects_are_structured_and_strings_are_plain() {
    for (body, text) in [
        ("\"plain \\\"text\\\"\\n\"", "plain \"text\"\n"),
        ("null", "null"),
        ("1e400", "1e400"),
        (r#""\ud800""#, r#""\ud800""#),
    ] {
        let result = json(body);
        assert!(result.structured.is_none(), "{body}");
        let line = one_line(&tool_result(&result, &ProtocolVersion::LATEST.into()));
        assert_eq!(line, serde_json::json!({"content": [{"type": "text", "text": text}]}), "{body}");
    }
    let list = json("[1, 2]");
    let line = one_line(&tool_result(&list, &ProtocolVersion::LATEST.into()));
    assert_eq!(line, serde_json::json!({"content": [{"type": "text", "text": "[1,2]"}]}));
    let odd = ToolResult { structured: Some(raw("[1]")), ..ToolResult::text("x") };
    assert!(!tool_result(&odd, &ProtocolVersion::LATEST.into()).contains("structuredContent"));
}

#[test]
fn raw_line_ends_never_leave_whoever_built_the_result() {
    let result = ToolResult {
        content: vec![
            Content::Raw(raw("{\n\"type\":\"text\",\r\n\"text\":\"a\"}")),
            Content::Text(String::from("b\r\nc")),
        ],
        structured: Some(raw("{\n\"x\" :\n1e400}")),
        is_error: true,
    };
    let line = tool_result(&result, &ProtocolVersion::LATEST.into());
    assert_eq!(
        line,
        r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b\r\nc"}],"structuredContent":{"x":1e400},"isError":true}"#
    );
    assert_eq!(result_size(&result, &ProtocolVersion::LATEST.into()), line.len());
}

#[test]
fn good_blocks_pass_and_bad_ones_become_text() {
    let good = [
        r#"{"type":"text","text":"a","annotations":{"priority":0.5}}"#,
        r#"{"type":"image","data":"R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=","mimeType":"image/gif"}"#,
        r#"{"type":"audio","data":"aGk=","mimeType":"audio/wav"}"#,
        r#"{"type":"resource","resource":{"uri":"unity://a","text":"x"}}"#,
        r#"{"type":"resource","resource":{"uri":"unity://a","blob":"aGk=","mimeType":"x/y"}}"#,
        r#"{"type":"resource_link","uri":"file:///a","name":"a"}"#,
    ];
    let line = tool_result(&blocks(&good), &ProtocolVersion::LATEST.into());
    assert_eq!(line, format!(r#"{{"content":[{}]}}"#, good.join(",")));
    for bad in [
        "5",
        "null",
        r#"["text","a"]"#,
        "{}",
        r#"{"type":"text"}"#,
        r#"{"type":"text","text":5}"#,
        r#"{"type":"video","data":"aGk="}"#,
        r#"{"type":"image","data":"aGk="}"#,
        r#"{"type":"resource","resource":{"uri":"unity://a"}}"#,
        r#"{"type":"resource","resource":[]}"#,
        r#"{"type":"resource_link","uri":"file:///a"}"#,
        r#"{"type":"text","type":"image","text":"a"}"#,
        r#"{"type":7,"n":1e400}"#,
    ] {
        let result = blocks(&[r#"{"type":"text","text":"good"}"#, bad]);
        let line = one_line(&tool_result(&result, &ProtocolVersion::LATEST.into()).replace("1e400", "1e40"));
        assert_eq!(line["content"][0]["text"], "good");
        assert_eq!(line["content"][1]["type"], "text", "{bad}");
        assert_eq!(line["content"][1]["text"], bad.replace("1e400", "1e40"));
    }
}

#[test]
fn old_clients_get_a_text_for_a_block_they_do_not_know() {
    let result = blocks(&[
        r#"{"type":"audio","data":"aGk=","mimeType":"audio/wav"}"#,
        r#"{"type":"resource_link","uri":"file:///a","name":"a"}"#,
        r#"{"type":"image","data":"R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=","mimeType":"image/gif"}"#,
    ]);
    for (version, kinds) in [
        (ProtocolVersion::V2024_11_05, ["text", "text", "image"]),
        (ProtocolVersion::V2025_03_26, ["audio", "text", "image"]),
        (ProtocolVersion::V2025_06_18, ["audio", "resource_link", "image"]),
    ] {
        let line = tool_result(&result, &version.into());
        assert_eq!(result_size(&result, &version.into()), line.len());
        let read = one_line(&line);
        let seen: Vec<&str> =
            read["content"].as_array().unwrap().iter().filter_map(|block| block["type"].as_str()).collect();
        assert_eq!(seen, kinds);
    }
}

#[test]
fn an_error_keeps_the_editors_words() {
    let result =
        ToolResult::from_editor(EditorAnswer { is_error: true, body: AnswerBody::Text(String::from("no such scene")) });
    let line = one_line(&tool_result(&result, &ProtocolVersion::V2024_11_05.into()));
    assert_eq!(line, serde_json::json!({"content": [{"type": "text", "text": "no such scene"}], "isError": true}));
}

#[test]
fn text_and_structure_together_stay_small_enough_to_go_inline() {
    // 2.4 MiB of quotes: escaping doubles them in the text, and with the structured copy the result would exceed the bound.
    let big = format!(r#"{{"a":"{}"}}"#, r#"\""#.repeat(RESULT_INLINE_MAX_BYTES / 5));
    let result = json(&big);
    assert!(result.structured.is_none());
    let fine = format!(r#"{{"a":"{}"}}"#, "x".repeat(RESULT_INLINE_MAX_BYTES / 3));
    let result = json(&fine);
    assert!(result.structured.is_some());
    assert!(result_size(&result, &ProtocolVersion::LATEST.into()) <= RESULT_INLINE_MAX_BYTES);
}

#[test]
fn no_result_makes_a_message_that_ends_the_session() {
    let huge = ToolResult::text("\u{1}".repeat(CLIENT_MESSAGE_MAX_BYTES / 4));
    let size = result_size(&huge, &ProtocolVersion::LATEST.into());
    assert!(size > CLIENT_MESSAGE_MAX_BYTES, "escapes count: {size}");
    let line = tool_result(&huge, &ProtocolVersion::LATEST.into());
    assert!(line.len() + REQUEST_ID_MAX_BYTES < CLIENT_MESSAGE_MAX_BYTES);
    let read = one_line(&line);
    assert_eq!(read["isError"], true);
    assert!(read["content"][0]["text"].as_str().unwrap().starts_with("Executed"), "{read}");

    let spilled = huge.spilled(huge.file_text().len(), "/project/Logs/holdfast/results/a.txt");
    assert!(result_size(&spilled, &ProtocolVersion::LATEST.into()) < 1024 && !spilled.is_error);
    assert!(tool_result(&spilled, &ProtocolVersion::LATEST.into()).contains("/project/Logs/holdfast/results/a.txt"));
    assert_eq!(huge.file_text().len(), CLIENT_MESSAGE_MAX_BYTES / 4);
}

#[test]
fn a_file_holds_every_block() {
    let result = blocks(&[r#"{"type":"text","text":"a"}"#, "5"]);
    assert_eq!(result.file_text(), "{\"type\":\"text\",\"text\":\"a\"}\n5");
}

proptest! {
    #[test]
    fn the_size_is_the_length_of_what_is_written(texts in prop::collection::vec("(?s).*", 0..4), is_error: bool, structured: bool) {
        let result = ToolResult {
            content: texts.into_iter().map(Content::Text).collect(),
            structured: structured.then(|| raw("{ \"a\" : [ 1 ] }")),
            is_error,
        };
        for version in ProtocolVersion::ALL {
            let line = tool_result(&result, &version.into());
            prop_assert_eq!(result_size(&result, &version.into()), line.len());
            prop_assert!(!line.contains('\n'));
            prop_assert!(serde_json::from_str::<Value>(&line).is_ok());
        }
    }
}

#[test]
fn gateway_arguments_are_checked_and_the_text_names_the_fix() {
    let parse = |tool: GatewayTool, json: &str| tool.parse_arguments(&raw(json));
    let id = "0f8fad5b-d9cb-469f-a165-70867728950e";
    let call = CallId::parse(id).unwrap();
    for (tool, json, expected) in [
        (GatewayTool::Status, "{}", GatewayCall::Status),
        (GatewayTool::WaitReady, "{}", GatewayCall::WaitReady { timeout: None }),
        (GatewayTool::WaitReady, r#"{"timeout_seconds":null}"#, GatewayCall::WaitReady { timeout: None }),
        (
            GatewayTool::WaitReady,
            r#"{"timeout_seconds":1.5}"#,
            GatewayCall::WaitReady { timeout: Some(Duration::from_millis(1500)) },
        ),
        (GatewayTool::WaitReady, r#"{"timeout_seconds":0}"#, GatewayCall::WaitReady { timeout: Some(Duration::ZERO) }),
        (
            GatewayTool::WaitReady,
            r#"{"timeout_seconds":120}"#,
            GatewayCall::WaitReady { timeout: Some(Duration::from_secs(120)) },
        ),
        (GatewayTool::Result, &format!(r#"{{"call_id":" {} "}}"#, id.to_uppercase()), GatewayCall::Result { call }),
        (GatewayTool::Calls, "{}", GatewayCall::Calls { limit: None, before: None, verdict: None }),
        (
            GatewayTool::Calls,
            r#"{"limit":200.0,"verdict":"ok"}"#,
            GatewayCall::Calls { limit: Some(200), before: None, verdict: Some(String::from("ok")) },
        ),
    ] {
        assert_eq!(parse(tool, json), Ok(expected), "{json}");
    }
    for (tool, json, fix) in [
        (GatewayTool::Status, r#"{"verbose":true}"#, "takes no parameters"),
        (GatewayTool::Status, "[]", "no usable JSON object"),
        (GatewayTool::WaitReady, r#"{"timeout":5}"#, "only `timeout_seconds`"),
        (GatewayTool::WaitReady, r#"{"timeout_seconds":-1}"#, "from 0 to 120"),
        (GatewayTool::WaitReady, r#"{"timeout_seconds":120.1}"#, "from 0 to 120"),
        (GatewayTool::WaitReady, r#"{"timeout_seconds":1e300}"#, "from 0 to 120"),
        (GatewayTool::WaitReady, r#"{"timeout_seconds":1e400}"#, "no usable JSON object"),
        (GatewayTool::WaitReady, r#"{"timeout_seconds":"5"}"#, "from 0 to 120"),
        (GatewayTool::Result, "{}", "holdfast_calls lists them"),
        (GatewayTool::Result, r#"{"call_id":"abc"}"#, "GUID"),
        (GatewayTool::Result, r#"{"call_id":7}"#, "GUID"),
        (GatewayTool::Calls, r#"{"limit":0}"#, "from 1 to 200"),
        (GatewayTool::Calls, r#"{"limit":201}"#, "from 1 to 200"),
        (GatewayTool::Calls, r#"{"limit":1.5}"#, "from 1 to 200"),
        (GatewayTool::Calls, r#"{"verdict":"fine"}"#, "outcome_unknown"),
    ] {
        let error = parse(tool, json).expect_err(json);
        assert!(
            error.contains(fix) && error.contains("not executed") && error.starts_with(tool.name()),
            "{json}: {error}"
        );
    }
}

#[test]
fn no_answer_holds_what_a_strict_parser_refuses() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(124), "]".repeat(124));
    let odd = [r#"{"cut":"half \ud83d"}"#, r#"{"far":1e999}"#, r#"{"far":[-1E400,{"half":"\udc00"}]}"#, &deep];
    for (json, structured) in odd.into_iter().zip([true, false, false, false]) {
        let raw = || RawValue::from_string(json.to_owned()).unwrap();
        let block = format!(r#"{{"type":"resource_link","uri":"u","name":"n","_meta":{json}}}"#);
        for body in [AnswerBody::Json(raw()), AnswerBody::Blocks(vec![RawValue::from_string(block).unwrap()])] {
            let is_json = matches!(body, AnswerBody::Json(_));
            let result = ToolResult::from_editor(EditorAnswer { is_error: false, body });
            let result = tool_result(&result, &ProtocolVersion::V2025_06_18.into());
            let line = jsonrpc::response(&jsonrpc::RequestId::from_number(1), &result);
            let read: serde_json::Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if is_json {
                assert_eq!(read["result"]["content"][0]["text"], json, "the text is as the editor wrote it");
                assert_eq!(read["result"].get("structuredContent").is_some(), structured, "{line}");
            }
        }
    }
}

#[test]
fn a_stored_result_is_read_as_it_was() {
    let written = r#"{"content":[{"type":"text","text":"a"},{"type":"resource_link","uri":"u","name":"n"}],"structuredContent":{"n":1e400},"isError":true}"#;
    let read = ToolResult::from_stored(written);
    assert_eq!((read.content.len(), read.is_error, read.stored()), (2, true, written.to_owned()));
    let array = ToolResult { structured: RawValue::from_string("[1]".to_owned()).ok(), ..ToolResult::text("[1]") };
    assert_eq!(ToolResult::from_stored(&array.stored()).stored(), array.stored(), "no version's form loses anything");
    let read = ToolResult::from_stored(&array.stored());
    assert_eq!(read.structured.map(|json| json.get().to_owned()).as_deref(), Some("[1]"));
    assert_eq!(array.stored().matches("[1]").count(), 1, "a large one takes its place once");
    // A block with more than its text, and a result with more members, as an older version or another client's form has them.
    let more = r#"{"content":[{"type":"text","text":"a","annotations":{}}],"resultType":"complete"}"#;
    assert_eq!(
        ToolResult::from_stored(more).with_line("b").stored(),
        r#"{"content":[{"type":"text","text":"a","annotations":{}},{"type":"text","text":"b"}]}"#
    );
    let broken = r#"{"content":[1,null,{"type":"hologram"},{"type":"image","data":"x"}]}"#;
    assert!(ToolResult::from_stored(broken).content.iter().all(|content| matches!(content, Content::Text(_))));
    let deep = format!(r#"{{"content":[],"structuredContent":{}{}}}"#, "[".repeat(5000), "]".repeat(5000));
    assert!(ToolResult::from_stored(&deep).structured.is_none(), "many readers refuse it");
    for foreign in ["[1]", "{}", r#"{"content":1}"#, "not JSON"] {
        assert_eq!(ToolResult::from_stored(foreign).file_text(), foreign);
    }
}
