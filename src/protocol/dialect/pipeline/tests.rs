//! Tests the golden vectors, the greeting of each version, the project's files, the list of commands, and names of arguments.

use serde_json::Value;

use super::super::tests::{Vector, all, have_kinds};
use super::super::{AnswerBody, EditorState, Expected, FileState, Met, Recovery, Refusal};
use super::*;
use crate::protocol::ids::CallId;

const PORT: u16 = 7800;
const TOKEN: &str = "c2VjcmV0";

fn raw(text: impl Into<String>) -> Box<RawValue> {
    RawValue::from_string(text.into()).unwrap()
}

fn vectors() -> Vec<Vector> {
    all("pipeline")
}

fn id() -> WireId {
    WireId { number: 7, call: None, agreed: None }
}

fn key(id: &str) -> JournalKey {
    JournalKey { journal: "began".to_owned(), id: id.to_owned(), seq: 0 }
}

fn prepared(tool: &str, listed: Option<&EditorTool>, arguments: &str) -> PreparedCall {
    let call = CallId::from_random([7; 16]);
    let sending = Sending { journal: Some("began"), ..Sending::first(call, true) };
    Pipeline.prepare_call(&sending, tool, listed, &raw(arguments))
}

/// The response to a request for this path, as the dialect reads it.
fn reply(path: &str, status: u16, body: &str) -> Reply {
    let request = Request { method: "GET", path: path.to_owned().into(), headers: &[], body: "".into() };
    let response = Response { status, server: None, body: body.to_owned().into() };
    Pipeline.read_response(id(), &request, response)
}

