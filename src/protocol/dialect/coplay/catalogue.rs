//! The package's tools. The editor names those that it has, but of its own ones neither schema nor annotations: these are in
//! `tools.json`, a tool on each line. Names, types and annotations are the package's (server 10.3), descriptions are ours.
//!
//! Some tools of the package's server are not offered. `manage_tools`, `set_active_instance`, `debug_request_context` and
//! `execute_custom_tool` are about that server, and the gateway has other ways for what they do. `manage_script_capabilities` answers a
//! fixed text. `unity_docs` reads web pages, and `find_in_file` searches in the server: neither is a request to the editor.
//!
//! What that server offers as resources, by commands of the editor that it lists as no tools, are tools here, in a group of their own;
//! and each resource is a call of its tool ([`resources`]).

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::super::listing::{self, Bad};
use super::super::members::Members;
use super::super::wreck;
use super::super::{Annotations, EditorTool, InputSchema, PackageResource, ToolListing};
use super::form::{Form, Step};
use crate::limits::{JSON_DEPTH_MAX, TOOLS_MAX};
use crate::protocol::jsonrpc::depth_ok;
use crate::protocol::text::clean;

#[cfg(test)]
mod tests;

/// The editor's tool whose commands are several tools here, because they are several in the package's server.
const SCRIPTS: &str = "manage_script";
/// The group of the tools that the editor does not list, because in the package's server they are resources.
const RESOURCES: &str = "resources";

/// A tool as `tools.json` states it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tool {
    name: String,
    group: String,
    /// The editor's command, if it has another name.
    command: Option<String>,
    about: String,
    /// The annotations that are true: `r`ead-only, `d`estructive, `i`dempotent, and `c`losed, which reaches nothing beyond the editor.
    #[serde(default)]
    hints: String,
    /// Whether every action only reads, or leads to the same state again.
    #[serde(default)]
    repeatable: bool,
    /// Whether the editor spells the parameters `likeThis`.
    #[serde(default)]
    camel: bool,
    /// What every call sends beside its arguments.
    #[serde(default)]
    pub(super) adds: Map<String, Value>,
    #[serde(default)]
    pub(super) steps: Vec<Step>,
    #[serde(default)]
    resources: Vec<Resource>,
    pub(super) parameters: Vec<Parameter>,
}

/// A parameter of such a tool.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameter {
    pub(super) name: String,
    /// The type: alternatives are divided by `|`, and items stand in angle brackets.
    #[serde(rename = "type", default = "string")]
    kind: String,
    #[serde(default)]
    required: bool,
    default: Option<Value>,
    /// The values that it takes.
    #[serde(default)]
    pub(super) of: Vec<String>,
    /// The editor's name, if it does not follow from the tool's rule.
    wire: Option<String>,
    /// How its value is translated, if that does not follow from its type.
    #[serde(rename = "as")]
    form: Option<Form>,
    /// The value that is sent if it is left out.
    pub(super) sent: Option<Value>,
    /// The actions with which it is sent; empty: all.
    #[serde(default, rename = "for")]
    pub(super) actions: Vec<String>,
    about: Option<String>,
}

/// A resource of the package's server that such a tool answers. The variables in its address are parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resource {
    name: String,
    address: String,
    /// What it is, if it is not what the tool answers usually.
    about: Option<String>,
    /// The arguments with which it is that.
    #[serde(default)]
    adds: Map<String, Value>,
}

fn string() -> String {
    "string".to_owned()
}

impl Tool {
    /// The editor's name of a parameter.
    pub(super) fn wire<'a>(&self, parameter: &'a Parameter) -> std::borrow::Cow<'a, str> {
        match &parameter.wire {
            Some(wire) => wire.into(),
            None if self.camel => camel(&parameter.name).into(),
            None => parameter.name.as_str().into(),
        }
    }

    fn resources(&self) -> impl Iterator<Item = PackageResource> {
        let numbers = self.parameters.iter().filter(|one| one.kind == "integer").map(|one| &one.name);
        let is_in = |address: &str, name: &str| address.contains(&format!("{{{name}}}"));
        self.resources.iter().map(move |resource| PackageResource {
            address: resource.address.clone(),
            name: resource.name.clone(),
            title: listing::title(&resource.name),
            description: resource.about.as_ref().unwrap_or(&self.about).clone(),
            tool: self.name.clone(),
            arguments: resource.adds.clone(),
            numbers: numbers.clone().filter(|name| is_in(&resource.address, name)).cloned().collect(),
        })
    }

    fn in_editor(&self) -> EditorTool {
        let is = |hint| self.hints.contains(hint);
        let properties: Map<String, Value> =
            self.parameters.iter().map(|one| (one.name.clone(), one.schema())).collect();
        let required: Vec<&str> =
            self.parameters.iter().filter(|one| one.required).map(|one| one.name.as_str()).collect();
        let mut schema = Map::from_iter([
            ("type".to_owned(), json!("object")),
            ("properties".to_owned(), properties.into()),
            ("additionalProperties".to_owned(), json!(false)),
        ]);
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        EditorTool {
            annotations: Annotations {
                title: listing::title(&self.name),
                read_only_hint: is('r'),
                destructive_hint: is('d'),
                idempotent_hint: is('i'),
                open_world_hint: !is('c'),
            },
            name: self.name.clone(),
            description: self.about.clone(),
            input_schema: InputSchema::from(&schema),
            development_only: false,
            repeatable: self.repeatable,
            parallel: false,
            resumable: false,
            timeout_seconds: None,
            group: Some(self.group.clone()),
            other_names: Vec::new(),
        }
    }
}

