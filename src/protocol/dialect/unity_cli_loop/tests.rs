//! Tests the golden vectors, the greeting of each protocol number, the project's files, where the editor listens, and the tool list.

use super::super::tests::{Vector, all, have_kinds};
use super::super::{AnswerBody, FileState, JournalOutcome, PreparedCall, Recovery, Refusal, Refused, RefusedCall};
use super::*;
use crate::protocol::ids::CallId;

const CALL: &str = "07070707-0707-4707-8707-070707070707";

fn raw(text: impl Into<String>) -> Box<RawValue> {
    RawValue::from_string(text.into()).unwrap()
}

fn vectors() -> Vec<Vector> {
    all("unity-cli-loop")
}

fn key(id: &str) -> JournalKey {
    JournalKey { journal: call::JOURNAL.to_owned(), id: id.to_owned(), seq: 1 }
}

fn decoded(body: &str) -> Inbound {
    UnityCliLoop.decode(body.as_bytes()).unwrap()
}

fn reply(body: &str) -> Reply {
    match decoded(body) {
        Inbound::Reply { number: 7, reply } => reply,
        other => panic!("{other:?}"),
    }
}

fn prepared(tool: &str, listed: Option<&EditorTool>, arguments: &str) -> PreparedCall {
    let sending = Sending::first(CallId::parse(CALL).unwrap(), true);
    UnityCliLoop.prepare_call(&sending, tool, listed, &raw(arguments))
}

fn wants(number: u32) -> Reply {
    reply(&format!(
        r#"{{"id":7,"error":{{"code":-32603,"message":"m","data":{{"type":"cli_update_required","requiredProtocolVersion":{number}}}}}}}"#
    ))
}

#[test]
fn every_vector_has_a_kind_that_is_known() {
    let known = [
        "alive",
        "call",
        "empty",
        "error",
        "greeted",
        "greeting",
        "list_tools",
        "main_thread",
        "outcome",
        "outcome_result",
        "result",
        "unmatched",
        "wreck",
    ];
    have_kinds(&vectors(), &known);
}

#[test]
fn requests_are_sent_byte_for_byte() {
    let mut seen = 0;
    for vector in vectors().iter().filter(|vector| vector.text("direction") == "to_editor") {
        let agreed = vector.means("agreed").as_u64().and_then(|agreed| u32::try_from(agreed).ok());
        let id = WireId { number: vector.means("number").as_u64().unwrap(), call: None, agreed };
        let (hello, said) = (Hello::default(), [wants(3)]);
        let encoded = match vector.said("kind") {
            "greeting" => {
                let said = &said[..usize::try_from(vector.means("said").as_u64().unwrap()).unwrap()];
                UnityCliLoop.encode(id, &Order::Greeting { hello: &hello, said })
            }
            "list_tools" => UnityCliLoop.encode(id, &Order::ListTools { step: 0, development: false }),
            "call" => {
                let tool = vector.said("tool");
                let call = prepared(tool, None, vector.said("arguments"));
                UnityCliLoop.encode(id, &Order::Call { tool, call: &call, expected: None, progress: false })
            }
            "outcome" => UnityCliLoop.encode(id, &Order::Outcomes(&[key(vector.said("id"))])),
            "main_thread" => Ok(UnityCliLoop.main_thread_question(id).unwrap()),
            kind => panic!("{kind}"),
        };
        let Ok(Encoded::Frame(frame)) = encoded else { panic!("{encoded:?}") };
        assert_eq!(std::str::from_utf8(&frame).unwrap(), vector.text("frame"), "{}", vector.text("name"));
        seen += 1;
    }
    assert_eq!(seen, 11);
}

