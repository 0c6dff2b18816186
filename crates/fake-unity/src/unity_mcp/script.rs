//! Simulates how the package runs "C# code": it knows three kinds of statement, and logs all others.

use crate::events::Event;
use crate::model::Editor;

/// Runs the statements of a text, one after the other.
pub(crate) fn run(editor: &Editor, code: &str, test_tools: bool) {
    let log = |message: String| editor.event(Event::Logged { message: format!("[Unity MCP] {message}") });
    for statement in code.split([';', '\n', '\r']).map(str::trim).filter(|statement| !statement.is_empty()) {
        if let Some(key) = literal(statement, "count(").filter(|_| test_tools) {
            // `count` is only for tests. It counts outside of Unity's console and logs only a failure there.
            if let Err(reason) = editor.count(key) {
                log(reason);
            }
        } else if let Some(name) = literal(statement, "find(") {
            log(format!("GameObject '{name}' not found"));
        } else if statement.starts_with("new") && statement.contains("GameObject(") {
            // The package always logs this fixed name.
            log("Created GameObject: CommandCreatedObject".to_owned());
        } else if let Some(message) = literal(statement, "Debug.Log(") {
            log(message.to_owned());
        } else {
            log(format!("Executing generic command: {statement}"));
        }
    }
}

/// Returns the text between the quotes that follow `call`; `None` if the statement is not such a call.
fn literal<'a>(statement: &'a str, call: &str) -> Option<&'a str> {
    let (text, _) = statement.strip_prefix(call)?.trim_start().strip_prefix('"')?.split_once('"')?;
    Some(text)
}
