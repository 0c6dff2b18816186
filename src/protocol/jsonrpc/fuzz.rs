//! Fuzz targets. `cargo test` runs each for at most a second with random input; a fuzzer runs the same functions for hours.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::Value;

use super::*;

const ITERATIONS: usize = 20_000;
const TEST_TIME: Duration = Duration::from_millis(800);

/// Turns each input byte into a piece of text, so that the result resembles JSON-RPC but is rarely valid. Random bytes would not
/// reach such texts.
fn near_json(input: &[u8]) -> Vec<u8> {
    const PIECES: [&[u8]; 32] = [
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\"",
        b"\\",
        b"\"id\"",
        b"\"id\":",
        b"\"method\":\"m\"",
        b"\"jsonrpc\":\"2.0\"",
        b"\"params\":{",
        b"\"result\":",
        b"\"error\":",
        b"1",
        b"-0",
        b"1e400",
        b"9007199254740993",
        b"\"a\"",
        b"\\\"",
        b"null",
        b"\n",
        b" ",
        b"\xEF\xBB\xBF",
        b"\xC3\xA9",
        b"\xFF",
        b"\"\\ud800\"",
        b"\"\\u0069d\":",
        b"{\"jsonrpc\":\"2.0\",\"id\":",
        b"\0",
        b"{}",
    ];
    input.iter().flat_map(|byte| PIECES[usize::from(*byte) % PIECES.len()]).copied().collect()
}

fn check_parse(line: &[u8]) {
    let mut scanner = IdScanner::new();
    scanner.push(line);
    match parse(line) {
        Ok(Message::Request { id, method, params }) => {
            assert_eq!(scanner.finish().as_ref(), Some(&id), "the scan finds what the parser finds");
            assert!(scanner.saw_method() && scanner.owes_answer());
            let written = request(&id, &method, params.as_deref().map(serde_json::value::RawValue::get));
            assert!(!written.contains('\n'));
            match parse(written.as_bytes()) {
                Ok(Message::Request { id: again, method: same, .. }) => {
                    assert_eq!((again.as_json(), same), (id.as_json(), method));
                }
                other => panic!("{written} read back as {other:?}"),
            }
        }
        Ok(Message::Notification { .. }) => {
            assert!(scanner.finish().is_none() && scanner.saw_method() && !scanner.owes_answer());
        }
        Ok(Message::Response { id, .. }) => {
            assert!(scanner.is_response() && !scanner.owes_answer());
            assert_eq!(scanner.finish(), id);
        }
        Err(invalid) => {
            // The parser removes the white space after the message, so to it a number at the end looks cut. This scanner sees the
            // white space that ends the number.
            assert!(invalid.id.is_none() || invalid.id == scanner.finish(), "{invalid:?}");
            assert!(parse(error(invalid.id.as_ref(), &invalid.to_error()).as_bytes()).is_ok());
        }
    }
}

#[test]
fn parse_and_scan_agree_on_any_bytes() {
    bolero::check!().with_iterations(ITERATIONS).with_test_time(TEST_TIME).for_each(|input: &[u8]| {
        check_parse(input);
        check_parse(&near_json(input));
    });
}

#[test]
fn a_scan_is_the_same_in_any_split() {
    bolero::check!().with_iterations(ITERATIONS).with_test_time(TEST_TIME).for_each(|input: &[u8]| {
        let text = near_json(input);
        let mut whole = IdScanner::new();
        whole.push(&text);
        let mut split = IdScanner::new();
        for byte in &text {
            split.push(&[*byte]);
        }
        assert_eq!(split.finish(), whole.finish());
        assert_eq!(split.is_response(), whole.is_response());
        assert_eq!(split.owes_answer(), whole.owes_answer());
    });
}

/// The parts that are found follow one another in the text. If the text is JSON, a parser finds the same parts.
fn check_parts(text: &[u8]) {
    let position = |part: &[u8]| part.as_ptr().addr() - text.as_ptr().addr();
    let mut end = 0;
    for (name, value) in spans::members(text).into_iter().flatten() {
        assert!(name.is_empty() || position(name) >= end);
        assert!(value.is_empty() || position(value) >= end);
        end = if value.is_empty() { end } else { position(value) + value.len() };
    }
    assert!(spans::items(text).into_iter().flatten().all(|item| item.len() <= text.len()));
    let Ok(Value::Object(object)) = serde_json::from_slice::<Value>(text) else { return };
    let found = spans::find(text, ["id", "result"]).unwrap();
    for (value, name) in found.values.into_iter().zip(["id", "result"]).filter(|_| found.is_whole) {
        let value = value.map(|value| serde_json::from_slice::<Value>(value).unwrap());
        assert_eq!(value.as_ref(), object.get(name), "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn the_parts_of_any_bytes_are_found_where_they_are() {
    bolero::check!().with_iterations(ITERATIONS).with_test_time(TEST_TIME).for_each(|input: &[u8]| {
        check_parts(input);
        check_parts(&near_json(input));
    });
}

#[test]
fn compact_keeps_the_value_and_is_idempotent() {
    bolero::check!().with_iterations(ITERATIONS).with_test_time(TEST_TIME).for_each(|input: &[u8]| {
        for text in
            [String::from_utf8_lossy(input).into_owned(), String::from_utf8_lossy(&near_json(input)).into_owned()]
        {
            let short = compact(&text);
            assert_eq!(compact(&short), short);
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                assert_eq!(serde_json::from_str::<Value>(&short).ok(), Some(value), "{text}");
            }
        }
    });
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(Value::from("\",\"id\":1,\"\\")),
    ];
    let key = prop_oneof![Just("id".to_owned()), Just("method".to_owned()), Just("result".to_owned()), any::<String>()];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_request_reads_back_and_any_layout_is_removed(
        params in prop::collection::btree_map(any::<String>(), json(), 0..5),
        method in any::<String>(),
        number in any::<Option<u64>>(),
        text in any::<String>(),
    ) {
        let id = number.map_or_else(|| RequestId::from_text(&text), RequestId::from_number);
        let params = Value::Object(params.into_iter().collect());
        let pretty = serde_json::to_string_pretty(&params).expect("a value");
        prop_assert_eq!(compact(&pretty), params.to_string());

        let line = request(&id, &method, Some(&pretty));
        prop_assert!(!line.contains(['\n', '\r']));
        check_parse(line.as_bytes());
        match parse(line.as_bytes()) {
            Ok(Message::Request { id: read, method: same, params: Some(raw) }) => {
                prop_assert_eq!(read, id);
                prop_assert_eq!(same, method);
                prop_assert_eq!(compact(raw.get()), params.to_string());
            }
            other => prop_assert!(false, "{} read as {:?}", line, other),
        }
    }

    #[test]
    fn numbers_are_one_id_exactly_when_they_are_one_value(
        digits in 1i128..100_000_000_000_000_000_000,
        other in 0i128..3,
        shift in 0usize..6,
    ) {
        let zeros = "0".repeat(shift);
        let spelt = RequestId::from_json(&format!("{digits}{zeros}e-{shift}"));
        prop_assert_eq!(spelt.clone() == RequestId::from_json(&(digits + other).to_string()), other == 0);
        prop_assert_eq!(spelt, RequestId::from_json(&format!("{digits}.{zeros}0")));
    }
}
