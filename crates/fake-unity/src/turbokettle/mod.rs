//! Simulates turbokettle/unity-mcp 1.0.0.
//!
//! Requests that do not need the main thread are answered on the connection's thread, in order. The others are queued for the
//! main thread, and their replies may be in another order. Each domain listens on a new port and writes the port to a file. The
//! package writes the file when the bridge listens (in place, without a rename) and deletes it when the domain ends or the bridge
//! stops. A crash leaves the file.

mod catalogue;
mod wire;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use holdfast_net::BoxFuture;
use serde_json::{Value, json};

use super::config::FakeUnityConfig;
use super::events::Event;
use super::face::{Face, Link, Moment, Writer};
use super::json::{self, Object, quoted};
use super::model::Editor;
use super::observer::{self, Answered, Asked, Wire};
use super::package::{Call, Facts, Package, Port, Task, usual};
use super::project::{OwnFile, Project, UNITY_VERSION};
use super::spec::{Tool, ToolSpec};
use super::tools::{self, Arguments, TEST_TOOLS};
use super::work::{Begun, Done, Fault};
use super::work::{NextPort, Order};
use crate::limits::ACCEPT_POLL;

/// The package's id.
const PACKAGE_ID: &str = "com.turbokettle.unity-mcp";
/// The package's Git URL; the package is in no registry.
const SOURCE: &str = "https://github.com/turbokettle/unity-mcp.git";
/// The file in which the bridge announces its port and pid.
const INSTANCE: &str = "Library/MCPInstance.json";
/// The project name that is reported if the editor has no project folder.
const NAMELESS: &str = "FakeProject";
/// The top-level menus that every editor has.
const MENUS: [&str; 7] = ["File/", "Edit/", "Assets/", "GameObject/", "Component/", "Window/", "Help/"];

pub(crate) static PACKAGE: Package = Package {
    name: "turbokettle",
    title: "turbokettle/unity-mcp",
    compile_act: "A refresh, with a reload behind its answer",
    facts: Facts {
        manifest: (PACKAGE_ID, SOURCE),
        port: Port::Record(INSTANCE, "port"),
        // One call on the main thread, and one beside it on the connection's thread.
        window: 2,
        parallel: &[
            "ping",
            "list_tools",
            "read_console_logs",
            "echo",
            "sleep",
            "big",
            "fail",
            "throw",
            "runs",
            "greet",
        ],
        // A line without a limit of its own.
        request_max_bytes: usize::MAX,
        repeatable: &["read_console_logs", "get_project_info"],
        greeting: ("\"cmd\":", &["ping"]),
        // The file of a bridge whose domain ends is deleted, and its process lives.
        shows_reloads: true,
        restarts_by_reload: true,
        compile_tells: false,
        tells_of_changes: false,
        text_results: true,
        says_success_apart: true,
        adds_arguments: true,
        console: Some("read_console_logs"),
        other_names: &[
            ("get_project_info", &["editor-state", "get-version"]),
            ("read_console_logs", &["get-logs"]),
            ("execute_menu_item", &["execute-menu-item"]),
        ],
        ..Facts::USUAL
    },
    wire: Wire {
        length: observer::line,
        asked: |_, message| {
            let method = observer::text(message.get("cmd"));
            let is_call = method == "invoke_tool";
            let params: Value = serde_json::from_str(&observer::text(message.get("params"))).unwrap_or_default();
            let method = if is_call { observer::text(params.get("tool")) } else { method };
            Asked { method, id: observer::id_of(message), sending: None, is_call }
        },
        arguments: |message| {
            let params: Value = serde_json::from_str(&observer::text(message.get("params"))).unwrap_or_default();
            serde_json::from_str(&observer::text(params.get("arguments"))).unwrap_or_default()
        },
        answered: |message| {
            let data = observer::text(message.get("data"));
            let result: Value = serde_json::from_str(&data).unwrap_or(Value::String(data));
            let says = |(name, value): (&String, &Value)| name.eq_ignore_ascii_case("success") && *value == false;
            let failed = result.as_object().is_some_and(|members| members.iter().any(says));
            Some(Answered { is_result: message.get("ok")?.as_bool()?, result, failed })
        },
        // Its own server adds the tool that waits for the editor.
        listed: |result| {
            let list: Value = serde_json::from_str(result.as_str()?).ok()?;
            Some(observer::entries(list.get("tools")?)? + 1)
        },
        // No error is proof that nothing ran: a tool can write each of the package's own in the same place.
        ..Wire::FRAMES
    },
    call: |task, text, version| match task {
        Task::Logs => Call::repeatable("read_console_logs", json!({})),
        // This tool only reads, but it needs the main thread, so a reload loses the call.
        Task::Sleep(ms) if ms % 3 == 0 => Call::repeatable("get_project_info", json!({})),
        Task::Compile => Call::of("execute_menu_item", json!({"path": "Assets/Refresh"})),
        _ => usual(task, text, version),
    },
};