impl Parameter {
    /// How the value is translated.
    pub(super) fn form(&self) -> Form {
        let kinds = alternatives(&self.kind);
        let also_text = kinds.len() > 1 && kinds.last() == Some(&"string");
        let kind = kinds.first().map_or("", |kind| kind.split('<').next().unwrap_or(kind));
        match (self.form, kind) {
            (Some(form), _) => form,
            (None, "boolean") => Form::Flag,
            (None, "integer") => Form::Integer,
            (None, "number") => Form::Number,
            (None, "array") if also_text => Form::List,
            (None, "object") if also_text => Form::Object,
            (None, "string") if !self.of.is_empty() => Form::Word,
            (None, _) => Form::Given,
        }
    }

    fn schema(&self) -> Value {
        let mut values = Some(self.of.as_slice()).filter(|of| !of.is_empty());
        let mut schema = schema_of(&self.kind, &mut values);
        if let Some(members) = schema.as_object_mut() {
            members.extend(self.default.clone().map(|default| ("default".to_owned(), default)));
            members.extend(self.about.as_ref().map(|about| ("description".to_owned(), json!(about))));
        }
        schema
    }
}

/// Makes the schema of a type. `values` belong to the first text in it.
fn schema_of(kind: &str, values: &mut Option<&[String]>) -> Value {
    let kinds = alternatives(kind);
    if kinds.len() > 1 {
        return json!({"anyOf": kinds.into_iter().map(|kind| schema_of(kind, values)).collect::<Vec<_>>()});
    }
    let (kind, of) = kind.split_once('<').map_or((kind, None), |(kind, of)| (kind, of.strip_suffix('>')));
    match (kind, of) {
        ("any", _) => json!({}),
        ("array", of) => json!({"type": "array", "items": of.map_or_else(|| json!({}), |of| schema_of(of, values))}),
        ("object", Some(of)) => json!({"type": "object", "additionalProperties": schema_of(of, values)}),
        ("string", _) if values.is_some() => json!({"type": "string", "enum": values.take()}),
        (kind, _) => json!({"type": kind}),
    }
}

/// Divides a type at each `|` that stands in no brackets.
fn alternatives(kind: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let divides = |letter: char| {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == '|' && depth == 0
    };
    kind.split(divides).collect()
}

fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut whole, word| {
        let mut letters = word.chars();
        whole.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        whole + letters.as_str()
    })
}

/// What is in `tools.json`.
struct Catalogue {
    tools: Vec<Tool>,
    listed: Vec<Arc<EditorTool>>,
    resources: Vec<PackageResource>,
    places: HashMap<String, usize>,
}

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    let tools: Vec<Tool> = serde_json::from_str(include_str!("tools.json")).expect("tools.json is a list of tools");
    let listed = tools.iter().map(|tool| Arc::new(tool.in_editor())).collect();
    let resources = tools.iter().flat_map(Tool::resources).collect();
    let places = tools.iter().enumerate().map(|(at, tool)| (tool.name.clone(), at)).collect();
    Catalogue { tools, listed, resources, places }
});

/// What `tools.json` states of a tool; `None` for a tool of the project.
pub(super) fn stated(tool: &str) -> Option<&'static Tool> {
    CATALOGUE.tools.get(*CATALOGUE.places.get(tool)?)
}

/// The package's tools.
pub(super) fn all() -> &'static [Arc<EditorTool>] {
    &CATALOGUE.listed
}

/// The resources of the package's server that are calls of these tools.
pub(super) fn resources() -> &'static [PackageResource] {
    &CATALOGUE.resources
}

/// Whether the project has a tool of its own under a name that is one of the package's, but that the editor does not list.
pub(super) fn is_of_project(tool: &EditorTool) -> bool {
    stated(&tool.name).is_some_and(|stated| stated.group == RESOURCES) && !tool.annotations.read_only_hint
}

/// The editor's command of a tool.
pub(super) fn command(tool: &str) -> &str {
    stated(tool).and_then(|stated| stated.command.as_deref()).unwrap_or(tool)
}

