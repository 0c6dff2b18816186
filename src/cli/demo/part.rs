//! What the story asks of an editor, in the words of the package that it has.

use holdfast_fake_unity::FakeDialect;
use serde_json::{Value, json};

/// A call of a tool.
#[derive(Debug)]
pub struct Line {
    /// The tool.
    pub tool: &'static str,
    /// Its arguments.
    pub arguments: Value,
    /// What it counts under in Unity, if it does.
    pub key: Option<String>,
}

/// The words of one package.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// Counts under a key; held back: it is answered only when the story says so.
    pub count: fn(key: &str, hold: bool) -> Line,
    /// Changes nothing.
    pub look: fn(text: &str) -> Line,
    /// What a reload follows.
    pub refresh: fn() -> Line,
    /// What is told of it.
    pub refresh_act: &'static str,
    /// The editor holds an answer back when it is asked to; else it must stand still for that.
    pub holds: bool,
    /// The editor reloads by itself after the refresh; else the story makes it.
    pub reloads: bool,
    /// No file of the project names the port, so the gateway is told.
    pub port_is_told: bool,
    /// The editor keeps what a call answered over a reload.
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
    /// The words for this package.
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
