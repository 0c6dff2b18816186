//! The package's tools, their annotations, and the form in which they are listed.

use super::arguments;
use super::desk::{HoldfastFace, Own};
use super::package::{self, Packaged, Traits};
use crate::conformance::{self, FIXTURES};
use crate::json::{self, Object, quoted};
use crate::spec::{Kind, MORE_PARAM, Param, Tool, ToolSpec, number, text};
use crate::tools::{Arguments, TEST_TOOLS};
use crate::work::Fault;

/// Why a tool is blocked, as the tool list and the refusal say.
pub(crate) const BLOCKED: &str = "AllowMenuItemExecution is off";
/// The setting that blocks tools.
pub(crate) const BLOCKED_SETTING: &str = "AllowMenuItemExecution";

/// The message of the refusal of a blocked tool.
pub(crate) fn blocked(tool: &str) -> String {
    format!(
        "{tool} may not run in this project: {BLOCKED}. Only the user can allow it, in Window > Holdfast; do not look for a way around it"
    )
}

/// The error code of uLoop's errors.
pub(crate) const INTERNAL: i32 = -32603;

/// The tools for tests. A tool that is missing here has the defaults.
static TRAITS: &[Traits] = &[
    Traits::of("echo", "Echo").reads(),
    Traits::of("sleep", "Sleep a while").reads(),
    Traits::of("big", "Big result").reads(),
    Traits::of("runs", "Count of runs").reads(),
    Traits { stops: false, ..Traits::of("block", "Block the main thread") },
    Traits::of("hold-parallel", "Hold beside others").reads(),
    Traits::of("steps", "Steps").reads().resumable(),
    Traits::of("picture", "Picture").reads(),
    Traits::of("sound", "Sound").reads(),
    Traits::of("off-main", "Off the main thread").reads().off_main_thread(),
    Traits { schema: Some(PLACE), ..Traits::of("place", "Place objects") },
    Traits { schema: Some(conformance::SCHEMA), ..Traits::of(conformance::SCHEMA_TOOL, "Contact").reads() },
    Traits { schema: Some(conformance::HEADER_SCHEMA), ..Traits::of(conformance::HEADER_TOOL, "Scene").reads() },
];

/// A schema that [`Param`] cannot express.
const PLACE: &str = r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"Target":{"oneOf":[{"type":"string","description":"Path in the scene"},{"type":"object","properties":{"InstanceId":{"type":"integer"}},"required":["InstanceId"],"additionalProperties":false}]},"At":{"$ref":"#/$defs/vector"},"Size":{"anyOf":[{"$ref":"#/$defs/vector"},{"type":"null"}],"default":null},"Space":{"type":"string","enum":["World","Local"],"default":"World"},"Children":{"type":"array","items":{"type":"object","properties":{"Name":{"type":"string","minLength":1,"maxLength":64},"At":{"$ref":"#/$defs/vector"},"Tags":{"type":"array","items":{"type":"string"},"uniqueItems":true,"maxItems":8}},"required":["Name"]},"prefixItems":[{"type":"object"}]}},"required":["Target","At"],"$defs":{"vector":{"type":"object","properties":{"X":{"type":"number"},"Y":{"type":"number"},"Z":{"type":"number","default":0}},"required":["X","Y"]}}}"##;

const fn shown(name: &'static str, about: &'static str, params: &'static [Param]) -> ToolSpec {
    // Longer than any test waits.
    ToolSpec { name, about, development: false, params, timeout_seconds: 3600, result: "" }
}

/// Tools that demonstrate the protocol.
static SHOWN: [ToolSpec; 6] = [
    shown(
        "hold-parallel",
        "Answers when the person who steers the fake editor releases it; others run beside it.",
        &[],
    ),
    shown(
        "steps",
        "Reports its progress, and goes on after a reload.",
        &[number("n", "3", "Steps"), number("ms", "100", "Milliseconds of each")],
    ),
    shown("picture", "Returns an image beside its value.", &[]),
    shown("sound", "Returns a sound beside its value.", &[]),
    shown("off-main", "Answers while the main thread is busy.", &[text("text", "\"\"", "What to return")]),
    shown("place", "Returns the arguments that it was given.", &[]),
];

impl HoldfastFace {
    /// Returns all tools that the editor has at its start.
    pub(crate) fn catalogue(&self) -> Vec<Tool> {
        if let Some(fixed) = &self.desk.setup.fixed {
            return fixed.tools.iter().map(|own| Tool::from(&own.spec)).collect();
        }
        let tests = TEST_TOOLS.iter().chain(&SHOWN).filter(|_| self.desk.setup.test_tools);
        let fixtures = FIXTURES.iter().filter(|_| self.desk.setup.conformance_tools);
        let own = package::tools().iter().map(|tool| &tool.spec);
        own.chain(tests).chain(fixtures).map(Tool::from).collect()
    }

    /// Returns what is declared about a tool.
    pub(crate) fn traits(&self, spec: &ToolSpec) -> Traits {
        let brought = self.brought(spec.name).map(|own| own.traits);
        let packaged = || package::find(spec.name).map(|tool| tool.traits);
        let listed = || TRAITS.iter().find(|traits| traits.name == spec.name).copied();
        brought.or_else(packaged).or_else(listed).unwrap_or(Traits::of(spec.name, spec.name))
    }

