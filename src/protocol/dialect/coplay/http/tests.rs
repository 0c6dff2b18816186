//! Tests the golden vectors, and the first words of an editor in any pieces.

use super::super::super::tests::{Vector, all, have_kinds};
use super::super::super::{AnswerBody, EditorEvent, Heard, Introduction, LeaveReason};
use super::*;
use crate::protocol::framing::websocket::text;
use proptest::prelude::*;

const CHALLENGE: &str = "11111111222243338444555555555555";

fn vectors() -> Vec<Vector> {
    all("coplay-http")
}

/// The vectors of a kind.
fn of_kind(kind: &str) -> Vec<Vector> {
    vectors().into_iter().filter(|vector| vector.said("kind") == kind).collect()
}

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

/// Makes a client's frame.
fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = [7, 0xa5, 0, 0x81];
    let mut frame = vec![first];
    match payload.len() {
        length @ 0..126 => frame.push(0x80 | length as u8),
        length => {
            frame.push(0x80 | 126);
            frame.extend((length as u16).to_be_bytes());
        }
    }
    frame.extend(mask);
    frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

fn message(text: &str) -> Vec<u8> {
    masked(0x81, text.as_bytes())
}

/// The request of an editor, and its registration.
fn words() -> (String, Vec<u8>) {
    let first = |kind: &str| of_kind(kind)[0].text("body").to_owned();
    (first("upgrade"), message(&first("register")))
}

/// A peer that was upgraded.
fn upgraded() -> Box<dyn Reception> {
    let mut hub = CoplayHttp.reception().unwrap();
    assert!(matches!(hub.hear(words().0.as_bytes()), Ok(Heard::NotYet(answer)) if !answer.is_empty()));
    hub
}

fn reply(body: &str) -> Reply {
    match CoplayHttp.decode(body.as_bytes()) {
        Ok(Inbound::Reply { number: 7, reply }) => reply,
        other => panic!("{body}: {other:?}"),
    }
}

#[test]
fn every_vector_has_a_kind_that_is_known() {
    let known = [
        "alive",
        "bad_message",
        "call",
        "error",
        "greeted",
        "greeting",
        "leaving",
        "list_tools",
        "register",
        "result",
        "tools",
        "tools_changed",
        "unmatched",
        "upgrade",
        "wreck",
    ];
    have_kinds(&vectors(), &known);
}