fn list(began: &str) -> String {
    format!(r#"{{"commands":[],"count":0,"server":{{"version":"0.0.1","port":7800,"startTime":"{began}"}}}}"#)
}

#[test]
fn every_vector_has_a_kind_that_is_known() {
    let known = [
        "call",
        "cancel",
        "error",
        "greeting",
        "list_tools",
        "outcome",
        "outcome_result",
        "pulse",
        "result",
        "status_result",
        "submitted",
    ];
    have_kinds(&vectors(), &known);
}

#[test]
fn requests_are_sent_byte_for_byte() {
    let mut seen = 0;
    for vector in vectors().iter().filter(|vector| vector.text("direction") == "to_editor") {
        let said = [reply(wire::PROBE, 404, "Not Found"), reply(wire::STATUS, 200, "{}")];
        let hello = Hello::default();
        let encoded = match vector.said("kind") {
            "greeting" => {
                let said = &said[..usize::try_from(vector.means("said").as_u64().unwrap()).unwrap()];
                Pipeline.encode(id(), &Order::Greeting { hello: &hello, said })
            }
            "list_tools" => {
                let step = usize::try_from(vector.means("step").as_u64().unwrap()).unwrap();
                Pipeline.encode(id(), &Order::ListTools { step, development: false })
            }
            "pulse" => Pipeline.encode(id(), &Order::Heartbeat),
            "call" => {
                let tool = vector.said("tool");
                let call = prepared(tool, None, vector.said("arguments"));
                Pipeline.encode(id(), &Order::Call { tool, call: &call, expected: None, progress: false })
            }
            "outcome" => Pipeline.encode(id(), &Order::Outcomes(&[key(vector.said("id"))])),
            "cancel" => Pipeline.encode(id(), &Order::Cancel(&key(vector.said("id")))),
            kind => panic!("{kind}"),
        };
        let Ok(Encoded::Request(request)) = encoded else { panic!("{encoded:?}") };
        assert_eq!(request.body, vector.text("body"), "{}", vector.text("name"));
        let frame = request.encode(PORT, Some(TOKEN));
        assert_eq!(std::str::from_utf8(&frame).unwrap(), vector.text("frame"), "{}", vector.text("name"));
        seen += 1;
    }
    assert_eq!(seen, 9);
}

#[test]
fn every_reply_means_what_its_vector_says() {
    let mut seen = 0;
    for vector in vectors().iter().filter(|vector| vector.text("direction") == "from_editor") {
        let name = vector.text("name");
        let status = u16::try_from(vector.means("status").as_u64().unwrap()).unwrap();
        let reply = reply(vector.said("path"), status, vector.text("body"));
        seen += 1;
        match vector.said("kind") {
            "error" => error_means(vector, reply),
            "result" => result_means(vector, reply),
            "submitted" => assert_eq!(Pipeline.submitted(&reply, "began"), Some(key(vector.said("id"))), "{name}"),
            "status_result" => {
                let says = match Pipeline.read_standing(&reply).expect(name) {
                    Standing::TakesCalls => None,
                    Standing::Blocked(by) => Some(by),
                };
                let part = vector.means("blocked").as_str();
                assert!(
                    part.is_none() == says.is_none() && part.is_none_or(|part| says.unwrap().contains(part)),
                    "{name}"
                );
            }
            "outcome_result" => {
                let told = match Pipeline.read_outcomes(reply, &[key("j1")]) {
                    Err(BadOutcomes::Refused(_)) => "refused",
                    told => <&'static str>::from(&told.expect(name)[0]),
                };
                assert_eq!(told, vector.said("told"), "{name}");
            }
            kind => panic!("{kind}"),
        }
    }
    assert!(seen >= 40, "{seen}");
}

fn error_means(vector: &Vector, reply: Reply) {
    let name = vector.text("name");
    let given_up = Pipeline.gives_up(&reply);
    let Reply::Error(error) = &reply else { panic!("{name}: {reply:?}") };
    let refused = error.refusal.as_ref().map(|refused| match refused.how {
        Refusal::Final => "final",
        Refusal::Busy => "busy",
        Refusal::OtherSession => "other_session",
        other => panic!("{name}: {other:?}"),
    });
    let refused = if given_up { refused.or(Some("given_up")) } else { refused };
    assert_eq!(refused, vector.means("refused").as_str(), "{name}: {error:?}");
    assert!(error.message.contains(vector.means("says").as_str().unwrap_or_default()), "{name}: {}", error.message);
    let answer = Pipeline.read_answer(reply);
    assert!(answer.is_error && matches!(answer.body, AnswerBody::Text(text) if !text.is_empty()), "{name}");
}

fn result_means(vector: &Vector, reply: Reply) {
    let name = vector.text("name");
    assert!(!Pipeline.gives_up(&reply) && Pipeline.submitted(&reply, "began").is_none(), "{name}");
    let answer = Pipeline.read_answer(reply);
    assert_eq!(Some(answer.is_error), vector.means("is_error").as_bool(), "{name}");
    let kinds = |blocks: &[Box<RawValue>]| -> Vec<Value> {
        blocks.iter().map(|block| serde_json::from_str::<Value>(block.get()).unwrap()["type"].clone()).collect()
    };
    let (result, blocks) = match &answer.body {
        AnswerBody::Text(text) => return assert_eq!(text, vector.said("text"), "{name}"),
        AnswerBody::Json(json) => (json, Vec::new()),
        AnswerBody::JsonAndBlocks(json, blocks) => (json, kinds(blocks)),
        other => panic!("{name}: {other:?}"),
    };
    // What the editor wrote keeps its text.
    assert_eq!(result.get(), vector.said("result"), "{name}");
    assert_eq!(&blocks, vector.means("blocks").as_array().unwrap_or(&Vec::new()), "{name}");
}

/// The replies of an editor whose list is this and that answers the probe with this status and body.
fn greeted(list: (u16, &str), probe: (u16, &str)) -> Result<Greeted, BadGreeting> {
    greeted_with(list, probe, r#"{"status":"ready"}"#)
}

/// The same, with this status.
fn greeted_with(list: (u16, &str), probe: (u16, &str), status_said: &str) -> Result<Greeted, BadGreeting> {
    let hello = Hello::default();
    let mut said = Vec::new();
    for _ in 0..4 {
        let Ok(Encoded::Request(next)) = Pipeline.encode(id(), &Order::Greeting { hello: &hello, said: &said }) else {
            panic!("a greeting that cannot go on");
        };
        let (status, body) = match &*next.path {
            wire::PROBE => (probe.0, probe.1.to_owned()),
            wire::STATUS => (200, status_said.to_owned()),
            wire::ONE_COMMAND => (list.0, list.1.to_owned()),
            _ if list.0 >= 500 => (list.0, list.1.to_owned()),
            _ => (200, self::list("began")),
        };
        said.push(reply(&next.path, status, &body));
        let greeted = Pipeline.check_greeting(&hello, &said)?;
        let Greeted::NotYet = greeted else { return Ok(greeted) };
    }
    panic!("it does not end")
}

#[test]
fn the_greeting_learns_the_domain_and_whether_there_are_jobs() {
    let met = |greeted: Result<Greeted, BadGreeting>| match greeted {
        Ok(Greeted::Done(met)) => met,
        other => panic!("{other:?}"),
    };
    let json = (404, r#"{"error":"Job Not Found"}"#);
    let (text, began) = ((404, "Not Found"), list("began"));
    let new = met(greeted((200, &began), json));
    assert!(matches!(&new, Met { journal: Some(journal), domain: Some(_), .. } if journal == "began"));
    let old = met(greeted((200, &began), text));
    assert_eq!((old.journal, old.domain), (None, new.domain));
    assert_eq!(met(greeted((404, "Not Found"), json)), new, "a version that takes no parameters");
    assert_ne!(met(greeted((200, &list("later")), json)).domain, new.domain);
    let refused = greeted((401, r#"{"error":"Unauthorized"}"#), json).unwrap_err();
    assert!(matches!(&refused, BadGreeting::TokenRefused(why) if why.contains(project::DESCRIPTOR)), "{refused:?}");
    for foreign in ["{}", "[]", "<html>", r#"{"commands":[]}"#] {
        assert!(matches!(greeted((200, foreign), json), Err(BadGreeting::ForeignPeer(_))), "{foreign}");
    }
    assert!(matches!(greeted((200, &began), (401, "{}")), Err(BadGreeting::TokenRefused(_))));
    assert!(matches!(greeted((200, &began), (500, "")), Err(BadGreeting::Starting(_))));
    assert!(matches!(greeted((500, ""), json), Err(BadGreeting::Starting(_))), "nobody else listens there");
    let standing = |status: &str| met(greeted_with((200, &began), json, status)).standing;
    assert_eq!(standing(r#"{"status":"ready"}"#), Some(Standing::TakesCalls));
    for blocked in [r#"{"status":"settling"}"#, r#"{"status":"blocked_by_dialog"}"#] {
        assert!(matches!(standing(blocked), Some(Standing::Blocked(_))), "{blocked}");
    }
    assert_eq!(standing("{}"), None);
    let response = |began: &str| Response { status: 200, server: None, body: list(began).into() };
    assert!(
        Pipeline.greets_alike(&response("a"), &response("a")) && !Pipeline.greets_alike(&response("a"), &response("b"))
    );
}

#[test]
fn the_descriptor_says_where_and_never_whether() {
    let files = |descriptor: &str, lock: &str| {
        let content = |text: &str| FileState::Content(text.as_bytes().to_vec());
        let files = [(project::DESCRIPTOR, content(descriptor)), ("Packages/packages-lock.json", content(lock))];
        Pipeline.read_project(&ProjectFiles::from(files))
    };
    let whole = r#"{"pid":7,"port":7801,"projectPath":"/p","unityVersion":"6000.3.1f1","startedAt":"a","lastHeartbeat":"x",
        "evalToken":"dG9rZW4="}"#;
    let lock = r#"{"dependencies":{"com.unity.pipeline":{"version":"0.8.0-exp.1","source":"registry"}}}"#;
    let facts = files(whole, lock);
    assert_eq!(
        (facts.installed, facts.by_record, facts.package_version.as_deref()),
        (true, false, Some("0.8.0-exp.1"))
    );
    assert_eq!((facts.port, facts.editor_pid), (Some((7801, project::DESCRIPTOR)), Some(7)));
    assert_eq!(facts.token, Some(Secret::new("dG9rZW4=")));
    assert!(matches!(&facts.expected, Some(Expected::Told { project_root, .. }) if project_root == "/p"));
    let beat = files(&whole.replace("\"lastHeartbeat\":\"x\"", "\"lastHeartbeat\":\"y\""), lock);
    assert_eq!(beat, facts, "a heartbeat alone is no news");
    assert!(files(whole, "{}").by_record);
    for (version, is_known) in
        [("0.4.0", true), ("0.8.1", true), ("0.3.9", false), ("0.9.0-exp.1", false), ("1.0.0", false)]
    {
        let notes = files(whole, &lock.replace("0.8.0-exp.1", version)).notes;
        assert_eq!(notes.is_empty(), is_known, "{version}: {notes:?}");
    }
    for half in ["", "{", r#"{"pid":7,"port":78"#] {
        let facts = files(half, lock);
        assert_eq!((facts.port, &*facts.problems), (None, [].as_slice()), "{half:?} is being written");
    }
}

#[test]
fn the_list_tells_what_a_command_does_by_its_name_and_its_parameters() {
    let commands = format!(r#"{{"commands":{},"server":{{}}}}"#, tools::COMMANDS);
    let ListStep::Tools(own) = Pipeline.read_tools(&reply(wire::COMMANDS, 200, &commands), 0) else { panic!() };
    assert_eq!((own.tools.len(), &*own.dropped), (140, [].as_slice()));
    let find = |name: &str| own.tools.iter().find(|tool| tool.name == name).unwrap_or_else(|| panic!("no {name}"));
    for reads in ["get_selection", "list_tests", "find_assets", "build_status", "console", "search", "screenshot"] {
        let tool = find(reads);
        assert!(tool.annotations.read_only_hint && !tool.annotations.destructive_hint, "{reads}");
        assert_eq!(tool.repeatable, reads != "screenshot", "{reads}: a picture is written into a file");
    }
    for writes in ["create_gameobject", "eval", "recompile", "clear_console", "build", "delete_asset"] {
        assert!(!find(writes).annotations.read_only_hint && !find(writes).repeatable, "{writes}");
    }
    assert!(find("build").annotations.destructive_hint && !find("create_gameobject").annotations.destructive_hint);
    let listed = r#"{"commands":[
        {"name":"get_loot","parameters":[]},
        {"name":"jump","runtimeOnly":true},
        {"name":"a","tags":["x"],"schema":{"type":"object","properties":{"n":{"type":"integer"}}}},
        {"name":7}],"total":9}"#;
    let ListStep::Tools(other) = Pipeline.read_tools(&reply(wire::COMMANDS, 200, listed), 1) else { panic!() };
    let names: Vec<(&str, bool)> = other.tools.iter().map(|tool| (&*tool.name, tool.repeatable)).collect();
    assert_eq!(names, [("get_loot", false), ("a", false)], "a project's own command is never run twice");
    assert_eq!(other.tools[1].group.as_deref(), Some("x"));
    assert_eq!(other.dropped.len(), 2, "{:?}", other.dropped);
    assert!(matches!(Pipeline.read_tools(&reply(wire::COMMANDS, 400, "{}"), 0), ListStep::TryNext));
    assert!(matches!(Pipeline.read_tools(&reply(wire::COMMANDS, 200, "{}"), 0), ListStep::Failed(_)));
}

#[test]
fn an_argument_that_the_command_does_not_have_is_named() {
    let commands = format!(r#"{{"commands":{}}}"#, tools::COMMANDS);
    let ListStep::Tools(own) = Pipeline.read_tools(&reply(wire::COMMANDS, 200, &commands), 0) else { panic!() };
    let misread = |name: &str, arguments: &str| {
        let tool = own.tools.iter().find(|tool| tool.name == name).unwrap();
        prepared(name, Some(tool), arguments).misread
    };
    assert_eq!(misread("build", r#"{"target":"x","confirm":true}"#), None);
    assert_eq!(misread("save_all", "{}"), None);
    let near = misread("build", r#"{"output_path":"x"}"#).unwrap();
    assert!(near.contains("did you mean \"outputPath\""), "{near}");
    let far = misread("create_gameobject", r#"{"colour":1}"#).unwrap();
    assert!(far.contains("`create_gameobject` has no argument \"colour\"") && far.contains("primitive"), "{far}");
    assert!(misread("save_all", r#"{"x":1}"#).unwrap().contains("nor any other"));
    assert_eq!(prepared("eval", None, r#"{"timeout":2500}"#).timeout, Some(std::time::Duration::from_millis(2500)));
    assert_eq!(prepared("run_tests", None, r#"{"timeout":90}"#).timeout, Some(std::time::Duration::from_secs(90)));
}

#[test]
fn a_status_file_tells_how_what_was_begun_ends() {
    let asked = |command: &str, arguments: &str| {
        let arguments: Box<RawValue> = serde_json::from_str(arguments).unwrap();
        followed::recovery(command, &arguments).expect("a file")
    };
    let status = |command: &str, text: &str| Pipeline.read_status_file(&asked(command, "{}"), text.as_bytes());
    let runs = |command: &str, text: &str| matches!(status(command, text), Some(WorkStatus::Runs { .. }));
    assert!(runs("recompile", r#"{"status":"triggered"}"#) && runs("recompile", r#"{"status":"compiling"}"#));
    assert!(runs("run_tests", r#"{"status":"running"}"#) && runs("build", r#"{"status":"building","buildId":"b"}"#));
    let over_reload = |command: &str, text: &str| match status(command, text) {
        Some(WorkStatus::Runs { over_reload }) => over_reload,
        other => panic!("{command} {text}: {other:?}"),
    };
    assert!(!over_reload("recompile", r#"{"status":"compiling"}"#), "it ended with the domain");
    assert!(
        over_reload("recompile", r#"{"status":"triggered"}"#) && over_reload("run_tests", r#"{"status":"running"}"#)
    );
    for nothing in ["", "{", "[]", r#"{"status":"idle"}"#, r#"{"status":7}"#] {
        assert!(status("recompile", nothing).is_none(), "{nothing}");
    }
    let ended = |command: &str, text: &str| match status(command, text) {
        Some(WorkStatus::Ended { reply, reload_follows }) => (Pipeline.read_answer(reply), reload_follows),
        other => panic!("{command} {text}: {other:?}"),
    };
    let (well, reloads) = ended("recompile", r#"{"status":"completed","failed":false,"errors":[]}"#);
    assert!(!well.is_error && reloads);
    let (same, reloads) = ended("recompile", r#"{"status":"up_to_date","failed":false}"#);
    assert!(!same.is_error && !reloads, "nothing was compiled");
    let failed = r#"{"status":"completed","failed":true,"errors":["Assets/A.cs(3,7): error CS0246: no such type"]}"#;
    let (failed, reloads) = ended("recompile", failed);
    assert!(failed.is_error && !reloads, "a compilation that fails reloads nothing");
    let compiled = super::super::Compiled::read(&failed).expect("errors");
    assert_eq!((compiled.error_count, compiled.errors[0].line), (1, 3));
    assert_eq!((&*compiled.errors[0].file, &*compiled.errors[0].message), ("Assets/A.cs", "CS0246: no such type"));
    let (tests, reloads) = ended("run_tests", r#"{"status":"completed","summary":{"total":2,"failed":1}}"#);
    assert!(tests.is_error && !reloads, "a test failed");
    assert!(ended("package_add", r#"{"status":"completed"}"#).1 && ended("build", r#"{"status":"failed"}"#).0.is_error);
    let begun = |command: &str, arguments: &str, result: &str| {
        let reply = reply(wire::EXEC, 200, &format!(r#"{{"success":true,"result":{result}}}"#));
        Pipeline.begins_work(&reply, &asked(command, arguments))
    };
    let begins = |result: &str| begun("build", "{}", result).is_some();
    for runs in [
        r#"{"status":"compiling"}"#,
        r#""{\"status\":\"compiling\"}""#,
        r#"{"buildId":"b"}"#,
        r#"{"Status":"playmode_running"}"#,
    ] {
        assert!(begins(runs), "{runs}");
    }
    for over in
        [r#"{"status":"up_to_date"}"#, r#"{"status":"completed"}"#, r#"{"success":false,"status":"x"}"#, "null", "{}"]
    {
        assert!(!begins(over), "{over}");
    }
    let at_once = r#"{"success":true,"result":{"Status":"completed","Summary":{"Total":2,"Failed":1}}}"#;
    assert!(Pipeline.read_answer(reply(wire::EXEC, 200, at_once)).is_error, "a test failed");
    let tells = |of: &Recovery, text: &str| Pipeline.read_status_file(of, text.as_bytes()).is_some();
    let build = begun("build", "{}", r#"{"buildId":"B1","status":"building"}"#).unwrap();
    assert!(tells(&build, r#"{"status":"completed","buildId":"B1"}"#));
    assert!(!tells(&build, r#"{"status":"completed","buildId":"another"}"#), "it is another client's build");
    let add = begun("package_add", r#"{"identifier":"com.mine@1.2.0"}"#, r#"{"status":"running"}"#).unwrap();
    for (text, ours) in [
        (r#"{"status":"completed","identifier":"com.mine@1.2.0"}"#, true),
        (r#"{"status":"completed","identifier":"com.mine"}"#, true),
        (r#"{"status":"completed"}"#, true),
        (r#"{"status":"completed","identifier":"com.other"}"#, false),
        (r#"{"status":"completed","identifier":"com.mine@1.3.0"}"#, false),
        (r#"{"status":"completed","identifier":"com.mine@https://a/mine.git"}"#, true),
    ] {
        assert_eq!(tells(&add, text), ours, "{text}");
    }
    let git = begun("package_add", r#"{"identifier":"https://a/mine.git"}"#, r#"{"status":"running"}"#).unwrap();
    for (said, ours) in [("https://a/mine.git", true), ("https://a/other.git", false), ("com.mine", true)] {
        assert_eq!(tells(&git, &format!(r#"{{"status":"completed","identifier":"{said}"}}"#)), ours, "{said}");
    }
}

#[test]
fn an_editor_without_jobs_is_asked_for_none() {
    let call = CallId::from_random([7; 16]);
    let body = |journal: Option<&str>| {
        let sending = Sending { journal, ..Sending::first(call, true) };
        let prepared = Pipeline.prepare_call(&sending, "save_all", None, &raw("{}"));
        let order = Order::Call { tool: "save_all", call: &prepared, expected: None, progress: false };
        let Ok(Encoded::Request(request)) = Pipeline.encode(id(), &order) else { panic!("no request") };
        String::from_utf8(request.body.to_vec()).unwrap()
    };
    assert!(body(Some("began")).contains(r#""job":true"#));
    assert_eq!(body(None), r#"{"command":"save_all","parameters":{},"timeout":60000}"#);
}

#[test]
fn a_reply_that_names_no_job_is_no_result() {
    for said in [r#"{"jobId":5,"state":"queued"}"#, r#"{"jobId":"","state":"queued"}"#] {
        let reply = reply(wire::EXEC, 200, &format!(r#"{{"success":true,"result":{said}}}"#));
        assert!(matches!(reply, Reply::Wreck(_)), "{said}");
    }
    let of_a_tool = reply(wire::EXEC, 200, r#"{"success":true,"result":{"state":"open"}}"#);
    assert!(matches!(of_a_tool, Reply::Result(_)));
}

#[test]
fn the_main_thread_says_what_the_editor_does_and_a_refresh_is_no_reload() {
    let Some(Encoded::Request(question)) = Pipeline.main_thread_question(id()) else { panic!("a question") };
    assert_eq!((question.method, &*question.path), ("GET", "/api/editor_status"));
    let told = |text: &str| Pipeline.read_main_thread(&reply(&question.path, 200, text));
    let state = |text: &str| told(text).map(|told| (told.state, told.importing));
    for (status, compiling, refreshing, mode, state_) in [
        ("ready", false, false, "stopped", EditorState::Ready),
        ("playing", false, false, "playing", EditorState::Playing),
        ("ready", false, false, "paused", EditorState::Playing),
        ("compiling", true, false, "stopped", EditorState::Compiling),
        ("reloading", false, true, "stopped", EditorState::Ready),
    ] {
        let text = format!(
            r#"{{"status":"{status}","compiling":{compiling},"domainReloadInProgress":{refreshing},"playMode":"{mode}"}}"#
        );
        assert_eq!(state(&text), Some((state_, refreshing)), "{text}");
    }
    for other in ["{}", r#"{"status":"ready","lastHeartbeat":"x"}"#, "[]"] {
        assert_eq!(told(other), None, "{other}");
    }
    assert!(told(r#"{"playMode":"stopped"}"#).is_some_and(|told| told.inferred));
}

#[test]
fn a_job_tells_the_progress_bar_of_the_editor() {
    let told = |progress: &str| {
        let text = format!(r#"{{"jobId":"j","state":"running","progress":{progress}}}"#);
        Pipeline.read_job_progress(&reply(wire::JOB, 200, &text)).map(|told| (told.done, told.total, told.message))
    };
    let words = |words: &str| Some(words.to_owned());
    let all = r#"{"title":"Importing assets","info":"A.png","current":3,"total":10,"pct":0.3}"#;
    assert_eq!(told(all), Some((3.0, Some(10.0), words("Unity: Importing assets, A.png, 3 of 10"))));
    assert_eq!(told(r#"{"title":"Baking","pct":0.25}"#), Some((0.25, Some(1.0), words("Unity: Baking"))));
    assert_eq!(told(r#"{"title":" ","current":-1,"total":0}"#), Some((0.0, None, None)));
    assert_eq!(
        told(r#"{"title":"a\u001b[31m","current":2}"#).and_then(|(.., said)| said).map(|said| said.contains('\u{1b}')),
        Some(false)
    );
    for nothing in ["null", "7", r#"{"current":"x"}"#] {
        assert_eq!(told(nothing), None, "{nothing}");
    }
}
