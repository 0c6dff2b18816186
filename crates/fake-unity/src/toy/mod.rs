//! Simulates the toy package, which exists in builds for tests only (the feature `toy`).

use std::sync::Arc;

use bytes::BytesMut;
use holdfast_net::BoxFuture;
use serde_json::{Value, json};

use super::config::FakeUnityConfig;
use super::events::Event;
use super::face::{Face, Link, Moment};
use super::json::Object;
use super::model::Editor;
use super::observer::{self, Asked, Wire};
use super::odd;
use super::package::{COMPILE_ACT, Facts, Package, Port, usual};
use super::project::{OwnFile, Project};
use super::spec::{Tool, ToolSpec};
use super::tools::{self, Arguments, TEST_TOOLS, TIMEOUT_SECONDS};
use super::work::{Begun, Done, Fault, NextPort, Order};

const BRIDGE: &str = "Library/Toy.json";
const MANIFEST: (&str, &str) = ("dev.holdfast.toy", "1.0.0");

pub(crate) static PACKAGE: Package = Package {
    name: "toy",
    title: "the toy package",
    compile_act: COMPILE_ACT,
    facts: Facts { manifest: MANIFEST, port: Port::Record(BRIDGE, "port"), ..FACTS },
    wire: WIRE,
    call: usual,
};

/// What the toys have in common.
pub(super) const FACTS: Facts = Facts {
    parallel: &[],
    request_max_bytes: 1024 * 1024,
    repeatable: &["get-logs"],
    greeting: ("\"method\":", &["hello"]),
    compile_tells: false,
    tells_of_changes: false,
    console: None,
    toy: true,
    ..Facts::USUAL
};

pub(super) const WIRE: Wire = Wire {
    length: observer::line,
    asked: |_, message| {
        let method = observer::text(message.get("method"));
        let is_call = method == "call";
        let method = if is_call { observer::text(message.pointer("/params/tool")) } else { method };
        Asked { method, id: observer::id_of(message), sending: None, is_call }
    },
    arguments: |message| message.pointer("/params/arguments").cloned().unwrap_or_default(),
    listed: |result| observer::entries(result.get("tools")?),
    is_unrun: |message| message.pointer("/error/ran") == Some(&Value::Bool(false)),
    ..Wire::LINES
};

/// Makes the package's side of an editor.
pub(crate) fn face(config: &FakeUnityConfig) -> Arc<dyn Face> {
    Arc::new(ToyFace::new(config))
}

const fn tool(name: &'static str, about: &'static str) -> ToolSpec {
    ToolSpec { name, about, development: false, params: &[], timeout_seconds: TIMEOUT_SECONDS, result: "" }
}

static BUILT_IN: [ToolSpec; 2] = [tool("compile", "Compiles."), tool("get-logs", "Reads the log.")];

pub(super) struct ToyFace {
    test_tools: bool,
}

impl ToyFace {
    pub(super) fn new(config: &FakeUnityConfig) -> Self {
        Self { test_tools: config.test_tools }
    }

