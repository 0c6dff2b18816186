//! Simulates uLoopMCP v0.27 to v2.2.0 and its branch with the push channel. [`umcp`](super::umcp) is the same package under its
//! earlier name.

pub(crate) mod catalogue;
mod compile;
mod lines;
mod wire;

#[cfg(test)]
pub(crate) mod tests;

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use holdfast_net::BoxFuture;
use serde_json::Value;

use super::config::FakeUnityConfig;
use super::conformance::FIXTURES;
use super::events::Event;
use super::face::{Face, IfTaken, Link, Moment};
use super::json::{self, Object};
use super::model::Editor;
use super::observer::{self, Wire};
use super::package::{COMPILE_ACT, Facts, Identity, Package, Port, usual};
use super::project::{OwnFile, Project};
use super::push::{self, Hub, Message};
use super::spec::{Tool, ToolSpec};
use super::tools::{self, Arguments, TEST_TOOLS};
use super::work::{Begun, Done, Fault};
use crate::limits::{LISTENER_OUTLIVES, PORTS_BEHIND};
use crate::package_version::PackageVersion;
use lines::Lines;

/// The file in which the package stores its port.
pub(crate) const SETTINGS: &str = "UserSettings/UnityMcpSettings.json";

pub(crate) static PACKAGE: Package = Package {
    name: "uloop",
    title: "uLoopMCP v0.27 to v2.2.0",
    compile_act: COMPILE_ACT,
    facts: Facts {
        manifest: ("io.github.hatayama.uloopmcp", "2.2.0"),
        port: Port::Settings(SETTINGS, "customPort"),
        default_ports: &[8700],
        versions: &[
            PackageVersion::new(0, 30, 1),
            PackageVersion::new(0, 65, 0),
            PackageVersion::new(2, 0, 0),
            PackageVersion::NEWEST,
        ],
        // A Content-Length frame of at most 1 MiB.
        request_max_bytes: 1024 * 1024,
        repeatable: &["get-logs", "find-game-objects", "get-hierarchy"],
        greeting: ("\"method\":", &["set-client-name"]),
        announces: PackageVersion::shutdown_note,
        compile_file: true,
        push: true,
        other_names: &[
            ("control-play-mode", &["play-mode", "start_game", "stop_game"]),
            ("execute-dynamic-code", &["execute-csharp", "execute_code", "query"]),
            ("get-version", &["editor-state", "get_project_info"]),
            ("get-logs", &["read_console_logs"]),
            ("execute-menu-item", &["execute_menu_item"]),
        ],
        identity: Identity::WithEachCall,
        ..Facts::USUAL
    },
    wire: Wire { listed, is_unrun: |message| is_blocked(message) || is_refused(message), ..Wire::FRAMES },
    call: usual,
};

/// Makes the package's side of an editor.
pub(crate) fn face(config: &FakeUnityConfig) -> Arc<dyn Face> {
    Arc::new(UloopFace::new(config))
}

/// Counts the tools of a list, which versions name differently; the first one has no name for it.
pub(crate) fn listed(result: &Value) -> Option<usize> {
    let list = ["Tools", "Commands", "tools", "commands"].into_iter().find_map(|name| result.get(name));
    observer::entries(list.unwrap_or(result))
}

/// Whether the security settings of the project blocked a tool, from v0.24.0 on.
pub(crate) fn is_blocked(message: &Value) -> bool {
    let said = |at: &str| message.pointer(at).and_then(Value::as_str);
    said("/error/data/type") == Some("security_blocked") && said("/error/data/command").is_some()
}

