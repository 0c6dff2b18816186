//! What every dialect must guarantee, whatever bytes come from an editor, its push socket or its project's files.

use std::collections::BTreeSet;

use holdfast::limits::{JSON_DEPTH_MAX, LOG_FIELD_MAX_BYTES, TOOLS_MAX};
use holdfast::protocol::dialect::{
    Annotations, AnswerBody, Dialect, EditorTool, FileState, ProjectFacts, ProjectFiles, Secret, Unreadable, Wreck,
    WreckPart,
};
use holdfast::protocol::dialect::{ListStep, Reply};
use holdfast::protocol::jsonrpc;
use serde_json::Value;
use serde_json::value::RawValue;

use super::fields;

pub(super) fn json(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice(bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)).ok()
}

pub(super) fn raw(text: &[u8]) -> Option<Box<RawValue>> {
    RawValue::from_string(std::str::from_utf8(text).ok()?.to_owned()).ok()
}

/// Reads a JSON object that may be part of a message: nested one level less than a message may be. Returns `None` for
/// anything else.
pub(super) fn object(text: &[u8]) -> Option<Box<RawValue>> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let within = jsonrpc::depth_ok(text.as_bytes(), JSON_DEPTH_MAX - 1);
    if within && text.starts_with('{') { RawValue::from_string(text.to_owned()).ok() } else { None }
}

pub(super) fn check_words(text: &str) {
    assert!(!text.trim().is_empty(), "a sentence says something");
}

/// Checks the answer to a call from a reply that cannot be read: it says so, and is no success unless the editor has said one.
pub(super) fn check_wreck(dialect: &dyn Dialect, wreck: &Wreck) {
    let answer = dialect.read_answer(Reply::Wreck(wreck.clone()));
    assert!(wreck.part == WreckPart::Result || answer.is_error, "{wreck:?} is no success");
    match answer.body {
        AnswerBody::Wreck(left) => check_words(&left.says),
        AnswerBody::JsonAndBlocks(json, _) => assert!(String::from_utf8_lossy(&wreck.bytes).contains(json.get())),
        other => panic!("{wreck:?} became {other:?}"),
    }
}

pub(super) fn check_loggable(what: &str) {
    check_words(what);
    assert!(what.len() <= LOG_FIELD_MAX_BYTES && !what.contains(char::is_control), "{what:?} is fit for a log");
}

/// Checks a tool list: every entry is either in the list or named as dropped, and every tool in the list can be offered.
/// `entries` returns how many entries the reply has.
pub(super) fn check_tools(
    dialect: &dyn Dialect,
    result: &[u8],
    step: usize,
    entries: impl Fn(&Value) -> Option<usize>,
) {
    let Some(raw) = raw(result) else { return };
    let ListStep::Tools(listing) = dialect.read_tools(&Reply::Result(raw), step) else { return };
    assert!(listing.tools.len() <= TOOLS_MAX);
    let names: BTreeSet<&str> = listing.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names.len(), listing.tools.len(), "no name twice");
    for (name, reason) in &listing.dropped {
        assert!(!name.is_empty());
        check_words(reason);
    }
    let entries = json(result).and_then(|value| entries(&value));
    if let Some(entries) = entries.filter(|entries| *entries <= TOOLS_MAX) {
        assert_eq!(listing.tools.len() + listing.dropped.len(), entries, "no entry vanishes");
    }
    for tool in &listing.tools {
        check_tool(tool);
    }
}

fn check_tool(tool: &EditorTool) {
    assert!(!tool.name.trim().is_empty() && !tool.annotations.title.is_empty());
    check_words(&tool.description);
    assert_eq!(tool.input_schema.parsed().get("type"), Some(&Value::from("object")));
    assert!(tool.input_schema.parsed().get("properties").is_none_or(Value::is_object));
    assert!(!tool.repeatable || tool.annotations.read_only_hint || tool.annotations.idempotent_hint);
    // The catalogue on disk must restore the same tool.
    let kept = serde_json::to_string(tool).expect("a tool is JSON");
    assert_eq!(serde_json::from_str::<EditorTool>(&kept).ok().as_ref(), Some(tool));
}