/// Makes the package's side of an editor.
pub(crate) fn face(config: &FakeUnityConfig) -> Arc<dyn Face> {
    Arc::new(TurbokettleFace::new(config))
}

/// The wire protocol of turbokettle/unity-mcp, from the editor's side.
#[derive(Clone)]
pub(crate) struct TurbokettleFace {
    test_tools: bool,
}

/// A call that has ended: id, tool name and outcome. The outcome is `None` if the main thread lost the call (see
/// [`Editor::submit`]).
type Ended = (String, String, Option<Done>);

/// What to do after a request was read.
enum Next {
    /// Send this reply.
    Reply(Vec<u8>),
    /// Send nothing.
    Silence,
    /// The call runs on the connection's thread. No further request is read until it ends.
    Own(BoxFuture<'static, Ended>),
    /// The call is queued for the main thread. Further requests are read in the meantime.
    Main(BoxFuture<'static, Ended>),
}

impl TurbokettleFace {
    pub(crate) fn new(config: &FakeUnityConfig) -> Self {
        Self { test_tools: config.test_tools }
    }

    async fn serve_link(&self, editor: &Arc<Editor>, link: Link) -> Result<&'static str, std::io::Error> {
        let Link { connection, notes: _, mut reader, mut writer } = link;
        until_accepted(editor).await;
        let mut buffer = BytesMut::new();
        let mut main = FuturesUnordered::new();
        let mut own: Option<BoxFuture<'static, Ended>> = None;
        loop {
            let line = if own.is_none() { wire::take_line(&mut buffer) } else { None };
            if let Some(line) = line {
                match self.take(editor, connection, &line) {
                    Next::Reply(reply) => writer.write(&reply).await?,
                    Next::Silence => {}
                    Next::Own(work) => own = Some(work),
                    Next::Main(work) => main.push(work),
                }
                continue;
            }
            tokio::select! {
                biased;
                Some(ended) = main.next(), if !main.is_empty() => answer(editor, connection, &mut writer, ended).await?,
                ended = async { own.as_mut().unwrap_or(&mut never()).await }, if own.is_some() => {
                    own = None;
                    answer(editor, connection, &mut writer, ended).await?;
                }
                read = reader.read(&mut buffer), if own.is_none() => {
                    if read? == 0 {
                        return Ok("closed by the client");
                    }
                }
            }
        }
    }

    fn take(&self, editor: &Arc<Editor>, connection: u64, line: &str) -> Next {
        if line.trim().is_empty() {
            return Next::Silence;
        }
        let Some(request) = wire::read_request(line) else {
            editor.state().unparsable += 1;
            return Next::Reply(wire::failure("unknown", "Invalid JSON"));
        };
        editor.state().requests += 1;
        editor.event(Event::Request { connection, method: request.cmd.clone() });
        let id = request.id.clone().unwrap_or_default();
        match request.cmd.as_str() {
            "" => Next::Reply(wire::failure(request.id.as_deref().unwrap_or("unknown"), "Missing command")),
            "ping" => Next::Reply(wire::success(&id, &pong(editor))),
            "list_tools" => {
                let mut state = editor.state();
                state.list_requests += 1;
                let entries = json::array(state.tools.iter().map(catalogue::entry));
                drop(state);
                // Always 1 here. The real package counts the versions of its list from the start of the domain.
                let list = Object::new().number("version", 1).raw("tools", &entries);
                Next::Reply(wire::success(&id, &list.finish()))
            }
            "invoke_tool" => self.invoke(editor, connection, id, &request.params),
            other => Next::Reply(wire::failure(&id, &format!("Unknown command: {other}"))),
        }
    }

    fn invoke(&self, editor: &Arc<Editor>, connection: u64, id: String, params: &str) -> Next {
        // If the package's parser throws, Unity logs the exception and no reply is sent.
        let Ok((name, arguments)) = wire::read_invocation(params) else { return Next::Silence };
        if name.is_empty() {
            return Next::Reply(wire::failure(&id, "Missing 'tool' parameter"));
        }
        let tool = editor.state().tools.iter().find(|tool| tool.name == name).cloned();
        let Some(Tool { spec, .. }) = tool else {
            return Next::Reply(wire::failure(&id, &format!("Unknown tool: {name}")));
        };
        let parallel = !catalogue::needs_main_thread(spec);
        let (face, tool) = (self.clone(), name.clone());
        let begin = move |editor: &Arc<Editor>| {
            let begun = face.run(editor, spec, &arguments);
            // Sent after the call has begun: a listener may release a held call as soon as it gets this event.
            editor.event(Event::CallBegun { connection, tool, call: None, parallel });
            begun
        };
        if parallel {
            let begun = begin(editor);
            return Next::Own(Box::pin(async move {
                let done = match begun {
                    Begun::Done(done) => done,
                    Begun::Later(rest) => rest.await,
                };
                (id, name, Some(done))
            }));
        }
        let work = editor.submit(begin);
        Next::Main(Box::pin(async move { (id, name, work.await.ok()) }))
    }

    fn run(&self, editor: &Arc<Editor>, spec: &'static ToolSpec, arguments: &str) -> Begun {
        let arguments = Some(arguments).filter(|text| !text.is_empty());
        let Ok(arguments) = Arguments::read(spec.name, &catalogue::ANY, arguments) else {
            return Begun::fault(Fault::Internal("JSON parse error: Invalid value.".to_owned()));
        };
        match spec.name {
            "execute_menu_item" => menu(editor, &arguments.text("path").unwrap_or_default()),
            "read_console_logs" => Begun::ok(logs(editor, &arguments)),
            "get_project_info" => Begun::ok(info(editor)),
            // The package binds arguments by the C# field's name (`playerName`), not by the listed name (`player_name`).
            "greet" => {
                let player = arguments.text("playerName").unwrap_or_default();
                Begun::ok(Object::new().text("greeting", &format!("Hello, {player}!")))
            }
            _ => tools::begin(editor, spec, &arguments).unwrap_or_else(|| Begun::ok(Object::new())),
        }
    }
}

/// A future that never completes.
fn never() -> BoxFuture<'static, Ended> {
    Box::pin(std::future::pending())
}

