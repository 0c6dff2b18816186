//! The JSON-RPC layer. The parser and the scan for ids must agree, and the layout of a message must make no difference.

use holdfast::limits::JSON_DEPTH_MAX;
use holdfast::protocol::jsonrpc::{self, IdScanner, Message};
use serde_json::Value;

/// Parses a line. A message that was read, written and read again must be unchanged, and the scan must find the same id as
/// the parser.
pub fn parse(line: &[u8]) {
    let mut scanner = IdScanner::new();
    scanner.push(line);
    match jsonrpc::parse(line) {
        Ok(Message::Request { id, method, params }) => {
            assert_eq!(scanner.finish().as_ref(), Some(&id), "the scan finds what the parser finds");
            assert!(scanner.saw_method() && scanner.owes_answer());
            let params = params.map(|params| params.get().to_owned());
            let written = jsonrpc::request(&id, &method, params.as_deref());
            assert!(!written.contains(['\n', '\r']), "one line");
            match jsonrpc::parse(written.as_bytes()) {
                Ok(Message::Request { id: again, method: same, params: kept }) => {
                    assert_eq!((again.as_json(), same), (id.as_json(), method));
                    assert_eq!(value(kept.as_ref().map(|raw| raw.get())), value(params.as_deref()));
                }
                other => panic!("{written} read back as {other:?}"),
            }
        }
        Ok(Message::Notification { .. }) => {
            assert!(scanner.finish().is_none() && scanner.saw_method() && !scanner.owes_answer());
        }
        Ok(Message::Response { id, outcome }) => {
            assert!(scanner.is_response() && !scanner.owes_answer());
            assert_eq!(scanner.finish(), id);
            if let (Ok(result), Some(id)) = (outcome, id) {
                let written = jsonrpc::response(&id, result.get());
                assert!(!written.contains(['\n', '\r']), "one line");
                assert!(matches!(jsonrpc::parse(written.as_bytes()), Ok(Message::Response { .. })), "{written}");
            }
        }
        Err(invalid) => {
            assert!(invalid.id.is_none() || invalid.id == scanner.finish(), "{invalid:?}");
            let answer = jsonrpc::error(invalid.id.as_ref(), &invalid.to_error());
            assert!(!answer.contains(['\n', '\r']), "one line");
            match jsonrpc::parse(answer.as_bytes()) {
                Ok(Message::Response { id, outcome: Err(_) }) => assert_eq!(id, invalid.id),
                other => panic!("{answer} read back as {other:?}"),
            }
        }
    }
}

fn value(text: Option<&str>) -> Option<Value> {
    text.and_then(|text| serde_json::from_str(text).ok())
}

/// Scans a text for ids. Any split must give the same result, and in a well-formed object the scan must find the members that
/// a JSON parser finds.
pub fn scan(text: &[u8]) {
    let mut whole = IdScanner::new();
    whole.push(text);
    let mut single = IdScanner::new();
    text.chunks(1).for_each(|byte| single.push(byte));
    let (early, late) = text.split_at(text.len() / 2);
    let mut halves = IdScanner::new();
    halves.push(early);
    halves.push(late);
    for other in [single, halves] {
        assert_eq!(other.finish(), whole.finish());
        assert_eq!(
            (other.saw_method(), other.is_response(), other.owes_answer()),
            (whole.saw_method(), whole.is_response(), whole.owes_answer())
        );
    }
    // If a member occurs twice, serde_json keeps the last one. Which names occur is the same for serde_json and the scan.
    if let Ok(Value::Object(members)) = serde_json::from_slice(text) {
        let outcome = members.contains_key("result") || members.contains_key("error");
        assert_eq!(whole.saw_method(), members.contains_key("method"));
        assert_eq!(whole.is_response(), outcome && !members.contains_key("method"));
        if let Some(id) = whole.finish() {
            let read: Value = serde_json::from_str(id.as_json()).expect("an id is JSON");
            assert_eq!(Some(&read), members.get("id"), "it is the member's own value");
        } else if let Some(id) = members.get("id").and_then(Value::as_u64) {
            let spelt = String::from_utf8_lossy(text);
            assert!(spelt.matches("id").count() > 1 || spelt.contains('\\'), "{spelt}: missed the id {id}");
        }
    }
}

/// Compacts a text. Its value and the spelling of its numbers must stay the same, and a second compaction must change
/// nothing.
pub fn compact(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let short = jsonrpc::compact(&text);
    assert_eq!(jsonrpc::compact(&short), short, "once is enough");
    if let Ok(value) = serde_json::from_str::<Value>(&text) {
        assert!(!short.contains(['\n', '\r', '\t']), "one line: {short:?}");
        assert_eq!(serde_json::from_str::<Value>(&short).ok(), Some(value));
        // serde_json itself refuses texts that are nested deeper, so what it has parsed is within the limit.
        assert!(jsonrpc::depth_ok(text.as_bytes(), JSON_DEPTH_MAX));
    }
    let mut quoted = String::new();
    jsonrpc::quote_into(&mut quoted, &text);
    assert_eq!(quoted.len(), jsonrpc::quoted_len(&text));
    assert_eq!(serde_json::from_str::<String>(&quoted).ok().as_deref(), Some(text.as_ref()));
}