    async fn serve_link(&self, editor: &Arc<Editor>, link: Link) -> Result<&'static str, std::io::Error> {
        let Link { connection, mut reader, mut writer, .. } = link;
        let mut buffer = BytesMut::new();
        loop {
            let Some(end) = buffer.iter().position(|byte| *byte == b'\n') else {
                if reader.read(&mut buffer).await? == 0 {
                    return Ok("closed by the client");
                }
                continue;
            };
            let line = buffer.split_to(end + 1);
            let message: Value = serde_json::from_slice(&line).unwrap_or_default();
            let id = observer::id_of(&message);
            let method = observer::text(message.get("method"));
            if method.is_empty() {
                editor.state().unparsable += 1;
                return Ok("no request");
            }
            editor.state().requests += 1;
            editor.event(Event::Request { connection, method: method.clone() });
            let (reply, then) = match method.as_str() {
                "hello" => (result(&id, r#"{"toy":1}"#), None),
                "tools" => (result(&id, &json!({"tools": entries(editor, |_, _| {})}).to_string()), None),
                "call" => {
                    let (reply, done) = self.call(editor, connection, &id, &message).await;
                    let Some(reply) = reply else { continue };
                    (reply, done)
                }
                other => (error(&id, &json!({"code": 1, "message": format!("unknown: {other}"), "ran": false})), None),
            };
            let lost = method == "call" && editor.loses_answer();
            let written = if lost { Ok(()) } else { writer.write(&reply).await };
            if let Some((tool, outcome, order)) = then {
                if let Some(order) = order {
                    editor.order(order);
                }
                written?;
                editor.event(Event::CallEnded { connection, tool, outcome });
            } else {
                written?;
            }
        }
    }

    /// Runs a call to its end. There is no reply if the domain ended first.
    async fn call(
        &self,
        editor: &Arc<Editor>,
        connection: u64,
        id: &str,
        message: &Value,
    ) -> (Option<Vec<u8>>, Option<(String, &'static str, Option<Order>)>) {
        let name = observer::text(message.pointer("/params/tool"));
        let known = editor.state().tools.iter().find(|tool| tool.name == name).cloned();
        let Some(Tool { spec, .. }) = known else {
            return (Some(error(id, &json!({"code": 2, "message": format!("no tool {name}"), "ran": false}))), None);
        };
        let arguments = message.pointer("/params/arguments").map(Value::to_string);
        let (tool, told) = (name.clone(), editor.clone());
        let work = editor.submit(move |editor: &Arc<Editor>| {
            let begun = run(editor, spec, arguments.as_deref());
            told.event(Event::CallBegun { connection, tool, call: None, parallel: false });
            begun
        });
        let Ok(Done { result: ended, then }) = work.await else { return (None, None) };
        match ended {
            Ok(value) => (Some(result(id, &editor.oddly(value).finish())), Some((name, "ok", then))),
            Err(fault) => (Some(error(id, &json!({"code": 3, "message": words(fault)}))), Some((name, "error", then))),
        }
    }
}

pub(super) fn words(fault: Fault) -> String {
    match fault {
        Fault::Refused(text) | Fault::Internal(text) | Fault::Blocked(text) => text,
        Fault::Timeout { .. } | Fault::Cancelled => "stopped".to_owned(),
    }
}

pub(super) fn run(editor: &Arc<Editor>, spec: &'static ToolSpec, arguments: Option<&str>) -> Begun {
    let arguments = match Arguments::read(spec.name, spec, arguments) {
        Ok(arguments) => arguments,
        Err(fault) => return Begun::fault(fault),
    };
    if spec.name != "compile" {
        return tools::begin(editor, spec, &arguments)
            .unwrap_or_else(|| Begun::ok(Object::new().flag("Success", true)));
    }
    let silence = editor.config.compile_reload;
    let mut state = editor.state();
    state.compiles += 1;
    let reloads = !state.compile_errors && !silence.is_zero();
    Begun::Done(Done {
        result: Ok(Object::new().flag("Success", true)),
        then: reloads.then_some(Order::Reload { silence, port: NextPort::Same }),
    })
}

/// Returns the entries of the list, each with what else is to be said of its tool.
pub(super) fn entries(editor: &Editor, more: impl Fn(&Tool, &mut Value)) -> Value {
    let mut state = editor.state();
    state.list_requests += 1;
    let entry = |tool: &Tool| {
        let properties: Value = tool.spec.params.iter().map(|param| (param.name.to_owned(), json!({}))).collect();
        let (name, schema) = (&tool.name, json!({"type": "object", "properties": properties}));
        let reads = name == "get-logs";
        let mut entry = json!({"name": name, "description": tool.spec.about, "reads": reads, "schema": schema});
        more(tool, &mut entry);
        entry
    };
    state.tools.iter().map(entry).collect()
}

fn result(id: &str, value: &str) -> Vec<u8> {
    odd::bytes(&format!("{{\"id\":\"{id}\",\"result\":{value}}}\n"))
}

fn error(id: &str, error: &Value) -> Vec<u8> {
    format!("{}\n", json!({"id": id, "error": error})).into_bytes()
}

impl Face for ToyFace {
    fn tools(&self) -> Vec<Tool> {
        let test: &'static [ToolSpec] = if self.test_tools { &TEST_TOOLS } else { &[] };
        BUILT_IN.iter().chain(test).map(Tool::from).collect()
    }

    fn serve<'a>(&'a self, editor: &'a Arc<Editor>, link: Link) -> BoxFuture<'a, &'static str> {
        Box::pin(async move { self.serve_link(editor, link).await.unwrap_or("socket error") })
    }

    fn tell<'a>(&'a self, _editor: &'a Arc<Editor>, _moment: &'a Moment) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    fn domain_began(&self, _editor: &Arc<Editor>, _again: bool) {}

    fn domain_ended<'a>(&'a self, _editor: &'a Arc<Editor>) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    fn settings(&self, editor: &Editor, port: u16, running: bool) -> OwnFile {
        let content = running.then(|| json!({"port": port, "pid": editor.config.pid()}).to_string());
        OwnFile { path: BRIDGE, content, private: false }
    }

    fn install(&self, project: &Project) -> std::io::Result<()> {
        project.install(MANIFEST.0, MANIFEST.1)
    }

    fn process_began(&self, _editor: &Editor) {}

    fn locks(&self) -> bool {
        false
    }
}