#[test]
fn every_reply_means_what_its_vector_says() {
    let mut seen = 0;
    for vector in vectors().iter().filter(|vector| vector.text("direction") == "from_editor") {
        let (name, body) = (vector.text("name"), vector.text("body"));
        seen += 1;
        match vector.said("kind") {
            "alive" => {
                let Inbound::Alive(heartbeat) = decoded(body) else { panic!("{name}") };
                let stall = heartbeat.map(|heartbeat| u64::try_from(heartbeat.frame_age.as_millis()).unwrap());
                assert_eq!(stall, vector.means("stall_ms").as_u64(), "{name}");
            }
            "unmatched" => {
                assert!(matches!(decoded(body), Inbound::Unmatched { .. }), "{name}");
                let Some(Reply::Error(error)) = UnityCliLoop.read_unnamed(body.as_bytes()) else { panic!("{name}") };
                assert_eq!(error.refusal, Some(Refused { how: Refusal::Final, of: RefusedCall::Any }), "{name}");
            }
            "wreck" => assert!(matches!(reply(body), Reply::Wreck(_)), "{name}"),
            "empty" => assert!(UnityCliLoop.is_empty_reply(&reply(body)), "{name}"),
            "greeted" => {
                let met = UnityCliLoop.check_greeting(&Hello::default(), &[reply(body)]);
                assert_eq!(met.is_err(), vector.means("foreign").as_bool() == Some(true), "{name}");
            }
            "result" => {
                let answer = UnityCliLoop.read_answer(reply(body));
                assert_eq!(Some(answer.is_error), vector.means("is_error").as_bool(), "{name}");
                let note = vector.means("note").as_str();
                match answer.body {
                    AnswerBody::Json(json) if note.is_none() => assert_eq!(json.get(), vector.said("result")),
                    AnswerBody::JsonAndBlocks(json, blocks) => {
                        assert_eq!(json.get(), vector.said("result"));
                        assert!(blocks[0].get().contains(note.unwrap()), "{name}");
                    }
                    other => panic!("{name}: {other:?}"),
                }
            }
            "error" => error_means(vector, reply(body)),
            "outcome_result" => {
                let told = UnityCliLoop.read_outcomes(reply(body), &[key(vector.said("id"))]).unwrap();
                let told = match &told[..] {
                    [JournalOutcome::Running] => ("running", None),
                    [JournalOutcome::NotYet] => ("not_yet", None),
                    [JournalOutcome::Ended(Reply::Result(result))] => ("ended", Some(result.get())),
                    other => panic!("{name}: {other:?}"),
                };
                assert_eq!(told, (vector.said("status"), vector.means("result").as_str()), "{name}");
            }
            kind => panic!("{kind}"),
        }
    }
    assert_eq!(seen, 30);
}

fn error_means(vector: &Vector, reply: Reply) {
    let name = vector.text("name");
    assert_eq!(errors::required_number(&reply).map(u64::from), vector.means("required").as_u64(), "{name}");
    if let Some(agreed) = vector.means("greeted").as_u64() {
        let met = UnityCliLoop.check_greeting(&Hello::default(), std::slice::from_ref(&reply));
        let Ok(Greeted::Done(met)) = met else { panic!("{name}: {met:?}") };
        assert_eq!(met.agreed.map(u64::from), Some(agreed), "{name}");
    }
    let Reply::Error(error) = reply else { panic!("{name}") };
    assert_eq!(error.message, vector.said("message"), "{name}");
    let how = |how: &str| match how {
        "busy" => Refusal::Busy,
        "final" => Refusal::Final,
        "other_session" => Refusal::OtherSession,
        other => panic!("{other}"),
    };
    let of = vector.means("of").as_str().map_or(RefusedCall::Any, |tool| RefusedCall::Tool(tool.to_owned()));
    let refusal = vector.means("refused").as_str().map(|refused| Refused { how: how(refused), of });
    assert_eq!(error.refusal, refusal, "{name}");
}

