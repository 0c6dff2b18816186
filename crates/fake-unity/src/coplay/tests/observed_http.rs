//! What an observer reads of the bytes of a WebSocket.

use super::*;
use crate::coplay::websocket::{self, CLOSE, TEXT};
use crate::observer::{self, Asked, NoFrame};

const HEAD: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";

/// A frame of the editor.
fn said(text: &str) -> Vec<u8> {
    websocket::frame(TEXT, text.as_bytes(), [1, 200, 3, 13])
}

/// A frame of the gateway, which masks nothing.
fn asked(text: &str) -> Vec<u8> {
    let mut frame = vec![0x81];
    match text.len() {
        length @ 0..126 => frame.push(length as u8),
        length => {
            frame.push(126);
            frame.extend((length as u16).to_be_bytes());
        }
    }
    [frame.as_slice(), text.as_bytes()].concat()
}

#[test]
fn frames_of_both_sides_and_the_handshake_have_their_lengths() {
    let length = HTTP.wire.length;
    let request = websocket::request("127.0.0.1", 8080, "/hub/plugin", "key");
    let long = format!(r#"{{"type":"pong","session_id":"{}"}}"#, "s".repeat(70_000));
    for frame in [
        request.into_bytes(),
        HEAD.as_bytes().to_vec(),
        asked("{}"),
        asked(&long[..200]),
        said("{}"),
        said(&long[..200]),
        said(&long),
        websocket::frame(CLOSE, &[3, 232], [0; 4]),
    ] {
        let next = [frame.as_slice(), said("{}").as_slice()].concat();
        assert_eq!(length(&next), Ok(Some(frame.len())));
        for cut in 0..frame.len().min(20) {
            assert_eq!(length(&frame[..cut]), Ok(None), "{cut} bytes of {frame:?}");
        }
        assert_eq!(length(&frame[..frame.len() - 1]), Ok(None));
    }
    for bytes in [b"\xc1\x00".as_slice(), b"\x01\x00", b"Content-Length: 3", b"\x82", b"{}"] {
        assert_eq!(length(bytes), Err(NoFrame), "{bytes:?}");
    }
}

#[test]
fn what_is_asked_is_told_apart_from_what_is_only_said() {
    let of = |frame: &[u8]| (HTTP.wire.asked)(frame, &observer::message(frame));
    let call = r#"{"type":"execute","id":"686f6c64-6661-7374-0000-000000000007","name":"echo","params":{"text":"a"},"timeout":3600}"#;
    let frame = asked(call);
    let id = "686f6c64-6661-7374-0000-000000000007".to_owned();
    assert_eq!(of(&frame), Asked { method: "echo".to_owned(), id, sending: None, is_call: true });
    assert_eq!((HTTP.wire.arguments)(&observer::message(&frame)), json!({"text": "a"}));
    for name in ["ping", "get_tool_states"] {
        let asked = of(&asked(&call.replace("echo", name)));
        assert_eq!((asked.method.as_str(), asked.is_call, asked.id.is_empty()), (name, false, false));
    }
    let registered = of(&[asked(r#"{"type":"registered"}"#), frame].concat());
    assert_eq!(registered, Asked { method: "registered".to_owned(), ..Asked::default() }, "only the first is read");
    for nothing in [HEAD.as_bytes(), &websocket::frame(CLOSE, &[3, 232], [0; 4]), b"\x88\x00", b"\x81\x7f"] {
        assert_eq!(of(nothing), Asked::default());
    }
}

#[test]
fn answers_are_told_apart_from_what_the_editor_says_by_itself() {
    let wire = &HTTP.wire;
    let says = |text: &str| (wire.says)(&observer::message(&said(text)));
    assert_eq!(says(r#"{"type":"pong","session_id":"s"}"#).as_deref(), Some("pong"));
    let result =
        |reply: &str| observer::message(&said(&format!(r#"{{"type":"command_result","id":"7","result":{reply}}}"#)));
    let good = result(r#"{"status":"success","result":{"success":true,"Runs":1}}"#);
    assert_eq!(((wire.says)(&good), observer::id_of(&good)), (None, "7".to_owned()));
    let answered = (wire.answered)(&good).unwrap();
    assert_eq!((answered.is_result, answered.failed, &answered.result["Runs"]), (true, false, &json!(1)));
    assert_eq!((wire.answered)(&observer::message(&said(r#"{"type":"pong","result":{"status":"success"}}"#))), None);
    let refused = result(r#"{"status":"error","error":"Unknown or unsupported command type: x","command":"Unknown"}"#);
    let too_long = result(r#"{"status":"error","error":"Command 'x' timed out after 30 seconds"}"#);
    assert_eq!([&good, &refused, &too_long].map(|message| (wire.is_unrun)(message)), [false, true, false]);
}
