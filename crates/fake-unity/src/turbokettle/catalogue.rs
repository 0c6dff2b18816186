//! The package's three tools, with the schemas that it declares in version 1.0.0, and the form in which it lists a tool. The
//! descriptions are our own.

use crate::json::{Object, quoted};
use crate::spec::{Kind, Param, Tool, ToolSpec, text};
use crate::tools::TIMEOUT_SECONDS;

const fn tool(name: &'static str, about: &'static str, params: &'static [Param]) -> ToolSpec {
    ToolSpec { name, about, development: false, params, timeout_seconds: TIMEOUT_SECONDS, result: "" }
}

/// The package's own tools. Their schemas are in [`schema`].
pub(crate) static BUILT_IN: [ToolSpec; 3] = [
    tool("execute_menu_item", "Runs an entry of the editor's menu.", &[]),
    tool("read_console_logs", "Reads the console.", &[]),
    tool("get_project_info", "Tells about the project.", &[]),
];

/// A project's tool whose parameter is named `playerName` in its code and `player_name` in the list.
pub(crate) static GREET: ToolSpec =
    tool("greet", "Greets a player.", &[text("player_name", "\"nobody\"", "Whom to greet")]);

/// Stands for any tool when arguments are read: they are matched by name, and unsuitable ones are dropped.
pub(crate) static ANY: ToolSpec = tool("any", "", &[]);

/// Whether a tool runs on the main thread. Other tools run on the thread of their connection.
pub(crate) fn needs_main_thread(spec: &ToolSpec) -> bool {
    !matches!(spec.name, "read_console_logs" | "greet" | "echo" | "sleep" | "big" | "fail" | "throw" | "runs")
}

/// Returns an entry of the tool list.
pub(crate) fn entry(tool: &Tool) -> String {
    Object::new()
        .text("name", &tool.name)
        .text("description", tool.spec.about)
        .flag("requiresMainThread", needs_main_thread(tool.spec))
        .text("parameterSchema", &schema(tool.spec))
        .finish()
}

/// Returns the schema of a tool's parameters as text.
fn schema(spec: &ToolSpec) -> String {
    let (properties, required) = match spec.name {
        "execute_menu_item" => {
            (r#"{"path":{"type":"string","description":"Path of the entry"}}"#.to_owned(), Some(r#"["path"]"#))
        }
        "read_console_logs" => (
            concat!(
                r#"{"count":{"type":"integer","description":"Most entries","default":50,"minimum":1,"maximum":1000},"#,
                r#""filter":{"type":"string","description":"Kind of entries","default":"all","#,
                r#""enum":["all","errors","warnings"]}}"#
            )
            .to_owned(),
            None,
        ),
        _ => {
            (spec.params.iter().fold(Object::new(), |all, param| all.raw(param.name, &property(param))).finish(), None)
        }
    };
    let schema = Object::new().text("type", "object").raw("properties", &properties);
    required.map_or(schema.clone(), |names| schema.raw("required", names)).finish()
}

fn property(param: &Param) -> String {
    let kind = match param.kind {
        Kind::Text => "string",
        Kind::Flag => "boolean",
        Kind::Number => "integer",
        Kind::Array => "array",
        Kind::Choice(_) => "object",
    };
    let property = Object::new().text("type", kind).raw("description", &quoted(param.about));
    if param.default == "[]" { property } else { property.raw("default", param.default) }.finish()
}