/// Makes a tool with this schema and no other information. Returns `None` if the schema is not one.
pub(super) fn tool(name: &str, schema: &[u8]) -> Option<EditorTool> {
    serde_json::from_slice(schema).ok().map(|input_schema| EditorTool {
        name: name.to_owned(),
        description: "d".to_owned(),
        input_schema,
        annotations: Annotations {
            title: "t".to_owned(),
            read_only_hint: false,
            destructive_hint: true,
            idempotent_hint: false,
            open_world_hint: true,
        },
        development_only: false,
        repeatable: false,
        parallel: false,
        resumable: false,
        group: None,
        other_names: Vec::new(),
    })
}

/// Reads a project's files; each field of the input is the content of one file. An empty field means that the file does not
/// exist, `?` that it cannot be read.
pub(super) fn facts(dialect: &dyn Dialect, input: &[u8]) -> ProjectFacts {
    let contents: [&[u8]; 10] = fields(input);
    let wanted = dialect.project_files();
    let state = |content: &[u8], whole: bool| match (content, whole) {
        (b"", _) => FileState::Missing,
        (b"?", _) => FileState::Unreadable(Unreadable::Denied("Permission denied".to_owned())),
        (_, false) => FileState::Present,
        (content, true) => FileState::Content(content.to_vec()),
    };
    let files: ProjectFiles =
        wanted.iter().zip(contents).map(|(file, content)| (file.path, state(content, file.content))).collect();
    let facts = dialect.read_project(&files);
    facts.problems.iter().for_each(|problem| check_words(problem));
    assert!(facts.port.is_none_or(|(port, file)| port > 0 && files.contains_key(file)));
    assert!(facts.editor_pid != Some(0));
    // A package that is installed in a version that the dialect does not speak must be named in a problem.
    assert!(facts.package_version.is_none() || facts.installed || !facts.problems.is_empty());
    let nothing: ProjectFiles = wanted.iter().map(|file| (file.path, FileState::Missing)).collect();
    if files == nothing {
        assert_eq!(facts, ProjectFacts::default());
    }
    facts
}

/// Checks a line of the push socket. Returns whether the dialect accepted it.
pub(super) fn check_push(dialect: &dyn Dialect, line: &[u8], token: &Secret) -> bool {
    let said = dialect.decode_push(line, token);
    match json(line) {
        Some(Value::Object(_)) => {}
        Some(_) => assert!(said.is_err(), "a hint is an object"),
        None => {}
    }
    let Ok(event) = said else { return false };
    if !line.starts_with(b"\xEF\xBB\xBF") {
        let padded = [b" ", line, b"\r"].concat();
        assert_eq!(dialect.decode_push(&padded, token).ok(), Some(event), "space around a line says nothing");
    }
    true
}

/// Checks that `frame` is exactly one frame within the dialect's size limit. Returns its body.
pub(super) fn check_frame(dialect: &dyn Dialect, frame: &[u8]) -> Vec<u8> {
    assert!(frame.len() <= dialect.properties().request_max_bytes);
    let mut framer = dialect.framer();
    framer.push(frame);
    let body = framer.next_frame().expect("our own frame is one").expect("and whole");
    assert!(framer.at_boundary(), "one frame and no byte more");
    body.to_vec()
}

/// Checks that every argument of the caller is sent unchanged, except those in `own`, which the dialect sets itself.
pub(super) fn check_kept(given: &RawValue, sent: Option<&Value>, own: &[&str]) {
    let (Ok(Value::Object(given)), Some(Value::Object(sent))) = (serde_json::from_str(given.get()), sent) else {
        return;
    };
    for (key, value) in &given {
        if !own.iter().any(|name| key.eq_ignore_ascii_case(name)) {
            assert_eq!(sent.get(key), Some(value), "the argument {key:?} is lost");
        }
    }
}