#[test]
fn an_upgrade_is_answered_and_the_editor_is_welcomed_or_refused_in_the_words_of_http() {
    for vector in of_kind("upgrade") {
        let (name, body) = (vector.text("name"), vector.text("body"));
        let mut hub = CoplayHttp.reception().unwrap();
        match (hub.hear(body.as_bytes()), vector.means("refused").as_str()) {
            (Ok(Heard::NotYet(said)), None) => {
                let expected = [vector.said("answer").as_bytes(), &text(vector.said("welcome"))].concat();
                assert_eq!(said, expected, "{name}");
            }
            (Err(why), Some(part)) => {
                assert!(why.to_string().contains(part), "{name}: {why}");
                let told = hub.turn_away(&why.to_string());
                assert!(told.starts_with(b"HTTP/1.1 403 ") && told.ends_with(format!("{why}\n").as_bytes()), "{name}");
            }
            (other, _) => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn a_registration_is_taken_with_its_hash_or_closed_with_a_code() {
    for vector in of_kind("register") {
        let name = vector.text("name");
        let mut hub = upgraded();
        match (hub.hear(&message(vector.text("body"))), vector.means("refused").as_str()) {
            (Ok(Heard::Introduced(Introduction { project, rest })), None) => {
                assert_eq!((project.as_str(), rest.len()), (vector.said("project"), 0), "{name}");
            }
            (Err(why), Some(part)) => {
                assert!(why.to_string().contains(part), "{name}: {why}");
                let told = hub.turn_away(&why.to_string());
                let code = u16::try_from(vector.means("code").as_u64().unwrap()).unwrap();
                assert_eq!(
                    (told[0], &told[2..4], &told[4..]),
                    (0x88, &code.to_be_bytes()[..], why.to_string().as_bytes())
                );
            }
            (other, _) => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn before_it_registers_an_editor_may_say_what_is_not_known_and_is_answered_as_a_websocket_is() {
    let (_, register) = words();
    let mut hub = upgraded();
    let before = [message("{"), message(r#"{"type":"later"}"#), masked(0x89, b"?")].concat();
    assert_eq!(hub.hear(&before).unwrap(), Heard::NotYet(b"\x8a\x01?"[..].into()));
    let after = message(r#"{"type":"pong"}"#);
    let heard = hub.hear(&[register, after.clone()].concat()).unwrap();
    assert_eq!(heard, Heard::Introduced(Introduction { project: "/p/Game".into(), rest: after.into() }));
}

#[test]
fn a_peer_that_closes_or_hurries_or_is_no_websocket_is_refused() {
    let refused = |bytes: &[u8], part: &str| {
        let why = upgraded().hear(bytes).unwrap_err().to_string();
        assert!(why.contains(part), "{why}");
    };
    refused(&masked(0x88, &[3, 0xe8]), "closed");
    refused(b"\x81\x02{}", "bad frames");
    let (request, register) = words();
    let mut hub = CoplayHttp.reception().unwrap();
    let why = hub.hear(&[request.as_bytes(), &register].concat()).unwrap_err().to_string();
    assert!(why.contains("before it has an answer"), "{why}");
}

/// The messages of bytes that we wrote.
fn written(encoded: Result<Encoded, EncodeError>) -> String {
    let Ok(Encoded::Frame(frame)) = encoded else { panic!("{encoded:?}") };
    let mut messages = Vec::new();
    let mut rest = &frame[..];
    while let [0x81, length, bytes @ ..] = rest {
        let (length, bytes) = match length {
            126 => (usize::from(u16::from_be_bytes(*bytes.first_chunk().unwrap())), &bytes[2..]),
            length => (usize::from(*length), bytes),
        };
        messages.push(std::str::from_utf8(&bytes[..length]).unwrap().to_owned());
        rest = &bytes[length..];
    }
    assert!(rest.is_empty(), "{rest:?}");
    messages.join("\n")
}

#[test]
fn requests_are_sent_byte_for_byte() {
    let id = WireId { number: 7, call: None, agreed: None };
    let hello = Hello { challenge: CHALLENGE.to_owned(), ..Hello::default() };
    let encoded = |order: &Order<'_>| written(CoplayHttp.encode(id, order));
    let [greeting] = &of_kind("greeting")[..] else { panic!() };
    let expected = format!("{}\n{}", greeting.said("before"), greeting.text("body"));
    assert_eq!(encoded(&Order::Greeting { hello: &hello, said: &[] }), expected);
    let [list] = &of_kind("list_tools")[..] else { panic!() };
    assert_eq!(encoded(&Order::ListTools { step: 0, development: false }), list.text("body"));
    let [call] = &of_kind("call")[..] else { panic!() };
    let tool = call.said("tool");
    let prepared = PreparedCall::as_given(&raw(call.said("arguments")));
    let order = Order::Call { tool, call: &prepared, expected: None, progress: false };
    assert_eq!(encoded(&order), call.text("body"));
    let large = PreparedCall::as_given(&raw(&format!("{{\"a\":\"{}\"}}", "x".repeat(EDITOR_MESSAGE_MAX_BYTES))));
    let order = Order::Call { tool, call: &large, expected: None, progress: false };
    assert!(matches!(CoplayHttp.encode(id, &order), Err(EncodeError::TooLarge { .. })));
}

#[test]
fn the_editor_never_gives_a_call_up_before_the_gateway_does() {
    let id = WireId { number: 7, call: None, agreed: None };
    for (own, told) in [(None, 3600), (Some(30), 3600), (Some(7200), 7200)] {
        let mut call = PreparedCall::as_given(&raw("{}"));
        call.timeout = own.map(Duration::from_secs);
        let order = Order::Call { tool: "t", call: &call, expected: None, progress: false };
        let message = written(CoplayHttp.encode(id, &order));
        assert!(message.ends_with(&format!("\"timeout\":{told}}}")), "{message}");
    }
}

#[test]
fn every_message_means_what_its_vector_says() {
    for vector in vectors().iter().filter(|vector| vector.text("direction") == "from_editor") {
        let (name, body) = (vector.text("name"), vector.text("body"));
        let decoded = || CoplayHttp.decode(body.as_bytes());
        match vector.said("kind") {
            "upgrade" | "register" => {}
            "greeted" => {
                let said = [reply(body)];
                assert!(matches!(CoplayHttp.check_greeting(&Hello::default(), &said), Ok(Greeted::Done(_))), "{name}");
            }
            "result" => {
                let answer = CoplayHttp.read_answer(reply(body));
                assert_eq!(Some(answer.is_error), vector.means("is_error").as_bool(), "{name}");
                let AnswerBody::Json(json) = answer.body else { panic!("{name}: {:?}", answer.body) };
                assert_eq!(json.get(), vector.said("result"), "{name}");
            }
            "error" => {
                let reply = reply(body);
                assert_eq!(Some(CoplayHttp.gives_up(&reply)), vector.means("given_up").as_bool(), "{name}");
                let Reply::Error(error) = reply else { panic!("{name}") };
                assert_eq!(error.message, vector.said("message"), "{name}");
            }
            "tools" => {
                let names = vector.means("tools").as_array();
                let names = names.map(|names| names.iter().map(|name| name.as_str().unwrap()).collect::<Vec<_>>());
                match CoplayHttp.read_tools(&reply(body), 0) {
                    ListStep::Failed(_) => assert_eq!(vector.means("failed").as_bool(), Some(true), "{name}"),
                    ListStep::Tools(listing) if names.is_none() => {
                        assert_eq!(vector.means("catalogue").as_bool(), Some(true), "{name}");
                        assert!(listing.tools.len() > tools::stated().tools.len(), "{name}");
                    }
                    ListStep::Tools(listing) => {
                        // What answers resources is in every list.
                        let said = listing.tools.iter().filter(|tool| tool.group.as_deref() != Some("resources"));
                        assert_eq!(Some(said.map(|tool| tool.name.as_str()).collect()), names, "{name}");
                    }
                    ListStep::TryNext => panic!("{name}"),
                }
            }
            "wreck" => assert!(matches!(reply(body), Reply::Wreck(_)), "{name}"),
            "unmatched" => assert!(matches!(decoded(), Ok(Inbound::Unmatched { .. })), "{name}"),
            "bad_message" => {
                let label: &str = decoded().unwrap_err().into();
                assert_eq!(label, vector.said("label"), "{name}");
            }
            "tools_changed" => {
                assert!(matches!(decoded(), Ok(Inbound::Event(EditorEvent::ToolsChanged))), "{name}");
            }
            "alive" => assert!(matches!(decoded(), Ok(Inbound::Alive(None))), "{name}"),
            "leaving" => {
                let leaving = EditorEvent::Leaving(LeaveReason::Unknown);
                assert!(matches!(decoded(), Ok(Inbound::Event(event)) if event == leaving), "{name}");
            }
            kind => panic!("{kind}"),
        }
    }
}

proptest! {
    #[test]
    fn the_first_words_of_an_editor_are_understood_in_any_pieces(cut in 1_usize..40) {
        let (request, register) = words();
        let mut hub = CoplayHttp.reception().unwrap();
        for piece in request.as_bytes().chunks(cut) {
            prop_assert!(matches!(hub.hear(piece), Ok(Heard::NotYet(_))));
        }
        let mut heard = None;
        for piece in register.chunks(cut) {
            heard = Some(hub.hear(piece).unwrap());
        }
        let introduced = Introduction { project: "/p/Game".into(), rest: bytes::Bytes::new() };
        prop_assert_eq!(heard, Some(Heard::Introduced(introduced)));
    }

    #[test]
    fn no_bytes_of_a_peer_break_anything(bytes in prop::collection::vec(any::<u8>(), 0..400), first in any::<bool>()) {
        let mut hub = if first { CoplayHttp.reception().unwrap() } else { upgraded() };
        let _ = hub.hear(&bytes);
        let _ = hub.turn_away("no");
        let _ = CoplayHttp.decode(&bytes);
    }
}
