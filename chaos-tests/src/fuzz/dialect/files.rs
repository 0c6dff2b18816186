//! What stands in lists, in a project's files, on the push socket and in result files.

use std::collections::BTreeSet;

use holdfast::limits::TOOLS_MAX;
use holdfast::protocol::dialect::{
    EditorTool, Expected, FileState, ListStep, ProjectFacts, ProjectFiles, Reply, Secret, Unreadable,
};
use holdfast_fake_unity::{Identity, Port};
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::recorded::PUSH_TOKEN;
use super::sides::{SEPARATOR, Sides, check_words, fields, json, raw, says, some};

/// More list methods than a package has.
pub(super) const LIST_METHODS: usize = 4;

/// Reads a tool list, as if it were the reply to each of the list methods in turn: as it is, and as a text in a reply.
pub(super) fn tools(sides: &Sides, result: &[u8]) {
    let text = std::str::from_utf8(result).ok().map(|text| Value::from(text).to_string());
    for result in [raw(result), text.and_then(|text| RawValue::from_string(text).ok())].into_iter().flatten() {
        for step in 0..LIST_METHODS {
            check_tools(sides, &result, step);
        }
    }
}

/// Checks a tool list: every entry is either in the list or named as dropped, and every tool in the list can be offered.
fn check_tools(sides: &Sides, result: &RawValue, step: usize) {
    let ListStep::Tools(listing) = sides.dialect.read_tools(&Reply::Result(result.to_owned()), step) else { return };
    assert!(listing.tools.len() <= TOOLS_MAX);
    let names: BTreeSet<&str> = listing.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names.len(), listing.tools.len(), "no name twice");
    for (name, reason) in &listing.dropped {
        assert!(!name.is_empty());
        check_words(reason);
    }
    if let Some(value) = json(result.get().as_bytes()) {
        let entries = (sides.package.wire.listed)(&value);
        // A text in a reply need not be JSON as a whole.
        assert!(entries.is_some() || value.is_string(), "the observer sees a list too");
        let read = listing.tools.len() + listing.dropped.len();
        let is_all = |entries: usize| entries > TOOLS_MAX || read == entries;
        assert!(entries.is_none_or(is_all), "{read} of {entries:?} entries: one vanished");
    }
    listing.tools.iter().for_each(|tool| check_tool(tool));
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

/// Returns a list with two entries of each array, so that it is no longer than inputs are, and also the text that it may be.
fn shortened(result: &[u8]) -> Vec<Vec<u8>> {
    fn short(value: Value) -> Value {
        match value {
            Value::Array(items) => items.into_iter().take(2).map(short).collect(),
            Value::Object(members) => members.into_iter().map(|(name, member)| (name, short(member))).collect(),
            other => other,
        }
    }
    let Some(value) = json(result) else { return Vec::new() };
    let text = value.as_str().and_then(|text| json(text.as_bytes()));
    [Some(value), text].into_iter().flatten().map(|value| short(value).to_string().into_bytes()).collect()
}

/// Returns the recorded lists.
pub(super) fn lists(sides: &Sides) -> Vec<Vec<u8>> {
    sides.recorded().results.iter().flat_map(|result| shortened(result)).collect()
}

/// Returns the files of the recorded project.
pub(super) fn projects(sides: &Sides) -> Vec<Vec<u8>> {
    vec![sides.recorded().files.join(&SEPARATOR)]
}