/// Waits until the listener accepts the connection. It polls for new connections; until then a connection is open, but silent.
async fn until_accepted(editor: &Editor) {
    if editor.config.tick.is_zero() {
        return;
    }
    let period = ACCEPT_POLL.as_nanos().max(1);
    let into = u64::try_from(editor.uptime().as_nanos() % period).unwrap_or(0);
    tokio::time::sleep(ACCEPT_POLL.saturating_sub(Duration::from_nanos(into))).await;
}

async fn answer(editor: &Editor, connection: u64, writer: &mut Writer, ended: Ended) -> std::io::Result<()> {
    // Nobody answers work that was lost with its domain.
    let (id, tool, Some(Done { result, then })) = ended else { return Ok(()) };
    let (reply, outcome) = match result {
        Ok(result) => (wire::success(&id, &editor.oddly(result).finish()), "ok"),
        Err(fault) => (wire::failure(&id, &wire::words(&fault)), "error"),
    };
    let written = if editor.loses_answer() { Ok(()) } else { writer.write(&reply).await };
    if let Some(order) = then {
        editor.order(order);
    }
    written?;
    editor.event(Event::CallEnded { connection, tool, outcome });
    Ok(())
}

fn project_name(editor: &Editor) -> &str {
    let root = editor.project.as_ref().map(Project::root);
    root.and_then(|root| root.rsplit(['/', '\\']).next()).filter(|name| !name.is_empty()).unwrap_or(NAMELESS)
}

