//! The package's commands: their names, parameters and defaults, as its protocol page has them. The descriptions are our own.
//!
//! A line of `commands.txt` is a command. `~` says that it runs beside the main thread, `!` that a parameter is required. Versions
//! before the name bound in which the command exists. The types are .NET's.

use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};

use serde_json::{Map, Value, json};

use crate::conformance::{HEADER_SCHEMA, HEADER_TOOL, SCHEMA, SCHEMA_TOOL};
use crate::package_version::PackageVersion;
use crate::spec::{Kind, MORE_PARAM, Param, Tool, ToolSpec};
use crate::tools::TIMEOUT_SECONDS;

/// A command of the package itself.
pub(super) struct Command {
    pub(super) spec: ToolSpec,
    /// Whether it runs beside the main thread.
    pub(super) is_background: bool,
    /// The .NET types of its parameters, and whether each is required.
    types: Vec<(&'static str, bool)>,
    since: PackageVersion,
    before: PackageVersion,
    /// What the catalogue says of it, without tags and with them. Gateways ask for it all the time.
    texts: OnceLock<[String; 2]>,
}

static COMMANDS: LazyLock<Vec<Command>> =
    LazyLock::new(|| include_str!("commands.txt").lines().filter_map(command).collect());

fn command(line: &'static str) -> Option<Command> {
    let (mut since, mut before) = (PackageVersion::new(0, 1, 0), PackageVersion::new(u16::MAX, 0, 0));
    let mut words = line.split(' ').peekable();
    while let Some(word) = words.next_if(|word| word.starts_with(['<', '>'])) {
        match word.strip_prefix(">=") {
            Some(version) => since = version.parse().ok()?,
            None => before = word.strip_prefix('<')?.parse().ok()?,
        }
    }
    let named = words.next()?;
    let name = named.trim_start_matches('~');
    let (mut params, mut types) = (Vec::new(), Vec::new());
    for word in words {
        let (name, rest) = word.split_once(':')?;
        let (kind, default) = rest.split_once('=').unwrap_or((rest, "null"));
        let word = kind.trim_end_matches('!');
        params.push(Param { name, kind: kind_of(word), default, about: "" });
        types.push((word, kind.ends_with('!')));
    }
    let spec = ToolSpec {
        name,
        about: "A command of the editor.",
        development: false,
        params: params.leak(),
        timeout_seconds: TIMEOUT_SECONDS,
        result: "",
    };
    Some(Command { spec, is_background: named.starts_with('~'), types, since, before, texts: OnceLock::new() })
}

/// Returns the kind of values that can be converted to a .NET type. Most classes take anything.
fn kind_of(dotnet: &str) -> Kind {
    match dotnet {
        "Boolean" => Kind::Flag,
        "Int32" | "Int64" | "Single" => Kind::Number,
        "JArray" => Kind::Array,
        list if list.ends_with("[]") => Kind::Array,
        _ => Kind::Text,
    }
}

/// The commands that an editor with this version has. Those for players only are not among them.
pub(super) fn of(version: PackageVersion) -> impl Iterator<Item = &'static ToolSpec> {
    COMMANDS.iter().filter(move |command| (command.since..command.before).contains(&version)).map(|known| &known.spec)
}

/// Returns the package's own command with this name.
pub(super) fn own(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.spec.name == name)
}

/// Returns the .NET type of a parameter, and whether it is required.
pub(super) fn type_of(spec: &ToolSpec, nth: usize) -> (&'static str, bool) {
    let declared = own(spec.name).and_then(|command| command.types.get(nth).copied());
    declared.unwrap_or_else(|| match spec.params.get(nth).map(|param| param.kind) {
        Some(Kind::Flag) => ("Boolean", false),
        Some(Kind::Number) => ("Int32", false),
        Some(Kind::Array) => ("JArray", false),
        _ => ("String", false),
    })
}

fn json_type(dotnet: &str) -> Value {
    match dotnet {
        "String" => json!({"type": "string"}),
        "Boolean" => json!({"type": "boolean"}),
        "Int32" | "Int64" => json!({"type": "integer"}),
        "Single" => json!({"type": "number"}),
        "ObjectRef" => json!({"type": ["string", "object"]}),
        "JToken" => json!({}),
        "JArray" => json!({"type": "array"}),
        list if list.ends_with("[]") => json!({"type": "array"}),
        _ => json!({"type": "object"}),
    }
}

/// Returns the schema of a tool's parameters.
pub(super) fn schema(tool: &Tool) -> Value {
    let fixed = match tool.spec.name {
        SCHEMA_TOOL => Some(SCHEMA),
        HEADER_TOOL => Some(HEADER_SCHEMA),
        _ => None,
    };
    if let Some(fixed) = fixed {
        return serde_json::from_str(fixed).unwrap_or_default();
    }
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (nth, param) in tool.spec.params.iter().enumerate() {
        let (dotnet, is_required) = type_of(tool.spec, nth);
        let mut schema = json_type(dotnet);
        schema["description"] = param.about.into();
        if is_required {
            required.push(param.name);
        } else {
            schema["default"] = serde_json::from_str(param.default).unwrap_or_default();
        }
        properties.insert(param.name.to_owned(), schema);
    }
    for name in tool.more_params() {
        properties.insert(name, json!({"type": "string", "description": MORE_PARAM.about, "default": ""}));
    }
    json!({"type": "object", "properties": properties, "required": required})
}

/// Returns what the catalogue says of a tool, as an item of its list. From 0.6 on with its tags and its package.
pub(super) fn text(tool: &Tool, has_tags: bool) -> Cow<'static, str> {
    let is_as_written = tool.name == tool.spec.name && tool.more_params == 0;
    let own = COMMANDS.iter().find(|command| is_as_written && std::ptr::eq(&raw const command.spec, tool.spec));
    let Some(command) = own else { return Cow::Owned(item(&entry(tool, has_tags))) };
    let [plain, tagged] = command.texts.get_or_init(|| [false, true].map(|has_tags| item(&entry(tool, has_tags))));
    Cow::Borrowed(if has_tags { tagged } else { plain })
}

/// Writes an item of the list.
pub(super) fn item(entry: &Value) -> String {
    serde_json::to_string_pretty(entry).unwrap_or_default().replace('\n', "\n    ")
}

/// The same as JSON.
pub(super) fn entry(tool: &Tool, has_tags: bool) -> Value {
    let own = own(tool.spec.name);
    let parameter = |(nth, param): (usize, &Param)| {
        let (dotnet, required) = type_of(tool.spec, nth);
        let default: Value = serde_json::from_str(param.default).unwrap_or_default();
        json!({
            "name": param.name, "description": param.about, "type": dotnet, "required": required,
            "defaultValue": default,
        })
    };
    let more = tool.more_params().map(|name| {
        json!({"name": name, "description": MORE_PARAM.about, "type": "String", "required": false, "defaultValue": ""})
    });
    let parameters: Vec<Value> = tool.spec.params.iter().enumerate().map(parameter).chain(more).collect();
    let mut entry = json!({
        "name": tool.name,
        "description": tool.spec.about,
        "mainThreadRequired": !own.is_some_and(|command| command.is_background),
        "runtimeOnly": false,
        "parameters": parameters,
        "schema": schema(tool),
    });
    if has_tags {
        entry["tags"] = json!([]);
        entry["package"] = own.map_or("Assembly-CSharp", |_| super::package::ID).into();
    }
    entry
}
