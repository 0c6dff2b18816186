//! The arguments of a call, and the test tools that every simulated package has.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::watch;

use super::conformance;
use super::json::{Object, quoted};
use super::model::Editor;
use super::spec::{Kind, MORE_PARAM_BYTES, Param, Tool, ToolSpec, flag, number, text};
use super::work::{Begun, Done, Fault, Order};
use crate::limits::{BIG_MAX_BYTES, TOOLS_MAX};

/// Adds tools until there are `wanted` (at most `TOOLS_MAX`). The last tool gets a schema of about `schema_bytes` bytes.
pub(crate) fn lengthen(tools: &mut Vec<Tool>, wanted: usize, schema_bytes: usize) {
    let more = (tools.len()..wanted.min(TOOLS_MAX)).map(|number| Tool::named(format!("more-{number:04}"), &ADDED_TOOL));
    tools.extend(more.collect::<Vec<_>>());
    if let Some(last) = tools.last_mut() {
        last.more_params = schema_bytes.div_ceil(MORE_PARAM_BYTES);
    }
}

/// The arguments of a call, checked against the tool's parameters. Names match regardless of case, as with Newtonsoft.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arguments(Map<String, Value>);

impl Arguments {
    /// Reads the arguments from JSON.
    ///
    /// # Errors
    /// [`Fault::Refused`] if the JSON is not an object, or a value does not fit the parameter's type.
    pub(crate) fn read(tool: &str, spec: &ToolSpec, json: Option<&str>) -> Result<Self, Fault> {
        let mismatch = |what: &str| Fault::Refused(format!("Parameter type mismatch for tool '{tool}': {what}"));
        let arguments = match json.map(serde_json::from_str::<Value>) {
            None | Some(Ok(Value::Null)) => Self::default(),
            Some(Ok(Value::Object(members))) => Self(members),
            Some(_) => return Err(mismatch("the parameters are no object")),
        };
        for param in spec.params {
            let fits = match (param.kind, arguments.get(param.name)) {
                (_, None | Some(Value::Null)) | (Kind::Text, Some(_)) => true,
                (Kind::Flag, Some(value)) => flag_of(value).is_some(),
                (Kind::Number, Some(value)) => number_of(value).is_some(),
                (Kind::Array, Some(value)) => value.is_array(),
                (Kind::Choice(words), Some(value)) => match value.as_str() {
                    Some(word) => words.iter().any(|known| known.eq_ignore_ascii_case(word)),
                    None => value.is_i64(),
                },
            };
            if !fits {
                return Err(mismatch(&format!("{} has a value of another type", param.name)));
            }
        }
        Ok(arguments)
    }

    /// Takes arguments that were checked already.
    pub(crate) fn of(members: Map<String, Value>) -> Self {
        Self(members)
    }

    /// Returns the argument `name` as it is; `None` if it is absent.
    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.get(name).filter(|value| !value.is_null())
    }

    /// Returns the text argument `name`; empty if it is absent or no text.
    pub(crate) fn word(&self, name: &str) -> &str {
        self.value(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the argument `name` as a whole number; `None` if it is absent or none.
    pub(crate) fn whole(&self, name: &str) -> Option<i64> {
        self.value(name).and_then(Value::as_i64)
    }

    /// Returns the items of the list `name`; none if it is absent or no list.
    pub(crate) fn items(&self, name: &str) -> &[Value] {
        self.value(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns all arguments as a JSON object.
    pub(crate) fn json(&self) -> String {
        Value::from(self.0.clone()).to_string()
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Returns the argument `name` as a string; a value of another type as its JSON text. `None` if it is absent.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        match self.get(name)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }

    /// Returns the boolean argument `name`; `false` if it is absent or not a boolean.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).and_then(flag_of).unwrap_or(false)
    }

    /// Returns the argument `name` as an integer. Negative numbers become 0, and fractions are cut off. `None` if it is absent or
    /// not a number.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        // This cast saturates, and turns negative numbers into 0.
        self.get(name).and_then(number_of).map(|number| number as u64)
    }
}

fn flag_of(value: &Value) -> Option<bool> {
    value.as_bool().or_else(|| value.as_str().and_then(|word| word.to_ascii_lowercase().parse().ok()))
}

fn number_of(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()))
}

/// Returns a plausible result of a built-in tool that the model does not simulate: it succeeded and found nothing.
pub(crate) fn plausible(spec: &ToolSpec) -> Object {
    spec.result.split_whitespace().filter_map(|member| member.split_once(':')).fold(Object::new(), |object, member| {
        match member {
            ("Success", _) => object.flag("Success", true),
            (name, "bool") => object.flag(name, false),
            (name, "int" | "long" | "float") => object.number(name, 0),
            (name, "string") => object.text(name, ""),
            (name, kind) if kind.ends_with("[]") || kind.starts_with("List<") => object.raw(name, "[]"),
            (name, _) => object.raw(name, "null"),
        }
    })
}

/// Time limit of a test tool that waits, for versions with `TimeoutSeconds`. It is longer than any test waits.
const PATIENT_SECONDS: u64 = 3600;
/// The packages' default time limit of a tool.
pub(crate) const TIMEOUT_SECONDS: u64 = 15;

const fn test_tool(name: &'static str, about: &'static str, params: &'static [Param]) -> ToolSpec {
    ToolSpec { name, about, development: false, params, timeout_seconds: TIMEOUT_SECONDS, result: "" }
}

