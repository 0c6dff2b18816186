//! The replies of the package, which look different from version to version.

use serde_json::{Value, json};

use super::versions::V0_6;
use super::wire;
use crate::json::Object;
use crate::model::Editor;
use crate::package_version::PackageVersion;

const JSON: &str = "application/json";

/// A reply, and what it says of a command.
pub(super) struct Reply {
    pub(super) status: u16,
    kind: &'static str,
    body: String,
    /// The command that this is the answer of, and its outcome.
    pub(super) ended: Option<(String, &'static str)>,
    /// Whether a test may lose this reply: it is that of a command that has run, or that became a job.
    pub(super) may_be_lost: bool,
}

impl Reply {
    /// Returns a reply whose JSON is written with indentation, as all were before 0.6.
    pub(super) fn indented(status: u16, body: &str) -> Self {
        Self::compact(status, indented(body))
    }

    pub(super) fn compact(status: u16, body: String) -> Self {
        Self { status, kind: JSON, body, ended: None, may_be_lost: false }
    }

    /// Returns the reply for a path behind which there is nothing.
    pub(super) fn nothing() -> Self {
        Self { kind: "text/plain", ..Self::compact(404, "Not Found".to_owned()) }
    }

    /// Returns the reply of a command, a job or a progress, which is compact from 0.6 on.
    pub(super) fn of(version: PackageVersion, body: String) -> Self {
        if version < V0_6 { Self::indented(200, &body) } else { Self::compact(200, body) }
    }

    pub(super) fn bytes(&self, closes: bool) -> Vec<u8> {
        wire::response(self.status, self.kind, &self.body, closes)
    }
}

/// Why a request or a command failed, in the package's words.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) status: u16,
    pub(super) error: &'static str,
    pub(super) details: String,
    /// What else is said.
    pub(super) more: Vec<(&'static str, Value)>,
}

impl Failure {
    pub(super) fn of(status: u16, error: &'static str, details: impl Into<String>) -> Self {
        Self { status, error, details: details.into(), more: Vec::new() }
    }

    pub(super) fn with(mut self, name: &'static str, value: Value) -> Self {
        self.more.push((name, value));
        self
    }

    pub(super) fn reply(&self, editor: &Editor, version: PackageVersion) -> Reply {
        let mut body = if version < V0_6 {
            json!({
                "message": null, "error": self.error, "errorDetails": self.details,
                "executedAt": now(editor), "success": false, "command": null, "result": null, "executionTimeMs": 0,
            })
        } else {
            json!({"success": false, "error": self.error, "errorDetails": self.details})
        };
        for (name, value) in &self.more {
            body[*name] = value.clone();
        }
        Reply::indented(self.status, &body.to_string())
    }
}

/// Returns the body for a command that has run. The result is JSON already, or an odd answer that only looks like it.
pub(super) fn success(editor: &Editor, version: PackageVersion, tool: &str, result: &str, is_whole: bool) -> Object {
    let rest = |object: Object| {
        let object = object.text("executedAt", &now(editor)).flag("success", true).text("command", tool);
        object.raw("result", result).number("executionTimeMs", 1)
    };
    if version < V0_6 || is_whole {
        rest(Object::new().raw("message", "null").raw("error", "null").raw("errorDetails", "null"))
    } else {
        Object::new().flag("success", true).raw("result", result)
    }
}

/// The editor's time as the package writes it.
pub(super) fn now(editor: &Editor) -> String {
    editor.timestamp() + "Z"
}

/// Returns JSON with indentation. What is not JSON stays as it is.
pub(super) fn indented(json: &str) -> String {
    let value = serde_json::from_str::<Value>(json);
    value.ok().and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or_else(|| json.to_owned())
}