    /// Returns the tool of this name that a test defined, if there is one.
    pub(crate) fn brought(&self, name: &str) -> Option<&'static Own> {
        let tools = self.desk.setup.fixed.as_ref().map_or(&[][..], |fixed| fixed.tools);
        tools.iter().find(|own| own.spec.name == name)
    }

    pub(crate) fn is_blocked(&self, tool: &str) -> bool {
        self.desk.setup.blocked.iter().any(|blocked| blocked == tool)
    }
}

/// Returns what the package says about a tool of its own. A tool that a test defined may have the name of one.
pub(crate) fn packaged(tool: &Tool) -> Option<&'static Packaged> {
    package::find(&tool.name).filter(|packaged| std::ptr::eq(&raw const packaged.spec, tool.spec))
}

/// Returns a tool in the form in which `holdfast/tools` lists it.
pub(crate) fn entry(tool: &Tool, traits: &Traits, blocked: bool) -> String {
    let blocked = package::reason(blocked, BLOCKED);
    if let Some(packaged) = packaged(tool) {
        return packaged.listed(tool, &blocked);
    }
    let annotations = Object::new()
        .text("title", traits.title)
        .flag("readOnlyHint", traits.read_only)
        .flag("destructiveHint", traits.destructive)
        .flag("idempotentHint", traits.idempotent)
        .flag("openWorldHint", traits.open_world);
    let schema = traits.schema.map_or_else(|| schema(tool), str::to_owned);
    let entry = Object::new()
        .text("name", &tool.name)
        .text("description", tool.spec.about)
        .raw("inputSchema", &schema)
        .raw("annotations", &annotations.finish())
        .flag("parallel", traits.parallel)
        .flag("offMainThread", traits.off_main_thread)
        .flag("resumable", traits.resumable)
        .flag("developmentOnly", tool.spec.development)
        .raw("blocked", &blocked)
        .number("timeoutSeconds", tool.spec.timeout_seconds);
    entry.finish()
}

/// Returns the JSON Schema of a tool's parameters.
fn schema(tool: &Tool) -> String {
    let spec = tool.spec;
    let properties = spec.params.iter().fold(Object::new(), |all, param| all.raw(param.name, &property(param)));
    let one_more = property(&MORE_PARAM);
    let properties = tool.more_params().fold(properties, |all, name| all.raw(&name, &one_more));
    Object::new().text("type", "object").raw("properties", &properties.finish()).finish()
}

fn property(param: &Param) -> String {
    let kind = match param.kind {
        Kind::Text | Kind::Choice(_) => "string",
        Kind::Flag => "boolean",
        Kind::Number => "number",
        Kind::Array => "array",
    };
    let may_be_absent = param.default == "null";
    let object = Object::new().text("type", kind);
    let object = if kind == "array" { object.raw("items", "{}") } else { object };
    let object = match param.kind {
        Kind::Choice(words) => object.raw("enum", &json::array(words.iter().map(|word| quoted(word)))),
        _ => object,
    };
    let object = object.text("description", param.about);
    if may_be_absent {
        return object.finish();
    }
    // uLoop writes an enumeration's default as a number; a JSON Schema needs the name.
    let word = match param.kind {
        Kind::Choice(words) => param.default.parse::<usize>().ok().and_then(|index| words.get(index)),
        _ => None,
    };
    object.raw("default", &word.map_or_else(|| param.default.to_owned(), |word| quoted(word))).finish()
}

/// Reads the arguments of a call: for a tool of the package by its schema, for any other by its parameters.
///
/// # Errors
/// [`Fault::Refused`] with a message that names what is wrong.
pub(crate) fn read(tool: &Tool, arguments: Option<&str>) -> Result<Arguments, Fault> {
    match packaged(tool) {
        Some(packaged) => arguments::read(packaged, arguments),
        None => check(tool, arguments).and_then(|()| Arguments::read(&tool.name, tool.spec, arguments)),
    }
}

/// Checks that every argument has its parameter's type.
///
/// # Errors
/// [`Fault::Refused`] with a message that names the first argument of another type.
fn check(tool: &Tool, arguments: Option<&str>) -> Result<(), Fault> {
    let given: serde_json::Value = arguments.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    let Some(given) = given.as_object() else { return Ok(()) };
    for param in tool.spec.params {
        let value = given.iter().find(|(name, _)| name.eq_ignore_ascii_case(param.name)).map(|(_, value)| value);
        let Some(value) = value.filter(|value| !value.is_null()) else { continue };
        let (fits, wanted) = match param.kind {
            Kind::Text => (value.is_string(), "a text".to_owned()),
            Kind::Flag => (value.is_boolean(), "true or false".to_owned()),
            Kind::Number => (value.is_number(), "a number".to_owned()),
            Kind::Array => (value.is_array(), "a list".to_owned()),
            Kind::Choice(words) => {
                let fits = value.as_str().is_some_and(|text| words.iter().any(|word| word.eq_ignore_ascii_case(text)));
                (fits, format!("one of {}", words.join(", ")))
            }
        };
        if !fits {
            let (tool, name) = (&tool.name, param.name);
            let text = format!("{name} of {tool} must be {wanted}, not {value}");
            return Err(Fault::Refused(text));
        }
    }
    Ok(())
}