/// Whether the package refused a request itself. Only then the text stands in `message`: what a tool throws stands in the data.
fn is_refused(message: &Value) -> bool {
    let said = |at: &str| message.pointer(at).and_then(Value::as_str);
    let is =
        |text: &str, begins: &str, goes_on: &str| text.strip_prefix(begins).is_some_and(|rest| rest.contains(goes_on));
    let Some(text) = said("/error/message").filter(|_| said("/error/data/type") == Some("internal_error")) else {
        return false;
    };
    match said("/error/data/message") {
        // From v0.32.0 on: wrong parameters. From v2.0.0 on: the request was for another editor.
        Some("") => {
            is(text, "Parameter type mismatch for tool '", "': ")
                || text == "Connected Unity instance belongs to a different project."
                || text == "Unity CLI Loop server session changed. Retry the command."
                || text == "Fast project validation is unavailable. Restart Unity CLI Loop and retry."
        }
        // From v0.70.0 on.
        Some("This tool has been disabled in project settings.") => {
            is(text, "Tool '", "' is disabled. To enable it, go to ")
        }
        _ => false,
    }
}

/// The wire protocol of the uLoop package, from the editor's side.
#[derive(Clone)]
pub(crate) struct UloopFace {
    version: PackageVersion,
    timing: bool,
    shutdown_note: bool,
    push: Option<Hub>,
    blocked: Vec<String>,
    test_tools: bool,
    conformance_tools: bool,
}

/// Adds to a result the fields that this version puts at its end.
type Tail = Box<dyn FnOnce(Object) -> Object + Send>;

impl UloopFace {
    pub(crate) fn new(config: &FakeUnityConfig) -> Self {
        Self {
            version: config.played(),
            timing: config.says_timing(),
            shutdown_note: config.says_shutdown(),
            push: config.push.then(|| Hub::new(push::Plain)),
            blocked: config.blocked_tools.clone(),
            test_tools: config.test_tools,
            conformance_tools: config.conformance_tools,
        }
    }

    /// Returns a function that adds the last fields to a result of this version. Call this when the work begins.
    fn tail(&self, editor: &Arc<Editor>) -> Tail {
        let (timing, version) = (self.timing, self.version);
        let started = tokio::time::Instant::now();
        let started_at = editor.timestamp();
        let editor = editor.clone();
        Box::new(move |mut result| {
            if timing {
                let ms = i128::try_from(started.elapsed().as_millis()).unwrap_or(i128::MAX);
                result = result
                    .text("StartedAt", &started_at)
                    .text("EndedAt", &editor.timestamp())
                    .number("ExecutionTimeMs", ms);
            }
            if version.ver_field() { result.text("Ver", &version.to_string()) } else { result }
        })
    }