#[test]
fn the_greeting_takes_the_number_that_the_editor_asks_for_and_asks_no_more_than_three_times() {
    let greeted = |said: &[Reply]| UnityCliLoop.check_greeting(&Hello::default(), said);
    let status = || reply(r#"{"id":7,"result":{"IsBusy":false}}"#);
    let agreed = |said: &[Reply]| match greeted(said) {
        Ok(Greeted::Done(met)) => met.agreed,
        other => panic!("{other:?}"),
    };
    assert_eq!(agreed(&[status()]), Some(wire::NEWEST));
    assert_eq!(greeted(&[wants(4)]), Ok(Greeted::NotYet));
    assert_eq!(agreed(&[wants(4), status()]), Some(4));
    assert_eq!(agreed(&[wants(4), wants(9), status()]), Some(9));
    assert!(matches!(greeted(&[wants(4), wants(9), wants(4)]), Err(BadGreeting::Refused { .. })));
    assert_eq!(greeted(&[]), Err(BadGreeting::Silent));
    let old = r#"{"id":7,"error":{"code":-32603,"message":"Update.","data":{"type":"cli_update_required"}}}"#;
    let Err(why) = greeted(&[reply(old)]) else { panic!("an older beta") };
    assert!(why.to_string().contains("3.0.45"), "{why}");
    for other in [
        r#"{"id":7,"error":{"code":-32601,"message":"Method not found"}}"#,
        r#"{"id":7,"error":{"code":5,"message":"m","data":{"type":"something"}}}"#,
    ] {
        assert!(matches!(greeted(&[reply(other)]), Err(BadGreeting::Refused { .. })), "{other}");
    }
}

#[test]
fn the_name_of_the_socket_follows_from_the_path() {
    let paths = |project: &str| UnityCliLoop.local_socket(project).unwrap().paths(501);
    let named = paths("/Users/example/MyProject");
    let texts: Vec<&str> = named.iter().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(
        texts,
        ["/tmp/uloop-501/UnityCliLoop-bebe6bce5923715b.sock", "/tmp/uloop/UnityCliLoop-bebe6bce5923715b.sock"]
    );
    assert_eq!(paths("/Users/example/MyProject/"), named);
    assert_ne!(paths("/Users/example/myproject"), named, "case is not folded");
    let pipe = paths(r"C:\Games\Castle");
    assert!(pipe[0].to_str().unwrap().starts_with(r"\\.\pipe\uloop-UnityCliLoop-"), "{pipe:?}");
    assert_eq!((pipe.len(), paths(r"C:\Games\Castle\")), (1, pipe));
    assert_ne!(paths(r"C:\"), paths("C:"), "the root of a drive keeps its separator");
    assert_eq!(paths("/").len(), 2);
}

fn files(entries: &[(&'static str, &str)]) -> ProjectFiles {
    entries.iter().map(|(path, text)| (*path, FileState::Content(text.as_bytes().to_vec()))).collect()
}

fn manifest(version: &str) -> String {
    format!(r#"{{"dependencies":{{"io.github.hatayama.uloopmcp":"{version}"}}}}"#)
}

#[test]
fn version_three_is_this_packages_and_version_two_the_others() {
    let installed = |entries: &[(&'static str, &str)]| UnityCliLoop.read_project(&files(entries)).installed;
    let by_v2 = |entries: &[(&'static str, &str)]| super::super::uloop::Uloop.read_project(&files(entries)).installed;
    let unknown = manifest("https://github.com/hatayama/uLoopMCP.git#main");
    let pin = (".uloop/project-runner-pin.json", "{}");
    for (entries, third) in [
        (vec![("Packages/manifest.json", manifest("3.3.0"))], true),
        (vec![("Packages/manifest.json", manifest("3.0.0-beta.45"))], true),
        (vec![("Packages/manifest.json", manifest("2.2.0"))], false),
        (vec![("Packages/manifest.json", unknown.clone())], false),
        (vec![("Packages/manifest.json", unknown), (pin.0, pin.1.to_owned())], true),
    ] {
        let entries: Vec<(&'static str, &str)> = entries.iter().map(|(path, text)| (*path, text.as_str())).collect();
        assert_eq!((installed(&entries), by_v2(&entries)), (third, !third), "{entries:?}");
    }
    assert!(!installed(&[pin]), "the file alone is no package");
}

#[test]
fn what_a_reader_may_want_to_know_is_a_note() {
    let notes = |version: &str, old: bool| {
        let text = manifest(version);
        let mut entries = vec![("Packages/manifest.json", text.as_str())];
        entries.extend(old.then_some(("UserSettings/UnityMcpSettings.json", "{}")));
        UnityCliLoop.read_project(&files(&entries)).notes
    };
    assert_eq!(notes("3.3.0", false), Vec::<String>::new());
    assert!(notes("3.4.0", false)[0].contains("3.0 to 3.3"));
    assert!(notes("3.3.0", true)[0].contains("nothing has to be set"));
    assert_eq!(notes("2.1.1", true), Vec::<String>::new());
}

fn listed(tools: &str) -> ToolListing {
    UnityCliLoop.read_list_file(format!(r#"{{"Tools":[{tools}]}}"#).as_bytes()).unwrap()
}

#[test]
fn tools_have_types_defaults_and_words_of_ours() {
    let listing = listed(
        r#"{"name":"find-game-objects","parameterSchema":{"Properties":{
            "NamePattern":{"Type":"string","Description":"Parameter: NamePattern","DefaultValue":""},
            "SearchMode":{"Type":"string","Description":"How","DefaultValue":0,"Enum":["Exact","Path"]},
            "MaxCount":{"Type":"number","Description":"Parameter: MaxCount","DefaultValue":20}},"Required":[]},
            "displayDevelopmentOnly":false},
           {"name":"hot-reload","parameterSchema":null},{"name":"mine","parameterSchema":null},{"name":7}"#,
    );
    assert_eq!(listing.dropped.len(), 1);
    let [find, hot, mine] = &listing.tools[..] else { panic!("{listing:?}") };
    assert_eq!(
        find.input_schema.parsed()["properties"].clone(),
        serde_json::json!({
            "NamePattern": {"type": "string", "default": ""},
            "SearchMode": {"type": "string", "description": "How", "enum": ["Exact", "Path"], "default": "Exact"},
            "MaxCount": {"type": "number", "default": 20},
        })
    );
    assert!(find.repeatable && find.annotations.read_only_hint && find.description.starts_with("Finds objects"));
    assert!(!mine.repeatable && mine.annotations.destructive_hint && mine.description.contains("does not describe"));
    let turns: Vec<Turn> = listing.tools.iter().map(|tool| UnityCliLoop.turn(tool)).collect();
    assert_eq!(turns, [Turn::Usual, Turn::Apart, Turn::Usual]);
    assert_eq!(hot.group.as_deref(), Some("interactive"));
}

#[test]
fn the_older_and_the_newer_name_of_a_parameter_are_both_taken() {
    let names = |own: &str, other: &str| {
        let tool = format!(
            r#"{{"name":"find-game-objects","parameterSchema":{{"Properties":{{"{own}":{{"Type":"number"}}}}}}}}"#
        );
        let tool = &listed(&tool).tools[0];
        let given = raw(format!(r#"{{"{other}":5,"Tag":"x"}}"#));
        let taken = super::super::translated(&tool.other_names, "find-game-objects", &given).unwrap();
        taken.get().to_owned()
    };
    assert_eq!(names("MaxCount", "MaxResults"), r#"{"MaxCount":5,"Tag":"x"}"#);
    assert_eq!(names("MaxResults", "MaxCount"), r#"{"MaxResults":5,"Tag":"x"}"#);
    assert_eq!(names("MaxCount", "maxresults"), r#"{"MaxCount":5,"Tag":"x"}"#);
    let other = listed(r#"{"name":"find-game-objects","parameterSchema":null}"#);
    assert!(other.tools[0].other_names.is_empty());
}

#[test]
fn only_what_the_editor_keeps_is_looked_for_after_a_reload() {
    let kept = |tool: &str, arguments: &str| match prepared(tool, None, arguments).recovery {
        Recovery::Journal(key) => Some(key.id),
        Recovery::Inferred | Recovery::None => None,
        other => panic!("{other:?}"),
    };
    let play = r#"{"testmode":"playmode","RespectEnterPlayModeSettings":true}"#;
    assert_eq!(kept("run-tests", play).as_deref(), Some("run_tests_1_07070707"));
    assert_eq!(kept("compile", r#"{"WaitForDomainReload":true}"#).as_deref(), Some("compile_1_07070707"));
    for (tool, arguments) in [
        ("compile", r#"{"WaitForDomainReload":false}"#),
        ("run-tests", r#"{"TestMode":"EditMode","RespectEnterPlayModeSettings":true}"#),
        ("run-tests", r#"{"TestMode":"PlayMode","RespectEnterPlayModeSettings":"true"}"#),
        ("execute-dynamic-code", r#"{"Code":"x","WaitForDomainReload":true}"#),
        ("get-logs", "{}"),
    ] {
        assert_eq!(kept(tool, arguments), None, "{tool} {arguments}");
    }
    assert!(prepared("compile", None, "{}").reload_follows);
    let limit = |arguments: &str| prepared("compile", None, arguments).timeout.map(|limit| limit.as_secs());
    assert_eq!(limit(r#"{"TimeoutSeconds":90}"#), Some(90));
    assert_eq!(limit(r#"{"CompileWaitTimeoutSeconds":80}"#), Some(80));
    assert_eq!(limit(r#"{"CompileWaitTimeoutSeconds":-1}"#), None);
}

#[test]
fn an_answer_of_a_screenshot_names_its_pictures() {
    let answer = UnityCliLoop.read_answer(Reply::Result(raw(
        r#"{"Screenshots":[{"ImagePath":".uloop/outputs/Screenshots/a.png"},{"ImagePath":"/p/b.JPG"}],"Again":"/p/b.JPG","Note":"no.txt"}"#,
    )));
    assert_eq!(UnityCliLoop.picture_files("screenshot", &answer), [".uloop/outputs/Screenshots/a.png", "/p/b.JPG"]);
    assert!(UnityCliLoop.picture_files("execute-dynamic-code", &answer).is_empty());
}