/// Reads a project's files; each field of the input is the content of one file. An empty field means that the file does not
/// exist, `?` that it cannot be read.
pub(super) fn project(sides: &Sides, input: &[u8]) {
    let contents: [&[u8]; 10] = fields(input);
    let wanted = sides.dialect.project_files();
    let state = |content: &[u8], whole: bool| match (content, whole) {
        (b"", _) => FileState::Missing,
        (b"?", _) => FileState::Unreadable(Unreadable::Denied("Permission denied".to_owned())),
        (_, false) => FileState::Present,
        (content, true) => FileState::Content(content.to_vec()),
    };
    let of_user = sides.dialect.user_file("/project").map(|file| (file.label, true));
    let wanted = wanted.iter().map(|file| (file.path, file.content)).chain(of_user);
    let files: ProjectFiles =
        wanted.zip(contents).map(|((path, is_read), content)| (path, state(content, is_read))).collect();
    let facts = sides.dialect.read_project(&files);
    facts.problems.iter().for_each(|problem| check_words(problem));
    assert!(facts.port.is_none_or(|(port, file)| port > 0 && files.contains_key(file)));
    assert!(facts.editor_pid != Some(0));
    // A package that is installed in a version that the dialect does not speak must be named in a problem.
    assert!(facts.package_version.is_none() || facts.installed || !facts.problems.is_empty());
    if files.values().all(|state| *state == FileState::Missing) {
        assert_eq!(facts, ProjectFacts::default());
    }
    if let (Some((_, file)), Port::InHome(folder, _)) = (facts.port, sides.facts().port) {
        assert!(file.contains(folder), "the port is in another file");
    } else if let Some((_, file)) = facts.port {
        assert_eq!(sides.facts().port.file().map(|(path, _)| path), Some(file), "the port is in another file");
        assert!(
            !matches!(sides.facts().port, Port::Record(..)) || facts.editor_pid.is_some(),
            "a port is its process's"
        );
    }
    check_expected(sides, &facts);
}

/// Checks that the editor is expected to be known as this package's editors are.
fn check_expected(sides: &Sides, facts: &ProjectFacts) {
    match (&facts.expected, sides.facts().identity) {
        (None, _) => {}
        (Some(Expected::Told { project_root, server_session_id }), Identity::WithEachCall | Identity::InFile) => {
            assert!(!project_root.trim().is_empty() && !server_session_id.trim().is_empty());
        }
        (Some(Expected::Proven(known)), Identity::Proven) => {
            assert!(!known.project.is_empty() && known.pid > 0);
            assert!(!known.nonce.is_empty() && known.token.reveal().len() >= 32, "a secret can be guessed");
            assert!(!format!("{facts:?}").contains(known.token.reveal()), "the token is in no log");
        }
        (Some(_), identity) => panic!("{identity:?} is how this package is known"),
    }
}

/// Decodes a line of the push socket. Where the package proves itself, a line without our token must be refused.
pub(super) fn push(sides: &Sides, line: &[u8]) {
    let decode = |line: &[u8], token: &str| sides.dialect.decode_push(line, &Secret::new(token));
    let (said, message) = (decode(line, PUSH_TOKEN), json(line));
    assert!(said.is_err() || message.as_ref().is_none_or(Value::is_object), "a hint is an object");
    let Ok(event) = said else { return };
    if !line.starts_with(b"\xEF\xBB\xBF") {
        let padded = [b" ", line, b"\r"].concat();
        assert_eq!(decode(&padded, PUSH_TOKEN).ok(), Some(event), "space around a line says nothing");
    }
    if sides.facts().identity == Identity::Proven {
        assert!(message.as_ref().is_none_or(|message| says(message, PUSH_TOKEN)), "it does not bear our token");
        assert!(decode(line, "another").is_err(), "any token will do");
    }
    if let (Some(number), Some(message)) = (sides.dialect.push_sequence(line), &message) {
        assert!(some(message, &|value| value.as_u64() == Some(number)), "its number is the one that stands there");
    }
}

/// Returns the recorded file.
pub(super) fn results(sides: &Sides) -> Vec<Vec<u8>> {
    sides.recorded().result_file.iter().cloned().collect()
}

/// Reads the result file of a compilation: `None` until the file is complete, and then what the editor wrote.
pub(super) fn result_file(sides: &Sides, bytes: &[u8]) {
    let Some(reply) = sides.dialect.read_result_file(bytes) else {
        assert!(!json(bytes).is_some_and(|value| value.is_object()), "a whole object is a result");
        return;
    };
    let Reply::Result(result) = reply else { panic!("a file is a result: {reply:?}") };
    assert!(result.get().starts_with('{'));
    let text = std::str::from_utf8(bytes).expect("a result is text");
    if !text.contains(result.get()) {
        let (left, whole) = (json(result.get().as_bytes()).expect("JSON"), json(bytes).expect("an object"));
        for (name, value) in left.as_object().expect("an object") {
            assert_eq!(whole.get(name), Some(value), "what is left is not touched");
        }
    }
    // A shorter part of the file, as the editor may have written it so far, must never be accepted as complete.
    let end = text.trim_end().len();
    for cut in (0..end).rev().take(64) {
        assert!(sides.dialect.read_result_file(&bytes[..cut]).is_none(), "whole after {cut} of {end} bytes");
    }
}
