//! Tests orders and ids, preparation of calls, project files, and foreign input of any form.

mod refusals;
mod tools;
mod vectors;

use std::time::Duration;

use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use self::tools::one;
use super::super::{
    Activity, AnswerBody, Dialect, EditorTool, EncodeError, Encoded, Expected, FileState, Hello, Inbound, ListStep,
    Order, PreparedCall, ProjectFiles, Recovery, Reply, Secret, Sending, Unreadable, WireId, foreign_peer,
};
use super::Uloop;
use crate::limits::{JSON_DEPTH_MAX, TOOL_TIMEOUT_MAX, ULOOP_REQUEST_MAX_BYTES, ULOOP_RESULT_QUIET};
use crate::protocol::ids::CallId;

pub(super) fn raw(text: impl Into<String>) -> Box<RawValue> {
    RawValue::from_string(text.into()).unwrap()
}

#[test]
fn its_server_is_known_by_its_first_bytes() {
    let kind = foreign_peer::kind(b"Content-Length: 7\r\n\r\n{\"a\":1}", b"").unwrap();
    assert!(kind.contains("in frames"), "{kind}");
}

#[test]
fn the_size_limit_counts_the_whole_frame() {
    let id = WireId { number: 1, call: None, agreed: None };
    let sized = |length: usize| {
        let arguments = raw(format!(r#"{{"X":"{}"}}"#, "x".repeat(length)));
        let call = PreparedCall::as_given(&arguments);
        let order = Order::Call { tool: "t", call: &call, expected: None, progress: false };
        Uloop.encode(id, &order).map(Encoded::into_bytes)
    };
    let overhead = sized(1_000_000).unwrap().len() - 1_000_000;
    assert_eq!(sized(ULOOP_REQUEST_MAX_BYTES - overhead).unwrap().len(), ULOOP_REQUEST_MAX_BYTES);
    let over = sized(ULOOP_REQUEST_MAX_BYTES - overhead + 1);
    let meant = EncodeError::TooLarge { bytes: ULOOP_REQUEST_MAX_BYTES + 1, max: ULOOP_REQUEST_MAX_BYTES };
    assert_eq!(over, Err(meant));
}

#[test]
fn only_ids_in_our_own_spelling_are_ours() {
    let number = |id: &str| match Uloop.decode(format!(r#"{{"id":{id},"result":1}}"#).as_bytes()) {
        Ok(Inbound::Reply { number, .. }) => Some(number),
        Ok(Inbound::Unmatched { .. }) => None,
        other => panic!("{other:?}"),
    };
    assert_eq!(number(r#""holdfast.7""#), Some(7));
    assert_eq!(number(r#""0f8fad5b-d9cd-469f-a165-70867728950e.18446744073709551615""#), Some(u64::MAX));
    for other in [
        r#""holdfast.""#,
        r#""holdfast.+7""#,
        r#""holdfast.18446744073709551616""#,
        r#""7""#,
        r#"".7""#,
        r#""x.7""#,
        "7",
        "null",
        "{}",
        "[7]",
        r#""holdfast7""#,
    ] {
        assert_eq!(number(other), None, "{other}");
    }
    let long = format!(r#"{{"id":"{}\u0007","result":1}}"#, "é".repeat(1000));
    let Ok(Inbound::Unmatched { what }) = Uloop.decode(long.as_bytes()) else { panic!() };
    assert!(what.len() <= crate::limits::LOG_FIELD_MAX_BYTES);
}

#[test]
fn nesting_does_not_matter() {
    let deep =
        |levels: usize| format!(r#"{{"id":"holdfast.1","result":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
    for levels in [JSON_DEPTH_MAX, 2_000_000] {
        let Ok(Inbound::Reply { reply, .. }) = Uloop.decode(deep(levels).as_bytes()) else { panic!("{levels}") };
        let answer = Uloop.read_answer(reply);
        assert!(!answer.is_error && matches!(answer.body, AnswerBody::Json(json) if json.get().len() == 2 * levels));
    }
}

const CALL: &str = "0f8fad5b-d9cd-469f-a165-70867728950e";
const OUR_ID: &str = "compile_0f8fad5bd9cd469fa16570867728950e_1";

fn prepared(tool: Option<&EditorTool>, arguments: &str, project: bool) -> (String, Recovery) {
    let call = CallId::parse(CALL).unwrap();
    let prepared = Uloop.prepare_call(&Sending::first(call, project), "compile", tool, &raw(arguments));
    (prepared.arguments.get().to_owned(), prepared.recovery)
}

fn file(id: &str) -> Recovery {
    Recovery::ResultFile {
        path: format!("Temp/uLoopMCP/compile-results/{id}.json"),
        busy_files: &["Temp/compiling.lock", "Temp/domainreload.lock"],
        quiet: ULOOP_RESULT_QUIET,
    }
}

#[test]
fn a_compile_is_made_to_leave_its_result_unless_the_caller_or_the_editor_will_not() {
    let new = one("compile ForceRecompile:b=false WaitForDomainReload:b=false");
    let ours = |before: &str| format!(r#"{{{before}"WaitForDomainReload":true,"RequestId":"{OUR_ID}"}}"#);
    let with_id = |text: &str| format!(r#"{{{text},"RequestId":"{OUR_ID}"}}"#);
    let cases = [
        ("{}", ours(""), file(OUR_ID)),
        (r#"{ "Force" : 1.50 , "a\u0062" : [ 1e2 ] }"#, ours(r#""Force":1.50,"ab":[ 1e2 ],"#), file(OUR_ID)),
        (r#"{"WaitForDomainReload":true}"#, with_id(r#""WaitForDomainReload":true"#), file(OUR_ID)),
        (r#"{"waitForDomainReload":"true"}"#, with_id(r#""waitForDomainReload":"true""#), file(OUR_ID)),
        (r#"{"wait_for_domain_reload":true}"#, ours(r#""wait_for_domain_reload":true,"#), file(OUR_ID)),
        (r#"{"RequestId":""}"#, ours(""), file(OUR_ID)),
        (r#"{"requestId":"../../x"}"#, ours(""), file(OUR_ID)),
        // The caller's id is replaced, because an earlier compile may have left a file of that name.
        (r#"{"RequestId":"mine-1_A"}"#, ours(""), file(OUR_ID)),
        (r#"{"requestId":"mine","WaitForDomainReload":true}"#, with_id(r#""WaitForDomainReload":true"#), file(OUR_ID)),
    ];
    for (given, meant, recovery) in cases {
        assert_eq!(prepared(Some(&new), given, true), (meant, recovery), "{given}");
    }
    let again = Sending { nth: 2, ..Sending::first(CallId::parse(CALL).unwrap(), true) };
    let again = Uloop.prepare_call(&again, "compile", Some(&new), &raw("{}")).recovery;
    assert_ne!(again, file(OUR_ID), "each sending has a file of its own");
    for spelling in ["WaitForDomainReload", "waitForDomainReload", "wait_for_domain_reload", "wait-for-domain-reload"] {
        let given = format!(r#"{{ "{spelling}" : false }}"#);
        assert_eq!(prepared(Some(&new), &given, true), (given.clone(), Recovery::Inferred));
    }
    let old = one("compile ForceRecompile:b=false");
    for (tool, project) in [(Some(&old), true), (None, true), (Some(&new), false)] {
        assert_eq!(prepared(tool, "{ }", project), ("{ }".to_owned(), Recovery::Inferred));
    }
    let call = CallId::parse(CALL).unwrap();
    let other = Uloop.prepare_call(&Sending::first(call, true), "get-logs", None, &raw(r#"{"RequestId":"x"}"#));
    assert_eq!((other.arguments.get(), other.recovery), (r#"{"RequestId":"x"}"#, Recovery::None));
}

#[test]
fn a_reload_may_follow_each_compile_and_only_a_forced_one_leaves_no_sign_that_none_does() {
    let prepare = |name: &str, arguments: &str| {
        let sending = Sending::first(CallId::parse(CALL).unwrap(), true);
        Uloop.prepare_call(&sending, name, Some(&one("compile WaitForDomainReload:b=false")), &raw(arguments))
    };
    for (arguments, signs) in [
        ("{}", true),
        (r#"{"WaitForDomainReload":true}"#, true),
        (r#"{"wait_for_domain_reload":"true"}"#, true),
        (r#"{"WaitForDomainReload":false}"#, true),
        (r#"{"ForceRecompile":false}"#, true),
        (r#"{"ForceRecompile":true}"#, false),
        (r#"{"forceRecompile":"true"}"#, false),
    ] {
        let prepared = prepare("compile", arguments);
        assert_eq!((prepared.reload_follows, prepared.reload_signs.is_some()), (true, signs), "{arguments}");
        let other = prepare("get-logs", arguments);
        assert_eq!((other.reload_follows, other.reload_signs), (false, None));
    }
}

#[test]
fn what_the_editor_adds_for_its_own_server_is_taken_out() {
    let read = |text: &str| match Uloop.read_result_file(text.as_bytes()) {
        Some(Reply::Result(result)) => result.get().to_owned(),
        other => panic!("{other:?}"),
    };
    assert_eq!(read(r#"{"Success":true,"ProjectRoot":"/x","N":1.50}"#), r#"{"Success":true,"N":1.50}"#);
    assert_eq!(read(r#"{ "Success" : true }"#), r#"{ "Success" : true }"#);
}

#[test]
fn a_tools_own_time_limit_is_taken_when_it_is_one() {
    let tool = one("run-tests TimeoutSeconds:n=30");
    let limit = |tool: Option<&EditorTool>, arguments: &str| {
        Uloop
            .prepare_call(&Sending::first(CallId::parse(CALL).unwrap(), true), "run-tests", tool, &raw(arguments))
            .timeout
    };
    let seconds = |seconds: f64| Some(Duration::from_secs_f64(seconds));
    assert_eq!(limit(Some(&tool), r#"{"TimeoutSeconds":90.5}"#), seconds(90.5));
    assert_eq!(limit(Some(&tool), r#"{"timeoutSeconds":"45"}"#), seconds(45.0));
    assert_eq!(limit(Some(&tool), r#"{"TimeoutSeconds":1e300}"#), Some(TOOL_TIMEOUT_MAX));
    for odd in ["-1", "0", "null", "\"NaN\"", "\"inf\"", "[]", "1e999"] {
        assert_eq!(limit(Some(&tool), &format!(r#"{{"TimeoutSeconds":{odd}}}"#)), seconds(30.0), "{odd}");
    }
    assert_eq!(limit(None, "{}"), None);
}

fn files(content: &[(&'static str, &str)]) -> ProjectFiles {
    content.iter().map(|(path, text)| (*path, FileState::Content(text.as_bytes().to_vec()))).collect()
}

const SETTINGS: &str = "UserSettings/UnityMcpSettings.json";
const MANIFEST: &str = "Packages/manifest.json";

#[test]
fn a_whole_project_is_read() {
    let mut given = files(&[
        (
            SETTINGS,
            "\u{feff}{\"customPort\":8712,\"isServerRunning\":true,\"projectRootPath\":\"/proj\",\"serverSessionId\":\"s-1\"}",
        ),
        ("Library/EditorInstance.json", r#"{"process_id":4711,"version":"2022.3.62f1"}"#),
        (
            MANIFEST,
            r#"{"dependencies":{"io.github.hatayama.uloopmcp":"https://github.com/hatayama/uLoopMCP.git?path=/Packages/src#v2.1.0"}}"#,
        ),
        (
            "Packages/packages-lock.json",
            r#"{"dependencies":{"io.github.hatayama.uloopmcp":{"version":"2.1.1","depth":0}}}"#,
        ),
    ]);
    given.insert("Temp/compiling.lock", FileState::Present);
    given.insert("Temp/domainreload.lock", FileState::Missing);
    let facts = Uloop.read_project(&given);
    assert!(facts.installed && facts.problems.is_empty(), "{:?}", facts.problems);
    assert_eq!(facts.package_version.as_deref(), Some("2.1.1"));
    assert_eq!(facts.port, Some((8712, SETTINGS)));
    assert_eq!(facts.editor_pid, Some(4711));
    assert_eq!(facts.activity, Some(Activity::Compiling));
    let expected = Expected::Told { project_root: "/proj".to_owned(), server_session_id: "s-1".to_owned() };
    assert_eq!(facts.expected, Some(expected));
    given.insert("Temp/domainreload.lock", FileState::Present);
    assert_eq!(Uloop.read_project(&given).activity, Some(Activity::Reloading));
    assert_eq!(Uloop.read_project(&ProjectFiles::new()), super::ProjectFacts::default());
    assert!(given.keys().all(|path| Uloop.project_files().iter().any(|file| file.path == *path)));
}

#[test]
fn versions_come_from_where_unity_takes_them() {
    let id = "io.github.hatayama.uloopmcp";
    let wish = |id: &str, wish: &str| files(&[(MANIFEST, &json!({"dependencies": {id: wish}}).to_string())]);
    let cases = [
        (id, "2.1.1", Some("2.1.1"), 0),
        (id, "https://x/y.git?path=Packages/src#v0.30.1", Some("0.30.1"), 0),
        (id, "https://x/y.git?path=Packages/src#0.65.0-rc.1", Some("0.65.0-rc.1"), 0),
        (id, "https://x/y.git#main", None, 0),
        (id, "https://x/y.git", None, 0),
        (id, "file:../uloop-1.2.3", None, 0),
        (id, "latest", None, 0),
        ("io.github.hatayama.uLoopMCP", "1.0.0", Some("1.0.0"), 0),
        (id, "3.0.0-beta.1", Some("3.0.0-beta.1"), 1),
    ];
    for (id, text, meant, problems) in cases {
        let facts = Uloop.read_project(&wish(id, text));
        // A package version without a bridge is reported as not installed.
        assert_eq!(facts.installed, !text.starts_with('3'), "{text}");
        assert_eq!(facts.package_version.as_deref(), meant, "{text}");
        assert_eq!(facts.problems.len(), problems, "{text}");
    }
    let mut embedded = wish(id, "1.0.0");
    let own = FileState::Content(br#"{"name":"io.github.hatayama.uloopmcp","version":"2.0.3"}"#.to_vec());
    embedded.insert("Packages/io.github.hatayama.uloopmcp/package.json", own);
    assert_eq!(Uloop.read_project(&embedded).package_version.as_deref(), Some("2.0.3"));
    assert!(!Uloop.read_project(&wish("com.unity.ugui", "1.0.0")).installed);
    let older = Uloop.read_project(&wish("io.github.hatayama.umcp", "0.24.0"));
    assert_eq!((older.installed, older.package_version.as_deref()), (false, Some("0.24.0")));
}

#[test]
fn bad_files_are_problems_that_name_the_file_and_never_fatal() {
    for (path, text) in [
        (SETTINGS, "{\"customPort\":"),
        (SETTINGS, "[]"),
        (SETTINGS, r#"{"customPort":0}"#),
        (SETTINGS, r#"{"customPort":65536}"#),
        (SETTINGS, r#"{"customPort":"8700"}"#),
        ("Library/EditorInstance.json", r#"{"process_id":-1}"#),
        ("Packages/packages-lock.json", "\u{0}"),
        (MANIFEST, "<<<<<<< HEAD"),
    ] {
        let facts = Uloop.read_project(&files(&[(path, text)]));
        assert_eq!((facts.problems.len(), facts.port, facts.editor_pid), (1, None, None), "{path} {text}");
        assert!(facts.problems[0].starts_with(path) && facts.problems[0].contains(": "), "{}", facts.problems[0]);
    }
    let mut unreadable = ProjectFiles::new();
    let denied = Unreadable::Denied("permission denied".to_owned());
    for (why, says, fix) in [
        (denied, "(permission denied)", "allow this user to read it"),
        (Unreadable::Link, "is a symbolic link", "put a copy of the file in its place"),
        (Unreadable::NotAFile, "not a regular file", "set the port again in the package's window"),
        (Unreadable::TooLarge, "larger than", "set the port again in the package's window"),
        (Unreadable::Other("too many open files".to_owned()), "(too many open files)", "see to what the system names"),
    ] {
        unreadable.insert(SETTINGS, FileState::Unreadable(why.clone()));
        let told = &Uloop.read_project(&unreadable).problems[0];
        let (what, to_do) = told.split_once(": ").unwrap();
        assert!(what.starts_with(SETTINGS) && what.contains(says) && to_do.contains(fix), "{told}");
        assert_eq!(to_do.contains("allow this user"), matches!(why, Unreadable::Denied(_)), "{told}");
    }
    let half = files(&[(SETTINGS, r#"{"customPort":8700,"projectRootPath":"/proj","serverSessionId":" "}"#)]);
    assert_eq!(Uloop.read_project(&half).expected, None);
}

#[test]
fn an_answer_that_is_no_object_is_passed_on() {
    for text in ["3", "null", "\"Success\"", "[false]", "{\"Success\":true}", "{\"Nested\":{\"Success\":false}}"] {
        let answer = Uloop.read_answer(Reply::Result(raw(text)));
        assert!(!answer.is_error && matches!(answer.body, AnswerBody::Json(json) if json.get() == text), "{text}");
    }
    assert!(Uloop.read_answer(Reply::Result(raw(r#"{"success" : false}"#))).is_error);
}

/// JSON of any form, with the dialect's words as keys and values, so that every branch can be reached.
fn any_json() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "id",
        "method",
        "params",
        "result",
        "error",
        "code",
        "data",
        "message",
        "type",
        "Type",
        "reason",
        "Tools",
        "Commands",
        "name",
        "parameterSchema",
        "Properties",
        "Required",
        "DefaultValue",
        "Enum",
        "Items",
        "customPort",
        "process_id",
        "dependencies",
        "io.github.hatayama.uloopmcp",
        "version",
        "Success",
        "WaitForDomainReload",
        "RequestId",
        "TimeoutSeconds",
        "holdfast.1",
        "notifications/push",
        "notifications/server/shutdown",
        "string",
        "array",
        "#v1.",
        "é",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((words.clone(), inner), 0..6).prop_map(|members| Value::Object(
                members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            )),
        ]
    })
}

/// Passes the bytes to every function that reads bytes from outside.
fn feed(bytes: &[u8]) {
    if let Ok(Inbound::Reply { reply, .. }) = Uloop.decode(bytes) {
        feed_reply(reply);
    }
    let _ = Uloop.decode_push(bytes, &Secret::default());
    if let Some(reply) = Uloop.read_result_file(bytes) {
        feed_reply(reply);
    }
    let all = Uloop.project_files().iter().map(|file| (file.path, FileState::Content(bytes.to_vec()))).collect();
    let facts = Uloop.read_project(&all);
    assert_ne!(facts.port.map(|(port, _)| port), Some(0));
}

fn feed_reply(reply: Reply) {
    let said = [reply];
    let _ = Uloop.check_greeting(&Hello::default(), &said);
    let [reply] = said;
    if let ListStep::Tools(listing) = Uloop.read_tools(&reply, 0) {
        for tool in &listing.tools {
            let arguments = raw("{}");
            let call = CallId::from_random([7; 16]);
            let _ = Uloop.prepare_call(&Sending::first(call, true), "compile", Some(tool), &arguments);
        }
    }
    let result = if let Reply::Result(result) = &reply { Some(result.get().to_owned()) } else { None };
    let answer = Uloop.read_answer(reply).body;
    if let Some(result) = result {
        assert!(matches!(answer, AnswerBody::Json(json) if json.get() == result), "no byte of a result is touched");
    }
}

proptest! {
    #[test]
    fn no_json_makes_it_panic(value in any_json()) {
        feed(value.to_string().as_bytes());
        feed(json!({"id": "holdfast.1", "result": value}).to_string().as_bytes());
        feed(json!({"id": "holdfast.1", "error": value}).to_string().as_bytes());
        feed(json!({"id": "holdfast.1", "result": {"Tools": [value]}}).to_string().as_bytes());
        feed(json!({"id": "holdfast.1", "result": {"Tools": [{"name": "compile", "parameterSchema": value}]}}).to_string().as_bytes());
        feed(json!({"method": "notifications/server/shutdown", "params": value}).to_string().as_bytes());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        feed(&bytes);
    }

    #[test]
    fn arguments_keep_every_member_that_the_caller_gave(value in any_json()) {
        let tool = one("compile WaitForDomainReload:b=false");
        let given = json!({ "Own": value });
        let call = CallId::from_random([7; 16]);
        let ready = Uloop.prepare_call(&Sending::first(call, true), "compile", Some(&tool), &raw(given.to_string()));
        let sent: Value = serde_json::from_str(ready.arguments.get()).unwrap();
        prop_assert_eq!(&sent["Own"], &serde_json::from_str::<Value>(&given.to_string()).unwrap()["Own"]);
        prop_assert_eq!(&sent["WaitForDomainReload"], &Value::Bool(true));
        let _ = Uloop.prepare_call(&Sending::first(call, true), "compile", Some(&tool), &raw(value.to_string()));
    }

    #[test]
    fn only_a_compile_is_touched_and_followed_by_a_reload(value in any_json(), name in "compile|[a-z-]{0,9}") {
        let given = raw(json!({ "Own": value }).to_string());
        let call = CallId::from_random([7; 16]);
        let ready = Uloop.prepare_call(&Sending::first(call, true), &name, None, &given);
        prop_assert_eq!((ready.reload_follows, ready.recovery != Recovery::None), (name == "compile", name == "compile"));
        prop_assert_eq!(ready.arguments.get(), given.get());
    }

    #[test]
    fn a_call_names_its_editor_in_one_member_more(root in any::<String>(), tool in any::<String>()) {
        let call = PreparedCall::as_given(&raw("{}"));
        let told = Expected::Told { project_root: root.clone(), server_session_id: "s".to_owned() };
        let members = |expected: Option<&Expected>| {
            let order = Order::Call { tool: &tool, call: &call, expected, progress: false };
            let frame = Uloop.encode(WireId { number: 9, call: None, agreed: None }, &order).unwrap().into_bytes();
            let (_, body) = std::str::from_utf8(&frame).unwrap().split_once("\r\n\r\n").unwrap();
            serde_json::from_str::<serde_json::Map<String, Value>>(body).unwrap()
        };
        let (mut with, without) = (members(Some(&told)), members(None));
        let identity = with.remove("x-uloop").unwrap();
        prop_assert_eq!(&identity["expectedProjectRoot"], &Value::from(root));
        prop_assert_eq!((with.len(), with), (4, without));
    }

    #[test]
    fn a_result_file_loses_the_projects_root_and_nothing_else(value in any_json(), name in "ProjectRoot|[A-Z][a-z]{0,9}") {
        let file = format!("{{\"A\":1.50,{}:{value}}}", Value::from(name.as_str()));
        let Some(Reply::Result(result)) = Uloop.read_result_file(file.as_bytes()) else { panic!("{file}") };
        let left = if name == "ProjectRoot" { "{\"A\":1.50}" } else { file.as_str() };
        prop_assert_eq!(result.get(), left);
    }
}