/// The test tools. They stand for the project's own custom tools.
pub(crate) static TEST_TOOLS: [ToolSpec; 10] = [
    test_tool("echo", "Returns the text.", &[text("text", "\"\"", "What to return")]),
    ToolSpec {
        timeout_seconds: PATIENT_SECONDS,
        ..test_tool("sleep", "Answers after a time.", &[number("ms", "0", "Milliseconds to wait")])
    },
    ToolSpec {
        timeout_seconds: PATIENT_SECONDS,
        ..test_tool("hold", "Answers when the person who steers the fake editor releases it.", &[])
    },
    test_tool("big", "Returns a result of a given size.", &[number("n", "1024", "Bytes of the result's text")]),
    test_tool("fail", "Runs and reports that it failed.", &[]),
    test_tool("throw", "Throws an exception.", &[text("text", "\"Thrown as asked\"", "What the exception says")]),
    ToolSpec {
        timeout_seconds: PATIENT_SECONDS,
        ..test_tool(
            "count",
            "Counts that it ran.",
            &[
                text("key", "\"\"", "What to count"),
                flag("hold", "false", "Answer only when the person who steers the fake editor releases it"),
            ],
        )
    },
    test_tool("runs", "Tells how often count ran.", &[text("key", "\"\"", "What was counted")]),
    test_tool("swap", "Adds the tool swapped, or removes it.", &[]),
    ToolSpec {
        timeout_seconds: PATIENT_SECONDS,
        ..test_tool("block", "Blocks the main thread for a time.", &[number("ms", "0", "Milliseconds to block")])
    },
];

/// The tool that `swap` and the command `addtool` register.
pub(crate) static ADDED_TOOL: ToolSpec =
    test_tool("swapped", "A tool that came later; returns the text.", &[text("text", "\"\"", "What to return")]);

/// Begins a test tool; `None` if `spec` is not a test tool.
pub(crate) fn begin(editor: &Arc<Editor>, spec: &ToolSpec, arguments: &Arguments) -> Option<Begun> {
    let begun = match spec.name {
        "echo" | "swapped" => Begun::ok(Object::new().text("Echo", &arguments.text("text").unwrap_or_default())),
        "sleep" => {
            let ms = arguments.number("ms").unwrap_or(0);
            Begun::Later(Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                Done::ok(Object::new().number("SleptMs", ms))
            }))
        }
        "hold" => held(editor.release.subscribe(), Object::new().flag("Released", true)),
        "big" => {
            let bytes = usize::try_from(arguments.number("n").unwrap_or(1024)).unwrap_or(usize::MAX);
            if bytes > BIG_MAX_BYTES {
                return Some(Begun::fault(Fault::Internal(format!("n is above {BIG_MAX_BYTES}"))));
            }
            Begun::ok(Object::new().raw("Text", &quoted(&"x".repeat(bytes))))
        }
        "fail" => Begun::ok(
            Object::new().flag("Success", false).text("Message", "The tool failed").text("ErrorMessage", "As asked"),
        ),
        "throw" => {
            let text = arguments.text("text").filter(|text| !text.is_empty());
            Begun::fault(Fault::Internal(text.unwrap_or_else(|| "Thrown as asked".to_owned())))
        }
        "count" => {
            let key = arguments.text("key").unwrap_or_default();
            // Whoever sees the run may release it at once.
            let release = editor.release.subscribe();
            match editor.count(&key) {
                Ok(runs) => {
                    let result = Object::new().text("Key", &key).number("Runs", runs);
                    // The run is counted already. Only its answer waits, so that a crash can prevent it.
                    if arguments.flag("hold") { held(release, result) } else { Begun::ok(result) }
                }
                Err(reason) => Begun::fault(Fault::Internal(reason)),
            }
        }
        "runs" => {
            let key = arguments.text("key").unwrap_or_default();
            let runs = editor.runs(&key);
            Begun::ok(Object::new().text("Key", &key).number("Runs", runs))
        }
        "swap" => swap(editor),
        "block" => {
            let ms = arguments.number("ms").unwrap_or(0);
            block(editor, Duration::from_millis(ms), false);
            Begun::Later(Box::pin(async move { Done::ok(Object::new().number("BlockedMs", ms)) }))
        }
        conformance::SWAP_TOOL => swap(editor),
        name => return conformance(name),
    };
    Some(begun)
}

/// Begins a tool of the conformance suite; `None` if no such tool has this name.
fn conformance(name: &str) -> Option<Begun> {
    let result = Object::new().flag("Success", name != conformance::ERROR_TOOL);
    Some(Begun::ok(result.text("Message", conformance::text(name)?)))
}

/// Waits for the next `release`, then answers with `result`.
pub(crate) fn held(mut release: watch::Receiver<u64>, result: Object) -> Begun {
    Begun::Later(Box::pin(async move {
        // This cannot fail: if the editor ends, this future is dropped first.
        let _ = release.changed().await;
        Done::ok(result)
    }))
}

/// Blocks the main thread for this time. `importing`: because of an import instead of a tool.
pub(crate) fn block(editor: &Editor, time: Duration, importing: bool) {
    let until = tokio::time::Instant::now().checked_add(time);
    editor.hold(|gate| (gate.busy_until, gate.importing) = (until, importing));
}

fn swap(editor: &Editor) -> Begun {
    let mut state = editor.state();
    state.swapped = !state.swapped;
    let there = state.swapped;
    state.tools.retain(|tool| tool.name != ADDED_TOOL.name);
    if there {
        state.tools.push(Tool::from(&ADDED_TOOL));
    }
    drop(state);
    let change = if there { "added" } else { "removed" };
    Begun::Done(Done {
        result: Ok(Object::new().text("Tool", ADDED_TOOL.name).text("Change", change)),
        then: Some(Order::ToolsChanged { names: vec![ADDED_TOOL.name.to_owned()], change }),
    })
}