    async fn serve_link(&self, editor: &Arc<Editor>, link: Link) -> Result<&'static str, std::io::Error> {
        let Link { connection, mut notes, mut reader, mut writer } = link;
        let mut buffer = BytesMut::new();
        let mut lines = Lines::new(self.version.joins_lines());
        loop {
            let frame = loop {
                match self.take(&mut buffer, &mut lines) {
                    Ok(Some(frame)) => break frame,
                    Ok(None) => {}
                    Err(()) => return Ok("request too large"),
                }
                tokio::select! {
                    biased;
                    Some(note) = notes.recv() => writer.note(note).await?,
                    read = reader.read(&mut buffer) => {
                        if read? == 0 {
                            return Ok("closed by the client");
                        }
                    }
                }
            };
            let Some(request) = wire::read_request(&frame) else {
                editor.state().unparsable += 1;
                let fault = Fault::Internal("The request is not valid JSON".to_owned());
                writer.write(&wire::frame(&wire::failure("null", &fault, self.version), self.version)).await?;
                continue;
            };
            let method = request.method.clone().unwrap_or_default();
            editor.state().requests += 1;
            editor.event(Event::Request { connection, method: method.clone() });
            // Notifications are ignored.
            let Some(id) = request.id.clone() else { continue };
            let (face, named) = (self.clone(), method.clone());
            let mut work = editor.submit(move |editor| face.begin(editor, connection, &named, &request));
            let done = loop {
                tokio::select! {
                    biased;
                    Some(note) = notes.recv() => writer.note(note).await?,
                    done = &mut work => break done,
                }
            };
            let Ok(Done { result, then }) = done else { return Ok("the domain ended") };
            let result = if is_internal(&method) { result } else { result.map(|result| editor.oddly(result)) };
            let (body, outcome) = match result {
                Ok(result) => (wire::success(id.get(), &result.finish()), "ok"),
                Err(fault) => (wire::failure(id.get(), &fault, self.version), "error"),
            };
            let lost = !is_internal(&method) && editor.loses_answer();
            let written = if lost { Ok(()) } else { writer.write(&wire::frame(&body, self.version)).await };
            if let Some(order) = then {
                editor.order(order);
            }
            written?;
            if !is_internal(&method) {
                editor.event(Event::CallEnded { connection, tool: method, outcome });
            }
        }
    }

    /// Removes the next message from the received bytes; `None` if more bytes are needed.
    fn take(&self, buffer: &mut BytesMut, lines: &mut Lines) -> Result<Option<Bytes>, ()> {
        if self.version.framed() { wire::take_frame(buffer) } else { Ok(lines.take(buffer)) }
    }

    /// Begins a request's work, on the main thread.
    fn begin(&self, editor: &Arc<Editor>, connection: u64, method: &str, request: &wire::Request) -> Begun {
        if let Err(fault) = self.check_identity(editor, request) {
            return Begun::fault(fault);
        }
        let tool = editor.state().tools.iter().find(|tool| tool.name == method).cloned();
        let Some(Tool { spec, .. }) = tool else {
            let kind = if self.version.says_tool() { "tool" } else { "command" };
            return Begun::fault(Fault::Internal(format!("Unknown {kind}: {method}")));
        };
        if self.is_blocked(method) {
            return Begun::fault(Fault::Blocked(method.to_owned()));
        }
        let json = request.params.as_ref().map(|params| params.get());
        let arguments = match Arguments::read(method, spec, json) {
            Ok(arguments) => arguments,
            Err(fault) => return Begun::fault(fault),
        };
        let tail = self.tail(editor);
        let begun = self.run(editor, connection, spec, &arguments);
        // Sent after the tool has begun: a listener may release a held call as soon as it gets this event.
        if !is_internal(method) {
            editor.event(Event::CallBegun { connection, tool: method.to_owned(), call: None, parallel: false });
        }
        match begun {
            Begun::Done(done) => Begun::Done(finish(done, tail)),
            Begun::Later(rest) => {
                let limit = self.version.tool_timeouts().then(|| {
                    arguments.number("TimeoutSeconds").filter(|seconds| *seconds > 0).unwrap_or(spec.timeout_seconds)
                });
                let tool = method.to_owned();
                Begun::Later(Box::pin(async move {
                    let Some(seconds) = limit else { return finish(rest.await, tail) };
                    match tokio::time::timeout(Duration::from_secs(seconds), rest).await {
                        Ok(done) => finish(done, tail),
                        Err(_) => Done { result: Err(Fault::Timeout { tool, seconds }), then: None },
                    }
                }))
            }
        }
    }

    fn run(&self, editor: &Arc<Editor>, connection: u64, spec: &'static ToolSpec, arguments: &Arguments) -> Begun {
        match spec.name {
            "ping" => {
                let message =
                    arguments.text("Message").unwrap_or_else(|| "Hello from TypeScript MCP Server".to_owned());
                let said = format!("Unity MCP Bridge received: {message}");
                Begun::ok(match self.version.typed_results() {
                    true => Object::new().text("Message", &said),
                    false => Object::instead(json::quoted(&said)),
                })
            }
            "set-client-name" => self.set_client_name(editor, connection, arguments),
            "get-tool-details" => self.list(editor, arguments.flag("IncludeDevelopmentOnly")),
            "compile" => compile::begin(self.version, self.tail(editor), editor, arguments),
            "debug-sleep" => {
                let seconds = arguments.number("SleepSeconds").unwrap_or(15);
                Begun::Later(Box::pin(async move {
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                    let message = format!("Slept for {seconds} seconds");
                    let result = Object::new().text("Message", &message).number("ActualSleepSeconds", seconds);
                    Done::ok(result.flag("WasCancelled", false))
                }))
            }
            "control-play-mode" => {
                let action = arguments.text("Action").unwrap_or_default();
                let playing = !(action.eq_ignore_ascii_case("stop") || action == "1");
                let paused = action.eq_ignore_ascii_case("pause") || action == "2";
                editor.state().playing = playing;
                let message = if playing { "Play mode is on" } else { "Play mode is off" };
                let result = Object::new().flag("IsPlaying", playing).flag("IsPaused", paused);
                Begun::ok(result.text("Message", message))
            }
            _ => tools::begin(editor, spec, arguments).unwrap_or_else(|| Begun::ok(tools::plausible(spec))),
        }
    }

    fn set_client_name(&self, editor: &Arc<Editor>, connection: u64, arguments: &Arguments) -> Begun {
        let name = arguments.text("ClientName").unwrap_or_else(|| "Unknown Client".to_owned());
        editor.name_client(connection, &name);
        let result = Object::new()
            .text("Message", &format!("Client name registered successfully: {name}"))
            .text("ClientName", &name);
        let Some(hub) = &self.push else { return Begun::ok(result) };
        let endpoint = arguments.text("PushNotificationEndpoint").unwrap_or_default();
        hub.register(editor, &endpoint, None);
        Begun::ok(result.text("PushNotificationEndpoint", &endpoint))
    }

    fn list(&self, editor: &Editor, development: bool) -> Begun {
        let mut state = editor.state();
        state.list_requests += 1;
        let development = development || !self.version.filters_list();
        let entries = json::array(
            state
                .tools
                .iter()
                .filter(|tool| development || !tool.spec.development)
                .map(|tool| catalogue::entry(tool, self.version, self.is_blocked(&tool.name))),
        );
        drop(state);
        Begun::ok(match (self.version.wraps_list(), self.version.says_tool()) {
            (false, _) => Object::instead(entries),
            (true, false) => Object::new().raw("Commands", &entries),
            (true, true) => Object::new().raw("Tools", &entries),
        })
    }

    fn is_blocked(&self, tool: &str) -> bool {
        self.blocked.iter().any(|blocked| blocked == tool)
    }

    /// Checks the identity that a request expects (from v2.0). A request that has one must have both of its values.
    fn check_identity(&self, editor: &Editor, request: &wire::Request) -> Result<(), Fault> {
        let Some(identity) = request.identity.as_ref().filter(|_| self.version.identity()) else { return Ok(()) };
        let given = |value: &Option<String>| value.clone().filter(|text| !text.trim().is_empty());
        let refused = |text: &str| Err(Fault::Refused(text.to_owned()));
        let Some(root) = given(&identity.expected_project_root) else {
            return refused("Invalid x-uloop metadata: expectedProjectRoot is required.");
        };
        let Some(session) = given(&identity.expected_server_session_id) else {
            return refused("Invalid x-uloop metadata: expectedServerSessionId is required.");
        };
        let Some(project) = &editor.project else {
            return refused("Fast project validation is unavailable. Restart Unity CLI Loop and retry.");
        };
        if root != project.root() {
            return refused("Connected Unity instance belongs to a different project.");
        }
        if session != editor.state().session_id {
            return refused("Unity CLI Loop server session changed. Retry the command.");
        }
        Ok(())
    }

    async fn push(&self, editor: &Editor, kind: &str, names: &[String], change: &'static str) {
        if let Some(hub) = &self.push {
            hub.send(editor, &Message { kind, names, change }).await;
        }
    }

    async fn shutdown(&self, editor: &Editor, reason: &str) {
        if self.shutdown_note {
            let params = Object::new().text("reason", reason);
            editor.tell_all(&wire::notification("notifications/server/shutdown", params, self.version)).await;
        }
    }

    async fn list_changed(&self, editor: &Editor) {
        if !self.version.says_list_changed() {
            return;
        }
        let params = Object::new()
            .text("timestamp", &(editor.timestamp() + "Z"))
            .text("message", "Unity tools have been updated");
        editor.tell_all(&wire::notification("notifications/tools/list_changed", params, self.version)).await;
    }
}

