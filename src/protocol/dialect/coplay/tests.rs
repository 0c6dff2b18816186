//! Tests the golden vectors, the editor's greeting, and the files of project and user.

use super::super::tests::{Vector, all, have_kinds};
use super::super::{Activity, AnswerBody, FileState, Refusal, Refused, RefusedCall};
use super::http::CoplayHttp;
use super::*;
use crate::protocol::framing::BadFrame;
use crate::protocol::ids::CallId;

const ID: WireId = WireId { number: 7, call: None, agreed: None };
const STATUS: &str = "~/.unity-mcp/unity-mcp-status-….json";

fn raw(text: impl Into<String>) -> Box<RawValue> {
    RawValue::from_string(text.into()).unwrap()
}

fn vectors(direction: &str) -> Vec<Vector> {
    all("coplay").into_iter().filter(|vector| vector.text("direction") == direction).collect()
}

fn prepared(tool: &str, arguments: &str) -> PreparedCall {
    let sending = Sending::first(CallId::from_random([7; 16]), true);
    Coplay.prepare_call(&sending, tool, None, &raw(arguments))
}

fn reply(body: &str) -> Reply {
    match Coplay.decode(body.as_bytes()) {
        Ok(Inbound::Next(reply)) => reply,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_vector_has_a_kind_that_is_known() {
    have_kinds(&all("coplay"), &["call", "error", "greeting", "list_tools", "result", "wreck"]);
}

#[test]
fn requests_are_sent_byte_for_byte() {
    for vector in vectors("to_editor") {
        let encoded = match vector.said("kind") {
            "greeting" => Coplay.encode(ID, &Order::Greeting { hello: &Hello::default(), said: &[] }),
            "list_tools" => Coplay.encode(ID, &Order::ListTools { step: 0, development: false }),
            "call" => {
                let call = prepared(vector.said("tool"), vector.said("arguments"));
                assert_eq!(call.misread, None, "{}", vector.text("name"));
                let order = Order::Call { tool: vector.said("tool"), call: &call, expected: None, progress: false };
                Coplay.encode(ID, &order)
            }
            kind => panic!("{kind}"),
        };
        let Ok(Encoded::Frame(frame)) = encoded else { panic!("{encoded:?}") };
        assert_eq!(std::str::from_utf8(&frame).unwrap(), vector.text("frame"), "{}", vector.text("name"));
    }
    assert!(matches!(Coplay.encode(ID, &Order::Heartbeat), Err(EncodeError::NotSpoken)));
}

#[test]
fn a_tool_without_a_name_is_not_called() {
    assert!(prepared("execute_custom_tool", r#"{"parameters":{}}"#).misread.is_some());
    assert!(prepared("execute_custom_tool", r#"{"tool_name":"x"}"#).misread.is_none());
}

#[test]
fn every_reply_means_what_its_vector_says() {
    for vector in vectors("from_editor") {
        let (name, reply) = (vector.text("name"), reply(vector.text("body")));
        let greets = Coplay.check_greeting(&Hello::default(), std::slice::from_ref(&reply)).is_ok();
        assert_eq!(greets, vector.means("greets").as_bool() == Some(true), "{name}");
        match vector.said("kind") {
            "wreck" => assert!(matches!(reply, Reply::Wreck(_)), "{name}"),
            "error" => {
                let gives_up = Coplay.gives_up(&reply);
                assert_eq!(gives_up, vector.means("gives_up").as_bool() == Some(true), "{name}");
                let Reply::Error(error) = reply else { panic!("{name}") };
                assert_eq!(error.message, vector.said("message"), "{name}");
                let how = match vector.means("refused").as_str() {
                    Some("busy") => Some(Refusal::Busy),
                    Some("final") => Some(Refusal::Final),
                    Some("not_yet") => Some(Refusal::NotYet),
                    _ => None,
                };
                let tools = vector.means("tools").as_array();
                match (error.refusal, how) {
                    (None, None) => {}
                    (Some(Refused { how, of }), Some(wanted)) => {
                        assert_eq!((how, matches!(of, RefusedCall::Any)), (wanted, tools.is_none()), "{name}");
                        let refused = Refused { how, of };
                        assert_eq!(refused.for_call("mine", false).is_some(), tools.is_none(), "{name}");
                        for tool in tools.into_iter().flatten() {
                            assert_eq!(refused.for_call(tool.as_str().unwrap(), false), Some(how), "{name}");
                        }
                    }
                    (refusal, how) => panic!("{name}: {refusal:?}, not {how:?}"),
                }
            }
            _ => {
                let answer = Coplay.read_answer(reply);
                assert_eq!(answer.is_error, vector.means("is_error").as_bool() == Some(true), "{name}");
                let (json, blocks) = match answer.body {
                    AnswerBody::Json(json) => (json, String::new()),
                    AnswerBody::JsonAndBlocks(json, blocks) => {
                        (json, blocks.iter().map(|block| block.get()).collect::<String>())
                    }
                    other => panic!("{name}: {other:?}"),
                };
                assert_eq!(json.get(), vector.said("result"), "{name}");
                for told in ["note", "picture"].into_iter().filter_map(|member| vector.means(member).as_str()) {
                    assert!(blocks.contains(told), "{name}: {blocks}");
                }
            }
        }
    }
}

/// Gives bytes to a decoder in pieces of this length, and returns the frames, or what is wrong.
fn framed(bytes: &[u8], piece: usize) -> Result<Vec<Vec<u8>>, BadFrame> {
    let mut framer = Coplay.framer();
    let mut frames = Vec::new();
    for piece in bytes.chunks(piece) {
        framer.push(piece);
        while let Some(frame) = framer.next_frame()? {
            frames.push(frame.to_vec());
        }
    }
    Ok(frames)
}

#[test]
fn frames_follow_the_greeting_however_the_bytes_are_split() {
    let greeting = b"WELCOME UNITY-MCP 1 FRAMING=1 FORK=9\r\n".to_vec();
    let frames = [framer::frame(b"{}"), vec![0; 8].into(), framer::frame(b"[1]")].concat();
    let all = [greeting, frames].concat();
    for piece in [1, 2, 7, 8, 9, all.len()] {
        assert_eq!(framed(&all, piece), Ok(vec![b"{}".to_vec(), b"[1]".to_vec()]), "{piece}");
    }
}

#[test]
fn what_does_not_greet_as_the_package_does_is_refused_and_stays_refused() {
    let long = format!("WELCOME UNITY-MCP 1 {}", "x".repeat(2000));
    let refused = [
        ("HTTP/1.1 400 Bad Request\r\n", "does not greet"),
        ("WELCOME TO SMTP\n", "does not greet"),
        ("WELCOME UNITY-MCP 1\n", "older than 8.0"),
        ("WELCOME UNITY-MCP 1 FRAMING=1 BRIDGE_PROTOCOL=2\n", "BRIDGE_PROTOCOL=2"),
        (&*long, "no end"),
    ];
    for (said, why) in refused {
        for piece in [1, said.len()] {
            let bad = framed(said.as_bytes(), piece).unwrap_err();
            assert!(bad.to_string().contains(why), "{said}: {bad}");
        }
    }
    let mut framer = Coplay.framer();
    framer.push(b"HTTP");
    assert!(framer.next_frame().is_err());
    framer.push(b"WELCOME UNITY-MCP 1 FRAMING=1\n");
    assert!(framer.next_frame().is_err());
    let huge = [b"WELCOME UNITY-MCP 1 FRAMING=1\n".to_vec(), u64::MAX.to_be_bytes().to_vec()].concat();
    assert!(matches!(framed(&huge, 5), Err(BadFrame::TooLarge { length: u64::MAX, .. })));
}

#[test]
fn the_users_file_is_named_by_the_projects_path() {
    let file = Coplay.user_file("/p/Game").unwrap();
    // The digest of `/p/Game/Assets`, by another program.
    assert_eq!((file.name.as_str(), file.folder), ("unity-mcp-status-216e65a3.json", ".unity-mcp"));
    assert_eq!(Coplay.user_file(r"C:\p\Game").unwrap().name, Coplay.user_file("C:/p/Game/").unwrap().name);
}

fn files_of(status: &str) -> ProjectFiles {
    let files = [
        (
            "Packages/manifest.json",
            r#"{"dependencies":{"com.coplaydev.unity-mcp":"https://github.com/CoplayDev/unity-mcp.git?path=/MCPForUnity#v10.3.0"}}"#,
        ),
        (STATUS, status),
    ];
    let files = files.into_iter().filter(|(_, content)| !content.is_empty());
    files.map(|(path, content)| (path, FileState::Content(content.into()))).collect()
}

fn facts(status: &str) -> ProjectFacts {
    Coplay.read_project(&files_of(status))
}

#[test]
fn the_status_file_says_where_the_editor_listens_and_what_it_does() {
    let status = |reason: &str, reloading: bool| {
        facts(&format!(
            r#"{{"unity_port":6401,"reloading":{reloading},"reason":"{reason}","unity_version":"6000.0.1f1"}}"#
        ))
    };
    let ready = status("ready", false);
    assert_eq!((ready.port, ready.activity, ready.installed), (Some((6401, STATUS)), None, true));
    assert_eq!(ready.package_version.as_deref(), Some("10.3.0"));
    assert_eq!(ready.editor_version.as_deref(), Some("6000.0.1f1"));
    let reloads = status("reloading", true);
    assert_eq!((reloads.port, reloads.activity), (None, Some(Activity::Reloading)));
    for (reason, flag) in [("starting", false), ("port_busy", true)] {
        let told = status(reason, flag);
        assert_eq!((told.port, told.activity), (None, Some(Activity::Starting)), "{reason}: nothing listens yet");
    }
    for reason in ["start_failed", "stopped"] {
        let told = status(reason, false);
        assert_eq!((told.port, told.problems.len()), (None, 1), "{reason}");
    }
    // The editor does not write the file in one step.
    for torn in ["", "{", r#"{"unity_po"#, "null"] {
        let told = facts(torn);
        assert_eq!((told.port, told.problems.len(), told.installed), (None, 0, true), "{torn}");
    }
    assert_eq!(facts(r#"{"unity_port":0,"reason":"ready"}"#).problems.len(), 1);
}

#[test]
fn a_file_without_the_package_is_a_record_only() {
    let files = [(STATUS, FileState::Content(br#"{"unity_port":6400,"reason":"ready"}"#.to_vec()))];
    let facts = Coplay.read_project(&files.into());
    assert!(facts.installed && facts.by_record);
    assert!(!CoplayHttp.read_project(&files_of("")).by_record, "without the file the editor connects to us");
    assert!(Coplay.read_project(&files_of("")).by_record && CoplayHttp.read_project(&files_of("{}")).by_record);
    assert!(!Coplay.read_project(&files_of("{}")).by_record);
    assert_eq!(Coplay.read_project(&ProjectFiles::new()), ProjectFacts::default());
}
