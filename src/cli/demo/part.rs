//! The tool calls of the demo's story, in the form in which each Unity package offers them.

use holdfast_fake_unity::FakeDialect;
use serde_json::{Value, json};

/// One call of a tool.
#[derive(Debug)]
pub struct Line {
    /// The tool.
    pub tool: &'static str,
    /// The arguments of the call.
    pub arguments: Value,
    /// The key under which the fake Unity counts this call; `None` if it does not count it.
    pub key: Option<String>,
}

/// The calls and properties of one package.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// Returns a call that the fake Unity counts under `key`. With `hold`, the editor holds back the answer until the story
    /// releases it.
    pub count: fn(key: &str, hold: bool) -> Line,
    /// Returns a call that changes nothing.
    pub look: fn(text: &str) -> Line,
    /// Returns a call that a domain reload follows.
    pub refresh: fn() -> Line,
    /// The title of the act around `refresh`.
    pub refresh_act: &'static str,
    /// Whether the editor can hold back an answer on request. If not, the story freezes the editor instead.
    pub holds: bool,
    /// Whether the editor reloads by itself after `refresh`. If not, the story orders the reload.
    pub reloads: bool,
    /// Whether the gateway needs `--port`, because no file of the project names the port.
    pub port_is_told: bool,
    /// Whether the package keeps the answers of calls across a reload.
    pub journal: bool,
}

fn count(key: &str, hold: bool) -> Line {
    let arguments = if hold { json!({"key": key, "hold": true}) } else { json!({"key": key}) };
    Line { tool: "count", arguments, key: Some(key.to_owned()) }
}

fn look(tool: &'static str, arguments: Value) -> Line {
    Line { tool, arguments, key: None }
}

impl Part {
    /// Returns the calls of this package.
    pub fn of(dialect: FakeDialect) -> Self {
        let base = Self {
            count,
            look: |text| look("echo", json!({"text": text})),
            refresh: || look("compile", json!({})),
            refresh_act: "compile, which ends in a reload that cuts off its own answer",
            holds: true,
            reloads: true,
            port_is_told: false,
            journal: dialect == FakeDialect::Holdfast,
        };
        match dialect {
            FakeDialect::Uloop | FakeDialect::Umcp | FakeDialect::Holdfast => base,
            FakeDialect::Turbokettle => Self {
                refresh: || look("execute_menu_item", json!({"path": "Assets/Refresh"})),
                refresh_act: "A refresh, with a reload behind its answer",
                ..base
            },
            FakeDialect::UnityMcp => Self {
                count: |key, _| Line {
                    tool: "execute_code",
                    arguments: json!({"code": format!("count(\"{key}\")")}),
                    key: Some(key.to_owned()),
                },
                look: |_| look("get_state", json!({})),
                refresh: || look("start_game", json!({})),
                refresh_act: "Play mode, with a reload behind the answer",
                holds: false,
                reloads: false,
                port_is_told: true,
                journal: false,
            },
        }
    }
}