/// Whether a method, under any of its names, belongs to the protocol itself and is not a call.
fn is_internal(method: &str) -> bool {
    matches!(method, "ping" | "set-client-name" | "setClientName")
        || matches!(method, "get-tool-details" | "get-command-details" | "getCommandDetails")
}

fn finish(done: Done, tail: Tail) -> Done {
    Done { result: done.result.map(tail), then: done.then }
}

impl Face for UloopFace {
    fn tools(&self) -> Vec<Tool> {
        let built_in: &'static [ToolSpec] =
            if self.version.later_catalogue() { &catalogue::LATER } else { &catalogue::EARLIER };
        let test: &'static [ToolSpec] = if self.test_tools { &TEST_TOOLS } else { &[] };
        let named = |spec: &'static ToolSpec| self.version.tool_name(spec.name).map(|name| Tool::named(name, spec));
        let built_in = built_in.iter().filter_map(named);
        let fixtures: &'static [ToolSpec] = if self.conformance_tools { &FIXTURES } else { &[] };
        built_in.chain(test.iter().chain(fixtures).map(Tool::from)).collect()
    }

    fn serve<'a>(&'a self, editor: &'a Arc<Editor>, link: Link) -> BoxFuture<'a, &'static str> {
        Box::pin(async move { self.serve_link(editor, link).await.unwrap_or("socket error") })
    }

    fn tell<'a>(&'a self, editor: &'a Arc<Editor>, moment: &'a Moment) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            match moment {
                Moment::ReloadBegins => {
                    self.push(editor, "DOMAIN_RELOAD", &[], "").await;
                    self.shutdown(editor, "DomainReload").await;
                }
                // Only the change of the list is sent here. The recovery is reported by the push channel when it has connected
                // again.
                Moment::Back => self.list_changed(editor).await,
                Moment::ToolsChanged { names, change } => {
                    self.list_changed(editor).await;
                    self.push(editor, "TOOLS_CHANGED", names, change).await;
                }
                Moment::Stopped => self.push(editor, "USER_DISCONNECT", &[], "").await,
                Moment::Quits => {
                    self.push(editor, "UNITY_SHUTDOWN", &[], "").await;
                    self.shutdown(editor, "EditorQuit").await;
                }
                Moment::Push { kind } => self.push(editor, kind, &[], "modified").await,
                Moment::StateChanged => {}
            }
        })
    }

    fn domain_began(&self, editor: &Arc<Editor>, again: bool) {
        if let Some(hub) = &self.push {
            hub.begin(editor, again);
        }
    }

    fn domain_ended<'a>(&'a self, editor: &'a Arc<Editor>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Some(hub) = &self.push {
                hub.end(editor).await;
            }
        })
    }

    fn settings(&self, editor: &Editor, port: u16, running: bool) -> OwnFile {
        let state = editor.state();
        let own = editor.config.moves_port && !self.version.identity();
        let port = if own { editor.config.port } else { port };
        let settings = Object::new().number("customPort", port).flag("isServerRunning", running);
        let settings = match &editor.project {
            Some(project) if self.version.identity() => {
                settings.text("projectRootPath", project.root()).text("serverSessionId", &state.session_id)
            }
            _ => settings,
        };
        OwnFile { path: SETTINGS, content: Some(settings.finish()), private: false }
    }

    fn install(&self, project: &Project) -> std::io::Result<()> {
        project.install(self.version.package_id(), &self.version.to_string())
    }

    fn process_began(&self, _editor: &Editor) {}

    fn locks(&self) -> bool {
        self.version.compile_waits()
    }

    /// Every version examined from v0.26.4 to v2.1.1 disconnects its clients before it stops its listener.
    fn listener_outlives_connections(&self) -> Duration {
        LISTENER_OUTLIVES
    }

    fn probes_port(&self) -> bool {
        true
    }

    /// Since v2.0 (read): after a reload nobody is asked, the next free port is taken, and the settings file names it.
    fn if_taken(&self) -> IfTaken {
        if self.version.identity() {
            IfTaken { waits: Duration::ZERO, behind: PORTS_BEHIND, among: None, then_any: false }
        } else {
            IfTaken::WAITS
        }
    }
}