/// Reads the editor's answer to `get_tool_states`. The package's tools come from the catalogue; all others are the project's. A tool
/// that is switched off is listed all the same: a call of it is refused in the editor's own words. `None`: it is no list of tools.
pub(super) fn read_states(reply: &RawValue) -> Option<ToolListing> {
    let [data] = wreck::parts(reply.get().as_bytes(), ["data"]).values;
    let [tools] = wreck::parts(data?, ["tools"]).values;
    let mut listing = listing::collect(tools?, tool)?;
    let dropped = listing.dropped.iter().map(|(name, _)| name.as_str());
    let names: BTreeSet<&str> = listing.tools.iter().map(|tool| tool.name.as_str()).chain(dropped).collect();
    let has_scripts = listing.tools.iter().any(|tool| tool.name == SCRIPTS);
    let is_unlisted = |tool: &&Arc<EditorTool>| match is_part(&tool.name) {
        true => has_scripts,
        // A tool of the project may have the same name.
        false => tool.group.as_deref() == Some(RESOURCES) && !names.contains(tool.name.as_str()),
    };
    let more: Vec<_> = all().iter().filter(is_unlisted).take(TOOLS_MAX - listing.tools.len()).cloned().collect();
    listing.tools.extend(more);
    Some(listing)
}

/// Whether a tool is a part of the editor's tool for scripts.
fn is_part(tool: &str) -> bool {
    command(tool) != tool
}

/// An entry of the editor's list.
#[derive(Deserialize, Default)]
struct Entry {
    description: Option<String>,
    group: Option<String>,
    parameters: Option<Vec<EntryParameter>>,
}

#[derive(Deserialize)]
struct EntryParameter {
    name: String,
    description: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    required: Option<bool>,
    default_value: Option<Value>,
}

fn tool(entry: &RawValue) -> Result<EditorTool, Bad> {
    let Some(members) = Members::of(entry) else { return Err((None, "it is not an object".to_owned())) };
    let value = |name: &str| members.find(name).and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    let name = value("name").and_then(|name| name.as_str().map(str::to_owned));
    let Some(name) = name.filter(|name| !name.trim().is_empty()) else {
        return Err((None, "it has no name".to_owned()));
    };
    if is_part(&name) {
        return Err((Some(name), format!("a part of {SCRIPTS} has this name")));
    }
    let known = CATALOGUE.places.get(&name).and_then(|at| all().get(*at));
    let mut tool = match known.filter(|known| known.group.as_deref() != Some(RESOURCES)) {
        Some(known) => (**known).clone(),
        None => {
            let entry = serde_json::from_str(entry.get());
            entry.map(|entry| custom(&name, entry)).map_err(|error| (Some(name), error.to_string()))?
        }
    };
    if value("enabled") == Some(Value::Bool(false)) {
        tool.description = format!("(Switched off in the package's window in Unity.) {}", tool.description);
    }
    Ok(tool)
}

/// Makes a tool of the project, of which nothing is known but what its entry says.
fn custom(name: &str, entry: Entry) -> EditorTool {
    let filled = |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let parameters = entry.parameters.unwrap_or_default();
    let is_required = |one: &&EntryParameter| one.required == Some(true);
    let required: Vec<String> = parameters.iter().filter(is_required).map(|one| one.name.clone()).collect();
    let properties: Map<String, Value> = parameters.into_iter().map(property).collect();
    let mut schema =
        Map::from_iter([("type".to_owned(), json!("object")), ("properties".to_owned(), properties.into())]);
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    EditorTool {
        name: name.to_owned(),
        description: filled(entry.description).unwrap_or_else(|| listing::undescribed(name)),
        input_schema: InputSchema::from(&schema),
        annotations: Annotations {
            title: listing::title(name),
            read_only_hint: false,
            destructive_hint: true,
            idempotent_hint: false,
            open_world_hint: true,
        },
        development_only: false,
        repeatable: false,
        parallel: false,
        resumable: false,
        timeout_seconds: None,
        group: filled(entry.group).map(|group| clean(&group)),
        other_names: Vec::new(),
    }
}

/// Reads a default. C# writes `True`.
fn stated_default(text: &str) -> Option<Value> {
    let within = depth_ok(text.as_bytes(), JSON_DEPTH_MAX / 2);
    let read = || serde_json::from_str(text).or_else(|_| serde_json::from_str(&text.to_ascii_lowercase())).ok();
    if within { read() } else { None }
}

/// Makes the schema of a parameter. Its default is a text in the editor's list, whatever its type is.
fn property(EntryParameter { name, description, kind, required, default_value }: EntryParameter) -> (String, Value) {
    let kind = kind.unwrap_or_default();
    let mut schema = match kind.as_str() {
        "string" | "integer" | "number" | "boolean" | "object" => json!({"type": kind}),
        "array" => json!({"type": kind, "items": {}}),
        _ => json!({}),
    };
    let default = match default_value {
        Some(Value::String(text)) if kind != "string" => stated_default(&text),
        other => other,
    };
    let fits = |default: &Value| match kind.as_str() {
        "string" => default.is_string(),
        "integer" => default.is_i64() || default.is_u64(),
        "number" => default.is_number(),
        "boolean" => default.is_boolean(),
        "array" => default.is_array(),
        "object" => default.is_object(),
        _ => false,
    };
    if let Some(members) = schema.as_object_mut() {
        let description = description.filter(|text| !text.trim().is_empty());
        members.extend(description.map(|text| ("description".to_owned(), text.into())));
        let default = default.filter(|default| required != Some(true) && fits(default));
        members.extend(default.map(|default| ("default".to_owned(), default)));
    }
    (name, schema)
}
