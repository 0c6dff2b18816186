//! The tools of the real package, as its C# lists them.
//!
//! `package-tools.json` is what the real package answers to `holdfast/tools`, without `blocked`: that is the user's setting. A test
//! in `chaos-tests/tests/unity_host/listing.rs` compares the two, and writes the file anew if `UPDATE_PACKAGE_TOOLS` is set.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::json::{Object, quoted};
use crate::spec::{Kind, MORE_PARAM, Param, Tool, ToolSpec};

/// Version of the package: the same as the product's.
pub(crate) const PACKAGE_VERSION: &str = env!("CARGO_PKG_VERSION");
const LIST: &str = include_str!("package-tools.json");
/// The parameter that every tool takes and no schema lists, and that the bridge itself obeys.
const TIMEOUT: &str = "TimeoutSeconds";

/// What is declared about a tool in addition to its parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Traits {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(crate) read_only: bool,
    pub(super) destructive: bool,
    pub(super) idempotent: bool,
    pub(super) open_world: bool,
    pub(crate) parallel: bool,
    pub(crate) off_main_thread: bool,
    pub(crate) resumable: bool,
    /// Whether the tool ends when it is asked to stop.
    pub(crate) stops: bool,
    /// The schema to list instead of the one that is made from the parameters.
    pub(super) schema: Option<&'static str>,
}

impl Traits {
    /// The defaults: not parallel, on the main thread, may destroy data, stops when asked.
    pub(crate) const fn of(name: &'static str, title: &'static str) -> Self {
        Self {
            name,
            title,
            read_only: false,
            destructive: true,
            idempotent: false,
            open_world: false,
            parallel: false,
            off_main_thread: false,
            resumable: false,
            stops: true,
            schema: None,
        }
    }

    pub(super) const fn reads(self) -> Self {
        Self { read_only: true, parallel: true, ..self.harmless() }
    }

    const fn harmless(self) -> Self {
        Self { destructive: false, idempotent: true, ..self }
    }

    pub(super) const fn off_main_thread(self) -> Self {
        Self { parallel: true, off_main_thread: true, ..self }
    }

    pub(super) const fn resumable(self) -> Self {
        Self { resumable: true, ..self }
    }
}

/// A tool of the package.
pub(crate) struct Packaged {
    pub(crate) spec: ToolSpec,
    pub(crate) traits: Traits,
    /// Its entry in the list.
    entry: &'static Map<String, Value>,
    /// The schema of what it takes.
    taken: Value,
}

/// The tools of the package. They are made once, and live as long as the process, as the specifications of other tools do.
static TOOLS: LazyLock<Vec<Packaged>> = LazyLock::new(|| {
    let list: Vec<Map<String, Value>> =
        serde_json::from_str(LIST).expect("the list was written by a test that read it");
    Vec::leak(list).iter().map(Packaged::of).collect()
});

/// Returns the tools of the package, sorted by name.
pub(crate) fn tools() -> &'static [Packaged] {
    &TOOLS
}

/// Returns the tool of this name; `None` if the package has none.
pub(crate) fn find(name: &str) -> Option<&'static Packaged> {
    tools().iter().find(|tool| tool.spec.name == name)
}

fn member<'a>(of: &'a Map<String, Value>, name: &str) -> &'a str {
    of.get(name).and_then(Value::as_str).unwrap_or_default()
}

impl Packaged {
    fn of(entry: &'static Map<String, Value>) -> Self {
        let says = |name: &str| entry.get(name).and_then(Value::as_bool) == Some(true);
        let name = member(entry, "name");
        let schema = entry.get("inputSchema").and_then(Value::as_object);
        let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
        let limit = entry.get("timeoutSeconds").and_then(Value::as_u64).unwrap_or(0);
        let params = properties.into_iter().flatten().map(|(name, one)| param(name, one));
        let spec = ToolSpec {
            name,
            about: member(entry, "description"),
            development: says("developmentOnly"),
            params: Vec::leak(params.collect()),
            timeout_seconds: limit,
            result: "",
        };
        let mut traits = Traits::of(name, "");
        traits.parallel = says("parallel");
        traits.off_main_thread = says("offMainThread");
        traits.resumable = says("resumable");
        // A compilation goes on in the editor, whoever no longer waits for it.
        traits.stops = name != "compile";
        let mut taken = entry.get("inputSchema").cloned().unwrap_or_default();
        if let Some(properties) = taken.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert(TIMEOUT.to_owned(), serde_json::json!({"type": "integer", "default": limit}));
        }
        Self { spec, traits, entry, taken }
    }

    /// The schema of the arguments that the tool takes. The one in the list lacks the time limit.
    pub(crate) fn schema(&self) -> &Value {
        &self.taken
    }

    /// The tool's own name for an argument that another package calls `from`.
    pub(crate) fn other_argument(&self, from: &str) -> Option<&'static str> {
        let list = |of: &'static Value, name: &str| of.get(name).and_then(Value::as_array).into_iter().flatten();
        let others = self.entry.get("otherNames").and_then(Value::as_array).into_iter().flatten();
        let one = others
            .flat_map(|other| list(other, "arguments"))
            .find(|one| one.get("from").is_some_and(|own| own == from))?;
        one.get("to").and_then(Value::as_str)
    }

    /// Returns the entry as `holdfast/tools` lists it. `blocked`: why the user's settings refuse the tool, as JSON.
    pub(crate) fn listed(&self, tool: &Tool, blocked: &str) -> String {
        let mut object = Object::new();
        for (name, value) in self.entry {
            object = match name.as_str() {
                "inputSchema" => object.raw(name, &lengthened(value, tool).to_string()),
                _ => object.raw(name, &value.to_string()),
            };
            // The place that it has in the real list.
            if name == "developmentOnly" {
                object = object.raw("blocked", blocked);
            }
        }
        object.finish()
    }
}

/// Adds the parameters that only make a schema long.
fn lengthened(schema: &Value, tool: &Tool) -> Value {
    let mut schema = schema.clone();
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        let one = serde_json::json!({"type": "string", "description": MORE_PARAM.about, "default": ""});
        properties.extend(tool.more_params().map(|name| (name, one.clone())));
    }
    schema
}

/// A parameter in the form in which uLoop's own list shows it.
fn param(name: &'static str, schema: &'static Value) -> Param {
    let words: Vec<&'static str> =
        schema.get("enum").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let default = schema.get("default").unwrap_or(&Value::Null);
    // uLoop writes an enumeration's default as a number.
    let number = words.iter().position(|word| default == word).map_or(default.to_string(), |index| index.to_string());
    let kind = match schema.get("type").and_then(Value::as_str) {
        Some("string") if !words.is_empty() => Kind::Choice(Vec::leak(words)),
        Some("boolean") => Kind::Flag,
        Some("integer" | "number") => Kind::Number,
        Some("array") => Kind::Array,
        _ => Kind::Text,
    };
    let about = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    Param { name, kind, default: number.leak(), about }
}

/// The reason why a tool is blocked, as JSON; null if it is not.
pub(crate) fn reason(blocked: bool, why: &str) -> String {
    if blocked { quoted(why) } else { "null".to_owned() }
}
