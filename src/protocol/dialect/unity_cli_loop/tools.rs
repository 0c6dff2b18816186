//! Reads the tool list. The editor gives names and parameters without descriptions of the tools, so these are ours.

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::listing::{self, Bad};
use super::super::members::Members;
use super::super::uloop::schema;
use super::super::wreck;
use super::super::{Annotations, EditorTool, InputSchema, ListStep, OtherArgument, OtherName, Reply, ToolListing};

/// The group of the tools that go on, or wait for somebody, and that few tasks need.
pub(super) const INTERACTIVE: &str = "interactive";

/// What the package's own tools do, and whether they only read.
const KNOWN: &[(&str, &str, bool)] = &[
    (
        "compile",
        "Compiles the project's scripts, waits for the domain reload that may follow, and returns errors and warnings.",
        false,
    ),
    ("get-logs", "Returns the newest entries of Unity's console, filtered by kind and text.", true),
    ("run-tests", "Runs EditMode or PlayMode tests and returns their counts and the path of the report.", false),
    ("clear-console", "Clears Unity's console.", false),
    ("get-hierarchy", "Writes the objects of the open scenes to a file and returns its path.", true),
    ("find-game-objects", "Finds objects of the open scenes by name, path, tag, layer or components.", true),
    ("screenshot", "Takes a picture of the Game view, the rendering or an editor window.", false),
    ("execute-dynamic-code", "Compiles C# code and runs it in the editor.", false),
    ("control-play-mode", "Begins, stops, pauses, resumes or steps play mode, or tells its state.", false),
    (
        "enable-pause-point",
        "Pauses play mode when a line or a named point of the code is reached, and keeps what its variables are.",
        false,
    ),
    ("clear-pause-point", "Removes a pause point, or all of them.", false),
    ("enable-watch", "Records the value of an expression in play mode.", false),
    ("clear-watch", "Removes a watch, or all of them.", false),
    ("get-watch-values", "Returns the values that a watch has recorded.", true),
    ("simulate-mouse-ui", "Clicks or drags on a UI element in play mode.", false),
    ("simulate-mouse-input", "Clicks, moves or scrolls the mouse in play mode.", false),
    ("simulate-keyboard", "Presses or releases a key in play mode.", false),
    ("record-input", "Begins or ends a recording of keyboard and mouse in play mode.", false),
    ("replay-input", "Plays a recording of keyboard and mouse.", false),
    ("set-game-view-size", "Sets the size of the Game view in pixels.", false),
    ("hot-reload", "Brings changed methods into the running domain without a reload.", false),
];
const APART: [&str; 11] = [
    "enable-pause-point",
    "clear-pause-point",
    "await-pause-point",
    "enable-watch",
    "clear-watch",
    "get-watch-values",
    "record-input",
    "replay-input",
    "record-video",
    "hot-reload",
    "compile-check",
];
/// Parameters that were renamed between versions, as (tool, older name, newer name). Each version takes one of the two.
const RENAMED: [(&str, &str, &str); 2] =
    [("compile", "CompileWaitTimeoutSeconds", "TimeoutSeconds"), ("find-game-objects", "MaxResults", "MaxCount")];

/// Reads the reply to the question for the list.
pub(super) fn read(reply: &Reply) -> ListStep {
    let result = match reply {
        Reply::Error(error) => return ListStep::Failed(format!("the editor refused its tool list: {}", error.message)),
        Reply::Result(result) => result.get().as_bytes(),
        Reply::Wreck(wreck) => &wreck.bytes,
    };
    match read_file(result) {
        Some(listing) => ListStep::Tools(listing),
        None => ListStep::Failed("the editor's tool list has no Tools; read Unity's console for the reason".to_owned()),
    }
}

/// Reads a list, as it is in the reply and in the file of the project.
pub(super) fn read_file(bytes: &[u8]) -> Option<ToolListing> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let [tools, small] = wreck::parts(bytes, ["Tools", "tools"]).values;
    listing::collect(tools.or(small)?, tool)
}

fn tool(entry: &RawValue) -> Result<EditorTool, Bad> {
    let Some(entry) = Members::of(entry) else { return Err((None, "it is not an object".to_owned())) };
    let value = |name: &str| entry.find(name).and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    let text = |name: &str| value(name).and_then(|value| value.as_str().map(|text| text.trim().to_owned()));
    let Some(name) = text("name").filter(|name| !name.is_empty()) else {
        return Err((None, "it has no name".to_owned()));
    };
    let input_schema = match schema::convert(entry.find("parameterSchema")) {
        Ok(schema) => without_repetition(schema),
        Err(reason) => return Err((Some(name), reason)),
    };
    let known = KNOWN.iter().find(|known| known.0 == name);
    let reads = known.is_some_and(|known| known.2);
    let described = text("description").filter(|text| !text.is_empty());
    let described = described.or_else(|| known.map(|known| known.1.to_owned()));
    Ok(EditorTool {
        description: described.unwrap_or_else(|| listing::undescribed(&name)),
        annotations: Annotations {
            title: listing::title(&name),
            read_only_hint: reads,
            destructive_hint: !reads,
            idempotent_hint: reads,
            open_world_hint: !reads,
        },
        development_only: value("displayDevelopmentOnly").and_then(|value| value.as_bool()).unwrap_or(false),
        repeatable: reads,
        parallel: false,
        resumable: false,
        timeout_seconds: None,
        group: APART.contains(&&*name).then(|| INTERACTIVE.to_owned()),
        other_names: renamed(&name, &input_schema).into_iter().collect(),
        input_schema,
        name,
    })
}

/// Takes out descriptions that only repeat the name of their parameter. Most of the package's are such.
fn without_repetition(schema: InputSchema) -> InputSchema {
    let mut whole = schema.parsed();
    let Some(properties) = whole.get_mut("properties").and_then(Value::as_object_mut) else { return schema };
    let mut is_changed = false;
    for (name, property) in properties.iter_mut() {
        let Some(property) = property.as_object_mut() else { continue };
        let repeats =
            property.get("description").and_then(Value::as_str).and_then(|text| text.strip_prefix("Parameter: "));
        if repeats.is_some_and(|rest| rest.trim() == name) {
            property.remove("description");
            is_changed = true;
        }
    }
    if is_changed { InputSchema::from(&whole) } else { schema }
}

/// Returns the name that a parameter of this tool has in other versions of the package.
fn renamed(tool: &str, schema: &InputSchema) -> Option<OtherName> {
    let (_, older, newer) = RENAMED.iter().find(|renamed| renamed.0 == tool)?;
    let (from, to) = if schema.property(newer).is_some() { (older, newer) } else { (newer, older) };
    schema.property(to)?;
    let argument = OtherArgument {
        from: (*from).to_owned(),
        to: (*to).to_owned(),
        values: std::collections::BTreeMap::new(),
        adds: std::collections::BTreeMap::new(),
    };
    Some(OtherName { name: tool.to_owned(), arguments: vec![argument] })
}
