use std::collections::{BTreeSet, HashSet};

use serde_json::Value;
use serde_json::value::RawValue;
use strum::VariantNames;

use super::*;
use crate::limits::{BATCH_MESSAGES_MAX, JSON_DEPTH_MAX, REQUEST_ID_MAX_BYTES};

fn id(json: &str) -> RequestId {
    RequestId::from_json(json).unwrap_or_else(|| panic!("{json} is an id"))
}

fn scan(message: &[u8]) -> Option<RequestId> {
    let mut scanner = IdScanner::new();
    scanner.push(message);
    scanner.finish()
}

/// A short view of a message: kind, id, method or outcome, and the raw rest.
fn view(line: &[u8]) -> String {
    let raw = |raw: Option<Box<RawValue>>| raw.map_or("-".to_owned(), |raw| raw.get().to_owned());
    let shown = |id: Option<RequestId>| id.map_or("-".to_owned(), |id| id.as_json().to_owned());
    match parse(line) {
        Ok(Message::Request { id, method, params }) => format!("request {id:?} {method} {}", raw(params)),
        Ok(Message::Notification { method, params }) => format!("notification {method} {}", raw(params)),
        Ok(Message::Response { id, outcome: Ok(result) }) => format!("result {} {}", shown(id), result.get()),
        Ok(Message::Response { id, outcome: Err(RpcError { code, message, data }) }) => {
            format!("error {} {code} {message} {}", shown(id), raw(data))
        }
        Err(Invalid { id, fault }) => format!("{} {} {}", <&'static str>::from(fault), shown(id), fault.code()),
    }
}

#[test]
fn messages_are_read_and_their_raw_parts_kept() {
    let rows: [(&[u8], &str); 22] = [
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "request 1 ping -"),
        (br#"{"method":"m","params":{ "n": 1.50 },"jsonrpc":"2.0","id":"x"}"#, r#"request "x" m { "n": 1.50 }"#),
        (br#"{"jsonrpc":"2.0","id":0,"method":"","params":[]}"#, "request 0  []"),
        (b"\xEF\xBB\xBF \t{\"jsonrpc\" : \"2.0\", \"id\" :\t-7 , \"method\":\"m\"} \r", "request -7 m -"),
        (br#"{"jsonrpc":"\u0032.0","\u0069d":1,"meth\u006fd":"\u006d"}"#, "request 1 m -"),
        (br#"{"jsonrpc":"2.0","id":1,"method":"m","x":{"id":2},"_meta":null}"#, "request 1 m -"),
        (br#"{"jsonrpc":"2.0","id":1,"method":"m","result":5}"#, "request 1 m -"),
        (br#"{"jsonrpc":"2.0","id":1,"method":"m","params":["\ud800"]}"#, r#"request 1 m ["\ud800"]"#),
        (br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, "notification notifications/initialized -"),
        (br#"{"jsonrpc":"2.0","id":"ts_1","result":{"a":[1e400]}}"#, r#"result "ts_1" {"a":[1e400]}"#),
        (br#"{"jsonrpc":"2.0","id":1,"result":null,"error":null}"#, "result 1 null"),
        (
            br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no","data":{"type":"x"}}}"#,
            r#"error 1 -32603 no {"type":"x"}"#,
        ),
        (br#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":5,"message":"no"}}"#, "error 1 5 no -"),
        (br#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no","data":null}}"#, "error - 1 no -"),
        (br#"{"jsonrpc":"2.0","id":true,"error":{"message":"no"}}"#, "error - -32603 no -"),
        (br#"{"jsonrpc":"2.0","error":"text"}"#, "error - -32603 text -"),
        (br#"{"jsonrpc":"2.0","id":1,"error":{"code":"E"}}"#, r#"error 1 -32603 {"code":"E"} -"#),
        (br#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"code":2}}"#, r#"error 1 -32603 {"code":1,"code":2} -"#),
        (br#"{"jsonrpc":"2.0","id":1,"error":[]}"#, "error 1 -32603 [] -"),
        (br#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"\udfff"}}"#, r#"error 1 1 "\udfff" -"#),
        (br#"{"jsonrpc":"2.0","id":"\ud800","result":1}"#, "result - 1"),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":\"\u{1F3AE}\u{2028}\",\"method\":\"m\"}".as_bytes(),
            "request \"\u{1F3AE}\u{2028}\" m -",
        ),
    ];
    for (line, expected) in rows {
        assert_eq!(view(line), expected, "{}", String::from_utf8_lossy(line));
    }
}

#[test]
fn every_fault_has_its_code_and_the_id_that_can_be_seen() {
    let long_id = format!("\"{}\"", "x".repeat(REQUEST_ID_MAX_BYTES - 1));
    let with_long_id = format!(r#"{{"jsonrpc":"2.0","id":{long_id},"method":"m"}}"#);
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let deep = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{deep},"id":3}}"#);
    let rows: [(&[u8], &str); 48] = [
        // Rust's ASCII white space includes the form feed, JSON's does not.
        (b"\x0C{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"m\"}", "not_json - -32700"),
        (b"", "not_json - -32700"),
        (b"\xFF\xFE{\0", "not_utf8 - -32700"),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"\xC3\x28\",\"id\":3}", "not_utf8 3 -32700"),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":\"\xFF\"}", "not_utf8 - -32700"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"m\",\"params\":{\"t\":\"\0\"}}", "not_json 3 -32700"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"m\"}\0", "not_json 3 -32700"),
        (b"GET / HTTP/1.1", "not_json - -32700"),
        (br#"{"jsonrpc":"2.0","method":"m","params":{bad},"id":3}"#, "not_json 3 -32700"),
        (br#"{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":"#, "not_json \"a\" -32700"),
        (br#"{"jsonrpc":"2.0","id":3,"method":"m""#, "not_json 3 -32700"),
        (br#"{"jsonrpc":"2.0","method":"m","id":3"#, "not_json - -32700"),
        (br#"{"jsonrpc":"2.0","method":"m","id":"a"#, "not_json - -32700"),
        (br#"{jsonrpc:"2.0",method:"m","id":3}"#, "not_json 3 -32700"),
        (br#"{"jsonrpc":"2.0","id":03,"method":"m"}"#, "not_json - -32700"),
        (br#"{"jsonrpc":"2.0","id":3x,"method":"m"}"#, "not_json - -32700"),
        (br#"{"jsonrpc":"2.0","id":3,"method":"m",}"#, "not_json 3 -32700"),
        (br#"{"params":{"a":[1}, "id":4},"id":3,"#, "not_json - -32700"),
        (br#"{"id":3,"id":4,"method":"#, "not_json - -32700"),
        (br#"{"jsonrpc":"2.0","id":3,"result":"#, "not_json - -32700"),
        (br#"{"jsonrpc":"2.0","id":3,"method":"m"}{"jsonrpc":"2.0","id":4,"method":"m"}"#, "not_json 3 -32700"),
        (deep.as_bytes(), "too_deep 3 -32700"),
        (b"[]", "batch - -32600"),
        (br#"[{"jsonrpc":"2.0","id":3,"method":"m"}]"#, "batch - -32600"),
        (b"[1,", "not_json - -32700"),
        (b"3", "not_an_object - -32600"),
        (b"null", "not_an_object - -32600"),
        (b"1e400", "not_an_object - -32600"),
        (br#""\ud800""#, "not_an_object - -32600"),
        (br#"{"jsonrpc":"2.0","id":3,"method":"m","id":3}"#, "duplicate_member - -32600"),
        (br#"{"jsonrpc":"2.0","id":3,"method":"m","\u006dethod":"n"}"#, "duplicate_member 3 -32600"),
        (br#"{"jsonrpc":"2.0","method":"m","params":{},"params":[],"id":3}"#, "duplicate_member 3 -32600"),
        (br#"{"id":3,"method":"m"}"#, "bad_version 3 -32600"),
        (br#"{"jsonrpc":"1.0","id":3,"method":"m"}"#, "bad_version 3 -32600"),
        (br#"{"jsonrpc":2.0,"id":3,"method":"m"}"#, "bad_version 3 -32600"),
        (b"{}", "bad_version - -32600"),
        (br#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, "bad_id - -32600"),
        (br#"{"jsonrpc":"2.0","id":true,"method":"m"}"#, "bad_id - -32600"),
        (br#"{"jsonrpc":"2.0","id":[3],"method":"m"}"#, "bad_id - -32600"),
        (br#"{"jsonrpc":"2.0","id":"\ud83c","method":"m"}"#, "bad_id - -32600"),
        (with_long_id.as_bytes(), "bad_id - -32600"),
        (br#"{"jsonrpc":"2.0","id":3}"#, "no_method 3 -32600"),
        (br#"{"jsonrpc":"2.0","id":3,"method":null}"#, "bad_method 3 -32600"),
        (br#"{"jsonrpc":"2.0","id":3,"method":"\udc00"}"#, "bad_method 3 -32600"),
        (br#"{"jsonrpc":"2.0","id":3,"method":"m","params":"p"}"#, "bad_params 3 -32602"),
        (br#"{"jsonrpc":"2.0","id":3,"method":"m","params":null}"#, "bad_params 3 -32602"),
        (br#"{"jsonrpc":"2.0","id":3,"result":1,"error":{"code":1,"message":""}}"#, "bad_response - -32600"),
        (br#"{"id":3,"result":1}"#, "bad_response - -32600"),
    ];
    // `parse` never returns these two faults: one is for lines that are too long, the other for a batch in `members`.
    let mut seen = BTreeSet::from(["too_long", "bad_batch"]);
    for (line, expected) in rows {
        let shown = String::from_utf8_lossy(&line[..line.len().min(120)]);
        assert_eq!(view(line), expected, "{shown}");
        seen.extend(expected.split(' ').next());
    }
    assert_eq!(seen, Fault::VARIANTS.iter().copied().collect(), "a fault without a row");
}

#[test]
fn the_messages_of_a_batch_are_given_as_they_stand() {
    assert_eq!(members(b"\xEF\xBB\xBF [ {\"a\": [1]} ,2]\r").unwrap(), ["{\"a\": [1]}", "2"]);
    let of = |count: usize| format!("[{}]", vec!["1"; count].join(","));
    assert_eq!(members(of(BATCH_MESSAGES_MAX).as_bytes()).unwrap().len(), BATCH_MESSAGES_MAX);
    assert_eq!(members(of(BATCH_MESSAGES_MAX + 1).as_bytes()), Err(Fault::BadBatch));
    assert_eq!(members(b"[]"), Err(Fault::BadBatch));
    assert_eq!(members(b"[1,"), Err(Fault::NotJson));
}

#[test]
fn a_fault_becomes_an_error_that_says_what_to_do() {
    let faults = [
        (Fault::TooLong, -32700, "16 MiB"),
        (Fault::TooDeep, -32700, "128 levels"),
        (Fault::BadId, -32600, "1024 bytes"),
        (Fault::Batch, -32600, "a line of its own"),
    ];
    for (fault, code, part) in faults {
        let invalid = Invalid { id: Some(id("1")), fault };
        assert_eq!(invalid.to_error().code, code);
        assert!(invalid.to_error().message.contains(part), "{fault}");
        assert!(invalid.to_error().message.contains("executed"), "{fault}");
        assert!(invalid.owes_answer());
    }
    assert!(!Invalid { id: None, fault: Fault::BadResponse }.owes_answer());
}

#[test]
fn depth_is_counted_over_the_whole_message() {
    let message = |depth: usize| {
        let inner = "[".repeat(depth - 1) + "\"]\\\"[\"" + &"]".repeat(depth - 1);
        format!(r#"{{"jsonrpc":"2.0","params":{inner},"method":"m","id":3}}"#)
    };
    for depth in [JSON_DEPTH_MAX - 1, JSON_DEPTH_MAX] {
        let Ok(Message::Request { params: Some(params), .. }) = parse(message(depth).as_bytes()) else {
            panic!("{depth} levels are refused")
        };
        assert!(serde_json::from_str::<Value>(params.get()).is_ok(), "{depth}: params that nobody can read");
    }
    assert_eq!(view(message(JSON_DEPTH_MAX + 1).as_bytes()), "too_deep 3 -32700");

    assert!(depth_ok(b"1", 0) && !depth_ok(b"[]", 0) && depth_ok(b"[{}]", 2) && !depth_ok(b"[{}]", 1));
    assert!(depth_ok(br#"["[[[","\"[[","\\"]"#, 1));
    assert!(!depth_ok(br#"["\\",[]]"#, 1));
}

#[test]
fn a_million_levels_or_keys_are_survived() {
    for text in ["[", "{\"a\":", "[{\"a\":"] {
        assert_eq!(view(text.repeat(1_000_000).as_bytes()), "too_deep - -32700");
        let inside = format!(r#"{{"jsonrpc":"2.0","id":3,"method":"m","params":{}"#, text.repeat(1_000_000));
        assert_eq!(view(inside.as_bytes()), "too_deep 3 -32700");
    }
    let keys: String = (0..1_000_000).map(|n| format!("\"k{n}\":0,")).collect();
    let line = format!(r#"{{{keys}"jsonrpc":"2.0","id":3,"method":"m"}}"#);
    assert_eq!(view(line.as_bytes()), "request 3 m -");
    let text = "x".repeat(10 << 20);
    let line = format!(r#"{{"jsonrpc":"2.0","id":3,"method":"m","params":["{text}"]}}"#);
    assert_eq!(view(line.as_bytes()).len(), "request 3 m [\"\"]".len() + text.len());
}

#[test]
fn ids_are_echoed_as_written_and_compared_by_value() {
    let huge = "9".repeat(REQUEST_ID_MAX_BYTES);
    let rows: [&[&str]; 22] = [
        &["0", "-0", "0.0", "0e5", "-0.00E-7", "0e99999999999999999999"],
        &["1", "1.0", "1e0", "10e-1", "0.1E+1", "1.000"],
        &["-1", "-1.0"],
        &["10", "1e1", "1.0e+01"],
        &["100000000000000000000", "1e20"],
        &["1.5", "15e-1", "1.50"],
        &["9007199254740992"],
        &["9007199254740993", "9007199254740993.0"],
        &["18446744073709551615"],
        &["18446744073709551616"],
        &["1e400", "10e399"],
        &["1e401"],
        &["1e-400"],
        &["1e99999999999999999999"],
        &["1e99999999999999999998"],
        &[&huge],
        &["\"1\"", r#""\u0031""#],
        &["\"1.0\""],
        &["\"\"", "  \"\"\t"],
        &[r#""a\"b""#, r#""a\u0022b""#],
        &[r#""a\\\"b""#],
        &["\"\u{1F3AE}\"", r#""\ud83c\udfae""#],
    ];
    let mut values: HashSet<RequestId> = HashSet::new();
    for row in rows {
        for json in row {
            assert_eq!(id(json).as_json(), json.trim());
            assert_eq!(id(json), id(row[0]), "{json} and {}", row[0]);
            assert_eq!(id(json).cmp(&id(row[0])), std::cmp::Ordering::Equal);
        }
        assert!(row.iter().all(|json| !values.contains(&id(json))), "{row:?} collides with another row");
        values.extend(row.iter().map(|json| id(json)));
    }
    assert_eq!(values.len(), rows.len());
    assert_eq!(values.iter().collect::<BTreeSet<_>>().len(), rows.len());
    assert_eq!(RequestId::from_number(u64::MAX), id("18446744073709551615"));
    assert_eq!(RequestId::from_number(100), id("1e2"));
    assert_eq!(RequestId::from_text("a\"b\n"), id(r#""a\u0022b\u000a""#));
    assert_eq!(RequestId::from_text("a\"b\n").as_json(), r#""a\"b\n""#);
}

#[test]
fn what_is_no_id_is_refused() {
    let long = "9".repeat(REQUEST_ID_MAX_BYTES + 1);
    for json in [
        "", " ", "null", "true", "{}", "[1]", "01", "+1", "1.", ".5", "1e", "-", "--1", "1 2", "NaN", "\"", "\"a\"b",
        &long,
    ] {
        assert!(RequestId::from_json(json).is_none(), "{json}");
    }
    for json in [r#""\ud800""#, r#""\ud800\ud800""#, r#""\udfae\ud83c""#, "\"\n\"", "\"\0\"", r#""\x""#] {
        assert!(RequestId::from_json(json).is_none(), "{json}");
    }
}

#[test]
fn a_scan_finds_the_top_level_id_only() {
    let rows = [
        (r#"{"params":{"id":1},"id":2}"#, Some("2")),
        (r#"{"params":"\"id\":1,","id":2}"#, Some("2")),
        (r#"{"params":"}\\","id":2}"#, Some("2")),
        (r#"{"params":"x\n","id":2}"#, Some("2")),
        (r#"{"id" : -2.50e+3 }"#, Some("-2.50e+3")),
        (r#"{"\u0069\u0064":"\u0061"}"#, Some(r#""\u0061""#)),
        (r#"{"iD":1,"id ":2,"xid":3,"idid":4}"#, None),
        (r#"{"a":"id","b":["id",1],"c":{"id":5}}"#, None),
        (r#"[{"id":1}]"#, None),
        (r#""id":1"#, None),
        (r#"{"id":1,"id":1}"#, None),
        (r#"{"id":{"id":1}}"#, None),
        (r#"{"id":null}"#, None),
        (r#"{"id":1}{"id":2}"#, Some("1")),
        ("\u{FEFF}{\"id\":1}", Some("1")),
    ];
    for (message, expected) in rows {
        for chunk in 1..=message.len() {
            let mut scanner = IdScanner::new();
            message.as_bytes().chunks(chunk).for_each(|bytes| scanner.push(bytes));
            assert_eq!(scanner.finish().as_ref().map(RequestId::as_json), expected, "{message} in chunks of {chunk}");
        }
    }
    let deep = "[{\"id\":9,\"a\":".repeat(100_000) + "1" + &"}]".repeat(100_000);
    assert_eq!(scan(format!("{{\"a\":{deep},\"id\":1}}").as_bytes()), Some(id("1")));
    let at_bound = "9".repeat(REQUEST_ID_MAX_BYTES);
    assert_eq!(scan(format!("{{\"id\":{at_bound}}}").as_bytes()), Some(id(&at_bound)));
    assert_eq!(scan(format!("{{\"id\":9{at_bound}}}").as_bytes()), None);
    assert_eq!(scan(format!("{{\"id\":\"{at_bound}\"}}").as_bytes()), None);
}

#[test]
fn a_scan_tells_requests_from_what_gets_no_answer() {
    let rows = [
        ("", false, false, false),
        ("x", false, false, true),
        (r#"{"id":1,"method":"m"}"#, true, false, true),
        (r#"{"method":"m"}"#, true, false, false),
        (r#"{"method":"m""#, true, false, true),
        (r#"{"method":"m","id":null}"#, true, false, true),
        (r#"{"id":1,"result":{"method":1}}"#, false, true, false),
        (r#"{"id":1,"error":"#, false, true, false),
        (r#"{"id":1,"params":{"result":1}}"#, false, false, true),
    ];
    for (message, method, response, owed) in rows {
        let mut scanner = IdScanner::default();
        scanner.push(message.as_bytes());
        assert_eq!(
            (scanner.saw_method(), scanner.is_response(), scanner.owes_answer()),
            (method, response, owed),
            "{message}"
        );
    }
}

#[test]
fn every_truncation_of_a_request_gives_its_id_or_none() {
    let first = br#"{"jsonrpc":"2.0","id":"a\"1","method":"m","params":{"id":5,"t":["x"]}}"#;
    let last = br#"{"jsonrpc":"2.0","method":"m","params":{"id":5,"t":["x"]},"id":12}"#;
    let closing = first.iter().position(|byte| *byte == b'a').map_or(0, |at| at + 4);
    for end in 0..first.len() {
        let found = parse(&first[..end]).expect_err("a cut message").id;
        assert_eq!(found, (end > closing).then(|| id(r#""a\"1""#)), "cut at {end}");
    }
    for end in 0..last.len() {
        assert_eq!(parse(&last[..end]).expect_err("a cut message").id, None, "cut at {end}: 12 could be 123");
    }
}

#[test]
fn what_is_written_is_one_line_and_reads_back() {
    let one = id("1.0");
    let pretty = "{\r\n \"a\": [1.50, \"x y\\n\"]\n}";
    assert_eq!(request(&one, "m", None), r#"{"jsonrpc":"2.0","id":1.0,"method":"m"}"#);
    assert_eq!(
        request(&one, "a\"\n", Some(pretty)),
        r#"{"jsonrpc":"2.0","id":1.0,"method":"a\"\n","params":{"a":[1.50,"x y\n"]}}"#
    );
    assert_eq!(notification("m", None), r#"{"jsonrpc":"2.0","method":"m"}"#);
    assert_eq!(notification("m", Some("{ }")), r#"{"jsonrpc":"2.0","method":"m","params":{ }}"#);
    assert_eq!(response(&one, pretty), r#"{"jsonrpc":"2.0","id":1.0,"result":{"a":[1.50,"x y\n"]}}"#);
    let data = RawValue::from_string("[\n1]".to_owned()).expect("JSON");
    let bad = RpcError::internal("line\nbreak").with_data(data);
    assert_eq!(
        error(None, &bad),
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"line\nbreak","data":[1]}}"#
    );
    let text = error(Some(&id("\"x\"")), &RpcError::method_not_found("no"));
    assert_eq!(view(text.as_bytes()), "error \"x\" -32601 no -");
    let codes = [RpcError::parse_error("").code, RpcError::invalid_request("").code, RpcError::invalid_params("").code];
    assert_eq!(codes, [-32700, -32600, -32602]);
}

#[test]
fn compact_removes_layout_and_nothing_else() {
    let rows = [
        ("{}", "{}"),
        (
            " \t\r\n[ 1 , -0.0e+5 ,\n\"a b\\\" c\\\\\" , \"\u{A0} \u{2028}\" ]\n",
            "[1,-0.0e+5,\"a b\\\" c\\\\\",\"\u{A0} \u{2028}\"]",
        ),
        ("{\"a b\" : { \"c\" : [ ] } }", "{\"a b\":{\"c\":[]}}"),
        ("\"unclosed \\", "\"unclosed \\"),
    ];
    for (json, expected) in rows {
        assert_eq!(compact(json), expected);
        assert!(matches!(compact(expected), std::borrow::Cow::Borrowed(_)));
    }
}