fn pong(editor: &Editor) -> String {
    Object::new()
        .text("status", "ok")
        .text("unityVersion", UNITY_VERSION)
        .text("projectName", project_name(editor))
        .finish()
}

/// Runs an entry of the menu. `Assets/Refresh` and `Assets/Reimport All` compile. A reload follows if
/// [`FakeUnityConfig::compile_reload`] is not zero and the scripts compile without errors.
fn menu(editor: &Editor, path: &str) -> Begun {
    if path.is_empty() {
        return Begun::fault(Fault::Refused("Missing 'path' parameter".to_owned()));
    }
    let known = MENUS.iter().any(|menu| path.starts_with(menu));
    let message = if known {
        format!("Successfully executed menu item: {path}")
    } else {
        format!("Failed to execute menu item: {path}. The menu item may not exist or is disabled.")
    };
    let silence = editor.config.compile_reload;
    let compiles = path.eq_ignore_ascii_case("Assets/Refresh") || path.eq_ignore_ascii_case("Assets/Reimport All");
    let reloads = known && compiles && {
        let mut state = editor.state();
        state.compiles += 1;
        !state.compile_errors && !silence.is_zero()
    };
    Begun::Done(Done {
        result: Ok(Object::new().flag("success", known).text("message", &message)),
        then: reloads.then_some(Order::Reload { silence, port: NextPort::New }),
    })
}

/// Returns what was logged since the domain began, which is only that the bridge listens.
fn logs(editor: &Editor, arguments: &Arguments) -> Object {
    let port = editor.state().port.unwrap_or(0);
    let entry = Object::new()
        .text("message", &format!("[MCP] Server started on port {port}"))
        .text("stackTrace", "")
        .text("type", "Log")
        .text("timestamp", &editor.timestamp().replace('T', " "));
    let filter = arguments.text("filter").unwrap_or_else(|| "all".to_owned());
    let shown = filter == "all" && arguments.number("count").unwrap_or(50) > 0;
    Object::new().raw("logs", &json::array(shown.then(|| entry.finish())))
}

fn info(editor: &Editor) -> Object {
    let name = project_name(editor);
    let playing = editor.state().playing;
    Object::new()
        .text("projectName", name)
        .text("unityVersion", UNITY_VERSION)
        .text("projectPath", editor.project.as_ref().map_or("", |project| project.root()))
        .text("companyName", "DefaultCompany")
        .text("productName", name)
        .text("currentScene", "SampleScene")
        .flag("isPlaying", playing)
        .flag("isPaused", false)
}

impl Face for TurbokettleFace {
    fn tools(&self) -> Vec<Tool> {
        let test: &'static [ToolSpec] = if self.test_tools { &TEST_TOOLS } else { &[] };
        let greet = self.test_tools.then_some(&catalogue::GREET);
        catalogue::BUILT_IN.iter().chain(test).chain(greet).map(Tool::from).collect()
    }

    fn serve<'a>(&'a self, editor: &'a Arc<Editor>, link: Link) -> BoxFuture<'a, &'static str> {
        Box::pin(async move { self.serve_link(editor, link).await.unwrap_or("socket error") })
    }

    /// The package sends no notifications.
    fn tell<'a>(&'a self, _editor: &'a Arc<Editor>, _moment: &'a Moment) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    fn domain_began(&self, _editor: &Arc<Editor>, _again: bool) {}

    fn domain_ended<'a>(&'a self, _editor: &'a Arc<Editor>) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    fn settings(&self, editor: &Editor, port: u16, running: bool) -> OwnFile {
        let root = editor.project.as_ref().map_or("", |project| project.root());
        let content = running.then(|| {
            let pid = editor.config.pid();
            format!("{{\n    \"port\": {port},\n    \"pid\": {pid},\n    \"projectPath\": {}\n}}", quoted(root))
        });
        OwnFile { path: INSTANCE, content, private: false }
    }

    fn install(&self, project: &Project) -> std::io::Result<()> {
        project.install(PACKAGE_ID, SOURCE)
    }

    fn process_began(&self, _editor: &Editor) {}

    fn locks(&self) -> bool {
        false
    }

    fn keeps_port(&self) -> bool {
        false
    }
}
